/* train/features/nodes/kernels.c - kernels between the nodes of a graph, one an expert.
 *
 * An expert of dense rows has those of the asked nodes made and multiplied; A1 adds up the common neighbours of each
 * pair; S takes differences. */
#include "train/features/nodes/kernels.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/host_array.h"
#include "train/features/example_rows.h"
#include "train/features/feature_memory.h"
#include "train/features/nodes/attribute_rows.h"
#include "train/features/nodes/structure_columns.h"
#include "train/features/row_stack.h"
#include "train/svd/adjacency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOP = 2, TILE = 1024 /* rows of a that are made at a time */, FIXED = 6, FEW = 8 };

/* Rows that a user gave. */
typedef struct given_rows {
    float *x; /* [nodes, w], of unit length */
    int64_t w;
} given_rows;

struct mo_node_kernels {
    const mo_graph *graph;
    mo_context *host, *own; /* of the CPU: the graph's, or our own */
    mo_attribute_rows attributes;
    float *structure; /* [nodes, MO_STRUCTURE_COLUMNS] */
    int varying;      /* of its columns */
    mo_row_stack hop[MO_BLOCKS];
    mo_tensor *hops; /* [MO_BLOCKS, nodes, d]: a copy of what a device has, or NULL */
    int32_t *place;  /* [nodes]: -1 between calls; of a node that a call met, its number */
    given_rows *given;
    char **name; /* [count] */
    int count, n_given;
    bool has_attributes, has_edges, has_hops;
};

/* The two lists of a call. */
typedef struct node_pairs {
    const int64_t *a, *b;
    int64_t n_a, n_b;
} node_pairs;

/* ---- experts of dense rows ---- */

/* out [kinds, n, w]: rows of the listed nodes. */
typedef bool fill_rows(const mo_node_kernels *k, int expert, const int64_t *node, int64_t n, float *out);

static bool fill_attributes(const mo_node_kernels *k, int expert, const int64_t *node, int64_t n, float *out) {
    (void)expert;
    return mo_attribute_rows_fill(&k->attributes, node, n, out);
}

static void bring_to_unit_length(float *x, int64_t w) {
    double squares = 0;
    for (int64_t j = 0; j < w; j++)
        squares += (double)x[j] * x[j];
    double inverse = squares > 0 ? 1 / sqrt(squares) : 0;
    for (int64_t j = 0; j < w; j++)
        x[j] = (float)(x[j] * inverse);
}

static bool fill_hops(const mo_node_kernels *k, int expert, const int64_t *node, int64_t n, float *out) {
    (void)expert;
    mo_context *ctx = k->graph->ctx;
    char why[512];
    int64_t d = (int64_t)(k->hop[0].width / sizeof(float));
    float *second = mo_host_array(ctx, n * d, sizeof *second);
    bool done = second;
    for (int b = 0; b < MO_BLOCKS && done; b++) {
        done = mo_fetch_rows_into(&k->hop[b], node, n, (char *)(b ? second : out), why, sizeof why);
        if (!done)
            mo_fail(ctx, MO_IO, "kernels: %s", why);
    }
    for (int64_t i = 0; i < n && done; i++) {
        for (int64_t j = 0; j < d; j++)
            out[i * d + j] += second[i * d + j];
        bring_to_unit_length(out + i * d, d);
    }
    free(second);
    return done;
}

static bool fill_given(const mo_node_kernels *k, int expert, const int64_t *node, int64_t n, float *out) {
    const given_rows *g = &k->given[expert];
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * g->w, g->x + node[i] * g->w, (size_t)g->w * sizeof *out);
    return true;
}

static mo_view matrix_view(const float *x, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
    return (mo_view){(void *)(uintptr_t)x, MO_F32, 2, {rows, columns}, {row_stride, column_stride}};
}

/* K [n_a, n_b] := 1 + X Y^T for rows X [n_a, w] and Y [n_b, w]. */
static void multiply_rows(
    const mo_node_kernels *k, const float *X, int64_t n_a, const float *Y, int64_t n_b, int64_t w, float *K) {
    mo_math math = k->host->math;
    for (int64_t i = 0; i < n_a * n_b; i++)
        K[i] = 1;
    mo_view x = matrix_view(X, n_a, w, w, 1), y = matrix_view(Y, w, n_b, 1, w), z = matrix_view(K, n_a, n_b, n_b, 1);
    k->host->math = MO_MATH_FP32; /* without rounded factors */
    mo_matmul_views(k->host, 1, &x, &y, 1, &z);
    k->host->math = math;
}

