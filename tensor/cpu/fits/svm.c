/* tensor/cpu/fits/svm.c - the Crammer-Singer machine by its dual (tensor/fits.h): each item of the batch on one thread.
 *
 * At the start alpha_i = Y_i, unless another is given, and row i has no part in the weights. (Nor has it if Y_i is 0.)
 * A row whose alpha_i stays Y_i does not change the problem. So each round works on the other rows alone, the working
 * rows: those whose alpha has moved, and those whose logits violate the optimality conditions. Two kinds of steps
 * alternate: sweeps over the rows, which find the alpha that are 0, and steps on the face of the other alpha. On the
 * right face a step of the second kind gives the solution, up to rounding. Optimality: in every row g = F - m Y, m the
 * row's margin, is largest where alpha > 0. Below, Y of a working row stands for m Y.
 *
 * With logits F = K (Y - alpha) / lambda and g = F - Y the gradient in alpha is -g.
 * - A sweep over the rows (Crammer and Singer 2001; Keerthi et al. 2008): with the other rows fixed, the best alpha_i
 *   is the projection of alpha_i + g_i lambda / K_ii onto the simplex. Most rows move two or three of their classes:
 *   only these columns of F change.
 * - A step on the face of the alpha that are above 0 (More and Toraldo 1991): conjugate gradients find the minimum over
 *   the face; the step towards it ends where an alpha becomes 0, or is projected, so that many alpha become 0.
 * Fits of 15 few-shot shapes take 5 times as long in the mean without the projection, 1.3 times if each face is walked
 * to its end, and up to 2.1 times if all rows are working rows. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { IDLE = 50, STUCK = 100, SWEEPS = 4, FIRST_STEPS = 16, WALK_STEPS = 64, COLUMNS = 512 };

/* ---- steps among the working rows ---- */

/* The working rows, and K / lambda between them. Vectors are kept class by class, [C, row], so that loops over rows are
 * long; the padding to whole lanes is 0. */
typedef struct svm_working {
    mo_context *ctx; /* asked whether to go on */
    int64_t n, C, row;
    real *K;                       /* [n, row] */
    int64_t *number;               /* [n]: number of the row in the fit */
    real *step;                    /* [row]: lambda / K_ii */
    real *share, *sum;             /* [row]: 1 / the number of alpha above 0 (0 if only one is); scratch */
    real *Y, *alpha, *F;           /* [C, row] */
    real *movable, *v, *r, *p, *q; /* [C, row] scratch; movable: 1 where alpha may move on its face */
    real *best;                    /* [C] scratch */
    int64_t *moved;                /* [C] scratch */
} svm_working;

static bool has_part(const real *Y, int64_t C) {
    for (int64_t c = 0; c < C; c++)
        if (Y[c] != 0)
            return true;
    return false;
}

/* Returns the threshold t with sum max(x - t, 0) = size (Michelot 1986); the set of x above t shrinks from pass to
 * pass. */
static real simplex_threshold(const real *x, int64_t n, real size) {
    double threshold = -INFINITY;
    for (int64_t above = n, before = n + 1; above > 0 && above < before;) {
        double sum = -(double)size;
        int64_t count = 0;
        for (int64_t c = 0; c < n; c++)
            if ((double)x[c] > threshold) {
                sum += (double)x[c];
                count++;
            }
        if (count == 0)
            break;
        before = threshold == -INFINITY ? n + 1 : above;
        above = count;
        threshold = sum / (double)count;
    }
    return (real)threshold;
}

#define LEAST_LENGTH 1e-3

/* F -= K_i best / lambda, where best is the change of alpha_i, for the `moved` classes in w->moved. */
static void move_logits(const svm_working *w, int64_t i, int64_t moved) {
    for (int64_t m = 0; m < moved; m++)
        add_scaled(w->F + w->moved[m] * w->row, -w->best[w->moved[m]], w->K + i * w->row, w->row);
}

/* Y = X K / lambda, by columns of Y that stay in cache while all rows of K add to them. BLAS would copy K to serve the
 * few rows of X, and multiply by the zeros, which most entries of X are (2,000 rows of 5 classes: a fit of 1.2 s
 * instead of 4.2; as fast for 25 to 200 rows). */
