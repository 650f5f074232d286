/* ops/solve_spd.c - X = A^-1 B for symmetric positive definite A, by Cholesky, batched.
 *
 * A [.., n, n], B [.., n, m] -> X [.., n, m]; leading axes broadcast. float32 or float64. Only the lower triangle of A
 * is read. Errors: A not square, sizes that differ, a matrix that is not positive definite or not finite (named, with
 * its leading minor); with or_nan, X and the gradients of A and B are NaN for this matrix instead. Saved: the factor L,
 * A = L L^T.
 *
 * A X = B;  dA X + A dX = dB;  dX = A^-1 (dB - dA X), hence (Giles 2008, 2.3.1)
 *     B_bar = A^-T X_bar = A^-1 X_bar,
 *     A_bar = -B_bar X^T, on the symmetric matrices its symmetric part: ½ (M + M^T) with M = -B_bar X^T.
 * B_bar is this op again on (A, X_bar) with the saved factor: backward never factorizes, at any order, and yet
 * differentiates through A. The factor is a by-product of A, not a value of its own. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"

#include <math.h>
#include <string.h>

static bool solve_spd_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    if (!mo_call_real(c, 0, c->n_in - 1) || !mo_call_system(c))
        return false;
    if (c->n_in == 3 && !mo_same_shape(c->in[2], A))
        return mo_call_fail(c, MO_INVALID, "the factor has another shape than A");
    return mo_call_output(c, 0, A->dtype, B->ndim, B->shape);
}

/* The factor of A, unless it is given, and both solves in one kernel, if the device has such a kernel for this size. */
static bool solve_spd_at_once(mo_call *c, mo_failure failure) {
    const mo_tensor *A = c->in[0];
    const mo_kernels *k = mo_kernels_of(c->ctx, A->dtype);
    mo_spd_system s = {.X = mo_tensor_view(c->out[0])}, asked = s;
    asked.X.data = NULL;
    if (!k->solve_spd || !k->solve_spd(c->ctx, &asked))
        return false;
    bool given = c->n_in == 3;
    mo_tensor *L = given ? c->in[2] : mo_tape_tensor(c->t, A->dtype, A->ndim, A->shape);
    mo_tensor *info = given ? NULL : mo_call_temporary(c, MO_I32, A->ndim - 2, A->shape);
    s.B = mo_call_dense(c, 1);
    if (given)
        s.L = mo_call_dense(c, 2);
    else
        s.A = mo_call_dense(c, 0);
    if (!mo_ok(c->ctx))
        return true;
    if (!given) {
        s.L = mo_tensor_view(L);
        s.info = mo_tensor_view(info);
    }
    k->solve_spd(c->ctx, &s);
    if (!given && failure == MO_FAIL_ITEM)
        mo_fill_failed(c, info, L, NAN);
    else if (!given)
        mo_check_factor_info(c, info, "is not positive definite (leading minor %d)");
    mo_call_save(c, L);
    return true;
}

static void solve_spd_forward(mo_call *c) {
    mo_failure failure = *(const mo_failure *)c->attributes;
    if (solve_spd_at_once(c, failure))
        return;
    mo_tensor *info = NULL, *L = c->n_in == 3 ? c->in[2] : mo_factor_spd(c, failure, &info); /* A = L L^T */
    if (!L)
        return;
    mo_view b = mo_tensor_view(c->in[1]), l = mo_tensor_view(L), x = mo_tensor_view(c->out[0]);
    const mo_kernels *k = mo_kernels_of(c->ctx, x.dtype);
    c->ctx->backend->copy(c->ctx, &b, &x);
    k->trsm(c->ctx, MO_LOWER, &l, &x);            /* L^-1 B */
    k->trsm(c->ctx, MO_LOWER_TRANSPOSED, &l, &x); /* L^-T L^-1 B */
    if (info && failure == MO_FAIL_ITEM)          /* some BLAS skip a right-hand side of 0, whose X is then not NaN */
        mo_fill_failed(c, info, c->out[0], NAN);
    mo_call_save(c, L);
}

static void solve_spd_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->out[0], *B_bar = mo_solve_spd_factored(t, v->in[0], v->out_bar[0], v->saved[0]);
    if (v->needs[0]) {
        mo_tensor *half_M = mo_matmul(t, mo_scale(t, B_bar, -0.5, 0), mo_transpose(t, X));
        v->in_bar[0] = mo_add(t, half_M, mo_transpose(t, half_M));
    }
    v->in_bar[1] = B_bar;
}

extern const mo_op mo_op_solve_spd;
static const mo_failure or_error = MO_FAIL_CALL, or_nan = MO_FAIL_ITEM;

mo_tensor *mo_solve_spd_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *L) {
    return mo_apply(t, &mo_op_solve_spd, (mo_tensor *[]){A, B, L}, 3, &or_error);
}

static double solve_spd_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1), m = (double)mo_dim(c->in[1], -1),
           batch = n && m ? (double)mo_numel(c->out[0]) / (n * m) : 0;
    return batch * ((c->n_in == 3 ? 0 : n * n * n / 3) + 2 * n * n * m);
}

static const mo_sample solve_spd_samples[] = {
    {"three columns", "spd[5, 5] [5, 3]"},
    {"batch", "spd[3, 4, 4] [3, 4, 2]"},
    {"one", "spd[1, 1] [1, 1]"},
    {"or NaN, two batch axes", "spd[2, 2, 3, 3] [2, 2, 3, 1]", &or_nan},
    {"not square", "[3, 4] [3, 1]", .error = "square"},
    {"rows", "spd[3, 3] [4, 1]", .error = "solve_spd: expected right-hand sides with as many rows"},
    {"indefinite", "symmetric[2, 4, 4] [2, 4, 1]",
        .error = "solve_spd: matrix 0 of 2 is not positive definite (leading minor", .code = MO_NUMERICAL},
};

const mo_op mo_op_solve_spd = {
    .name = "solve_spd",
    .n_in = 2,
    .max_in = 3,
    .attributes_size = sizeof(mo_failure),
    .reads_out = 1,
    .shape = solve_spd_shape,
    .forward = solve_spd_forward,
    .vjp = solve_spd_vjp,
    .flops = solve_spd_flops,
    MO_SAMPLES(solve_spd_samples),
};

mo_tensor *mo_solve_spd(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply_system(t, &mo_op_solve_spd, A, B, &or_error);
}

mo_tensor *mo_solve_spd_or_nan(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply_system(t, &mo_op_solve_spd, A, B, &or_nan);
}
