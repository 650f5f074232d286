/* tensor/cpu/fits/logistic.c - softmax regression by Newton's method, and the solution of H U = B that is its adjoint
 * (tensor/fits.h): gradient, direction by conjugate gradients, halved step, until the gradient is rounding.
 *
 * With rows Phi = [X | 1] (or X), m columns, mu = lambda on the columns of X and 0 on the intercept, the Hessian at
 * probabilities P is H = Phi^T S Phi + mu, S_i = T_i (diag P_i - P_i P_i^T). It is preconditioned by M = Phi^T D Phi +
 * mu, where D_i is one number for all classes and mu is larger if rounding needs it. M is made anew once the conjugate
 * gradients that used it have cost as much as it did.
 * - Primal: the variables A are the weights, Q = M^-1.
 * - Dual, for few rows: the weights are A X, the logits F = A K + b with K = X X^T. A and the intercepts b are optimal
 *   where lambda A + G = 0, G = T P - Y. So H takes (A, F) to S F + lambda A, and M to D F + mu A, which is r at A = Q
 *   (r / D), F = (r - mu A) / D, with Q = (K + mu / D)^-1; for a free intercept, 1^T A = 0, which makes Q of it
 *   Q - u u^T / 1^T u, u = Q 1. The inner product of r with a step is that with its F.
 *
 * With k = n in the dual, else m, A and its steps are [C, k], logits [C, n]. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"
#include "tensor/scalar.h"

#include <math.h>
#include <stdatomic.h>

enum { ROUNDS = 400, HALVINGS = 40, ATTEMPTS = 8, REFRESHES = 3, COLUMNS_PER_TASK = 512 };

#define ENOUGH 1e-6          /* of the gradient's terms: where a fit ends that started from another */
#define LEAST_CURVATURE 3e-3 /* of a row, relative to its weight: elsewhere it can have more than at P */

typedef struct newton {
    mo_context *ctx; /* asked whether to go on */
    bool fits;       /* false: solves H U = B at fixed probabilities */
    bool near;       /* it started from another fit, and ends at a gradient of ENOUGH of its terms */
    bool dual, free_intercept;
    int threads;
    int64_t n, d, m, C, k, wide; /* wide: columns of W */
    int factorizations, steps;
    const real *X;
    real lambda;
    double least; /* least curvature of the next factor */
    /* what mo_logistic_kept_size counts: A, Q [k, k], K [n, n] in the dual, D [n], mu [1], b [C] */
    real *A, *Q, *K, *D, *mu, *b;
    real *T, *squares, *most, *sum; /* [n]: row weights, |X_i|^2, scratch */
    real *B, *x, *p, *z, *r, *Hp;   /* [C, k]: the right-hand side, and of conjugate gradients */
    real *F, *Fx, *Fp, *Fz, *P, *G; /* [C, n]; the gradient of the weights is Phi^T G + lambda A */
    real *Y;                        /* labels [C, n] */
    real *W, *own;                  /* the weights [C, wide]; memory for them in the dual */
    real *scaled;                   /* [n, m] in the primal */
} newton;

/* Returns the scratch size in reals; sets the pointers if scratch is not NULL. */
static int64_t newton_layout(newton *s, const mo_logistic_call *g, int threads, real *scratch) {
    int64_t at = 0, n = g->X.shape[1], d = g->X.shape[2], C = g->W.shape[2];
    *s = (newton){.dual = g->few_rows, .free_intercept = g->free_intercept, .threads = threads, .n = n, .d = d};
    s->C = C;
    s->m = d + g->free_intercept;
    s->k = s->dual ? n : s->m;
    s->wide = s->dual ? d : s->m;
    real **arrays[] = {&s->A, &s->T, &s->squares, &s->most, &s->sum, &s->B, &s->x, &s->p, &s->z, &s->r, &s->Hp, &s->F,
        &s->Fx, &s->Fp, &s->Fz, &s->P, &s->G, &s->Y, &s->own, &s->scaled};
    const int64_t N = s->k * C, rows = n * C,
                  length[] = {mo_logistic_kept_size(n, d, C, g->few_rows, g->free_intercept), n, n, n, n, N, N, N, N, N,
                      N, rows, rows, rows, rows, rows, rows, rows, s->dual ? d * C : 0, s->dual ? 0 : n * s->m};
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        *arrays[i] = scratch ? scratch + at : NULL;
        at += padded(length[i]);
    }
    if (!scratch)
        return at;
    s->Q = s->A + N;
    s->K = s->Q + s->k * s->k;
    s->D = s->K + (s->dual ? n * n : 0);
    s->mu = s->D + n;
    s->b = s->mu + 1;
    return at;
}

