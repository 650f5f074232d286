/* train/features/sets/kernels.c - kernels between the graphs of a set, one per expert.
 *
 * The experts of a set, with d the degrees of a graph's n nodes, m its edges, t the triangles of a node, P = D^-1 A and
 * x = log(1 + d); "spread" means mean and standard deviation over the nodes of a graph:
 *
 *     st   log n, log(1 + m), 2 m / n, density; spread of x, P x, clustering, log(1 + t)
 *     lab  of each node label its share and log(1 + count); shares of the degrees 0 .. 15; log n, log(1 + m)
 *     at   of each attribute a, standardised over all nodes: spread of a and P a, mean of a x; if there are at
 *          most four attributes, also the means of a_i (P a)_i and of a_i a_j, i < j
 *     atx  at and lab
 *     wl   subtrees.c: the columns of the optimal assignment kernel, in full
 *
 * k(X, Y) = 1 + exp(-|x - y|^2 / (2 p)) for the first four, with every column standardised over the graphs of the set,
 * clipped to -4 .. 4, and p the number of columns that vary. For wl, k(X, Y) is 1 + the cosine of the rows. Node labels
 * are the 0-1 feature columns that are not attributes of a TU set; all other columns are attributes. Without attributes
 * at and atx are left out. So is an expert that is the same for all graphs, unless the kernels are inductive.
 *
 * Inductive kernels use the labelled graphs alone: "all nodes" and "the graphs of the set" mean those of labelled
 * graphs, and wl reads only columns that a labelled graph has. So the kernel between a graph and a labelled one does
 * not depend on other graphs, except for rounding and the choice of which feature columns are attributes. */
#include "train/features/example_kernels.h"

#include "tensor/objects.h"
#include "train/features/sets/set_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_COLUMNS = 4, SIZES = 4, ST = SIZES + 2 * NODE_COLUMNS, DEGREES = 16, FEW_ATTRIBUTES = 4, TASK = 16 };

/* Columns of the graphs that a Gaussian kernel compares. */
typedef struct graph_columns {
    float *x; /* [graphs, w] */
    int64_t w, varying;
} graph_columns;

enum { STRUCTURE, LABELS, ATTRIBUTES, BOTH, GAUSSIANS };

/* The set's feature columns, split into labels and attributes, and the nodes' attributes. */
typedef struct node_columns {
    int64_t n_labels, n_attributes;
    int64_t *place;           /* [features]: index among the labels or among the attributes */
    bool *attribute;          /* [features] */
    float *a;                 /* [nodes, n_attributes], standardised */
    float (*x)[NODE_COLUMNS]; /* [nodes]: log(1 + d), its mean over the neighbours, clustering, log(1 + triangles) */
} node_columns;

typedef struct mo_graph_experts {
    const mo_graph *set;
    graph_columns of[GAUSSIANS];
    int64_t *first; /* the rows of wl, a sparse matrix [graphs, columns] */
    int32_t *column, *place;
    float *value;
    int64_t columns;
    bool inductive;
    node_columns nodes;            /* kept for inductive kernels */
    int64_t *labelled, n_labelled; /* columns are standardised over these graphs; NULL: over all, or not yet set */
    double *known;                 /* [columns]: 1 if a labelled graph has that column of wl, else 0; or NULL */
} graph_experts;

/* ---- columns of the nodes ---- */

static void sort_columns(const mo_graph *set, node_columns *c) {
    for (int64_t j = 0; j < set->attributes; j++)
        c->attribute[j] = true;
    for (int64_t e = 0; e < set->feature_nnz; e++)
        c->attribute[set->feature_column[e]] |= set->feature_value[e] != 0 && set->feature_value[e] != 1;
    for (int64_t j = 0; j < set->features; j++)
        c->place[j] = c->attribute[j] ? c->n_attributes++ : c->n_labels++;
}

