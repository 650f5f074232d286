/* train/features/sets/structure.c - the structure around each node of a set of graphs: its degree as one of 17
 * half-octave buckets, the return probabilities of a random walk after 2, 3 and 4 steps, log(1 + degree); and the
 * triangles and cycles of four nodes through it.
 *
 * Statistics: 17 numbers about the structure of each graph of a set.
 *
 * n nodes, m edges, c components, degrees d; T triangles, C4 cycles of four nodes, S2 = sum C(d, 2) paths of two edges,
 * S3 = sum C(d, 3) stars of three:
 *     log n, log(1 + m), 2m / n, density, log(1 + T), log(1 + S2), log(1 + S3), log(1 + C4), log(1 + d_max), d_max / n,
 *     log c, log(1 + m - n + c), (m - n + c) / n, 3T / S2, correlation of log(1 + d) over edges, T / n, C4 / n
 * m - n + c is the number of independent cycles. Every column is standardised over the set and cut at +-4; rows have
 * unit length. */
#include "train/features/sets/set_blocks.h"

#include "tensor/cpu/tasks.h"
#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>

enum { TASK = 64, FEW = 16 };

static void describe_node(const mo_graph *graph, int64_t u, mo_walk_end *w, mo_set_structure *s) {
    float *x = s->x + u * MO_STRUCTURE;
    double d = (double)degree(graph, u);
    int bucket = (int)(2 * log2(d + 1));
    x[bucket < MO_DEGREE_BUCKETS - 1 ? bucket : MO_DEGREE_BUCKETS - 1] = 1;
    mo_closed_walks walks = mo_closed_walks_of(graph, u, w);
    for (int k = 0; k < MO_RETURNS; k++)
        x[MO_DEGREE_BUCKETS + k] = (float)walks.back[k];
    s->closed[2 * u] = walks.triangles;
    s->closed[2 * u + 1] = walks.cycles;
    x[MO_DEGREE_BUCKETS + MO_RETURNS] = (float)log1p(d);
}

typedef struct set_nodes {
    const mo_graph *graph;
    mo_walk_end *ends; /* [threads, nodes] */
    mo_set_structure *s;
} set_nodes;

static void describe_some(const void *of, task_range some) {
    const set_nodes *w = of;
    for (int64_t u = some.first; u < some.end; u++)
        describe_node(w->graph, u, w->ends + some.thread * w->graph->nodes, w->s);
}

bool mo_set_structure_find(const mo_graph *graph, mo_set_structure *s) {
    mo_context *ctx = graph->ctx;
    *s = (mo_set_structure){mo_host_array(ctx, graph->nodes * MO_STRUCTURE, sizeof *s->x),
        mo_host_array(ctx, graph->nodes * 2, sizeof *s->closed)};
    mo_walk_end *ends = mo_walk_ends(graph);
    const set_nodes w = {.graph = graph, .ends = ends, .s = s};
    if (mo_ok(ctx))
        run_tasks(mo_context_threads(ctx), graph->nodes, TASK, describe_some, &w);
    free(ends);
    return mo_ok(ctx);
}

void mo_set_structure_free(mo_set_structure *s) {
    free(s->x);
    free(s->closed);
}

void mo_unit_rows(float *x, int64_t n, int64_t w) {
    for (int64_t i = 0; i < n; i++) {
        double squares = 0;
        for (int64_t j = 0; j < w; j++)
            squares += (double)x[i * w + j] * x[i * w + j];
        for (int64_t j = 0; j < w && squares > 0; j++)
            x[i * w + j] = (float)(x[i * w + j] / sqrt(squares));
    }
}

/* ---- statistics of graphs ---- */

/* Sums over the nodes and edges of one graph. */
typedef struct sums {
    double n, ends, triangles, cycles, paths, stars, most; /* ends: 2m; triangles, cycles: sums over all nodes */
    double components;
    double x, xx, xy; /* sums of x, of x^2 and of x times the other end's x over the ends of edges; x = log(1 + d) */
} sums;

