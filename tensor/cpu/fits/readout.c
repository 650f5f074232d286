/* tensor/cpu/fits/readout.c - readouts of a batch of episodes in one call, and their adjoint (tensor/fits.h): each
 * episode is a task, and rows are read in the order of memory, once or twice.
 *
 * Ridge, W [d, C], kept as its transpose, K = Zs Zs^T (+ 1 1^T with a bias b = 1^T D):
 *     dual, n_s <= d    D = (K + lambda I)^-1 Ys,  W = Zs^T D        primal    W = (Zs^T Zs + lambda I)^-1 Zs^T Ys
 * The adjoint, with W_bar = Zq^T L_bar and Zq_bar = L_bar W^T for logits L = Zq W (+ b):
 *     dual     G = (K + lambda I)^-1 (Zs W_bar + 1 b_bar),  V = W_bar - Zs^T G,
 *              Zs_bar = D V^T - G W^T,                 Ys_bar = G,     lambda_bar = -<G, D>
 *     primal   V = (Zs^T Zs + lambda I)^-1 W_bar,
 *              Zs_bar = (Ys - Zs W) V^T - Zs V W^T,    Ys_bar = Zs V,  lambda_bar = -<V, W>
 * As K_bar = -G D^T has rank C, no product of it with Zs is formed: it would cost n_s / C times as much.
 *
 * Prototypes P_c = Ys_c^T Zs / 1^T Ys_c and logits -|q_i - P_c|^2, by differences:  q_bar_i = -2 sum_c L_bar_ic (q_i -
 * P_c),  P_bar_c = 2 sum_i L_bar_ic (q_i - P_c),  Zs_bar = Ys diag(1^T Ys)^-1 P_bar. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <stdatomic.h>

enum { ROWS = 4 /* rows that share one pass over the classes */ };

/* One call; the entries of episode b follow from b. */
typedef struct batch {
    const mo_readout *r;
    int64_t m;            /* order of the ridge's system */
    real *factor, *D, *W; /* kept; of prototypes, W is P and D the sums of the labels */
    real *G;              /* scratch: [B, m, C] */
    real *scratch;        /* [B, each]: weights of rows, then what the function says */
    int64_t each;
    atomic_bool *left;
} batch;

/* ---- products with few columns: T is [C, d], A [n, C]. Up to ROWS rows of Z share what is read of T; `left` is the
 * number of elements from j on, a constant but at the end of a row ---- */

#define LANE_FUNCTION static inline __attribute__((always_inline))

typedef const real *rows_of[ROWS];

/* Rows i .. of Z [n, width]; the last row stands for those beyond it. */
LANE_FUNCTION void point_at_rows(rows_of z, const real *Z, int64_t i, int64_t n, int64_t width) {
    for (int64_t r = 0; r < ROWS; r++)
        z[r] = Z + min_of(i + r, n - 1) * width;
}

/* weight [C, ROWS] = factor times rows i .. of A; 0 for rows beyond the last. */
static void turn_rows(real factor, const real *A, int64_t i, int64_t n, int64_t C, real *weight) {
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < C; c++)
            weight[c * ROWS + r] = i + r < n ? factor * A[(i + r) * C + c] : 0;
}

LANE_FUNCTION real_vector take_lanes(const real *x, int64_t left) {
    real_vector v = {0};
    memcpy(&v, x, (size_t)left * sizeof(real));
    return v;
}

LANE_FUNCTION void put_lanes(real *x, real_vector v, int64_t left) {
    memcpy(x, &v, (size_t)left * sizeof(real));
}

/* The sum of LANE_SUM lanes, by halves. */
LANE_FUNCTION real total(const real_vector v[VECTORS]) {
    typedef real quarter __attribute__((vector_size(16)));
    quarter q[4];
    memcpy(q, v, sizeof q);
    q[0] = (q[0] + q[2]) + (q[1] + q[3]);
    return LANE_SUM == 16 ? (q[0][0] + q[0][LANE_SUM / 8]) + (q[0][1] + q[0][LANE_SUM / 4 - 1]) : q[0][0] + q[0][1];
}

