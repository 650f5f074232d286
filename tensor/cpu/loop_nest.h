/* tensor/cpu/loop_nest.h - loops over views of equal shape and any strides.
 *
 * Axes of size 1 are dropped, the rest are ordered by the stride of the last operand (the output), and neighbours are
 * merged if every operand allows it, so that most loop nests become one row. */
#ifndef MO_CPU_LOOP_NEST_H
#define MO_CPU_LOOP_NEST_H

#include "tensor/backend.h"

enum { LOOP_NEST_OPERANDS = 4 };

typedef struct loop_nest {
    int operands, ndim; /* ndim >= 1; the last axis is the row */
    int64_t size[MO_MAX_AXES];
    int64_t stride[LOOP_NEST_OPERANDS][MO_MAX_AXES];
    int64_t rows; /* product of all sizes but the last */
    int64_t n;    /* the last size */
} loop_nest;

/* Computes n elements; at[o] is the first element of operand o, step[o] its stride along the row. */
typedef void loop_nest_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step);

loop_nest loop_nest_of(int operands, const mo_view *const *views);
/* Calls `row` for every row, or for every part of a long row; in parallel if the nest is large enough. */
void loop_nest_run(mo_context *ctx, const loop_nest *N, loop_nest_row *row, const void *arguments);

/* Copy and fill of the CPU backend, for every dtype (copy.c). */
void copy_cpu(mo_context *ctx, const mo_view *x, const mo_view *y);
void fill_cpu(mo_context *ctx, double value, const mo_view *y);
/* y = x rounded to bf16, to the nearest even, as factors of products are: x is float32, y float32 or bf16. Subnormal
 * numbers become 0; NaN and infinity stay, and a number beyond the largest of bf16 becomes infinity. */
void round_cpu(mo_context *ctx, const mo_view *x, const mo_view *y);

/* packed_view, with the last two axes in the order in which v stores them. */
static inline mo_view packed_as_stored(const mo_view *v) {
    int rows = v->ndim - 2, columns = v->ndim - 1;
    bool turned = v->stride[columns] != 1 && v->stride[rows] == 1;
    mo_view P = packed_view(v);
    if (turned) {
        P.stride[rows] = 1;
        P.stride[columns] = v->shape[rows];
    }
    return P;
}

#endif
