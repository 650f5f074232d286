/* tests/cuda_host/seam_streams.cpp - the twin of tensor/cuda/seams/seam_streams.c: streams of others, the second
 * stream. */
#include "tests/cuda_host/seam.h"

using namespace cuda_host;

/* The default streams of the emulated device do their work at once. */
void seam_order(seam *s, void *other, bool theirs_first) {
    bool at_once = reinterpret_cast<std::uintptr_t>(other) <= 2;
    auto *theirs = static_cast<stream *>(other);
    if (at_once && !theirs_first)
        stream_synchronize(stream_of(s));
    else if (!at_once)
        stream_wait(theirs_first ? stream_of(s) : theirs, event_record(theirs_first ? theirs : stream_of(s)));
}

stream *cuda_host::second_stream(seam *s) {
    side_stream &side = side_of(s);
    side.on = side.on ? side.on : stream_create_beside(stream_of(s));
    return side.on;
}

void cuda_host::close_side(seam *s) {
    side_stream &side = side_of(s);
    if (side.workspace)
        seam_release(s, side.workspace);
    stream_synchronize(stream_of(s));
    if (side.on)
        stream_release(side.on);
}

bool seam_fork_side(seam *s) {
    side_stream &side = side_of(s);
    if (planned_failure("seam_fork_side") || !kernel_may_queue(s))
        return false;
    if (!side.asked && !is_capturing(stream_of(s))) {
        side.asked = true;
        side.workspace = seam_allocate(s, 1 << 12);
    }
    if (!side.workspace)
        return false;
    stream_wait(second_stream(s), event_record(stream_of(s)));
    return true;
}

void seam_join_side(seam *s) {
    stream_wait(stream_of(s), event_record(second_stream(s)));
}
