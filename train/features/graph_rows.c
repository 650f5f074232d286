/* train/features/graph_rows.c - rows of graphs: every graph of a set in one basis, so that a coordinate means the same
 * in all.
 *
 * Structure of a node: its degree as one of 17 half-octave buckets, the probabilities that a random walk is back after
 * 2, 3 and 4 steps, log(1 + degree). Attributes: the node features as they are, or where there are more than 256
 * columns their coordinates U sqrt(S) in one SVD of the whole set. Hops by A~; then mean and standard deviation over
 * the nodes of each graph; each column centred over the graphs and scaled to sqrt(s_j), s_j its deviation at hop 0 over
 * the largest. Extras: log nodes, log(1 + 2 edges), mean degree. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "tensor/host_array.h"
#include "train/features/example_rows.h"
#include "train/svd/adjacency.h"
#include "train/svd/basis.h"

#include <math.h>
#include <stdlib.h>

enum {
    BUCKETS = 17,
    RETURNS = 3,
    STRUCTURE = BUCKETS + RETURNS + 1,
    EXTRAS = 3,
    MOST_ATTRIBUTES = 256,
    SET_STREAM = 2
};
#define CONSTANT 1e-5 /* columns whose deviation is below this share of the largest carry nothing */

/* ---- structure of the nodes ---- */

/* Probabilities to be back at u after 2, 3, 4 steps of P = D^-1 A. Row u of Q = P^2 is enough, as walks are reversible:
 * Q_ju = Q_uj d_u / d_j. `row` [nodes] is zero before and after. */
static void return_probabilities(const mo_graph *graph, int64_t u, double *row, float *out) {
    const int64_t *first = graph->row_pointer;
    const int32_t *column = graph->column;
    double du = (double)degree(graph, u), back[RETURNS] = {0};
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++)
            row[column[j]] += 1 / (du * (double)degree(graph, column[i]));
    back[0] = row[u];
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        back[1] += row[column[i]] / (double)degree(graph, column[i]);
    for (int64_t i = first[u]; i < first[u + 1]; i++)
        for (int64_t j = first[column[i]]; j < first[column[i] + 1]; j++) {
            int64_t w = column[j];
            back[2] += row[w] * row[w] * du / (double)degree(graph, w);
            row[w] = 0; /* counted once */
        }
    for (int k = 0; k < RETURNS; k++)
        out[k] = (float)back[k];
}

static void describe_node(const mo_graph *graph, int64_t u, double *row, float *x) {
    double d = (double)degree(graph, u);
    int bucket = (int)(2 * log2(d + 1));
    x[bucket < BUCKETS - 1 ? bucket : BUCKETS - 1] = 1;
    return_probabilities(graph, u, row, x + BUCKETS);
    x[BUCKETS + RETURNS] = (float)log1p(d);
}

/* [nodes, STRUCTURE] on the tape. */
static mo_tensor *graph_structure(mo_tape *t, const mo_graph *graph) {
    mo_context *ctx = t->ctx;
    float *x = mo_host_array(ctx, graph->nodes * STRUCTURE, sizeof *x);
    bool started = x != NULL;
#pragma omp parallel num_threads(mo_context_threads(ctx)) if (x)
    {
        double *row = calloc((size_t)graph->nodes, sizeof *row);
        if (!row)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic, 64)
        for (int64_t u = 0; u < graph->nodes; u++)
            if (x && row)
                describe_node(graph, u, row, x + u * STRUCTURE);
        free(row);
    }
    if (x && !started)
        mo_fail(ctx, MO_MEMORY, "features: out of memory for the walks of a graph");
    mo_tensor *S = started ? mo_from(t, MO_F32, 2, (int64_t[]){graph->nodes, STRUCTURE}, x) : mo_null_tensor(ctx);
    free(x);
    return S;
}

