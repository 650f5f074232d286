/* train/features/sets/structure.c - the structure around each node of a set of graphs: its degree as one of 17
 * half-octave buckets, the return probabilities of a random walk after 2, 3 and 4 steps, log(1 + degree); and the
 * triangles and cycles of four nodes through it. */
#include "tensor/hidden.h"
#include "train/features/closed_walks.h"
#include "train/features/sets/set_blocks.h"

#include <math.h>
#include <stdlib.h>

static void describe_node(const mo_graph *graph, int64_t u, const mo_walk_ends *w, mo_set_structure *s) {
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

bool mo_set_structure_find(const mo_graph *graph, mo_set_structure *s) {
    mo_context *ctx = graph->ctx;
    *s = (mo_set_structure){mo_host_array(ctx, graph->nodes * MO_STRUCTURE, sizeof *s->x),
        mo_host_array(ctx, graph->nodes * 2, sizeof *s->closed)};
    int64_t each = mo_context_threads(ctx) * graph->nodes;
    mo_walk_ends w = {mo_host_array(ctx, each, sizeof *w.share), mo_host_array(ctx, each, sizeof *w.count)};
    int64_t nodes = mo_ok(ctx) ? graph->nodes : 0;
#pragma omp parallel for num_threads(mo_context_threads(ctx)) schedule(dynamic, 64)
    for (int64_t u = 0; u < nodes; u++)
        describe_node(graph, u, &w, s);
    free(w.share);
    free(w.count);
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
