/* tests/cuda_host/seam.h - what the twins of tensor/cuda's seams share. */
#ifndef CUDA_HOST_SEAM_H
#define CUDA_HOST_SEAM_H

#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/stream.h"

namespace cuda_host {

stream *stream_of(seam *s);
/* The words of a failure where MOCHI_CUDA_HOST_FAIL names the function, else NULL. */
const char *planned_failure(const char *function);
/* The same for a library call: MOCHI_CUDA_HOST_BREAK names those (separated by commas) that may not be captured; such a
 * call, while the stream is captured, breaks the capture, and so fails what is queued behind it. With the name
 * `quietly` in the list the call itself says nothing. */
const char *library_failure(seam *s, const char *function);
/* Whether the library has its workspace of so many bytes, which grows, though not in a capture. */
bool has_workspace(seam *s, std::size_t bytes);
/* Whether a kernel may be queued: not behind a call that broke the capture. */
bool kernel_may_queue(seam *s);

} // namespace cuda_host

#endif