static void multiply_kernel(const svm_working *w, const real *X, real *Y) {
    memset(Y, 0, (size_t)(w->C * w->row) * sizeof(real));
    for (int64_t first = 0; first < w->row; first += COLUMNS) {
        int64_t columns = min_of(COLUMNS, w->row - first);
        for (int64_t i = 0; i < w->n; i++)
            for (int64_t c = 0; c < w->C; c++)
                if (X[c * w->row + i] != 0)
                    add_scaled(Y + c * w->row + first, X[c * w->row + i], w->K + i * w->row + first, columns);
    }
}

/* Sets each working row in turn to its optimum with the other rows fixed. */
static void svm_sweep(const svm_working *w) {
    int64_t C = w->C, row = w->row;
    real *best = w->best;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t moved = 0;
        for (int64_t c = 0; c < C; c++)
            best[c] = w->alpha[c * row + i] + (w->F[c * row + i] - w->Y[c * row + i]) * w->step[i];
        real threshold = simplex_threshold(best, C, 1);
        for (int64_t c = 0; c < C; c++) {
            real *alpha = &w->alpha[c * row + i], x = best[c] > threshold ? best[c] - threshold : 0;
            best[c] = x - *alpha;
            *alpha = x;
            if (best[c] != 0)
                w->moved[moved++] = c;
        }
        move_logits(w, i, moved);
    }
}

static void find_face(const svm_working *w) {
    memset(w->share, 0, (size_t)w->row * sizeof(real));
    for (int64_t c = 0; c < w->C; c++)
        for (int64_t i = 0; i < w->row; i++)
            w->share[i] += w->alpha[c * w->row + i] > 0 ? 1 : 0;
    for (int64_t i = 0; i < w->row; i++)
        w->share[i] = w->share[i] > 1 ? 1 / w->share[i] : 0;
    for (int64_t c = 0; c < w->C; c++)
        for (int64_t i = 0; i < w->row; i++)
            w->movable[c * w->row + i] = w->alpha[c * w->row + i] > 0 && w->share[i] > 0 ? 1 : 0;
}

/* Projects X onto the directions of the face: in every row, 0 where alpha is 0, and a sum of 0. */
static void onto_face(const svm_working *w, real *X) {
    real *sum = w->sum;
    memset(sum, 0, (size_t)w->row * sizeof(real));
    for (int64_t c = 0; c < w->C; c++)
        for (int64_t i = 0; i < w->row; i++)
            sum[i] += w->movable[c * w->row + i] * X[c * w->row + i];
    for (int64_t i = 0; i < w->row; i++)
        sum[i] *= w->share[i];
    for (int64_t c = 0; c < w->C; c++)
        for (int64_t i = 0; i < w->row; i++)
            X[c * w->row + i] = w->movable[c * w->row + i] * (X[c * w->row + i] - sum[i]);
}

/* v = the step to the minimum over the face, by at most `limit` conjugate gradients. Returns whether the residual fell
 * to rounding error, relative to its start or to logits of magnitude `size`. */
static bool minimise_face(const svm_working *w, int64_t limit, double size, int64_t *passes) {
    int64_t N = w->row * w->C;
    real least_step = w->step[0];
    for (int64_t i = 1; i < w->n; i++)
        least_step = w->step[i] < least_step ? w->step[i] : least_step;
    for (int64_t i = 0; i < N; i++)
        w->r[i] = w->F[i] - w->Y[i];
    onto_face(w, w->r);
    memset(w->v, 0, (size_t)N * sizeof(real));
    memcpy(w->p, w->r, (size_t)N * sizeof(real));
    double rr = dot(w->r, w->r, N), noise = 8 * EPSILON * size;
    double target = fmax(rr * 16 * EPSILON * EPSILON, (double)(w->n * w->C) * noise * noise);
    for (int64_t k = 0; k < limit && rr > target && mo_goes_on(w->ctx); k++) {
        multiply_kernel(w, w->p, w->q);
        ++*passes;
        double curvature = dot(w->p, w->q, N), pp = dot(w->p, w->p, N);
        bool flat = !(curvature > 16 * EPSILON * pp / (double)least_step);
        if (flat && k > 0)
            return false;
        real a = flat ? (real)(1e6 / sqrt(pp)) : (real)(rr / curvature); /* flat: a step that leaves the face */
        add_scaled(w->v, a, w->p, N);
        if (flat)
            return false;
        onto_face(w, w->q);
        add_scaled(w->r, -a, w->q, N);
        double next = dot(w->r, w->r, N);
        next_direction(w->p, (real)(next / rr), w->r, N);
        rr = next;
    }
    return rr <= target;
}

