/* ops/rules/shapes.h - arithmetic of shapes for several families of ops (library internal). */
#ifndef MO_SHAPES_H
#define MO_SHAPES_H

#include "autograd/inside.h"
#include "ops/ops.h"
#include "tensor/storage.h"

/* The broadcast of the leading axes of inputs i and j of c, all but the last `trailing`; raises if they do not
 * broadcast. Writes the common leading shape and its number of axes. */
bool mo_broadcast_leading(mo_call *c, int i, int j, int trailing, int *ndim, int64_t *shape);
/* The broadcast of two shapes. Returns its number of axes; -1 if they do not broadcast. */
int mo_broadcast_shape(int na, const int64_t *a, int nb, const int64_t *b, int64_t *shape);
/* X with the leading axes shape[0 .. ndim - 1] before its last `trailing`, with ops. */
mo_tensor *mo_broadcast_onto(mo_tape *t, mo_tensor *X, int trailing, int ndim, const int64_t *shape);
/* v with the leading axes shape[0 .. ndim-1] before its last `trailing` axes, through strides of 0. */
mo_view mo_broadcast_view(mo_view v, int trailing, int ndim, const int64_t *shape);
/* v, contiguous, with its leading axes (all but the last `trailing`) merged to one. */
mo_view mo_batch_view(mo_view v, int trailing);
/* v with its last two axes swapped. */
mo_view mo_swap_view(mo_view v);
/* The diagonal of the last two axes [n, n] of v, as one axis. */
mo_view mo_diagonal_view(mo_view v);
/* A set of axes as bits 0 .. ndim - 1. The bit of an axis that does not exist stays set. */
unsigned mo_resolve_axes(mo_axes axes, int ndim);
/* The axis of a set of exactly one axis, negative from the end; raises "<what>: expected one axis .." otherwise. */
int mo_one_axis(mo_context *ctx, const char *what, mo_axes axes);
/* Counts a negative axis from the end; returns -1 if the axis is outside. */
int mo_resolve_axis(int axis, int ndim);
bool mo_same_shape(const mo_tensor *A, const mo_tensor *B);
/* Whether A and B have the same number of axes, and the same sizes of the first ones. */
bool mo_same_leading(const mo_tensor *A, const mo_tensor *B, int axes);
/* Elements start .. start+count-1 of one axis of v. */
mo_view mo_window(mo_view v, int axis, int64_t start, int64_t count);

/* A shape as an op's option. ndim may be out of range; the shape rule then raises. */
typedef struct mo_shape_option {
    int ndim;
    int64_t size[MO_MAX_AXES];
} mo_shape_option;

mo_shape_option mo_shape_option_of(int ndim, const int64_t *shape);

#endif
