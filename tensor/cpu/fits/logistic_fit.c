/* tensor/cpu/fits/logistic_fit.c - the parts of a fit that both forms of logistic_folds.c share: conjugate gradients,
 * and the line search along a Newton step, which needs logits only.
 *
 * With the probabilities P of a point, W_i = m_i T_i (diag P_i - P_i P_i^T) and coordinates of either form, the Hessian
 * takes p to H p = (W F_p) by coordinates + lambda p. From r = -gradient and its image z,
 *     p = z + b p,   x += a p,   r -= a H p,   a = <r, z> / <p, H p>,   b = <r, z> / its last value,
 * so that the slope along x is the sum of -a <r, z>. The inner product of two vectors, with coordinates of rows, is
 * that of one with the logits of the other. Newton's equation is solved to the root of the relative gradient, and at
 * least to 0.3 (Eisenstat and Walker 1996). */
#include "tensor/cpu/fits/logistic_fit.h"
#include "tensor/cpu/matrices.h"
#include "tensor/scalar.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 12, BLOCK = 64 };

#define SLOPE 0.5            /* a line search ends at this share of the first slope */
#define CURVATURE 0.02       /* of a row at the start, before any fit */
#define LEAST_CURVATURE 3e-3 /* later: a lower bound, since the curvatures of a fold differ from those of all rows */

int64_t logistic_layout(const logistic_support *s, logistic_fit *fits, int count, real *scratch) {
    int64_t at = 0;
    for (int k = 0; k < count; k++) {
        logistic_fit *f = &fits[k];
        real **vectors[] = {&f->a, &f->x, &f->p, &f->r, &f->F, &f->Fx, &f->Fp, &f->P, &f->fitted};
        for (int i = 0; i < 9; i++) {
            *vectors[i] = scratch ? scratch + at : NULL;
            at += i < 4 ? s->width * s->C : i < 8 ? s->row * s->C : s->row;
        }
    }
    return at;
}

void logistic_read_labels(const logistic_support *s, const real *Y) {
    memset(s->weight, 0, (size_t)s->row * sizeof(real));
    memset(s->Y, 0, (size_t)(s->row * s->C) * sizeof(real));
    for (int64_t i = 0; i < s->given; i++)
        for (int64_t c = 0; c < s->C; c++) {
            int64_t at = s->of ? s->of[i] : i;
            s->Y[c * s->row + at] += Y[i * s->C + c];
            s->weight[at] += Y[i * s->C + c];
        }
}

void logistic_write_held(const logistic_support *s, const logistic_fit *fits, const mo_folds_call *g, int64_t b) {
    int64_t last = g->stop[g->folds - 1];
    real *held = (real *)g->held.data + b * last * s->C;
    for (int64_t i = 0, k = 1; i < last; i++) {
        k += i == g->stop[k - 1];
        for (int64_t c = 0; c < s->C; c++)
            held[i * s->C + c] = fits[k].F[c * s->row + (s->of ? s->of[i] : i)];
    }
}

/* Sets f->fitted to all rows except from .. to - 1. Returns whether every class has weight there. */
static bool exclude_rows(const logistic_support *s, const logistic_fit *f, int64_t from, int64_t to) {
    bool all = true;
    for (int64_t i = 0; i < s->row; i++)
        f->fitted[i] = i >= s->n || (i >= from && i < to) ? 0 : 1;
    for (int64_t c = 0; c < s->C; c++)
        all = all && dot(f->fitted, s->Y + c * s->row, s->n) > 0;
    return all;
}

