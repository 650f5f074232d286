/* train/features/nodes/attribute_rows.c - centred rows of unit length: nodes' attributes, the means over their
 * neighbours, and the difference.
 *
 * Rows of P X are sums over the neighbours' sparse rows, so only lengths and means are kept: the mean of P X is (1 / n)
 * sum_v w_v x_v with w_v the sum of 1 / d_u over the neighbours u of v, and |r - mu|^2 = r r - 2 r mu + mu mu reads
 * only the columns where r is not zero. */
#include "train/features/nodes/attribute_rows.h"

#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/example_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TASK = 64, FEW = 8, PAIRS = 16384, AHEAD = 4 /* neighbours */, MOST_FETCHED = 128 /* values */ };
/* A row whose squared distance to the mean is at most this share of the sum of their squared lengths counts as the
 * mean. */
static const double SAME = 1e-11;
/* The same where products of sparse rows are sums and differences of float32 numbers as large as the rows
 * (attribute_products.c): what is smaller is their rounding, of which no kernel can be made. */
static const double ROUNDED = 1e-5;

static bool rows_are_full(const mo_graph *g) {
    bool full = g->feature_nnz == g->nodes * g->features;
    for (int64_t u = 0; u < g->nodes && full; u++)
        for (int64_t c = 0; c < g->features && full; c++)
            full = g->feature_pointer[u] == u * g->features && g->feature_column[u * g->features + c] == c;
    return full;
}

/* y += c x for the row x of node v. */
static void add_row(const mo_attribute_rows *x, int64_t v, double c, double *y) {
    const mo_graph *g = x->graph;
    const float *value = g->feature_value;
    int64_t from = g->feature_pointer[v], to = g->feature_pointer[v + 1];
    if (x->full)
        for (int64_t e = from; e < to; e++)
            y[e - from] += c * value[e];
    else
        for (int64_t e = from; e < to; e++)
            y[g->feature_column[e]] += c * value[e];
}

static int64_t entries_of(const mo_graph *g, int64_t u) {
    return g->feature_pointer[u + 1] - g->feature_pointer[u];
}

/* Starts to load n values, whose address the processor could not guess. */
static void fetch_values(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i += 16)
        __builtin_prefetch(x + i);
}

/* y += the row of P X of node u. */
static void add_neighbours(const mo_attribute_rows *x, int64_t u, double *y) {
    const mo_graph *g = x->graph;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++) {
        int64_t next = g->column[min_of(e + AHEAD, g->nnz - 1)];
        fetch_values(g->feature_value + g->feature_pointer[next], min_of(entries_of(g, next), MOST_FETCHED));
        add_row(x, g->column[e], x->scale[g->column[e]] / (double)degree(g, u), y);
    }
}

static void find_scales(const mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    for (int64_t u = 0; u < g->nodes; u++) {
        double squares = 0;
        for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
            squares += (double)g->feature_value[e] * g->feature_value[e];
        x->scale[u] = squares > 0 ? 1 / sqrt(squares) : 0;
    }
}

static void find_means(mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    struct mo_attribute_mean *mean = x->mean;
    int64_t n = mo_counted_examples(g);
    bool *counts = mo_host_array(g->ctx, g->nodes, sizeof *counts);
    for (int64_t i = 0; counts && i < n; i++)
        counts[mo_counted(g, i)] = true;
    for (int64_t v = 0; counts && v < g->nodes; v++) {
        double weight = 0;
        for (int64_t e = g->row_pointer[v]; e < g->row_pointer[v + 1]; e++)
            weight += counts[g->column[e]] ? 1 / (double)degree(g, g->column[e]) : 0;
        if (counts[v])
            add_row(x, v, x->scale[v] / (double)n, mean[MO_OWN].row);
        add_row(x, v, x->scale[v] * weight / (double)n, mean[MO_OF_NEIGHBOURS].row);
    }
    free(counts);
    for (int64_t c = 0; c < g->features; c++)
        mean[MO_DIFFERENCE].row[c] = mean[MO_OWN].row[c] - mean[MO_OF_NEIGHBOURS].row[c];
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
        for (int64_t c = 0; c < g->features; c++)
            mean[kind].squares += mean[kind].row[c] * mean[kind].row[c];
}