/* [nodes, features, or MOST_ATTRIBUTES] on the tape. */
static mo_tensor *graph_attributes(
    mo_tape *t, const mo_graph *graph, const mo_feature_options *o, mo_basis_quality *quality) {
    mo_context *ctx = t->ctx;
    int64_t F = graph->features;
    if (F > MOST_ATTRIBUTES) {
        mo_basis_side s = {.t = t, .width = MOST_ATTRIBUTES};
        s.svd = (mo_svd_options){.power_iterations = o->power_iterations,
            .exact_below = MO_SVD_EXACT_BELOW,
            .seed = o->seed,
            .stream = SET_STREAM};
        mo_csr *X = mo_feature_block(ctx, graph, 0, graph->nodes);
        mo_tensor *P = X ? mo_attribute_basis(&s, X, false) : mo_null_tensor(ctx);
        mo_csr_release(X);
        *quality = s.quality;
        return P;
    }
    float *x = mo_host_array(ctx, graph->nodes * F, sizeof *x);
    for (int64_t i = 0; x && i < graph->nodes; i++)
        for (int64_t e = graph->feature_pointer[i]; e < graph->feature_pointer[i + 1]; e++)
            x[i * F + graph->feature_column[e]] = graph->feature_value[e];
    mo_tensor *X = x ? mo_from(t, MO_F32, 2, (int64_t[]){graph->nodes, F}, x) : mo_null_tensor(ctx);
    free(x);
    return X;
}

/* ---- from nodes to graphs ---- */

/* One block while it is pooled: rows [graphs, 2 columns], means and then deviations. */
typedef struct pooling {
    const mo_graph *graph;
    int64_t columns, width;             /* width: of the rows of the features */
    float *nodes;                       /* [nodes, columns] */
    double *rows;                       /* [graphs, 2 columns] */
    double *center, *scale, *deviation; /* [2 columns] of one hop */
} pooling;

static void pool_graphs(const pooling *p) {
    const int64_t *offset = p->graph->graph_offset;
    for (int64_t g = 0; g < p->graph->graphs; g++) {
        double n = fmax((double)(offset[g + 1] - offset[g]), 1);
        for (int64_t j = 0; j < p->columns; j++) {
            double sum = 0, squares = 0;
            for (int64_t i = offset[g]; i < offset[g + 1]; i++) {
                double x = p->nodes[i * p->columns + j];
                sum += x;
                squares += x * x;
            }
            double *row = p->rows + g * 2 * p->columns, mean = sum / n;
            row[j] = mean;
            row[p->columns + j] = sqrt(fmax(squares / n - mean * mean, 0));
        }
    }
}

/* Mean and deviation of every column over the graphs. Returns the largest deviation. */
static double find_graph_moments(const pooling *p) {
    int64_t G = p->graph->graphs, w = 2 * p->columns;
    double largest = 0;
    for (int64_t j = 0; j < w; j++) {
        double sum = 0, squares = 0;
        for (int64_t g = 0; g < G; g++)
            sum += p->rows[g * w + j];
        p->center[j] = sum / (double)G;
        for (int64_t g = 0; g < G; g++)
            squares += (p->rows[g * w + j] - p->center[j]) * (p->rows[g * w + j] - p->center[j]);
        p->deviation[j] = sqrt(squares / (double)G);
        largest = fmax(largest, p->deviation[j]);
    }
    return largest;
}

/* Writes the rows of one hop [graphs, width], every column at the root of its deviation at hop 0. */
static void put_hop(const pooling *p, double largest, float *out) {
    int64_t w = 2 * p->columns;
    for (int64_t g = 0; g < p->graph->graphs; g++)
        for (int64_t j = 0; j < w; j++) {
            double centred = p->rows[g * w + j] - p->center[j];
            bool varies = p->deviation[j] > CONSTANT * largest;
            out[g * p->width + j] = varies ? (float)(centred / p->deviation[j] * p->scale[j]) : 0;
        }
}

/* Pools every hop of the node rows X into out [l + 1, graphs, width], and their spectrum into l [width]. */
static void pool_block(mo_tape *t, pooling *p, const mo_csr *A, mo_tensor *X, int hops, float *out, float *l) {
    size_t bytes = (size_t)(p->graph->nodes * p->columns) * sizeof *p->nodes;
    double largest = 0;
    for (int k = 0; k <= hops; k++) {
        X = k ? mo_spmm(t, A, X) : X;
        if (mo_tensor_read(X, p->nodes, bytes) != MO_OK)
            return;
        pool_graphs(p);
        double widest = find_graph_moments(p);
        if (k == 0) {
            largest = widest > 0 ? widest : 1;
            for (int64_t j = 0; j < 2 * p->columns; j++) {
                l[j] = (float)log(p->deviation[j] / largest + MO_LEAST_RATIO);
                p->scale[j] = exp(0.5 * l[j]);
            }
        }
        put_hop(p, largest, out + k * p->graph->graphs * p->width);
    }
}

