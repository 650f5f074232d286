/* train/features/gram_blocks.c - kernels between listed rows of a matrix, and standardised columns. */
#include "train/features/gram_blocks.h"
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/example_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8 };

static bool list_exists(mo_context *ctx, const int64_t *row, int64_t n, int64_t rows, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (row[i] < 0 || row[i] >= rows) {
            mo_fail(ctx, MO_INVALID, "kernels: %s %" PRId64 ", expected 0 to %" PRId64, what, row[i], rows - 1);
            return false;
        }
    return mo_ok(ctx);
}

bool mo_rows_exist(mo_context *ctx, const mo_row_pairs *p, int64_t rows, const char *what) {
    return list_exists(ctx, p->a, p->n_a, rows, what) && list_exists(ctx, p->b, p->n_b, rows, what);
}

/* ---- cosines of sparse rows ---- */

static double entry_of(const mo_sparse_rows *X, int64_t e) {
    return (X->value ? (double)X->value[e] : 1) * (X->weight ? X->weight[X->column[e]] : 1);
}

static double inverse_length(const mo_sparse_rows *X, int64_t i) {
    double squares = 0;
    for (int64_t e = X->first[i]; e < X->first[i + 1]; e++)
        squares += entry_of(X, e) * entry_of(X, e);
    return squares > 0 ? 1 / sqrt(squares) : 0;
}

/* The rows of list b, stored by column. place[] numbers the columns that have an entry in some row of b. */
typedef struct column_lists {
    int64_t n;
    int64_t *column; /* [n] */
    int64_t *first;  /* [n + 1] */
    int32_t *row;    /* positions in b */
    double *value;   /* entries, with rows scaled to unit length */
} column_lists;

static bool list_columns(
    mo_context *ctx, const mo_sparse_rows *X, int32_t *place, const mo_row_pairs *p, column_lists *l) {
    int64_t all = 0;
    for (int64_t j = 0; j < p->n_b; j++)
        all += X->first[p->b[j] + 1] - X->first[p->b[j]];
    *l = (column_lists){0, mo_host_array(ctx, all, sizeof *l->column), mo_host_array(ctx, all + 2, sizeof *l->first),
        mo_host_array(ctx, all, sizeof *l->row), mo_host_array(ctx, all, sizeof *l->value)};
    if (!mo_ok(ctx))
        return false;
    for (int64_t j = 0; j < p->n_b; j++)
        for (int64_t e = X->first[p->b[j]]; e < X->first[p->b[j] + 1]; e++) {
            int64_t c = X->column[e];
            if (place[c] < 0) {
                place[c] = (int32_t)l->n;
                l->column[l->n++] = c;
            }
            l->first[place[c] + 2]++;
        }
    for (int64_t c = 0; c < l->n; c++)
        l->first[c + 2] += l->first[c + 1];
    for (int64_t j = 0; j < p->n_b; j++) {
        double inverse = inverse_length(X, p->b[j]);
        for (int64_t e = X->first[p->b[j]]; e < X->first[p->b[j] + 1]; e++) {
            int64_t at = l->first[place[X->column[e]] + 1]++;
            l->row[at] = (int32_t)j;
            l->value[at] = entry_of(X, e) * inverse;
        }
    }
    return true;
}

/* sum [n_b]: scratch. */
static void compare_row(const mo_sparse_rows *X, const int32_t *place, const column_lists *l, int64_t i, int64_t n_b,
    double *sum, float *K) {
    double inverse = inverse_length(X, i);
    memset(sum, 0, (size_t)n_b * sizeof *sum);
    for (int64_t e = X->first[i]; e < X->first[i + 1]; e++) {
        int32_t c = place[X->column[e]];
        double x = entry_of(X, e);
        for (int64_t k = c < 0 ? 0 : l->first[c]; c >= 0 && k < l->first[c + 1]; k++)
            sum[l->row[k]] += x * l->value[k];
    }
    for (int64_t j = 0; j < n_b; j++)
        K[j] = (float)(1 + sum[j] * inverse);
}

typedef struct cosines {
    mo_context *ctx;
    const mo_sparse_rows *X;
    const int32_t *place;
    const column_lists *l;
    const mo_row_pairs *p;
    double *sums; /* [threads, n_b] */
    float *K;
} cosines;

static void compare_rows(const void *of, task_range some) {
    const cosines *c = of;
    int64_t n_b = c->p->n_b;
    for (int64_t i = some.first; i < some.end; i++)
        if (mo_goes_on(c->ctx))
            compare_row(c->X, c->place, c->l, c->p->a[i], n_b, c->sums + some.thread * n_b, c->K + i * n_b);
}

