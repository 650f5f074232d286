/* tools/web/unroll.c - the room Unroll: K steps X <- X - (A X - B) from zero, each of which shrinks the error by the
 * spectral radius of I - A. Three gradients of <X_bar, X> in A are compared: through the steps; by the implicit
 * function theorem at X_K; and by the same theorem with K terms of a Neumann series in place of its solve. */
#include "tools/web/page.h"

#include "tools/cli/memory.h"

#include <math.h>
#include <stdlib.h>

typedef struct stepped_system {
    mo_tensor *A, *B, *X_bar; /* float64, of shape [n, n], [n, 1], [n, 1]; A is symmetric */
    mo_tensor *X, *A_bar;     /* the exact solution and gradient */
} stepped_system;

/* Returns |T - exact| / |exact| (Euclidean norms). */
static double relative_error(mo_tape *t, mo_tensor *T, mo_tensor *exact) {
    mo_tensor *error = mo_sum(t, mo_square(t, mo_sub(t, T, exact)), MO_ALL, MO_DROP_AXES);
    return sqrt(mo_item(error) / mo_item(mo_sum(t, mo_square(t, exact), MO_ALL, MO_DROP_AXES)));
}

static mo_tensor *draw_normal(mo_tape *t, mo_random *r, int64_t rows, int64_t columns) {
    double *x = needed(malloc((size_t)(rows * columns) * sizeof *x));
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] = mo_random_normal(r);
    mo_tensor *T = mo_from(t, MO_F64, 2, (int64_t[]){rows, columns}, x);
    free(x);
    return T;
}

static mo_tensor *gradient_of(mo_tape *t, mo_tensor *B_bar, mo_tensor *X) {
    return mo_neg(t, mo_matmul(t, B_bar, mo_transpose(t, X)));
}

/* A = Q diag(1 .. 1 - radius) Q^T with a random orthogonal Q, exactly symmetric; nothing of it is recorded. */
static stepped_system draw_system(mo_tape *t, int64_t n, double radius, uint64_t seed) {
    mo_random r = mo_random_at(0, MO_PURPOSE_CHECK, seed);
    double *values = needed(malloc((size_t)n * sizeof *values));
    for (int64_t i = 0; i < n; i++)
        values[i] = 1 - radius * (double)i / (double)(n - 1);
    mo_tensor *Q, *R, *w = mo_from(t, MO_F64, 1, &n, values);
    mo_qr(t, draw_normal(t, &r, n, n), &Q, &R);
    mo_tensor *A = mo_matmul(t, mo_mul(t, Q, w), mo_transpose(t, Q));
    stepped_system s = {.A = mo_scale(t, mo_add(t, A, mo_transpose(t, A)), 0.5, 0)};
    s.B = draw_normal(t, &r, n, 1);
    s.X_bar = draw_normal(t, &r, n, 1);
    s.X = mo_solve_spd(t, s.A, s.B);
    s.A_bar = gradient_of(t, mo_solve_spd(t, s.A, s.X_bar), s.X);
    free(values);
    return s;
}

static mo_tensor *residual(mo_tape *t, mo_tensor *X, mo_tensor *const *theta, int n, void *state) {
    const stepped_system *s = state;
    (void)n;
    return mo_sub(t, mo_matmul(t, theta[0], X), s->B);
}

static mo_tensor *step_once(mo_tape *t, stepped_system *s, mo_tensor *X) {
    return mo_sub(t, X, residual(t, X, &s->A, 1, s));
}

/* The error of the gradient of <X_bar, X> through what is recorded of X. */
static double gradient_error(mo_tape *t, const stepped_system *s, mo_tensor *X) {
    mo_tensor *A = s->A, *A_bar, *loss = mo_sum(t, mo_mul(t, s->X_bar, X), MO_ALL, MO_DROP_AXES);
    mo_gradients(t, loss, &A, &A_bar, 1);
    return relative_error(t, A_bar, s->A_bar);
}

/* Returns X_K; without `record` each step frees the step before. */
static mo_tensor *take_steps(mo_tape *t, stepped_system *s, int64_t K, bool record) {
    mo_tape_set_mode(t, record ? MO_RECORD : MO_EVAL);
    mo_tensor *X = mo_scale(t, s->B, 0, 0);
    mo_scope scope = mo_scope_open(t);
    for (int64_t k = 0; k < K; k++) {
        X = step_once(t, s, X);
        if (!record)
            mo_scope_close(t, &scope, &X, 1);
    }
    mo_tape_set_mode(t, MO_RECORD);
    return X;
}

/* Returns the error of the gradient -u_K X_K^T with u_K = sum_{j<K} (I - A)^j X_bar. */
static double neumann_error(mo_tape *t, const stepped_system *s, int64_t K, mo_tensor *X_K) {
    mo_tensor *A = mo_stop_gradient(t, s->A), *term = s->X_bar, *u = term;
    for (int64_t j = 1; j < K; j++) {
        term = mo_sub(t, term, mo_matmul(t, A, term));
        u = mo_add(t, u, term);
    }
    return relative_error(t, gradient_of(t, u, mo_stop_gradient(t, X_K)), s->A_bar);
}

/* The most that the tape held since the last call, beyond what it held then. */
static int64_t grown(mo_context *ctx, int64_t *held) {
    mo_counters c = mo_context_counters(ctx);
    int64_t bytes = c.tape_peak - *held;
    *held = c.tape_live;
    mo_context_reset_peaks(ctx);
    return bytes;
}

unrolled_steps page_unroll(mo_context *ctx, int64_t n, double radius, uint64_t seed, int64_t K) {
    unrolled_steps y = {0};
    int64_t held = 0;
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    if (!t)
        return y;
    stepped_system s = draw_system(t, n, radius, seed);
    s.A = mo_require_grad(s.A);
    grown(ctx, &held);
    y.unrolled = gradient_error(t, &s, take_steps(t, &s, K, true));
    y.unrolled_bytes = grown(ctx, &held);
    mo_tensor *A = s.A, *X = take_steps(t, &s, K, false);
    const mo_implicit_options options = {.symmetric = true, .residual = -1, .state = &s};
    y.implicit = gradient_error(t, &s, mo_implicit(t, mo_stop_gradient(t, X), residual, &A, 1, &options));
    y.implicit_bytes = grown(ctx, &held);
    y.X = relative_error(t, X, s.X);
    y.neumann = neumann_error(t, &s, K, X);
    mo_tape_release(t);
    return y;
}
