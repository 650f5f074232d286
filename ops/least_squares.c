/* ops/least_squares.c - X = A^+ B: of all X that minimise |A X - B| the one of least norm; batched.
 *
 * A [.., m, n] of any rank, B [.., m, c] -> X [.., n, c]; leading axes broadcast. float32 or float64. By the singular
 * values, A = U diag(s) V^T: those up to rcond times the largest count as 0, which gives the rank. rcond < 0: eps times
 * the smaller of max(m, n) and 10 min(m, n): rounding leaves a zero value of a tall matrix near eps whatever m is, and
 * max(m, n) alone would cut off what is below 0.01 of the largest for 100,000 rows of float32. Errors: sizes that
 * differ; an rcond that is not below 1; A not finite, not converged (named). Saved: U, V and 1 / s, 0 beyond the rank.
 *
 * A^+ has a derivative only where the rank stays as it is. Then, with P = A^+ (Golub and Pereyra 1973),
 *     dP = -P dA P + P P^T dA^T (I - A P) + (I - P A) dA^T P^T P,   dX = P dB + dP B, hence
 *     B_bar = E = P^T X_bar,   A_bar = R (P E)^T - E X^T + (P^T X) S^T,   R = (I - A P) B,   S = (I - P A) X_bar.
 * If values above 0 were cut off, this is off by their share of those kept. Each product is this op again, of A or A^T,
 * with the saved factors; so are the projections R = N B, N = I - A P, and S, which lose no digits, as differences
 * B - A X do in a matrix of large condition. For Y = N B with N = I - P A:
 *     dN = -P dA N - N dA^T P^T,   B_bar = N Y_bar,   A_bar = -(P^T Y_bar) Y^T - (P^T B) (N Y_bar)^T.
 * So backward never decomposes, at any order, and no gap of the singular values divides.
 *
 * The pseudoinverse is least_squares(A, I). The nearest matrix of rank r, with the gradients of svd, is
 * U_r diag(s_r) V_r^T, of the first r columns and values; the projection onto A's columns is A least_squares(A, B). */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <float.h>
#include <string.h>

/* Inputs: A and B; then the factors and the inverse values, if they are known. */
typedef struct least_squares_options {
    bool transposed; /* C = A^T, else C = A */
    bool projects;   /* Y = (I - C^+ C) B, else X = C^+ B */
    double rcond;
} least_squares_options;

static bool least_squares_shape(mo_call *c) {
    const least_squares_options *o = c->attributes;
    const mo_tensor *A = c->in[0], *B = c->in[1];
    int64_t size[MO_MAX_AXES];
    if (!mo_call_real(c, 0, c->n_in == 5 ? 4 : 1))
        return false;
    if (c->n_in != 2 && c->n_in != 5)
        return mo_call_fail(c, MO_INVALID, "factors that are not complete");
    if (A->ndim < 2)
        return mo_call_fail(c, MO_INVALID, "expected a matrix [.., m, n]");
    if (B->ndim != A->ndim || !mo_same_leading(A, B, A->ndim - 2) ||
        mo_dim(B, -2) != mo_dim(A, o->transposed == o->projects ? -2 : -1))
        return mo_call_fail(c, MO_INVALID,
            "expected right-hand sides [.., m, c] with as many rows as the matrix, and leading axes that broadcast");
    if (!(o->rcond < 1))
        return mo_call_fail(c, MO_INVALID, "rcond = %g, expected less than 1; below 0: the default", o->rcond);
    memcpy(size, B->shape, sizeof size);
    if (!o->projects)
        size[B->ndim - 2] = mo_dim(A, o->transposed ? -2 : -1);
    return mo_call_output(c, 0, A->dtype, B->ndim, size);
}