LANE_FUNCTION void add_lanes(
    const rows_of z, const real *weight, int64_t C, int64_t d, int64_t j, int64_t left, real *T) {
    real_vector x[ROWS];
    for (int64_t r = 0; r < ROWS; r++)
        x[r] = take_lanes(z[r] + j, left);
    for (int64_t c = 0; c < C; c++) {
        real_vector t = take_lanes(T + c * d + j, left);
        for (int64_t r = 0; r < ROWS; r++)
            t += weight[c * ROWS + r] * x[r];
        put_lanes(T + c * d + j, t, left);
    }
}

/* T += factor A^T Z, for Z [n, d]. weight: room for ROWS C numbers. */
static void add_rows(
    real factor, const real *A, const real *Z, int64_t n, int64_t d, int64_t C, real *T, real *weight) {
    for (int64_t i = 0; i < n; i += ROWS) {
        int64_t j = 0;
        rows_of z;
        point_at_rows(z, Z, i, n, d);
        turn_rows(factor, A, i, n, C, weight);
        for (; j + VECTOR <= d; j += VECTOR)
            add_lanes(z, weight, C, d, j, VECTOR, T);
        if (j < d)
            add_lanes(z, weight, C, d, j, d - j, T);
    }
}

LANE_FUNCTION void compare_lanes(
    bool squared, const rows_of z, const real *t, int64_t j, int64_t left, real_vector sum[ROWS][VECTORS], int v) {
    real_vector x = take_lanes(t + j, left);
    for (int64_t r = 0; r < ROWS; r++) {
        real_vector y = take_lanes(z[r] + j, left);
        sum[r][v] += squared ? (y - x) * (y - x) : y * x;
    }
}

/* Y [n, C] = Z T^T or, squared, the |z_i - t_c|^2. */
LANE_FUNCTION void compare(bool squared, const real *Z, const real *T, int64_t n, int64_t d, int64_t C, real *Y) {
    for (int64_t i = 0; i < n; i += ROWS) {
        rows_of z;
        point_at_rows(z, Z, i, n, d);
        for (int64_t c = 0; c < C; c++) {
            real_vector sum[ROWS][VECTORS] = {{{0}}};
            int64_t j = 0;
            for (; j + LANE_SUM <= d; j += LANE_SUM)
                for (int v = 0; v < VECTORS; v++)
                    compare_lanes(squared, z, T + c * d, j + v * VECTOR, VECTOR, sum, v);
            for (int v = 0; j + v * VECTOR < d; v++)
                compare_lanes(squared, z, T + c * d, j + v * VECTOR, min_of(VECTOR, d - j - v * VECTOR), sum, v);
            for (int64_t r = 0; r < ROWS && i + r < n; r++)
                Y[(i + r) * C + c] = total(sum[r]);
        }
    }
}

static void multiply(const real *Z, const real *T, int64_t n, int64_t d, int64_t C, real *Y) {
    compare(false, Z, T, n, d, C, Y);
}

LANE_FUNCTION void combine_lanes(const rows_of a, const real *T, const rows_of b, const real *U, int64_t rows,
    int64_t d, int64_t C, int64_t j, int64_t left, real *Z) {
    real_vector sum[ROWS] = {{0}};
    for (int64_t c = 0; c < C; c++) {
        real_vector t = take_lanes(T + c * d + j, left);
        for (int64_t r = 0; r < ROWS; r++)
            sum[r] += a[r][c] * t;
    }
    for (int64_t c = 0; U && c < C; c++) {
        real_vector u = take_lanes(U + c * d + j, left);
        for (int64_t r = 0; r < ROWS; r++)
            sum[r] -= b[r][c] * u;
    }
    for (int64_t r = 0; r < rows; r++)
        put_lanes(Z + r * d + j, sum[r], left);
}

