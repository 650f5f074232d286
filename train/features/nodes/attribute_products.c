/* train/features/nodes/attribute_products.c - kernels of wide, sparse attributes.
 *
 * x_u: the attributes of node u at unit length. p_u: the mean of x_v over the neighbours v of u, that is, row u of P X.
 * Two tables, <x_u, x_j> and <x_u, p_j> for the nodes j of a list, are computed by sparse products. The other products
 * are
 *
 *     <p_i, x_j> = mean of <x_u, x_j>,   <p_i, p_j> = mean of <x_u, p_j>   over the neighbours u of i,
 *
 * which are sparse products of P with the tables, so that no p_i is multiplied. For two rows r and s of a kernel and
 * the mean mu of its rows, <r - mu, s - mu> = r s - r mu - s mu + mu mu. A row of the tables is made when its node, or
 * one of its neighbours, is first requested. */
#include "autograd/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/cpu/tasks.h"
#include "train/features/example_rows.h"
#include "train/features/nodes/attribute_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = 32 /* columns multiplied at once */,
    LINE = 16 /* floats of a cache line */,
    FEW = 8,
    EPISODE = 512,
    TABLE = 1 << 28 /* most entries of a table, unless TILE columns need more */
};
/* Cost of a multiplication in sparse rows relative to dense rows, as measured. */
static const double SPARSE_COST = 6;

/* Compares the costs of an episode that reads EPISODE nodes and their neighbours, at most all nodes. */
bool mo_attributes_are_sparse(const mo_graph *graph) {
    double n = (double)graph->nodes, entries = n > 0 ? (double)graph->feature_nnz / n : 0;
    double read = n > 0 ? fmin(1 + (double)graph->nnz / n, n / EPISODE) : 0;
    return 2 * entries * read * SPARSE_COST < MO_ATTRIBUTE_KINDS * (double)graph->features;
}

/* ---- the two tables ---- */

/* Adds c x_u to column j of W [columns, TILE]. */
static void scatter_row(const mo_attribute_rows *x, int64_t u, double c, float *W, int64_t j) {
    const mo_graph *g = x->graph;
    for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
        W[g->feature_column[e] * TILE + j] += (float)(c * g->feature_value[e]);
}

typedef struct tile {
    const mo_attribute_rows *x;
    const int64_t *node;
    int64_t n;
    float *own, *near; /* [columns, TILE] */
} tile;

/* A task fills LINE columns. */
static void fill_lines(const void *of, task_range some) {
    const tile *t = of;
    const mo_attribute_rows *x = t->x;
    const mo_graph *g = x->graph;
    for (int64_t j = some.first * LINE; j < min_of(t->n, some.end * LINE); j++) {
        int64_t u = t->node[j];
        scatter_row(x, u, x->scale[u], t->own, j);
        for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
            scatter_row(x, g->column[e], x->scale[g->column[e]] / (double)degree(g, u), t->near, j);
    }
}

/* Writes the rows of n nodes as columns: rows of X to own, rows of P X to near. */
static void fill_tile(const tile *t) {
    const mo_graph *g = t->x->graph;
    size_t bytes = (size_t)(g->features * TILE) * sizeof *t->own;
    memset(t->own, 0, bytes);
    memset(t->near, 0, bytes);
    run_tasks(mo_context_threads(g->ctx), (t->n + LINE - 1) / LINE, 0, fill_lines, t);
}

/* The attributes of the listed nodes, at unit length. */
static mo_csr *unit_attributes(const mo_attribute_rows *x, mo_context *host, const int64_t *node, int64_t n) {
    const mo_graph *g = x->graph;
    int64_t *first = mo_host_array(host, n + 1, sizeof *first), nnz = 0;
    for (int64_t i = 0; i < n && first; i++)
        first[i + 1] = nnz += g->feature_pointer[node[i] + 1] - g->feature_pointer[node[i]];
    int32_t *column = mo_host_array(host, nnz, sizeof *column);
    float *value = mo_host_array(host, nnz, sizeof *value);
    for (int64_t i = 0; i < n && mo_ok(host); i++) {
        int64_t from = g->feature_pointer[node[i]];
        for (int64_t e = first[i]; e < first[i + 1]; e++) {
            column[e] = g->feature_column[from + e - first[i]];
            value[e] = (float)(x->scale[node[i]] * g->feature_value[from + e - first[i]]);
        }
    }
    return mo_csr_wrap(host, n, g->features, first, column, MO_F32, value, MO_CSR_ARRAYS);
}

