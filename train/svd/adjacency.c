/* train/svd/adjacency.c - the normalised adjacency D^-1/2 A D^-1/2, and node features as a sparse matrix. */
#include "train/svd/adjacency.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Row pointers of n rows, moved so that they start at 0; NULL on failure. */
static int64_t *moved_pointers(mo_context *ctx, const int64_t *row_pointer, int64_t n) {
    int64_t *moved = mo_host_array(ctx, n + 1, sizeof *moved);
    for (int64_t i = 0; moved && i <= n; i++)
        moved[i] = row_pointer[i] - row_pointer[0];
    return moved;
}

/* Moves the columns so that they count from node `first`; raises if one is not among the n nodes. */
static bool move_columns(
    mo_context *ctx, const int32_t *column, int64_t nnz, int64_t first, int64_t n, int32_t *moved) {
    for (int64_t e = 0; e < nnz; e++) {
        if (column[e] < first || column[e] >= first + n)
            return mo_fail(ctx, MO_INVALID, "normalized adjacency: entry %lld leads to node %lld, expected 0 to %lld",
                (long long)e, (long long)(column[e] - first), (long long)n - 1);
        moved[e] = (int32_t)(column[e] - first);
    }
    return true;
}

/* Fills in w_ij / sqrt(d_i d_j), 0 if a degree is 0. The product under the root is the same for (i, j) and (j, i), so
 * the result is symmetric to the last bit. */
static void fill_normalized(const int64_t *row_pointer, const int32_t *column, int64_t n, const float *weight,
    double *degree, mo_dtype real, void *value) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = row_pointer[i]; e < row_pointer[i + 1]; e++)
            degree[i] += weight ? (double)weight[e] : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = row_pointer[i]; e < row_pointer[i + 1]; e++) {
            double product = degree[i] * degree[column[e]];
            double x = product > 0 ? (weight ? (double)weight[e] : 1) / sqrt(product) : 0;
            if (real == MO_F64)
                ((double *)value)[e] = x;
            else
                ((float *)value)[e] = (float)x;
        }
}

mo_csr *mo_normalize_block(mo_context *ctx, int64_t first, int64_t n, const int64_t *row_pointer, const int32_t *column,
    const float *weight, mo_dtype real) {
    if (mo_ok(ctx) && !mo_dtype_is_real(real))
        mo_fail(ctx, MO_INVALID, "normalized adjacency: dtype %s, expected float32 or float64", mo_dtype_name(real));
    if (!mo_ok(ctx))
        return NULL;
    int64_t start = row_pointer[first], nnz = row_pointer[first + n] - start;
    int64_t *pointer = moved_pointers(ctx, row_pointer + first, n);
    int32_t *moved = mo_host_array(ctx, nnz, sizeof *moved);
    void *value = mo_host_array(ctx, nnz, mo_dtype_size(real));
    double *degree = mo_host_array(ctx, n, sizeof *degree);
    if (mo_ok(ctx) && move_columns(ctx, column + start, nnz, first, n, moved))
        fill_normalized(pointer, moved, n, weight ? weight + start : NULL, degree, real, value);
    free(degree);
    mo_csr *A = mo_csr_wrap(ctx, n, n, pointer, moved, real, value, MO_CSR_ARRAYS);
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
    int64_t start = graph->feature_pointer[first];
    int64_t *moved = start > 0 && mo_ok(ctx) ? moved_pointers(ctx, graph->feature_pointer + first, n) : NULL;
    return mo_csr_wrap(ctx, n, graph->features, start > 0 ? moved : graph->feature_pointer + first,
        graph->feature_column + start, MO_F32, graph->feature_value + start, MO_CSR_ROW_POINTER * (start > 0));
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
