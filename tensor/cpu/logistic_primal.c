/* tensor/cpu/logistic_primal.c - softmax regressions on parts of one support with more rows than columns, side by side,
 * by L-BFGS (Liu and Nocedal 1989) on their weights.
 *
 * With X one column wider where there is an intercept and D = 1 for each column that is penalised, else 0, a fit
 * minimises
 *     sum_i m_i (T_i lse(F_i) - <Y_i, F_i>) + lambda / 2 <W, D W>,   F = X W,   gradient G = X^T R + lambda D W,
 * R the residuals m (T P - Y). All fits start from one Hessian, A = c X^T X + lambda D with the constant curvature c of
 * logistic_folds.c, and share the three products of a step: with A^-1, from weights to logits and from residuals to
 * weights. Its length is found on logits alone (logistic_search). As the penalty is strongly convex, |G| is at least
 * lambda times the distance of the weights from the solution (but for the intercept): a fit ends where it is a part of
 * lambda |W|, or what rounding leaves of the sum X^T R. */
#include "tensor/cpu/logistic_primal.h"
#include "tensor/cpu/matrices.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS = 400 };

static void add_scaled(real *restrict y, double a, const real *restrict x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] += (real)a * x[i];
}

/* <x, D y> */
static double penalised(const logistic_primal *p, const real *x, const real *y) {
    double sum = 0;
    for (int64_t c = 0; c < p->s.C; c++)
        sum += dot(x + c * p->row, y + c * p->row, p->s.d);
    return sum;
}

/* X with its ones, its panels and A^-1. */
static bool prepare(logistic_primal *p, const real *X) {
    int64_t n = p->s.n, d = p->s.d, m = p->m;
    real *A = p->s.A;
    int size = (int)m, info = 0;
    if (!isfinite(p->s.lambda) || !all_finite(X, n * d))
        return false;
    for (int64_t i = 0; i < n; i++) {
        memcpy(p->X + i * m, X + i * d, (size_t)d * sizeof(real));
        if (m > d)
            p->X[i * m + d] = 1;
    }
    p->size = sqrt(dot(p->X, p->X, n * m));
    panels_pack(&p->out, p->X, m, 1);
    panels_pack(&p->down, p->X, 1, m);
    blas_syrk(
        CblasRowMajor, CblasLower, CblasTrans, (blasint)m, (blasint)n, p->s.c, p->X, (blasint)m, 0, A, (blasint)m);
    for (int64_t j = 0; j < d; j++)
        A[j * m + j] += p->s.lambda;
    lapack_potrf("U", &size, A, &size, &info);
    if (info == 0)
        lapack_potri("U", &size, A, &size, &info);
    if (info == 0)
        panels_pack_symmetric(&p->s.inverse, A);
    return info == 0;
}

/* The part of the direction before A^-1, by what the kept steps leave of the gradient, to q. */
static void reduce(const logistic_primal *p, logistic_fit *f, real *q) {
    int64_t N = p->row * p->s.C, oldest = max_of(0, f->steps - KEPT);
    memcpy(q, f->g, (size_t)N * sizeof(real));
    for (int64_t k = f->steps - 1; k >= oldest; k--) {
        int at = (int)(k % KEPT);
        f->part[at] = f->scale[at] * dot(f->kept[at], q, N);
        add_scaled(q, -f->part[at], f->change[at], N);
    }
}

/* The direction, from f->v = A^-1 q; where rounding lets it rise, none, and from A^-1 alone next time. */
static void turn(const logistic_primal *p, logistic_fit *f) {
    int64_t N = p->row * p->s.C, oldest = max_of(0, f->steps - KEPT);
    for (int64_t k = oldest; k < f->steps; k++) {
        int at = (int)(k % KEPT);
        add_scaled(f->v, f->part[at] - f->scale[at] * dot(f->v, f->change[at], N), f->kept[at], N);
    }
    for (int64_t i = 0; i < N; i++)
        f->v[i] = -f->v[i];
    if (!(dot(f->g, f->v, N) < 0)) {
        memset(f->v, 0, (size_t)N * sizeof(real));
        f->steps = 0;
    }
}

/* Goes along the direction and keeps the step; f->next becomes the residuals there. */
static void advance(const logistic_primal *p, logistic_fit *f) {
    int64_t N = p->row * p->s.C;
    double lambda = (double)p->s.lambda, slope = dot(f->g, f->v, N);
    real t = logistic_search(&p->s, f, slope, lambda * penalised(p, f->a, f->v), lambda * penalised(p, f->v, f->v));
    real *kept = f->kept[f->steps % KEPT];
    for (int64_t i = 0; i < N; i++)
        kept[i] = t * f->v[i];
    add_scaled(f->a, 1, kept, N);
    add_scaled(f->F, (double)t, f->Fv, p->s.row * p->s.C);
}

/* The gradient from that of the losses, how it has changed, and whether there is more to do. */
static void arrive(const logistic_primal *p, logistic_fit *f, const real *losses) {
    int64_t N = p->row * p->s.C;
    int at = (int)(f->steps % KEPT);
    real *change = f->change[at];
    for (int64_t i = 0; i < N; i++) {
        real g = losses[i] + (i % p->row < p->s.d ? p->s.lambda * f->a[i] : 0);
        change[i] = g - f->g[i];
        f->g[i] = g;
    }
    double product = dot(f->kept[at], change, N), residuals = dot(f->next, f->next, p->s.row * p->s.C);
    f->scale[at] = product > 0 ? 1 / product : 0;
    f->steps += product > 0;
    double rounding = (sizeof(real) == sizeof(double) ? DBL_EPSILON : FLT_EPSILON) * p->size * sqrt(residuals);
    double enough = fmax(f->left * (double)p->s.lambda * sqrt(penalised(p, f->a, f->a)), rounding);
    f->moves = !(dot(f->g, f->g, N) <= enough * enough);
}

