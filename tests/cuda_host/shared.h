/* tests/cuda_host/shared.h - the shared memory of the block that runs. */
#ifndef CUDA_HOST_SHARED_H
#define CUDA_HOST_SHARED_H

#include <cstddef>

namespace cuda_host {

/* Fills the variables declared __shared__ and the dynamic bytes with NaNs and puts marks behind these; looks whether
 * the marks are still there. */
void shared_begin(std::size_t bytes);
void shared_end(std::size_t bytes);
/* Puts the shared memory of the block that runs aside, into a slot (0 to 2), and takes it back. */
void shared_save(unsigned slot, std::size_t bytes);
void shared_load(unsigned slot, std::size_t bytes);

} // namespace cuda_host

#endif
