/* tensor/cpu/fits/logistic.c - softmax regression by Newton's method, and the solution of H U = B that is its adjoint
 * (tensor/fits.h): gradient, direction by conjugate gradients, halved step, until the gradient is rounding.
 *
 * With rows Phi = [X | 1] (or X), m columns, mu = lambda on the columns of X and 0 on the intercept, the Hessian at
 * probabilities P is H = Phi^T W Phi + mu, W_i = T_i (diag P_i - P_i P_i^T). Conjugate gradients run in coordinates of
 * M = Phi^T D Phi + mu / kappa = L L^T, where D_i is one number for all classes and kappa is 1 unless rounding needs a
 * larger penalty. M is made anew once the conjugate gradients that used it have cost as much as it did.
 * - Primal: weights V have the coordinates v = L^T V and the logits F_v = Phi L^-T v; pull(R) = L^-1 Phi^T R.
 * - Dual, for few rows: V = M^-1 Phi^T v, so that F_v = G v with G = Phi M^-1 Phi^T [n, n]; pull(R) = R. The weights
 *   are X^T A, and a step v changes A by kappa (v - D F_v) / lambda. With A^-1 = (X X^T + lambda / (kappa D))^-1,
 *   G = D^-1 - D^-1 lambda / kappa A^-1 D^-1, where for a free intercept A^-1 becomes A^-1 - u u^T / 1^T u, u = A^-1 1.
 * In both, the Hessian takes v to kappa v + pull(W F_v - kappa D F_v), and the inner product of V with itself is <v, v>
 * in the primal, <v, F_v> in the dual. At the end the logits are computed from the weights, and the fit goes on from
 * there if that moves the gradient: the rounding of M and of the steps does not reach the solution.
 *
 * A fit without some rows J may start from a fit with them, at its weights and by its M. In the dual M loses the rows
 * first, as (M - Phi_J^T D_J Phi_J)^-1 gives G + G_:J (D_J^-1 - G_JJ)^-1 G_J: (Woodbury), at a fraction of a new M.
 *
 * Weights and coordinates are [C, width], logits [C, row], padded with zeros to whole lanes. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"
#include "tensor/scalar.h"

#include <math.h>
#include <stdatomic.h>

enum { ROUNDS = 400, HALVINGS = 40, ATTEMPTS = 8, REFRESHES = 3, HIDDEN = 256 };

#define ENOUGH 1e-6
#define LEAST_CURVATURE 3e-3 /* of a row, relative to its weight: elsewhere it can have more than at P */

typedef struct newton {
    mo_context *ctx; /* asked whether to go on */
    bool dual, free_intercept;
    int threads;
    int64_t n, d, m, C, row, width, order, across; /* order: of `factor`, n in the dual, else m; across: rows of V */
    int factorizations, steps;
    bool fits;           /* false: solves H U = B at fixed probabilities */
    bool has_K, started; /* started: from another fit, to a gradient of ENOUGH of its terms */
    const real *X;
    real lambda, kappa;
    double least; /* least curvature of the next factor */
    real *T, *D, *squares, *factor, *K,
        *Phi; /* squares: |X_i|^2; factor: G or L; K = X X^T, lower triangle (dual); Phi L^-T [n, m] (primal) */
    real *b;  /* [C]: the intercepts */
    real *V;  /* [C, across]: X^T A in the dual, else A */
    real *A, *B, *x, *p, *r, *Hp; /* [C, width]: the weights, the right-hand side, of conjugate gradients */
    real *scaled;                 /* solve: B and, in the dual, what U has beyond the span of the rows, [m, C] each */
    real *F, *Fx, *Fp, *Fr, *P, *R, *Y; /* [C, row] */
} newton;

/* Returns the scratch size in reals; sets the pointers if scratch is not NULL. */
static int64_t newton_layout(newton *s, const mo_logistic_call *g, int threads, real *scratch) {
    int64_t at = 0, n = g->X.shape[1], C = g->W.shape[2];
    *s = (newton){.dual = g->dual, .free_intercept = g->free_intercept, .threads = threads, .n = n, .C = C};
    s->d = g->X.shape[2];
    s->m = s->d + s->free_intercept;
    s->row = padded(n);
    s->order = s->dual ? n : s->m;
    s->width = s->dual ? s->row : padded(s->m);
    s->across = s->dual ? padded(s->d) : s->width;
    real **arrays[] = {&s->T, &s->D, &s->squares, &s->factor, &s->K, &s->Phi, &s->A, &s->B, &s->x, &s->p, &s->r, &s->Hp,
        &s->F, &s->Fx, &s->Fp, &s->Fr, &s->P, &s->R, &s->Y, &s->scaled, &s->V, &s->b};
    const int64_t N = s->width * C, rows = s->row * C;
    const int64_t length[] = {s->row, s->row, s->row, s->order * s->order, s->dual ? n * n : 0,
        s->dual ? n * n / 2 : n * s->m, N, N, N, N, N, N, rows, rows, rows, rows, rows, rows, rows,
        g->Y.data ? 0 : 2 * s->m * C, s->dual ? s->across * C : 0, C};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += padded(length[i]);
    }
    s->V = s->dual ? s->V : s->A;
    return at;
}