static int64_t find_root(int64_t *parent, int64_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* parent [nodes]: on entry each node is its own parent. */
static double count_components(const mo_graph *graph, int64_t first, int64_t stop, int64_t *parent) {
    double components = (double)(stop - first);
    for (int64_t u = first; u < stop; u++)
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++) {
            int64_t a = find_root(parent, u), b = find_root(parent, graph->column[e]);
            components -= a != b;
            parent[a > b ? a : b] = a > b ? b : a;
        }
    return components;
}

static sums add_statistics(const mo_graph *graph, const mo_set_structure *s, int64_t g, int64_t *parent) {
    int64_t first = graph->graph_offset[g], stop = graph->graph_offset[g + 1];
    sums a = {.n = (double)(stop - first), .components = count_components(graph, first, stop, parent)};
    for (int64_t u = first; u < stop; u++) {
        double d = (double)degree(graph, u), x = log1p(d), around = 0;
        for (int64_t e = graph->row_pointer[u]; e < graph->row_pointer[u + 1]; e++)
            around += log1p((double)degree(graph, graph->column[e]));
        a.ends += d;
        a.paths += d * (d - 1) / 2;
        a.stars += d * (d - 1) * (d - 2) / 6;
        a.most = fmax(a.most, d);
        a.triangles += s->closed[2 * u];
        a.cycles += s->closed[2 * u + 1];
        a.x += d * x;
        a.xx += d * x * x;
        a.xy += x * around;
    }
    return a;
}

static void write_statistics(const sums *a, float *out) {
    double n = fmax(a->n, 1), m = a->ends / 2, T = a->triangles / 6, C4 = a->cycles / 4;
    double independent = fmax(m - a->n + a->components, 0), ends = fmax(a->ends, 1), mean = a->x / ends;
    double variance = a->xx / ends - mean * mean, covariance = a->xy / ends - mean * mean;
    const double all[MO_STATISTICS] = {log(n), log1p(m), 2 * m / n, n > 1 ? 2 * m / (n * (n - 1)) : 0, log1p(T),
        log1p(a->paths), log1p(a->stars), log1p(C4), log1p(a->most), a->most / n, log(fmax(a->components, 1)),
        log1p(independent), independent / n, a->paths > 0 ? 3 * T / a->paths : 0,
        variance > 1e-9 ? covariance / variance : 0, T / n, C4 / n};
    for (int j = 0; j < MO_STATISTICS; j++)
        out[j] = (float)all[j];
}

typedef struct statistics {
    const mo_graph *graph;
    const mo_set_structure *s;
    int64_t *parent; /* [nodes] */
    float *out;
} statistics;

static void count_some(const void *of, task_range some) {
    const statistics *w = of;
    for (int64_t g = some.first; g < some.end; g++) {
        sums a = add_statistics(w->graph, w->s, g, w->parent);
        write_statistics(&a, w->out + g * MO_STATISTICS);
    }
}

bool mo_set_statistics(const mo_graph *graph, const mo_set_structure *s, float *out) {
    mo_context *ctx = graph->ctx;
    int64_t *parent = mo_host_array(ctx, graph->nodes, sizeof *parent);
    for (int64_t u = 0; parent && u < graph->nodes; u++)
        parent[u] = u;
    const statistics w = {.graph = graph, .s = s, .parent = parent, .out = out};
    if (parent)
        run_tasks(mo_context_threads(ctx), graph->graphs, FEW, count_some, &w);
    free(parent);
    mo_standardize(
        (mo_rows){out, 1, graph->graphs, MO_STATISTICS}, graph->counted, graph->n_counted, MO_EXTRAS_EPSILON, NULL);
    for (int64_t i = 0; i < graph->graphs * MO_STATISTICS; i++)
        out[i] = fminf(fmaxf(out[i], -MO_EXTRAS_LIMIT), MO_EXTRAS_LIMIT);
    mo_unit_rows(out, graph->graphs, MO_STATISTICS);
    return mo_ok(ctx);
}
