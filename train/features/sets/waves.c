/* train/features/sets/waves.c - a soft Weisfeiler-Lehman kernel of a set of graphs: Gaussians between nodes, by random
 * Fourier features (Rahimi, Recht 2007).
 *
 * A node's row is h = [x | A~ x | A~^2 x], x its structure and its attributes, centred over all nodes of the set. With
 * w normal and s^2 the mean of |h|^2, the mean over the nodes of a graph of [cos((2 gamma)^(1/2) h.w / s) | sin(..)],
 * gamma 1/2 and 2, 128 w each, gives a row whose inner products approximate means of exp(-gamma |h_u - h_v|^2 / s^2)
 * over pairs of nodes. Rows are centred over the set and have unit length. Only the products h.w are computed,
 *     h.w = x.w_0 + A~ (x.w_1 + A~ x.w_2),
 * from scaled attributes (scaled_set.c), without an SVD. s^2 is the mean of (h.w)^2 over nodes and w. */
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "train/features/sets/set_blocks.h"

#include <math.h>
#include <stdlib.h>

enum { DIRECTIONS = MO_WAVES / 2, GAMMAS = 2, STEPS = 3, WAVE_STREAM = 4, FEW = 4 };

typedef struct waves {
    const mo_graph *graph;
    const mo_set_structure *structure;
    float *w;        /* [STEPS, MO_STRUCTURE + features, DIRECTIONS] */
    int64_t columns; /* MO_STRUCTURE + features */
    double *sums;    /* [graphs, DIRECTIONS + 1]: sums of h.w, and of all their squares */
    double *means;   /* [graphs, MO_WAVES] */
    float center[DIRECTIONS], scale[DIRECTIONS];
} waves;

static void draw_directions(waves *v, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_SVD, WAVE_STREAM);
    for (int64_t i = 0; i < STEPS * v->columns * DIRECTIONS; i++)
        v->w[i] = (float)mo_random_normal(&r);
}

static void add_scaled(float *restrict y, const float *restrict x, float c) {
#pragma omp simd
    for (int j = 0; j < DIRECTIONS; j++)
        y[j] += c * x[j];
}

/* y += x_u.w of one step. */
static void add_node_waves(const waves *v, int64_t u, int step, float *y) {
    const mo_graph *graph = v->graph;
    const float *w = v->w + step * v->columns * DIRECTIONS, *x = v->structure->x + u * MO_STRUCTURE;
    for (int64_t j = 0; j < MO_STRUCTURE; j++)
        if (x[j] != 0)
            add_scaled(y, w + j * DIRECTIONS, x[j]);
    if (graph->features == 0)
        return;
    for (int64_t e = graph->feature_pointer[u]; e < graph->feature_pointer[u + 1]; e++)
        add_scaled(y, w + (MO_STRUCTURE + graph->feature_column[e]) * DIRECTIONS, graph->feature_value[e]);
}

/* h.w of the n nodes of a graph from `first` on, in z or `other`, both [n, DIRECTIONS]. Returns the one that holds the
 * result. */
static float *project(const waves *v, int64_t first, int64_t n, float *z, float *other) {
    const mo_graph *graph = v->graph;
    for (int step = STEPS - 1; step >= 0; step--) {
        for (int64_t i = 0; i < n; i++) {
            float *y = other + i * DIRECTIONS;
            for (int j = 0; j < DIRECTIONS; j++)
                y[j] = 0;
            for (int64_t e = graph->row_pointer[first + i]; step < STEPS - 1 && e < graph->row_pointer[first + i + 1];
                 e++) {
                int64_t u = graph->column[e];
                double product = (double)degree(graph, first + i) * (double)degree(graph, u);
                add_scaled(y, z + (u - first) * DIRECTIONS, (float)(1 / sqrt(product)));
            }
            add_node_waves(v, first + i, step, y);
        }
        float *made = other;
        other = z;
        z = made;
    }
    return z;
}

static void add_waves(waves *v, int64_t g, const float *z, int64_t n) {
    double *sums = v->sums + g * (DIRECTIONS + 1);
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < DIRECTIONS; j++) {
            double x = z[i * DIRECTIONS + j];
            sums[j] += x;
            sums[DIRECTIONS] += x * x;
        }
}

static void average_waves(waves *v, int64_t g, const float *z, int64_t n) {
    double *means = v->means + g * MO_WAVES;
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < DIRECTIONS; j++) {
            float angle = (z[i * DIRECTIONS + j] - v->center[j]) * v->scale[j];
            means[j] += cosf(angle);
            means[DIRECTIONS + j] += sinf(angle);
        }
    for (int j = 0; j < MO_WAVES; j++)
        means[j] /= (double)n;
}

