/* train/features/sets/graph_rows.c - rows of graphs: every graph of a set in one basis, so that a coordinate means the
 * same in all.
 *
 * A node has two rows. Structure: structure.c. Attributes: the node features at one scale (scaled_set.c) or, if these
 * have more than 256 columns, their coordinates U sqrt(S) in one SVD of the whole set. Hop k multiplies both by A~^k. A
 * graph's row at a hop is the mean and the standard deviation of its nodes' rows. Each column is then centred over the
 * graphs and scaled to the standard deviation sqrt(s_j), with s_j its deviation at hop 0 divided by the largest
 * deviation. The extras are log nodes, log(1 + 2 edges) and the mean degree. Other blocks describe a graph by itself:
 * structure.c, subtrees.c, waves.c. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "train/features/sets/set_blocks.h"
#include "train/svd/adjacency.h"
#include "train/svd/basis.h"

#include <math.h>
#include <stdlib.h>

enum { EXTRAS = 3, MOST_ATTRIBUTES = 256, SET_STREAM = 2 };
#define CONSTANT 1e-5 /* columns whose deviation is below this share of the largest are ignored */

/* ---- rows of the nodes ---- */

/* The attributes [nodes, w] on the tape: the w features or, if these are more than MOST_ATTRIBUTES, w = MOST_ATTRIBUTES
 * coordinates of their SVD. */
static mo_tensor *graph_attributes(
    mo_tape *t, const mo_graph *graph, const mo_feature_options *o, mo_basis_quality *quality) {
    mo_context *ctx = t->ctx;
    int64_t F = graph->features;
    if (F > MOST_ATTRIBUTES) {
        mo_basis_side s = mo_basis_side_of(t, MOST_ATTRIBUTES, o, SET_STREAM);
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

/* One block while it is pooled; rows: means, then deviations, of each graph's nodes. */
typedef struct pooling {
    const mo_graph *graph;
    int64_t columns, width;             /* width: row length of "blocks" */
    float *nodes;                       /* [nodes, columns] */
    double *rows;                       /* [graphs, 2 columns] */
    double *center, *scale, *deviation; /* [2 columns] each, for one hop */
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

/* Mean and standard deviation of every column over the graphs. Returns the largest deviation. */
static double find_graph_moments(const pooling *p) {
    int64_t G = mo_counted_graphs(p->graph), w = 2 * p->columns;
    double largest = 0;
    for (int64_t j = 0; j < w; j++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < G; i++)
            sum += p->rows[mo_counted(p->graph, i) * w + j];
        p->center[j] = sum / (double)G;
        for (int64_t i = 0; i < G; i++) {
            double off = p->rows[mo_counted(p->graph, i) * w + j] - p->center[j];
            squares += off * off;
        }
        p->deviation[j] = sqrt(squares / (double)G);
        largest = fmax(largest, p->deviation[j]);
    }
    return largest;
}

/* Writes the rows of one hop [graphs, width], each column centred and scaled to standard deviation sqrt(s_j) (see
 * above). */
static void put_hop(const pooling *p, double largest, float *out) {
    int64_t w = 2 * p->columns;
    for (int64_t g = 0; g < p->graph->graphs; g++)
        for (int64_t j = 0; j < w; j++) {
            double centred = p->rows[g * w + j] - p->center[j];
            bool varies = p->deviation[j] > CONSTANT * largest;
            out[g * p->width + j] = varies ? (float)(centred / p->deviation[j] * p->scale[j]) : 0;
        }
}

/* Pools A^k X of the node rows X, for k = 0 .. hops, into out [hops + 1, graphs, width]. Writes to l [width] the
 * logarithm of s_j (see above) for each column, in place of a singular value's. */
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
        mo_standardize(
            (mo_rows){x, 1, graph->graphs, EXTRAS}, graph->counted, graph->n_counted, MO_EXTRAS_EPSILON, NULL);
        mo_tensor_write(extras, x, (size_t)(graph->graphs * EXTRAS) * sizeof *x);
    }
    free(x);
}

/* Pools node rows X, structure or attributes, into their part of the graphs' rows. */
static void fill_block(
    mo_tape *t, const mo_graph *graph, const mo_csr *A, mo_tensor *X, int hops, int64_t width, float *rows, float *l) {
    mo_context *ctx = t->ctx;
    pooling p = {.graph = graph, .columns = mo_dim(X, 1), .width = width};
    p.nodes = mo_host_array(ctx, graph->nodes * p.columns, sizeof *p.nodes);
    p.rows = mo_host_array(ctx, graph->graphs * 2 * p.columns, sizeof *p.rows);
    p.center = mo_host_array(ctx, 6 * p.columns, sizeof *p.center);
    if (mo_ok(ctx)) {
        p.scale = p.center + 2 * p.columns;
        p.deviation = p.scale + 2 * p.columns;
        pool_block(t, &p, A, X, hops, rows, l);
    }
    free(p.nodes);
    free(p.rows);
    free(p.center);
    mo_tape_reset(t);
}