/* ---- the preconditioner ---- */

/* Copies the lower triangle of A [n, n] to the upper one, some columns of that at once. */
static void mirror(real *A, int64_t n) {
    enum { COLUMNS = 16 };
    for (int64_t first = 0; first < n; first += COLUMNS)
        for (int64_t j = 0; j < min_of(n, first + COLUMNS); j++)
            for (int64_t i = max_of(first, j + 1); i < min_of(n, first + COLUMNS); i++)
                A[j * n + i] = A[i * n + j];
}

/* Sets the lower triangle of Q to K + mu / D. The rounding of K is added, as linearly dependent rows would have no
 * curvature. */
static void fill_rows(newton *s) {
    int64_t n = s->n;
    real apart = 0;
    for (int64_t i = 0; i < n; i++)
        apart = s->squares[i] > apart ? s->squares[i] : apart;
    memcpy(s->Q, s->K, (size_t)(n * n) * sizeof(real));
    for (int64_t i = 0; i < n; i++)
        s->Q[i * n + i] += *s->mu / s->D[i] + (real)(16 * EPSILON) * apart;
}

/* Sets the lower triangle of Q to M. */
static void fill_columns(newton *s) {
    int64_t d = s->d, m = s->m;
    for (int64_t i = 0; i < s->n; i++) {
        real root = (real)sqrt((double)s->D[i]), *to = s->scaled + i * m;
        for (int64_t j = 0; j < d; j++)
            to[j] = root * s->X[i * d + j];
        if (s->free_intercept)
            to[d] = root;
    }
    blas_syrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)m, (blasint)s->n, 1, s->scaled, (blasint)m, 0, s->Q,
        (blasint)m);
    for (int64_t j = 0; j < d; j++)
        s->Q[j * m + j] += *s->mu;
}

/* Inverts Q. Returns false if it is not positive definite. */
static bool invert(newton *s) {
    int k = (int)s->k, info = 0;
    real *Q = s->Q, *u = s->z;
    lapack_potrf("U", &k, Q, &k, &info);
    if (info == 0)
        lapack_potri("U", &k, Q, &k, &info);
    mirror(Q, k);
    if (info != 0 || !s->dual || !s->free_intercept)
        return info == 0;
    for (int64_t i = 0; i < k; i++)
        u[i] = (real)lane_sum_row(Q + i * k, k);
    real whole = (real)lane_sum_row(u, k);
    for (int64_t i = 0; i < k; i++)
        add_scaled(Q + i * k, -u[i] / whole, u, k);
    return true;
}

/* Makes M from the probabilities P. Returns false if it is not positive definite. */
static bool factor_hessian(newton *s) {
    int64_t n = s->n;
    double trace = 0;
    for (int64_t i = 0; i < n; i++) {
        real w = 0;
        for (int64_t at = i; at < n * s->C; at += n)
            w += s->P[at] * (1 - s->P[at]) / (real)s->C;
        w = s->T[i] * (real)fmax((double)w, s->least);
        s->D[i] = w > (real)1e-6 ? w : (real)1e-6; /* above 0 even if T_i is 0 */
        trace += (double)s->D[i] * ((double)s->squares[i] + s->free_intercept);
    }
    s->least = fmax(s->least / 10, sqrt(EPSILON));
    double smallest = 2 * EPSILON * trace + (double)FLT_MIN, ratio = fmax((double)s->lambda, smallest);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++, ratio = fmax(ratio, smallest *= 16)) {
        s->factorizations++;
        *s->mu = (real)ratio;
        (s->dual ? fill_rows : fill_columns)(s);
        if (invert(s))
            return true;
    }
    return false;
}

