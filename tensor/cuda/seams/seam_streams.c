/* tensor/cuda/seams/seam_streams.c - the order with streams of others, and a second stream of ours beside the first.
 *
 * A fork is an event of the first stream that the second one waits for, and a join the reverse. In a capture the wait
 * takes the second stream into it, and the graph has two branches there; the join brings them together before the
 * capture ends. */
#include "tensor/cuda/seams/seam_plans.h"

/* Notes a failure; returns whether there was none. */
static bool done(seam *s, cudaError_t code) {
    seam_note(s, code);
    return code == cudaSuccess;
}

void seam_order(seam *s, void *other, bool theirs_first) {
    cudaStream_t first = theirs_first ? (cudaStream_t)other : s->stream;
    cudaStream_t second = theirs_first ? s->stream : (cudaStream_t)other;
    cudaEvent_t reached = NULL;
    seam_note(s, cudaEventCreateWithFlags(&reached, cudaEventDisableTiming));
    if (!reached)
        return;
    seam_note(s, cudaEventRecord(reached, first));
    seam_note(s, cudaStreamWaitEvent(second, reached, 0));
    seam_note(s, cudaEventDestroy(reached)); /* the runtime frees it once the stream has waited for it */
}

/* ---- the second stream ---- */

/* What is missing leaves all work in the first stream: no failure is noted. */
static void open_side(seam *s) {
    struct seam_side *side = &s->side;
    side->asked = true;
    cudaError_t code = cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking);
    code = code ? code : cudaEventCreateWithFlags(&side->forked, cudaEventDisableTiming);
    code = code ? code : cudaEventCreateWithFlags(&side->joined, cudaEventDisableTiming);
    if (code == cudaSuccess)
        side->workspace = seam_allocate(s, BLAS_WORKSPACE); /* as large as the first: the same plans */
    else
        cudaGetLastError();
}

void seam_close_side(seam *s) {
    seam_release(s, s->side.workspace);
    if (s->side.forked)
        cudaEventDestroy(s->side.forked);
    if (s->side.joined)
        cudaEventDestroy(s->side.joined);
    if (s->side.stream)
        cudaStreamDestroy(s->side.stream);
}

bool seam_fork_side(seam *s) {
    struct seam_side *side = &s->side;
    if (!side->asked && !s->capturing) /* memory cannot be asked for in a capture */
        open_side(s);
    return side->workspace && done(s, cudaEventRecord(side->forked, s->stream)) &&
           done(s, cudaStreamWaitEvent(side->stream, side->forked, 0));
}

void seam_join_side(seam *s) {
    if (done(s, cudaEventRecord(s->side.joined, s->side.stream)))
        seam_note(s, cudaStreamWaitEvent(s->stream, s->side.joined, 0));
}
