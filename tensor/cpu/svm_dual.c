/* tensor/cpu/svm_dual.c - the dual of the Crammer-Singer machine (tensor/backend.h), each item of the batch on one
 * thread.
 *
 * With logits F = K (Y - alpha) / lambda and g = F - Y the gradient in alpha is -g. Two kinds of steps take turns:
 * - over the rows (Crammer and Singer 2001; Keerthi et al. 2008): with the others fixed, the best alpha_i is the
 *   projection of alpha_i + g_i lambda / K_ii onto the simplex. This finds which alpha are 0; a row that does not move
 *   costs nothing.
 * - on the face of the alpha that are above 0 (More and Toraldo 1991): conjugate gradients for the minimum over the
 * face, followed until an alpha becomes 0. On the right face it is the solution, to rounding. Optimal: in every row g
 * is largest where alpha > 0. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"
#include "tensor/cpu/narrow.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROUNDS = 5000, IDLE = 50, SWEEPS = 4, FIRST_STEPS = 16 };

#define LEAST_LENGTH 1e-3

typedef struct dual {
    int64_t n, classes;
    const real *K, *Y;
    real lambda, *alpha;
    real *F, *v, *Kv, *r, *p, *Kp, *work; /* scratch [n, C]; v a direction, K.. its image K v / lambda */
} dual;

/* Y = K X / lambda */
static void apply(const dual *s, const real *X, real *Y) {
    narrow_product(s->K, s->n, s->n, false, 1 / s->lambda, X, s->classes, Y, s->work);
}

static void refresh(const dual *s) {
    for (int64_t i = 0; i < s->n * s->classes; i++)
        s->p[i] = s->Y[i] - s->alpha[i];
    apply(s, s->p, s->F);
}

