/* tensor/packed_view.h - views of operands that a product has to copy first, on any device (library internal). */
#ifndef MO_PACKED_VIEW_H
#define MO_PACKED_VIEW_H

#include "tensor/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The shape of v without the repeats of broadcast batch axes, contiguous. */
static inline mo_view packed_view(const mo_view *v) {
    mo_view P = *v;
    int64_t stride = 1;
    for (int i = v->ndim - 1; i >= 0; i--) {
        bool repeats = i < v->ndim - 2 && v->stride[i] == 0;
        P.shape[i] = repeats ? 1 : v->shape[i];
        P.stride[i] = repeats ? 0 : stride;
        stride *= P.shape[i];
    }
    return P;
}

/* row_sums of a product as the result of a reduction of A over its last axis. */
static inline mo_view row_sums_view(const mo_gemm *g) {
    mo_view sums = g->A;
    sums.data = g->row_sums.data;
    for (int i = 0; i < sums.ndim; i++)
        sums.stride[i] = i < sums.ndim - 1 ? g->row_sums.stride[i] : 0;
    return sums;
}

#ifdef __cplusplus
}
#endif
#endif
