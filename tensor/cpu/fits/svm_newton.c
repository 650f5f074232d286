/* tensor/cpu/fits/svm_newton.c - semismooth Newton steps to a proximal point of the Crammer-Singer dual (svm_rows.c).
 *
 * At W the gradient is G = lambda W - X^T (Y - alpha), alpha = P(centre + (F - Y) / sigma). P moves along the face of
 * its value: S_i keeps the entries with alpha > 0 and subtracts their mean, so that the derivative of G is
 *     H = lambda I + X^T S X / sigma,
 * to which rows on a corner of their simplex add nothing. Conjugate gradients solve H[step] = -G on copies of the other
 * rows, and a search along the step finds where the slope of the function vanishes. */
#include "tensor/cpu/fits/svm_rows.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

enum { NEWTON_STEPS = 80, FIRST_LIMIT = 150, MOST_LIMIT = 6000, TRIALS = 30, STALE = 25 };

#define FOLLOW_ETA 1e-3
#define FACTORED_ETA 1e-6

/* Finds the rows of which two entries of `alpha` are above 0, and copies them if they are few. */
static void find_faces(svm_rows *s, const real *alpha) {
    int64_t C = s->C;
    s->faces = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t count = 0;
        for (int64_t c = 0; c < C; c++)
            count += alpha[i * C + c] > 0;
        s->faces += count > 1;
    }
    bool few = s->faces <= s->most_faces;
    for (int64_t i = 0, at = 0; i < s->n; i++) {
        real count = 0;
        for (int64_t c = 0; c < C; c++)
            count += alpha[i * C + c] > 0 ? 1 : 0;
        if (few && !(count > 1))
            continue;
        if (few)
            memcpy(s->face_X + at * s->d, s->X + i * s->d, (size_t)s->d * sizeof(real));
        s->count[at] = count > 1 ? count : 0;
        for (int64_t c = 0; c < C; c++)
            s->share[at * C + c] = count > 1 && alpha[i * C + c] > 0 ? 1 / count : 0;
        at++;
    }
}

/* image = X^T S X direction / sigma + lambda direction */
static void multiply_hessian(const svm_rows *s) {
    bool few = s->faces <= s->most_faces;
    int64_t rows = few ? s->faces : s->n, C = s->C, d = s->d;
    mo_logistic_pass g = {.free_intercept = true};
    g.X = (mo_view){.data = few ? s->face_X : (real *)s->X, .ndim = 2, .shape = {rows, d}, .stride = {d, 1}};
    g.P = (mo_view){.data = s->share, .ndim = 2, .shape = {rows, C}, .stride = {C, 1}};
    g.T = (mo_view){.data = s->count, .ndim = 2, .shape = {rows, 1}, .stride = {1, 1}};
    g.V = (mo_view){.data = s->direction, .ndim = 2, .shape = {d + 1, C}, .stride = {C, 1}};
    g.sum = (mo_view){.data = s->image, .ndim = 2, .shape = {d + 1, C}, .stride = {C, 1}};
    logistic_pass_in(s->ctx, &g, s->scratch);
    for (int64_t j = 0; j < s->N; j++)
        s->image[j] = s->image[j] / s->sigma + s->lambda * s->direction[j];
}

/* Goes on with step = -H^-1 G from `step` and its residual, in the place of G, until the residual's norm is `target`,
 * or after `limit` iterations. Returns true if it is. */
static bool iterate(const svm_rows *s, double target, int limit) {
    int64_t N = s->N;
    double rz, norm = sqrt(dot(s->G, s->G, N));
    svm_precondition(s, s->G, s->z);
    memcpy(s->direction, s->z, (size_t)N * sizeof(real));
    rz = dot(s->G, s->z, N);
    for (int k = 0; k < limit && norm > target; k++) {
        multiply_hessian(s);
        real length = (real)(rz / dot(s->direction, s->image, N));
        add_scaled(s->step, length, s->direction, N);
        add_scaled(s->G, -length, s->image, N);
        norm = sqrt(dot(s->G, s->G, N));
        svm_precondition(s, s->G, s->z);
        double next = dot(s->G, s->z, N);
        next_direction(s->direction, (real)(next / rz), s->z, N);
        rz = next;
    }
    return norm <= target;
}

/* step = -H^-1 G, to a residual of eta |G|; `limit` iterations without a factor. */
static bool solve(svm_rows *s, double norm, double eta, int limit) {
    memset(s->step, 0, (size_t)s->N * sizeof(real));
    for (int64_t j = 0; j < s->N; j++)
        s->G[j] = -s->G[j];
    if (!s->factored)
        return iterate(s, eta * norm, limit);
    return iterate(s, fmin(eta, FACTORED_ETA) * norm, STALE) || !svm_factor(s) ||
           iterate(s, fmin(eta, FACTORED_ETA) * norm, STALE);
}