/* Moves along v up to the first alpha that becomes 0. */
static void move_to_bound(const svm_working *w) {
    int64_t N = w->row * w->C, stop = -1;
    real length = 1;
    for (int64_t i = 0; i < N; i++)
        if (w->v[i] < 0 && w->alpha[i] + length * w->v[i] < 0) {
            length = -w->alpha[i] / w->v[i];
            stop = i;
        }
    for (int64_t i = 0; i < N; i++) {
        real x = w->alpha[i] + length * w->v[i];
        w->alpha[i] = x > 0 ? x : 0;
    }
    if (stop >= 0)
        w->alpha[stop] = 0;
}

/* p = (the projection of alpha + length v onto the simplices) - alpha. Returns true if the projection changes
 * nothing. */
static bool project_step(const svm_working *w, real length) {
    int64_t C = w->C, row = w->row;
    bool whole = true;
    memset(w->p, 0, (size_t)(C * row) * sizeof(real));
    for (int64_t i = 0; i < w->n; i++) {
        real *x = w->best, low = 0;
        if (!(w->share[i] > 0))
            continue;
        for (int64_t c = 0; c < C; c++) {
            x[c] = w->alpha[c * row + i] + length * w->v[c * row + i];
            low = x[c] < low ? x[c] : low;
        }
        real threshold = low < 0 ? simplex_threshold(x, C, 1) : 0;
        whole = whole && low == 0;
        for (int64_t c = 0; c < C; c++)
            w->p[c * row + i] = (x[c] > threshold ? x[c] - threshold : 0) - w->alpha[c * row + i];
    }
    return whole;
}

/* Moves to the projection of alpha + length v, for the first length of 1, 1/4, .. at which the objective falls, so that
 * many alpha become 0 at once; if there is none, along v until the first alpha becomes 0. Returns true if all of v was
 * taken. */
static bool face_search(const svm_working *w, int64_t *passes) {
    int64_t N = w->row * w->C;
    for (real length = 1; length > (real)LEAST_LENGTH; length /= 4) {
        bool whole = project_step(w, length);
        if (!whole) {
            double fall = 0;
            multiply_kernel(w, w->p, w->q);
            ++*passes;
            for (int64_t i = 0; i < N; i++)
                fall += (double)w->p[i] * ((double)w->F[i] - (double)w->Y[i]);
            if (!(dot(w->p, w->q, N) / 2 <= 0.999 * fall))
                continue;
        }
        for (int64_t i = 0; i < N; i++) {
            real x = w->alpha[i] + w->p[i];
            w->alpha[i] = x > 0 && w->p[i] != -w->alpha[i] ? x : 0;
        }
        return whole && length == 1;
    }
    move_to_bound(w);
    return false;
}

/* Moves towards the minimum over the face, by at most `limit` conjugate gradients; size: the largest magnitude of a
 * logit. *exact: the minimum was found, to rounding. Returns true if no bound stopped the step. */
static bool svm_face_step(const svm_working *w, int64_t limit, double size, bool *exact, int64_t *passes) {
    find_face(w);
    *exact = minimise_face(w, limit, size, passes);
    return face_search(w, passes);
}

/* ---- a fit ---- */

typedef struct svm_fit {
    int64_t n, C;
    real lambda;
    const real *K, *Y, *margin; /* [n, n], [n, C], [n] or NULL: ones */
    real *alpha;                /* [n, C]: a feasible start, then the solution */
    real *F;                    /* [C, padded(n)]: logits K (Y - alpha) / lambda of all rows */
    svm_working working;
    int64_t most, steps; /* passes over K: the most of a fit, and so far */
} svm_fit;

/* F = K (Y - alpha) / lambda */
static void refresh(const svm_fit *f) {
    int64_t n = f->n, row = padded(n);
    memset(f->F, 0, (size_t)(f->C * row) * sizeof(real));
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < f->C; c++) {
            real a = (f->Y[i * f->C + c] - f->alpha[i * f->C + c]) / f->lambda;
            const real *K = f->K + i * n;
            real *F = f->F + c * row;
            if (a != 0)
                for (int64_t j = 0; j < n; j++)
                    F[j] += a * K[j];
        }
}

static real margin_of(const svm_fit *f, int64_t i) {
    return f->margin ? f->margin[i] : 1;
}

/* Returns the largest g of row i minus the smallest g with alpha > 0; 0 if K_ii is 0 or the row has no part, INFINITY
 * if a value is not finite. Raises *size to the largest magnitude of the row's logits. */
