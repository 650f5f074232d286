/* ops/fits/logistic_solve.c - solves H[U] = B, H the Hessian of a penalised softmax regression at given logits,
 * batched.
 *
 * X [.., n, d], logits F [.., n, C], row weights T [.., n, 1], lambda [] or [..], B [.., d (+ 1), C] -> U like B. H, S
 * and mu are as in logistic.c. The class sums of U are 0, and B's class means are removed before the solve, so H may
 * map class means to 0. float32 or float64. By conjugate gradients (tensor/cpu/fits/logistic.c), with the factor
 * that logistic.c saved: backward never factorizes, at any order. Errors: sizes, no rows, conjugate gradients that do
 * not converge. Saved: `kept` of tensor/fits.h.
 *
 * H is symmetric: with V = H^-1 U_bar, B_bar = V, and every other adjoint follows from -<V, dH[U]>,
 *     dH[U] = dPhi^T S[E] + Phi^T S[dPhi U] + Phi^T dS[E] + dlambda U_0,   E = Phi U.
 * With J = Phi V, e = <P, E>, j = <P, J> (by row) and o the elementwise product,
 *     X_bar = -(S[E] V_0^T + S[J] U_0^T),   lambda_bar = -<U_0, V_0>,
 *     T_bar = -(<P, E o J> - e j),   P_bar = -T (E o J - e J - j E),   F_bar = P o (P_bar - <P, P_bar>). */
#include "autograd/tape.h"
#include "ops/fits/fits.h"
#include "ops/rules/shapes.h"

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
    if (mo_numel(F) == 0 || X->shape[leading + 1] == 0)
        return mo_call_fail(c, MO_INVALID, "expected a row, a column and a class at least");
    if (T->shape[leading + 1] != 1 || mo_dim(B, -1) != mo_dim(F, -1) || mo_dim(B, -2) != mo_dim(X, -1) + free_intercept)
        return mo_call_fail(c, MO_INVALID, "expected one weight per row, and right-hand sides of the weights' shape");
    return mo_call_output(c, 0, B->dtype, B->ndim, B->shape);
}

static void logistic_solve_forward(mo_call *c) {
    mo_tape *t = c->t;
    mo_tensor *kept, *code;
    bool recording = t->recording;
    mo_logistic_call g = {.free_intercept = ((const options *)c->attributes)->free_intercept};
    t->recording = false;
    g.few_rows = mo_logistic_has_few_rows(t, c->in[0], c->in[3]);
    g.factored = c->n_in > SYSTEM;
    int64_t size[2];
    mo_logistic_kept_shape(c->in[0], mo_dim(c->in[1], -1), g.few_rows, g.free_intercept, size);
    kept = g.factored ? c->in[SYSTEM] : mo_call_temporary(c, c->in[0]->dtype, 2, size);
    mo_view *const views[] = {&g.X, &g.F, &g.T, &g.lambda, &g.B};
    for (int i = 0; i < SYSTEM; i++)
        *views[i] = mo_batch_view(mo_call_dense(c, i), i == 3 ? 0 : 2);
    g.kept = mo_tensor_view(kept);
    g.W = mo_batch_view(mo_tensor_view(c->out[0]), 2);
    code = mo_call_temporary(c, c->in[0]->dtype, 1, g.X.shape);
    g.code = mo_tensor_view(code);
    if (mo_ok(c->ctx)) {
        mo_fit_logistic(c->ctx, &g);
        mo_check_fits(c, code);
    }
    t->recording = recording;
    mo_call_save(c, kept);
}

/* Returns S[Q] at P, for TP = T P and the class sums q = <P, Q>. */
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
    mo_tensor *V = mo_logistic_solve(t, system, v->saved[0], free_intercept);
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

static double logistic_solve_flops(const mo_call *c) { /* FLOPs of one product with H */
    double n = (double)mo_dim(c->in[0], -2), d = (double)mo_dim(c->in[0], -1), k = n < d ? n : d;
    return 4 * (double)mo_numel(c->in[1]) * k;
}

static const options penalised = {false}, with_intercept = {true};

static const mo_sample logistic_solve_samples[] = {
    {"more rows than columns", "[7, 3] [7, 3] positive[7, 1] positive[] [3, 3]", &penalised},
    {"intercept, fewer rows than columns, batch", "[2, 3, 4] [2, 3, 2] positive[2, 3, 1] positive[2] [2, 5, 2]",
        &with_intercept},
    {"weights", "[7, 3] [7, 3] positive[7, 2] positive[] [3, 3]", &penalised,
        .error = "logistic_solve: expected one weight per row"},
    {"no rows", "[0, 4] [0, 2] positive[0, 1] positive[] [5, 2]", &with_intercept,
        .error = "logistic_solve: expected a row, a column and a class at least"},
    {"logits", "[7, 3] [6, 3] positive[7, 1] positive[] [3, 3]", &penalised,
        .error = "logistic_solve: expected equal leading axes"},
};

const mo_op mo_op_logistic_solve = {
    .name = "logistic_solve",
    .n_in = SYSTEM,
    .max_in = SYSTEM + 1,
    .attributes_size = sizeof(options),
    .reads_in = 15,
    .reads_out = 1,
    .shape = logistic_solve_shape,
    .forward = logistic_solve_forward,
    .vjp = logistic_solve_vjp,
    .flops = logistic_solve_flops,
    MO_SAMPLES(logistic_solve_samples),
};

mo_tensor *mo_logistic_solve(mo_tape *t, mo_tensor *const in[SYSTEM], mo_tensor *kept, bool free_intercept) {
    const options o = {free_intercept};
    mo_tensor *all[SYSTEM + 1];
    memcpy(all, in, SYSTEM * sizeof *all);
    all[SYSTEM] = kept;
    return mo_apply(t, &mo_op_logistic_solve, all, SYSTEM + 1, &o);
}