/* The kernels [kinds, n_a, n_b] of experts whose rows `fill` makes together. */
static bool compare_rows(
    const mo_node_kernels *k, fill_rows *fill, int expert, int kinds, int64_t w, const node_pairs *p, float *K) {
    mo_context *ctx = k->graph->ctx;
    int64_t tile = p->n_a < TILE ? p->n_a : TILE;
    float *X = mo_host_array(ctx, kinds * tile * w, sizeof *X), *Y = mo_host_array(ctx, kinds * p->n_b * w, sizeof *Y);
    bool done = X && Y && fill(k, expert, p->b, p->n_b, Y);
    for (int64_t i = 0; i < p->n_a && done; i += tile) {
        int64_t n = p->n_a - i < tile ? p->n_a - i : tile;
        done = fill(k, expert, p->a + i, n, X);
        for (int kind = 0; kind < kinds && done; kind++)
            multiply_rows(k, X + kind * n * w, n, Y + kind * p->n_b * w, p->n_b, w, K + (kind * p->n_a + i) * p->n_b);
    }
    free(X);
    free(Y);
    return done && mo_ok(k->host);
}

/* ---- A1: common neighbours ---- */

/* The length of row u of A D^-1/2, inverted. */
static double inverse_neighbour_length(const mo_graph *g, int64_t u) {
    double squares = 0;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        squares += 1 / (double)degree(g, g->column[e]);
    return squares > 0 ? 1 / sqrt(squares) : 0;
}

/* Of each neighbour of a node of b, the places in b whose neighbour it is; neighbours are numbered by place[]. */
typedef struct neighbour_lists {
    int64_t n;
    int64_t *node;  /* [n]: the neighbour */
    int64_t *first; /* [n + 1] */
    int32_t *item;
    double *inverse; /* [n_b] */
} neighbour_lists;

static bool list_neighbours(mo_node_kernels *k, const node_pairs *p, neighbour_lists *l) {
    const mo_graph *g = k->graph;
    int64_t all = 0;
    for (int64_t j = 0; j < p->n_b; j++)
        all += degree(g, p->b[j]);
    *l = (neighbour_lists){0, mo_host_array(g->ctx, all, sizeof *l->node),
        mo_host_array(g->ctx, all + 2, sizeof *l->first), mo_host_array(g->ctx, all, sizeof *l->item),
        mo_host_array(g->ctx, p->n_b, sizeof *l->inverse)};
    if (!mo_ok(g->ctx))
        return false;
    for (int64_t j = 0; j < p->n_b; j++)
        for (int64_t e = g->row_pointer[p->b[j]]; e < g->row_pointer[p->b[j] + 1]; e++) {
            int64_t v = g->column[e];
            if (k->place[v] < 0) {
                k->place[v] = (int32_t)l->n;
                l->node[l->n++] = v;
            }
            l->first[k->place[v] + 2]++;
        }
    for (int64_t v = 0; v < l->n; v++)
        l->first[v + 2] += l->first[v + 1];
    for (int64_t j = 0; j < p->n_b; j++) {
        l->inverse[j] = inverse_neighbour_length(g, p->b[j]);
        for (int64_t e = g->row_pointer[p->b[j]]; e < g->row_pointer[p->b[j] + 1]; e++)
            l->item[l->first[k->place[g->column[e]] + 1]++] = (int32_t)j;
    }
    return true;
}

static void compare_neighbours_of(
    const mo_node_kernels *k, const neighbour_lists *l, int64_t u, int64_t n_b, double *sum, float *K) {
    const mo_graph *g = k->graph;
    double inverse = inverse_neighbour_length(g, u);
    memset(sum, 0, (size_t)n_b * sizeof *sum);
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++) {
        int32_t v = k->place[g->column[e]];
        double part = 1 / (double)degree(g, g->column[e]);
        for (int64_t i = v < 0 ? 0 : l->first[v]; v >= 0 && i < l->first[v + 1]; i++)
            sum[l->item[i]] += part;
    }
    for (int64_t j = 0; j < n_b; j++)
        K[j] = (float)(1 + sum[j] * inverse * l->inverse[j]);
}

