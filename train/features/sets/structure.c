/* train/features/sets/structure.c - the structure round every node of a set of graphs: its degree as one of 17
 * half-octave buckets, the probabilities that a random walk is back after 2, 3 and 4 steps, log(1 + degree); and the
 * triangles and cycles of four nodes through it. */
#include "tensor/host_array.h"
#include "train/features/sets/set_blocks.h"

#include <math.h>
#include <stdlib.h>

/* Walks of two steps from one node, by the node where they end; zero before and after. */
typedef struct walks {
    double *share;  /* [nodes]: sum of 1 / (d_u d_v) over the nodes v between */
    int32_t *count; /* [nodes] */
} walks;

/* Probabilities to be back at u after 2, 3, 4 steps of P = D^-1 A. Row u of Q = P^2 is enough, as walks are reversible:
 * Q_ju = Q_uj d_u / d_j. closed: triangles and cycles of four. */
static void return_probabilities(const mo_graph *graph, int64_t u, const walks *w, float *out, double *closed) {
    const int64_t *first = graph->row_pointer;
    const int32_t *column = graph->column;
    double du = (double)degree(graph, u), back[MO_RETURNS] = {0}, triangles = 0, cycles = 0;
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            w->share[column[j]] += 1 / (du * (double)degree(graph, column[i]));
            w->count[column[j]]++;
        }
    back[0] = w->share[u];
    w->count[u] = 0; /* a walk there and back closes no cycle */
    for (int64_t i = first[u]; i < first[u + 1]; i++) {
        back[1] += w->share[column[i]] / (double)degree(graph, column[i]);
        triangles += w->count[column[i]];
    }
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            int64_t v = column[j];
            double n = w->count[v];
            back[2] += w->share[v] * w->share[v] * du / (double)degree(graph, v);
            cycles += n * (n - 1) / 2;
            w->share[v] = 0; /* counted once */
            w->count[v] = 0;
        }
    for (int k = 0; k < MO_RETURNS; k++)
        out[k] = (float)back[k];
    closed[0] = triangles;
    closed[1] = cycles;
}

static void describe_node(const mo_graph *graph, int64_t u, const walks *w, mo_set_structure *s) {
    float *x = s->x + u * MO_STRUCTURE;
    double d = (double)degree(graph, u);
    int bucket = (int)(2 * log2(d + 1));
    x[bucket < MO_DEGREE_BUCKETS - 1 ? bucket : MO_DEGREE_BUCKETS - 1] = 1;
    return_probabilities(graph, u, w, x + MO_DEGREE_BUCKETS, s->closed + 2 * u);
    x[MO_DEGREE_BUCKETS + MO_RETURNS] = (float)log1p(d);
}

bool mo_set_structure_find(const mo_graph *graph, mo_set_structure *s) {
    mo_context *ctx = graph->ctx;
    *s = (mo_set_structure){mo_host_array(ctx, graph->nodes * MO_STRUCTURE, sizeof *s->x),
        mo_host_array(ctx, graph->nodes * 2, sizeof *s->closed)};
    bool started = s->x && s->closed;
#pragma omp parallel num_threads(mo_context_threads(ctx)) if (s->x && s->closed)
    {
        walks w = {calloc((size_t)graph->nodes, sizeof *w.share), calloc((size_t)graph->nodes, sizeof *w.count)};
        bool own = w.share && w.count;
        if (!own)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, 64)
        for (int64_t u = 0; u < graph->nodes; u++)
            if (own && s->x && s->closed)
                describe_node(graph, u, &w, s);
        free(w.share);
        free(w.count);
    }
    if (mo_ok(ctx) && !started)
        mo_fail(ctx, MO_MEMORY, "features: out of memory for the walks of a graph");
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
