/* tensor/cpu/nest.h - loops over views of equal shape and any strides.
 *
 * Axes of size 1 are dropped, the rest ordered by the stride of the last operand (the output) and neighbours merged
 * where every operand allows, so that most nests become one row. */
#ifndef MO_CPU_NEST_H
#define MO_CPU_NEST_H

#include "tensor/storage.h"

enum { NEST_OPERANDS = 4 };

typedef struct nest {
    int operands, ndim; /* ndim >= 1; the last axis is the row */
    int64_t size[MO_MAX_AXES];
    int64_t stride[NEST_OPERANDS][MO_MAX_AXES];
    int64_t rows; /* product of the sizes but the last */
    int64_t n;    /* the last size */
} nest;

/* Computes n elements; at[o] is the first element of operand o, step[o] its stride along the row. */
typedef void nest_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step);

nest nest_of(int operands, const mo_view *const *views);
/* Calls row for every row or piece of one, in parallel where that pays. */
void nest_run(mo_context *ctx, const nest *N, nest_row *row, const void *arguments);

#endif