/* Fills the attributes, each standardised over the listed nodes (NULL: over all). */
static void fill_attributes(const mo_graph *set, const node_columns *c, const int64_t *node, int64_t n) {
    memset(c->a, 0, (size_t)(set->nodes * c->n_attributes) * sizeof *c->a);
    for (int64_t u = 0; u < set->nodes && set->features > 0; u++)
        for (int64_t e = set->feature_pointer[u]; e < set->feature_pointer[u + 1]; e++) {
            int64_t j = set->feature_column[e];
            if (c->attribute[j])
                c->a[u * c->n_attributes + c->place[j]] = set->feature_value[e];
        }
    mo_scale_columns(c->a, set->nodes, c->n_attributes, node, n, INFINITY);
}

static void fill_structure(const mo_graph *set, const mo_set_structure *s, const node_columns *c) {
    for (int64_t u = 0; u < set->nodes; u++) {
        double d = (double)degree(set, u), near = 0, triangles = s->closed[2 * u] / 2;
        for (int64_t e = set->row_pointer[u]; e < set->row_pointer[u + 1]; e++)
            near += log1p((double)degree(set, set->column[e]));
        const double x[NODE_COLUMNS] = {
            log1p(d), d > 0 ? near / d : 0, d > 1 ? 2 * triangles / (d * (d - 1)) : 0, log1p(triangles)};
        for (int j = 0; j < NODE_COLUMNS; j++)
            c->x[u][j] = (float)x[j];
    }
}

static bool find_node_columns(const mo_graph *set, node_columns *c) {
    mo_context *ctx = set->ctx;
    mo_set_structure s = {0};
    c->place = mo_host_array(ctx, set->features, sizeof *c->place);
    c->attribute = mo_host_array(ctx, set->features, sizeof *c->attribute);
    c->x = mo_host_array(ctx, set->nodes, sizeof *c->x);
    if (mo_ok(ctx))
        sort_columns(set, c);
    c->a = mo_ok(ctx) ? mo_host_array(ctx, set->nodes * c->n_attributes, sizeof *c->a) : NULL;
    if (mo_ok(ctx) && mo_set_structure_find(set, &s)) {
        fill_structure(set, &s, c);
    }
    mo_set_structure_free(&s);
    return mo_ok(ctx);
}

static void free_node_columns(node_columns *c) {
    free(c->place);
    free(c->attribute);
    free(c->a);
    free(c->x);
    *c = (node_columns){0};
}

/* ---- columns of the graphs ---- */

static void put_spread(const float *x, int64_t n, int64_t stride, float out[2]) {
    double mean, deviation = mo_spread(x, stride, NULL, n, &mean);
    out[0] = (float)mean;
    out[1] = (float)deviation;
}

static double edges_of(const mo_graph *set, int64_t g) {
    return (double)(set->row_pointer[set->graph_offset[g + 1]] - set->row_pointer[set->graph_offset[g]]) / 2;
}

static void describe_structure(const mo_graph *set, const node_columns *c, int64_t g, float *out) {
    int64_t first = set->graph_offset[g], nodes = set->graph_offset[g + 1] - first;
    double n = (double)nodes, m = edges_of(set, g);
    out[0] = (float)log(fmax(n, 1));
    out[1] = (float)log1p(m);
    out[2] = (float)(2 * m / fmax(n, 1));
    out[3] = n > 1 ? (float)(2 * m / (n * (n - 1))) : 0;
    for (int j = 0; j < NODE_COLUMNS; j++)
        put_spread(&c->x[first][j], nodes, NODE_COLUMNS, out + SIZES + 2 * j);
}

