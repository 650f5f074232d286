/* train/features/sets/subtrees.c - the Weisfeiler-Lehman optimal assignment kernel (Kriege, Giscard, Wilson 2016) of a
 * set of graphs, in coordinates.
 *
 * A node's first colour is a hash of its features in columns of small whole numbers. Columns of measured values are
 * left out: two nodes rarely share such a value, so each node would get its own colour. Each of three rounds mixes a
 * node's colour with the sum of the neighbours' mixed colours, modulo 2^64, so that no order of the neighbours matters.
 * With n_c nodes of colour c in a graph, k(G, G') = sum over rounds and colours of min(n_c, n'_c). That is an inner
 * product of rows with one column for every colour c and every value v that n_c takes in some graph: the entry is (v -
 * v_before)^(1/2) if n_c >= v, with v_before the next smaller value. Columns of a single graph are left out, since they
 * change only the diagonal. Rows are divided by the root of k(G, G); their SVD gives the coordinates. */
#include "train/features/sets/set_blocks.h"

#include "ops/inside.h"
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, SUBTREE_STREAM = 3, MOST_KINDS = 128, FEW = 16 };

/* The nodes of one colour in one graph. */
typedef struct entry {
    uint64_t colour;
    int64_t graph, count;
} entry;

/* One value of the sparse matrix. */
typedef struct cell {
    int64_t graph, column;
    float value;
} cell;

typedef struct cells {
    mo_context *ctx;
    cell *list;
    int64_t n, capacity, columns;
} cells;

/* splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit. */
static uint64_t mix_colour(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* For each column, whether it has only whole numbers of magnitude below MOST_KINDS: [features]; free() the array. NULL
 * on failure. */
static bool *find_kinds(const mo_graph *graph) {
    bool *kind = mo_host_array(graph->ctx, graph->features, sizeof *kind);
    for (int64_t j = 0; kind && j < graph->features; j++)
        kind[j] = true;
    for (int64_t e = 0; kind && e < graph->feature_nnz; e++) {
        float x = graph->feature_value[e];
        kind[graph->feature_column[e]] &= x == rintf(x) && fabsf(x) < MOST_KINDS;
    }
    return kind;
}

static uint64_t first_colour(const mo_graph *graph, const bool *kind, int64_t u) {
    uint64_t colour = 0;
    if (graph->features == 0)
        return colour;
    for (int64_t e = graph->feature_pointer[u]; e < graph->feature_pointer[u + 1]; e++) {
        uint32_t bits;
        if (!kind[graph->feature_column[e]])
            continue;
        memcpy(&bits, &graph->feature_value[e], sizeof bits);
        colour = mix_colour(colour + ((uint64_t)(uint32_t)graph->feature_column[e] << 32 | bits));
    }
    return colour;
}

static int compare_colours(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->colour != y->colour)
        return x->colour > y->colour ? 1 : -1;
    return (x->graph > y->graph) - (x->graph < y->graph);
}

/* Counts the colours of graph g after round t into out; returns the number of colours. The round is part of the
 * colour. */
static int64_t count_colours(const uint64_t *colour, int64_t n, int64_t g, int t, uint64_t *sorted, entry *out) {
    int64_t kinds = 0;
    for (int64_t i = 0; i < n; i++)
        sorted[i] = mix_colour(colour[i] + (uint64_t)t);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_colours);
    for (int64_t i = 0; i < n; i++)
        if (i && sorted[i] == sorted[i - 1])
            out[kinds - 1].count++;
        else
            out[kinds++] = (entry){sorted[i], g, 1};
    return kinds;
}

/* A list with (ROUNDS + 1) entries per node of a set, and what fills it; unused entries have count 0. */
typedef struct colouring {
    const mo_graph *graph;
    const bool *kind;
    uint64_t *colour, *other; /* scratch [nodes]: a graph uses those of its nodes */
    entry *list;
} colouring;

/* Writes all colours of graph g to its part of the list. */
static void colour_graph(const colouring *w, int64_t g) {
    const mo_graph *graph = w->graph;
    uint64_t *colour = w->colour, *other = w->other;
    int64_t first = graph->graph_offset[g], n = graph->graph_offset[g + 1] - first;
    entry *out = w->list + first * (ROUNDS + 1);
    for (int64_t u = first; u < first + n; u++)
        colour[u] = first_colour(graph, w->kind, u);
    if (graph->features > 0)
        out += count_colours(colour + first, n, g, 0, other + first, out);
    for (int t = 1; t <= ROUNDS; t++) {
        for (int64_t u = first; u < first + n; u++) {
            uint64_t sum = mix_colour(
                mix_colour(colour[u])); /* mixed twice, as mix_colour(colour[u]) alone could be a neighbour's term */
            for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
                sum += mix_colour(colour[graph->column[e]]);
            other[u] = mix_colour(sum);
        }
        memcpy(colour + first, other + first, (size_t)n * sizeof *colour);
        out += count_colours(colour + first, n, g, t, other + first, out);
    }
}

static void colour_some(const void *of, task_range some) {
    for (int64_t g = some.first; g < some.end; g++)
        colour_graph(of, g);
}