/* The probabilities at a + t x; returns the slope of the losses along x there, and *second its derivative. */
static double slope_at(const logistic_support *s, const logistic_fit *f, real t, double *second) {
    double slope = 0;
    *second = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        real top[BLOCK], sum[BLOCK] = {0}, mean[BLOCK] = {0}, square[BLOCK] = {0}, wanted[BLOCK] = {0};
        for (int64_t i = 0; i < rows; i++)
            top[i] = -(real)INFINITY;
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real x = f->F[at + i] + t * f->Fx[at + i];
                top[i] = x > top[i] ? x : top[i];
            }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real e = exp_of(f->F[at + i] + t * f->Fx[at + i] - top[i]), moved = e * f->Fx[at + i];
                f->P[at + i] = e;
                sum[i] += e;
                mean[i] += moved;
                square[i] += moved * f->Fx[at + i];
                wanted[i] += s->Y[at + i] * f->Fx[at + i];
            }
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                f->P[at + i] /= sum[i];
        for (int64_t i = 0; i < rows; i++) {
            real m = mean[i] / sum[i], T = s->weight[first + i];
            slope += (double)(f->fitted[first + i] * (T * m - wanted[i]));
            *second += (double)(f->fitted[first + i] * T * (square[i] / sum[i] - m * m));
        }
    }
    return slope;
}

bool logistic_start(const logistic_support *s, logistic_fit *f) {
    double second;
    memset(f->a, 0, (size_t)(s->width * s->C) * sizeof(real));
    memset(f->F, 0, (size_t)(s->row * s->C) * sizeof(real));
    memset(f->Fx, 0, (size_t)(s->row * s->C) * sizeof(real));
    bool supported = exclude_rows(s, f, 0, 0);
    slope_at(s, f, 0, &second);
    return supported || !s->free_intercept;
}

bool logistic_start_fold(
    const logistic_support *s, logistic_fit *f, const logistic_fit *all, int64_t from, int64_t to) {
    memcpy(f->a, all->a, (size_t)(s->width * s->C) * sizeof(real));
    memcpy(f->F, all->F, (size_t)(s->row * s->C) * sizeof(real));
    memcpy(f->P, all->P, (size_t)(s->row * s->C) * sizeof(real));
    return exclude_rows(s, f, from, to) || !s->free_intercept;
}

void logistic_set_curvature(const logistic_support *s, const logistic_fit *f) {
    for (int64_t i = 0; i < s->row; i++) {
        real w = f ? 0 : (real)CURVATURE;
        for (int64_t c = 0; c < s->C && f; c++) {
            real P = f->P[c * s->row + i];
            w += P * (1 - P) / (real)s->C;
        }
        w = s->weight[i] * (w > (real)LEAST_CURVATURE ? w : (real)LEAST_CURVATURE);
        s->curvature[i] = w > (real)1e-6 ? w : (real)1e-6; /* a row without weight */
    }
}

void logistic_loss_gradient(const logistic_support *s, const logistic_fit *f, real *G) {
    for (int64_t c = 0; c < s->C; c++)
        for (int64_t i = 0; i < s->row; i++) {
            int64_t at = c * s->row + i;
            G[at] = f->fitted[i] * (s->weight[i] * f->P[at] - s->Y[at]);
        }
}

/* The inner product of x and the penalty's image of y: lambda y in the metric of the coordinates. */
static double penalised(const logistic_support *s, const real *x, const real *y, const real *Fy) {
    if (!s->primal)
        return (double)s->lambda * dot(x, Fy, s->row * s->C);
    double sum = 0;
    for (int64_t c = 0; c < s->C; c++)
        sum += dot(x + c * s->width, y + c * s->width, s->d);
    return (double)s->lambda * sum;
}

/* Q = W Fp; <Fp, Q> */
static double curvature_along_p(const logistic_support *s, const logistic_fit *f, real *Q) {
    double second = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first);
        real mean[BLOCK] = {0}, weight[BLOCK], along[BLOCK] = {0};
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                mean[i] += f->P[at + i] * f->Fp[at + i];
        for (int64_t i = 0; i < rows; i++)
            weight[i] = f->fitted[first + i] * s->weight[first + i];
        for (int64_t at = first; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real Fp = f->Fp[at + i], q = weight[i] * f->P[at + i] * (Fp - mean[i]);
                along[i] += Fp * q;
                Q[at + i] = q;
            }
        for (int64_t i = 0; i < rows; i++)
            second += (double)along[i];
    }
    return second;
}