static void describe_labels(const mo_graph *set, const node_columns *c, int64_t g, float *out) {
    int64_t first = set->graph_offset[g], stop = set->graph_offset[g + 1];
    float *degrees = out + 2 * c->n_labels, *sizes = degrees + DEGREES;
    double n = fmax((double)(stop - first), 1);
    for (int64_t u = first; u < stop; u++) {
        for (int64_t e = set->features ? set->feature_pointer[u] : 0; set->features && e < set->feature_pointer[u + 1];
             e++)
            if (!c->attribute[set->feature_column[e]] && set->feature_value[e] != 0)
                out[2 * c->place[set->feature_column[e]]]++;
        if (degree(set, u) < DEGREES)
            degrees[degree(set, u)]++;
    }
    for (int64_t j = 0; j < c->n_labels; j++) {
        out[2 * j + 1] = (float)log1p(out[2 * j]);
        out[2 * j] = (float)(out[2 * j] / n);
    }
    for (int k = 0; k < DEGREES; k++)
        degrees[k] = (float)(degrees[k] / n);
    sizes[0] = (float)log(n);
    sizes[1] = (float)log1p(edges_of(set, g));
}

/* The number of columns for n attributes: five each, and products of pairs if n is small. */
static int64_t attribute_columns(int64_t n) {
    return 5 * n + (n <= FEW_ATTRIBUTES ? n + n * (n - 1) / 2 : 0);
}

/* Writes the attribute columns of graph g. near [its nodes, attributes]: scratch for P a. */
static void describe_attributes(const mo_graph *set, const node_columns *c, int64_t g, float *near, float *out) {
    int64_t first = set->graph_offset[g], n = set->graph_offset[g + 1] - first, w = c->n_attributes;
    const float *a = c->a + first * w;
    for (int64_t u = 0; u < n; u++)
        for (int64_t j = 0; j < w; j++) {
            double sum = 0, d = (double)degree(set, first + u);
            for (int64_t e = set->row_pointer[first + u]; e < set->row_pointer[first + u + 1]; e++)
                sum += c->a[set->column[e] * w + j];
            near[u * w + j] = d > 0 ? (float)(sum / d) : 0;
        }
    for (int64_t j = 0; j < w; j++) {
        put_spread(a + j, n, w, out);
        put_spread(near + j, n, w, out + 2);
        double sum = 0;
        for (int64_t u = 0; u < n; u++)
            sum += (double)a[u * w + j] * c->x[first + u][0];
        out[4] = n > 0 ? (float)(sum / (double)n) : 0;
        out += 5;
    }
    for (int64_t i = 0; i < w && w <= FEW_ATTRIBUTES; i++)
        for (int64_t j = i; j < w; j++) { /* a_i (P a)_i, then a_i a_j */
            double sum = 0;
            for (int64_t u = 0; u < n; u++)
                sum += (double)a[u * w + i] * (i == j ? near : a)[u * w + j];
            *out++ = n > 0 ? (float)(sum / (double)n) : 0;
        }
}

static void find_widths(graph_experts *k) {
    int64_t at = attribute_columns(k->nodes.n_attributes), lab = 2 * k->nodes.n_labels + DEGREES + 2;
    const int64_t w[GAUSSIANS] = {ST, lab, at, at ? at + lab : 0};
    for (int i = 0; i < GAUSSIANS; i++)
        k->of[i].w = w[i];
}

/* Computes all columns and standardises them over the labelled graphs, whose nodes are node[0 .. count - 1]; if `node`
 * is NULL, over all graphs. */