/* A view x [rows, columns] whose rows are `stride` floats apart. */
static mo_view view_of(float *x, int64_t rows, int64_t columns, int64_t stride) {
    return (mo_view){x, MO_F32, 2, {rows, columns}, {stride, 1}};
}

/* Gives each node of a, and each neighbour of such a node, a row if it has none yet; lists the nodes that get one.
 * Returns their number. */
static int64_t place_nodes(const mo_graph *g, const mo_row_pairs *p, mo_attribute_products *t, int64_t *placed) {
    int64_t before = t->met;
    for (int64_t i = 0; i < p->n_a; i++)
        for (int64_t e = g->row_pointer[p->a[i]] - 1; e < g->row_pointer[p->a[i] + 1]; e++) {
            int64_t u = e < g->row_pointer[p->a[i]] ? p->a[i] : g->column[e];
            if (t->place[u] >= 0)
                continue;
            placed[t->met - before] = u;
            t->place[u] = (int32_t)t->met++;
        }
    return t->met - before;
}

/* Computes the newest rows of both tables. X: the attributes of these rows' nodes; b: the nodes of the columns. */
static void make_rows(const mo_attribute_rows *x, mo_attribute_products *t, const int64_t *b, const mo_csr *X) {
    int64_t m = x->graph->features, first = (t->met - X->rows) * t->n;
    float *W = mo_host_array(X->ctx, 2 * m * TILE, sizeof *W);
    for (int64_t j = 0; j < t->n && W; j += TILE) {
        int64_t columns = t->n - j < TILE ? t->n - j : TILE;
        mo_view own = view_of(W, m, columns, TILE), near = view_of(W + m * TILE, m, columns, TILE);
        mo_view to_own = view_of(t->own + first + j, X->rows, columns, t->n);
        mo_view to_near = view_of(t->near + first + j, X->rows, columns, t->n);
        fill_tile(&(tile){.x = x, .node = b + j, .n = columns, .own = own.data, .near = near.data});
        mo_spmm_into(X, 0, &own, &to_own);
        mo_spmm_into(X, 0, &near, &to_near);
    }
    free(W);
}

static void create_tables(const mo_graph *g, mo_context *host, int64_t n, mo_attribute_products *t) {
    *t = (mo_attribute_products){.n = n,
        .place = mo_host_array(host, g->nodes, sizeof *t->place),
        .own = mo_host_array(host, g->nodes * n, sizeof *t->own),
        .near = mo_host_array(host, g->nodes * n, sizeof *t->near)};
    for (int64_t u = 0; t->place && u < g->nodes; u++)
        t->place[u] = -1;
}

static bool complete_tables(
    const mo_attribute_rows *x, mo_context *host, mo_attribute_products *t, const mo_row_pairs *p) {
    const mo_graph *g = x->graph;
    if (!t->place)
        create_tables(g, host, p->n_b, t);
    int64_t *placed = mo_ok(host) ? mo_host_array(host, g->nodes, sizeof *placed) : NULL;
    int64_t n = placed ? place_nodes(g, p, t, placed) : 0;
    mo_csr *X = n ? unit_attributes(x, host, placed, n) : NULL;
    if (X)
        make_rows(x, t, p->b, X);
    mo_csr_release(X);
    free(placed);
    return mo_ok(host);
}

/* ---- kernels from the tables ---- */

/* The rows of P for the nodes a, with columns numbered as rows of the tables. */
static mo_csr *mean_of_neighbours(
    const mo_graph *g, mo_context *host, const mo_attribute_products *t, const mo_row_pairs *p) {
    int64_t *first = mo_host_array(host, p->n_a + 1, sizeof *first), nnz = 0;
    for (int64_t i = 0; i < p->n_a && first; i++)
        first[i + 1] = nnz += degree(g, p->a[i]);
    int32_t *column = mo_host_array(host, nnz, sizeof *column);
    float *value = mo_host_array(host, nnz, sizeof *value);
    for (int64_t i = 0; i < p->n_a && mo_ok(host); i++)
        for (int64_t e = first[i]; e < first[i + 1]; e++) {
            column[e] = t->place[g->column[g->row_pointer[p->a[i]] + e - first[i]]];
            value[e] = 1 / (float)(first[i + 1] - first[i]);
        }
    return mo_csr_wrap(host, p->n_a, t->met, first, column, MO_F32, value, MO_CSR_ARRAYS);
}