/* Y [C, columns of op(M)] = X op(M) for M [rows, columns]; op(M) is M or, if `transposed`, M^T. Columns of Y are tasks,
 * so that Y has the same bits with any number of threads. */
typedef struct product {
    bool transposed;
    int64_t C, rows, columns;
    const real *M, *X;
    real *Y;
    int64_t ldx, ldy;
} product;

static void multiply_some(const void *of, task_range some) {
    const product *p = of;
    blasint C = (blasint)p->C, inner = (blasint)(p->transposed ? p->columns : p->rows), ldx = (blasint)p->ldx;
    for (int64_t task = some.first; task < some.end; task++) {
        int64_t j = task * COLUMNS_PER_TASK, wide = p->transposed ? p->rows : p->columns;
        const real *M = p->M + (p->transposed ? j * p->columns : j);
        blas_gemm(CblasRowMajor, CblasNoTrans, p->transposed ? CblasTrans : CblasNoTrans, C,
            (blasint)min_of(COLUMNS_PER_TASK, wide - j), inner, 1, p->X, ldx, M, (blasint)p->columns, 0, p->Y + j,
            (blasint)p->ldy);
    }
}

static void multiply(const newton *s, product p) {
    p.C = s->C;
    run_tasks(s->threads, ceil_div(p.transposed ? p.rows : p.columns, COLUMNS_PER_TASK), 0, multiply_some, &p);
}

/* F = the logits of weights W [C, wide], without the intercepts of the dual. */
static void find_logits(const newton *s, const real *W, real *F) {
    multiply(s, (product){true, 0, s->n, s->d, s->X, W, F, s->wide, s->n});
    for (int64_t c = 0; !s->dual && s->free_intercept && c < s->C; c++)
        for (int64_t i = 0; i < s->n; i++)
            F[c * s->n + i] += W[c * s->wide + s->d];
}

/* Y [C, wide] = G Phi, or G X in the dual. */
static void pull(const newton *s, const real *G, real *Y) {
    multiply(s, (product){false, 0, s->n, s->d, s->X, G, Y, s->n, s->wide});
    for (int64_t c = 0; !s->dual && s->free_intercept && c < s->C; c++)
        Y[c * s->wide + s->d] = (real)lane_sum_row(G + c * s->n, s->n);
}

/* ---- one Newton step ---- */

/* P = softmax(F + t Fx). */
static void find_probabilities(const newton *s, real t) {
    int64_t n = s->n, end = n * s->C;
    real *top = s->most, *sum = s->sum;
    memset(sum, 0, (size_t)n * sizeof(real));
    for (int64_t at = 0; at < end; at += n)
        for (int64_t i = 0; i < n; i++) {
            real x = s->P[at + i] = s->F[at + i] + t * s->Fx[at + i];
            top[i] = at == 0 || x > top[i] ? x : top[i];
        }
    for (int64_t at = 0; at < end; at += n)
        for (int64_t i = 0; i < n; i++)
            sum[i] += s->P[at + i] = exp_of(s->P[at + i] - top[i]);
    for (int64_t at = 0; at < end; at += n)
        for (int64_t i = 0; i < n; i++)
            s->P[at + i] /= sum[i];
}

/* Q = S F. */
static void curve(const newton *s, const real *F, real *Q) {
    int64_t n = s->n, end = n * s->C;
    real *mean = s->sum;
    memset(mean, 0, (size_t)n * sizeof(real));
    for (int64_t at = 0; at < end; at += n)
        for (int64_t i = 0; i < n; i++)
            mean[i] += s->P[at + i] * F[at + i];
    for (int64_t at = 0; at < end; at += n)
        for (int64_t i = 0; i < n; i++)
            Q[at + i] = s->T[i] * s->P[at + i] * (F[at + i] - mean[i]);
}

/* Y = G + the penalty's part of H A, for [C, k]; Y can be G. */
static void apply_penalty(const newton *s, const real *A, const real *G, real *Y) {
    for (int64_t c = 0; c < s->C; c++)
        for (int64_t j = 0; j < s->k; j++)
            Y[c * s->k + j] = G[c * s->k + j] + (s->dual || j < s->d ? s->lambda * A[c * s->k + j] : 0);
}