/* Accumulates r r and r mu over the columns of a node's rows. */
typedef struct row_sums {
    double squares[MO_ATTRIBUTE_KINDS], along[MO_ATTRIBUTE_KINDS];
} row_sums;

/* Adds column c to the sums, and clears it in own and near. */
static void take_column(const mo_attribute_rows *x, int64_t c, double *own, double *near, row_sums *sums) {
    const double r[MO_ATTRIBUTE_KINDS] = {own[c], near[c], own[c] - near[c]};
    if (own[c] == 0 && near[c] == 0) /* already taken, or no entry */
        return;
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
        sums->squares[kind] += r[kind] * r[kind];
        sums->along[kind] += r[kind] * x->mean[kind].row[c];
    }
    own[c] = near[c] = 0;
}

/* Adds all columns in which node v has attributes. */
static void take_row(const mo_attribute_rows *x, int64_t v, double *own, double *near, row_sums *sums) {
    const mo_graph *g = x->graph;
    for (int64_t e = g->feature_pointer[v]; e < g->feature_pointer[v + 1]; e++)
        take_column(x, g->feature_column[e], own, near, sums);
}

/* own, near [columns]: zero before and after. */
static void find_lengths(const mo_attribute_rows *x, int64_t u, double *own, double *near) {
    const mo_graph *g = x->graph;
    row_sums sums = {{0}, {0}};
    int64_t entries = g->feature_pointer[u + 1] - g->feature_pointer[u];
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        entries += g->feature_pointer[g->column[e] + 1] - g->feature_pointer[g->column[e]];
    add_row(x, u, x->scale[u], own);
    add_neighbours(x, u, near);
    if (entries < g->features) {
        take_row(x, u, own, near, &sums);
        for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
            take_row(x, g->column[e], own, near, &sums);
    } else
        for (int64_t c = 0; c < g->features; c++)
            take_column(x, c, own, near, &sums);
    double size[MO_ATTRIBUTE_KINDS];
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
        size[kind] = sums.squares[kind] + x->mean[kind].squares;
    if (!x->full)
        size[MO_DIFFERENCE] = size[MO_OWN] + size[MO_OF_NEIGHBOURS];
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
        const struct mo_attribute_mean *mean = &x->mean[kind];
        double apart = sums.squares[kind] - 2 * sums.along[kind] + mean->squares;
        mean->along[u] = sums.along[kind];
        mean->inverse[u] = apart > (x->full ? SAME : ROUNDED) * size[kind] ? 1 / sqrt(apart) : 0;
    }
}

/* Nodes whose rows threads expand, each in its own scratch. */
typedef struct expansion {
    const mo_attribute_rows *x;
    const int64_t *node; /* NULL: all */
    int64_t n;
    double *scratch; /* [threads, 2, columns]: a node's own row, then the neighbours' mean */
    float *out;
} expansion;

static void find_some_lengths(const void *of, task_range some) {
    const expansion *w = of;
    int64_t m = w->x->graph->features;
    double *own = w->scratch + some.thread * 2 * m;
    for (int64_t u = some.first; u < some.end; u++)
        if (mo_goes_on(w->x->graph->ctx))
            find_lengths(w->x, u, own, own + m);
}

static double *expansion_scratch(const mo_graph *g) {
    return mo_host_array(g->ctx, mo_context_threads(g->ctx) * g->features, 2 * sizeof(double));
}

static bool find_all_lengths(const mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    const expansion w = {.x = x, .n = g->nodes, .scratch = expansion_scratch(g)};
    if (w.scratch)
        run_tasks(mo_context_threads(g->ctx), w.n, TASK, find_some_lengths, &w);
    free(w.scratch);
    return mo_ok(g->ctx);
}

