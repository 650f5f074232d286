/* tensor/cpu/fits/logistic.c - softmax regression on all rows, and on the rows without each fold (tensor/fits.h).
 *
 * A fit minimises
 *     sum_i m_i (T_i lse(F_i) - <Y_i, F_i>) + 1/2 <W, mu W>,   F = Phi W,   m_i = 0 where held out, else 1,
 * by Newton's method. Conjugate gradients in the coordinates of logistic.h solve the equation of each Newton step to a
 * relative residual of sqrt(e), where e is the gradient's size relative to its terms (Eisenstat and Walker 1996). A
 * search along each step, which needs logits alone, makes the method converge from any start: the objective is convex,
 * and the sign of its slope shows on which side the minimum lies.
 *
 * The curvatures D are proportional to T at first. They are computed anew from the fit of all rows when this fit is
 * near enough to show which rows are undecided, and again whenever a Newton step takes many conjugate gradients. The
 * fits without a fold start at the solution for all rows and use its preconditioner; their products are computed
 * together; at that start, a fit's gradient comes from its held-out rows alone. */
#include "tensor/cpu/fits/logistic.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>

enum { ROUNDS = 4000, TRIALS = 12, BLOCK = 64, FIRST_LIMIT = 40, RENEWALS = 16, REFRESHES = 3, CHEAP = 16 };

#define COARSE 0.2 /* relative gradient at which a coarse fit ends, to compute the curvatures anew from it */
#define SLOPE 0.5  /* a search ends when the slope has fallen to this share of the first slope */
#define NEAR (sizeof(real) == sizeof(double) ? 4096 : 64) /* a gradient below NEAR times its rounding need not fall */
#define ROUGH 1e-4                                        /* rounding hides the solution above this relative gradient */
#define DRIFT 0.1                                         /* no finite optimum if the last step moves a logit by more */
#define FOLD_TOLERANCE 10 /* tolerance of the fits without a fold, relative to the fit of all rows */

/* One item: fits[0] is the fit of all rows, fits[k + 1] the fit without fold k. */
typedef struct regression {
    logistic_space s;
    real *Y; /* [C, row] */
    logistic_fit fits[MO_FOLDS_AT_ONCE + 1];
} regression;

static int64_t regression_layout(regression *g, const mo_logistic_call *call, int threads, real *scratch) {
    *g = (regression){.s = {.dual = call->dual, .free_intercept = call->free_intercept, .threads = threads}};
    g->s.C = call->Y.shape[2];
    int64_t at = logistic_layout(&g->s, &call->X, g->fits, call->folds + 1, scratch);
    g->Y = scratch ? scratch + at : NULL;
    return at + g->s.row * g->s.C;
}

/* ---- one Newton step ---- */

/* Sets P to the probabilities at the logits F + t Fx. Returns the slope along x there of the losses less kappa / 2 <F,
 * D F>; *second is the slope's derivative. */
static double slope_at(const regression *g, const logistic_fit *f, real t, double *second) {
    const logistic_space *s = &g->s;
    double slope = 0;
    *second = 0;
    logistic_probabilities(s, f, t);
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        const real *D = s->D + first, *T = s->T + first, *fitted = f->fitted + first;
        real mean[BLOCK] = {0}, square[BLOCK] = {0}, wanted[BLOCK] = {0}, own[BLOCK] = {0}, along[BLOCK] = {0};
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real x = f->Fx[at + i], moved = f->P[at + i] * x;
                mean[i] += moved;
                square[i] += moved * x;
                wanted[i] += g->Y[at + i] * x;
                own[i] += (f->F[at + i] + t * x) * x;
                along[i] += x * x;
            }
        for (int64_t i = 0; i < rows; i++) {
            slope += (double)(fitted[i] * (T[i] * mean[i] - wanted[i]) - s->kappa * D[i] * own[i]);
            *second += (double)(fitted[i] * T[i] * (square[i] - mean[i] * mean[i]) - s->kappa * D[i] * along[i]);
        }
    }
    return slope;
}

/* Returns the step length along x. */
static real search_length(const regression *g, const logistic_fit *f) {
    const logistic_space *s = &g->s;
    double pull = (double)s->kappa * logistic_inner(s, f->a, f->x, f->Fx);
    double penalty = (double)s->kappa * logistic_inner(s, f->x, f->x, f->Fx);
    double second, low = 0, high = INFINITY, t = 1;
    for (int trial = 1;; trial++) {
        double here = slope_at(g, f, (real)t, &second) + pull + t * penalty;
        if (!(fabs(here) > SLOPE * fabs(f->slope)) || trial == TRIALS)
            return (real)t;
        *(here < 0 ? &low : &high) = t;
        double guess = fmin(t - here / (second + penalty), 4 * t);
        t = guess > low && guess < high ? guess : high < INFINITY ? (low + high) / 2 : 4 * t;
    }
}