/* Sets G, and r to B minus the gradient. *terms: the size of what cancels in a fit's gradient. Returns the rounding of
 * r if logits round by |X_i| |weights_c|. */
static double find_residual(newton *s, double *terms) {
    int64_t n = s->n, k = s->k, N = k * s->C;
    double size = 0, rest = 0;
    if (!s->fits)
        curve(s, s->F, s->G);
    for (int64_t c = 0; c < s->C; c++) {
        double length = dot(s->W + c * s->wide, s->W + c * s->wide, s->d);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = c * n + i;
            real w = s->T[i] * s->P[at], bent = w * (1 - s->P[at]), share = s->dual ? 1 : 1 / s->D[i];
            s->G[at] = s->fits ? w - s->Y[at] : s->G[at];
            real own = s->fits ? w : s->G[at];
            size += (double)(share * own * own) + (double)(share * bent * bent * s->squares[i]) * length;
            rest += (double)(share * s->G[at] * s->G[at]);
        }
    }
    if (!s->dual)
        pull(s, s->G, s->Hp);
    apply_penalty(s, s->A, s->dual ? s->G : s->Hp, s->r);
    for (int64_t j = 0; j < k; j++) { /* class means differ from 0 by rounding, which H would not reduce */
        real mean = 0;
        for (int64_t at = j; at < N; at += k)
            mean += (s->B[at] - s->r[at]) / (real)s->C;
        for (int64_t at = j; at < N; at += k)
            s->r[at] = s->B[at] - s->r[at] - mean;
    }
    *terms = 2 * sqrt(rest);
    return EPSILON * sqrt(size);
}

/* Returns |r|^2; in the primal with M^-1 as the metric, so that the scale of a column does not matter, and z = M^-1 r.
 */
static double square_of_residual(const newton *s) {
    if (s->dual)
        return dot(s->r, s->r, s->k * s->C);
    multiply(s, (product){false, 0, s->k, s->k, s->Q, s->r, s->z, s->k, s->k});
    return dot(s->r, s->z, s->k * s->C);
}

/* z = M^-1 r and its logits Fz, where z is known in the primal. Returns <r, z>. */
static double precondition(const newton *s) {
    int64_t n = s->n, N = s->k * s->C;
    if (!s->dual) {
        find_logits(s, s->z, s->Fz);
        return dot(s->r, s->z, N);
    }
    for (int64_t at = 0; at < N; at += n)
        for (int64_t i = 0; i < n; i++)
            s->Fz[at + i] = s->r[at + i] / s->D[i];
    multiply(s, (product){false, 0, n, n, s->Q, s->Fz, s->z, n, n});
    for (int64_t at = 0; at < N; at += n)
        for (int64_t i = 0; i < n; i++)
            s->Fz[at + i] -= *s->mu * s->z[at + i] / s->D[i];
    return dot(s->r, s->Fz, N);
}

/* Solves H x = r by at most `limit` conjugate gradients, until |r| <= target. Returns <r, x> at the start. */
static double find_direction(newton *s, double target, int limit) {
    int64_t N = s->k * s->C, rows = s->n * s->C;
    real *const zero[] = {s->x, s->p, s->Fx, s->Fp};
    double before = 0, fall = 0, square, least = 0, most = INFINITY;
    for (int i = 0; i < 4; i++)
        memset(zero[i], 0, (size_t)(i < 2 ? N : rows) * sizeof(real));
    for (int step = 0; step < limit && (square = square_of_residual(s)) > target * target && mo_goes_on(s->ctx);
         step++) {
        if (square > most) /* rounding of a singular H: further steps would only add to it */
            break;
        most = step || s->lambda > 0 ? most : 16 * square;
        double product = precondition(s);
        least = step ? least : product * target * target / square;
        real b = before > 0 ? (real)(product / before) : 0;
        next_direction(s->p, b, s->z, N);
        next_direction(s->Fp, b, s->Fz, rows);
        curve(s, s->Fp, s->G);
        if (!s->dual)
            pull(s, s->G, s->Hp);
        apply_penalty(s, s->p, s->dual ? s->G : s->Hp, s->Hp);
        double along = dot(s->dual ? s->Fp : s->p, s->Hp, N);
        bool hidden = !(product > 0) || !(along > 0); /* by rounding: then M's own step, if there is none yet */
        if (step > 0 && (hidden || !(product > least)))
            break;
        real a = hidden ? 1 : (real)(product / along);
        add_scaled(s->x, a, s->p, N);
        add_scaled(s->Fx, a, s->Fp, rows);
        add_scaled(s->r, -a, s->Hp, N);
        if (hidden)
            return INFINITY;
        fall += product * (double)a;
        before = product;
        s->steps++;
    }
    return fall;
}

