/* tensor/cpu/hop.c - attention over K hops and its gradient (ops/layers/hop_attention.c has the formulas).
 *
 * gemm computes the products of attention; between two products there is one pass over rows. Products and passes go by
 * blocks of rows, and in the gradient hop by hop within a block, so that a pass finds in the cache the results of the
 * product before it. Sums over rows are formed in parts of MO_ATTENTION_ROWS rows of each hop, and the parts are added
 * in order. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/lane_sum.h"
#include "tensor/scalar.h"

#include <string.h>

enum { BLOCK_ROWS = 512 /* most rows of each hop in a block: 1 MiB of float32 if rows have 512 values */ };

/* y = w0 h0 + w1 h1 + w2 h2 + w3 h3: one pass for the usual four hops. */
static void mix_four(const real *w, const real *const *h, int64_t d, real *restrict y) {
    const real *h0 = h[0], *h1 = h[1], *h2 = h[2], *h3 = h[3], w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    for (int64_t j = 0; j < d; j++)
        y[j] = (w0 * h0[j] + w1 * h1[j]) + (w2 * h2[j] + w3 * h3[j]);
}

static void add_scaled(real w, const real *restrict h, int64_t d, real *restrict y) {
    for (int64_t j = 0; j < d; j++)
        y[j] += w * h[j];
}

/* y [d] = the sum of w_k times the row h[k]; the weights w_k lie `step` apart. */
static void mix_row(const real *w, int64_t step, const real *const *h, int K, int64_t d, real *y) {
    int k = 0;
    if (K >= 4) {
        mix_four((const real[]){w[0], w[step], w[2 * step], w[3 * step]}, h, d, y);
        k = 4;
    } else {
        memset(y, 0, (size_t)d * sizeof(real));
    }
    for (; k < K; k++)
        add_scaled(w[k * step], h[k], d, y);
}

/* ---- attention ---- */

/* The rows i0 .. i1 - 1. */
typedef struct row_block {
    int64_t i0, i1;
} row_block;

/* Row i of hop k is row k n + i of H, P, H_bar and D. */
typedef struct attended {
    int64_t n, d, m;
    int K, k;       /* k: the hop at work */
    row_block rows; /* the block at work */
    const real *H, *v, *c, *Y_bar;
    real *P, *Y, *a, *H_bar, *D, *E, *z;
    real *part; /* [2 m + 1] sums for each MO_ATTENTION_ROWS rows */
} attended;

static attended attended_of(const mo_attention *g) {
    return (attended){.n = g->H.shape[1],
        .d = g->H.shape[2],
        .m = g->W.shape[0],
        .K = (int)g->H.shape[0],
        .H = g->H.data,
        .v = g->v.data,
        .c = g->c.data,
        .Y_bar = g->Y_bar.data,
        .P = g->P.data,
        .Y = g->Y.data,
        .a = g->a.data,
        .H_bar = g->H_bar.data,
        .D = g->scratch.data,
        .E = g->query.data};
}

/* The number of blocks, at least one, about equal in size; each begins where a part of the sums begins. */
static int64_t block_count(int64_t n) {
    return max_of(1, ceil_div(n, BLOCK_ROWS));
}

static row_block block_of(int64_t n, int64_t number) {
    int64_t parts = ceil_div(n, MO_ATTENTION_ROWS), blocks = block_count(n);
    return (row_block){min_of(n, parts * number / blocks * MO_ATTENTION_ROWS),
        min_of(n, parts * (number + 1) / blocks * MO_ATTENTION_ROWS)};
}

/* The rows r of M. */
static mo_view rows_of(mo_view M, row_block r) {
    M.data = (real *)M.data + r.i0 * M.stride[0];
    M.shape[0] = r.i1 - r.i0;
    return M;
}

/* The rows r of hop k of [K, n, columns], as a matrix. */
static mo_view hop_rows(const mo_view *hops, int64_t k, row_block r) {
    int64_t n = hops->shape[1], columns = hops->shape[2];
    mo_view M = {.data = (real *)hops->data + k * n * columns,
        .dtype = hops->dtype,
        .ndim = 2,
        .shape = {n, columns},
        .stride = {columns, 1}};
    return rows_of(M, r);
}

/* The rows r of every hop. */
static mo_view all_rows(mo_view hops, row_block r) {
    hops.data = (real *)hops.data + r.i0 * hops.stride[1];
    hops.shape[1] = r.i1 - r.i0;
    return hops;
}

