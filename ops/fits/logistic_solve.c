/* ops/fits/logistic_solve.c - U with H[U] = B: the Hessian of a penalised softmax regression at given logits, batched.
 *
 * X [.., n, d], logits F [.., n, C], row weights T [.., n, 1], lambda [] or [..], B [.., d (+ 1), C] -> U like B. H, S
 * and mu are those of logistic_system.h; U and what is solved for have zero class sums, so U = H^-1 less the class
 * means of B, and H may be singular on class means. float32 or float64. By conjugate gradients, with the factor that
 * logistic.c saved: backward never factorizes, at any order. If n <= d, the right-hand side has a part off the span
 * of the rows, on which H is lambda: U = B / lambda + X^T V with, in the coordinates of the rows, E^T S[E G V] + mu V =
 * -S[X B_0] / lambda   (and B's intercept row as it is), B_0: B without the intercept. Errors: sizes, conjugate
 * gradients that do not converge. Saved: the preconditioner, if it was not given.
 *
 * H is symmetric: with V = H^-1 U_bar, B_bar = V, and every other adjoint is that of -<V, dH[U]>,
 *     dH[U] = dPhi^T S[E] + Phi^T S[dPhi U] + Phi^T dS[E] + dlambda U_0,   E = Phi U.
 * With J = Phi V, e = <P, E>, j = <P, J> (by row) and o the elementwise product,
 *     X_bar = -(S[E] V_0^T + S[J] U_0^T),   lambda_bar = -<U_0, V_0>,
 *     T_bar = -(<P, E o J> - e j),   P_bar = -T (E o J - e J - j E),   F_bar = P o (P_bar - <P, P_bar>). */
#include "autograd/tape.h"
#include "ops/fits/logistic_system.h"
#include "ops/inside.h"

#include <float.h>
#include <string.h>

typedef struct options {
    bool free_intercept;
} options;

enum { SYSTEM = 5 };

static bool logistic_solve_shape(mo_call *c) {
    const mo_tensor *X = c->in[0], *F = c->in[1], *T = c->in[2], *lambda = c->in[3], *B = c->in[4];
    bool free_intercept = ((const options *)c->attributes)->free_intercept;
    int leading = X->ndim - 2;
    size_t batch = (size_t)(leading > 0 ? leading : 0) * sizeof *X->shape;
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (leading < 0 || F->ndim != X->ndim || T->ndim != X->ndim || B->ndim != X->ndim ||
        memcmp(X->shape, F->shape, batch + sizeof *X->shape) != 0 ||
        memcmp(X->shape, T->shape, batch + sizeof *X->shape) != 0 || memcmp(X->shape, B->shape, batch) != 0 ||
        (lambda->ndim && (lambda->ndim != leading || memcmp(X->shape, lambda->shape, batch) != 0)))
        return mo_call_fail(c, MO_INVALID, "expected equal leading axes, and as many logits and weights as rows");
    if (T->shape[leading + 1] != 1 || mo_dim(B, -1) != mo_dim(F, -1) || mo_dim(B, -2) != mo_dim(X, -1) + free_intercept)
        return mo_call_fail(c, MO_INVALID, "expected one weight a row, and right-hand sides of the weights' shape");
    return mo_call_output(c, 0, B->dtype, B->ndim, B->shape);
}

/* The coordinates of the right-hand side. dual: without B / lambda, which is solved at once and returned in part. */
static mo_tensor *right_hand_side(const mo_logistic_system *s, mo_tensor *B, mo_tensor **part) {
    mo_tape *t = s->t;
    *part = NULL;
    if (!s->dual)
        return B;
    int64_t d = mo_dim(s->X, -1);
    mo_tensor *B0 = mo_slice(t, B, MO_AXIS(1), 0, d), *r;
    *part = mo_div(t, B0, s->lambda);
    r = mo_logistic_pull(s, mo_neg(t, mo_logistic_curvature(s, mo_matmul(t, s->X, *part))));
    if (!s->free_intercept)
        return r;
    mo_tensor *zero = mo_scale(t, mo_slice(t, r, MO_AXIS(1), 0, mo_dim(r, 1) - 1), 0, 0);
    return mo_add(t, r, mo_concat(t, (mo_tensor *[]){zero, mo_slice(t, B, MO_AXIS(1), d, d + 1)}, 2, MO_AXIS(1)));
}