/* Moves along the step. Returns false if the objective does not fall along it. */
static bool move(const regression *g, logistic_fit *f) {
    const logistic_space *s = &g->s;
    if (!(f->slope < 0))
        return false;
    int64_t rows = s->row * s->C;
    real t = search_length(g, f);
    add_scaled(f->a, t, f->x, s->width * s->C);
    add_scaled(f->F, t, f->Fx, rows);
    f->moved = 0;
    for (int64_t i = 0; i < rows && !(s->lambda > 0); i++)
        f->moved = fmax(f->moved, fabs((double)(t * f->Fx[i])));
    return true;
}

/* Q = the gradient of the losses with respect to the logits, less kappa D F. *penalty is the size of the penalty's
 * gradient in coordinates: in the dual |q|; otherwise an estimate of |L^-1 lambda W|, which is about sqrt(lambda |W|^2
 * / c) if M = L L^T is about c lambda. Here c = 100, as M is typically dozens of times lambda. Returns the size of Q's
 * rounding in coordinates. */
static double loss_gradient(const regression *g, const logistic_fit *f, real *Q, double *penalty) {
    const logistic_space *s = &g->s;
    double total = 0, sum = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        const real *T = s->T + first, *D = s->D + first, *fitted = f->fitted + first;
        real terms[BLOCK] = {0}, squares[BLOCK] = {0};
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real p = T[i] * f->P[at + i], shift = s->kappa * D[i] * f->F[at + i];
                real q = s->dual ? s->kappa * f->a[at + i] - shift : 0;
                Q[at + i] = fitted[i] * (p - g->Y[at + i]) - shift;
                terms[i] += p * p + shift * shift;
                squares[i] += s->dual ? q * q : shift * f->F[at + i];
            }
        for (int64_t i = 0; i < rows; i++) {
            total += D[i] > 0 ? (double)terms[i] / (s->dual ? 1 : (double)D[i]) : 0;
            sum += (double)squares[i];
        }
    }
    double squared = s->dual ? sum : 0.01 * fmax((double)s->kappa * dot(f->a, f->a, s->width * s->C) - sum, 0);
    *penalty = sqrt(squared);
    return EPSILON * sqrt(total); /* as the matrix D^1/2 Phi L^-T has a norm of at most 1 */
}

/* Computes the gradient of each fit, and whether it moves on. A fit stops if its gradient is within tolerance, or is
 * near rounding and no longer falls. */
static void find_gradients(const regression *g, logistic_fit *const *f, int count) {
    const logistic_space *s = &g->s;
    int64_t N = s->width * s->C, rows = s->row * s->C;
    double rounding[MO_FOLDS_AT_ONCE + 1], penalty[MO_FOLDS_AT_ONCE + 1];
    for (int k = 0; k < count; k++)
        rounding[k] = loss_gradient(g, f[k], s->inputs + rows * k, &penalty[k]);
    const real *pulled = logistic_pull(s, count);
    for (int k = 0; k < count; k++, pulled += N) {
        real *restrict r = f[k]->r;
        const real *restrict a = f[k]->a, *restrict given = pulled;
        for (int64_t i = 0; i < N; i++)
            r[i] = -(s->kappa * a[i] + given[i]);
        logistic_centre(s, f[k]->r);
        double norm = sqrt(dot(f[k]->r, f[k]->r, N)), rest = penalty[k];
        double terms = rest + (s->dual ? rest : sqrt(dot(pulled, pulled, N))),
               target = fmax(2 * f[k]->tolerance * rest, 4 * rounding[k]);
        f[k]->norm = norm;
        f[k]->size = 2 * rest;
        f[k]->near = norm <= NEAR * rounding[k];
        f[k]->moves = !(norm <= target) && !(f[k]->near && !(norm < f[k]->before / 4));
        f[k]->before = norm;
        f[k]->target = fmax(fmin(0.3, sqrt(norm / terms)) * norm, target / 2);
        f[k]->product = f[k]->slope = f[k]->least = 0;
        f[k]->steps = 0;
        memset(f[k]->x, 0, (size_t)N * sizeof(real));
        memset(f[k]->Fx, 0, (size_t)rows * sizeof(real));
    }
}

/* Fits, of which those that are `there` are moved. */
typedef struct arrivals {
    const regression *g;
    logistic_fit **f;
    const bool *there;
} arrivals;

