/* tensor/capture.c - capture of a device's queued work, and its replay. */
#include "tensor/objects.h"

struct mo_capture {
    mo_context *ctx;
    void *of; /* the backend's object */
};

bool mo_require_capture(mo_context *ctx, const char *what) {
    if (mo_ok(ctx) && !ctx->backend->capture_begin)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: the device %s does its work at once, there is nothing to capture", what,
            ctx->backend->name);
    return mo_ok(ctx);
}

mo_code mo_capture_begin(mo_context *ctx, int64_t streams) {
    mo_require_capture(ctx, "capture");
    if (mo_ok(ctx) && streams < 0)
        mo_fail(ctx, MO_INVALID, "capture: %lld streams a step, expected 0 or more", (long long)streams);
    if (mo_ok(ctx))
        ctx->backend->capture_begin(ctx, streams);
    return mo_context_status(ctx)->code;
}

mo_capture *mo_capture_end(mo_context *ctx) {
    void *of = ctx && ctx->backend->capture_end ? ctx->backend->capture_end(ctx) : NULL;
    mo_capture *r = of ? mo_host_alloc(ctx, sizeof *r) : NULL;
    if (r)
        *r = (mo_capture){ctx, of};
    else if (of)
        ctx->backend->capture_release(ctx, of);
    return r;
}

bool mo_capture_replay(mo_capture *r, int64_t ahead) {
    return r && mo_ok(r->ctx) && r->ctx->backend->capture_replay(r->ctx, r->of, ahead);
}

void mo_capture_release(mo_capture *r) {
    if (!r)
        return;
    r->ctx->backend->capture_release(r->ctx, r->of);
    mo_host_free(r->ctx, r, sizeof *r);
}