static void put_extras(const mo_graph *graph, mo_tensor *extras) {
    const int64_t *offset = graph->graph_offset;
    float *x = mo_host_array(graph->ctx, graph->graphs * EXTRAS, sizeof *x);
    for (int64_t g = 0; x && g < graph->graphs; g++) {
        double n = (double)(offset[g + 1] - offset[g]);
        double ends = (double)(graph->row_pointer[offset[g + 1]] - graph->row_pointer[offset[g]]);
        x[g * EXTRAS] = (float)log(fmax(n, 1));
        x[g * EXTRAS + 1] = (float)log1p(ends);
        x[g * EXTRAS + 2] = (float)(ends / fmax(n, 1));
    }
    if (x) {
        mo_standardize((mo_rows){x, 1, graph->graphs, EXTRAS}, NULL, 0, MO_EXTRAS_EPSILON, NULL);
        mo_tensor_write(extras, x, (size_t)(graph->graphs * EXTRAS) * sizeof *x);
    }
    free(x);
}

/* Structure (b = 0) or attributes (b = 1) into their part of the rows. */
static void fill_block(mo_tape *t, const mo_graph *graph, const mo_feature_options *o, const mo_csr *A, int b,
    int64_t width, float *rows, float *l, mo_basis_quality *quality) {
    mo_context *ctx = t->ctx;
    mo_tensor *X = b ? graph_attributes(t, graph, o, quality) : graph_structure(t, graph);
    pooling p = {.graph = graph, .columns = mo_dim(X, 1), .width = width};
    p.nodes = mo_host_array(ctx, graph->nodes * p.columns, sizeof *p.nodes);
    p.rows = mo_host_array(ctx, graph->graphs * 2 * p.columns, sizeof *p.rows);
    p.center = mo_host_array(ctx, 6 * p.columns, sizeof *p.center);
    if (mo_ok(ctx)) {
        p.scale = p.center + 2 * p.columns;
        p.deviation = p.scale + 2 * p.columns;
        pool_block(t, &p, A, X, o->hops, rows, l);
    }
    free(p.nodes);
    free(p.rows);
    free(p.center);
    mo_tape_reset(t);
}

bool mo_graph_rows(const mo_graph *graph, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = graph->ctx;
    int64_t F = graph->features > MOST_ATTRIBUTES ? MOST_ATTRIBUTES : graph->features;
    int64_t width = 2 * (F > STRUCTURE ? F : STRUCTURE), hop = graph->graphs * width, G = graph->graphs;
    mo_tensor *blocks = mo_own_array(f, "blocks", 4, (int64_t[]){MO_BLOCKS, o->hops + 1, G, width});
    mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, width});
    mo_tensor *extras = mo_own_array(f, "extras", 2, (int64_t[]){G, EXTRAS});
    int64_t per_block = (o->hops + 1) * hop;
    float *rows = mo_host_array(ctx, MO_BLOCKS * per_block, sizeof *rows),
          *l = mo_host_array(ctx, MO_BLOCKS * width, sizeof *l);
    mo_csr *A = mo_ok(ctx) ? mo_normalized_adjacency(graph, MO_F32) : NULL;
    mo_tape *t = A ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int64_t j = 0; l && j < MO_BLOCKS * width; j++)
        l[j] = (float)log(MO_LEAST_RATIO);
    mo_basis_quality quality = {0};
    for (int b = 0; t && b < (F > 1 ? MO_BLOCKS : 1) && mo_ok(ctx); b++)
        fill_block(t, graph, o, A, b, width, rows + b * per_block, l + b * width, &quality);
    if (t && mo_ok(ctx)) {
        put_extras(graph, extras);
        mo_tensor_write(blocks, rows, (size_t)(MO_BLOCKS * per_block) * sizeof *rows);
        mo_tensor_write(spectrum, l, (size_t)(MO_BLOCKS * width) * sizeof *l);
    }
    f->svd_residual = quality.residual;
    f->svd_orthogonality = quality.orthogonality;
    mo_tape_release(t);
    mo_csr_release(A);
    free(rows);
    free(l);
    return mo_ok(ctx);
}