static mo_tensor *solve(mo_call *c, mo_logistic_system *s, mo_tensor *B) {
    mo_tape *t = s->t;
    mo_krylov_vector V;
    mo_tensor *part, *r = mo_class_centred(t, right_hand_side(s, mo_class_centred(t, B), &part));
    double epsilon = mo_tensor_dtype(B) == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    mo_tensor *eta = mo_full(t, mo_tensor_dtype(B), 3, (int64_t[]){1, 1, 1}, 4 * epsilon);
    int64_t unknowns = mo_dim(r, 1) * mo_dim(r, 2), limit = 2 * unknowns + 50 < 5000 ? 2 * unknowns + 50 : 5000;
    if (!mo_logistic_conjugate(s, r, eta, (int)limit, &V)) {
        mo_call_fail(c, MO_NUMERICAL, "not converged after %lld conjugate gradient steps", (long long)limit);
        return NULL;
    }
    mo_tensor *U = mo_logistic_weights(s, V.x);
    if (!part)
        return U;
    if (s->free_intercept)
        part = mo_pad(t, part, MO_AXIS(1), 0, 1);
    return mo_add(t, U, part);
}

static void logistic_solve_forward(mo_call *c) {
    mo_tape *t = c->t;
    bool recording = t->recording, free_intercept = ((const options *)c->attributes)->free_intercept;
    t->recording = false;
    mo_tensor *X = mo_flat_batch(t, c->in[0]), *F = mo_flat_batch(t, c->in[1]), *T = mo_flat_batch(t, c->in[2]);
    mo_tensor *lambda = mo_flat_lambda(t, c->in[3]), *B = mo_flat_batch(t, c->in[4]);
    bool dual = mo_logistic_is_dual(t, X, lambda);
    mo_logistic_system s =
        mo_logistic_open(t, dual, free_intercept, X, T, lambda, c->n_in > SYSTEM + 2 ? c->in[SYSTEM + 2] : NULL);
    mo_logistic_move(&s, F);
    if (c->n_in > SYSTEM)
        mo_logistic_reuse(&s, c->in[SYSTEM], c->in[SYSTEM + 1]);
    else
        mo_logistic_factor(&s);
    mo_tensor *U = solve(c, &s, B);
    t->recording = recording;
    if (!U || !mo_ok(c->ctx))
        return;
    mo_view from = mo_tensor_view(U), to = mo_tensor_view(c->out[0]);
    to.ndim = 3;
    memcpy(to.shape, from.shape, sizeof to.shape);
    to.stride[2] = 1;
    to.stride[1] = to.shape[2];
    to.stride[0] = to.shape[1] * to.shape[2];
    c->ctx->backend->copy(c->ctx, &from, &to);
    mo_call_save(c, s.D);
    mo_call_save(c, s.L);
    if (dual)
        mo_call_save(c, s.Phi);
}

/* S[Q] at P, with the class sums q = <P, Q>. */
static mo_tensor *curvature(mo_tape *t, mo_tensor *TP, mo_tensor *Q, mo_tensor *q) {
    return mo_mul(t, TP, mo_sub(t, Q, q));
}

