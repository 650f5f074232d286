/* tools/web/lab/lab_systems.c - two experiments on linear systems A X = B with a known spectrum.
 *
 * conditioning: how large the errors of X and of the gradient in A become as the condition number of A
 * grows. The systems are solved in float64, in float32, and in float32 with A rounded to the 11 bits of TF32. The
 * float32 and TF32 solutions are also refined by steps X += A^-1 (B - A X), with the residual in float64 and the factor
 * of the rough A.
 *
 * truncation: K steps X <- X - (A X - B), each of which shrinks the error by the spectral radius of I - A.
 * Three gradients of <X_bar, X> in A are compared: through the steps; by the implicit function theorem at X_K; and by
 * the same theorem with K terms of a Neumann series in place of its solve. */
#include "tools/web/lab/lab.h"

#include "tools/cli/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 12 }; /* most refinements */

typedef struct linear_system {
    mo_context *ctx;
    int64_t n;
    mo_tensor *A, *B, *X_bar; /* float64, of shape [n, n], [n, 1], [n, 1] */
    double *X, *A_bar;        /* the exact solution [n] and gradient [n, n]; one array, to be freed as X */
} linear_system;

static linear_system *open_system(mo_context *ctx, int64_t n) {
    linear_system *s = needed(calloc(1, sizeof *s));
    *s = (linear_system){.ctx = ctx, .n = n};
    s->X = needed(malloc((size_t)(n + n * n) * sizeof *s->X));
    s->A_bar = s->X + n;
    return s;
}

static void close_system(void *state) {
    linear_system *s = state;
    free(s->X);
    free(s);
}

static mo_tensor *gradient_of(mo_tape *t, mo_tensor *B_bar, mo_tensor *X) {
    return mo_neg(t, mo_matmul(t, B_bar, mo_transpose(t, X)));
}

/* Draws a symmetric A with the eigenvalues in `values`, and B and X_bar. */
static void draw_system(mo_tape *t, mo_random *r, const double *values, linear_system *s) {
    s->A = lab_with_spectrum(t, r, values, s->n);
    s->B = lab_normal(t, r, s->n, 1);
    s->X_bar = lab_normal(t, r, s->n, 1);
}

/* Stores the exact solution X and the gradient in A; B_bar = A^-T X_bar. */
static void keep_exact(mo_tape *t, linear_system *s, mo_tensor *X, mo_tensor *B_bar) {
    mo_tensor_read(X, s->X, (size_t)s->n * sizeof *s->X);
    mo_tensor_read(gradient_of(t, B_bar, X), s->A_bar, (size_t)(s->n * s->n) * sizeof *s->A_bar);
}

static double gradient_error(const linear_system *s, mo_tensor *A_bar) {
    return lab_relative_error(A_bar, s->A_bar, s->n * s->n);
}

/* ---- conditioning ---- */

enum { IN_F64, IN_F32, IN_F32_REFINED, IN_TF32, IN_TF32_REFINED };

/* Rounds float32 numbers to the 11 significant bits that TF32 keeps, to nearest, ties to even. */
static mo_tensor *rounded_to_tf32(mo_tape *t, mo_tensor *T) {
    int64_t n = mo_numel(T), shape[2] = {mo_dim(T, 0), mo_dim(T, 1)};
    float *x = needed(malloc((size_t)n * sizeof *x));
    if (mo_tensor_read(T, x, (size_t)n * sizeof *x) == MO_OK)
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            bits = (bits + 0xFFF + (bits >> 13 & 1)) & ~(uint32_t)0x1FFF;
            memcpy(&x[i], &bits, sizeof bits);
        }
    mo_tensor *rounded = mo_ok(mo_tape_context(t)) ? mo_from(t, MO_F32, 2, shape, x) : T;
    free(x);
    return rounded;
}

