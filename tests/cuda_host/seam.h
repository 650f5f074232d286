/* tests/cuda_host/seam.h - shared by the twins: the files that replace tensor/cuda/seams/ on the emulated device. */
#ifndef CUDA_HOST_SEAM_H
#define CUDA_HOST_SEAM_H

#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/stream.h"

namespace cuda_host {

stream *stream_of(seam *s);
/* Returns a failure's text if MOCHI_CUDA_HOST_FAIL names the function, else NULL. */
const char *planned_failure(const char *function);
/* Returns the failure of a library call, or NULL. MOCHI_CUDA_HOST_BREAK lists, separated by commas, calls that cannot
 * be captured: such a call breaks the capture, and all work queued later fails. If `quietly` is in the list, the call
 * itself reports no failure. */
const char *library_failure(seam *s, const char *function);
/* Whether the library has a workspace of this size, which can grow, but not during a capture. */
bool has_workspace(seam *s, std::size_t bytes);
/* Records the failure of an operation that has run, for seam_failure. */
void note_failure(seam *s, const char *text);
/* Whether a kernel may be queued: not after a call that broke the capture. */
bool kernel_may_queue(seam *s);

} // namespace cuda_host

#endif
