/* tensor/cpu/logistic_fit.c - softmax regressions on parts of one support by L-BFGS (Liu and Nocedal 1989), side by
 * side: what logistic_folds.c says of them. Each step multiplies the gradients of all fits that still move with A^-1 at
 * once, and finds its length by Newton's method on the line, where only logits are needed.
 *
 * At the solution the gradient of the losses is -lambda a: what is left of the sum is measured by |lambda a|, whatever
 * the size of the rows. */
#include "tensor/cpu/logistic_fit.h"
#include "tensor/cpu/matrices.h"
#include "tensor/scalar.h"

#include <math.h>
#include <string.h>

enum { STEPS = 400, TRIALS = 12, BLOCK = 64 };

#define SLOPE 0.1 /* a step ends where the slope along it is this part of the first one */

static void add_scaled(real *restrict y, double a, const real *restrict x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] += (real)a * x[i];
}

static void negate(real *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        x[i] = -x[i];
}

/* The gradient at a distance t along the direction, its slope there and the change of the slope. */
static double gradient_at(const logistic_support *s, const logistic_fit *f, real t, real *restrict G, double *bend) {
    const bool primal = s->primal;
    double slope = 0;
    *bend = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        real top[BLOCK], sum[BLOCK] = {0}, mean[BLOCK] = {0}, square[BLOCK] = {0}, along[BLOCK] = {0};
        const real *fitted = f->fitted + first, *weight = s->weight + first;
        for (int64_t i = 0; i < rows; i++)
            top[i] = -(real)INFINITY;
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real x = f->F[at + i] + t * f->Fv[at + i];
                top[i] = x > top[i] ? x : top[i];
            }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real e = exp_of(f->F[at + i] + t * f->Fv[at + i] - top[i]), moved = e * f->Fv[at + i];
                G[at + i] = e;
                sum[i] += e;
                mean[i] += moved;
                square[i] += moved * f->Fv[at + i];
            }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real loss = fitted[i] * (weight[i] * G[at + i] / sum[i] - s->Y[at + i]);
                real g = primal ? loss : loss + s->lambda * (f->a[at + i] + t * f->v[at + i]);
                G[at + i] = g;
                along[i] += g * f->Fv[at + i];
            }
        for (int64_t i = 0; i < rows; i++) {
            real m = mean[i] / sum[i];
            slope += (double)along[i];
            *bend += (double)(fitted[i] * weight[i] * (square[i] / sum[i] - m * m));
        }
    }
    return slope;
}

/* The loss is convex, so its slope tells the side. */
real logistic_search(const logistic_support *s, const logistic_fit *f, double slope, double pull, double penalty) {
    double bend, low = 0, high = INFINITY, t = 1;
    for (int trial = 1;; trial++) {
        double here = gradient_at(s, f, (real)t, f->next, &bend) + pull + (s->primal ? t * penalty : 0);
        if (!(fabs(here) > SLOPE * fabs(slope)) || trial == TRIALS)
            return (real)t;
        *(here < 0 ? &low : &high) = t;
        double guess = fmin(t - here / (bend + penalty), 4 * t);
        t = guess > low && guess < high ? guess : high < INFINITY ? (low + high) / 2 : 4 * t;
    }
}

/* q = what the kept steps leave of the gradient for A^-1. */
static void reduce(const logistic_support *s, logistic_fit *f, real *q) {
    int64_t N = s->row * s->C, oldest = max_of(0, f->steps - KEPT);
    memcpy(q, f->g, (size_t)N * sizeof(real));
    for (int64_t k = f->steps - 1; k >= oldest; k--) {
        int at = (int)(k % KEPT);
        f->part[at] = f->scale[at] * dot(f->kept_F[at], q, N);
        add_scaled(q, -f->part[at], f->change[at], N);
    }
}

/* The direction, from q and A^-1 q; its slope. */
static double turn(const logistic_support *s, logistic_fit *f, const real *q, const real *z) {
    int64_t N = s->row * s->C, oldest = max_of(0, f->steps - KEPT);
    real share = s->lambda / s->c, per_c = 1 / s->c;
    for (int64_t c = 0; c < N; c += s->row) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < s->row; i++)
            sum += (double)z[c + i];
        real b = s->border_sum > 0 ? (real)(sum / (double)s->border_sum) : 0;
        for (int64_t i = 0; i < s->row; i++) {
            f->v[c + i] = z[c + i] - b * s->border[i];
            f->Fv[c + i] = per_c * q[c + i] - share * f->v[c + i];
        }
    }
    for (int64_t k = oldest; k < f->steps; k++) {
        int at = (int)(k % KEPT);
        double a = f->part[at] - f->scale[at] * dot(f->Fv, f->change[at], N);
        add_scaled(f->v, a, f->kept[at], N);
        add_scaled(f->Fv, a, f->kept_F[at], N);
    }
    negate(f->v, N);
    negate(f->Fv, N);
    return dot(f->g, f->Fv, N);
}