/* Halves the step from 1 until the objective's slope along it is below half of its fall at 0. The objective is convex.
 */
static real search_step(newton *s, double fall) {
    double pull = 0, bend = 0, t = 1;
    for (int64_t c = 0; c < s->C; c++) {
        const real *x = s->x + c * s->k, *with = s->dual ? s->Fx + c * s->n : x;
        pull += (double)s->lambda * dot(s->A + c * s->k, with, s->dual ? s->n : s->d);
        bend += (double)s->lambda * dot(x, with, s->dual ? s->n : s->d);
    }
    for (int halving = 0; halving < HALVINGS; halving++, t /= 2) {
        double slope = pull + t * bend;
        find_probabilities(s, (real)t);
        for (int64_t at = 0; at < s->n * s->C; at += s->n)
            for (int64_t i = 0; i < s->n; i++)
                slope += (double)((s->T[i] * s->P[at + i] - s->Y[at + i]) * s->Fx[at + i]);
        if (slope <= fall / 2)
            break;
    }
    return (real)t;
}

/* W, and F from A without the rounding of many steps. Before that, in the dual, unless the intercepts are known, b =
 * what F has beyond X W in the mean. */
static void refresh_logits(newton *s, bool known) {
    int64_t n = s->n;
    if (s->dual)
        pull(s, s->A, s->W);
    find_logits(s, s->W, s->Fz);
    for (int64_t c = 0; c < s->C; c++) {
        real *F = s->F + c * s->n, *plain = s->Fz + c * s->n;
        if (s->dual && s->free_intercept && !known)
            s->b[c] = (real)((lane_sum_row(F, n) - lane_sum_row(plain, n)) / (double)n);
        for (int64_t i = 0; i < n; i++)
            F[i] = plain[i] + s->b[c];
    }
}

/* ---- a fit, or H U = B ---- */

/* factored: Q is given. Ends at rounding: where r is as small as that is estimated or, if it is larger, no longer
 * falls. A direction's relative residual is the root of r's (Eisenstat and Walker 1996), but `exact` at least, as M's
 * rounding hides more. Without a penalty the optimum lies at infinity if the last step still moves a logit. */
static mo_fit_code iterate(newton *s, bool factored) {
    const double exact = sqrt(EPSILON) * 10;
    bool fresh = true, unbounded = s->fits && !(s->lambda > 0) && s->C > 1;
    int price = 8 + (int)(s->k / s->C), spent = factored ? 0 : price, stalled = 0, limit = 2 * price + 24,
        refreshes = 0;
    double before = INFINITY, first = 0, moved = 0, terms;
    for (int round = 0; round < ROUNDS && mo_goes_on(s->ctx); round++) {
        if (s->fits)
            find_probabilities(s, 0);
        if (spent >= price && (s->fits || round == 0)) {
            if (!factor_hessian(s))
                return MO_FIT_UNSOLVED;
            spent = 0;
        }
        double rounding = find_residual(s, &terms), norm = sqrt(square_of_residual(s));
        first = round ? first : norm;
        terms = s->fits ? terms : first;
        rounding += s->fits ? 0 : EPSILON * first;
        if (!isfinite(norm))
            return MO_FIT_UNSOLVED;
        if (!s->fits && norm > before) { /* rounding made the last step */
            add_scaled(s->A, -1, s->x, s->k * s->C);
            add_scaled(s->F, -1, s->Fx, s->n * s->C);
            refresh_logits(s, false);
            return before <= sqrt(EPSILON) * first ? MO_FIT_SOLVED : MO_FIT_UNSOLVED;
        }
        stalled = norm > (s->fits ? 0.7 : 0.25) * before ? stalled + 1 : 0;
        if (norm <= 4 * rounding || (s->near && norm <= ENOUGH * terms) ||
            (norm <= sqrt(EPSILON) * terms && stalled >= (s->fits ? 3 : 1))) {
            if (fresh || s->near || refreshes++ == REFRESHES)
                return unbounded && moved > 0.1 ? MO_FIT_INFINITE : MO_FIT_SOLVED;
            refresh_logits(s, false);
            fresh = true;
            before = INFINITY;
            continue;
        }
        before = fmin(before, norm);
        double share = s->fits ? fmax(fmin(0.3, sqrt(norm / terms)), exact) : exact;
        int steps = s->steps;
        double fall = find_direction(s, fmax(share * norm, 2 * rounding), limit);
        limit *= s->steps - steps == limit && limit < s->n * s->C ? 2 : 1;
        spent += s->steps - steps + 1;
        real t = s->fits ? search_step(s, fall) : 1;
        moved = 0;
        for (int64_t i = 0; unbounded && i < s->n * s->C; i++)
            moved = fmax(moved, fabs((double)(t * s->Fx[i])));
        add_scaled(s->A, t, s->x, s->k * s->C);
        add_scaled(s->F, t, s->Fx, s->n * s->C);
        fresh = !s->fits;
        if (fresh)
            refresh_logits(s, false);
    }
    return MO_FIT_UNSOLVED;
}

