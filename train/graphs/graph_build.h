/* train/graphs/graph_build.h - shared by all loaders: builds a graph's adjacency from directed edges (library
 * internal). */
#ifndef MO_GRAPH_BUILD_H
#define MO_GRAPH_BUILD_H

#include "tensor/library.h"
#include "train/graphs/node_names.h"
#include "train/inside.h"

#define MO_GRAPH_LARGEST ((int64_t)INT32_MAX) /* bound of nodes and of features, as columns are int32 */

/* Directed edges in the order of the file; both ends are node numbers below MO_GRAPH_LARGEST. */
typedef struct mo_edges {
    int64_t count, capacity_u, capacity_v, capacity_weight, capacity_time;
    uint32_t *u, *v;
    float *weight; /* NULL: all equal */
    double *time;  /* NULL: none */
} mo_edges;

/* Adds an edge; false when out of memory. */
static inline bool mo_edges_add(mo_context *ctx, mo_edges *edges, int64_t u, int64_t v) {
    if ((edges->count >= edges->capacity_u || edges->count >= edges->capacity_v) &&
        (!mo_host_array_grow(ctx, &edges->u, &edges->capacity_u, edges->count + 1, sizeof *edges->u) ||
            !mo_host_array_grow(ctx, &edges->v, &edges->capacity_v, edges->count + 1, sizeof *edges->v)))
        return false;
    edges->u[edges->count] = (uint32_t)u;
    edges->v[edges->count++] = (uint32_t)v;
    return true;
}

/* Sets the weight, above 0, of the edge that was added last. Call it after every edge or never. False when out of
 * memory. */
static inline bool mo_edges_weigh(mo_context *ctx, mo_edges *edges, float weight) {
    if (!mo_host_array_grow(ctx, &edges->weight, &edges->capacity_weight, edges->count, sizeof *edges->weight))
        return false;
    edges->weight[edges->count - 1] = weight;
    return true;
}

/* The same for the time of the edge. */
static inline bool mo_edges_date(mo_context *ctx, mo_edges *edges, double time) {
    if (!mo_host_array_grow(ctx, &edges->time, &edges->capacity_time, edges->count, sizeof *edges->time))
        return false;
    edges->time[edges->count - 1] = time;
    return true;
}

void mo_edges_release(mo_edges *edges);

/* An empty graph without nodes; the caller releases it with mo_graph_release. NULL on failure. */
mo_graph *mo_graph_new(mo_context *ctx, const char *name, const char *source);
/* Bytes that a node and a column of the features take at least: what mo_claim_fits (tensor/files/file.h) is asked for
 * nodes and columns that a file claims without listing them. A node is in five int64 arrays: feature offsets, bucket
 * ends of both sorts, row starts, next free places. A column is a row of 64 float64 in the SVD of the features. */
enum { MO_BYTES_A_NODE = 5 * sizeof(int64_t), MO_BYTES_A_COLUMN = 64 * sizeof(double) };
/* Sets the graph's nodes and its undirected adjacency without loops and duplicates, in O(nodes + edges); counts dropped
 * loops and directed edges listed more than once. The weight of an edge is the largest that is listed for it, in either
 * direction, its time the earliest. Takes over the edges. */
bool mo_graph_set_edges(mo_graph *graph, int64_t nodes, mo_edges *edges);
/* Sets the labels: the n values (copied) become classes 0.. in the order of the sorted distinct values. */
bool mo_graph_set_classes(mo_graph *graph, const int64_t *value, int64_t n);
/* Sets the labels [n], which it takes over (NULL: reading them failed): classes numbered from 0, at most n; a negative
 * number means unlabelled. path starts the error message; of_lines: label i is on line i + 1. */
bool mo_graph_set_labels(mo_graph *graph, int64_t *label, int64_t n, const char *path, bool of_lines);
/* Sets the labels of some examples of the graph; all other examples are unlabelled. */
bool mo_graph_take_labels(mo_graph *graph, const mo_labels *labels);
/* Sets the node features: the columns of value [nodes, columns], then one-hot columns of kind [nodes] (NULL: none), one
 * per distinct kind, sorted. */
bool mo_graph_set_features(mo_graph *graph, const float *value, int64_t columns, const int64_t *kind);
/* attribute_texts.c: appends a column of texts [nodes] as columns of numbers. A value NaN of a feature is a gap, which
 * mo_graph_finish fills and marks. name: NULL if the columns have no names; path starts error messages. */
bool mo_graph_add_texts(mo_graph *graph, const char *path, const char *name, const mo_words *text);
bool mo_graph_fill_gaps(mo_graph *graph);
/* The length of the name of the column whose gaps a column of that name marks (mo_graph_fill_gaps); 0: it marks none.
 */
size_t mo_gaps_of(const char *name);
/* Sorts the n values x, and returns their median. */
double mo_sorted_median(double *x, int64_t n);
/* Calls take for each wanted column j of the features, with its values x [n], sorted, and their median. The values are
 * those of the nodes without a gap; a node without an entry has 0. A column of gaps alone is passed over. */
typedef void mo_take_column(void *state, int64_t j, double median, const double *x, int64_t n);
bool mo_graph_sort_columns(const mo_graph *graph, const bool *wanted, mo_take_column *take, void *state);
/* The place of v among the columns of row u, or -1. */
int64_t mo_graph_place(const mo_graph *graph, int64_t u, int64_t v);
/* other_graph.c: adds the graph, as it was loaded and without labels, to the arrays of a fit, for mo_graph_kept. */
void mo_graph_keep(const mo_graph *graph, mo_arrays *arrays);
/* Adds to graph->left_out. */
void mo_graph_leave_out(mo_graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The last step of a loader: leaves out features that carry no information, sets the offsets of a graph that is not a
 * set, and hashes the content. Returns the graph; in the error state releases it and returns NULL. */
mo_graph *mo_graph_finish(mo_graph *graph);

#endif
