/* ops/rules/shapes.h - arithmetic of shapes for the ops (library internal). */
#ifndef MO_SHAPES_H
#define MO_SHAPES_H

#include "autograd/inside.h"
#include "ops/ops.h"
#include "tensor/objects.h"

/* Broadcasts the leading axes, all but the last `trailing`, of inputs i and j of c. Writes the common leading shape and
 * its number of axes; raises and returns false if they do not broadcast. */
bool mo_broadcast_leading(mo_call *c, int i, int j, int trailing, int *ndim, int64_t *shape);
/* Writes the broadcast of the shapes a and b. Returns its number of axes; -1 if they do not broadcast. */
int mo_broadcast_shape(int na, const int64_t *a, int nb, const int64_t *b, int64_t *shape);
/* Returns X repeated, by ops, so that its leading axes, before the last `trailing`, are shape[0 .. ndim - 1]. */
mo_tensor *mo_broadcast_onto(mo_tape *t, mo_tensor *X, int trailing, int ndim, const int64_t *shape);
/* Returns v repeated, by strides of 0, so that its leading axes (all but the last `trailing`) are shape[0 .. ndim - 1].
 */
mo_view mo_broadcast_view(mo_view v, int trailing, int ndim, const int64_t *shape);
/* Returns the contiguous v with its leading axes (all but the last `trailing`) joined to one. */
mo_view mo_batch_view(mo_view v, int trailing);
/* Returns v with its last two axes swapped. */
mo_view mo_swap_view(mo_view v);
/* Returns the diagonals of the square matrices v [.., n, n], as [.., n]. */
mo_view mo_diagonal_view(mo_view v);
/* Returns the set of axes as bits 0 .. ndim - 1. An axis that does not exist gives a bit above these. */
unsigned mo_resolve_axes(mo_axes axes, int ndim);
/* Returns the number of the only axis in a set, negative if it counts from the end. Raises "<what>: expected one axis
 * .." if the set does not have exactly one. */
int mo_one_axis(mo_context *ctx, const char *what, mo_axes axes);
/* Counts a negative axis from the front instead of from the end; -1 if there is no such axis. */
int mo_resolve_axis(int axis, int ndim);
/* Returns whether A and B have the same number of axes, and their first `axes` axes the same sizes. */
bool mo_same_leading(const mo_tensor *A, const mo_tensor *B, int axes);
/* Returns a view of v with only the elements start .. start+count-1 of one axis. */
mo_view mo_window(mo_view v, int axis, int64_t start, int64_t count);

/* A shape as an op's option. ndim can be out of range; the op's shape rule then raises. */
typedef struct mo_shape_option {
    int ndim;
    int64_t size[MO_MAX_AXES];
} mo_shape_option;

mo_shape_option mo_shape_option_of(int ndim, const int64_t *shape);

#endif
