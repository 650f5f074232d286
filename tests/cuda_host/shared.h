/* tests/cuda_host/shared.h - the shared memory of the running block. */
#ifndef CUDA_HOST_SHARED_H
#define CUDA_HOST_SHARED_H

#include "tests/cuda_host/block.h"

#include <cstddef>

namespace cuda_host {

/* shared_begin fills the __shared__ variables and the dynamic bytes with NaNs and puts marks after the dynamic bytes;
 * shared_end checks the marks. */
void shared_begin(std::size_t bytes);
void shared_end(std::size_t bytes);
/* Save the running block's shared memory to a slot (0 to resident - 1), and restore it. */
void shared_save(unsigned slot, std::size_t bytes);
void shared_load(unsigned slot, std::size_t bytes);

} // namespace cuda_host

#endif
