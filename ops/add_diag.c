/* ops/add_diag.c - Y = A + lambda I: the ridge on a Gram matrix.
 *
 * A [.., n, n], lambda a scalar or one for each matrix [..], which broadcasts with the leading axes of A -> Y
 * [.., n, n]; the op itself takes a lambda whose axes fit A's leading axes. float32 or float64. Errors: not square; a
 * lambda that does not fit the leading axes. Saved: nothing.
 *
 * dY = dA + dlambda I, hence A_bar = Y_bar, lambda_bar = <Y_bar, I> = the sum of Y_bar's diagonal, over all matrices
 * that share the lambda. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool add_diag_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *lambda = c->in[1];
    if (!mo_call_real(c, 0, 1))
        return false;
    if (A->ndim < 2 || mo_dim(A, -1) != mo_dim(A, -2))
        return mo_call_fail(c, MO_INVALID, "expected square matrices [.., n, n]");
    int lead = A->ndim - 2, extra = lead - lambda->ndim;
    for (int i = 0; i < lambda->ndim; i++)
        if (extra < 0 || (lambda->shape[i] != 1 && lambda->shape[i] != A->shape[extra + i]))
            return mo_call_fail(c, MO_INVALID, "expected lambda as a scalar or in the leading axes of A");
    return mo_call_output(c, 0, A->dtype, A->ndim, A->shape);
}

static void add_diag_forward(mo_call *c) {
    mo_view a = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    mo_view a_ii = mo_diagonal_view(a), y_ii = mo_diagonal_view(y);
    mo_view lambda = mo_broadcast_view(mo_tensor_view(c->in[1]), 0, y.ndim - 2, y.shape);
    lambda.shape[lambda.ndim] = y_ii.shape[y_ii.ndim - 1]; /* lambda's stride is 0 along the diagonal */
    lambda.stride[lambda.ndim++] = 0;
    c->ctx->backend->copy(c->ctx, &a, &y);
    mo_kernels_of(c->ctx, y.dtype)->map2(c->ctx, MO_MAP_ADD, &a_ii, &lambda, &y_ii);
}

static void add_diag_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    const mo_tensor *A = v->in[0], *lambda = v->in[1];
    v->in_bar[0] = v->out_bar[0];
    if (v->needs[1]) {
        mo_tensor *trace = mo_sum(t, mo_diagonal(t, v->out_bar[0]), MO_AXIS(A->ndim - 2), MO_DROP_AXES);
        v->in_bar[1] = mo_sum_to(t, trace, lambda->ndim, lambda->shape);
    }
}

static const mo_sample add_diag_samples[] = {
    {"scalar", "[4, 4] []"},
    {"shared by the batch", "[3, 2, 2] []"},
    {"one for each matrix", "[3, 2, 2] [3]"},
    {"partly shared", "[2, 3, 2, 2] [2, 1]"},
    {"not square", "[3, 4] []", .error = "add_diag: expected square matrices [.., n, n]; got [3, 4]"},
    {"lambda", "[3, 2, 2] [2]", .error = "expected lambda as a scalar"},
    {"diagonal", "[2, 2] [2]", .error = "expected lambda as a scalar"},
};

const mo_op mo_op_add_diag = {
    .name = "add_diag",
    .n_in = 2,
    .shape = add_diag_shape,
    .forward = add_diag_forward,
    .vjp = add_diag_vjp,
    MO_SAMPLES(add_diag_samples),
};

mo_tensor *mo_add_diag(mo_tape *t, mo_tensor *A, mo_tensor *lambda) {
    int64_t shape[MO_MAX_AXES];
    if (!mo_is_null(A) && !mo_is_null(lambda) && A->ndim >= 2) {
        int ndim = mo_broadcast_shape(A->ndim - 2, A->shape, lambda->ndim, lambda->shape, shape);
        if (ndim > A->ndim - 2 || (ndim >= 0 && memcmp(shape, A->shape, (size_t)ndim * sizeof *shape) != 0))
            A = mo_broadcast_onto(t, A, 2, ndim, shape);
    }
    return mo_apply(t, &mo_op_add_diag, (mo_tensor *[]){A, lambda}, 2, NULL);
}
