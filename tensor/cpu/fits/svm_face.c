/* tensor/cpu/fits/svm_face.c - steps of the Crammer-Singer dual among the working rows of a fit (svm.c).
 *
 * With logits F = K (Y - alpha) / lambda and g = F - Y the gradient in alpha is -g.
 * - A sweep over the rows (Crammer and Singer 2001; Keerthi et al. 2008): with the other rows fixed, the best alpha_i
 *   is the projection of alpha_i + g_i lambda / K_ii onto the simplex. Most rows move two or three of their classes:
 * only these columns of F change.
 * - A step on the face of the alpha that are above 0 (More and Toraldo 1991): conjugate gradients for the minimum over
 *   the face, followed until an alpha becomes 0, or projected, so that many alpha become 0. */
#include "tensor/cpu/fits/svm.h"

#include <math.h>
#include <string.h>

/* The threshold t with sum max(x - t, 0) = size (Michelot 1986); the set of x above it shrinks from pass to pass. */
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

/* F -= K_i best / lambda for the classes that moved. */
static void move_logits(const svm_working *w, int64_t i, int64_t moved) {
    for (int64_t first = 0; first < w->row; first += PANEL) {
        const lanes *k = (const lanes *)(w->K.numbers + first * w->n + i * PANEL);
        bool two = w->row - first >= PANEL;
        for (int64_t m = 0; m < moved; m++) {
            lanes *F = (lanes *)(w->F + w->moved[m] * w->row + first);
            real change = w->best[w->moved[m]];
            F[0] -= change * k[0];
            if (two)
                F[1] -= change * k[1];
        }
    }
}

void svm_sweep(const svm_working *w) {
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

/* Projects X onto the directions of the face: in every row, zero where alpha is 0, with sum zero. */
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

/* v = the step to the minimum over the face, by conjugate gradients. Returns true if they converged, at least to the
 * rounding of logits of that size. */
static bool minimise_face(const svm_working *w, int64_t limit, double size) {
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
    for (int64_t k = 0; k < limit && rr > target; k++) {
        panels_product(&w->K, w->p, w->C, w->q);
        double curvature = dot(w->p, w->q, N), pp = dot(w->p, w->p, N);
        bool flat = !(curvature > 16 * EPSILON * pp / (double)least_step);
        if (flat && k > 0)
            return false;
        real a = flat ? (real)(1e6 / sqrt(pp)) : (real)(rr / curvature); /* flat: a step beyond the face */
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

/* p = (alpha + length v projected onto the simplices) - alpha; returns true if the projection changes nothing. */
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

/* Moves to the projection of a point on v if the objective falls there, so that many alpha become 0 at once; else to
 * the first alpha that becomes 0. Returns true if all of v was taken. */
static bool face_search(const svm_working *w) {
    int64_t N = w->row * w->C;
    for (real length = 1; length > (real)LEAST_LENGTH; length /= 4) {
        bool whole = project_step(w, length);
        if (!whole) {
            double fall = 0;
            panels_product(&w->K, w->p, w->C, w->q);
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

bool svm_face_step(const svm_working *w, int64_t limit, double size, bool *exact) {
    find_face(w);
    *exact = minimise_face(w, limit, size);
    return face_search(w);
}
