/* tests/cuda_host/grid.h - the calls of grid.cpp, which puts blocks on the device, to block.cpp, which runs their
 * threads. Slots are numbered from 0 to resident - 1. */
#ifndef CUDA_HOST_GRID_H
#define CUDA_HOST_GRID_H

#include "tests/cuda_host/block.h"

namespace cuda_host {

/* The grid whose blocks run from here on, or null. */
void blocks_of(const grid *g, void (*body)(void *arguments), void *arguments);
/* Puts a block on the device and runs it as far as it gets without a barrier. */
void block_begin(unsigned slot, index3 index, bool backwards);
/* Runs a block from one barrier, which all its threads must have reached, to the next. */
void block_continue(unsigned slot);
/* Called after either of these: returns true if the block has ended; else saves its shared memory. */
bool block_leave(unsigned slot);

/* The position of an element of a shape whose x runs fastest. */
inline index3 position_in(index3 shape, std::uint64_t linear) {
    return {
        (unsigned)(linear % shape.x), (unsigned)(linear / shape.x % shape.y), (unsigned)(linear / shape.x / shape.y)};
}

} // namespace cuda_host

#endif
