/* tensor/cuda/sort.h - sorting positions in place, in an order without ties.
 *
 * A bitonic network (Batcher 1968) in which every exchange puts the smaller position first, because each merge begins
 * with mirrored partners. So positions beyond the end count as the largest and never move, and the length need not be a
 * power of two. */
#ifndef MO_CUDA_SORT_H
#define MO_CUDA_SORT_H

#include "tensor/cuda/device.h"

/* One round over n positions: compares pairs that are `distance` apart, or mirrored inside groups of 2 * distance. */
template <typename before>
__device__ inline void sort_round(
    int64_t *order, int64_t n, int64_t distance, bool mirrored, int64_t first, int64_t step, before precedes) {
    int64_t pairs = (n + 2 * distance - 1) / (2 * distance) * distance;
    for (int64_t pair = first; pair < pairs; pair += step) {
        int64_t group = pair / distance * 2 * distance, place = pair % distance;
        int64_t i = group + place, j = mirrored ? group + 2 * distance - 1 - place : i + distance;
        if (j < n && precedes(order[j], order[i])) {
            int64_t swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
    }
}

/* All rounds, by the threads of one block; every thread must call it. */
template <typename before> __device__ inline void sort_block(int64_t *order, int64_t n, before precedes) {
    for (int64_t width = 1; width < n; width *= 2)
        for (int64_t distance = width; distance > 0; distance /= 2) {
            __syncthreads();
            sort_round(order, n, distance, distance == width, (int64_t)threadIdx.x, (int64_t)blockDim.x, precedes);
        }
    __syncthreads();
}

#endif