/* Goes along the direction and keeps the step. */
static void advance(const logistic_support *s, logistic_fit *f, double slope) {
    int64_t N = s->row * s->C;
    int at = (int)(f->steps % KEPT);
    real t = logistic_search(s, f, slope, 0, (double)s->lambda * dot(f->v, f->Fv, N));
    real *restrict v = f->kept[at], *restrict Fv = f->kept_F[at];
    real *restrict change = f->change[at];
    for (int64_t i = 0; i < N; i++) {
        v[i] = t * f->v[i];
        Fv[i] = t * f->Fv[i];
        change[i] = f->next[i] - f->g[i];
    }
    add_scaled(f->a, 1, v, N);
    add_scaled(f->F, 1, Fv, N);
    double product = dot(Fv, change, N);
    f->scale[at] = product > 0 ? 1 / product : 0;
    f->steps += product > 0;
    real *g = f->g;
    f->g = f->next;
    f->next = g;
}

void logistic_take_labels(const logistic_support *s, const real *Y) {
    memset(s->weight, 0, (size_t)s->row * sizeof(real));
    memset(s->Y, 0, (size_t)(s->row * s->C) * sizeof(real));
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t c = 0; c < s->C; c++) {
            s->Y[c * s->row + i] = Y[i * s->C + c];
            s->weight[i] += Y[i * s->C + c];
        }
}

void logistic_take_held(
    const logistic_support *s, const logistic_fit *fits, const mo_logistic_folds_call *g, int64_t b) {
    int64_t last = g->stop[g->folds - 1];
    real *held = (real *)g->held.data + b * last * s->C;
    for (int64_t i = 0, k = 1; i < last; i++) {
        k += i == g->stop[k - 1];
        for (int64_t c = 0; c < s->C; c++)
            held[i * s->C + c] = fits[k].F[c * s->row + i];
    }
}

bool logistic_fitted(const logistic_support *s, logistic_fit *f, int64_t from, int64_t to, bool needed) {
    for (int64_t i = 0; i < s->row; i++)
        f->fitted[i] = i >= s->n || (i >= from && i < to) ? 0 : 1;
    for (int64_t c = 0; c < s->C && needed; c++)
        if (!(dot(f->fitted, s->Y + c * s->row, s->n) > 0))
            return false;
    return true;
}

bool logistic_start(const logistic_support *s, logistic_fit *f, int64_t from, int64_t to) {
    int64_t N = s->row * s->C;
    double bend;
    real *zeros[] = {f->a, f->F, f->v, f->Fv};
    for (int i = 0; i < 4; i++)
        memset(zeros[i], 0, (size_t)N * sizeof(real));
    bool fine = logistic_fitted(s, f, from, to, s->border_sum > 0);
    f->steps = 0;
    f->moves = true;
    gradient_at(s, f, 0, f->g, &bend);
    return fine;
}

bool logistic_minimise(const logistic_support *s, logistic_fit *fits, int count) {
    int64_t N = s->row * s->C;
    for (int step = 0; step < STEPS; step++) {
        int moving = 0;
        for (int k = 0; k < count; k++)
            if (fits[k].moves)
                reduce(s, &fits[k], s->gradients + N * moving++);
        if (moving == 0)
            return true;
        panels_product(&s->inverse, s->gradients, moving * s->C, s->images);
        for (int k = 0, at = 0; k < count; k++) {
            logistic_fit *f = &fits[k];
            if (!f->moves)
                continue;
            double slope = turn(s, f, s->gradients + N * at, s->images + N * at);
            double tolerance = (double)s->lambda * f->left;
            at++;
            f->moves = dot(f->g, f->g, N) > tolerance * tolerance * dot(f->a, f->a, N);
            if (!isfinite(slope) || (slope >= 0 && f->moves && f->steps == 0))
                return false;
            if (slope >= 0) /* rounding: again from what A^-1 alone gives */
                f->steps = 0;
            else
                advance(s, f, slope);
        }
    }
    return false;
}