/* All fits at 0, their vectors of a step in the stacks. */
static bool start(logistic_primal *p, const mo_logistic_folds_call *g) {
    int64_t N = p->row * p->s.C, rows = p->s.row * p->s.C;
    bool fine = true;
    for (int k = 0; k < p->count; k++) {
        logistic_fit *f = &p->fits[k];
        memset(f->a, 0, (size_t)N * sizeof(real));
        memset(f->g, 0, (size_t)N * sizeof(real));
        memset(f->kept[0], 0, (size_t)N * sizeof(real));
        memset(f->F, 0, (size_t)rows * sizeof(real));
        f->left = fmax(k ? g->left_in_folds : g->left, sizeof(real) == sizeof(double) ? 1e-11 : 1e-5);
        f->steps = 0;
        f->moves = true;
        fine = fine && logistic_fitted(&p->s, f, k > 1 ? g->stop[k - 2] : 0, k > 0 ? g->stop[k - 1] : 0, p->m > p->s.d);
    }
    memset(p->steps, 0, (size_t)(p->count * N) * sizeof(real));
    memset(p->s.images, 0, (size_t)(p->count * rows) * sizeof(real));
    return fine;
}

/* A step of all fits that move; the first one, from 0 along nothing, finds their gradients. */
static void step(logistic_primal *p, bool first) {
    int64_t N = p->row * p->s.C, rows = p->s.row * p->s.C;
    int moving = 0, threads = p->out.threads;
    logistic_fit *f[MO_LOGISTIC_FOLDS + 1];
    for (int k = 0; k < p->count; k++)
        if (p->fits[k].moves) {
            f[moving] = &p->fits[k];
            f[moving]->v = p->steps + N * moving;
            f[moving]->Fv = p->s.images + rows * moving;
            f[moving]->next = p->s.gradients + rows * moving;
            moving++;
        }
    if (!first) {
        for (int k = 0; k < moving; k++)
            reduce(p, f[k], p->weights + N * k);
        panels_product(&p->s.inverse, p->weights, moving * p->s.C, p->steps);
        for (int k = 0; k < moving; k++)
            turn(p, f[k]);
        panels_product(&p->down, p->steps, moving * p->s.C, p->s.images);
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int k = 0; k < moving; k++)
        advance(p, f[k]);
    panels_product(&p->out, p->s.gradients, moving * p->s.C, p->weights);
    for (int k = 0; k < moving; k++)
        arrive(p, f[k], p->weights + N * k);
}

bool logistic_primal_run(logistic_primal *p, const mo_logistic_folds_call *g, int64_t b) {
    int64_t C = p->s.C, m = p->m;
    real *W = (real *)g->W.data + b * entry_length(&g->W);
    p->s.lambda = ((const real *)g->lambda.data)[g->lambda.shape[0] == 1 ? 0 : b];
    logistic_take_labels(&p->s, (const real *)g->Y.data + b * entry_length(&g->Y));
    if (!prepare(p, (const real *)g->X.data + b * entry_length(&g->X)) || !start(p, g))
        return false;
    bool moves = true;
    for (int steps = 0; moves && steps < STEPS; steps++) {
        step(p, steps == 0);
        moves = false;
        for (int k = 0; k < p->count; k++)
            moves |= p->fits[k].moves;
    }
    logistic_take_held(&p->s, p->fits, g, b);
    for (int64_t j = 0; j < m; j++)
        for (int64_t c = 0; c < C; c++)
            W[j * C + c] = p->fits[0].a[c * p->row + j];
    return !moves;
}

int64_t logistic_primal_place(logistic_primal *p, const mo_logistic_folds_call *g, int threads, real *scratch) {
    int64_t n = g->X.shape[1], d = g->X.shape[2], C = g->Y.shape[2], m = d + g->free_intercept, at = 0;
    *p = (logistic_primal){.m = m, .row = panels_row(m), .count = g->folds + 1};
    p->s = (logistic_support){.primal = true, .n = n, .d = d, .C = C, .row = panels_row(n), .c = (real)CURVATURE};
    int64_t N = p->row * C, rows = p->s.row * C;
    p->s.inverse = (panels){NULL, m, m, threads};
    p->down = (panels){NULL, m, n, threads};
    p->out = (panels){NULL, n, m, threads};
    real **shared[] = {&p->s.A, &p->s.inverse.numbers, &p->X, &p->down.numbers, &p->out.numbers, &p->s.weight, &p->s.Y,
        &p->weights, &p->steps, &p->s.gradients, &p->s.images};
    int64_t length[] = {m * m, panels_length(m, m), n * m, panels_length(m, n), panels_length(n, m), p->s.row, rows,
        p->count * N, p->count * N, p->count * rows, p->count * rows};
    for (int i = 0; i < 11; i++) {
        *shared[i] = scratch ? scratch + at : NULL;
        at += panels_row(length[i]);
    }
    for (int k = 0; k < p->count; k++) {
        logistic_fit *f = &p->fits[k];
        f->F = scratch ? scratch + at : NULL;
        at += rows;
        f->fitted = scratch ? scratch + at : NULL;
        at += p->s.row;
        for (int i = 0; i < 2 * KEPT + 2; i++, at += N)
            *(i < KEPT          ? &f->kept[i]
                : i < 2 * KEPT  ? &f->change[i - KEPT]
                : i == 2 * KEPT ? &f->a
                                : &f->g) = scratch ? scratch + at : NULL;
    }
    return at;
}
