/* tests/cuda_host/shared.h - the dynamic shared memory of the block that runs. */
#ifndef CUDA_HOST_SHARED_H
#define CUDA_HOST_SHARED_H

#include <cstddef>

namespace cuda_host {

/* Fills it with NaNs and puts marks behind it; looks whether they are still there. */
void shared_begin(std::size_t bytes);
void shared_end(std::size_t bytes);

} // namespace cuda_host

#endif