/* G = lambda W - X^T (Y - alpha); returns its norm. */
static double gradient(svm_rows *s) {
    svm_sum_residuals(s, s->G);
    for (int64_t j = 0; j < s->N; j++)
        s->G[j] = s->lambda * s->W[j] - s->G[j];
    return sqrt(dot(s->G, s->G, s->N));
}

/* alpha = centre + S (F - Y) / sigma on the face of the centre, which may leave the simplex. */
static void extrapolate(const svm_rows *s) {
    int64_t C = s->C;
    for (int64_t i = 0; i < s->n; i++) {
        const real *F = s->F + i * C, *Y = s->Y + i * C, *centre = s->centre + i * C;
        real sum = 0, count = 0;
        for (int64_t c = 0; c < C; c++) {
            sum += centre[c] > 0 ? F[c] - Y[c] : 0;
            count += centre[c] > 0 ? 1 : 0;
        }
        for (int64_t c = 0; c < C; c++)
            s->alpha[i * C + c] = centre[c] > 0 ? centre[c] + (F[c] - Y[c] - sum / count) / s->sigma : 0;
    }
}

/* The slope of the function along the step, at that length; alpha becomes the projection there. */
static double slope_at(const svm_rows *s, double wx, double xx, double yx, double length) {
    return (double)s->lambda * (wx + length * xx) - yx + svm_project(s, (real)length);
}

/* A length up to 1 at which the slope has nearly vanished; alpha becomes the projection there. */
static double search(const svm_rows *s) {
    double wx = dot(s->W, s->step, s->N), xx = dot(s->step, s->step, s->N), yx = dot(s->Y, s->slope, s->n * s->C);
    double first = slope_at(s, wx, xx, yx, 0), low = 0, low_slope = first, high = 1, high_slope = 0, length = 1;
    for (int k = 0; k < TRIALS; k++) {
        double slope = slope_at(s, wx, xx, yx, length);
        if (fabs(slope) <= 0.1 * fabs(first) || (length == 1 && slope <= 0))
            break;
        if (slope > 0) {
            high = length;
            high_slope = slope;
        } else {
            low = length;
            low_slope = slope;
        }
        double part = low_slope / (low_slope - high_slope);
        length = low + fmin(fmax(part, 0.02), 0.9) * (high - low);
    }
    return length;
}

static void move(const svm_rows *s, double length) {
    add_scaled(s->W, (real)length, s->step, s->N);
    add_scaled(s->F, (real)length, s->slope, s->n * s->C);
}

static double distance_squared(const svm_rows *s) {
    double sum = 0;
    for (int64_t i = 0; i < s->n * s->C; i++) {
        double off = (double)(s->alpha[i] - s->centre[i]);
        sum += off * off;
    }
    return sum;
}

/* Takes the solution of the equation on the face of the centre for W: while faces change, a first step from the old W
 * would cross many of them, and the search would cut it to nothing. */
static void follow_face(svm_rows *s) {
    extrapolate(s);
    double norm = gradient(s);
    find_faces(s, s->centre);
    solve(s, norm, FOLLOW_ETA, FIRST_LIMIT);
    svm_pass(s, s->step, s->slope, NULL);
    move(s, 1);
}

/* Where the number of faces has settled and conjugate gradients still take long, a factor helps, or more of them. */
static void help_solve(svm_rows *s, int *limit) {
    if (!s->may_factor || !svm_factor(s))
        *limit = (int)min_of(2 * *limit, MOST_LIMIT);
}

/* The function is strongly convex, so that |G|^2 / (2 lambda) bounds its excess over the minimum: the steps end when it
 * is below the proximal term, or at the rounding of alpha, which is that of F / sigma. */
int svm_newton(svm_rows *s, bool follow) {
    double noise = 8 * EPSILON * s->norm * (1 + 1 / (double)s->sigma), first = 0;
    int limit = FIRST_LIMIT, step = 0;
    int64_t before = -1;
    if (follow)
        follow_face(s);
    memset(s->slope, 0, (size_t)(s->n * s->C) * sizeof(real));
    svm_project(s, 0);
    for (; step < NEWTON_STEPS; step++) {
        double norm = gradient(s), bound = (double)(s->lambda * s->sigma) * distance_squared(s);
        if (norm <= noise || norm * norm <= bound || !isfinite(norm))
            break;
        first = step ? first : norm;
        find_faces(s, s->alpha);
        if (!solve(s, norm, fmin(0.1, sqrt(norm / first)), limit) && s->faces == before)
            help_solve(s, &limit);
        before = s->faces;
        svm_pass(s, s->step, s->slope, NULL);
        move(s, search(s));
    }
    return step;
}