/* ---- the coordinates ---- */

/* Replaces the lower triangle of A [n, n], with rows `row` apart, by the lower triangle of A^-1; overwrites the upper
 * triangle. scratch: n n / 2 numbers. Returns false if A is not positive definite. With A = [A1 B^T; B A2], H = B A1^-1
 * and the complement S = A2 - H B^T, also positive definite,
 *     A^-1 = [A1^-1 + H^T S^-1 H, -H^T S^-1; -S^-1 H, S^-1].
 * Except for small blocks all work is products, which run at twice the rate of LAPACK's inverse from a factor (448
 * rows: 1.3 ms instead of 2.3). */
static bool inverse_spd(real *A, int64_t n, int64_t row, real *scratch) {
    int size = (int)n, ld = (int)row, info = 0;
    if (n <= SMALL_MATRIX) {
        lapack_potrf("U", &size, A, &ld, &info);
        if (info == 0)
            lapack_potri("U", &size, A, &ld, &info);
        return info == 0;
    }
    int64_t m = n / 2, rest = n - m;
    real *B = A + m * row, *A2 = B + m, *H = scratch;
    blasint half = (blasint)m, other = (blasint)rest;
    if (!inverse_spd(A, m, row, scratch))
        return false;
    blas_symm(CblasRowMajor, CblasRight, CblasLower, other, half, 1, A, ld, B, ld, 0, H, half);
    blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, other, other, half, -1, H, half, B, ld, 1, A2, ld);
    if (!inverse_spd(A2, rest, row, scratch + rest * m))
        return false;
    blas_symm(CblasRowMajor, CblasLeft, CblasLower, other, half, -1, A2, ld, H, half, 0, B, ld);
    blas_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, half, half, other, -1, H, half, B, ld, 1, A, ld);
    return true;
}

static bool factor_rows(newton *s, real ratio) {
    blasint n = (blasint)s->n;
    real *G = s->factor, *u = s->Fr, apart = 0;
    if (!s->has_K)
        blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, n, (blasint)s->d, 1, s->X, (blasint)s->d, 0, s->K, n);
    s->has_K = true;
    for (int64_t i = 0; i < n; i++)
        apart = s->K[i * n + i] > apart ? s->K[i * n + i] : apart;
    /* K's rounding is added, as linearly dependent rows would have no curvature; more for a row so short that rounding
     * of 1 / D_i hides it in G. */
    for (int64_t i = 0; i < n; i++) {
        real own = ratio / s->D[i], *to = G + i * n;
        memcpy(to, s->K + i * n, (size_t)(i + 1) * sizeof(real));
        own *= to[i] < (real)(HIDDEN * EPSILON) * own ? 1 + (real)(HIDDEN / 4 * EPSILON) : 1;
        to[i] += own + (real)(16 * EPSILON) * apart;
    }
    if (!inverse_spd(G, n, n, s->Phi))
        return false;
    if (s->free_intercept) {
        for (int64_t i = 0; i < n; i++)
            s->Fp[i] = 1;
        blas_symv(CblasRowMajor, CblasLower, n, 1, G, n, s->Fp, 1, 0, u, 1);
        blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, n, 1, -1 / (real)lane_sum_row(u, n), u, 1, 1, G, n);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            G[j * n + i] = G[i * n + j] *= -ratio / (s->D[i] * s->D[j]);
        G[i * n + i] = (1 - ratio * G[i * n + i] / s->D[i]) / s->D[i];
    }
    return true;
}

/* Fills s->Phi with [X | 1] (or X), each row times the root of its D if `scaled`. */
static void fill_rows(const newton *s, bool scaled) {
    for (int64_t i = 0; i < s->n; i++) {
        real root = scaled ? (real)sqrt((double)s->D[i]) : 1, *to = s->Phi + i * s->m;
        for (int64_t j = 0; j < s->d; j++)
            to[j] = root * s->X[i * s->d + j];
        if (s->free_intercept)
            to[s->d] = root;
    }
}