static bool make_columns(graph_experts *k, const int64_t *node, int64_t count) {
    const node_columns *c = &k->nodes;
    const mo_graph *set = k->set;
    int64_t at = k->of[ATTRIBUTES].w, lab = k->of[LABELS].w, largest = 0, G = set->graphs;
    fill_attributes(set, c, node, count);
    for (int i = 0; i < GAUSSIANS; i++) {
        free(k->of[i].x);
        k->of[i].x = mo_host_array(set->ctx, G * k->of[i].w, sizeof(float));
    }
    for (int64_t g = 0; g < G; g++)
        largest = set->graph_offset[g + 1] - set->graph_offset[g] > largest
                      ? set->graph_offset[g + 1] - set->graph_offset[g]
                      : largest;
    float *near = mo_ok(set->ctx) ? mo_host_array(set->ctx, largest * c->n_attributes, sizeof *near) : NULL;
    for (int64_t g = 0; g < G && near; g++) {
        describe_structure(set, c, g, k->of[STRUCTURE].x + g * ST);
        describe_labels(set, c, g, k->of[LABELS].x + g * lab);
        describe_attributes(set, c, g, near, k->of[ATTRIBUTES].x + g * at);
        if (c->n_attributes) {
            memcpy(k->of[BOTH].x + g * (at + lab), k->of[ATTRIBUTES].x + g * at, (size_t)at * sizeof *near);
            memcpy(k->of[BOTH].x + g * (at + lab) + at, k->of[LABELS].x + g * lab, (size_t)lab * sizeof *near);
        }
    }
    free(near);
    for (int i = 0; i < GAUSSIANS && mo_ok(set->ctx); i++)
        k->of[i].varying = mo_scale_columns(k->of[i].x, G, k->of[i].w, k->labelled, k->n_labelled, MO_KERNEL_CLIP);
    return mo_ok(set->ctx);
}

/* Returns whether the columns k->of[i] form an expert: with inductive kernels, if there are any; else, if one of them
 * differs between graphs. */
static bool is_expert(const graph_experts *k, int i) {
    return k->inductive ? k->of[i].w > 0 : k->of[i].varying > 0;
}

/* The rows of wl, in host memory wherever the set is. */
static bool make_subtrees(graph_experts *k) {
    mo_context *ctx = k->set->ctx;
    mo_csr *A = mo_set_subtree_columns(k->set, k->inductive);
    if (!A)
        return false;
    k->columns = A->columns;
    k->first = mo_host_values(A->row_pointer, MO_I64);
    k->column = mo_host_values(A->column, MO_I32);
    k->value = mo_host_values(A->values, MO_F32);
    k->place = mo_host_array(ctx, A->columns, sizeof *k->place);
    for (int64_t c = 0; k->place && c < A->columns; c++)
        k->place[c] = -1;
    mo_csr_release(A);
    return mo_ok(ctx);
}

static bool name_experts(mo_example_kernels *all) {
    static const char *const names[GAUSSIANS] = {"st", "lab", "at", "atx"};
    for (int i = 0; i < GAUSSIANS; i++)
        if (is_expert(all->graphs, i) && !mo_kernels_name(all, names[i]))
            return false;
    return all->graphs->columns == 0 || mo_kernels_name(all, "wl");
}

/* The numbers of the listed graphs' nodes, [*count]; free() the result. NULL on failure. */
static int64_t *nodes_of(const mo_graph *set, const int64_t *graph, int64_t n, int64_t *count) {
    *count = 0;
    for (int64_t i = 0; i < n; i++)
        *count += set->graph_offset[graph[i] + 1] - set->graph_offset[graph[i]];
    int64_t *node = mo_host_array(set->ctx, *count, sizeof *node), at = 0;
    for (int64_t i = 0; node && i < n; i++)
        for (int64_t u = set->graph_offset[graph[i]]; u < set->graph_offset[graph[i] + 1]; u++)
            node[at++] = u;
    return node;
}

/* The columns, standardised over all graphs, or over those of the set that count. */
static bool make_counted_columns(graph_experts *k) {
    const mo_graph *set = k->set;
    int64_t n = set->n_counted, count = 0;
    if (!set->counted)
        return make_columns(k, NULL, 0);
    int64_t *node = nodes_of(set, set->counted, n, &count);
    k->labelled = mo_host_array(set->ctx, n, sizeof *k->labelled);
    k->n_labelled = n;
    if (node && k->labelled)
        memcpy(k->labelled, set->counted, (size_t)n * sizeof *k->labelled);
    bool done = node && k->labelled && make_columns(k, node, count);
    free(node);
    return done;
}

/* ---- make, query, release ---- */