/* The threshold with sum max(x - it, 0) = 1 (Michelot 1986): fewer and fewer x lie above it. */
static real simplex_threshold(const real *x, int64_t n) {
    double threshold = -INFINITY;
    for (int64_t above = n, before = n + 1; above > 0 && above < before;) {
        double sum = -1;
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

/* Row i at its best; its change goes into F. */
static void update_row(const dual *s, int64_t i) {
    int64_t C = s->classes;
    const real *K = s->K + i * s->n;
    real *alpha = s->alpha + i * C, *best = s->v, largest = 0;
    if (!(K[i] > 0))
        return;
    for (int64_t c = 0; c < C; c++)
        best[c] = alpha[c] + (s->F[i * C + c] - s->Y[i * C + c]) * s->lambda / K[i];
    real threshold = simplex_threshold(best, C);
    for (int64_t c = 0; c < C; c++) {
        real x = best[c] > threshold ? best[c] - threshold : 0, change = x - alpha[c];
        alpha[c] = x;
        best[c] = change / s->lambda;
        largest = change > largest ? change : largest; /* changes sum to 0 */
    }
    if (largest == 0)
        return;
    for (int64_t j = 0; j < s->n; j++)
        for (int64_t c = 0; c < C; c++)
            s->F[j * C + c] -= K[j] * best[c];
}

/* X onto the directions of the face: in every row zero where alpha is, and of zero sum. */
static void onto_face(const dual *s, real *X) {
    for (int64_t i = 0; i < s->n; i++) {
        const real *alpha = s->alpha + i * s->classes;
        real *x = X + i * s->classes, sum = 0, count = 0;
        for (int64_t c = 0; c < s->classes; c++)
            if (alpha[c] > 0) {
                sum += x[c];
                count++;
            }
        for (int64_t c = 0; c < s->classes; c++)
            x[c] = alpha[c] > 0 && count > 1 ? x[c] - sum / count : 0;
    }
}

/* Conjugate gradients for the minimum over the face: v and Kv. True where they converged, to the rounding of logits of
 * that size at least. */
static bool minimise_face(const dual *s, int64_t limit, real epsilon, double size) {
    int64_t N = s->n * s->classes;
    for (int64_t i = 0; i < N; i++)
        s->r[i] = s->F[i] - s->Y[i];
    onto_face(s, s->r);
    memset(s->v, 0, (size_t)N * sizeof(real));
    memset(s->Kv, 0, (size_t)N * sizeof(real));
    memcpy(s->p, s->r, (size_t)N * sizeof(real));
    double rr = dot(s->r, s->r, N), noise = 8 * (double)epsilon * size;
    double target = fmax(rr * (double)(16 * epsilon * epsilon), (double)N * noise * noise);
    for (int64_t k = 0; k < limit && rr > target; k++) {
        apply(s, s->p, s->Kp);
        double curvature = dot(s->p, s->Kp, N), pp = dot(s->p, s->p, N);
        bool flat = !(curvature > (double)(16 * epsilon) * pp * (double)(s->K[0] / s->lambda));
        if (flat && k > 0)
            return false;
        real a = flat ? (real)(1e6 / sqrt(pp)) : (real)(rr / curvature); /* flat: as far as the face goes */
        for (int64_t i = 0; i < N; i++) {
            s->v[i] += a * s->p[i];
            s->Kv[i] += a * s->Kp[i];
        }
        onto_face(s, s->Kp);
        for (int64_t i = 0; i < N; i++)
            s->r[i] -= a * s->Kp[i];
        double next = dot(s->r, s->r, N);
        if (flat)
            return false;
        for (int64_t i = 0; i < N; i++)
            s->p[i] = s->r[i] + (real)(next / rr) * s->p[i];
        rr = next;
    }
    return rr <= target;
}

/* Moves along v until an alpha becomes 0. */
static void follow(const dual *s) {
    int64_t N = s->n * s->classes, stop = -1;
    real length = 1;
    for (int64_t i = 0; i < N; i++)
        if (s->v[i] < 0 && s->alpha[i] + length * s->v[i] < 0) {
            length = -s->alpha[i] / s->v[i];
            stop = i;
        }
    for (int64_t i = 0; i < N; i++) {
        real x = s->alpha[i] + length * s->v[i];
        s->alpha[i] = x > 0 ? x : 0;
    }
    if (stop >= 0)
        s->alpha[stop] = 0;
}

/* p = (alpha + length v projected onto the simplices) - alpha; true where that leaves all of length v. */
static bool project(const dual *s, real length) {
    int64_t C = s->classes;
    bool whole = true;
    for (int64_t i = 0; i < s->n; i++) {
        real *p = s->p + i * C, low = 0;
        const real *alpha = s->alpha + i * C;
        for (int64_t c = 0; c < C; c++) {
            p[c] = alpha[c] + length * s->v[i * C + c];
            low = p[c] < low ? p[c] : low;
        }
        real threshold = low < 0 ? simplex_threshold(p, C) : 0;
        whole = whole && low == 0;
        for (int64_t c = 0; c < C; c++)
            p[c] = (p[c] > threshold ? p[c] - threshold : 0) - alpha[c];
    }
    return whole;
}

/* Moves to the projection of a point on v where the objective has fallen there, so that many alpha become 0 at once;
 * else to the first that does. True where all of v was taken. */
static bool search(const dual *s) {
    int64_t N = s->n * s->classes;
    for (real length = 1; length > (real)LEAST_LENGTH; length /= 4) {
        bool whole = project(s, length);
        if (!whole) {
            double fall = 0;
            apply(s, s->p, s->Kp);
            for (int64_t i = 0; i < N; i++)
                fall += (double)s->p[i] * ((double)s->F[i] - (double)s->Y[i]);
            if (!(dot(s->p, s->Kp, N) / 2 <= 0.999 * fall))
                continue;
        }
        for (int64_t i = 0; i < N; i++) {
            real x = s->alpha[i] + s->p[i];
            s->alpha[i] = x > 0 && s->p[i] != -s->alpha[i] ? x : 0;
        }
        return whole && length == 1;
    }
    follow(s);
    return false;
}

/* How far the largest g of a row lies above the least one where alpha > 0; size: the largest logit. */
static double violation(const dual *s, double *size) {
    double worst = 0;
    *size = 1;
    for (int64_t i = 0; i < s->n; i++) {
        real top = -(real)INFINITY, low = (real)INFINITY;
        for (int64_t k = i * s->classes; k < (i + 1) * s->classes; k++) {
            real g = s->F[k] - s->Y[k];
            if (!isfinite(g)) /* comparisons and fmax would pass over a NaN */
                return INFINITY;
            top = g > top ? g : top;
            low = s->alpha[k] > 0 && g < low ? g : low;
            *size = fmax(*size, (double)(s->F[k] < 0 ? -s->F[k] : s->F[k]));
        }
        if (s->K[i * s->n + i] > 0)
            worst = fmax(worst, (double)(top - low));
    }
    return worst;
}

/* Below 0, or what is missed. It ends on the exact solution of its face, or where rounding lets it come no closer. */
static double minimise(const dual *s) {
    const double epsilon = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;
    int64_t N = s->n * s->classes, steps = FIRST_STEPS;
    double least = INFINITY, size = 1;
    memcpy(s->alpha, s->Y, (size_t)N * sizeof(real));
    memset(s->F, 0, (size_t)N * sizeof(real));
    for (int round = 0, idle = 0; round < ROUNDS; round++) {
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (int64_t i = 0; i < s->n; i++)
                update_row(s, i);
        bool exact = minimise_face(s, steps, (real)epsilon, size), inside = search(s);
        refresh(s);
        double left = violation(s, &size);
        if (!isfinite(left))
            return left;
        idle = left < least / 2 ? 0 : idle + 1;
        if (inside && (exact || idle) && left <= 1e4 * epsilon * size)
            return -1;
        if (idle > IDLE && least <= sqrt(epsilon) * size)
            return -1;
        least = fmin(least, left);
        steps = inside ? min_of(2 * steps, 2 * N + FIRST_STEPS) : FIRST_STEPS;
    }
    return least;
}

static const real *part(const mo_view *v, int64_t b) {
    return (const real *)v->data + (v->shape[0] == 1 ? 0 : b * entry_length(v));
}

void REAL(svm_dual_cpu)(mo_context *ctx, const mo_svm_dual *g) {
    int64_t batch = g->Y.shape[0], n = g->Y.shape[1], C = g->Y.shape[2], length = ceil_div(n * C, 16) * 16;
    int64_t each = 6 * length + 2 * NARROW * n;
    int threads = (int)min_of(blas_threads(ctx), batch);
    real *scratch = cpu_workspace(ctx, (size_t)(each * batch) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        real *work = scratch + b * each;
        dual s = {.n = n, .classes = C, .K = part(&g->K, b), .Y = part(&g->Y, b), .lambda = *part(&g->lambda, b)};
        s.alpha = (real *)g->alpha.data + b * n * C;
        real **vectors[] = {&s.F, &s.v, &s.Kv, &s.r, &s.p, &s.Kp};
        for (int i = 0; i < 6; i++)
            *vectors[i] = work + i * length;
        s.work = work + 6 * length;
        ((real *)g->violation.data)[b] = (real)minimise(&s);
    }
}
