/* tensor/cpu/fits/logistic_solve.c - solves H U = B, H the Hessian of a softmax regression at given logits
 * (tensor/fits.h), by conjugate gradients in the coordinates of logistic.h.
 *
 * In the dual, B also has a part outside the span of Phi's rows, where H multiplies by lambda. With b the row of B for
 * the intercept and s = 1 b / n, B = Phi^T s + [B_0; 0]. So U = [B_0 / lambda; 0] + V, where V lies in the span, and H
 * V = Phi^T (s - S) with S = W (X B_0 / lambda). The coordinates of H V are s - S. */
#include "tensor/cpu/fits/logistic.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <float.h>
#include <math.h>

enum { STARTS = 6 }; /* most starts of conjugate gradients, each but the first from the residual that rounding left */

#define LARGEST_LEFT sqrt(EPSILON) /* largest residual accepted, relative to the right-hand side */

typedef struct adjoint {
    logistic_space s;
    logistic_fit fit;
    real *part; /* dual: B_0 / lambda [d, C] */
} adjoint;

static int64_t adjoint_layout(adjoint *a, const mo_logistic_solve_call *g, int threads, real *scratch) {
    *a = (adjoint){.s = {.dual = g->dual, .free_intercept = g->free_intercept, .threads = threads}};
    a->s.C = g->F.shape[2];
    int64_t at = logistic_layout(&a->s, &g->X, &a->fit, 1, scratch);
    a->part = scratch ? scratch + at : NULL;
    return at + panels_row(a->s.d * a->s.C);
}

/* Reads the logits F [n, C] and the row weights T [n], and computes the probabilities. */
static void read_logits(logistic_space *s, logistic_fit *f, const real *F, const real *T) {
    memset(f->F, 0, (size_t)(s->row * s->C) * sizeof(real));
    memset(s->T, 0, (size_t)s->row * sizeof(real));
    memcpy(s->T, T, (size_t)s->n * sizeof(real));
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t c = 0; c < s->C; c++)
            f->F[c * s->row + i] = F[i * s->C + c];
    for (int64_t i = 0; i < s->row; i++)
        f->fitted[i] = 1;
    memset(f->Fx, 0, (size_t)(s->row * s->C) * sizeof(real));
    logistic_probabilities(s, f, 0);
}

/* Sets f->r to the coordinates of B [m, C] or, in the dual, to the coordinates of H V (above). In the dual, also sets
 * a->part. */
static void set_residual(const adjoint *a, const real *B) {
    const logistic_space *s = &a->s;
    const logistic_fit *f = &a->fit;
    int64_t n = s->n, d = s->d, C = s->C;
    memset(f->r, 0, (size_t)(s->width * C) * sizeof(real));
    if (!s->dual) {
        for (int64_t j = 0; j < s->m; j++)
            for (int64_t c = 0; c < C; c++)
                f->r[c * s->width + j] = B[j * C + c];
        logistic_centre(s, f->r);
        blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)C, (blasint)s->m, 1,
            s->factor, (blasint)s->m, f->r, (blasint)s->width);
        return;
    }
    real *E = s->outputs;
    for (int64_t c = 0; c < C && s->free_intercept; c++)
        for (int64_t i = 0; i < n; i++)
            f->r[c * s->row + i] = B[d * C + c] / (real)n;
    memcpy(a->part, B, (size_t)(d * C) * sizeof(real));
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, (blasint)d, (blasint)C, (blasint)n, -1, s->X, (blasint)d, f->r,
        (blasint)s->row, 1, a->part, (blasint)C);
    for (int64_t j = 0; j < d; j++) {
        real mean = 0;
        for (int64_t c = 0; c < C; c++)
            mean += a->part[j * C + c] / (real)C;
        for (int64_t c = 0; c < C; c++)
            a->part[j * C + c] = (a->part[j * C + c] - mean) / s->lambda;
    }
    memset(E, 0, (size_t)(s->row * C) * sizeof(real));
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, (blasint)C, (blasint)n, (blasint)d, 1, a->part, (blasint)C, s->X,
        (blasint)d, 0, E, (blasint)s->row);
    logistic_curve(s, f, E, s->inputs);
    for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < n; i++)
            f->r[c * s->row + i] -= s->inputs[c * s->row + i] + s->kappa * s->D[i] * E[c * s->row + i];
    logistic_centre(s, f->r);
}

/* Scales the right-hand side by a power of two to a largest entry near 1, so that products of its entries do not
 * underflow. Returns the factor; 1 if all entries are 0 or one is not finite. */