/* Returns B - A X; each sum is in long double and rounded once, at the end. */
static mo_tensor *exact_residual(mo_tape *t, mo_tensor *A, mo_tensor *X, mo_tensor *B) {
    const int64_t n = mo_dim(A, 0);
    double *a = needed(malloc((size_t)(n * n + 2 * n) * sizeof *a)), *x = a + n * n, *b = x + n;
    const size_t bytes = (size_t)n * sizeof *a;
    if (mo_tensor_read(A, a, (size_t)n * bytes) == MO_OK && mo_tensor_read(X, x, bytes) == MO_OK &&
        mo_tensor_read(B, b, bytes) == MO_OK)
        for (int64_t i = 0; i < n; i++) {
            long double rest = b[i];
            for (int64_t j = 0; j < n; j++)
                rest -= (long double)a[i * n + j] * x[j];
            b[i] = (double)rest;
        }
    mo_tensor *R = mo_from(t, MO_F64, 2, (int64_t[]){n, 1}, b);
    free(a);
    return R;
}

static double size_of(mo_tape *t, mo_tensor *X) {
    return mo_item(mo_sum(t, mo_square(t, X), MO_ALL, MO_DROP_AXES));
}

/* Solves A X = B with the factor of `rough` (A, or A rounded) and at most STEPS refinements; stops when a step is not
 * shorter than half the step before. exact: residuals by exact_residual instead of float64. */
static mo_tensor *refined(mo_tape *t, mo_tensor *A, mo_tensor *rough, mo_tensor *B, bool exact) {
    const mo_dtype real = mo_tensor_dtype(rough);
    mo_tensor *X = mo_cast(t, mo_solve_or_nan(t, rough, mo_cast(t, B, real)), MO_F64);
    double before = size_of(t, X);
    for (int i = 0; i < STEPS; i++) {
        mo_tensor *R = exact ? exact_residual(t, A, X, B) : mo_sub(t, B, mo_matmul(t, A, X));
        mo_tensor *step = mo_cast(t, mo_solve_or_nan(t, rough, mo_cast(t, R, real)), MO_F64);
        double size = size_of(t, step);
        if (!(size < before / 4))
            break;
        X = mo_add(t, X, step);
        before = size;
    }
    return X;
}

/* Solves as a program without special care would: mo_solve, and mo_grad of <X_bar, X>. */
static void solve_plainly(mo_tape *t, const linear_system *s, mo_tensor *A, mo_tensor **X, mo_tensor **A_bar) {
    const mo_dtype real = mo_tensor_dtype(A);
    mo_tensor *leaf = mo_require_grad(mo_scale(t, A, 1, 0)); /* a new value, so that its gradient is apart from A's */
    mo_tensor *solved = mo_solve_or_nan(t, leaf, mo_cast(t, s->B, real)), *gradient;
    mo_tensor *loss = mo_sum(t, mo_mul(t, mo_cast(t, s->X_bar, real), solved), MO_ALL, MO_DROP_AXES);
    mo_grad(t, &loss, NULL, 1, &leaf, &gradient, 1, MO_RETAIN);
    *X = mo_cast(t, solved, MO_F64);
    *A_bar = mo_cast(t, gradient, MO_F64);
}

static void solve_one_way(
    mo_tape *t, const linear_system *s, mo_tensor *exact_At, int way, mo_tensor **X, mo_tensor **A_bar) {
    mo_tensor *A = way == IN_F64 ? s->A : mo_cast(t, s->A, MO_F32), *At = mo_cast(t, exact_At, MO_F32);
    if (way == IN_TF32 || way == IN_TF32_REFINED) {
        A = rounded_to_tf32(t, A);
        At = rounded_to_tf32(t, At);
    }
    if (way == IN_F32_REFINED || way == IN_TF32_REFINED) {
        *X = refined(t, s->A, A, s->B, false);
        *A_bar = gradient_of(t, refined(t, exact_At, At, s->X_bar, false), *X);
    } else {
        solve_plainly(t, s, A, X, A_bar);
    }
}