bool mo_cosine_block(mo_context *ctx, const mo_sparse_rows *X, int32_t *place, const mo_row_pairs *p, float *K) {
    column_lists l;
    double *sums = mo_host_array(ctx, mo_context_threads(ctx) * p->n_b, sizeof *sums);
    bool listed = list_columns(ctx, X, place, p, &l);
    const cosines all = {.ctx = ctx, .X = X, .place = place, .l = &l, .p = p, .sums = sums, .K = K};
    if (listed)
        run_tasks(mo_context_threads(ctx), p->n_a, FEW, compare_rows, &all);
    for (int64_t c = 0; c < l.n; c++)
        place[l.column[c]] = -1;
    free(l.column);
    free(l.first);
    free(l.row);
    free(l.value);
    free(sums);
    return listed;
}

/* ---- Gaussians of dense rows ---- */

typedef struct gaussians {
    const float *X;
    int64_t columns;
    float rate;
    const mo_row_pairs *p;
    float *K;
} gaussians;

static void measure_rows(const void *of, task_range some) {
    const gaussians *g = of;
    for (int64_t i = some.first; i < some.end; i++)
        for (int64_t j = 0; j < g->p->n_b; j++) {
            const float *x = g->X + g->p->a[i] * g->columns, *y = g->X + g->p->b[j] * g->columns;
            float squares = 0;
            for (int64_t c = 0; c < g->columns; c++)
                squares += (x[c] - y[c]) * (x[c] - y[c]);
            g->K[i * g->p->n_b + j] = 1 + expf(g->rate * squares);
        }
}

void mo_gaussian_block(
    mo_context *ctx, const float *X, int64_t columns, int64_t varying, const mo_row_pairs *p, float *K) {
    const gaussians g = {.X = X, .columns = columns, .rate = -1 / (2 * (float)varying), .p = p, .K = K};
    run_tasks(mo_context_threads(ctx), p->n_a, FEW, measure_rows, &g);
}

/* ---- standardised columns ---- */

/* A column counts as constant if its standard deviation is at most this times max(1, |mean|). */
static const double CONSTANT = 1e-7;

/* The mean of n values x[row[i] * stride] (row NULL: 0 .. n - 1), and the sum of the values' squared distances to it;
 * adds both sums in float64, in order. */
static double squares_about(const float *x, int64_t stride, const int64_t *row, int64_t n, double *mean) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[(row ? row[i] : i) * stride];
    *mean = n > 0 ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++) {
        double off = x[(row ? row[i] : i) * stride] - *mean;
        squares += off * off;
    }
    return squares;
}

void mo_standardize(mo_rows r, const int64_t *reference, int64_t m, double epsilon, float *moments) {
    for (int64_t o = 0; o < r.outer; o++)
        for (int64_t j = 0; j < r.w; j++) {
            float *column = r.x + o * r.n * r.w + j;
            int64_t count = reference ? m : r.n;
            double mean, sum = squares_about(column, r.w, reference, count, &mean);
            double sd = count > 1 ? sqrt(sum / (double)(count - 1)) : 0;
            for (int64_t i = 0; i < r.n; i++)
                column[i * r.w] = (float)((column[i * r.w] - mean) / (sd + epsilon));
            if (moments) {
                moments[o * r.w + j] = (float)mean;
                moments[(r.outer + o) * r.w + j] = (float)(sd + epsilon);
            }
        }
}

double mo_spread(const float *x, int64_t stride, const int64_t *row, int64_t n, double *mean) {
    double squares = squares_about(x, stride, row, n, mean);
    return n > 0 ? sqrt(squares / (double)n) : 0;
}

static bool scale_column(float *x, int64_t n, int64_t stride, const int64_t *row, int64_t count, double clip) {
    double mean, sd = mo_spread(x, stride, row, row ? count : n, &mean);
    bool varies = sd > CONSTANT * fmax(1, fabs(mean));
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = varies ? (float)fmin(fmax((x[i * stride] - mean) / sd, -clip), clip) : 0;
    return varies;
}

int64_t mo_scale_columns(float *X, int64_t n, int64_t columns, const int64_t *row, int64_t count, double clip) {
    int64_t varying = 0;
    for (int64_t c = 0; c < columns; c++)
        varying += scale_column(X + c, n, columns, row, count, clip);
    return varying;
}
