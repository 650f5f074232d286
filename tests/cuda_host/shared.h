/* tests/cuda_host/shared.h - the shared memory of the running block, and of the other blocks of its cluster.
 *
 * A block's rank in its cluster is its slot. The memory of another block lies in a view of its slot, where every first
 * access is a fault that shared_fault judges: it is a violation before the first barrier of the cluster, when the block
 * has ended, and when the block ends before the next barrier of the cluster. */
#ifndef CUDA_HOST_SHARED_H
#define CUDA_HOST_SHARED_H

#include "tests/cuda_host/block.h"

#include <cstddef>

namespace cuda_host {

/* Fills the variables declared __shared__ and the dynamic bytes with NaNs and puts marks behind them; the second call
 * checks the marks. */
void shared_begin(std::size_t bytes);
void shared_end(std::size_t bytes);
/* Saves the shared memory of the running block to a slot (0 to largest_cluster - 1), and restores it. */
void shared_save(unsigned slot, std::size_t bytes);
void shared_load(unsigned slot, std::size_t bytes);

/* A cluster begins; all its threads have passed one of its barriers; a block of it has ended. */
void shared_begin_cluster();
void shared_pass_cluster();
void shared_end_block(unsigned slot, std::size_t bytes);
/* The address, in the block of this rank, of the variable at `address` in the running block. */
void *shared_of_rank(const void *address, int rank, place where);
/* Opens the view that holds the address for the running block; returns false if no view holds it. */
bool shared_fault(const void *address);

} // namespace cuda_host

#endif
