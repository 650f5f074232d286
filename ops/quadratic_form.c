/* ops/quadratic_form.c - y = x^T A^-1 x for symmetric positive definite A, by Cholesky, batched.
 *
 * A [.., n, n], X [.., n, m] -> y [.., m], one value per column x of X; equal leading axes; float32 or float64. Only
 * the lower triangle of A is read. y = |L^-1 x|^2, so it is never negative, and half a solve is enough. Errors: those
 * of solve_spd. Saved: the factor L, A = L L^T.
 *
 * With w = A^-1 x: dy = 2 w^T dx - w^T dA w, hence with W = A^-1 X
 *     X_bar = 2 W diag(y_bar),   A_bar = -½ (M + M^T) on the symmetric matrices, M = W diag(y_bar) W^T.
 * W is a solve with the saved factor: backward never factorizes, at any order, and yet differentiates through A. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool quadratic_form_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *X = c->in[1];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, 1) || !mo_call_square(c, 0))
        return false;
    if (!mo_same_leading(A, X, A->ndim - 1))
        return mo_call_fail(c, MO_INVALID, "columns expected with as many rows and the same leading axes");
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 2] = X->shape[X->ndim - 1];
    return mo_call_output(c, 0, A->dtype, X->ndim - 1, size);
}

static void quadratic_form_forward(mo_call *c) {
    const mo_tensor *X = c->in[1];
    mo_tensor *L = mo_factor_spd(c, MO_FAIL_CALL, NULL), *Z = mo_call_temporary(c, X->dtype, X->ndim, X->shape);
    if (!L || !mo_ok(c->ctx))
        return;
    mo_view x = mo_tensor_view(X), l = mo_tensor_view(L), z = mo_tensor_view(Z), out = mo_tensor_view(c->out[0]), y = z;
    const mo_kernels *k = mo_kernels_of(c->ctx, z.dtype);
    c->ctx->backend->copy(c->ctx, &x, &z);
    k->trsm(c->ctx, MO_LOWER, &l, &z); /* L^-1 X */
    y.data = out.data;
    for (int i = 0; i < y.ndim; i++) /* sums the rows of z into one */
        y.stride[i] = i == y.ndim - 2 ? 0 : out.stride[i < y.ndim - 2 ? i : i - 1];
    k->reduce(c->ctx, MO_REDUCE_SUM_OF_SQUARES, &z, &y);
    mo_call_save(c, L);
}

static void quadratic_form_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *X = v->in[1];
    int64_t row[MO_MAX_AXES];
    memcpy(row, X->shape, sizeof row);
    row[X->ndim - 2] = 1;
    mo_tensor *y_bar = mo_reshape(t, mo_contiguous(t, v->out_bar[0]), X->ndim, row);
    mo_tensor *W = mo_solve_spd_factored(t, A, X, v->saved[0]), *weighted = mo_mul(t, W, y_bar); /* W diag(y_bar) */
    if (v->needs[0]) {
        mo_tensor *M = mo_matmul(t, weighted, mo_transpose(t, W));
        v->in_bar[0] = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), -0.5, 0);
    }
    if (v->needs[1])
        v->in_bar[1] = mo_scale(t, weighted, 2, 0);
}

static double quadratic_form_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return (double)mo_numel(c->in[0]) * n / 3 + (double)mo_numel(c->in[1]) * (n + 2);
}

static const mo_sample quadratic_form_samples[] = {
    {"one column", "spd[5, 5] [5, 1]"},
    {"columns", "spd[4, 4] [4, 3]"},
    {"batch", "spd[2, 2, 3, 3] [2, 2, 3, 2]"},
    {"not square", "[3, 4] [3, 1]", .error = "quadratic_form: expected square matrices [.., n, n]; got [3, 4]"},
    {"rows", "spd[3, 3] [4, 1]", .error = "quadratic_form: columns expected with as many rows"},
    {"indefinite", "symmetric[2, 4, 4] [2, 4, 1]",
        .error = "quadratic_form: matrix 0 of 2 is not positive definite (leading minor", .code = MO_NUMERICAL},
};

const mo_op mo_op_quadratic_form = {
    .name = "quadratic_form",
    .n_in = 2,
    .reads_in = 2,
    .shape = quadratic_form_shape,
    .forward = quadratic_form_forward,
    .vjp = quadratic_form_vjp,
    .flops = quadratic_form_flops,
    MO_SAMPLES(quadratic_form_samples),
};

mo_tensor *mo_quadratic_form(mo_tape *t, mo_tensor *A, mo_tensor *X) {
    int ndim;
    int64_t shape[MO_MAX_AXES];
    if (mo_systems_broadcast(A, X, &ndim, shape)) {
        A = mo_broadcast_onto(t, A, 2, ndim, shape);
        X = mo_broadcast_onto(t, X, 2, ndim, shape);
    }
    return mo_apply(t, &mo_op_quadratic_form, (mo_tensor *[]){A, X}, 2, NULL);
}