static real scale_residual(const adjoint *a) {
    const logistic_space *s = &a->s;
    int64_t N = s->width * s->C;
    double most = 0;
    for (int64_t i = 0; i < N; i++)
        most = fabs((double)a->fit.r[i]) > most ? fabs((double)a->fit.r[i]) : most; /* GCC 12 for Arm fails at fmax */
    if (!(most > 0) || !isfinite(most) || ilogb(most) > 0)
        return 1;
    double limit = sizeof(real) == sizeof(double) ? DBL_MAX_EXP : FLT_MAX_EXP;
    real scale = (real)ldexp(1, (int)fmin(-ilogb(most), limit - 2));
    for (int64_t i = 0; i < N; i++)
        a->fit.r[i] *= scale;
    for (int64_t i = 0; s->dual && i < s->d * s->C; i++)
        a->part[i] *= scale;
    return scale;
}

/* Continues from x with conjugate gradients on the residual of H x = f->a. Returns the size of that residual at the
 * start. */
static double iterate(const logistic_space *s, logistic_fit *f, double target) {
    logistic_fit *one[] = {f};
    int64_t N = s->width * s->C;
    bool there = false;
    logistic_product(s, f->x, 1, f->Fx);
    logistic_curve(s, f, f->Fx, s->inputs);
    const real *Q = logistic_pull(s, 1);
    for (int64_t i = 0; i < N; i++)
        f->r[i] = f->a[i] - s->kappa * f->x[i] - Q[i];
    logistic_centre(s, f->r);
    double left = sqrt(dot(f->r, f->r, N));
    f->target = target;
    f->least = f->product = 0;
    f->steps = 0;
    while (!there && left > target && mo_goes_on(s->ctx))
        logistic_cg_step(s, one, 1, &there);
    return left;
}

static mo_fit_code solve_laid_out(adjoint *a, const mo_logistic_solve_call *g, int64_t b) {
    logistic_space *s = &a->s;
    logistic_fit *f = &a->fit;
    int64_t N = s->width * s->C;
    real *U = (real *)g->U.data + b * entry_length(&g->U);
    real *saved = (real *)g->saved.data + b * entry_length(&g->saved);
    s->X = entry_of(&g->X, b);
    s->lambda = *entry_of(&g->lambda, b);
    read_logits(s, f, entry_of(&g->F, b), entry_of(&g->T, b));
    if (g->factored)
        logistic_load(s, saved);
    else if (logistic_factor(s, f->P, (real)LEAST_CURVATURE))
        logistic_save(s, saved);
    else
        return MO_FIT_UNSOLVED;
    set_residual(a, entry_of(&g->B, b));
    real scale = scale_residual(a);
    memcpy(f->a, f->r, (size_t)N * sizeof(real));
    memset(f->x, 0, (size_t)N * sizeof(real));
    f->limit = (int)min_of(2 * s->order * s->C + 50, 5000);
    double size = sqrt(dot(f->r, f->r, N)), left = size, before = INFINITY;
    if (!isfinite(size))
        return MO_FIT_NOT_FINITE;
    for (int start = 0; start < STARTS && left > 4 * EPSILON * size && left < before / 2; start++) {
        before = start ? left : INFINITY;
        left = iterate(s, f, 4 * EPSILON * size);
    }
    logistic_product(s, f->x, 1, f->Fx);
    logistic_write_weights(s, f->x, f->Fx, U);
    if (s->dual)
        add_scaled(U, 1, a->part, s->d * s->C);
    for (int64_t i = 0; i < s->m * s->C; i++)
        U[i] /= scale;
    return left <= LARGEST_LEFT * size ? MO_FIT_SOLVED : MO_FIT_UNSOLVED;
}

static mo_fit_code solve_item(const void *call, int threads, real *scratch, int64_t b, logistic_counts *counts) {
    const mo_logistic_solve_call *g = call;
    adjoint own, *a = &own;
    adjoint_layout(a, g, threads, scratch);
    a->s.ctx = counts->ctx;
    mo_fit_code code = solve_laid_out(a, g, b);
    counts->factorizations = a->s.factorizations;
    return code;
}

void REAL(logistic_solve_cpu)(mo_context *ctx, const mo_logistic_solve_call *g) {
    adjoint sizes;
    int inside = logistic_threads(ctx, &g->X, g->F.shape[2]);
    logistic_run_items(ctx, g->X.shape[0], inside, adjoint_layout(&sizes, g, inside, NULL), solve_item, g, &g->code);
}
