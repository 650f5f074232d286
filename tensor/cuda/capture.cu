/* tensor/cuda/capture.cu - captured steps, kept as CUDA graphs.
 *
 * The work queued on the stream between begin and end becomes a graph. Its addresses are fixed: a tape of a fixed shape
 * uses the same addresses from its second step on. If device memory is given back later (a "move"), the graph can no
 * longer be used. Host values uploaded during the capture are constants, which the capture keeps. Values that change
 * between replays are read from the device: random positions and checks add the number of steps that the replay is
 * ahead. */
#include "tensor/cuda/device.h"

#include <cstdlib>

static uint64_t moves_of(mo_context *ctx) {
    return state_of(ctx)->moves + seam_moves(seam_of(ctx));
}

static void drop(mo_context *ctx, cuda_capture *r) {
    (void)ctx;
    if (r->graph)
        seam_graph_release(r->graph);
    if (r->constants)
        seam_unpin(r->constants);
    free(r->notes);
    free(r);
}

bool capture_begin_cuda(mo_context *ctx, int64_t streams) {
    cuda_state *state = state_of(ctx);
    if (state->capture) {
        mo_fail(ctx, MO_STATE, "capture: one has begun already");
        return false;
    }
    cuda_capture *r = static_cast<cuda_capture *>(calloc(1, sizeof *r));
    if (r) {
        r->notes = static_cast<mo_note *>(calloc(most_notes, sizeof *r->notes));
        r->constants = static_cast<char *>(seam_pin(captured_uploads));
    }
    if (!r || !r->notes || !r->constants)
        mo_fail(ctx, MO_MEMORY, "capture: out of memory: %zu bytes of it page-locked", captured_uploads);
    if (mo_ok(ctx) && cuda_ok(ctx, "capture", seam_capture(state->s))) {
        r->number = ++state->captures_made;
        r->streams = streams;
        state->capture = r;
        return true;
    }
    if (r)
        drop(ctx, r);
    return false;
}

void *capture_end_cuda(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    cuda_capture *r = state->capture;
    if (!r) {
        if (mo_ok(ctx))
            mo_fail(ctx, MO_STATE, "capture: none has begun");
        return nullptr;
    }
    state->capture = nullptr;
    const char *failure = seam_capture_end(state->s, &r->graph);
    if (mo_ok(ctx))
        cuda_ok(ctx, "capture", failure);
    if (!mo_ok(ctx)) {
        drop(ctx, r);
        return nullptr;
    }
    r->moves = moves_of(ctx);
    r->next = state->captures;
    state->captures = r;
    return r;
}

bool capture_replay_cuda(mo_context *ctx, void *capture, int64_t ahead) {
    cuda_capture *r = static_cast<cuda_capture *>(capture);
    cuda_checks *k = &state_of(ctx)->checks;
    if (!not_capturing(ctx, "another capture was replayed") || r->moves != moves_of(ctx))
        return false;
    ctx->backend->upload(ctx, &k->device->now, &ahead, sizeof ahead);
    if (mo_ok(ctx))
        seam_graph_launch(seam_of(ctx), r->graph);
    k->replayed = true;
    return mo_ok(ctx);
}

void capture_release_cuda(mo_context *ctx, void *capture) {
    cuda_capture *r = static_cast<cuda_capture *>(capture), **at = &state_of(ctx)->captures;
    checks_wait(ctx); /* the graph may be running, and its checks may not have been read */
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    drop(ctx, r);
}

cuda_capture *find_capture(mo_context *ctx, int64_t number) {
    cuda_capture *r = state_of(ctx)->captures;
    while (r && r->number != number)
        r = r->next;
    return r;
}

void capture_close(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    cuda_capture *r = state->capture;
    if (!r)
        return;
    state->capture = nullptr;
    seam_capture_end(state->s, &r->graph);
    drop(ctx, r);
}

bool not_capturing(mo_context *ctx, const char *what) {
    if (!state_of(ctx)->capture)
        return true;
    mo_fail(ctx, MO_STATE, "capture: %s, which cannot be replayed", what);
    capture_close(ctx);
    return false;
}

char *capture_constants(mo_context *ctx, size_t bytes) {
    cuda_capture *r = state_of(ctx)->capture;
    size_t taken = (bytes + 255) / 256 * 256;
    if (taken > captured_uploads - r->used) {
        not_capturing(ctx, "more than 1 MiB was uploaded");
        return nullptr;
    }
    char *room = r->constants + r->used;
    r->used += taken;
    return room;
}

moving_steps steps_of(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    if (!state->capture)
        return {nullptr, 0};
    return {&state->checks.device->now, state->capture->streams};
}