/* Columns [0, d) or [d, 2 d) of W [m, 2 d]. */
static mo_view half_of(const mo_view *W, int64_t half) {
    mo_view M = *W;
    M.shape[1] /= 2;
    M.data = (real *)M.data + half * M.shape[1] * M.stride[1];
    return M;
}

static mo_view swapped(mo_view M) {
    int64_t size = M.shape[0], stride = M.stride[0];
    M.shape[0] = M.shape[1], M.shape[1] = size;
    M.stride[0] = M.stride[1], M.stride[1] = stride;
    return M;
}

/* M for each of K products, by a batch axis of stride 0. */
static mo_view repeated(mo_view M, int64_t K) {
    M.ndim = 3;
    M.shape[2] = M.shape[1], M.shape[1] = M.shape[0], M.shape[0] = K;
    M.stride[2] = M.stride[1], M.stride[1] = M.stride[0], M.stride[0] = 0;
    return M;
}

/* Computes the scores of row i, their softmax a, and the mixed row of Y. */
static void attend_row(const attended *p, int64_t i) {
    real *a = p->a + i * p->K, largest = -INFINITY;
    const real *h[MO_MOST_ATTENDED];
    double sum = 0;
    for (int k = 0; k < p->K; k++) {
        h[k] = p->H + (k * p->n + i) * p->d;
        a[k] = lane_dot(p->P + (k * p->n + i) * p->m, p->v, p->m) + *p->c;
        largest = a[k] > largest ? a[k] : largest;
    }
    for (int k = 0; k < p->K; k++) {
        a[k] = exp_of(a[k] - (largest == -INFINITY ? 0 : largest));
        sum += a[k];
    }
    for (int k = 0; k < p->K; k++)
        a[k] *= (real)(1 / sum);
    mix_row(a, 1, h, p->K, p->d, p->Y + i * p->d);
}

static void attend_rows(const void *of, task_range some) {
    const attended *p = of;
    for (int64_t i = p->rows.i0 + some.first; i < p->rows.i0 + some.end; i++)
        attend_row(p, i);
}

void REAL(hop_attention_cpu)(mo_context *ctx, const mo_attention *g) {
    attended p = attended_of(g);
    mo_view W_q = swapped(half_of(&g->W, 0)), W_k = repeated(swapped(half_of(&g->W, 1)), p.K);
    for (int64_t b = 0; b < block_count(p.n); b++) {
        row_block r = block_of(p.n, b);
        mo_view query = rows_of(g->query, r);
        const mo_gemm q = {.A = hop_rows(&g->H, 0, r), .B = W_q, .C = query, .alpha = 1, .bias = g->b};
        const mo_gemm keys = {.A = all_rows(g->H, r),
            .B = W_k,
            .C = all_rows(g->P, r),
            .alpha = 1,
            .addend = repeated(query, p.K),
            .relu = true};
        REAL(gemm_cpu)(ctx, &q);
        REAL(gemm_cpu)(ctx, &keys);
        p.rows = r;
        run_tasks(threads_for(ctx, (r.i1 - r.i0) * p.K * (p.m + p.d)), r.i1 - r.i0, 0, attend_rows, &p);
    }
}

/* Computes z [K] of row i. */
static void score_gradients(const attended *p, int64_t i) {
    const real *a = p->a + i * p->K, *y = p->Y_bar + i * p->d;
    real *z = p->z + i * p->K;
    double mean = 0;
    for (int k = 0; k < p->K; k++) {
        z[k] = lane_dot(y, p->H + (k * p->n + i) * p->d, p->d);
        mean += (double)a[k] * z[k];
    }
    for (int k = 0; k < p->K; k++)
        z[k] = a[k] * (z[k] - (real)mean);
}

/* Computes for row i of hop k: D, and H_bar as far as it comes through Y; adds the row's part to E, and to the sums
 * [2 m + 1] for v, b and c. */
