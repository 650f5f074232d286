/* tests/golden/golden_svd.c - normalised adjacency, truncated decompositions and the hop stack, against an exact
 * decomposition. */
#include "tests/golden/golden.h"
#include "tests/sparse_svd.h"
#include "train/svd/adjacency.h"

#include <stdlib.h>

/* Returns the stored edges, each listed once, as a symmetric matrix; self-loops stay single entries. */
static mo_csr *stored_graph(golden *g) {
    mo_tensor *row = golden_find(g, "", "row"), *col = golden_find(g, "", "col");
    int64_t n = (int64_t)golden_number(g, "", "n", 0), m = row ? mo_numel(row) : 0, nnz = 0;
    int64_t *u = malloc((size_t)m * 8 + 8), *v = malloc((size_t)m * 8 + 8), *pointer = calloc((size_t)n + 1, 8);
    int32_t *column = malloc((size_t)m * 8 + 8);
    mo_tensor_read(row, u, (size_t)m * 8);
    mo_tensor_read(col, v, (size_t)m * 8);
    for (int64_t i = 0; i < n; i++) { /* reads all edges for each row, as the graph is small */
        for (int64_t e = 0; e < m; e++) {
            if (u[e] == i)
                column[nnz++] = (int32_t)v[e];
            else if (v[e] == i)
                column[nnz++] = (int32_t)u[e];
        }
        pointer[i + 1] = nnz;
    }
    mo_csr *A = mo_normalize_block(g->ctx, 0, n, pointer, column, NULL, g->real);
    free(u);
    free(v);
    free(pointer);
    free(column);
    return A;
}

static mo_tensor *identity(golden *g, int64_t n) {
    mo_tensor *one = mo_scalar(g->t, g->real, 1);
    return mo_add_diag(g->t, mo_full(g->t, g->real, 2, (int64_t[]){n, n}, 0), one);
}

/* Returns a dense matrix as CSR with every entry stored. */
static mo_csr *dense_csr(golden *g, const char *name) {
    mo_tensor *X = golden_data(g, "", name);
    int64_t n = mo_dim(X, 0), m = mo_dim(X, 1), *pointer = malloc((size_t)(n + 1) * 8);
    int32_t *column = malloc((size_t)(n * m) * 4);
    void *values = malloc((size_t)(n * m) * 8);
    for (int64_t i = 0; i <= n; i++)
        pointer[i] = i * m;
    for (int64_t i = 0; i < n * m; i++)
        column[i] = (int32_t)(i % m);
    mo_tensor_read(X, values, (size_t)(n * m) * mo_dtype_size(g->real));
    mo_csr *A = mo_csr_create(g->ctx, n, m, pointer, column, g->real, values);
    free(pointer);
    free(column);
    free(values);
    return A;
}

static mo_tensor *gram(mo_tape *t, mo_tensor *P) {
    return mo_matmul(t, P, mo_transpose(t, P));
}

static void check_structure(golden *g, const mo_csr *A) {
    mo_tape *t = g->t;
    mo_tensor *U, *S, *V;
    int rank = (int)golden_number(g, "", "rank", 0);
    sparse_svd(t, A, rank, -1, 7, &U, &S, &V, NULL);
    golden_compare(g, "", "sigma", S);
    golden_compare(g, "", "projector", gram(t, U));
    golden_compare(g, "", "PA_gram", gram(t, mo_mul(t, mo_add(t, U, V), mo_sqrt(t, S))));
}

static void check_attributes(golden *g) {
    mo_tape *t = g->t;
    mo_tensor *U, *S, *V;
    mo_csr *X = dense_csr(g, "X");
    sparse_svd(t, X, (int)mo_csr_columns(X), -1, 7, &U, &S, &V, NULL);
    golden_compare(g, "", "X_sigma", S);
    golden_compare(g, "", "PX_gram", gram(t, mo_mul(t, U, mo_sqrt(t, S))));
    mo_csr_release(X);
}

void golden_svd(golden *g) {
    mo_csr *A = stored_graph(g);
    if (!A)
        return;
    mo_tape_set_mode(g->t, MO_EVAL);
    mo_tensor *X0 = golden_data(g, "", "X0");
    golden_compare(g, "", "A_norm", mo_spmm(g->t, A, identity(g, mo_csr_rows(A))));
    golden_compare(g, "", "layer_norm", mo_layer_norm(g->t, X0, 1e-5));
    mo_tensor *hop[4] = {mo_layer_norm(g->t, X0, 1e-5)};
    for (int k = 1; k < 4; k++)
        hop[k] = mo_spmm(g->t, A, hop[k - 1]);
    golden_compare(g, "", "hop_stack", mo_stack(g->t, hop, 4, MO_AXIS(1))); /* [n, hops d], with hops side by side */
    check_structure(g, A);
    check_attributes(g);
    golden_end_case(g, "");
    mo_csr_release(A);
}