static bool compare_neighbours(mo_node_kernels *k, const node_pairs *p, float *K) {
    neighbour_lists l;
    bool started = list_neighbours(k, p, &l);
    bool listed = started;
#pragma omp parallel num_threads(mo_context_threads(k->host)) if (listed && p->n_a > 1)
    {
        double *sum = calloc((size_t)p->n_b, sizeof *sum);
        if (!sum)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, FEW)
        for (int64_t i = 0; i < p->n_a; i++)
            if (sum && listed)
                compare_neighbours_of(k, &l, p->a[i], p->n_b, sum, K + i * p->n_b);
        free(sum);
    }
    for (int64_t v = 0; v < l.n; v++)
        k->place[l.node[v]] = -1;
    free(l.node);
    free(l.first);
    free(l.item);
    free(l.inverse);
    if (mo_ok(k->graph->ctx) && !started)
        mo_fail(k->graph->ctx, MO_MEMORY, "kernels: out of memory for common neighbours");
    return started;
}

/* ---- S ---- */

static void compare_structure(const mo_node_kernels *k, const node_pairs *p, float *K) {
    enum { COLUMNS = MO_STRUCTURE_COLUMNS };
    float rate = -1 / (2 * (float)k->varying);
#pragma omp parallel for num_threads(mo_context_threads(k->host)) schedule(dynamic, FEW) if (p->n_a > 1)
    for (int64_t i = 0; i < p->n_a; i++)
        for (int64_t j = 0; j < p->n_b; j++) {
            const float *x = k->structure + p->a[i] * COLUMNS, *y = k->structure + p->b[j] * COLUMNS;
            float squares = 0;
            for (int c = 0; c < COLUMNS; c++)
                squares += (x[c] - y[c]) * (x[c] - y[c]);
            K[i * p->n_b + j] = 1 + expf(rate * squares);
        }
}

/* ---- all experts ---- */

static bool nodes_exist(const mo_graph *graph, const int64_t *node, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (node[i] < 0 || node[i] >= graph->nodes) {
            mo_fail(
                graph->ctx, MO_INVALID, "kernels: node %" PRId64 ", expected 0 to %" PRId64, node[i], graph->nodes - 1);
            return false;
        }
    return true;
}

/* Raises in the graph's context what our own has raised. */
static mo_code code_of_both(const mo_node_kernels *k) {
    mo_context *ctx = k->graph->ctx;
    if (k->own && mo_ok(ctx) && !mo_ok(k->own)) {
        mo_fail(ctx, mo_context_status(k->own)->code, "%s", mo_context_status(k->own)->message);
        mo_clear_error(k->own);
    }
    return mo_code_of(ctx);
}

mo_code mo_node_kernels_gram(
    mo_node_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K) {
    if (!k)
        return MO_INVALID;
    const mo_graph *graph = k->graph;
    if (!mo_ok(graph->ctx) || !nodes_exist(graph, a, n_a) || !nodes_exist(graph, b, n_b) || n_a == 0 || n_b == 0)
        return mo_code_of(graph->ctx);
    node_pairs p = {a, b, n_a, n_b};
    int64_t pairs = n_a * n_b, d = (int64_t)(k->hop[0].width / sizeof(float));
    bool done = true;
    if (k->has_attributes) {
        done = compare_rows(k, fill_attributes, 0, MO_ATTRIBUTE_KINDS, graph->features, &p, K);
        K += MO_ATTRIBUTE_KINDS * pairs;
    }
    if (k->has_edges && done) {
        done = compare_neighbours(k, &p, K);
        K += pairs;
    }
    if (k->varying > 0 && done) {
        compare_structure(k, &p, K);
        K += pairs;
    }
    if (k->has_hops && done) {
        done = compare_rows(k, fill_hops, 0, 1, d, &p, K);
        K += pairs;
    }
    for (int i = 0; i < k->n_given && done; i++, K += pairs)
        done = compare_rows(k, fill_given, i, 1, k->given[i].w, &p, K);
    return code_of_both(k);
}

int mo_node_kernels_count(const mo_node_kernels *k) {
    return k ? k->count : 0;
}

