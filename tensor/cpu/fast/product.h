/* tensor/cpu/fast/product.h - how a matrix product is cut into BLAS calls. */
#ifndef MO_CPU_PRODUCT_H
#define MO_CPU_PRODUCT_H

#include "tensor/cpu/real.h"

#include <cblas.h>

/* A matrix in the form that BLAS takes: op(data) with leading dimension ld; batch_stride per batch axis. narrow: its
 * entries are bf16, of two bytes. */
typedef struct matrix {
    const void *data;
    int64_t ld;
    bool transposed, narrow;
    int64_t batch_stride[MO_MAX_AXES];
} matrix;

/* C [m, n] over batch axes, computed in tiles of C or, if C is small and k long, in pieces of k, whose partial products
 * are added in order. */
typedef struct product {
    int64_t m, n, k;
    int axes; /* number of batch axes */
    int64_t size[MO_MAX_AXES], batch;
    matrix A, B;
    real *C;
    int64_t ldc, C_stride[MO_MAX_AXES];
    const real *bias, *addend;
    int64_t bias_column, bias_stride[MO_MAX_AXES];
    int64_t addend_row, addend_column, addend_stride[MO_MAX_AXES];
    real alpha, beta;
    bool relu;
    int64_t tiles_m, tiles_n, pieces_k;
} product;

/* Rows i0 .. i1-1 and columns j0 .. j1-1 of one matrix of the batch. */
typedef struct tile {
    int64_t b, i0, i1, j0, j1;
} tile;

#define product_cut REAL(product_cut)
#define product_tile REAL(product_tile)
#define product_offset REAL(product_offset)
#define product_start REAL(product_start)
#define product_clip REAL(product_clip)
#define product_run REAL(product_run)
#define product_piece REAL(product_piece)
#define product_finish REAL(product_finish)

/* Chooses the tiles of a product from its sizes alone. */
void product_cut(product *p);
/* Returns tile `number` of all tiles of the batch. */
tile product_tile(const product *p, int64_t number);
/* The offset of matrix b of the batch, with a stride for each axis. */
int64_t product_offset(const product *p, const int64_t *stride, int64_t b);
/* product_start: C := beta C + bias + addend on a tile, before the product; product_clip: relu, after it. */
void product_start(const product *p, const tile *t);
void product_clip(const product *p, const tile *t);
/* Computes one tile: start value, BLAS call, then relu while the tile is in cache. */
void product_run(const product *p, const tile *t);
/* D := alpha op(A) op(B) over the terms k0 .. k1-1, for matrix b of the batch; D [m, n] contiguous. */
void product_piece(const product *p, int64_t b, int64_t k0, int64_t k1, real *D);
/* C = relu(beta C + bias + addend + the sum of pieces [pieces_k, m, n]) on a tile. */
void product_finish(const product *p, const tile *t, const real *pieces);

#endif
