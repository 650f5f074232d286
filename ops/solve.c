/* ops/solve.c - X = A^-1 B for regular A, by LU with partial pivoting, batched.
 *
 * A [.., n, n], B [.., n, m] -> X [.., n, m]; leading axes broadcast. float32 or float64. Errors: A not square, sizes
 * that differ, a matrix that is singular (a pivot of 0, or a reciprocal condition below the machine epsilon) or not
 * finite, which the error names; with or_nan, X and the gradients of A and B are NaN for this matrix instead. Saved: LU
 * in one matrix and the pivots, as getrf makes them (tensor/backend.h).
 *
 * A X = B;  dA X + A dX = dB;  dX = A^-1 (dB - dA X), hence (Giles 2008, 2.3.1)
 *     B_bar = A^-T X_bar,   A_bar = -B_bar X^T;
 * for the transposed system A^T X = B: B_bar = A^-1 X_bar, A_bar = -X B_bar^T.
 * B_bar is this op again on (A, X_bar), transposed, with the saved factors: backward never factorizes, at any order,
 * and yet differentiates through A. The factors are by-products of A, not values of their own. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <math.h>
#include <string.h>

/* Inputs: A and B; then the factors and the pivots, if they are known. */
typedef struct solve_options {
    bool transposed;
    mo_failure failure;
} solve_options;

static bool solve_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    if (!mo_call_real(c, 0, c->n_in == 4 ? 2 : 1) || !mo_call_system(c))
        return false;
    if (c->n_in == 3)
        return mo_call_fail(c, MO_INVALID, "factors without their pivots");
    if (c->n_in == 4 && (!mo_same_shape(c->in[2], A) || c->in[3]->dtype != MO_I32 || c->in[3]->ndim != A->ndim - 1 ||
                            memcmp(c->in[3]->shape, A->shape, (size_t)(A->ndim - 1) * sizeof *A->shape) != 0))
        return mo_call_fail(c, MO_INVALID, "factors or pivots that do not belong to A");
    return mo_call_output(c, 0, A->dtype, B->ndim, B->shape);
}

static void solve_forward(mo_call *c) {
    const solve_options *o = c->attributes;
    mo_tensor *LU = c->in[2], *pivot = c->in[3], *info = NULL;
    if (c->n_in == 2 && !mo_factor_lu(c, o->failure, &LU, &pivot, &info))
        return;
    mo_view b = mo_tensor_view(c->in[1]), lu = mo_tensor_view(LU), p = mo_tensor_view(pivot),
            x = mo_tensor_view(c->out[0]);
    c->ctx->backend->copy(c->ctx, &b, &x);
    mo_kernels_of(c->ctx, x.dtype)->getrs(c->ctx, o->transposed, &lu, &p, &x);
    if (info && o->failure == MO_FAIL_ITEM) /* some BLAS skip a right-hand side of 0, whose X is then not NaN */
        mo_fill_failed(c, info, c->out[0], NAN);
    mo_call_save(c, LU);
    mo_call_save(c, pivot);
}

extern const mo_op mo_op_solve;

mo_tensor *mo_solve_factored(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *const factors[2], bool transposed) {
    solve_options o = {.transposed = transposed};
    return mo_apply(t, &mo_op_solve, (mo_tensor *[]){A, B, factors[0], factors[1]}, 4, &o);
}

static void solve_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    bool transposed = ((const solve_options *)v->attributes)->transposed;
    mo_tensor *A = v->in[0], *X = v->out[0], *X_bar = v->out_bar[0];
    mo_tensor *B_bar = mo_solve_factored(t, A, X_bar, v->saved, !transposed);
    if (v->needs[0]) {
        mo_tensor *left = transposed ? X : B_bar, *right = transposed ? B_bar : X;
        v->in_bar[0] = mo_matmul(t, mo_neg(t, left), mo_transpose(t, right));
    }
    v->in_bar[1] = B_bar;
}

static double solve_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return 2 * n * ((c->n_in == 4 ? 0 : (double)mo_numel(c->in[0]) / 3) + (double)mo_numel(c->out[0]));
}

static const solve_options plain = {0}, transposed = {.transposed = true}, or_nan = {.failure = MO_FAIL_ITEM};

static const mo_sample solve_samples[] = {
    {"three columns", "general[5, 5] [5, 3]"},
    {"transposed", "general[4, 4] [4, 2]", &transposed},
    {"batch", "general[2, 2, 3, 3] [2, 2, 3, 1]"},
    {"or NaN", "general[2, 3, 3] [2, 3, 2]", &or_nan},
    {"not square", "[3, 4] [3, 1]", .error = "solve: expected square matrices [.., n, n]; got [3, 4]"},
    {"rows", "general[3, 3] [4, 1]", .error = "expected right-hand sides with as many rows"},
    {"factors alone", "general[3, 3] [3, 1] [3, 3]", .error = "factors without their pivots"},
};

const mo_op mo_op_solve = {
    .name = "solve",
    .n_in = 2,
    .max_in = 4,
    .attributes_size = sizeof(solve_options),
    .reads_out = 1,
    .shape = solve_shape,
    .forward = solve_forward,
    .vjp = solve_vjp,
    .flops = solve_flops,
    MO_SAMPLES(solve_samples),
};

mo_tensor *mo_solve(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply_system(t, &mo_op_solve, A, B, &plain);
}

mo_tensor *mo_solve_or_nan(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply_system(t, &mo_op_solve, A, B, &or_nan);
}