/* Computes row i of each kernel from the given <p_i, x_j> and <p_i, p_j>, and writes it for kernel `kind` to K + kind *
 * step. */
static void combine_row(const mo_attribute_rows *x, const mo_attribute_products *t, const mo_row_pairs *p, int64_t i,
    const float *mean_own, const float *mean_near, float *K, int64_t step) {
    int64_t u = p->a[i], row = t->place[u] * t->n;
    for (int64_t j = 0; j < t->n; j++) {
        float own = t->own[row + j], near = t->near[row + j];
        const double raw[MO_ATTRIBUTE_KINDS] = {own, mean_near[j], (double)own - near - mean_own[j] + mean_near[j]};
        for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
            const struct mo_attribute_mean *mean = &x->mean[kind];
            double centred = raw[kind] - mean->along[u] - mean->along[p->b[j]] + mean->squares;
            K[kind * step + j] = (float)(1 + centred * mean->inverse[u] * mean->inverse[p->b[j]]);
        }
    }
}

/* Kernels between the nodes a and the nodes of the tables' columns. */
typedef struct combination {
    const mo_attribute_rows *x;
    const mo_attribute_products *t;
    const mo_row_pairs *p;
    const float *mean; /* [2, n_a, n]: <p_i, x_j> and <p_i, p_j> */
    float *K;
    int64_t stride; /* floats between rows of K */
} combination;

static void combine_some(const void *of, task_range some) {
    const combination *c = of;
    int64_t n_a = c->p->n_a, n = c->t->n;
    for (int64_t i = some.first; i < some.end; i++)
        combine_row(
            c->x, c->t, c->p, i, c->mean + i * n, c->mean + (n_a + i) * n, c->K + i * c->stride, n_a * c->stride);
}

/* Computes the kernels between the nodes a and the nodes of the tables' columns; rows of K are `stride` floats
 * apart. */
static bool combine_rows(const mo_attribute_rows *x, mo_context *host, const mo_attribute_products *t,
    const mo_row_pairs *p, float *K, int64_t stride) {
    int64_t size = p->n_a * t->n;
    mo_csr *P = mean_of_neighbours(x->graph, host, t, p);
    float *mean = mo_host_array(host, 2 * size, sizeof *mean);
    if (P && mean) {
        mo_view own = view_of(t->own, t->met, t->n, t->n), near = view_of(t->near, t->met, t->n, t->n);
        mo_view mean_own = view_of(mean, p->n_a, t->n, t->n), mean_near = view_of(mean + size, p->n_a, t->n, t->n);
        mo_spmm_into(P, 0, &own, &mean_own);
        mo_spmm_into(P, 0, &near, &mean_near);
        const combination c = {.x = x, .t = t, .p = p, .mean = mean, .K = K, .stride = stride};
        run_tasks(mo_context_threads(host), p->n_a, 0, combine_some, &c);
    }
    mo_csr_release(P);
    free(mean);
    return mo_ok(host);
}

bool mo_attribute_products_fill(
    const mo_attribute_rows *x, mo_context *host, mo_attribute_products *t, const mo_row_pairs *p, float *K) {
    int64_t width = TABLE / x->graph->nodes > TILE ? TABLE / x->graph->nodes : TILE;
    for (int64_t j = 0; j < p->n_b && mo_ok(host); j += width) {
        mo_row_pairs part = {p->a, p->b + j, p->n_a, p->n_b - j < width ? p->n_b - j : width};
        if (width < p->n_b) /* the tables still hold the columns of the part before */
            mo_attribute_products_free(t);
        if (!complete_tables(x, host, t, &part) || !combine_rows(x, host, t, &part, K + j, p->n_b))
            mo_attribute_products_free(t);
    }
    return mo_ok(host);
}

void mo_attribute_products_free(mo_attribute_products *t) {
    free(t->place);
    free(t->own);
    free(t->near);
    *t = (mo_attribute_products){0};
}