static bool factor_columns(newton *s, real ratio) {
    int info = 0, m = (int)s->m;
    fill_rows(s, true);
    blas_syrk(CblasRowMajor, CblasLower, CblasTrans, m, (blasint)s->n, 1, s->Phi, m, 0, s->factor, m);
    for (int64_t j = 0; j < s->d; j++)
        s->factor[j * s->m + j] += ratio;
    lapack_potrf("U", &m, s->factor, &m, &info);
    return info == 0;
}

/* Sets s->Phi to Phi L^-T. */
static void prepare(newton *s) {
    blasint m = (blasint)s->m, n = (blasint)s->n;
    if (s->dual)
        return;
    fill_rows(s, false);
    blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, m, 1, s->factor, m, s->Phi, m);
}

/* Makes M from the probabilities P. Returns false if it is not positive definite. */
static bool factor_hessian(newton *s) {
    double trace = 0;
    for (int64_t i = 0; i < s->row; i++) {
        real w = 0;
        for (int64_t at = i; at < s->row * s->C; at += s->row)
            w += s->P[at] * (1 - s->P[at]) / (real)s->C;
        w = s->T[i] * (real)fmax((double)w, s->least);
        s->D[i] = i >= s->n ? 0 : w > (real)1e-6 ? w : (real)1e-6; /* above 0 even if T_i is 0 */
        if (i < s->n)
            trace += (double)s->D[i] * ((double)s->squares[i] + s->free_intercept);
    }
    s->least = fmax(s->least / 10, sqrt(EPSILON));
    double smallest = 2 * EPSILON * trace + (double)FLT_MIN, ratio = fmax((double)s->lambda, smallest);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, ratio = fmax(ratio, smallest *= 16)) {
        s->factorizations++;
        s->kappa = (real)((double)s->lambda / ratio);
        if (s->dual ? factor_rows(s, (real)ratio) : factor_columns(s, (real)ratio)) {
            prepare(s);
            return true;
        }
    }
    return false;
}

/* Copies D [n], kappa and the factor to `saved`, or from it. */
static void keep_factor(newton *s, real *saved, bool load) {
    size_t numbers = (size_t)(s->order * s->order) * sizeof(real), curvatures = (size_t)s->n * sizeof(real);
    memcpy(load ? s->D : saved, load ? saved : s->D, curvatures);
    *(load ? &s->kappa : saved + s->n) = load ? saved[s->n] : s->kappa;
    memcpy(load ? s->factor : saved + s->n + 1, load ? saved + s->n + 1 : s->factor, numbers);
}

static real *copy_part(real *own, real *kept, int64_t n, bool load) {
    memcpy(load ? own : kept, load ? kept : own, (size_t)n * sizeof(real));
    return kept + n;
}

/* Copies what a fit may start from to `start`, or from it; K, which no fit changes, is shared. */
static void keep_start(newton *s, real *start, bool load) {
    keep_factor(s, start, load);
    start += s->n + 1 + s->order * s->order;
    for (int64_t c = 0; c < s->C; c++) {
        start = copy_part(s->A + c * s->width, start, s->order, load);
        start = copy_part(s->F + c * s->row, start, s->n, load);
    }
    if (s->dual && load)
        s->K = start;
    else
        copy_part(s->dual ? s->K : s->Phi, start, s->n * s->order, load);
    s->has_K |= s->dual && load;
}

/* Takes the rows without weight out of G. Returns false if they are too many, or if rounding hides the rest. */
static bool leave_rows_out(newton *s) {
    int64_t n = s->n, h = 0;
    for (int64_t i = 0; i < n; i++)
        h += s->T[i] == 0;
    if (h == 0 || h > n / 3)
        return h == 0;
    real *S = s->Phi, *B = S + h * h; /* D_J^-1 - G_JJ = L L^T; L^-1 G_J: */
    int info = 0, order = (int)h;
    for (int64_t i = 0, at = 0; i < n; i++)
        if (s->T[i] == 0) {
            memcpy(B + at * n, s->factor + i * n, (size_t)n * sizeof(real));
            for (int64_t j = 0, to = 0; j < n; j++)
                if (s->T[j] == 0)
                    S[at * h + to++] = (i == j ? 1 / s->D[i] : 0) - s->factor[i * n + j];
            s->D[i] = 0;
            at++;
        }
    lapack_potrf("U", &order, S, &order, &info);
    if (info != 0)
        return false;
    blas_trsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)h, (blasint)n, 1, S,
        (blasint)h, B, (blasint)n);
    blas_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)n, (blasint)n, (blasint)h, 1, B, (blasint)n, B,
        (blasint)n, 1, s->factor, (blasint)n);
    return true;
}

