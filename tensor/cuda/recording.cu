/* tensor/cuda/recording.cu - steps that are kept as graphs of the device.
 *
 * What is queued on the stream between begin and end becomes a graph. Addresses are baked into it: a tape of a fixed
 * shape uses the same ones from its second step on, and memory that is given back later (a move) makes the graph stale.
 * Host values that are uploaded inside are constants, which the recording keeps. What changes between replays is read
 * from the device: random positions and checks add how many steps ahead the replay is. */
#include "tensor/cuda/recording.h"

#include "tensor/cuda/checks.h"

#include <cstdlib>

static uint64_t moves_of(mo_context *ctx) {
    return state_of(ctx)->moves + seam_moves(seam_of(ctx));
}

static void drop(mo_context *ctx, cuda_recording *r) {
    (void)ctx;
    if (r->graph)
        seam_graph_release(r->graph);
    if (r->constants)
        seam_unpin(r->constants);
    free(r->notes);
    free(r);
}

bool record_cuda(mo_context *ctx, int64_t episodes) {
    cuda_state *state = state_of(ctx);
    if (state->recording) {
        mo_fail(ctx, MO_STATE, "recording: one has begun already");
        return false;
    }
    cuda_recording *r = static_cast<cuda_recording *>(calloc(1, sizeof *r));
    if (r) {
        r->notes = static_cast<mo_note *>(calloc(most_notes, sizeof *r->notes));
        r->constants = static_cast<char *>(seam_pin(recorded_uploads));
    }
    if (!r || !r->notes || !r->constants)
        mo_fail(ctx, MO_MEMORY, "recording: out of memory: %zu bytes of it page-locked", recorded_uploads);
    if (mo_ok(ctx) && cuda_ok(ctx, "recording", seam_capture(state->s))) {
        r->number = ++state->recordings_made;
        r->episodes = episodes;
        state->recording = r;
        return true;
    }
    if (r)
        drop(ctx, r);
    return false;
}

void *record_end_cuda(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    cuda_recording *r = state->recording;
    if (!r) {
        if (mo_ok(ctx))
            mo_fail(ctx, MO_STATE, "recording: none has begun");
        return nullptr;
    }
    state->recording = nullptr;
    const char *failure = seam_capture_end(state->s, &r->graph);
    if (mo_ok(ctx))
        cuda_ok(ctx, "recording", failure);
    if (!mo_ok(ctx)) {
        drop(ctx, r);
        return nullptr;
    }
    r->moves = moves_of(ctx);
    r->next = state->recordings;
    state->recordings = r;
    return r;
}

bool replay_cuda(mo_context *ctx, void *recording, int64_t ahead) {
    cuda_recording *r = static_cast<cuda_recording *>(recording);
    cuda_checks *k = &state_of(ctx)->checks;
    if (!not_recording(ctx, "another recording was replayed") || r->moves != moves_of(ctx))
        return false;
    ctx->backend->upload(ctx, &k->device->now, &ahead, sizeof ahead);
    if (mo_ok(ctx))
        seam_graph_launch(seam_of(ctx), r->graph);
    k->replayed = true;
    return mo_ok(ctx);
}

void forget_recording_cuda(mo_context *ctx, void *recording) {
    cuda_recording *r = static_cast<cuda_recording *>(recording), **at = &state_of(ctx)->recordings;
    checks_wait(ctx); /* its notes may be asked for, and its graph runs */
    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    drop(ctx, r);
}

cuda_recording *find_recording(mo_context *ctx, int64_t number) {
    cuda_recording *r = state_of(ctx)->recordings;
    while (r && r->number != number)
        r = r->next;
    return r;
}

void recording_close(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    cuda_recording *r = state->recording;
    if (!r)
        return;
    state->recording = nullptr;
    seam_capture_end(state->s, &r->graph);
    drop(ctx, r);
}

bool not_recording(mo_context *ctx, const char *what) {
    if (!state_of(ctx)->recording)
        return true;
    mo_fail(ctx, MO_STATE, "recording: %s, which cannot be replayed", what);
    recording_close(ctx);
    return false;
}

char *recording_constants(mo_context *ctx, size_t bytes) {
    cuda_recording *r = state_of(ctx)->recording;
    size_t taken = (bytes + 255) / 256 * 256;
    if (taken > recorded_uploads - r->used) {
        not_recording(ctx, "more than 1 MiB was uploaded");
        return nullptr;
    }
    char *room = r->constants + r->used;
    r->used += taken;
    return room;
}

moving_steps steps_of(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    if (!state->recording)
        return {nullptr, 0};
    return {&state->checks.device->now, state->recording->episodes};
}
