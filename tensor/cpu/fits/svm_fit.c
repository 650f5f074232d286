/* tensor/cpu/fits/svm_fit.c - one fit of the Crammer-Singer machine by its dual (tensor/fits.h).
 *
 * At the start alpha_i = Y_i, and row i has no part in the weights: rows for which that is optimal do not change the
 * problem. So each round works on the other rows alone: those whose alpha has moved, and those whose logits violate the
 * optimality conditions. Two kinds of steps alternate (svm_face.c): sweeps over the rows, which find the alpha that are
 * 0, and steps on the face of the other alpha, which give the solution, to rounding, on the right face. Optimality: in
 * every row g = F - Y is largest where alpha > 0.
 *
 * Equal rows of one label are merged: the sum of the alpha of m copies lies in a simplex of size m, with the label m Y.
 */
#include "tensor/cpu/fits/svm_fit.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 5000, IDLE = 50, STUCK = 100, INSIDE = 3, SWEEPS = 4, FIRST_STEPS = 16, WALK_STEPS = 64 };

/* F = K (Y - alpha) / lambda */
static void refresh(const svm_fit *f) {
    int64_t n = f->n, row = panels_row(n);
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

/* The largest g of row i minus the least g with alpha > 0; raises size to the row's largest logit. */
static double row_violation(const svm_fit *f, int64_t i, double *size) {
    int64_t row = panels_row(f->n);
    real top = -(real)INFINITY, low = (real)INFINITY, own = f->K[i * f->n + i];
    for (int64_t c = 0; c < f->C; c++) {
        real F = f->F[c * row + i], g = F - f->Y[i * f->C + c] / f->copies[i];
        if (!isfinite(g) || !isfinite(own)) /* comparisons and fmax would ignore a NaN */
            return INFINITY;
        top = g > top ? g : top;
        low = f->alpha[i * f->C + c] > 0 && g < low ? g : low;
        *size = fmax(*size, (double)(F < 0 ? -F : F));
    }
    return own > 0 ? (double)(top - low) : 0;
}

static bool is_held(const svm_fit *f, int64_t i) {
    return i >= f->held_first && i < f->held_end;
}

/* The largest violation, and the rows to work on: `count` rows, `fresh` of them new. */
static double violation(const svm_fit *f, double *size, int64_t *count, int64_t *fresh) {
    double worst = 0;
    *size = 1;
    *count = *fresh = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double own = is_held(f, i) ? 0 : row_violation(f, i, size);
        bool wanted = !is_held(f, i) && f->K[i * f->n + i] > 0 &&
                      (own > 0 || memcmp(f->Y + i * f->C, f->alpha + i * f->C, (size_t)f->C * sizeof(real)) != 0);
        worst = fmax(worst, own);
        *fresh += wanted && !f->working_row[i];
        *count += wanted;
        f->wanted[i] = wanted;
    }
    return worst;
}

/* Makes the wanted rows the working rows, with K among them. */
static void choose_working_rows(svm_fit *f) {
    svm_working *w = &f->working;
    w->n = 0;
    for (int64_t i = 0; i < f->n; i++)
        if ((f->working_row[i] = f->wanted[i]))
            w->number[w->n++] = i;
    int64_t n = w->n;
    w->row = panels_row(n);
    w->K = (panels){w->K.numbers, n, n, 1};
    real scale = 1 / f->lambda, *to = w->K.numbers;
    for (int64_t first = 0; first < n; first += PANEL)
        for (int64_t k = 0; k < n; k++, to += PANEL) {
            const real *K = f->K + w->number[k] * f->n;
            for (int64_t j = 0; j < PANEL; j++)
                to[j] = first + j < n ? scale * K[w->number[first + j]] : 0;
        }
}

static void take(const svm_fit *f) {
    const svm_working *w = &f->working;
    int64_t C = f->C, from = panels_row(f->n), row = w->row;
    memset(w->Y, 0, (size_t)(C * row) * sizeof(real));
    memset(w->alpha, 0, (size_t)(C * row) * sizeof(real));
    memset(w->F, 0, (size_t)(C * row) * sizeof(real));
    for (int64_t i = 0; i < w->n; i++) {
        int64_t at = w->number[i];
        w->copies[i] = f->copies[at];
        w->step[i] = f->lambda / f->K[at * f->n + at];
        for (int64_t c = 0; c < C; c++) {
            w->Y[c * row + i] = f->Y[at * C + c] / f->copies[at];
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

/* Steps on the face until no bound stops one, at most one for each alpha, as a stopped step makes an alpha 0. Returns
 * true unless a bound stopped the last one. */
static bool walk_face(const svm_fit *f, double size, bool *exact) {
    bool inside = false;
    for (int64_t i = 0; i < f->n * f->C && !inside; i++) {
        give_back(f);
        refresh(f);
        take(f);
        inside = svm_face_step(&f->working, WALK_STEPS, size, exact);
    }
    return inside;
}

/* Sweeps move one row alone. Where the rows lie far from 0 and near each other, any such move changes all logits much,
 * so after a step that a bound has stopped, sweeps lead back from that bound: such a fit is stuck until it walks each
 * face to its end.
 * Ends at the exact solution of a face, or when rounding prevents progress although no bound has stopped several rounds
 * of conjugate gradients. */
double svm_fit_rows(svm_fit *f) {
    int64_t N = f->n * f->C, steps = FIRST_STEPS, count, fresh;
    double least = INFINITY, size;
    memset(f->working_row, 0, (size_t)f->n * sizeof(bool));
    f->working.n = 0;
    refresh(f);
    double left = violation(f, &size, &count, &fresh);
    bool stuck = false;
    for (int round = 0, idle = 0, free = 0; round < ROUNDS && isfinite(left); round++) {
        bool exact;
        if (count == 0)
            return -1;
        if (fresh > 0 || 4 * count < 3 * f->working.n)
            choose_working_rows(f);
        take(f);
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            svm_sweep(&f->working);
        bool inside = svm_face_step(&f->working, steps, size, &exact);
        stuck = stuck || idle > STUCK;
        if (stuck && !inside)
            inside = walk_face(f, size, &exact);
        give_back(f);
        refresh(f);
        left = violation(f, &size, &count, &fresh);
        idle = left < least / 2 ? 0 : idle + 1;
        free = inside ? free + 1 : 0;
        if (inside && (exact || (idle && free >= INSIDE)) && left <= 1e4 * EPSILON * size)
            return -1;
        if (idle > IDLE && least <= sqrt(EPSILON) * size)
            return -1;
        least = fmin(least, left);
        steps = inside ? min_of(2 * steps, 2 * N + FIRST_STEPS) : FIRST_STEPS;
    }
    return isfinite(left) ? least : left;
}

int64_t svm_layout(svm_fit *f, real *scratch) {
    svm_working *w = &f->working;
    int64_t row = panels_row(f->n), N = f->C * row, at = 0, classes = panels_row(f->C);
    real *number, *moved, *chosen;
    real **arrays[] = {&f->F, &w->K.numbers, &w->copies, &w->step, &w->share, &w->sum, &w->Y, &w->alpha, &w->F,
        &w->movable, &w->v, &w->r, &w->p, &w->q, &w->best, &number, &moved, &chosen};
    const int64_t length[] = {
        N, panels_length(f->n, f->n), row, row, row, row, N, N, N, N, N, N, N, N, classes, 2 * row, 2 * classes, row};
    w->C = f->C;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += length[i];
    }
    w->number = (int64_t *)number;
    w->moved = (int64_t *)moved;
    f->wanted = (bool *)chosen;
    f->working_row = scratch ? f->wanted + f->n : NULL;
    return at;
}