/* ---- one Newton step ---- */

/* P = softmax(F + t Fx). */
static void find_probabilities(const newton *s, real t) {
    enum { BLOCK = 64 };
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first), end = s->row * s->C;
        real top[BLOCK], sum[BLOCK] = {0};
        for (int64_t i = 0; i < rows; i++)
            top[i] = -(real)INFINITY;
        for (int64_t at = first; at < end; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real x = s->F[at + i] + t * s->Fx[at + i];
                top[i] = x > top[i] ? x : top[i];
            }
        for (int64_t at = first; at < end; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                sum[i] += s->P[at + i] = exp_of(s->F[at + i] + t * s->Fx[at + i] - top[i]);
        for (int64_t at = first; at < end; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                s->P[at + i] /= sum[i];
    }
}

/* Q = W F - kappa D F. Returns <F, Q>. */
static double curve(const newton *s, real kappa, const real *F, real *Q) {
    enum { BLOCK = 64 };
    double along = 0;
    for (int64_t first = 0; first < s->row; first += BLOCK) {
        int64_t rows = min_of(BLOCK, s->row - first), end = s->row * s->C;
        const real *T = s->T + first, *D = s->D + first;
        real mean[BLOCK] = {0}, sum[BLOCK] = {0};
        for (int64_t at = first; at < end; at += s->row)
            for (int64_t i = 0; i < rows; i++)
                mean[i] += s->P[at + i] * F[at + i];
        for (int64_t at = first; at < end; at += s->row)
            for (int64_t i = 0; i < rows; i++) {
                real q = T[i] * s->P[at + i] * (F[at + i] - mean[i]) - kappa * D[i] * F[at + i];
                sum[i] += F[at + i] * q;
                Q[at + i] = q;
            }
        for (int64_t i = 0; i < rows; i++)
            along += (double)sum[i];
    }
    return along;
}

/* Y = the logits of coordinates X; `pull`: pull(X) in the primal. Columns of Y are tasks, so that Y has the same bits
 * with any number of threads. */
typedef struct product {
    const newton *s;
    bool pull;
    const real *X;
    real *Y;
} product;

enum { TASK = 512 };

static void multiply_some(const void *of, task_range some) {
    const product *p = of;
    const newton *s = p->s;
    blasint C = (blasint)s->C, n = (blasint)s->n, m = (blasint)s->m, row = (blasint)s->row, width = (blasint)s->width;
    for (int64_t k = some.first; k < some.end; k++) {
        int64_t j = k * TASK;
        blasint columns = (blasint)min_of(TASK, (p->pull ? m : n) - j);
        if (s->dual)
            blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, C, columns, n, 1, p->X, row, s->factor + j, n, 0,
                p->Y + j, row);
        else if (p->pull)
            blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, C, columns, n, 1, p->X, row, s->Phi + j, m, 0,
                p->Y + j, width);
        else
            blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, C, columns, m, 1, p->X, width, s->Phi + j * m, m, 0,
                p->Y + j, row);
    }
}

static void multiply_by(const newton *s, bool pull, const real *X, real *Y) {
    run_tasks(s->threads, ((pull ? s->m : s->n) + TASK - 1) / TASK, 0, multiply_some, &(product){s, pull, X, Y});
}

/* Sets R, by which the weights' gradient is Phi^T R + mu V, and r to the coordinates of B minus that gradient. *terms
 * is the size of what cancels in r. Returns the rounding of r if logits round by |X_i| |V_c|; *noise: if they round as
 * in the dual, where V_c is a sum of rows that can cancel. */
