/* tests/cuda_host/seam.h - what the twins of tensor/cuda's seams share. */
#ifndef CUDA_HOST_SEAM_H
#define CUDA_HOST_SEAM_H

#include "tensor/cuda/seam.h"
#include "tests/cuda_host/stream.h"

namespace cuda_host {

stream *stream_of(seam *s);
/* The words of a failure where MOCHI_CUDA_HOST_FAIL names the function, else NULL. */
const char *planned_failure(const char *function);

} // namespace cuda_host

#endif
