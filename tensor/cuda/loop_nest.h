/* tensor/cuda/loop_nest.h - loops over views of equal shape and any strides, passed to a kernel by value.
 *
 * Axes of size 1 are dropped and neighbours merged if every operand allows it, so that most nests have one axis. */
#ifndef MO_CUDA_LOOP_NEST_H
#define MO_CUDA_LOOP_NEST_H

#include "tensor/cuda/device.h"

template <int operands> struct cuda_nest {
    int64_t ndim;
    int64_t total;
    int64_t size[MO_MAX_AXES];
    int64_t stride[operands][MO_MAX_AXES];
};

template <int operands> bool loop_nest_mergeable(const cuda_nest<operands> &N, const mo_view *const *views, int axis) {
    for (int o = 0; o < operands; o++)
        if (N.stride[o][N.ndim - 1] != views[o]->stride[axis] * views[o]->shape[axis])
            return false;
    return true;
}

template <int operands> cuda_nest<operands> loop_nest_of(const mo_view *const (&views)[operands]) {
    cuda_nest<operands> N = {};
    N.total = 1;
    for (int i = 0; i < views[0]->ndim; i++) {
        int64_t size = views[0]->shape[i];
        N.total *= size;
        if (size == 1)
            continue;
        if (N.ndim > 0 && loop_nest_mergeable(N, views, i))
            N.size[N.ndim - 1] *= size;
        else
            N.size[N.ndim++] = size;
        for (int o = 0; o < operands; o++)
            N.stride[o][N.ndim - 1] = views[o]->stride[i];
    }
    return N;
}

/* Computes the position of item i in every operand; returns its index along the last axis. Divisions are 32-bit if the
 * numbers fit, which is several times as fast. */
template <int operands>
__device__ inline int64_t loop_nest_seek(const cuda_nest<operands> &N, int64_t i, int64_t (&at)[operands]) {
    for (int o = 0; o < operands; o++)
        at[o] = 0;
    bool narrow = N.total <= 0xffffffff;
    int64_t in_last = i;
    for (int64_t axis = N.ndim - 1; axis > 0; axis--) {
        int64_t size = N.size[axis], next = narrow ? (int64_t)((uint32_t)i / (uint32_t)size) : i / size;
        for (int o = 0; o < operands; o++)
            at[o] += (i - next * size) * N.stride[o][axis];
        in_last = axis == N.ndim - 1 ? i - next * size : in_last;
        i = next;
    }
    for (int o = 0; o < operands && N.ndim > 0; o++)
        at[o] += i * N.stride[o][0];
    return in_last;
}

#endif
