/* train/svd/adjacency.c - the normalised adjacency D^-1/2 A D^-1/2, and node features as a sparse matrix. */
#include "train/svd/adjacency.h"
#include "tensor/hidden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a sparse matrix: row_pointer starts at 0; an adjacency's columns count from the block's first node. */
typedef struct block {
    int64_t *row_pointer;
    int32_t *column;
    void *value;
} block;

static void free_block(block *b) {
    free(b->row_pointer);
    free(b->column);
    free(b->value);
}

static bool cut_block(mo_context *ctx, int64_t first, int64_t n, const int64_t *row_pointer, const int32_t *column,
    int64_t first_column, size_t value_bytes, block *b) {
    int64_t start = row_pointer[first], nnz = row_pointer[first + n] - start;
    b->row_pointer = mo_host_array(ctx, n + 1, sizeof *b->row_pointer);
    b->column = mo_host_array(ctx, nnz, sizeof *b->column);
    b->value = mo_host_array(ctx, nnz, value_bytes);
    if (!mo_ok(ctx))
        return false;
    for (int64_t i = 0; i <= n; i++)
        b->row_pointer[i] = row_pointer[first + i] - start;
    for (int64_t e = 0; e < nnz; e++)
        b->column[e] = (int32_t)(column[start + e] - first_column);
    return true;
}

/* Fills in w_ij / sqrt(d_i d_j), 0 if a degree is 0. The product under the root is the same for (i, j) and (j, i), so
 * the result is symmetric to the last bit. weight: the weights of the block's entries. */
static void fill_normalized(const block *b, int64_t n, const float *weight, double *degree, mo_dtype real) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = b->row_pointer[i]; e < b->row_pointer[i + 1]; e++)
            degree[i] += weight ? (double)weight[e] : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = b->row_pointer[i]; e < b->row_pointer[i + 1]; e++) {
            double product = degree[i] * degree[b->column[e]];
            double value = product > 0 ? (weight ? (double)weight[e] : 1) / sqrt(product) : 0;
            if (real == MO_F64)
                ((double *)b->value)[e] = value;
            else
                ((float *)b->value)[e] = (float)value;
        }
}

static bool columns_stay(mo_context *ctx, const block *b, int64_t n) {
    for (int64_t e = 0; e < b->row_pointer[n]; e++)
        if (b->column[e] < 0 || b->column[e] >= n)
            return mo_fail(ctx, MO_INVALID, "normalized adjacency: entry %lld leads to node %lld, expected 0 to %lld",
                (long long)e, (long long)b->column[e], (long long)n - 1);
    return true;
}

mo_csr *mo_normalize_block(mo_context *ctx, int64_t first, int64_t n, const int64_t *row_pointer, const int32_t *column,
    const float *weight, mo_dtype real) {
    if (!mo_ok(ctx))
        return NULL;
    if (!mo_dtype_is_real(real)) {
        mo_fail(ctx, MO_INVALID, "normalized adjacency: dtype %s, expected float32 or float64", mo_dtype_name(real));
        return NULL;
    }
    block b = {0};
    mo_csr *A = NULL;
    double *degree = mo_host_array(ctx, n, sizeof *degree);
    if (cut_block(ctx, first, n, row_pointer, column, first, mo_dtype_size(real), &b) && columns_stay(ctx, &b, n)) {
        fill_normalized(&b, n, weight ? weight + row_pointer[first] : NULL, degree, real);
        A = mo_csr_create(ctx, n, n, b.row_pointer, b.column, real, b.value);
    }
    free(degree);
    free_block(&b);
    if (A && mo_csr_declare_symmetric(A) != MO_OK) {
        mo_csr_release(A);
        return NULL;
    }
    return A;
}

mo_csr *mo_normalized_adjacency(const mo_graph *graph, mo_dtype real) {
    if (!graph)
        return NULL;
    return mo_normalize_block(graph->ctx, 0, graph->nodes, graph->row_pointer, graph->column, graph->weight, real);
}

mo_csr *mo_feature_block(mo_context *ctx, const mo_graph *graph, int64_t first, int64_t n) {
    if (!mo_ok(ctx))
        return NULL;
    block b = {0};
    mo_csr *X = NULL;
    if (cut_block(ctx, first, n, graph->feature_pointer, graph->feature_column, 0, sizeof(float), &b)) {
        if (b.row_pointer[n] > 0) /* an array without entries can be NULL */
            memcpy(b.value, graph->feature_value + graph->feature_pointer[first],
                (size_t)b.row_pointer[n] * sizeof(float));
        X = mo_csr_create(ctx, n, graph->features, b.row_pointer, b.column, MO_F32, b.value);
    }
    free_block(&b);
    return X;
}

bool mo_features_fit_products(const mo_graph *graph) {
    static const double most = 1e18; /* float32 ends at 3e38, and products sum up squares */
    char number[24];
    for (int64_t i = 0; graph->features > 0 && i < graph->nodes; i++)
        for (int64_t e = graph->feature_pointer[i]; e < graph->feature_pointer[i + 1]; e++)
            if (!(fabs((double)graph->feature_value[e]) <= most)) {
                bool single = graph->graphs == 1;
                snprintf(number, sizeof number, "%lld", (long long)i);
                return mo_fail(graph->ctx, MO_NUMERICAL,
                    "features: '%s': feature %d of node %s is %g, expected a finite value of at most %g", graph->name,
                    graph->feature_column[e], single ? mo_graph_example_name(graph, i, number) : number,
                    (double)graph->feature_value[e], most);
            }
    return mo_ok(graph->ctx);
}