void logistic_direction(const logistic_support *s, logistic_fit *f, const real *z, const real *Fz, real *Q) {
    int64_t N = s->width * s->C, rows = s->row * s->C;
    double product = s->primal ? dot(f->r, z, N) : dot(f->r, Fz, N);
    if (f->product > 0) {
        real b = (real)(product / f->product);
        next_direction(f->p, b, z, N);
        next_direction(f->Fp, b, Fz, rows);
    } else {
        memcpy(f->p, z, (size_t)N * sizeof(real));
        memcpy(f->Fp, Fz, (size_t)rows * sizeof(real));
    }
    f->product = product;
    f->curvature = curvature_along_p(s, f, Q) + penalised(s, f->p, f->p, f->Fp);
}

bool logistic_step(const logistic_support *s, logistic_fit *f, const real *Hp) {
    if (!(f->product > 0) || !(f->curvature > 0))
        return true;
    real a = (real)(f->product / f->curvature);
    add_scaled(f->x, a, f->p, s->width * s->C);
    add_scaled(f->Fx, a, f->Fp, s->row * s->C);
    for (int64_t c = 0; c < s->C; c++) {
        real *restrict r = f->r + c * s->width;
        const real *restrict h = Hp + c * s->width, *restrict p = f->p + c * s->width;
        for (int64_t i = 0; i < s->width; i++)
            r[i] -= a * (h[i] + (i < s->penalised ? s->lambda * p[i] : 0));
    }
    f->slope -= (double)a * f->product;
    return dot(f->r, f->r, s->width * s->C) <= f->target;
}

/* The step length along x; pull and penalty: the slope of the penalty and its derivative. The objective is convex, so
 * the sign of its slope gives the side. */
static real search_length(const logistic_support *s, const logistic_fit *f, double pull, double penalty) {
    double second, low = 0, high = INFINITY, t = 1;
    for (int trial = 1;; trial++) {
        double here = slope_at(s, f, (real)t, &second) + pull + t * penalty;
        if (!(fabs(here) > SLOPE * fabs(f->slope)) || trial == TRIALS)
            return (real)t;
        *(here < 0 ? &low : &high) = t;
        double guess = fmin(t - here / (second + penalty), 4 * t);
        t = guess > low && guess < high ? guess : high < INFINITY ? (low + high) / 2 : 4 * t;
    }
}

bool logistic_line_search(const logistic_support *s, logistic_fit *f) {
    if (!(f->slope < 0))
        return false;
    real t = search_length(s, f, penalised(s, f->a, f->x, f->Fx), penalised(s, f->x, f->x, f->Fx));
    add_scaled(f->a, t, f->x, s->width * s->C);
    add_scaled(f->F, t, f->Fx, s->row * s->C);
    return true;
}

void logistic_gradient(const logistic_support *s, logistic_fit *f, const real *G, double rounding) {
    int64_t N = s->width * s->C;
    double size = 0;
    for (int64_t c = 0; c < s->C; c++) {
        const real *a = f->a + c * s->width, *g = G + c * s->width;
        real *r = f->r + c * s->width;
        for (int64_t i = 0; i < s->width; i++)
            r[i] = -(g[i] + (i < s->penalised ? s->lambda * a[i] : 0));
        size += dot(a, a, s->penalised);
    }
    size = (double)s->lambda * sqrt(size);
    const double least = sizeof(real) == sizeof(double) ? 1e-11 : 1e-5; /* the accuracy of a sum */
    double gradient = sqrt(dot(f->r, f->r, N)), target = fmax(fmax(f->tolerance, least) * size, rounding);
    f->moves = !(gradient <= target);
    f->target = fmax(fmin(0.3, sqrt(gradient / size)) * gradient, target / 2);
    f->target *= f->target;
    f->product = f->slope = 0;
    memset(f->x, 0, (size_t)N * sizeof(real));
    memset(f->Fx, 0, (size_t)(s->row * s->C) * sizeof(real));
}