static double find_residual(newton *s, double *terms, double *noise) {
    blasint C = (blasint)s->C, n = (blasint)s->n, m = (blasint)s->m, d = (blasint)s->d, width = (blasint)s->width;
    double size = 0, most = 0, rest = 0;
    if (!s->fits)
        curve(s, 0, s->F, s->R);
    for (int64_t c = 0; c < C; c++) {
        const real *A = s->A + c * width;
        double length = dot(s->V + c * s->across, s->V + c * s->across, d), longest = 0;
        for (int64_t j = 0; s->dual && j < n; j++)
            longest += (double)(s->squares[j] * A[j] * A[j]);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = c * s->row + i;
            real w = s->T[i] * s->P[at], a = s->dual ? s->lambda * A[i] : 0, share = s->dual ? 1 : 1 / s->D[i];
            s->R[at] = s->fits ? w - s->Y[at] : s->R[at];
            real p = s->fits ? w : s->R[at], bent = w * (1 - s->P[at]);
            double moves = (double)(share * bent * bent * s->squares[i]), own = (double)(share * (p * p + a * a));
            size += own + moves * length;
            most += own + moves * fmax(length, longest);
            rest += (double)(share * s->R[at] * s->R[at]);
        }
    }
    *terms = 2 * sqrt(rest);
    *noise = EPSILON * sqrt(most);
    for (int64_t at = 0; at < s->width * s->C; at += s->width)
        for (int64_t j = 0; j < s->width; j++) {
            bool penalised = s->dual || j < s->d;
            s->r[at + j] = s->B[at + j] - (penalised ? s->lambda * s->A[at + j] : 0) - (s->dual ? s->R[at + j] : 0);
        }
    if (!s->dual) {
        blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, C, m, 1, s->factor, m, s->r, width);
        multiply_by(s, true, s->R, s->Hp); /* not L^-1 (Phi^T R), whose rounding L^-1 would raise */
        add_scaled(s->r, -1, s->Hp, s->width * s->C);
    }
    double whole = s->fits ? 0 : dot(s->r, s->r, s->width * s->C); /* a mean taken off leaves its own rounding */
    for (int64_t j = 0; j < s->width; j++) { /* class means differ from 0 by rounding, which H would not reduce */
        real mean = 0;
        for (int64_t at = j; at < s->width * s->C; at += s->width)
            mean += s->r[at] / (real)s->C;
        for (int64_t at = j; at < s->width * s->C; at += s->width)
            s->r[at] -= mean;
    }
    return EPSILON * (sqrt(size) + sqrt(whole));
}

/* Solves H x = r by at most `limit` conjugate gradients, until |r| <= target. Then changes x from coordinates to a
 * change of the weights A. Returns <r, x> at the start. */
static double find_direction(newton *s, double target, int limit) {
    int64_t N = s->width * s->C, rows = s->row * s->C;
    double before = 0, fall = 0, least = 0, norm = sqrt(dot(s->r, s->r, N));
    real **const zero[] = {&s->x, &s->p, &s->Fx, &s->Fp};
    for (int i = 0; i < 4; i++)
        memset(*zero[i], 0, (size_t)(i < 2 ? N : rows) * sizeof(real));
    for (int step = 0; step < limit && norm > target && mo_goes_on(s->ctx); step++) {
        multiply_by(s, false, s->r, s->Fr);
        double product = dot(s->r, s->dual ? s->Fr : s->r, N);
        least = step ? least : product * target / norm * target / norm;
        real b = before > 0 ? (real)(product / before) : 0, *Hp = s->dual ? s->R : s->Hp;
        next_direction(s->p, b, s->r, N);
        next_direction(s->Fp, b, s->Fr, rows);
        double along = curve(s, s->kappa, s->Fp, s->R) + (double)s->kappa * dot(s->p, s->dual ? s->Fp : s->p, N);
        if (s->dual && !(product > least) && step == 0) /* rounding hides the rows: G is 0 */
            add_scaled(s->x, 1 / s->kappa, s->r, N);
        if (!(product > least) || !(along > 0))
            break;
        if (!s->dual)
            multiply_by(s, true, s->R, Hp);
        real a = (real)(product / along);
        add_scaled(s->x, a, s->p, N);
        add_scaled(s->Fx, a, s->Fp, rows);
        for (int64_t i = 0; i < N; i++)
            s->r[i] -= a * (Hp[i] + s->kappa * s->p[i]);
        fall += product * (double)a;
        before = product;
        norm = sqrt(dot(s->r, s->r, N));
        s->steps++;
    }
    if (!s->dual)
        blas_trsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)s->C, (blasint)s->m, 1,
            s->factor, (blasint)s->m, s->x, (blasint)s->width);
    for (int64_t at = 0; s->dual && at < rows; at += s->row)
        for (int64_t i = 0; i < s->row; i++)
            s->x[at + i] = s->kappa / s->lambda * (s->x[at + i] - s->D[i] * s->Fx[at + i]);
    return fall;
}

/* Halves the step from 1 until the objective's slope along it is below half of its fall at 0. The objective is convex.
 */
static real search_step(newton *s, double fall) {
    double pull = 0, bend = 0;
    for (int64_t at = 0; at < s->C; at++) {
        const real *x = s->x + at * s->width, *with = s->dual ? s->Fx + at * s->row : x;
        pull += (double)s->lambda * dot(s->A + at * s->width, with, s->dual ? s->n : s->d);
        bend += (double)s->lambda * dot(x, with, s->dual ? s->n : s->d);
    }
    double t = 1;
    for (int halving = 0; halving < HALVINGS; halving++, t /= 2) {
        double slope = pull + t * bend;
        find_probabilities(s, (real)t);
        for (int64_t at = 0; at < s->row * s->C; at += s->row)
            for (int64_t i = 0; i < s->n; i++)
                slope += (double)((s->T[i] * s->P[at + i] - s->Y[at + i]) * s->Fx[at + i]);
        if (slope <= fall / 2)
            break;
    }
    return (real)t;
}

