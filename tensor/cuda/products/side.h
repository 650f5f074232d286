/* tensor/cuda/products/side.h - which products of a group run beside the others, in the second stream. */
#ifndef MO_CUDA_SIDE_H
#define MO_CUDA_SIDE_H

#include "tensor/cuda/device.h"

/* What decides in which stream a product of a group is queued. */
struct share {
    const mo_view *C;
    int64_t tiles; /* of C, 128 x 128 entries each */
    int64_t terms; /* of an entry: k */
    bool whole;    /* the library computes all of it: no kernel of ours follows in the first stream */
    bool beside;   /* the answer: in the second stream */
};

/* Divides n products among the two streams, so that no result in one overlaps a result in the other. Returns false
 * where one stream is to have them all. */
bool divide(mo_context *ctx, share *of, int n);

#endif