/* Z [n, d] = A T - B U; U NULL: A T. */
static void combine(
    const real *A, const real *T, const real *B, const real *U, int64_t n, int64_t d, int64_t C, real *Z) {
    for (int64_t i = 0; i < n; i += ROWS) {
        int64_t j = 0, rows = min_of(ROWS, n - i);
        rows_of a, b;
        point_at_rows(a, A, i, n, C);
        point_at_rows(b, U ? B : A, i, n, C);
        for (; j + VECTOR <= d; j += VECTOR)
            combine_lanes(a, T, b, U, rows, d, C, j, VECTOR, Z + i * d);
        if (j < d)
            combine_lanes(a, T, b, U, rows, d, C, j, d - j, Z + i * d);
    }
}

static real *weights_of(const batch *s, int64_t b) {
    return s->scratch + b * s->each;
}

/* The scratch of an episode behind its weights. */
static real *scratch_of(const batch *s, int64_t b) {
    return weights_of(s, b) + ROWS * s->r->C;
}

static void turn(const real *A, int64_t m, int64_t n, real *At) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            At[j * m + i] = A[i * n + j];
}

/* Y [n, C] += 1 1^T A for A [rows, C]: what the bias gives to each row, and its adjoint. */
static void add_class_sums(const real *A, int64_t rows, int64_t C, real *Y, int64_t n) {
    for (int64_t c = 0; c < C; c++) {
        real own = 0;
        for (int64_t i = 0; i < rows; i++)
            own += A[i * C + c];
        for (int64_t i = 0; i < n; i++)
            Y[i * C + c] += own;
    }
}

/* ---- labels ---- */

/* Returns whether each row has a label and each class a row. */
static bool labelled(const real *Y, int64_t n, int64_t C) {
    for (int64_t i = 0; i < n; i++) {
        bool any = false;
        for (int64_t c = 0; c < C; c++)
            any |= Y[i * C + c] != 0;
        if (!any)
            return false;
    }
    for (int64_t c = 0; c < C; c++) {
        bool any = false;
        for (int64_t i = 0; i < n && !any; i++)
            any = Y[i * C + c] != 0;
        if (!any)
            return false;
    }
    return true;
}

/* ---- an episode's views ---- */

#define EPISODE(name, length) ((real *)(uintptr_t)(name) + b * (length))

static mo_view matrices(real *data, int64_t B, int64_t rows, int64_t columns, bool turned) {
    mo_view v = {.data = data, .dtype = sizeof(real) == sizeof(float) ? MO_F32 : MO_F64, .ndim = 3};
    int64_t shape[] = {B, turned ? columns : rows, turned ? rows : columns};
    int64_t stride[] = {rows * columns, turned ? 1 : columns, turned ? columns : 1};
    memcpy(v.shape, shape, sizeof shape);
    memcpy(v.stride, stride, sizeof stride);
    return v;
}

static bool is_dual(const mo_readout *r) {
    return r->n <= r->d;
}

static real penalty(const mo_readout *r, int64_t b) {
    return r->lam ? ((const real *)r->lam)[r->lambdas == 1 ? 0 : b] : (real)r->fixed_lambda;
}

/* ---- ridge ---- */

/* Whether the mean's square is above MO_FAR_ROWS times the spread, by the sum of K, n^2 |mean|^2, and its trace. */
static bool lies_far(const batch *s, int64_t b, const real *K) {
    const mo_readout *r = s->r;
    double sum = 0, trace = 0, n = (double)r->n;
    for (int64_t i = 0; i < s->m; i++)
        trace += (double)K[i * (s->m + 1)];
    if (is_dual(r))
        for (int64_t i = 0; i < s->m; i++)
            sum += lane_sum_row(K + i * s->m, s->m);
    else {
        real *total_row = scratch_of(s, b);
        const real *Zs = EPISODE(r->Zs, r->n * r->d);
        memset(total_row, 0, (size_t)r->d * sizeof(real));
        for (int64_t i = 0; i < r->n; i++)
            add_scaled(total_row, 1, Zs + i * r->d, r->d);
        sum = dot(total_row, total_row, r->d);
    }
    double mean = sum / (n * n), spread = trace / n - mean;
    return !(mean <= MO_FAR_ROWS * spread);
}