/* V and F from A, without the rounding of many steps. In the dual the intercept is what the logits have beyond X V. */
static void refresh_logits(newton *s) {
    blasint C = (blasint)s->C, n = (blasint)s->n, d = (blasint)s->d, row = (blasint)s->row, across = (blasint)s->across;
    if (s->dual && s->started) {
        blas_symm(CblasRowMajor, CblasRight, CblasLower, C, n, 1, s->K, n, s->A, row, 0, s->Fr, row);
    } else {
        if (s->dual)
            blas_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, C, d, n, 1, s->A, row, s->X, d, 0, s->V, across);
        blas_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, C, n, d, 1, s->V, across, s->X, d, 0, s->Fr, row);
    }
    for (int64_t c = 0; c < C; c++) {
        real *F = s->F + c * row, *plain = s->Fr + c * row;
        if (s->dual && s->free_intercept)
            s->b[c] = (real)((lane_sum_row(F, n) - lane_sum_row(plain, n)) / (double)n);
        else if (s->free_intercept)
            s->b[c] = s->A[c * s->width + d];
        for (int64_t i = 0; i < n; i++)
            F[i] = plain[i] + s->b[c];
    }
}

/* Returns whether every label has more than half of its row's probability. */
static bool separates(const newton *s) {
    for (int64_t i = 0; i < s->row * s->C; i++)
        if (s->Y[i] > 0 && !(s->P[i] > (real)(0.5 + 1e-6)))
            return false;
    return s->C > 1;
}

/* ---- a fit, or H U = B ---- */

/* factored: the factor is given. Ends at rounding, also where it is little more than estimated and r no longer falls. A
 * direction's relative residual is the root of r's (Eisenstat and Walker 1996), but `exact` at least, as M's rounding
 * hides more. */
static mo_fit_code iterate(newton *s, bool factored) {
    const double exact = sqrt(EPSILON) * 10, near = sizeof(real) == sizeof(double) ? 4096 : 64;
    int price = 8 + (int)(s->order / s->C), spent = factored ? 0 : price, stalled = 0, limit = 2 * price + 24,
        refreshes = 0;
    bool fresh = true;
    double before = INFINITY, terms, noise, size = 0, moved = 0;
    for (int round = 0; round < ROUNDS && mo_goes_on(s->ctx); round++) {
        if (s->fits)
            find_probabilities(s, 0);
        if (spent >= price && (s->fits || round == 0)) {
            if (!factor_hessian(s))
                return MO_FIT_UNSOLVED;
            spent = 0;
        }
        double rounding = find_residual(s, &terms, &noise), norm = sqrt(dot(s->r, s->r, s->width * s->C));
        size = round ? size : norm;
        rounding += s->fits ? 0 : EPSILON * size;
        noise = s->fits ? fmax(near * rounding, 4 * noise) : sqrt(EPSILON) * size;
        if (!isfinite(norm))
            return MO_FIT_UNSOLVED;
        if (s->started && norm <= ENOUGH * terms)
            return MO_FIT_SOLVED;
        bool unbounded = s->fits && !(s->lambda > 0) && s->C > 1;
        if (unbounded && separates(s))
            return MO_FIT_INFINITE;
        if (!s->fits && norm > before) { /* rounding made the last step */
            add_scaled(s->A, -1, s->x, s->width * s->C);
            add_scaled(s->F, -1, s->Fx, s->row * s->C);
            refresh_logits(s);
            return before <= noise ? MO_FIT_SOLVED : MO_FIT_UNSOLVED;
        }
        stalled = norm > (s->fits ? 0.7 : 0.25) * before ? stalled + 1 : 0;
        if (norm <= 4 * rounding || (norm <= noise && stalled >= (s->fits ? 2 : 1)) ||
            (norm <= sqrt(EPSILON) * terms && stalled >= 8)) {
            if (fresh || refreshes == REFRESHES)
                return unbounded && moved > 0.1 ? MO_FIT_INFINITE : MO_FIT_SOLVED;
            refresh_logits(s);
            refreshes++;
            fresh = true;
            before = INFINITY;
            stalled = 0;
            continue;
        }
        before = fmin(before, norm);
        double share = s->fits ? fmax(fmin(0.3, sqrt(norm / terms)), exact) : exact;
        int steps = s->steps;
        double fall = find_direction(s, fmax(share * norm, 2 * rounding), limit);
        limit *= s->steps - steps == limit ? 2 : 1;
        spent += s->steps - steps + 1;
        real t = s->fits ? search_step(s, fall) : 1;
        moved = 0;
        for (int64_t i = 0; unbounded && i < s->row * s->C; i++)
            moved = fmax(moved, fabs((double)(t * s->Fx[i])));
        add_scaled(s->A, t, s->x, s->width * s->C);
        add_scaled(s->F, t, s->Fx, s->row * s->C);
        fresh = !s->fits;
        if (fresh)
            refresh_logits(s);
    }
    return MO_FIT_UNSOLVED;
}