/* inverse = 1 / s where s is above rcond times the first, else 0. */
static void invert(mo_call *c, double rcond, const mo_tensor *s, const mo_tensor *inverse) {
    const mo_kernels *k = mo_kernels_of(c->ctx, s->dtype);
    mo_view x = mo_tensor_view(s), first = x, y = mo_tensor_view(inverse);
    mo_tensor *spare = mo_call_temporary(c, s->dtype, s->ndim, s->shape);
    mo_view kept = mo_tensor_view(spare);
    if (!mo_ok(c->ctx) || mo_numel(s) == 0)
        return;
    first.stride[x.ndim - 1] = 0;
    k->map1(c->ctx, MO_MAP_SCALE, rcond, 0, &first, &y);
    k->map2(c->ctx, MO_MAP_SUB, &x, &y, &kept);
    k->map2(c->ctx, MO_MAP_RELU_MASK, &x, &kept, &kept);
    k->map2(c->ctx, MO_MAP_DIV_OR_0, &kept, &kept, &y);
    k->map2(c->ctx, MO_MAP_DIV_OR_0, &y, &kept, &y);
}

/* Makes the factors; returns whether it could. */
static bool decompose(mo_call *c, mo_tensor *factors[3]) {
    const mo_tensor *A = c->in[0];
    int64_t m = mo_dim(A, -2), n = mo_dim(A, -1), size[MO_MAX_AXES];
    double rcond = ((const least_squares_options *)c->attributes)->rcond;
    double epsilon = A->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    memcpy(size, A->shape, sizeof size);
    size[A->ndim - 2] = m < n ? m : n;
    mo_tensor *s = mo_call_temporary(c, A->dtype, A->ndim - 1, size);
    factors[2] = mo_tape_tensor(c->t, A->dtype, A->ndim - 1, size);
    if (!mo_ok(c->ctx) || !mo_factor_svd(c, true, s, &factors[0], &factors[1]))
        return false;
    int64_t larger = m > n ? m : n, smaller = m > n ? n : m;
    invert(c, rcond < 0 ? epsilon * (double)(larger < 10 * smaller ? larger : 10 * smaller) : rcond, s, factors[2]);
    return mo_ok(c->ctx);
}

static void least_squares_forward(mo_call *c) {
    const least_squares_options *o = c->attributes;
    const mo_kernels *k = mo_kernels_of(c->ctx, c->in[0]->dtype);
    mo_tensor *factors[3] = {c->in[2], c->in[3], c->in[4]};
    if (c->n_in == 2 && !decompose(c, factors))
        return;
    for (int i = 0; i < 3; i++)
        mo_call_save(c, factors[i]);
    mo_view U, V, b = mo_tensor_view(c->in[1]), y = mo_tensor_view(c->out[0]), weight = mo_tensor_view(factors[2]);
    mo_svd_views(c->in[0], factors[0], factors[1], &U, &V);
    mo_view to = o->transposed ? U : V, from = o->transposed == o->projects ? U : V;
    int64_t size[MO_MAX_AXES];
    memcpy(size, b.shape, sizeof size);
    size[b.ndim - 2] = U.shape[U.ndim - 1];
    mo_tensor *inner = mo_call_temporary(c, c->in[0]->dtype, b.ndim, size);
    mo_tensor *ones = mo_call_temporary(c, c->in[0]->dtype, weight.ndim, weight.shape);
    mo_view x = mo_tensor_view(inner), one = mo_tensor_view(ones);
    if (!mo_ok(c->ctx) || mo_numel(c->out[0]) == 0)
        return;
    if (o->projects) {
        if (mo_numel(ones))
            k->map2(c->ctx, MO_MAP_DIV_OR_0, &weight, &weight, &one);
        weight = one;
        c->ctx->backend->copy(c->ctx, &b, &y);
    }
    weight.ndim = x.ndim;
    weight.shape[x.ndim - 1] = x.shape[x.ndim - 1];
    weight.stride[x.ndim - 1] = 0;
    k->gemm(c->ctx, &(mo_gemm){.A = mo_swap_view(from), .B = b, .C = x, .alpha = 1});
    if (mo_numel(inner))
        k->map2(c->ctx, MO_MAP_MUL, &x, &weight, &x);
    k->gemm(c->ctx, &(mo_gemm){.A = to, .B = x, .C = y, .alpha = o->projects ? -1 : 1, .beta = o->projects ? 1 : 0});
}

extern const mo_op mo_op_least_squares;