typedef void wave_reader(waves *v, int64_t g, const float *z, int64_t n);

typedef struct projections {
    waves *v;
    wave_reader *then;
    int64_t most;   /* nodes of the largest graph */
    float *scratch; /* [threads, 2, most, DIRECTIONS] */
} projections;

static void project_some(const void *of, task_range some) {
    const projections *p = of;
    const mo_graph *graph = p->v->graph;
    float *z = p->scratch + some.thread * 2 * p->most * DIRECTIONS;
    for (int64_t g = some.first; g < some.end && mo_goes_on(graph->ctx); g++) {
        int64_t first = graph->graph_offset[g], n = graph->graph_offset[g + 1] - first;
        if (n > 0)
            p->then(p->v, g, project(p->v, first, n, z, z + p->most * DIRECTIONS), n);
    }
}

/* Calls `then` for every graph g with the projections z of its n nodes. */
static bool each_wave(waves *v, wave_reader *then) {
    const mo_graph *graph = v->graph;
    mo_context *ctx = graph->ctx;
    int64_t most = 1;
    for (int64_t g = 0; g < graph->graphs; g++)
        if (graph->graph_offset[g + 1] - graph->graph_offset[g] > most)
            most = graph->graph_offset[g + 1] - graph->graph_offset[g];
    int threads = mo_context_threads(ctx);
    float *scratch = mo_host_array(ctx, threads * 2 * most * DIRECTIONS, sizeof *scratch);
    const projections p = {.v = v, .then = then, .most = most, .scratch = scratch};
    if (scratch)
        run_tasks(threads, graph->graphs, FEW, project_some, &p);
    free(scratch);
    return mo_ok(ctx);
}

/* Finds v->center, the means of h.w over all nodes, and v->scale, the factors of the angles, from the graphs' sums,
 * added in the graphs' order. */
static void find_scale(waves *v) {
    static const double gamma[GAMMAS] = {0.5, 2};
    double nodes = 0, spread = 0, sums[DIRECTIONS + 1] = {0};
    for (int64_t i = 0; i < mo_counted_graphs(v->graph); i++) {
        int64_t g = mo_counted(v->graph, i);
        nodes += (double)(v->graph->graph_offset[g + 1] - v->graph->graph_offset[g]);
        for (int j = 0; j <= DIRECTIONS; j++)
            sums[j] += v->sums[g * (DIRECTIONS + 1) + j];
    }
    nodes = fmax(nodes, 1);
    spread = sums[DIRECTIONS] / nodes;
    for (int j = 0; j < DIRECTIONS; j++) {
        double mean = sums[j] / nodes;
        v->center[j] = (float)mean;
        spread -= mean * mean;
    }
    double s = sqrt(fmax(spread / DIRECTIONS, 0));
    for (int j = 0; j < DIRECTIONS; j++)
        v->scale[j] = s > 0 ? (float)(sqrt(2 * gamma[j * GAMMAS / DIRECTIONS]) / s) : 0;
}

static void write_waves(const waves *v, float *out) {
    int64_t G = v->graph->graphs, n = mo_counted_graphs(v->graph);
    for (int j = 0; j < MO_WAVES; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += v->means[mo_counted(v->graph, i) * MO_WAVES + j];
        for (int64_t g = 0; g < G; g++)
            out[g * MO_WAVES + j] = (float)(v->means[g * MO_WAVES + j] - sum / (double)n);
    }
    mo_unit_rows(out, G, MO_WAVES);
}

bool mo_set_waves(const mo_graph *graph, const mo_set_structure *s, uint64_t seed, float *out) {
    mo_context *ctx = graph->ctx;
    waves v = {.graph = graph, .structure = s, .columns = MO_STRUCTURE + (graph->features > 0 ? graph->features : 0)};
    v.w = mo_host_array(ctx, STEPS * v.columns * DIRECTIONS, sizeof *v.w);
    v.sums = mo_host_array(ctx, graph->graphs * (DIRECTIONS + 1), sizeof *v.sums);
    v.means = mo_host_array(ctx, graph->graphs * MO_WAVES, sizeof *v.means);
    if (mo_ok(ctx)) {
        draw_directions(&v, seed);
        if (each_wave(&v, add_waves)) {
            find_scale(&v);
            if (each_wave(&v, average_waves))
                write_waves(&v, out);
        }
    }
    free(v.w);
    free(v.sums);
    free(v.means);
    return mo_ok(ctx);
}