bool mo_graph_experts_make(mo_example_kernels *all, bool inductive) {
    graph_experts *k = all->graphs = mo_host_array(all->graph->ctx, 1, sizeof *k);
    if (!k)
        return false;
    k->set = all->graph;
    k->inductive = inductive;
    bool done = find_node_columns(k->set, &k->nodes);
    find_widths(k);
    done = done && (inductive || make_counted_columns(k)) && make_subtrees(k) && name_experts(all);
    if (!inductive)
        free_node_columns(&k->nodes);
    return done;
}

/* ---- inductive kernels: columns and moments of the labelled graphs ---- */

static bool list_known(graph_experts *k) {
    k->known = mo_host_array(k->set->ctx, k->columns, sizeof *k->known);
    for (int64_t i = 0; k->known && i < k->n_labelled; i++)
        for (int64_t e = k->first[k->labelled[i]]; e < k->first[k->labelled[i] + 1]; e++)
            k->known[k->column[e]] = 1;
    return k->known;
}

mo_code mo_example_kernels_refer(mo_example_kernels *all, const int64_t *graph, int64_t n) {
    if (!all || !all->graphs)
        return MO_OK;
    graph_experts *k = all->graphs;
    mo_context *ctx = k->set->ctx;
    mo_row_pairs p = {graph, graph, n, 0};
    bool same = k->labelled && k->n_labelled == n && memcmp(k->labelled, graph, (size_t)n * sizeof *graph) == 0;
    if (!k->inductive || same || !mo_ok(ctx) || !mo_rows_exist(ctx, &p, k->set->graphs, "graph"))
        return mo_code_of(ctx);
    free(k->labelled);
    free(k->known);
    k->known = NULL;
    k->labelled = mo_host_array(ctx, n, sizeof *k->labelled);
    k->n_labelled = n;
    int64_t count, *node = k->labelled ? nodes_of(k->set, graph, n, &count) : NULL;
    if (node) {
        memcpy(k->labelled, graph, (size_t)n * sizeof *graph);
        if (make_columns(k, node, count))
            list_known(k);
    }
    free(node);
    if (!mo_ok(ctx)) {
        free(k->labelled);
        k->labelled = NULL;
    }
    return mo_code_of(ctx);
}

float *mo_graph_experts_gram(mo_example_kernels *all, const mo_row_pairs *p, float *K) {
    graph_experts *k = all->graphs;
    mo_context *ctx = k->set->ctx;
    if (k->inductive && !k->labelled) {
        mo_fail(
            ctx, MO_STATE, "kernels: expected the labelled graphs (mo_example_kernels_refer) before inductive kernels");
        return K;
    }
    for (int i = 0; i < GAUSSIANS; i++)
        if (is_expert(k, i)) {
            int64_t varying = k->of[i].varying > 0 ? k->of[i].varying : 1;
            mo_gaussian_block(ctx, k->of[i].x, k->of[i].w, varying, p, K);
            K += p->n_a * p->n_b;
        }
    mo_sparse_rows wl = {k->columns, k->first, k->column, k->value, k->known};
    if (k->columns > 0)
        mo_cosine_block(ctx, &wl, k->place, p, K);
    return K + (k->columns > 0 ? p->n_a * p->n_b : 0);
}

int64_t mo_graph_experts_columns(const mo_example_kernels *all, float *x, int64_t stride) {
    const graph_experts *k = all->graphs;
    int64_t w = 0;
    for (int i = 0; i < BOTH; w += k->of[i].w, i++)
        for (int64_t g = 0; x && g < k->set->graphs; g++)
            memcpy(x + g * stride + w, k->of[i].x + g * k->of[i].w, (size_t)k->of[i].w * sizeof *x);
    return w;
}

void mo_graph_experts_release(graph_experts *k) {
    if (!k)
        return;
    for (int i = 0; i < GAUSSIANS; i++)
        free(k->of[i].x);
    free_node_columns(&k->nodes);
    free(k->labelled);
    free(k->known);
    free(k->first);
    free(k->column);
    free(k->value);
    free(k->place);
    free(k);
}