/* W [m, C] = the weights; of a solve in the dual, added to what is there. */
static void write_weights(const newton *s, real *W) {
    for (int64_t c = 0; c < s->C; c++) {
        for (int64_t j = 0; j < s->wide; j++)
            W[j * s->C + c] = s->W[c * s->wide + j] + (s->dual && !s->fits ? W[j * s->C + c] : 0);
        if (s->dual && s->free_intercept)
            W[s->d * s->C + c] = s->b[c];
    }
}

/* Reads T and, for a fit, Y. Returns whether all inputs are finite and each class has weight if it must. */
static mo_fit_code read_labels(newton *s, const real *Y) {
    int64_t n = s->n, C = s->C;
    if (!isfinite(s->lambda) || !all_finite(s->X, n * s->d) || !all_finite(Y, n * C))
        return MO_FIT_NOT_FINITE;
    for (int64_t c = 0; c < C; c++) {
        real most = 0;
        for (int64_t i = 0; i < n; i++) {
            s->Y[c * n + i] = Y[i * C + c];
            s->T[i] += Y[i * C + c];
            most = Y[i * C + c] > most ? Y[i * C + c] : most;
        }
        if (!(most > 0) && s->free_intercept)
            return MO_FIT_UNSOLVED;
    }
    return MO_FIT_SOLVED;
}

static mo_fit_code fit_item(newton *s, const mo_logistic_call *g, int64_t b) {
    real *W = (real *)g->W.data + b * entry_length(&g->W);
    mo_fit_code code = read_labels(s, entry_of(&g->Y, b));
    if (code != MO_FIT_SOLVED)
        return code;
    if (s->near)
        refresh_logits(s, true);
    code = iterate(s, s->near);
    if (s->near && code != MO_FIT_SOLVED) {
        memset(s->A, 0, (size_t)(s->k * s->C) * sizeof(real));
        memset(s->F, 0, (size_t)(s->n * s->C) * sizeof(real));
        code = iterate(s, false);
    }
    for (int64_t i = 0; s->near && i < s->n * s->C; i++)
        W[i] = s->F[i % s->C * s->n + i / s->C];
    if (!s->near)
        write_weights(s, W);
    return code;
}

/* Sets s->B to the right-hand side that U [m, C] holds. In the dual, that is Phi^T r + [lambda part; 0] with part =
 * (U_0 - X^T r) / lambda, where r = 1 b / n for the row b of U that belongs to the intercept. So the solution is [part;
 * 0] + V with V in the span of the rows, and H V = Phi^T (r - S X part). U becomes [part; b]. */