/* W = the weights [m, C]. */
static void write_weights(const newton *s, real *W) {
    for (int64_t c = 0; c < s->C; c++) {
        for (int64_t j = 0; j < s->d; j++)
            W[j * s->C + c] = s->V[c * s->across + j];
        if (s->free_intercept)
            W[s->d * s->C + c] = s->b[c];
    }
}

/* Reads T and, for a fit, Y. Returns whether all inputs are finite and each class has weight if it must. */
static mo_fit_code read_labels(newton *s, const mo_logistic_call *g, int64_t b) {
    const real *Y = entry_of(&g->Y, b);
    int64_t n = s->n, C = s->C;
    if (!isfinite(s->lambda) || !all_finite(s->X, n * s->d) || !all_finite(Y, n * C))
        return MO_FIT_NOT_FINITE;
    for (int64_t c = 0; c < C; c++) {
        real most = 0;
        for (int64_t i = 0; i < n; i++) {
            s->Y[c * s->row + i] = Y[i * C + c];
            s->T[i] += Y[i * C + c];
            most = Y[i * C + c] > most ? Y[i * C + c] : most;
        }
        if (!(most > 0) && s->free_intercept)
            return MO_FIT_UNSOLVED;
    }
    return MO_FIT_SOLVED;
}

static mo_fit_code fit_item(newton *s, const mo_logistic_call *g, int64_t b) {
    mo_fit_code code = read_labels(s, g, b);
    s->fits = true;
    if (code != MO_FIT_SOLVED)
        return code;
    s->started = g->factored;
    if (s->started)
        keep_start(s, (real *)(uintptr_t)entry_of(&g->start, b), true);
    code = iterate(s, s->started && (!s->dual || leave_rows_out(s)));
    if (s->started && code != MO_FIT_SOLVED) {
        memset(s->A, 0, (size_t)(s->width * s->C) * sizeof(real));
        memset(s->F, 0, (size_t)(s->row * s->C) * sizeof(real));
        code = iterate(s, false);
    }
    if (code != MO_FIT_SOLVED)
        return code;
    if (g->start.data && !s->started)
        keep_start(s, (real *)g->start.data + b * entry_length(&g->start), false);
    refresh_logits(s); /* V is older if refreshes have not helped */
    real *W = (real *)g->W.data + b * entry_length(&g->W);
    if (!s->started)
        write_weights(s, W);
    for (int64_t i = 0; s->started && i < s->n * s->C; i++)
        W[i] = s->F[i % s->C * s->row + i / s->C];
    if (g->saved.data)
        keep_factor(s, (real *)g->saved.data + b * entry_length(&g->saved), false);
    return code;
}

/* Sets s->B to the coordinates of B [m, C]. In the dual, B = Phi^T r + [lambda part; 0] with part = (B_0 - X^T r) /
 * lambda, where r = 1 b / n for the row b of B that belongs to the intercept. So U = [part; 0] + V with V in the span
 * of the rows, and H V = Phi^T (r - W X part). */
static void read_side(newton *s, const real *B, real *part) {
    blasint n = (blasint)s->n, d = (blasint)s->d, C = (blasint)s->C, row = (blasint)s->row;
    for (int64_t j = 0; j < s->m && !s->dual; j++)
        for (int64_t c = 0; c < C; c++)
            s->B[c * s->width + j] = B[j * C + c];
    if (!s->dual)
        return;
    for (int64_t c = 0; c < C && s->free_intercept; c++)
        for (int64_t i = 0; i < n; i++)
            s->B[c * row + i] = B[d * C + c] / (real)n;
    memcpy(part, B, (size_t)(d * C) * sizeof(real));
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, d, C, n, -1, s->X, d, s->B, row, 1, part, C);
    for (int64_t j = 0; j < d; j++) {
        real mean = 0;
        for (int64_t c = 0; c < C; c++)
            mean += part[j * C + c] / (real)C;
        for (int64_t c = 0; c < C; c++)
            part[j * C + c] = (part[j * C + c] - mean) / s->lambda;
    }
    memset(s->Fr, 0, (size_t)(row * C) * sizeof(real));
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, C, n, d, 1, part, C, s->X, d, 0, s->Fr, row);
    curve(s, 0, s->Fr, s->R);
    add_scaled(s->B, -1, s->R, row * C);
}

