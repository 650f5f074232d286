/* train/features/example_kernels.h - kernels between the examples of a source, nodes or graphs, one per expert (library
 * internal). The experts of nodes are defined in nodes/kernels.c, those of graphs in sets/kernels.c. */
#ifndef MO_EXAMPLE_KERNELS_H
#define MO_EXAMPLE_KERNELS_H

#include "train/features/gram_blocks.h"

/* Columns of all examples, standardised (target_columns.c). */
typedef struct mo_column_table {
    float *x; /* [examples, w]; owned */
    int64_t w, varying;
} mo_column_table;
enum { MO_COLUMN_TABLES = 2 };

typedef struct mo_example_kernels {
    const mo_graph *graph;                   /* borrowed */
    char **name;                             /* [count]: the experts' names */
    int count;                               /* number of experts */
    double assortativity;                    /* of nodes: mo_attribute_assortativity; 0 without attributes */
    mo_column_table table[MO_COLUMN_TABLES]; /* of the kernels for real targets, once they are made */
    bool made, targets;                      /* targets: these kernels are among the experts, the last `columns` */
    int columns;
    struct mo_node_experts *nodes; /* one of the two is set */
    struct mo_graph_experts *graphs;
} mo_example_kernels;

/* source: its graph and features are borrowed until release; features NULL: no expert H. With source->inductive call
 * mo_example_kernels_refer before reading kernels of graphs. Raises MO_UNSUPPORTED for links,
 * MO_INVALID for nodes of a set or graphs of a single graph, and MO_NUMERICAL for attributes whose squares float32
 * cannot hold. Bits do not depend on the number of threads. Returns NULL on failure. */
mo_example_kernels *mo_example_kernels_create(const mo_source *source);
void mo_example_kernels_release(mo_example_kernels *k);

/* mo_example_kernels_count: the number of experts (NULL: 0). mo_example_kernels_name: the name of expert e, borrowed.
 * mo_example_kernels_assortativity: NULL: 0. */
int mo_example_kernels_count(const mo_example_kernels *k);
const char *mo_example_kernels_name(const mo_example_kernels *k, int e);
double mo_example_kernels_assortativity(const mo_example_kernels *k);

/* Adds an expert of nodes from rows [nodes, w], float32 or float64, which are copied and scaled to unit length. Raises
 * MO_UNSUPPORTED for a set of graphs, MO_INVALID for rows of another shape or a name that is taken, and MO_NUMERICAL if
 * a value is not finite. Returns the status. */
mo_code mo_example_kernels_add(mo_example_kernels *k, const mo_graph *graph, const mo_expert *expert);

/* Sets the labelled graphs of inductive kernels, n numbers, copied; no effect on other kernels. Raises MO_INVALID for a
 * graph outside the set. Returns the status. */
mo_code mo_example_kernels_refer(mo_example_kernels *k, const int64_t *labelled, int64_t n);

/* Writes K [E, n_a, n_b] float32: the kernels between the examples a [n_a] and b [n_b], which can repeat and can be
 * empty. Rows of nodes made for b are kept for the next call with the same b: pass the support as b, and blocks of
 * queries as a. Dense attributes keep 12 bytes per column for each node of b, and use as much for up to 1,024 nodes of
 * a at a time. Sparse attributes keep 8 bytes per node of b for each node requested so far and each of its neighbours,
 * at most 2 GiB. Raises MO_INVALID for an example that is not there. Not thread-safe. Returns the status. */
mo_code mo_example_kernels_gram(
    mo_example_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K);

/* target_columns.c: adds the kernels for real targets to the experts, as the last, or takes them away. Returns false on
 * failure. */
bool mo_example_kernels_for_targets(mo_example_kernels *k, bool on);
/* Writes these kernels [.., n_a, n_b]. */
void mo_column_kernels(const mo_example_kernels *k, const mo_row_pairs *pairs, float *K);
/* D [E, n]: the kernels of examples a with themselves; 2 for rows of unit length, also where a row is zero. */
void mo_example_kernels_diagonal(const mo_example_kernels *k, const int64_t *a, int64_t n, float *D);

/* ---- for nodes/kernels.c and sets/kernels.c ---- */

/* Writes the columns of st, lab and at to x [graphs, stride]; NULL: none. Returns their number. */
int64_t mo_graph_experts_columns(const mo_example_kernels *k, float *x, int64_t stride);

/* Adds an expert's name, a copy. Returns false after raising. */
bool mo_kernels_name(mo_example_kernels *k, const char *name);

/* Make the experts, and add their names. Return false on failure. */
bool mo_node_experts_make(mo_example_kernels *k, const mo_features *nodes);
bool mo_graph_experts_make(mo_example_kernels *k, bool inductive);
void mo_node_experts_release(struct mo_node_experts *n);
void mo_graph_experts_release(struct mo_graph_experts *s);
/* As mo_example_kernels_gram, for lists of examples that are there; neither is empty. Return where K goes on. */
float *mo_node_experts_gram(mo_example_kernels *k, const mo_row_pairs *pairs, float *K);
float *mo_graph_experts_gram(mo_example_kernels *k, const mo_row_pairs *pairs, float *K);
/* mo_example_kernels_add, for finite rows of a new name: scales them and takes them over, even on failure. */
bool mo_node_experts_add(mo_example_kernels *k, const char *name, float *rows, int64_t w);

#endif
