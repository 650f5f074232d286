/* train/features/example_rows.h - rows of examples, by task (library internal). */
#ifndef MO_EXAMPLE_ROWS_H
#define MO_EXAMPLE_ROWS_H

#include "train/inside.h"

enum { MO_BLOCKS = 2 };     /* structure, attributes */
enum { MO_KERNEL_HOP = 2 }; /* the hop that the kernel H of nodes compares; "mixed" rows end with it */
#define MO_LEAST_RATIO 1e-6 /* least ratio of a singular value to the largest, in the log-spectrum */

/* Adds a zeroed float32 tensor of that name; the features own it. Returns the null tensor on failure. */
mo_tensor *mo_own_array(mo_features *f, const char *name, int ndim, const int64_t *shape);

/* A part of the rows, [E, p], beside "blocks" and "extras": its name, and the bound to which episodes clip it (0:
 * none). */
typedef struct mo_part_row {
    const char *name;
    double limit;
} mo_part_row;
extern const mo_part_row mo_part_rows[]; /* episode_build.c; the last entry has no name */

/* The number of neighbours of node u. */
static inline int64_t degree(const mo_graph *graph, int64_t u) {
    return graph->row_pointer[u + 1] - graph->row_pointer[u];
}

/* Over how many examples means and spreads are taken, and the i-th of them. */
static inline int64_t mo_counted_examples(const mo_graph *graph) {
    return graph->counted ? graph->n_counted : mo_graph_examples(graph);
}
/* The same of a set, which may have one graph. */
static inline int64_t mo_counted_graphs(const mo_graph *graph) {
    return graph->counted ? graph->n_counted : graph->graphs;
}
static inline int64_t mo_counted(const mo_graph *graph, int64_t i) {
    return graph->counted ? graph->counted[i] : i;
}

/* Marks the cache entries of a graph with scaled attributes; increase its number when the scale changes. */
static inline const char *mo_scale_key(const mo_graph *graph) {
    return graph->scaled ? " attributes scaled 2" : "";
}

/* blocks.c: "basis" [2, nodes, d], of mean norm 1, and "spectrum" [2, d], from the cache or computed. */
bool mo_open_basis(const mo_graph *graph, const mo_feature_options *o, mo_features *f);
/* blocks.c: how many columns of each SVD the rows of nodes have. Time and memory of the SVDs and of the sums over hops
 * grow with nodes times columns: beyond 96 million a graph has fewer columns than o.dim, but at least 64, or down to 32
 * if memory is too small for them; a notice says so. Few are enough: with 64 labels of each class 128 columns lose .3
 * points against 256, and 64 lose .7; with 16 or fewer none (train/evaluation/RESULTS.md). kept: as of
 * mo_estimate_memory. */
int mo_node_width(const mo_graph *graph, mo_feature_options o, int64_t kept);
/* blocks.c: both blocks [2, sums, n, d] of rows `mixed` [sums, n, w], whose columns are listed in columns [w] as b d +
 * j for column j of block b; the others are zero. */
mo_tensor *mo_whole_blocks(mo_tape *t, mo_tensor *mixed, const mo_tensor *columns, int64_t d);
/* blocks.c, pairs/pair_reader.c, sets/graph_rows.c: add "blocks", "spectrum", "extras" and the parts for their task. */
bool mo_node_rows(const mo_graph *graph, const mo_feature_options *o, mo_features *f);
bool mo_pair_rows(const mo_links *links, const mo_feature_options *o, mo_features *f);
bool mo_graph_rows(const mo_graph *graph, const mo_feature_options *o, mo_features *f);

/* gram_blocks.c: x [outer, n, w] minus its mean over n, divided by its standard deviation + epsilon; both statistics
 * are taken over the m rows listed in reference (NULL: all rows). moments (may be NULL): receives the means and the
 * divisors, [2, outer, w]. */
typedef struct mo_rows {
    float *x;
    int64_t outer, n, w;
} mo_rows;
void mo_standardize(mo_rows rows, const int64_t *reference, int64_t m, double epsilon, float *moments);
#define MO_BLOCK_EPSILON 1e-4
#define MO_EXTRAS_EPSILON 1e-3
/* The bound to which episodes clip standardised values. */
#define MO_BLOCK_LIMIT 5
#define MO_EXTRAS_LIMIT 4

#endif