/* Both blocks at every hop, and their spectrum. */
static void fill_blocks(const mo_graph *graph, const mo_feature_options *o, const mo_set_structure *structure,
    mo_tensor *blocks, mo_tensor *spectrum, mo_basis_quality *quality) {
    mo_context *ctx = graph->ctx;
    int64_t width = mo_dim(spectrum, 1), per_block = (o->hops + 1) * graph->graphs * width;
    float *rows = mo_host_array(ctx, MO_BLOCKS * per_block, sizeof *rows),
          *l = mo_host_array(ctx, MO_BLOCKS * width, sizeof *l);
    mo_csr *A = mo_ok(ctx) ? mo_normalized_adjacency(graph, MO_F32) : NULL;
    mo_tape *t = A ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int64_t j = 0; l && j < MO_BLOCKS * width; j++)
        l[j] = (float)log(MO_LEAST_RATIO);
    for (int b = 0; t && b < (graph->features > 0 ? MO_BLOCKS : 1) && mo_ok(ctx); b++) {
        mo_tensor *X = b ? graph_attributes(t, graph, o, quality)
                         : mo_from(t, MO_F32, 2, (int64_t[]){graph->nodes, MO_STRUCTURE}, structure->x);
        fill_block(t, graph, A, X, o->hops, width, rows + b * per_block, l + b * width);
    }
    if (t && mo_ok(ctx)) {
        mo_tensor_write(blocks, rows, (size_t)(MO_BLOCKS * per_block) * sizeof *rows);
        mo_tensor_write(spectrum, l, (size_t)(MO_BLOCKS * width) * sizeof *l);
    }
    mo_tape_release(t);
    mo_csr_release(A);
    free(rows);
    free(l);
}

/* The blocks that describe each graph without the common basis: "statistics", "subtrees", "waves". */
static void fill_set_blocks(const mo_graph *graph, const mo_graph *scaled, const mo_feature_options *o,
    const mo_set_structure *structure, mo_features *f, mo_basis_quality *quality) {
    mo_context *ctx = graph->ctx;
    int64_t G = graph->graphs;
    mo_tensor *statistics = mo_own_array(f, "statistics", 2, (int64_t[]){G, MO_STATISTICS}),
              *subtrees = mo_own_array(f, "subtrees", 2, (int64_t[]){G, MO_SUBTREES}),
              *waves = mo_own_array(f, "waves", 2, (int64_t[]){G, MO_WAVES});
    float *x = mo_host_array(ctx, G * MO_WAVES, sizeof *x);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    if (t && mo_set_statistics(graph, structure, x))
        mo_tensor_write(statistics, x, (size_t)(G * MO_STATISTICS) * sizeof *x);
    if (t && mo_set_waves(scaled, structure, o->seed, x))
        mo_tensor_write(waves, x, (size_t)(G * MO_WAVES) * sizeof *x);
    mo_basis_quality own = {0};
    mo_tensor *P = t ? mo_set_subtrees(t, graph, o, &own) : NULL;
    if (t && mo_ok(ctx))
        mo_tensor_copy(subtrees, P);
    quality->residual = fmax(quality->residual, own.residual);
    quality->orthogonality = fmax(quality->orthogonality, own.orthogonality);
    mo_tape_release(t);
    free(x);
}

bool mo_graph_rows(const mo_graph *graph, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = graph->ctx;
    int64_t F = graph->features > MOST_ATTRIBUTES ? MOST_ATTRIBUTES : graph->features;
    int64_t width = 2 * (F > MO_STRUCTURE ? F : MO_STRUCTURE), G = graph->graphs;
    mo_tensor *blocks = mo_own_array(f, "blocks", 4, (int64_t[]){MO_BLOCKS, o->hops + 1, G, width});
    mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, width});
    mo_tensor *extras = mo_own_array(f, "extras", 2, (int64_t[]){G, EXTRAS});
    mo_basis_quality quality = {0};
    mo_set_structure structure = {0};
    mo_graph scaled = *graph;
    float *own = NULL;
    if (mo_ok(ctx) && mo_set_structure_find(graph, &structure) && mo_set_scale(&scaled, &own)) {
        fill_blocks(&scaled, o, &structure, blocks, spectrum, &quality);
        put_extras(graph, extras);
        fill_set_blocks(graph, &scaled, o, &structure, f, &quality);
    }
    mo_set_structure_free(&structure);
    free(own);
    f->svd_residual = quality.residual;
    f->svd_orthogonality = quality.orthogonality;
    return mo_ok(ctx);
}