static void logistic_solve_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *T = v->in[2], *lambda = v->in[3], *U = v->out[0];
    bool free_intercept = ((const options *)v->attributes)->free_intercept;
    int rows = mo_ndim(X) - 2;
    int64_t d = mo_dim(X, -1);
    mo_tensor *const system[] = {X, v->in[1], T, lambda, v->out_bar[0]};
    mo_tensor *V = mo_logistic_solve(t, system, v->saved, free_intercept);
    mo_tensor *Phi = free_intercept ? mo_append_ones(t, X) : X, *P = mo_softmax(t, v->in[1], MO_AXIS(-1));
    mo_tensor *TP = mo_mul(t, T, P), *E = mo_matmul(t, Phi, U), *J = mo_matmul(t, Phi, V);
    mo_tensor *e = mo_class_sum(t, mo_mul(t, P, E)), *j = mo_class_sum(t, mo_mul(t, P, J)), *EJ = mo_mul(t, E, J);
    mo_tensor *U0 = mo_slice(t, U, MO_AXIS(rows), 0, d), *V0 = mo_slice(t, V, MO_AXIS(rows), 0, d);
    if (v->needs[0]) {
        mo_tensor *SEV = mo_matmul(t, curvature(t, TP, E, e), mo_transpose(t, V0));
        v->in_bar[0] = mo_neg(t, mo_add(t, SEV, mo_matmul(t, curvature(t, TP, J, j), mo_transpose(t, U0))));
    }
    if (v->needs[1]) {
        mo_tensor *crossed = mo_add(t, mo_mul(t, e, J), mo_mul(t, j, E));
        mo_tensor *P_bar = mo_mul(t, T, mo_sub(t, crossed, EJ));
        v->in_bar[1] = mo_mul(t, P, mo_sub(t, P_bar, mo_class_sum(t, mo_mul(t, P, P_bar))));
    }
    if (v->needs[2])
        v->in_bar[2] = mo_sub(t, mo_mul(t, e, j), mo_class_sum(t, mo_mul(t, P, EJ)));
    if (v->needs[3]) {
        mo_tensor *UV = mo_sum(t, mo_mul(t, U0, V0), MO_AXES(rows, rows + 1), MO_DROP_AXES);
        v->in_bar[3] = mo_neg(t, mo_sum_to(t, UV, lambda->ndim, lambda->shape));
    }
    if (v->needs[4])
        v->in_bar[4] = V;
}

static double logistic_solve_flops(const mo_call *c) { /* of one product with H */
    double n = (double)mo_dim(c->in[0], -2), d = (double)mo_dim(c->in[0], -1), k = n < d ? n : d;
    return 4 * (double)mo_numel(c->in[1]) * k;
}

static const options penalised = {false}, with_intercept = {true};

static const mo_sample logistic_solve_samples[] = {
    {.name = "more rows than columns",
        .in = "[7, 3] [7, 3] positive[7, 1] positive[] [3, 3]",
        .attributes = &penalised},
    {.name = "intercept, fewer rows than columns, batch",
        .in = "[2, 3, 4] [2, 3, 2] positive[2, 3, 1] positive[2] [2, 5, 2]",
        .attributes = &with_intercept},
    {.name = "weights",
        .in = "[7, 3] [7, 3] positive[7, 2] positive[] [3, 3]",
        .attributes = &penalised,
        .error = "logistic_solve: expected one weight a row"},
    {.name = "logits",
        .in = "[7, 3] [6, 3] positive[7, 1] positive[] [3, 3]",
        .attributes = &penalised,
        .error = "logistic_solve: expected equal leading axes"},
};

const mo_op mo_op_logistic_solve = {
    .name = "logistic_solve",
    .n_in = SYSTEM,
    .max_in = SYSTEM + 3,
    .attributes_size = sizeof(options),
    .reads_in = 15,
    .reads_out = 1,
    .shape = logistic_solve_shape,
    .forward = logistic_solve_forward,
    .vjp = logistic_solve_vjp,
    .flops = logistic_solve_flops,
    MO_SAMPLES(logistic_solve_samples),
};

mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[SYSTEM], mo_tensor *const *factors, bool free_intercept) {
    const options o = {free_intercept};
    int n_factors = mo_logistic_is_dual(t, in[0], in[3]) ? 3 : 2;
    mo_tensor *all[SYSTEM + 3];
    memcpy(all, in, SYSTEM * sizeof *all);
    memcpy(all + SYSTEM, factors, (size_t)n_factors * sizeof *all);
    return mo_apply(t, &mo_op_logistic_solve, all, SYSTEM + n_factors, &o);
}
