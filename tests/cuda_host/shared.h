/* tests/cuda_host/shared.h - the shared memory of the running block. */
#ifndef CUDA_HOST_SHARED_H
#define CUDA_HOST_SHARED_H

#include "tests/cuda_host/block.h"

#include <cstddef>

namespace cuda_host {

/* Fills the variables declared __shared__ and the dynamic bytes with NaNs and puts marks behind them; the second call
 * checks the marks. */
void shared_begin(std::size_t bytes);
void shared_end(std::size_t bytes);
/* Saves the shared memory of the running block to a slot (0 to resident - 1), and restores it. */
void shared_save(unsigned slot, std::size_t bytes);
void shared_load(unsigned slot, std::size_t bytes);

} // namespace cuda_host

#endif
