/* ops/solve.c - X = A^-1 B for regular A, by LU with partial pivoting, batched.
 *
 * A [.., n, n], B [.., n, m] -> X [.., n, m], equal leading axes; float32 or float64. Errors: A not square, sizes that
 * differ, a matrix that is singular (a pivot of 0, or a reciprocal condition below the machine epsilon) or not finite,
 * named. Saved: the factors L and U in one matrix, P A = L U, and the pivots.
 *
 * A X = B;  dA X + A dX = dB;  dX = A^-1 (dB - dA X), hence (Giles 2008, 2.3.1)
 *     B_bar = A^-T X_bar,   A_bar = -B_bar X^T;
 * for the transposed system A^T X = B likewise B_bar = A^-1 X_bar, A_bar = -X B_bar^T.
 * B_bar is this op again on (A, X_bar), transposed, with the factors at hand: backward never factorizes, at any order,
 * and yet differentiates through A. The factors are by-products of A, not values of their own. */
#include "ops/factor_info.h"
#include "ops/ops.h"
#include "ops/shapes.h"

#include <string.h>

/* Inputs: A, B, and where they are known the factors and the pivots. */
typedef struct solve_options {
    bool transposed;
} solve_options;

static bool shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *B = c->in[1];
    if (!mo_call_real(c, 0, c->n_in == 4 ? 2 : 1))
        return false;
    if (A->ndim < 2 || mo_dim(A, -1) != mo_dim(A, -2))
        return mo_call_fail(c, MO_INVALID, "expected square matrices [.., n, n]");
    if (B->ndim != A->ndim || memcmp(A->shape, B->shape, (size_t)(A->ndim - 1) * sizeof *A->shape) != 0)
        return mo_call_fail(c, MO_INVALID, "right-hand sides expected with as many rows and the same leading axes");
    if (c->n_in == 3)
        return mo_call_fail(c, MO_INVALID, "factors without their pivots");
    if (c->n_in == 4 && (!mo_same_shape(c->in[2], A) || c->in[3]->dtype != MO_I32 || c->in[3]->ndim != A->ndim - 1 ||
                            memcmp(c->in[3]->shape, A->shape, (size_t)(A->ndim - 1) * sizeof *A->shape) != 0))
        return mo_call_fail(c, MO_INVALID, "factors or pivots that do not belong to A");
    return mo_call_output(c, 0, A->dtype, B->ndim, B->shape);
}

/* L and U with P A = L U, and the pivots that say P. */
static bool factor(mo_call *c, mo_tensor **LU, mo_tensor **pivot) {
    const mo_tensor *A = c->in[0];
    mo_tensor *info = mo_factor_info(c, A);
    *LU = mo_tape_tensor(c->t, A->dtype, A->ndim, A->shape);
    *pivot = mo_tape_tensor(c->t, MO_I32, A->ndim - 1, A->shape);
    if (!mo_ok(c->ctx))
        return false;
    mo_view a = mo_tensor_view(A), lu = mo_tensor_view(*LU), p = mo_tensor_view(*pivot), i = mo_tensor_view(info);
    c->ctx->backend->copy(c->ctx, &a, &lu);
    mo_kernels_of(c->ctx, A->dtype)->getrf(c->ctx, &lu, &p, &i);
    return mo_check_factor_info(c, info, "is singular (pivot %d is 0)");
}

static void forward(mo_call *c) {
    const solve_options *o = c->attributes;
    mo_tensor *LU = c->n_in == 4 ? c->in[2] : NULL, *pivot = c->n_in == 4 ? c->in[3] : NULL;
    if (!LU && !factor(c, &LU, &pivot))
        return;
    mo_view b = mo_tensor_view(c->in[1]), lu = mo_tensor_view(LU), p = mo_tensor_view(pivot),
            x = mo_tensor_view(c->out[0]);
    c->ctx->backend->copy(c->ctx, &b, &x);
    mo_kernels_of(c->ctx, x.dtype)->getrs(c->ctx, o->transposed, &lu, &p, &x);
    mo_call_save(c, LU);
    mo_call_save(c, pivot);
}

extern const mo_op mo_op_solve;

static void vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    solve_options adjoint = {!((const solve_options *)v->attributes)->transposed};
    mo_tensor *A = v->in[0], *X = v->out[0], *X_bar = v->out_bar[0], *LU = v->saved[0], *pivot = v->saved[1];
    mo_tensor *B_bar = mo_apply(t, &mo_op_solve, (mo_tensor *[]){A, X_bar, LU, pivot}, 4, &adjoint);
    if (v->needs[0]) {
        mo_tensor *left = adjoint.transposed ? B_bar : X, *right = adjoint.transposed ? X : B_bar;
        v->in_bar[0] = mo_neg(t, mo_matmul(t, left, mo_transpose(t, right)));
    }
    v->in_bar[1] = B_bar;
}

static double flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return 2 * n * ((c->n_in == 4 ? 0 : (double)mo_numel(c->in[0]) / 3) + (double)mo_numel(c->out[0]));
}

static const solve_options plain = {false}, transposed = {true};

static const mo_sample samples[] = {
    {.name = "three columns",
        .n_in = 2,
        .in = {{MO_DRAW_GENERAL, 2, {5, 5}, 0}, {.ndim = 2, .shape = {5, 3}}},
        .attributes = &plain},
    {.name = "transposed",
        .n_in = 2,
        .in = {{MO_DRAW_GENERAL, 2, {4, 4}, 0}, {.ndim = 2, .shape = {4, 2}}},
        .attributes = &transposed},
    {.name = "batch",
        .n_in = 2,
        .in = {{MO_DRAW_GENERAL, 4, {2, 2, 3, 3}, 0}, {.ndim = 4, .shape = {2, 2, 3, 1}}},
        .attributes = &plain},
    {.name = "no columns",
        .n_in = 2,
        .in = {{MO_DRAW_GENERAL, 2, {3, 3}, 0}, {.ndim = 2, .shape = {3, 0}}},
        .attributes = &plain},
};

static const mo_error_sample error_samples[] = {
    {{.name = "not square",
         .n_in = 2,
         .in = {{.ndim = 2, .shape = {3, 4}}, {.ndim = 2, .shape = {3, 1}}},
         .attributes = &plain},
        MO_INVALID, "solve: expected square matrices [.., n, n]; got [3, 4]"},
    {{.name = "rows",
         .n_in = 2,
         .in = {{MO_DRAW_GENERAL, 2, {3, 3}, 0}, {.ndim = 2, .shape = {4, 1}}},
         .attributes = &plain},
        MO_INVALID, "right-hand sides expected with as many rows"},
    {{.name = "factors alone",
         .n_in = 3,
         .in = {{MO_DRAW_GENERAL, 2, {3, 3}, 0}, {.ndim = 2, .shape = {3, 1}}, {.ndim = 2, .shape = {3, 3}}},
         .attributes = &plain},
        MO_INVALID, "factors without their pivots"},
};

const mo_op mo_op_solve = {
    .name = "solve",
    .min_in = 2,
    .max_in = 4,
    .n_out = 1,
    .attributes_size = sizeof(solve_options),
    .reads_out = 1,
    .shape = shape,
    .forward = forward,
    .vjp = vjp,
    .flops = flops,
    .samples = samples,
    .n_samples = 4,
    .error_samples = error_samples,
    .n_error_samples = 3,
};

mo_tensor *mo_solve(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_solve, (mo_tensor *[]){A, B}, 2, &plain);
}