static void read_side(newton *s, real *U) {
    blasint n = (blasint)s->n, d = (blasint)s->d, C = (blasint)s->C;
    for (int64_t c = 0; c < s->C; c++)
        for (int64_t j = 0; j < s->k; j++)
            s->B[c * s->k + j] = !s->dual ? U[j * C + c] : s->free_intercept ? U[d * C + c] / (real)n : 0;
    if (!s->dual)
        return;
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, d, C, n, -1, s->X, d, s->B, n, 1, U, C);
    for (int64_t i = 0; i < s->d * s->C; i++)
        U[i] /= s->lambda;
    blas_gemm(CblasRowMajor, CblasTrans, CblasTrans, C, n, d, 1, U, C, s->X, d, 0, s->Fz, n);
    curve(s, s->Fz, s->G);
    add_scaled(s->B, -1, s->G, s->n * s->C);
}

/* The right-hand side, without its class means, is scaled to entries near 1, so that products of small entries do not
 * underflow. */
static mo_fit_code solve_item(newton *s, const mo_logistic_call *g, int64_t b) {
    const real *F = entry_of(&g->F, b), *B = entry_of(&g->B, b);
    real *U = (real *)g->W.data + b * entry_length(&g->W);
    int64_t length = s->m * s->C;
    double most = 0;
    memcpy(s->T, entry_of(&g->T, b), (size_t)s->n * sizeof(real));
    for (int64_t i = 0; i < s->n * s->C; i++)
        s->F[i % s->C * s->n + i / s->C] = F[i];
    find_probabilities(s, 0);
    memset(s->F, 0, (size_t)(s->n * s->C) * sizeof(real));
    memset(s->A, 0, (size_t)(s->k * s->C) * sizeof(real)); /* A and b are those of the solution from now on */
    memset(s->b, 0, (size_t)s->C * sizeof(real));
    for (int64_t i = 0; i < length; i += s->C) {
        real mean = (real)lane_sum_row(B + i, s->C) / (real)s->C;
        for (int64_t c = i; c < i + s->C; c++) {
            U[c] = B[c] - mean;
            most = fabs((double)U[c]) > most ? fabs((double)U[c]) : most; /* GCC 12 for Arm fails at fmax */
        }
    }
    real scale = most > 0 && isfinite(most) ? (real)ldexp(1, -(int)fmax(ilogb(most), 2 - FLT_MAX_EXP)) : 1;
    for (int64_t i = 0; i < length; i++)
        U[i] *= scale;
    read_side(s, U);
    mo_fit_code code = iterate(s, g->factored);
    write_weights(s, U);
    for (int64_t i = 0; i < length; i++)
        U[i] /= scale;
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

static mo_fit_code run_item(const items *p, int64_t b, real *scratch, newton *s) {
    const mo_logistic_call *g = p->g;
    real *kept = (real *)(uintptr_t)entry_of(&g->kept, b);
    size_t bytes = (size_t)entry_length(&g->kept) * sizeof(real);
    newton_layout(s, g, p->inside, scratch);
    memset(scratch, 0, (size_t)p->each * sizeof(real));
    s->fits = g->Y.data != NULL;
    s->ctx = p->ctx;
    s->X = entry_of(&g->X, b);
    s->lambda = *entry_of(&g->lambda, b);
    s->least = LEAST_CURVATURE;
    for (int64_t i = 0; i < s->n; i++)
        s->squares[i] = (real)dot(s->X + i * s->d, s->X + i * s->d, s->d);
    if (g->factored)
        memcpy(s->A, kept, bytes);
    else if (s->dual)
        blas_syrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)s->n, (blasint)s->d, 1, s->X, (blasint)s->d, 0,
            s->K, (blasint)s->n);
    s->near = s->fits && g->factored;
    s->W = s->dual ? s->own : s->A;
    mo_fit_code code = (s->fits ? fit_item : solve_item)(s, g, b);
    if (kept && !g->factored)
        memcpy(kept, s->A, bytes);
    return code;
}

static void run_some(const void *of, task_range some) {
    const items *p = of;
    for (int64_t b = some.first; b < some.end; b++) {
        newton s;
        real *scratch = p->scratch + p->each * workspace_of(b, p->batch, p->threads, some.thread);
        ((real *)p->g->code.data)[b] = (real)run_item(p, b, scratch, &s);
        atomic_fetch_add(p->factorizations, s.factorizations);
        atomic_fetch_add(p->steps, s.fits ? s.steps : 0);
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