/* Returns C^+ B or (I - C^+ C) B, where C is A or A^T, by the saved factors. */
static mo_tensor *again(const mo_vjp *v, bool transposed, bool projects, mo_tensor *B) {
    least_squares_options o = {.transposed = transposed, .projects = projects};
    return mo_apply(
        v->t, &mo_op_least_squares, (mo_tensor *[]){v->in[0], B, v->saved[0], v->saved[1], v->saved[2]}, 5, &o);
}

/* Returns X Y^T. */
static mo_tensor *outer(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    return mo_matmul(t, X, mo_transpose(t, Y));
}

static void least_squares_vjp(mo_vjp *v) {
    const least_squares_options *o = v->attributes;
    mo_tape *t = v->t;
    bool T = o->transposed;
    mo_tensor *B = v->in[1], *X = v->out[0], *X_bar = v->out_bar[0], *C_bar = NULL;
    mo_tensor *E = o->projects && !v->needs[0] ? NULL : again(v, !T, false, X_bar);
    mo_tensor *S = o->projects || v->needs[0] ? again(v, T, true, X_bar) : NULL;
    v->in_bar[1] = o->projects ? S : E;
    if (!v->needs[0])
        return;
    if (o->projects) /* X is Y, S is N Y_bar, E is P^T Y_bar */
        C_bar = mo_neg(t, mo_add(t, outer(t, E, X), outer(t, again(v, !T, false, B), S)));
    else {
        mo_tensor *R = again(v, !T, true, B), *W = again(v, T, false, E), *F = again(v, !T, false, X);
        C_bar = mo_sub(t, mo_add(t, outer(t, R, W), outer(t, F, S)), outer(t, E, X));
    }
    v->in_bar[0] = T ? mo_transpose(t, C_bar) : C_bar;
}

static double least_squares_flops(const mo_call *c) {
    double m = (double)mo_dim(c->in[0], -2), n = (double)mo_dim(c->in[0], -1), k = m < n ? m : n;
    double products = 2 * k * ((double)mo_numel(c->in[1]) + (double)mo_numel(c->out[0]));
    double matrices = k > 0 ? (double)mo_numel(c->in[0]) / (m * n) : 0; /* Golub and Van Loan 2013, 8.6 */
    return products + (c->n_in == 5 ? 0 : matrices * (6 * m * n * k + 20 * k * k * k));
}

static const least_squares_options plain = {.rcond = -1}, transposed = {.transposed = true, .rcond = -1},
                                   projects = {.projects = true, .rcond = -1}, one = {.rcond = 1};

static const mo_sample least_squares_samples[] = {
    {"tall", "general[5, 3] [5, 2]", &plain},
    {"wide", "general[2, 4] [2, 3]", &plain},
    {"square", "general[3, 3] [3, 1]", &plain},
    {"batch", "general[2, 2, 4, 2] [2, 2, 4, 1]", &plain},
    {"transposed", "general[5, 3] [3, 2]", &transposed},
    {"projection", "general[2, 4] [4, 2]", &projects},
    {"rows", "general[5, 3] [3, 2]", &plain, .error = "expected right-hand sides [.., m, c] with as many rows"},
    {"all dropped", "general[3, 3] [3, 1]", &one, .error = "rcond = 1, expected less than 1"},
    {"factors alone", "general[3, 3] [3, 1] [3, 3]", &plain, .error = "factors that are not complete"},
};

const mo_op mo_op_least_squares = {
    .name = "least_squares",
    .n_in = 2,
    .max_in = 5,
    .attributes_size = sizeof(least_squares_options),
    .reads_in = 2,
    .reads_out = 1,
    .shape = least_squares_shape,
    .forward = least_squares_forward,
    .vjp = least_squares_vjp,
    .flops = least_squares_flops,
    MO_SAMPLES(least_squares_samples),
};

mo_tensor *mo_least_squares(mo_tape *t, mo_tensor *A, mo_tensor *B, double rcond) {
    return mo_apply_system(t, &mo_op_least_squares, A, B, &(least_squares_options){.rcond = rcond});
}