/* The entries of all graphs, by colour and then by graph; *n: their number. */
static entry *list_entries(const mo_graph *graph, int64_t *n) {
    mo_context *ctx = graph->ctx;
    uint64_t *colour = mo_host_array(ctx, graph->nodes, sizeof *colour),
             *other = mo_host_array(ctx, graph->nodes, sizeof *other);
    entry *list = mo_host_array(ctx, graph->nodes * (ROUNDS + 1), sizeof *list);
    bool *kind = find_kinds(graph);
    const colouring w = {.graph = graph, .kind = kind, .colour = colour, .other = other, .list = list};
    *n = 0;
    if (mo_ok(ctx))
        run_tasks(mo_context_threads(ctx), graph->graphs, FEW, colour_some, &w);
    for (int64_t i = 0; mo_ok(ctx) && i < graph->nodes * (ROUNDS + 1); i++)
        if (list[i].count)
            list[(*n)++] = list[i];
    if (mo_ok(ctx))
        qsort(list, (size_t)*n, sizeof *list, compare_entries);
    free(colour);
    free(other);
    free(kind);
    return list;
}

/* ---- the sparse matrix ---- */

static int compare_counts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_cell(cells *c, int64_t graph, float value) {
    if (mo_host_array_grow(c->ctx, &c->list, &c->capacity, c->n + 1, sizeof *c->list))
        c->list[c->n++] = (cell){graph, c->columns, value};
}

/* Makes the columns of one colour, which n graphs have; count [n] is scratch. */
static void add_colour(cells *c, const entry *e, int64_t n, bool single, const double *norm, int64_t *count) {
    for (int64_t i = 0; i < n; i++)
        count[i] = e[i].count;
    qsort(count, (size_t)n, sizeof *count, compare_counts);
    int64_t before = 0;
    for (int64_t k = 0; k < n - !single && mo_ok(c->ctx); k++) { /* a single graph can have the largest count alone */
        if (count[k] == before)
            continue;
        double root = sqrt((double)(count[k] - before));
        for (int64_t i = 0; i < n; i++)
            if (e[i].count >= count[k])
                add_cell(c, e[i].graph, (float)(root / norm[e[i].graph]));
        before = count[k];
        c->columns++;
    }
}

static cells list_cells(const mo_graph *graph, const entry *list, int64_t n, bool single) {
    cells c = {.ctx = graph->ctx};
    double *norm = mo_host_array(c.ctx, graph->graphs, sizeof *norm);
    int64_t *count = mo_host_array(c.ctx, graph->graphs, sizeof *count);
    for (int64_t i = 0; norm && i < n; i++)
        norm[list[i].graph] += (double)list[i].count;
    for (int64_t g = 0; norm && g < graph->graphs; g++)
        norm[g] = sqrt(norm[g]);
    for (int64_t first = 0, stop; first < n && mo_ok(c.ctx); first = stop) {
        for (stop = first + 1; stop < n && list[stop].colour == list[first].colour; stop++)
            ;
        add_colour(&c, list + first, stop - first, single, norm, count);
    }
    free(norm);
    free(count);
    if (mo_ok(c.ctx) && c.columns > INT32_MAX)
        mo_fail(c.ctx, MO_UNSUPPORTED, "features: '%s' has more than 2^31 kinds of subtrees", graph->name);
    return c;
}

/* The matrix [graphs, columns]; each graph's cells in rising order of columns. */
static mo_csr *matrix_of(const mo_graph *graph, const cells *c) {
    mo_context *ctx = graph->ctx;
    int64_t *first = mo_host_array(ctx, graph->graphs + 2, sizeof *first);
    int32_t *column = mo_host_array(ctx, c->n, sizeof *column);
    float *value = mo_host_array(ctx, c->n, sizeof *value);
    if (mo_ok(ctx)) {
        for (int64_t i = 0; i < c->n; i++)
            first[c->list[i].graph + 2]++;
        for (int64_t g = 0; g < graph->graphs; g++)
            first[g + 2] += first[g + 1];
        for (int64_t i = 0; i < c->n; i++) {
            int64_t at = first[c->list[i].graph + 1]++;
            column[at] = (int32_t)c->list[i].column;
            value[at] = c->list[i].value;
        }
    }
    return mo_csr_wrap(ctx, graph->graphs, c->columns, first, column, MO_F32, value, MO_CSR_ARRAYS);
}

mo_csr *mo_set_subtree_columns(const mo_graph *graph, bool single) {
    mo_context *ctx = graph->ctx;
    int64_t n;
    entry *list = list_entries(graph, &n);
    cells c = {.ctx = ctx};
    if (mo_ok(ctx))
        c = list_cells(graph, list, n, single);
    free(list);
    mo_csr *A = mo_ok(ctx) ? matrix_of(graph, &c) : NULL;
    free(c.list);
    return A;
}

mo_tensor *mo_set_subtrees(mo_tape *t, const mo_graph *graph, const mo_feature_options *o, mo_basis_quality *quality) {
    mo_csr *A = mo_set_subtree_columns(graph, false);
    if (!A)
        return mo_null_tensor(graph->ctx);
    if (mo_csr_columns(A) == 0) {
        mo_csr_release(A);
        return mo_full(t, MO_F32, 2, (int64_t[]){graph->graphs, MO_SUBTREES}, 0);
    }
    mo_basis_side s = mo_basis_side_of(t, MO_SUBTREES, o, SUBTREE_STREAM);
    mo_tensor *P = mo_attribute_basis(&s, A, false);
    mo_csr_release(A);
    *quality = s.quality;
    return mo_l2_normalize(t, P, 1e-6);
}