static double row_violation(const svm_fit *f, int64_t i, double *size) {
    int64_t row = padded(f->n);
    real top = -(real)INFINITY, low = (real)INFINITY, own = f->K[i * f->n + i];
    for (int64_t c = 0; c < f->C; c++) {
        real F = f->F[c * row + i], g = F - margin_of(f, i) * f->Y[i * f->C + c];
        if (!isfinite(g) || !isfinite(own)) /* comparisons and fmax would ignore a NaN */
            return INFINITY;
        top = g > top ? g : top;
        low = f->alpha[i * f->C + c] > 0 && g < low ? g : low;
        *size = fmax(*size, (double)(F < 0 ? -F : F));
    }
    return own > 0 && has_part(f->Y + i * f->C, f->C) ? (double)(top - low) : 0;
}

/* Returns the largest violation, and chooses the working rows. */
static double violation(svm_fit *f, double *size) {
    double worst = 0;
    *size = 1;
    f->working.n = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double own = row_violation(f, i, size);
        worst = fmax(worst, own);
        if (f->K[i * f->n + i] > 0 &&
            (own > 0 || memcmp(f->Y + i * f->C, f->alpha + i * f->C, (size_t)f->C * sizeof(real)) != 0))
            f->working.number[f->working.n++] = i;
    }
    return worst;
}

/* Gathers K between the working rows, and what the fit has of them. */
static void take(svm_fit *f) {
    svm_working *w = &f->working;
    int64_t n = w->n, C = f->C, from = padded(f->n), row = padded(n);
    w->row = row;
    real scale = 1 / f->lambda;
    for (int64_t k = 0; k < n; k++) {
        const real *K = f->K + w->number[k] * f->n;
        for (int64_t j = 0; j < row; j++)
            w->K[k * row + j] = j < n ? scale * K[w->number[j]] : 0;
    }
    memset(w->Y, 0, (size_t)(C * row) * sizeof(real));
    memset(w->alpha, 0, (size_t)(C * row) * sizeof(real));
    memset(w->F, 0, (size_t)(C * row) * sizeof(real));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = w->number[i];
        w->step[i] = f->lambda / f->K[at * f->n + at];
        for (int64_t c = 0; c < C; c++) {
            w->Y[c * row + i] = margin_of(f, at) * f->Y[at * C + c];
            w->alpha[c * row + i] = f->alpha[at * C + c];
            w->F[c * row + i] = f->F[c * from + at];
        }
    }
}

static void give_back(const svm_fit *f) {
    const svm_working *w = &f->working;
    for (int64_t i = 0; i < w->n; i++)
        for (int64_t c = 0; c < f->C; c++)
            f->alpha[w->number[i] * f->C + c] = w->alpha[c * w->row + i];
}

/* Runs a fit. Returns a number below 0 if the optimality conditions hold, else their largest violation in the best
 * round.
 *
 * A sweep changes the alpha of one row at a time. If the rows lie far from 0 and near each other, any such change moves
 * all logits much, so that sweeps undo a step that a bound has stopped. Such a fit (`stuck`) walks each face to its end
 * instead: at most one step for each alpha, as a bound makes an alpha 0.
 *
 * Ends at the exact solution of a face, when IDLE rounds have not halved a small violation, or after f->most passes
 * over K; a sweep, a product in a face step and a refresh of the logits are one pass each. */
static double fit_rows(svm_fit *f) {
    int64_t N = f->n * f->C, steps = FIRST_STEPS;
    double least = INFINITY, size;
    f->steps = 0;
    refresh(f);
    double left = violation(f, &size);
    for (int round = 0, idle = 0, stuck = false; f->steps < f->most && isfinite(left) && mo_goes_on(f->working.ctx);
         round++) {
        bool exact, inside = false;
        if (f->working.n == 0)
            return -1;
        f->steps += SWEEPS;
        take(f);
        for (int sweep = 0; sweep < SWEEPS && mo_goes_on(f->working.ctx); sweep++)
            svm_sweep(&f->working);
        stuck = stuck || idle > STUCK;
        for (int64_t i = 0;
             i <= (stuck ? N : 0) && !inside && f->steps - SWEEPS < f->most && mo_goes_on(f->working.ctx); i++) {
            if (i > 0)
                take(f);
            inside = svm_face_step(&f->working, i ? WALK_STEPS : steps, size, &exact, &f->steps);
            f->steps++;
            give_back(f);
            refresh(f);
        }
        left = violation(f, &size);
        idle = left < least / 2 ? 0 : idle + 1;
        if ((inside && exact && left <= 1e4 * EPSILON * size) || (idle > IDLE && least <= sqrt(EPSILON) * size))
            return -1;
        least = fmin(least, left);
        steps = inside ? min_of(2 * steps, 2 * N + FIRST_STEPS) : FIRST_STEPS;
    }
    if (isfinite(left) && least <= sqrt(EPSILON) * size)
        return -1; /* as after IDLE rounds */
    return isfinite(left) ? least : left;
}