/* The right-hand side is scaled to entries near 1, so that products of small entries do not underflow. */
static mo_fit_code solve_item(newton *s, const mo_logistic_call *g, int64_t b) {
    const real *F = entry_of(&g->F, b), *B = entry_of(&g->B, b);
    real *U = (real *)g->W.data + b * entry_length(&g->W), *saved = (real *)g->saved.data + b * entry_length(&g->saved);
    int64_t length = s->m * s->C;
    double most = 0;
    memcpy(s->T, entry_of(&g->T, b), (size_t)s->n * sizeof(real));
    for (int64_t i = 0; i < s->n * s->C; i++)
        s->F[i % s->C * s->row + i / s->C] = F[i];
    find_probabilities(s, 0);
    memset(s->F, 0, (size_t)(s->row * s->C) * sizeof(real));
    for (int64_t i = 0; i < length; i++)
        most = fabs((double)B[i]) > most ? fabs((double)B[i]) : most; /* GCC 12 for Arm fails at fmax */
    real scale = most > 0 && isfinite(most) ? (real)ldexp(1, -(int)fmax(ilogb(most), 2 - FLT_MAX_EXP)) : 1;
    real *part = s->scaled + length;
    for (int64_t i = 0; i < length; i++)
        s->scaled[i] = B[i] * scale;
    if (g->factored) {
        keep_factor(s, saved, true);
        prepare(s);
    }
    read_side(s, s->scaled, part);
    mo_fit_code code = iterate(s, g->factored);
    write_weights(s, U);
    for (int64_t i = 0; i < length; i++)
        U[i] = (U[i] + (s->dual && i < s->d * s->C ? part[i] : 0)) / scale;
    if (!g->factored && code == MO_FIT_SOLVED)
        keep_factor(s, saved, false);
    return code;
}

typedef struct items {
    mo_context *ctx;
    const mo_logistic_call *g;
    int64_t batch, each; /* each: reals of a workspace */
    int threads, inside; /* for items, and inside of an item */
    real *scratch;
    atomic_int *factorizations, *steps;
} items;

static void run_some(const void *of, task_range some) {
    const items *p = of;
    const mo_logistic_call *g = p->g;
    for (int64_t b = some.first; b < some.end; b++) {
        newton s;
        real *scratch = p->scratch + p->each * workspace_of(b, p->batch, p->threads, some.thread);
        newton_layout(&s, g, p->inside, scratch);
        memset(scratch, 0, (size_t)p->each * sizeof(real));
        s.ctx = p->ctx;
        s.X = entry_of(&g->X, b);
        s.lambda = *entry_of(&g->lambda, b);
        s.least = LEAST_CURVATURE;
        for (int64_t i = 0; i < s.n; i++)
            s.squares[i] = (real)dot(s.X + i * s.d, s.X + i * s.d, s.d);
        ((real *)g->code.data)[b] = (real)(g->Y.data ? fit_item : solve_item)(&s, g, b);
        atomic_fetch_add(p->factorizations, s.factorizations);
        atomic_fetch_add(p->steps, g->Y.data ? s.steps : 0);
    }
}

void REAL(logistic_cpu)(mo_context *ctx, const mo_logistic_call *g) {
    newton sizes;
    int64_t batch = g->X.shape[0];
    bool large = g->X.shape[1] * g->X.shape[2] * g->W.shape[2] > MO_PARALLEL_FLOP;
    int threads = batch > 1 ? blas_threads(ctx) : 1, inside = batch == 1 && large ? blas_threads(ctx) : 1;
    int64_t each = newton_layout(&sizes, g, inside, NULL);
    atomic_int factorizations = 0, steps = 0;
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    items p = {ctx, g, batch, each, threads, inside, scratch, &factorizations, &steps};
    if (!scratch || !can_multiply(ctx, sizeof(real)))
        return;
    if (batch == 1) /* outside of a team: its products use the threads */
        run_some(&p, (task_range){0, 1, 0});
    else
        run_tasks(threads, batch, 1, run_some, &p);
    ctx->counters.factorizations += factorizations;
    ctx->counters.fit_steps += steps;
}