static void *open_conditioning(mo_context *ctx, int problem, char *lines, size_t bytes) {
    (void)problem;
    linear_system *s = open_system(ctx, 24);
    snprintf(lines, bytes, "A solve and its gradient against the condition number, n = %d", (int)s->n);
    return s;
}

/* Measures one way to solve at condition number kappa: singular values fall from 1 to 1 / kappa, in geometric
 * progression. */
static void measure_way(void *state, int way, double kappa, double *y) {
    linear_system *s = state;
    mo_tape *t = mo_tape_create(s->ctx, MO_RECORD);
    mo_random r = mo_random_at(0, MO_PURPOSE_CHECK, 100 + (uint64_t)log10(kappa));
    double *values = needed(malloc((size_t)s->n * sizeof *values));
    mo_tensor *X, *A_bar;
    for (int64_t i = 0; i < s->n; i++)
        values[i] = pow(kappa, -(double)i / (double)(s->n - 1));
    if (t) {
        draw_system(t, &r, values, s);
        mo_tensor *At = mo_contiguous(t, mo_transpose(t, s->A));
        keep_exact(t, s, refined(t, s->A, s->A, s->B, true), refined(t, At, At, s->X_bar, true));
        solve_one_way(t, s, At, way, &X, &A_bar);
        y[0] = lab_relative_error(X, s->X, s->n);
        y[1] = gradient_error(s, A_bar);
    }
    free(values);
    mo_tape_release(t);
}

const lab_experiment lab_conditioning = {
    .name = "conditioning",
    .series_name = "arithmetic",
    .series = {"float64", "float32", "float32 refined", "tf32", "tf32 refined"},
    .x_name = "kappa",
    .n_x = 7,
    .x = {1, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12},
    .columns = {{"value", 0}, {"gradient", 0}},
    .reading = "The error is about kappa times the precision, in the gradient as in the value; a matrix that is "
               "singular to working precision has none (-). Refinement gives float64's digits back as long as "
               "kappa times the precision of the rough factor stays below 1.",
    .open = open_conditioning,
    .measure = measure_way,
    .close = close_system,
};

/* ---- truncation ---- */

static mo_tensor *truncation_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const linear_system *s = state;
    (void)n;
    return mo_sub(t, mo_matmul(t, theta[0], w), s->B);
}

static mo_tensor *step_once(mo_tape *t, const linear_system *s, mo_tensor *w) {
    return mo_sub(t, w, mo_sub(t, mo_matmul(t, s->A, w), s->B));
}

static double unrolled_error(mo_tape *t, const linear_system *s, int64_t steps) {
    mo_tensor *A = s->A, *A_bar, *w = mo_scale(t, s->B, 0, 0);
    for (int64_t k = 0; k < steps; k++)
        w = step_once(t, s, w);
    mo_tensor *loss = mo_sum(t, mo_mul(t, s->X_bar, w), MO_ALL, MO_DROP_AXES);
    mo_gradients(t, loss, &A, &A_bar, 1);
    return gradient_error(s, A_bar);
}

/* Returns w_K; nothing is recorded, and each step frees the step before. */
static mo_tensor *step_unrecorded(mo_tape *t, const linear_system *s, int64_t steps) {
    mo_tape_set_mode(t, MO_EVAL);
    mo_tensor *w = mo_scale(t, s->B, 0, 0);
    mo_scope scope = mo_scope_open(t);
    for (int64_t k = 0; k < steps; k++) {
        w = step_once(t, s, w);
        mo_scope_close(t, &scope, &w, 1);
    }
    mo_tape_set_mode(t, MO_RECORD);
    return w;
}

static double implicit_error(mo_tape *t, linear_system *s, mo_tensor *w_K) {
    const mo_implicit_options options = {.symmetric = true, .residual = -1, .state = s};
    mo_tensor *A = s->A, *A_bar, *w = mo_implicit(t, mo_stop_gradient(t, w_K), truncation_residual, &A, 1, &options);
    mo_tensor *loss = mo_sum(t, mo_mul(t, s->X_bar, w), MO_ALL, MO_DROP_AXES);
    mo_gradients(t, loss, &A, &A_bar, 1);
    return gradient_error(s, A_bar);
}