/* Makes the system of K = X X^T and its right-hand side. */
static void ridge_systems(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *Ys = EPISODE(r->Ys, r->n * r->C), *Zs = EPISODE(r->Zs, r->n * r->d);
        real *K = s->factor + b * s->m * s->m, *D = s->D + b * s->m * r->C, *W = s->W + b * r->C * r->d;
        if ((!r->targets && !labelled(Ys, r->n, r->C)) || (sizeof(real) == sizeof(float) && lies_far(s, b, K)))
            atomic_store(s->left, true);
        for (int64_t i = 0; r->bias && i < s->m * s->m; i++)
            K[i] += 1;
        for (int64_t i = 0; i < s->m; i++)
            K[i * (s->m + 1)] += penalty(r, b);
        if (is_dual(r)) {
            memcpy(D, Ys, (size_t)(r->n * r->C) * sizeof(real));
            continue;
        }
        memset(W, 0, (size_t)(r->C * r->d) * sizeof(real));
        add_rows(1, Ys, Zs, r->n, r->d, r->C, W, weights_of(s, b));
        turn(W, r->C, r->d, D);
    }
}

static void ridge_logits(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *D = s->D + b * s->m * r->C;
        real *W = s->W + b * r->C * r->d, *logits = EPISODE(r->logits, r->n_q * r->C);
        if (is_dual(r)) {
            memset(W, 0, (size_t)(r->C * r->d) * sizeof(real));
            add_rows(1, D, EPISODE(r->Zs, r->n * r->d), r->n, r->d, r->C, W, weights_of(s, b));
        } else
            turn(D, r->d, r->C, W);
        multiply(EPISODE(r->Zq, r->n_q * r->d), W, r->n_q, r->d, r->C, logits);
        if (r->bias)
            add_class_sums(D, r->n, r->C, logits, r->n_q);
    }
}

static void solve(mo_context *ctx, const batch *s, real *X) {
    mo_view L = matrices(s->factor, s->r->B, s->m, s->m, false), B = matrices(X, s->r->B, s->m, s->r->C, false);
    REAL(trsm_cpu)(ctx, MO_LOWER, &L, &B);
    REAL(trsm_cpu)(ctx, MO_LOWER_TRANSPOSED, &L, &B);
}

static bool fit_ridge(mo_context *ctx, const batch *s, int threads) {
    const mo_readout *r = s->r;
    mo_view X = matrices((real *)(uintptr_t)r->Zs, r->B, r->n, r->d, !is_dual(r));
    mo_view K = matrices(s->factor, r->B, s->m, s->m, false);
    mo_view info = {.data = s->G, .dtype = MO_I32, .ndim = 1, .shape = {r->B}, .stride = {1}};
    REAL(gram_cpu)(ctx, &X, &K);
    run_tasks(threads, r->B, 1, ridge_systems, s);
    if (atomic_load(s->left))
        return false;
    REAL(potrf_cpu)(ctx, &K, &info);
    for (int64_t b = 0; b < r->B; b++)
        if (((const int32_t *)info.data)[b])
            return false;
    solve(ctx, s, s->D);
    run_tasks(threads, r->B, 1, ridge_logits, s);
    return mo_ok(ctx);
}

/* The right-hand side of the adjoint's system, and Zq_bar. Scratch: W_bar [C, d]. */
static void pull_queries(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *bar = EPISODE(r->logits_bar, r->n_q * r->C), *W = s->W + b * r->C * r->d;
        real *G = s->G + b * s->m * r->C, *W_bar = scratch_of(s, b);
        memset(W_bar, 0, (size_t)(r->C * r->d) * sizeof(real));
        add_rows(1, bar, EPISODE(r->Zq, r->n_q * r->d), r->n_q, r->d, r->C, W_bar, weights_of(s, b));
        if (r->Zq_bar)
            combine(bar, W, NULL, NULL, r->n_q, r->d, r->C, EPISODE(r->Zq_bar, r->n_q * r->d));
        if (!is_dual(r)) {
            turn(W_bar, r->C, r->d, G);
            continue;
        }
        multiply(EPISODE(r->Zs, r->n * r->d), W_bar, r->n, r->d, r->C, G);
        if (r->bias)
            add_class_sums(bar, r->n_q, r->C, G, r->n);
    }
}