static void move_some(const void *of, task_range some) {
    const arrivals *a = of;
    for (int64_t k = some.first; k < some.end; k++)
        if (a->there[k])
            a->f[k]->moves = move(a->g, a->f[k]);
}

/* Runs fits to their tolerances. Returns false if a fit fails: a Newton step reaches its limit, or rounding leaves no
 * direction along which the objective falls. */
static bool minimise(const regression *g, logistic_fit **f, int count) {
    bool there[MO_FOLDS_AT_ONCE + 1], fine = true;
    logistic_fit *at[MO_FOLDS_AT_ONCE + 1];
    find_gradients(g, f, count);
    for (int round = 0; round < ROUNDS && fine && mo_goes_on(g->s.ctx); round++) {
        int moving = 0, arrived = 0;
        for (int k = 0; k < count; k++)
            if (f[k]->moves)
                f[moving++] = f[k];
        count = moving;
        if (count == 0)
            return true;
        logistic_cg_step(&g->s, f, count, there);
        run_tasks(g->s.threads, count, 1, move_some, &(arrivals){g, f, there});
        for (int k = 0; k < count; k++)
            if (there[k] && f[k]->moves) {
                fine = fine && f[k]->steps < f[k]->limit;
                at[arrived++] = f[k];
            } else if (there[k])
                fine = fine && f[k]->near;
        if (arrived)
            find_gradients(g, at, arrived);
    }
    return false;
}

/* ---- a fit ---- */

/* Computes the curvatures anew from the fit, and the fit's coordinates for the same weights. Returns false if
 * logistic_factor fails. */
static bool renew(logistic_space *s, logistic_fit *f, double least) {
    logistic_leave(s, f->a, f->F);
    if (!logistic_factor(s, f->P, (real)fmax(least, sqrt(EPSILON))))
        return false;
    logistic_enter(s, f->a, f->F);
    return true;
}

/* Returns whether every label has more than half of its row's probability. */
static bool separates(const regression *g, const logistic_fit *f) {
    for (int64_t at = 0; at < g->s.row * g->s.C; at++)
        if (g->Y[at] > 0 && !(f->P[at] > (real)(0.5 + 1e-6)))
            return false;
    return true;
}

/* Fits all rows and writes W. renews: computes the curvatures anew from the coarse fit. */
static mo_fit_code fit_all(regression *g, bool renews, real *W) {
    logistic_space *s = &g->s;
    logistic_fit *f = g->fits, *one[1];
    double least = LEAST_CURVATURE, tolerance = f->tolerance;
    memset(f->a, 0, (size_t)(s->width * s->C) * sizeof(real));
    memset(f->F, 0, (size_t)(s->row * s->C) * sizeof(real));
    memset(f->Fx, 0, (size_t)(s->row * s->C) * sizeof(real));
    logistic_probabilities(s, f, 0);
    f->tolerance = COARSE;
    f->limit = FIRST_LIMIT;
    f->before = INFINITY;
    if (!logistic_factor(s, f->P, (real)LEAST_CURVATURE))
        return MO_FIT_UNSOLVED;
    minimise(g, (one[0] = f, one), 1);
    f->tolerance = tolerance;
    for (int k = 0; k < RENEWALS; k++, f->limit *= 2, least /= 10) {
        f->before = INFINITY;
        if ((k > 0 || renews) && !renew(s, f, least))
            return MO_FIT_UNSOLVED;
        bool solved = minimise(g, (one[0] = f, one), 1);
        if (!(s->lambda > 0) && s->C > 1 && (separates(g, f) || (solved && f->moved > DRIFT)))
            return MO_FIT_INFINITE;
        for (int refresh = 0; solved && refresh < REFRESHES; refresh++) {
            logistic_write_weights(s, f->a, f->F, W);
            if (tolerance >= ROUGH)
                return MO_FIT_SOLVED;
            logistic_probabilities(s, f, 0);
            find_gradients(g, (one[0] = f, one), 1);
            if (!f->moves)
                return MO_FIT_SOLVED;
            solved = minimise(g, (one[0] = f, one), 1);
        }
        if (solved)
            return MO_FIT_SOLVED;
        if (!isfinite(f->norm) || !mo_goes_on(s->ctx))
            return MO_FIT_UNSOLVED;
    }
    return MO_FIT_UNSOLVED;
}