/* Returns the error of the gradient -u_K w_K^T with u_K = sum_{j<K} (I - A)^j X_bar and K = terms; A is symmetric. */
static double neumann_error(mo_tape *t, const linear_system *s, int64_t terms, mo_tensor *w_K) {
    mo_tensor *A = mo_stop_gradient(t, s->A), *term = s->X_bar, *u = term;
    for (int64_t j = 1; j < terms; j++) {
        term = mo_sub(t, term, mo_matmul(t, A, term));
        u = mo_add(t, u, term);
    }
    return lab_relative_error(gradient_of(t, u, mo_stop_gradient(t, w_K)), s->A_bar, s->n * s->n);
}

static void *open_truncation(mo_context *ctx, int problem, char *lines, size_t bytes) {
    (void)problem;
    linear_system *s = open_system(ctx, 12);
    snprintf(lines, bytes, "Gradients of K steps against those of the solution, n = %d", (int)s->n);
    return s;
}

/* The most that the tape held since the last call, beyond what it held then. */
static int64_t grown(mo_context *ctx, int64_t *held) {
    mo_counters c = mo_context_counters(ctx);
    int64_t bytes = c.tape_peak - *held;
    *held = c.tape_live;
    mo_context_reset_peaks(ctx);
    return bytes;
}

/* A has eigenvalues from 1 - radius to 1, so that a step of length 1 shrinks the error by the radius. */
lab_steps lab_measure_steps(mo_context *ctx, int64_t n, double radius, uint64_t seed, int64_t K) {
    linear_system *s = open_system(ctx, n);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random r = mo_random_at(0, MO_PURPOSE_CHECK, seed);
    double *values = needed(malloc((size_t)n * sizeof *values));
    lab_steps y = {0};
    int64_t held = 0;
    for (int64_t i = 0; i < n; i++)
        values[i] = 1 - radius * (double)i / (double)(n - 1);
    if (t) {
        draw_system(t, &r, values, s);
        keep_exact(t, s, mo_solve_spd(t, s->A, s->B), mo_solve_spd(t, s->A, s->X_bar));
        s->A = mo_require_grad(s->A);
        grown(ctx, &held);
        y.unrolled = unrolled_error(t, s, K);
        y.unrolled_bytes = grown(ctx, &held);
        mo_tensor *w = step_unrecorded(t, s, K);
        y.implicit = implicit_error(t, s, w);
        y.implicit_bytes = grown(ctx, &held);
        y.w = lab_relative_error(w, s->X, n);
        y.neumann = neumann_error(t, s, K, w);
    }
    free(values);
    mo_tape_release(t);
    close_system(s);
    return y;
}

static void measure_steps(void *state, int which, double steps, double *y) {
    static const double radius[] = {0.5, 0.9, 0.99};
    const linear_system *s = state;
    lab_steps of = lab_measure_steps(s->ctx, s->n, radius[which], 200 + (uint64_t)which, (int64_t)steps);
    y[0] = of.w, y[1] = of.unrolled, y[2] = of.implicit, y[3] = of.neumann;
}

const lab_experiment lab_truncation = {
    .name = "truncation",
    .series_name = "contraction",
    .series = {"radius 0.5", "radius 0.9", "radius 0.99"},
    .x_name = "K",
    .columns = {{"w_K", 0}, {"unrolled", 0}, {"implicit", 0}, {"neumann", 0}},
    .reading = "w_K and the implicit gradient are off by the same part, at most radius^K. The gradient through the "
               "steps, and a series cut after K terms, lag behind: w and the adjoint are both cut.",
    .open = open_truncation,
    .measure = measure_steps,
    .close = close_system,
};