const char *mo_node_kernels_name(const mo_node_kernels *k, int e) {
    return k && e >= 0 && e < k->count ? k->name[e] : NULL;
}

/* ---- made, added to, released ---- */

static bool add_name(mo_node_kernels *k, const char *name) {
    char **grown = realloc(k->name, (size_t)(k->count + 1) * sizeof *grown), *own = mo_text_copy(k->graph->ctx, name);
    k->name = grown ? grown : k->name;
    if (!grown || !own) {
        mo_fail(k->graph->ctx, MO_MEMORY, "kernels: out of memory for the name of an expert");
        free(own);
        return false;
    }
    k->name[k->count++] = own;
    return true;
}

static bool rows_are_finite(const mo_node_kernels *k, const char *name, const float *rows, int64_t w) {
    for (int64_t i = 0; i < k->graph->nodes * w; i++)
        if (!isfinite(rows[i])) {
            mo_fail(k->graph->ctx, MO_NUMERICAL,
                "kernels: expert %s: column %" PRId64 " of node %" PRId64 " is %g, expected a finite value", name,
                i % w, i / w, (double)rows[i]);
            return false;
        }
    return true;
}

mo_code mo_node_kernels_add(mo_node_kernels *k, const char *name, const float *rows, int64_t w) {
    if (!k)
        return MO_INVALID;
    mo_context *ctx = k->graph->ctx;
    if (mo_ok(ctx) && w < 1)
        mo_fail(ctx, MO_INVALID, "kernels: expert %s: %" PRId64 " columns, expected 1 or more", name, w);
    for (int e = 0; e < k->count && mo_ok(ctx); e++)
        if (!strcmp(k->name[e], name))
            mo_fail(ctx, MO_INVALID, "kernels: there is an expert %s; expected another name", name);
    if (!mo_ok(ctx) || !rows_are_finite(k, name, rows, w))
        return mo_code_of(ctx);
    given_rows *grown = realloc(k->given, (size_t)(k->n_given + 1) * sizeof *grown);
    k->given = grown ? grown : k->given;
    float *x = grown ? mo_host_array(ctx, k->graph->nodes * w, sizeof *x) : NULL;
    if (!grown)
        mo_fail(ctx, MO_MEMORY, "kernels: out of memory for expert %s", name);
    if (!x || !add_name(k, name)) {
        free(x);
        return mo_code_of(ctx);
    }
    memcpy(x, rows, (size_t)(k->graph->nodes * w) * sizeof *x);
    for (int64_t i = 0; i < k->graph->nodes; i++)
        bring_to_unit_length(x + i * w, w);
    k->given[k->n_given++] = (given_rows){x, w};
    return MO_OK;
}

/* Bytes taken while the kernels of a graph are made. */
static double count_bytes(const mo_graph *graph, int threads) {
    double n = (double)graph->nodes, m = (double)graph->features;
    double kept =
        n * (4 + 4 * MO_STRUCTURE_COLUMNS + (m > 1 ? 8 * (1 + MO_ATTRIBUTE_KINDS) : 0)) + 8 * m * MO_ATTRIBUTE_KINDS;
    return kept + threads * (12 * n + 16 * m) + 16 * n;
}

static bool kernels_are_valid(const mo_graph *graph, int64_t memory) {
    mo_context *ctx = graph->ctx;
    double swap, limit = memory > 0 ? (double)memory : mo_free_memory("", &swap),
                 bytes = count_bytes(graph, mo_context_threads(ctx));
    if (!mo_ok(ctx))
        return false;
    if (graph->graphs != 1)
        mo_fail(ctx, MO_INVALID, "kernels: '%s' has %" PRId64 " graphs, expected one", graph->name, graph->graphs);
    else if (bytes > limit)
        mo_fail(ctx, MO_MEMORY, "kernels: '%s' needs %.0f bytes; %s %.0f", graph->name, bytes,
            memory > 0 ? "the limit of memory is" : "free memory is", limit);
    return mo_ok(ctx) && mo_features_fit_products(graph);
}

