/* ops/logdet.c - y = log det A for symmetric positive definite A, by Cholesky, and y = log |det A| for any regular A,
 * by LU; batched.
 *
 * A [.., n, n] -> y [..]; float32 or float64. logdet reads only the lower triangle of A. y is a sum of logarithms, so
 * no determinant overflows; the determinant of a 0 x 0 matrix is 1. Errors: A not square, a matrix that is not positive
 * definite (logdet), singular (log_abs_det) or not finite, named. Saved: for logdet the factor L, A = L L^T; for
 * log_abs_det L, U and the pivots.
 *
 * d det A = det A tr(A^-1 dA), so dy = tr(A^-1 dA) = <A^-T, dA> (Giles 2008, 2.2.4), hence
 *     A_bar = y_bar A^-T, for logdet on the symmetric matrices ½ (M + M^T) with M = y_bar A^-1.
 * The inverse is a solve with the identity and the saved factor: backward never factorizes, at any order, and yet
 * differentiates through A. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

static bool logdet_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    return mo_call_real(c, 0, 0) && mo_call_square(c, 0) && mo_call_output(c, 0, A->dtype, A->ndim - 2, A->shape);
}

/* y = the sum of a log |F_ii| over the diagonal of each matrix F. */
static void sum_logarithms(mo_call *c, const mo_tensor *F, double a) {
    const mo_kernels *k = mo_kernels_of(c->ctx, F->dtype);
    mo_tensor *rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = mo_call_temporary(c, F->dtype, F->ndim - 1, F->shape);
    mo_view f = mo_diagonal_view(mo_tensor_view(F)), size = mo_tensor_view(rows[0]), log = mo_tensor_view(rows[1]),
            scaled = mo_tensor_view(rows[2]), out = mo_tensor_view(c->out[0]), y = scaled;
    if (!mo_ok(c->ctx))
        return;
    y.data = out.data; /* the last axis is summed */
    for (int i = 0; i < y.ndim; i++)
        y.stride[i] = i < out.ndim ? out.stride[i] : 0;
    k->map1(c->ctx, MO_MAP_ABS, 0, 0, &f, &size);
    k->map1(c->ctx, MO_MAP_LOG, 0, 0, &size, &log);
    k->map1(c->ctx, MO_MAP_SCALE, a, 0, &log, &scaled);
    k->reduce(c->ctx, MO_REDUCE_SUM, &scaled, &y);
}

static mo_tensor *identity_like(mo_tape *t, const mo_tensor *A) {
    return mo_broadcast_to(t, mo_eye(t, A->dtype, mo_dim(A, -1)), A->ndim, A->shape);
}

/* Returns y_bar [..] as [.., 1, 1]. */
static mo_tensor *as_matrices(mo_tape *t, mo_tensor *y_bar) {
    int64_t size[MO_MAX_AXES];
    for (int i = 0; i < y_bar->ndim; i++)
        size[i] = y_bar->shape[i];
    size[y_bar->ndim] = size[y_bar->ndim + 1] = 1;
    return mo_reshape(t, mo_contiguous(t, y_bar), y_bar->ndim + 2, size);
}

static void logdet_forward(mo_call *c) {
    mo_tensor *L = mo_factor_spd(c, MO_FAIL_CALL, NULL);
    if (!L)
        return;
    sum_logarithms(c, L, 2);
    mo_call_save(c, L);
}

static void logdet_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *inverse = mo_solve_spd_factored(t, A, identity_like(t, A), v->saved[0]);
    mo_tensor *M = mo_mul(t, inverse, as_matrices(t, v->out_bar[0]));
    v->in_bar[0] = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
}

static double logdet_flops(const mo_call *c) {
    return (double)mo_numel(c->in[0]) * (double)mo_dim(c->in[0], -1) / 3;
}

static const mo_sample logdet_samples[] = {
    {"matrix", "spd[5, 5]"},
    {"batch", "spd[2, 2, 3, 3]"},
    {"one", "spd[1, 1]"},
    {"not square", "[3, 4]", .error = "logdet: expected square matrices [.., n, n]; got [3, 4]"},
    {"indefinite", "symmetric[2, 4, 4]", .error = "logdet: matrix 0 of 2 is not positive definite (leading minor",
        .code = MO_NUMERICAL},
};

const mo_op mo_op_logdet = {
    .name = "logdet",
    .shape = logdet_shape,
    .forward = logdet_forward,
    .vjp = logdet_vjp,
    .flops = logdet_flops,
    MO_SAMPLES(logdet_samples),
};

mo_tensor *mo_logdet(mo_tape *t, mo_tensor *A) {
    return mo_apply(t, &mo_op_logdet, (mo_tensor *[]){A}, 1, NULL);
}

/* ---- log_abs_det ---- */

static void log_abs_det_forward(mo_call *c) {
    mo_tensor *LU, *pivot, *info;
    if (!mo_factor_lu(c, MO_FAIL_CALL, &LU, &pivot, &info))
        return;
    sum_logarithms(c, LU, 1);
    mo_call_save(c, LU);
    mo_call_save(c, pivot);
}

static void log_abs_det_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *inverse = mo_solve_factored(t, A, identity_like(t, A), v->saved, true); /* A^-T */
    v->in_bar[0] = mo_mul(t, inverse, as_matrices(t, v->out_bar[0]));
}

static double log_abs_det_flops(const mo_call *c) {
    return 2 * logdet_flops(c);
}

static const mo_sample log_abs_det_samples[] = {
    {"matrix", "general[5, 5]"},
    {"batch", "general[3, 4, 4]"},
    {"negative", "symmetric[3, 3]"},
    {"not square", "[3, 4]", .error = "log_abs_det: expected square matrices [.., n, n]; got [3, 4]"},
};

const mo_op mo_op_log_abs_det = {
    .name = "log_abs_det",
    .shape = logdet_shape,
    .forward = log_abs_det_forward,
    .vjp = log_abs_det_vjp,
    .flops = log_abs_det_flops,
    MO_SAMPLES(log_abs_det_samples),
};

mo_tensor *mo_log_abs_det(mo_tape *t, mo_tensor *A) {
    return mo_apply(t, &mo_op_log_abs_det, (mo_tensor *[]){A}, 1, NULL);
}
