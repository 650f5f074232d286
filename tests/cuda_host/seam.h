/* tests/cuda_host/seam.h - declarations that the twins of tensor/cuda's seams share. */
#ifndef CUDA_HOST_SEAM_H
#define CUDA_HOST_SEAM_H

#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/stream.h"

namespace cuda_host {

struct group; /* seam_collective.cpp */

stream *stream_of(seam *s);
/* The text of a failure if MOCHI_CUDA_HOST_FAIL names the function, else NULL. */
const char *planned_failure(const char *function);
/* The failure of a library call: MOCHI_CUDA_HOST_BREAK lists calls, separated by commas, that cannot be captured. Such
 * a call in a capture breaks it, and all work queued later fails. With the name `quietly` in the list the call itself
 * reports no failure. */
const char *library_failure(seam *s, const char *function);
/* Whether the library has a workspace of this size; it grows, except in a capture. */
bool has_workspace(seam *s, std::size_t bytes);
/* The failure of a piece of work that has run, which seam_failure returns. */
void note_failure(seam *s, const char *text);
/* Where the group of processes that the seam has joined is kept; NULL: none. */
group *&group_of(seam *s);
/* Whether a kernel may be queued: not after a call that broke the capture. */
bool kernel_may_queue(seam *s);

} // namespace cuda_host

#endif