static void pull_support(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    int64_t rows = r->n * r->C;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *D = s->D + b * s->m * r->C, *W = s->W + b * r->C * r->d, *Zs = EPISODE(r->Zs, r->n * r->d);
        real *G = s->G + b * s->m * r->C, *V = scratch_of(s, b);
        real *E = V + r->C * r->d, *S = E + rows;
        if (r->lam_bar)
            *EPISODE(r->lam_bar, 1) = (real)-dot(G, D, s->m * r->C);
        if (is_dual(r) && r->Zs_bar) {
            add_rows(-1, G, Zs, r->n, r->d, r->C, V, weights_of(s, b));
            combine(D, V, G, W, r->n, r->d, r->C, EPISODE(r->Zs_bar, r->n * r->d));
        } else if (!is_dual(r)) {
            turn(G, r->d, r->C, V);
            multiply(Zs, W, r->n, r->d, r->C, E);
            for (int64_t i = 0; i < rows; i++)
                E[i] = EPISODE(r->Ys, rows)[i] - E[i];
            multiply(Zs, V, r->n, r->d, r->C, S);
            if (r->Zs_bar)
                combine(E, V, S, W, r->n, r->d, r->C, EPISODE(r->Zs_bar, r->n * r->d));
            G = S;
        }
        if (r->Ys_bar)
            memcpy(EPISODE(r->Ys_bar, rows), G, (size_t)rows * sizeof(real));
    }
}

/* ---- prototypes ---- */

static void fit_prototypes(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *Ys = EPISODE(r->Ys, r->n * r->C);
        real *P = s->W + b * r->C * r->d, *count = s->D + b * r->C, *logits = EPISODE(r->logits, r->n_q * r->C);
        memset(P, 0, (size_t)(r->C * r->d) * sizeof(real));
        add_rows(1, Ys, EPISODE(r->Zs, r->n * r->d), r->n, r->d, r->C, P, weights_of(s, b));
        if (!labelled(Ys, r->n, r->C))
            atomic_store(s->left, true);
        for (int64_t c = 0; c < r->C; c++) {
            count[c] = 0;
            for (int64_t i = 0; i < r->n; i++)
                count[c] += Ys[i * r->C + c];
            if (count[c] == 0)
                atomic_store(s->left, true);
            for (int64_t j = 0; j < r->d; j++)
                P[c * r->d + j] /= count[c];
        }
        compare(true, EPISODE(r->Zq, r->n_q * r->d), P, r->n_q, r->d, r->C, logits);
        double norms = dot(P, P, r->C * r->d) / (double)r->C;
        double distances = lane_sum_row(logits, r->n_q * r->C) / (double)(r->n_q * r->C);
        if (sizeof(real) == sizeof(float) && !(norms <= MO_FAR_ROWS * distances)) /* P would be rounded too coarsely */
            atomic_store(s->left, true);
        for (int64_t i = 0; i < r->n_q * r->C; i++)
            logits[i] = -logits[i];
    }
}

