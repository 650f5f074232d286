/* train/features/nodes/attribute_rows.c - the attributes of nodes, those of their neighbours and the difference, as
 * centred rows of unit length.
 *
 * Rows of P X are sums over the neighbours' sparse rows, so only lengths and means are kept: the mean of P X is
 * (1 / n) sum_v w_v x_v with w_v the sum of 1 / d_u over the neighbours u of v, and
 *     |r - mu|^2 = |mu|^2 + sum over the columns c where r is not zero of (r_c - mu_c)^2 - mu_c^2. */
#include "train/features/nodes/attribute_rows.h"

#include "tensor/host_array.h"
#include "train/features/example_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TASK = 64, FEW = 8 };
/* A row whose square distance to the mean is below this share of both squares is the mean, to rounding. */
static const double SAME = 1e-11;

/* y += c x for the sparse row x of node v. */
static void add_row(const mo_attribute_rows *x, int64_t v, double c, double *y) {
    const mo_graph *g = x->graph;
    for (int64_t e = g->feature_pointer[v]; e < g->feature_pointer[v + 1]; e++)
        y[g->feature_column[e]] += c * g->feature_value[e];
}

/* y += the row of P X of node u. */
static void add_neighbours(const mo_attribute_rows *x, int64_t u, double *y) {
    const mo_graph *g = x->graph;
    for (int64_t e = g->row_pointer[u]; e < g->row_pointer[u + 1]; e++)
        add_row(x, g->column[e], x->scale[g->column[e]] / (double)degree(g, u), y);
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

static void find_means(const mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    for (int64_t v = 0; v < g->nodes; v++) {
        double weight = 0;
        for (int64_t e = g->row_pointer[v]; e < g->row_pointer[v + 1]; e++)
            weight += 1 / (double)degree(g, g->column[e]);
        add_row(x, v, x->scale[v] / (double)g->nodes, x->mean[MO_OWN]);
        add_row(x, v, x->scale[v] * weight / (double)g->nodes, x->mean[MO_OF_NEIGHBOURS]);
    }
    for (int64_t c = 0; c < g->features; c++)
        x->mean[MO_DIFFERENCE][c] = x->mean[MO_OWN][c] - x->mean[MO_OF_NEIGHBOURS][c];
}

/* The sums of a row's squares and of what its columns change in |mu|^2. */
typedef struct distance {
    double squares, change;
} distance;

static void add_column(distance *d, double r, double mu) {
    d->squares += r * r;
    d->change += (r - mu) * (r - mu) - mu * mu;
}

static double inverse_length(const distance *d, double mean_squares) {
    double squares = mean_squares + d->change;
    return squares > SAME * (d->squares + mean_squares) ? 1 / sqrt(squares) : 0;
}

/* near [columns]: zero before and after. */
static void find_lengths(const mo_attribute_rows *x, int64_t u, const double *mean_squares, double *own, double *near) {
    const mo_graph *g = x->graph;
    const int32_t *column = g->feature_column;
    distance d[MO_ATTRIBUTE_KINDS] = {{0, 0}};
    add_row(x, u, x->scale[u], own);
    add_neighbours(x, u, near);
    for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
        add_column(&d[MO_OWN], own[column[e]], x->mean[MO_OWN][column[e]]);
    for (int64_t i = g->row_pointer[u]; i < g->row_pointer[u + 1]; i++)
        for (int64_t e = g->feature_pointer[g->column[i]]; e < g->feature_pointer[g->column[i] + 1]; e++) {
            int64_t c = column[e];
            if (near[c] == 0) /* seen, or nothing */
                continue;
            add_column(&d[MO_OF_NEIGHBOURS], near[c], x->mean[MO_OF_NEIGHBOURS][c]);
            add_column(&d[MO_DIFFERENCE], own[c] - near[c], x->mean[MO_DIFFERENCE][c]);
            own[c] = near[c] = 0;
        }
    for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++) {
        int64_t c = column[e];
        if (own[c] != 0) /* no neighbour has it */
            add_column(&d[MO_DIFFERENCE], own[c], x->mean[MO_DIFFERENCE][c]);
        own[c] = 0;
    }
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
        x->inverse[kind][u] = inverse_length(&d[kind], mean_squares[kind]);
}

static bool find_all_lengths(const mo_attribute_rows *x) {
    const mo_graph *g = x->graph;
    double mean_squares[MO_ATTRIBUTE_KINDS] = {0};
    bool started = true;
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
        for (int64_t c = 0; c < g->features; c++)
            mean_squares[kind] += x->mean[kind][c] * x->mean[kind][c];
#pragma omp parallel num_threads(mo_context_threads(g->ctx))
    {
        double *scratch = calloc((size_t)g->features, 2 * sizeof *scratch);
        if (!scratch)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, TASK)
        for (int64_t u = 0; u < g->nodes; u++)
            if (scratch)
                find_lengths(x, u, mean_squares, scratch, scratch + g->features);
        free(scratch);
    }
    if (!started)
        mo_fail(g->ctx, MO_MEMORY, "kernels: out of memory for rows of %lld attributes", (long long)g->features);
    return started;
}

bool mo_attribute_rows_make(const mo_graph *graph, mo_attribute_rows *x) {
    mo_context *ctx = graph->ctx;
    *x = (mo_attribute_rows){.graph = graph, .scale = mo_host_array(ctx, graph->nodes, sizeof *x->scale)};
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
        x->mean[kind] = mo_host_array(ctx, graph->features, sizeof **x->mean);
        x->inverse[kind] = mo_host_array(ctx, graph->nodes, sizeof **x->inverse);
    }
    if (!mo_ok(ctx))
        return false;
    find_scales(x);
    find_means(x);
    return find_all_lengths(x);
}

void mo_attribute_rows_free(mo_attribute_rows *x) {
    free(x->scale);
    for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++) {
        free(x->mean[kind]);
        free(x->inverse[kind]);
    }
}

/* out := (a own + b near - mean) / |.|, the row of one kind. */
static void write_row(const mo_attribute_rows *x, mo_attribute_kind kind, int64_t u, const double *own, float *out) {
    static const double a[MO_ATTRIBUTE_KINDS] = {1, 0, 1}, b[MO_ATTRIBUTE_KINDS] = {0, 1, -1};
    const double *near = own + x->graph->features, *mean = x->mean[kind], inverse = x->inverse[kind][u];
    for (int64_t c = 0; c < x->graph->features; c++)
        out[c] = (float)((a[kind] * own[c] + b[kind] * near[c] - mean[c]) * inverse);
}

bool mo_attribute_rows_fill(const mo_attribute_rows *x, const int64_t *node, int64_t n, float *out) {
    const mo_graph *g = x->graph;
    int64_t m = g->features;
    bool started = true;
#pragma omp parallel num_threads(mo_context_threads(g->ctx)) if (n > 1)
    {
        double *own = malloc((size_t)m * 2 * sizeof *own); /* and behind it the neighbours' mean */
        if (!own)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, FEW)
        for (int64_t i = 0; i < n; i++) {
            if (!own)
                continue;
            memset(own, 0, (size_t)m * 2 * sizeof *own);
            add_row(x, node[i], x->scale[node[i]], own);
            add_neighbours(x, node[i], own + m);
            for (int kind = 0; kind < MO_ATTRIBUTE_KINDS; kind++)
                write_row(x, (mo_attribute_kind)kind, node[i], own, out + (kind * n + i) * m);
        }
        free(own);
    }
    if (!started)
        mo_fail(g->ctx, MO_MEMORY, "kernels: out of memory for rows of %lld attributes", (long long)m);
    return started;
}