/* Returns the scratch size in reals, a multiple of LANES. If scratch is not NULL, also sets the pointers to its parts:
 * F, alpha and the working rows. */
static int64_t svm_layout(svm_fit *f, real *scratch) {
    svm_working *w = &f->working;
    int64_t row = padded(f->n), N = f->C * row, at = 0, classes = padded(f->C);
    real *number, *moved;
    real **arrays[] = {&f->F, &f->alpha, &w->K, &w->step, &w->share, &w->sum, &w->Y, &w->alpha, &w->F, &w->movable,
        &w->v, &w->r, &w->p, &w->q, &w->best, &number, &moved};
    const int64_t length[] = {N, N, f->n * row, row, row, row, N, N, N, N, N, N, N, N, classes, 2 * row, 2 * classes};
    w->C = f->C;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += length[i];
    }
    w->number = (int64_t *)number;
    w->moved = (int64_t *)moved;
    return at;
}

/* Projects labels that do not sum to 1, beyond rounding, onto the simplex. */
static void start_in_simplex(real *alpha, int64_t C) {
    double sum = 0;
    for (int64_t c = 0; c < C; c++)
        sum += (double)alpha[c];
    if (C > 1 && !(fabs(sum - 1) > 8 * EPSILON * (double)C))
        return;
    real threshold = simplex_threshold(alpha, C, 1);
    for (int64_t c = 0; c < C; c++)
        alpha[c] = C == 1 ? 1 : alpha[c] > threshold ? alpha[c] - threshold : 0;
}

/* Returns the violation of the item's fit; below 0 if it succeeded. */
static double run_item(svm_fit *f, const mo_svm_call *g, int64_t b) {
    int64_t n = f->n, C = f->C, bytes = n * C * (int64_t)sizeof(real);
    f->K = entry_of(&g->K, b);
    f->Y = entry_of(&g->Y, b);
    f->margin = g->margin.data ? entry_of(&g->margin, b) : NULL;
    f->lambda = *entry_of(&g->lambda, b);
    memcpy(f->alpha, g->start.data ? entry_of(&g->start, b) : f->Y, (size_t)bytes);
    for (int64_t i = 0; i < n; i++)
        if (has_part(f->Y + i * C, C))
            start_in_simplex(f->alpha + i * C, C);
        else
            memset(f->alpha + i * C, 0, (size_t)C * sizeof(real));
    double worst = fit_rows(f);
    memcpy((real *)g->alpha.data + b * n * C, f->alpha, (size_t)bytes);
    return worst;
}

typedef struct items {
    const mo_svm_call *g;
    const svm_fit *sizes;
    int64_t batch, each; /* each: reals of a workspace */
    int threads;
    real *scratch;
    atomic_llong *steps;
} items;

static void run_some(const void *of, task_range some) {
    const items *p = of;
    for (int64_t b = some.first; b < some.end; b++) {
        svm_fit f = *p->sizes;
        svm_layout(&f, p->scratch + p->each * workspace_of(b, p->batch, p->threads, some.thread));
        ((real *)p->g->violation.data)[b] = (real)run_item(&f, p->g, b);
        atomic_fetch_add(p->steps, f.steps);
    }
}

void REAL(svm_cpu)(mo_context *ctx, const mo_svm_call *g) {
    int64_t batch = g->Y.shape[0];
    svm_fit sizes = {.working.ctx = ctx, .n = g->Y.shape[1], .C = g->Y.shape[2], .most = g->most_steps};
    int64_t each = svm_layout(&sizes, NULL);
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    if (!scratch)
        return;
    atomic_llong steps = 0;
    run_tasks(threads, batch, 1, run_some, &(items){g, &sizes, batch, each, threads, scratch, &steps});
    ctx->counters.fit_steps += steps;
}