static void hop_gradient_row(const attended *p, int k, int64_t i, real *restrict D, real *restrict sums) {
    int64_t m = p->m, d = p->d;
    const real *P = p->P + (k * p->n + i) * m, *y = p->Y_bar + i * d, *v = p->v;
    real z = p->z[i * p->K + k], a = p->a[i * p->K + k];
    real *restrict E = p->E + i * m, *restrict h = p->H_bar + (k * p->n + i) * d, *restrict b_bar = sums + m;
    for (int64_t j = 0; j < d; j++)
        h[j] = a * y[j];
    for (int64_t j = 0; j < m; j++) {
        real x = P[j] > 0 ? z * v[j] : 0;
        D[j] = x;
        E[j] = k ? E[j] + x : x;
        b_bar[j] += x;
        sums[j] += z * P[j];
    }
    sums[2 * m] += z;
}

/* y [n] = the sum of the first n columns of part [count, width], rows added in order. */
static void join_parts(const real *part, int64_t count, int64_t width, int64_t n, real *y) {
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t b = 0; b < count; b++)
            sum += part[b * width + j];
        y[j] = (real)sum;
    }
}

/* For the rows r of hop k, D is the gradient at the argument of relu (or, for half 0 of W, its sum E over hops). Adds D
 * times this half of W to H_bar. Sets this half of W_bar to D^T times the rows of H, or adds the product if `add`. */
static void multiply_hop(
    mo_context *ctx, const mo_attention *g, mo_view D, int k, row_block r, int64_t half, bool add) {
    const mo_gemm weights = {
        .A = swapped(D), .B = hop_rows(&g->H, k, r), .C = half_of(&g->W_bar, half), .alpha = 1, .beta = add};
    const mo_gemm rows = {.A = D, .B = half_of(&g->W, half), .C = hop_rows(&g->H_bar, k, r), .alpha = 1, .beta = 1};
    REAL(gemm_cpu)(ctx, &weights);
    REAL(gemm_cpu)(ctx, &rows);
}

static void score_rows(const void *of, task_range some) {
    const attended *p = of;
    for (int64_t i = p->rows.i0 + some.first; i < p->rows.i0 + some.end; i++)
        score_gradients(p, i);
}

/* Parts of the block's rows for hop p->k. */
static void gradient_parts(const void *of, task_range some) {
    const attended *p = of;
    int64_t width = 2 * p->m + 1, first = p->rows.i0 / MO_ATTENTION_ROWS;
    for (int64_t b = first + some.first; b < first + some.end; b++)
        for (int64_t i = b * MO_ATTENTION_ROWS; i < min_of(p->rows.i1, (b + 1) * MO_ATTENTION_ROWS); i++)
            hop_gradient_row(p, p->k, i, p->D + (i - p->rows.i0) * p->m, p->part + b * width);
}

/* Adds the share of a block, p->rows, to all gradients. */
static void gradient_block(mo_context *ctx, const mo_attention *g, attended *p) {
    const row_block r = p->rows;
    int64_t parts = ceil_div(r.i1, MO_ATTENTION_ROWS) - r.i0 / MO_ATTENTION_ROWS;
    int threads = threads_for(ctx, (r.i1 - r.i0) * p->K * (p->m + p->d));
    mo_view D = rows_of(g->query, (row_block){0, r.i1 - r.i0});
    D.data = p->D;
    run_tasks(threads, r.i1 - r.i0, 0, score_rows, p);
    for (p->k = 0; p->k < p->K; p->k++) {
        run_tasks(threads, parts, 0, gradient_parts, p);
        multiply_hop(ctx, g, D, p->k, r, 1, p->k > 0 || r.i0 > 0);
    }
    multiply_hop(ctx, g, rows_of(g->query, r), 0, r, 0, r.i0 > 0);
}

void REAL(hop_attention_adjoint_cpu)(mo_context *ctx, const mo_attention *g) {
    attended p = attended_of(g);
    int64_t parts = ceil_div(p.n, MO_ATTENTION_ROWS), width = 2 * p.m + 1;
    p.z = p.D + min_of(p.n, BLOCK_ROWS + MO_ATTENTION_ROWS) * p.m;
    p.part = p.z + p.n * p.K;
    memset(p.part, 0, (size_t)(parts * width) * sizeof *p.part);
    for (int64_t b = 0; b < block_count(p.n); b++) {
        p.rows = block_of(p.n, b);
        gradient_block(ctx, g, &p);
    }
    join_parts(p.part, parts, width, p.m, g->v_bar.data);
    join_parts(p.part + p.m, parts, width, p.m, g->b_bar.data);
    join_parts(p.part + 2 * p.m, parts, width, 1, g->c_bar.data);
}