bool mo_attribute_rows_make(const mo_graph *graph, mo_attribute_rows *x) {
    mo_context *ctx = graph->ctx;
    *x = (mo_attribute_rows){
        .graph = graph, .full = rows_are_full(graph), .scale = mo_host_array(ctx, graph->nodes, sizeof *x->scale)};
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
        x->mean[kind] = (struct mo_attribute_mean){.row = mo_host_array(ctx, graph->features, sizeof(double)),
            .along = mo_host_array(ctx, graph->nodes, sizeof(double)),
            .inverse = mo_host_array(ctx, graph->nodes, sizeof(double))};
    if (!mo_ok(ctx))
        return false;
    find_scales(x);
    find_means(x);
    return find_all_lengths(x);
}

void mo_attribute_rows_free(mo_attribute_rows *x) {
    free(x->scale);
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
        free(x->mean[kind].row);
        free(x->mean[kind].along);
        free(x->mean[kind].inverse);
    }
}

/* out := (a own + b near - mean) / |.|, one row of a kind. */
static void write_row(const mo_attribute_rows *x, mo_attribute_kind kind, int64_t u, const double *own, float *out) {
    static const double a[MO_ATTRIBUTE_KINDS] = {1, 0, 1}, b[MO_ATTRIBUTE_KINDS] = {0, 1, -1};
    const double *near = own + x->graph->features, *mean = x->mean[kind].row, inverse = x->mean[kind].inverse[u];
    for (int64_t c = 0; c < x->graph->features; c++)
        out[c] = (float)((a[kind] * own[c] + b[kind] * near[c] - mean[c]) * inverse);
}

static void fill_some(const void *of, task_range some) {
    const expansion *w = of;
    const mo_attribute_rows *x = w->x;
    int64_t m = x->graph->features;
    double *own = w->scratch + some.thread * 2 * m;
    for (int64_t i = some.first; i < some.end && mo_goes_on(x->graph->ctx); i++) {
        int64_t u = w->node[i];
        memset(own, 0, (size_t)m * 2 * sizeof *own);
        add_row(x, u, x->scale[u], own);
        add_neighbours(x, u, own + m);
        for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
            write_row(x, (mo_attribute_kind)kind, u, own, w->out + (kind * w->n + i) * m);
    }
}

bool mo_attribute_rows_fill(const mo_attribute_rows *x, const int64_t *node, int64_t n, float *out) {
    const mo_graph *g = x->graph;
    const expansion w = {.x = x, .node = node, .n = n, .scratch = expansion_scratch(g), .out = out};
    if (w.scratch)
        run_tasks(mo_context_threads(g->ctx), n, FEW, fill_some, &w);
    free(w.scratch);
    return w.scratch;
}

/* ---- assortativity ---- */

/* <x_u, x_v> of the centred rows of unit length. dense [columns]: zero before and after. */
static double centred_cosine(const mo_attribute_rows *x, int64_t u, int64_t v, double *dense) {
    const mo_graph *g = x->graph;
    const struct mo_attribute_mean *m = &x->mean[MO_OWN];
    double inner = 0;
    add_row(x, u, x->scale[u], dense);
    for (int64_t e = g->feature_pointer[v]; e < g->feature_pointer[v + 1]; e++)
        inner += dense[g->feature_column[e]] * x->scale[v] * g->feature_value[e];
    for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
        dense[g->feature_column[e]] = 0;
    return (inner - m->along[u] - m->along[v] + m->squares) * m->inverse[u] * m->inverse[v];
}

double mo_attribute_assortativity(const mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    mo_random r = mo_random_at(0, MO_PURPOSE_COSINE, (uint64_t)g->nodes);
    double along_edges = 0, squares = 0, *dense = mo_host_array(g->ctx, g->features, sizeof *dense);
    for (int i = 0; i < PAIRS && dense && g->nnz > 0; i++) {
        int64_t e = mo_random_below(&r, g->nnz), u = mo_random_below(&r, g->nodes), v = mo_random_below(&r, g->nodes);
        double random = centred_cosine(x, u, v, dense);
        along_edges += centred_cosine(x, mo_find_row(g->row_pointer, g->nodes, e), g->column[e], dense) / PAIRS;
        squares += random * random / PAIRS;
    }
    free(dense);
    return squares > 0 ? along_edges / sqrt(squares) : 0;
}
