/* tensor/recording.c - a device's recording of queued work, and its replay. */
#include "tensor/storage.h"

struct mo_recording {
    mo_context *ctx;
    void *of; /* the backend's */
};

mo_code mo_recording_begin(mo_context *ctx, int64_t episodes) {
    if (mo_ok(ctx) && !ctx->backend->record)
        mo_fail(ctx, MO_UNSUPPORTED, "recording: the device %s does its work at once, there is nothing to record",
            ctx->backend->name);
    if (mo_ok(ctx) && episodes < 0)
        mo_fail(ctx, MO_INVALID, "recording: %lld episodes a step, expected 0 or more", (long long)episodes);
    if (mo_ok(ctx))
        ctx->backend->record(ctx, episodes);
    return mo_context_status(ctx)->code;
}

mo_recording *mo_recording_end(mo_context *ctx) {
    void *of = ctx->backend->record_end ? ctx->backend->record_end(ctx) : NULL;
    mo_recording *r = of ? mo_host_alloc(ctx, sizeof *r) : NULL;
    if (r)
        *r = (mo_recording){ctx, of};
    else if (of)
        ctx->backend->forget_recording(ctx, of);
    return r;
}

bool mo_recording_replay(mo_recording *r, int64_t ahead) {
    return mo_ok(r->ctx) && r->ctx->backend->replay(r->ctx, r->of, ahead);
}

void mo_recording_release(mo_recording *r) {
    if (!r)
        return;
    r->ctx->backend->forget_recording(r->ctx, r->of);
    mo_host_free(r->ctx, r, sizeof *r);
}