LANE_FUNCTION void pull_lanes(const rows_of z, const real *weight, const real *P, int64_t rows, int64_t d, int64_t C,
    int64_t j, int64_t left, real *P_bar, real *Q_bar) {
    real_vector q[ROWS], sum[ROWS] = {{0}};
    for (int64_t r = 0; r < ROWS; r++)
        q[r] = take_lanes(z[r] + j, left);
    for (int64_t c = 0; c < C; c++) {
        real_vector p = take_lanes(P + c * d + j, left), own = take_lanes(P_bar + c * d + j, left);
        for (int64_t r = 0; r < ROWS; r++) {
            real_vector gap = weight[c * ROWS + r] * (q[r] - p);
            sum[r] -= gap;
            own += gap;
        }
        put_lanes(P_bar + c * d + j, own, left);
    }
    for (int64_t r = 0; Q_bar && r < rows; r++)
        put_lanes(Q_bar + r * d + j, sum[r], left);
}

/* Writes Q_bar [n, d] unless it is NULL, and adds to P_bar [C, d]. */
static void pull_distances(const real *bar, const real *Q, const real *P, int64_t n, int64_t d, int64_t C, real *P_bar,
    real *Q_bar, real *weight) {
    for (int64_t i = 0; i < n; i += ROWS) {
        int64_t j = 0, rows = min_of(ROWS, n - i);
        real *own = Q_bar ? Q_bar + i * d : NULL;
        rows_of z;
        point_at_rows(z, Q, i, n, d);
        turn_rows(2, bar, i, n, C, weight);
        for (; j + VECTOR <= d; j += VECTOR)
            pull_lanes(z, weight, P, rows, d, C, j, VECTOR, P_bar, own);
        if (j < d)
            pull_lanes(z, weight, P, rows, d, C, j, d - j, P_bar, own);
    }
}

static void pull_prototypes(const void *of, task_range some) {
    const batch *s = of;
    const mo_readout *r = s->r;
    for (int64_t b = some.first; b < some.end; b++) {
        const real *P = s->W + b * r->C * r->d, *count = s->D + b * r->C;
        real *P_bar = scratch_of(s, b), *Q_bar = r->Zq_bar ? EPISODE(r->Zq_bar, r->n_q * r->d) : NULL;
        memset(P_bar, 0, (size_t)(r->C * r->d) * sizeof(real));
        pull_distances(EPISODE(r->logits_bar, r->n_q * r->C), EPISODE(r->Zq, r->n_q * r->d), P, r->n_q, r->d, r->C,
            P_bar, Q_bar, weights_of(s, b));
        for (int64_t c = 0; c < r->C; c++)
            for (int64_t j = 0; j < r->d; j++)
                P_bar[c * r->d + j] /= count[c];
        if (r->Zs_bar)
            combine(EPISODE(r->Ys, r->n * r->C), P_bar, NULL, NULL, r->n, r->d, r->C, EPISODE(r->Zs_bar, r->n * r->d));
    }
}

/* ---- the call ---- */

bool REAL(readout_cpu)(mo_context *ctx, const mo_readout *r) {
    atomic_bool left = false;
    batch s = {.r = r, .m = r->ridge ? min_of(r->n, r->d) : 1, .W = r->kept, .left = &left};
    s.D = s.W + r->B * r->C * r->d;
    s.factor = s.D + r->B * s.m * r->C;
    s.each = (ROWS + r->d) * r->C + (r->ridge && !is_dual(r) ? 2 * r->n * r->C + r->d : 0);
    if (rounds_factors(ctx, sizeof(real)) || !can_multiply(ctx, sizeof(real)))
        return false;
    s.G = cpu_workspace(ctx, (size_t)(r->B * (s.each + s.m * r->C)) * sizeof(real));
    if (!s.G)
        return false;
    s.scratch = s.G + r->B * s.m * r->C;
    int threads = r->B == 1 ? 1 : threads_for(ctx, r->B * (r->n + r->n_q) * r->d);
    if (r->logits && r->ridge)
        return fit_ridge(ctx, &s, threads);
    if (r->ridge) {
        run_tasks(threads, r->B, 1, pull_queries, &s);
        solve(ctx, &s, s.G);
        run_tasks(threads, r->B, 1, pull_support, &s);
    } else
        run_tasks(threads, r->B, 1, r->logits ? fit_prototypes : pull_prototypes, &s);
    return !atomic_load(&left) && mo_ok(ctx);
}