/* Holds the rows from .. to - 1 out of the fit. Returns whether each class still has weight. */
static bool exclude_rows(const regression *g, logistic_fit *f, int64_t from, int64_t to) {
    bool all = true;
    for (int64_t i = 0; i < g->s.row; i++)
        f->fitted[i] = i >= from && i < to ? 0 : 1;
    for (int64_t c = 0; c < g->s.C; c++)
        all = all && dot(f->fitted, g->Y + c * g->s.row, g->s.row) > 0;
    return all;
}

/* Returns whether rounding hides the solution: weights and logits can then be far from it, and the caller must use
 * another method. */
static bool is_rough(const logistic_fit *f) {
    return !(f->norm <= ROUGH * f->size);
}

static mo_fit_code fit_folds(regression *g, const mo_logistic_call *call, real *held) {
    const logistic_space *s = &g->s;
    int64_t C = s->C, length = s->row * C;
    logistic_fit *all = g->fits, *f[MO_FOLDS_AT_ONCE];
    for (int k = 0; k < call->folds; k++) {
        f[k] = &g->fits[k + 1];
        memcpy(f[k]->a, all->a, (size_t)(s->width * C) * sizeof(real));
        memcpy(f[k]->F, all->F, (size_t)length * sizeof(real));
        memcpy(f[k]->P, all->P, (size_t)length * sizeof(real));
        f[k]->tolerance = FOLD_TOLERANCE * call->tolerance;
        f[k]->limit = ROUNDS;
        f[k]->before = INFINITY;
        if (!exclude_rows(g, f[k], k ? call->stop[k - 1] : 0, call->stop[k]) && s->free_intercept)
            return MO_FIT_UNSOLVED;
    }
    bool solved = minimise(g, f, call->folds);
    for (int k = 0; k <= call->folds; k++)
        solved = solved && (call->tolerance >= ROUGH || !is_rough(&g->fits[k]));
    if (!solved)
        return MO_FIT_UNSOLVED;
    for (int64_t i = 0, k = 0; i < call->stop[call->folds - 1]; i++) {
        k += i == call->stop[k];
        for (int64_t c = 0; c < C; c++)
            held[i * C + c] = g->fits[k + 1].F[c * s->row + i];
    }
    return MO_FIT_SOLVED;
}

static void read_labels(regression *g, const real *Y) {
    logistic_space *s = &g->s;
    memset(s->T, 0, (size_t)s->row * sizeof(real));
    memset(g->Y, 0, (size_t)(s->row * s->C) * sizeof(real));
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t c = 0; c < s->C; c++) {
            g->Y[c * s->row + i] = Y[i * s->C + c];
            s->T[i] += Y[i * s->C + c];
        }
}

static mo_fit_code fit_laid_out(regression *g, const mo_logistic_call *call, int64_t b) {
    logistic_space *s = &g->s;
    s->X = entry_of(&call->X, b);
    s->lambda = *entry_of(&call->lambda, b);
    const real *Y = entry_of(&call->Y, b);
    if (!isfinite(s->lambda) || !all_finite(s->X, s->n * s->d) || !all_finite(Y, s->n * s->C))
        return MO_FIT_NOT_FINITE;
    read_labels(g, Y);
    if (!exclude_rows(g, g->fits, 0, 0) && s->free_intercept)
        return MO_FIT_UNSOLVED;
    g->fits->tolerance = call->tolerance;
    /* A factor costs as much as m / (2 C) steps of conjugate gradients. */
    bool renews = s->dual || call->folds || s->m < CHEAP * s->C;
    mo_fit_code code = fit_all(g, renews, (real *)call->W.data + b * entry_length(&call->W));
    if (code == MO_FIT_SOLVED && call->folds)
        code = fit_folds(g, call, (real *)call->held.data + b * entry_length(&call->held));
    if (code == MO_FIT_SOLVED && call->saved.data)
        logistic_save(s, (real *)call->saved.data + b * entry_length(&call->saved));
    return code;
}

static mo_fit_code fit_item(const void *call, int threads, real *scratch, int64_t b, logistic_counts *counts) {
    regression g;
    regression_layout(&g, call, threads, scratch);
    g.s.ctx = counts->ctx;
    mo_fit_code code = fit_laid_out(&g, call, b);
    counts->factorizations = g.s.factorizations;
    for (int k = 0; k <= MO_FOLDS_AT_ONCE; k++)
        counts->steps += g.fits[k].taken;
    return code;
}

void REAL(logistic_cpu)(mo_context *ctx, const mo_logistic_call *call) {
    regression sizes;
    int inside = logistic_threads(ctx, &call->X, call->Y.shape[2]);
    logistic_run_items(
        ctx, call->X.shape[0], inside, regression_layout(&sizes, call, inside, NULL), fit_item, call, &call->code);
}
