/* tests/drawn_graphs.h - random graphs and sets of graphs with node features, and hop stacks copied to the host. */
#ifndef DRAWN_GRAPHS_H
#define DRAWN_GRAPHS_H

#include "scratch.h"
#include "train/inside.h"

enum { HOPS = 2, DIM = 24 };

static const mo_feature_options plain = {.dim = DIM, .hops = HOPS, .power_iterations = 2, .seed = 3};

/* Draws random edges inside each of the graphs, whose sizes are given (-1 ends them); the last node of each graph stays
 * isolated. columns: number of random node features. */
static inline mo_graph *draw_graph(mo_context *ctx, const int64_t *sizes, int64_t columns, uint64_t seed) {
    int64_t nodes = 0, graphs = 0, count = 0, u[4000], v[4000], offset[16] = {0};
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 4);
    for (; sizes[graphs] >= 0; graphs++) {
        for (int64_t e = 0; e < 3 * sizes[graphs] && sizes[graphs] > 1; e++) {
            u[count] = nodes + mo_random_below(&r, sizes[graphs] - 1);
            v[count++] = nodes + mo_random_below(&r, sizes[graphs] - 1);
        }
        nodes += sizes[graphs];
        offset[graphs + 1] = nodes;
    }
    mo_graph *graph = mo_graph_from_edges(ctx, "drawn", nodes, count, u, v);
    expect_ok(ctx);
    free(graph->graph_offset);
    graph->graphs = graphs;
    graph->graph_offset = calloc((size_t)graphs + 1, sizeof(int64_t));
    memcpy(graph->graph_offset, offset, (size_t)(graphs + 1) * sizeof(int64_t));
    graph->hash[0] = seed * 64 + (uint64_t)graphs; /* a loader would set it */
    graph->hash[1] = (uint64_t)columns;
    if (columns > 0) {
        graph->features = columns;
        graph->feature_pointer = calloc((size_t)nodes + 1, sizeof(int64_t));
        graph->feature_column = calloc((size_t)(nodes * columns), sizeof(int32_t));
        graph->feature_value = calloc((size_t)(nodes * columns), sizeof(float));
        for (int64_t k = 0; k < nodes * columns; k++) {
            graph->feature_column[k] = (int32_t)(k % columns);
            graph->feature_value[k] = (float)mo_random_normal(&r);
        }
        for (int64_t i = 0; i <= nodes; i++)
            graph->feature_pointer[i] = i * columns;
        graph->feature_nnz = nodes * columns;
    }
    return graph;
}

/* Sizes of graphs: one whose SVD is exact, one with a randomized SVD, and a set of both. */
static const int64_t small[] = {50, -1}, larger[] = {300, -1}, set[] = {7, 0, 120, 1, 33, 90, 2, -1};

/* Returns the hop stack on the host; *n receives its number of floats. */
static inline float *hops_of(const mo_graph *graph, const mo_feature_options *options, int64_t *n, bool *cached) {
    HELD(mo_features) *f = mo_task_features_open(graph, MO_TASK_NC, NULL, options);
    expect_ok(graph->ctx);
    mo_tensor *hops = mo_arrays_find(f->arrays, "hops");
    *n = mo_numel(hops);
    assert_int_equal(*n, (options->hops + 1) * graph->nodes * options->dim);
    float *x = calloc((size_t)*n + 1, sizeof *x);
    mo_tensor_read(hops, x, (size_t)*n * sizeof *x);
    if (cached)
        *cached = f->from_cache;
    assert_true(f->svd_residual >= 0 && f->svd_residual < 0.5);
    return x;
}

#endif