/* Finds hop 2 of both blocks of the features, if they have it; copies it from a device. */
static bool find_hops(mo_node_kernels *k, const mo_features *nodes) {
    mo_tensor *blocks = nodes && nodes->hops >= HOP && k->has_edges ? mo_arrays_find(nodes->arrays, "blocks") : NULL;
    if (!blocks || mo_ndim(blocks) != 4 || mo_dim(blocks, 2) != k->graph->nodes)
        return mo_ok(k->graph->ctx);
    k->has_hops = true;
    if (mo_context_device(blocks->ctx) == MO_CPU) {
        for (int b = 0; b < MO_BLOCKS; b++) {
            mo_row_stack *s = &k->hop[b];
            *s = mo_row_stack_of(blocks, 2);
            int64_t skipped = (b * mo_dim(blocks, 1) + HOP) * s->rows * (int64_t)s->stored;
            s->outer = 1;
            s->offset += skipped;
            s->data = s->data ? s->data + skipped : NULL;
        }
        return true;
    }
    mo_tape *t = mo_tape_create(blocks->ctx, MO_EVAL);
    int64_t n = k->graph->nodes, d = mo_dim(blocks, 3);
    k->hops = mo_tensor_create(k->host, MO_F32, 3, (int64_t[]){MO_BLOCKS, n, d});
    mo_tensor *hop = mo_contiguous(t, mo_slice(t, blocks, MO_AXIS(1), HOP, HOP + 1));
    if (mo_ok(k->host) && mo_ok(blocks->ctx))
        mo_tensor_read(hop, mo_tensor_view(k->hops).data, (size_t)(MO_BLOCKS * n * d) * sizeof(float));
    mo_tape_release(t);
    for (int b = 0; b < MO_BLOCKS && mo_ok(k->host); b++) {
        k->hop[b] = mo_row_stack_of(k->hops, 1);
        k->hop[b].outer = 1;
        k->hop[b].data += b * n * (int64_t)k->hop[b].stored;
    }
    return code_of_both(k) == MO_OK;
}

static bool make_kernels(mo_node_kernels *k, const mo_features *nodes) {
    static const char *const own_names[] = {"Xc", "PX", "HX", "A1", "S", "H"};
    const mo_graph *graph = k->graph;
    mo_context *ctx = graph->ctx;
    k->has_edges = graph->nnz > 0;
    k->has_attributes = graph->features > 1;
    k->place = mo_host_array(ctx, graph->nodes, sizeof *k->place);
    k->structure = mo_host_array(ctx, graph->nodes * MO_STRUCTURE_COLUMNS, sizeof *k->structure);
    if (!mo_ok(ctx) || (k->has_attributes && !mo_attribute_rows_make(graph, &k->attributes)))
        return false;
    for (int64_t u = 0; u < graph->nodes; u++)
        k->place[u] = -1;
    k->varying = mo_structure_columns(graph, k->structure);
    if (k->varying < 0 || !find_hops(k, nodes))
        return false;
    const bool has[FIXED] = {
        k->has_attributes, k->has_attributes, k->has_attributes, k->has_edges, k->varying > 0, k->has_hops};
    for (int i = 0; i < FIXED; i++)
        if (has[i] && !add_name(k, own_names[i]))
            return false;
    return true;
}

mo_node_kernels *mo_node_kernels_create(const mo_graph *graph, const mo_features *nodes, int64_t memory) {
    if (!graph || !kernels_are_valid(graph, memory))
        return NULL;
    mo_context *ctx = graph->ctx;
    mo_node_kernels *k = mo_host_array(ctx, 1, sizeof *k);
    if (!k)
        return NULL;
    k->graph = graph;
    k->own = mo_context_device(ctx) == MO_CPU
                 ? NULL
                 : mo_context_create(&(mo_context_options){.threads = mo_context_threads(ctx)});
    k->host = k->own ? k->own : ctx;
    if (code_of_both(k) == MO_OK && make_kernels(k, nodes))
        return k;
    mo_node_kernels_release(k);
    return NULL;
}

void mo_node_kernels_release(mo_node_kernels *k) {
    if (!k)
        return;
    mo_attribute_rows_free(&k->attributes);
    free(k->structure);
    free(k->place);
    for (int i = 0; i < k->n_given; i++)
        free(k->given[i].x);
    for (int e = 0; e < k->count; e++)
        free(k->name[e]);
    free(k->given);
    free(k->name);
    mo_tensor_release(k->hops);
    mo_context_release(k->own);
    free(k);
}
