/* train/frozen_features.h - frozen features of a graph, which encoders read, and the folder that caches them. Part of
 * train/inside.h. */
#ifndef MO_FROZEN_FEATURES_H
#define MO_FROZEN_FEATURES_H

#include "train/graph.h"

/* Progress of slow preparations: a line of text, borrowed for the call. May be NULL. */
typedef void (*mo_notice)(const char *line, void *state);

typedef enum mo_combine { MO_COMBINE_SUM = 0, MO_COMBINE_CONCAT } mo_combine;

/* The normalisation of each row of X0 before the hops: LayerNorm without affine (the released program), or none (as in
 * the paper). */
typedef enum mo_feature_norm { MO_FEATURE_NORM_LAYER = 0, MO_FEATURE_NORM_NONE } mo_feature_norm;

/* Rows of nodes, as in the paper; or rows of examples (nodes, links or graphs), from which an invariant encoder
 * (models/invariant.c) computes a result that does not depend on the SVD's choice of basis. */
typedef enum mo_feature_form { MO_ROWS_PER_NODE = 0, MO_ROWS_PER_EXAMPLE } mo_feature_form;

MO_API const char *mo_feature_form_name(mo_feature_form form); /* "nodes", "examples" */

/* Where a pool keeps its graphs' rows. ON_DEVICE: in memory of its context's device. ON_HOST: in host memory. ON_DISK:
 * hop stacks in files of the cache folder, rows of links and graphs in host memory. Rows outside the device are
 * computed by the CPU, and a thread fetches an episode's rows before its step. AUTO: ON_DEVICE or, with a notice,
 * ON_HOST if a graph's rows do not fit in the device's free memory. */
typedef enum mo_feature_place {
    MO_FEATURES_AUTO = 0,
    MO_FEATURES_ON_DEVICE,
    MO_FEATURES_ON_HOST,
    MO_FEATURES_ON_DISK
} mo_feature_place;

typedef struct mo_feature_options {
    mo_feature_form form;
    mo_feature_place place; /* for pools; mo_task_features_open heeds only ON_DISK, else it uses the graph's context */
    int dim;                /* d; MOCHI has 512, the recipe `best` 256 */
    int hops;               /* l; the recipes have 3 */
    int power_iterations;   /* of the randomized SVD; the recipes have 2. -1: until the SVD has converged */
    mo_combine combine;   /* structure and attributes: summed, the attributes' columns in reverse order; or d/2 columns
                           * of each side by side */
    mo_feature_norm norm; /* for rows of nodes; ignored for rows of examples, which have their own norms */
    mo_attributes attributes; /* AUTO: SCALED */
    uint64_t seed;            /* seed of the test matrices */
    const char *cache;        /* folder of cached features, or NULL */
    /* Of the features' user, for the estimate of memory (train/features/feature_memory.h): float32 numbers per node
     * that it holds beside them; rows encoded at once. If the context's bound, or the free memory, is too small for
     * all, the hop stack becomes a file in the cache folder. */
    int64_t beside, encoded;
    mo_notice notice; /* receives the cache's events and the progress of stack files; may be NULL */
    void *notice_state;
    /* The one model that will read rows of nodes, borrowed while they are made, or NULL. A model of the kind
     * "invariant" reads sums over the hops: "mixed" then replaces "blocks", in less than half the memory. */
    const mo_model *reader;
} mo_feature_options;

/* Rows of examples are encoded in blocks of this size; a row's bits do not depend on the block. */
enum { MO_EXAMPLE_ROWS = 2048 };
/* Named tensors of one graph, owned, in its pool's context or in a context of the CPU. Rows of nodes: "hops" float32
 * [l + 1, nodes, d]. Rows of E examples: "blocks" float32 [2, l + 1, E, w] or, for nodes that one `reader` reads,
 * "mixed" [sums, E, m], the columns of both blocks that are not zero, listed in "columns" int64 [m] as b w + j;
 * "spectrum" [2, w], "extras" [E, p]. */
typedef struct mo_features {
    mo_arrays *arrays;
    int64_t nodes;
    int dim, hops, power_iterations;
    uint64_t seed;
    double svd_residual;      /* |A~ U - U S|_F / |A~|_F over the triplets kept; largest of several SVDs */
    double svd_orthogonality; /* largest entry of |U^T U - I|; largest of several SVDs */
    bool from_cache;
} mo_features;

/* D^-1/2 A D^-1/2, with zero rows for isolated nodes; declared symmetric. */
MO_API mo_csr *mo_normalized_adjacency(const mo_graph *graph, mo_dtype real);
/* The graph as features read it: with its attributes on one scale (train/graphs/attribute_scale.c), unless the options
 * say MO_ATTRIBUTES_RAW. It holds the graph, shares all of its arrays but the attributes, and has its hash. Returns the
 * graph itself, held, if no column changes. Tells options->notice which columns do. The caller releases the result;
 * NULL on failure. */
MO_API mo_graph *mo_graph_scale(mo_graph *graph, const mo_feature_options *options);
/* Reads a table with a header as rows without edges (train/graphs/load_rows.c): its column `label` as their labels, the
 * others as names and as attributes, scaled as mo_graph_scale does. NULL on failure. */
MO_API mo_graph *mo_rows_open(mo_context *ctx, const char *path, const char *label, const mo_feature_options *options);
/* Computes the features of options->form, or loads them from the cache. Rows of nodes: a set of graphs gets one basis
 * per graph; task and links are ignored. Rows of examples: nodes (w = d), links of the masked graph, positives before
 * negatives (w bands of singular values), or graphs of a set. Returns NULL on failure. */
MO_API mo_features *mo_task_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *options);
MO_API void mo_features_release(mo_features *features);

#endif
