/* train/frozen_features.h - frozen features of a graph, which encoders read, and the folder that caches them. Part of
 * train/inside.h. */
#ifndef MO_FROZEN_FEATURES_H
#define MO_FROZEN_FEATURES_H

#include "train/graph.h"

/* Progress of slow preparations: a line of text, borrowed for the call. May be NULL. */
typedef void (*mo_notice)(const char *line, void *state);

typedef enum mo_combine { MO_COMBINE_SUM = 0, MO_COMBINE_CONCAT } mo_combine;

/* The normalisation of each row of X0 before the hops: LayerNorm without affine (the released program), or none (the
 * paper's text). */
typedef enum mo_feature_norm { MO_FEATURE_NORM_LAYER = 0, MO_FEATURE_NORM_NONE } mo_feature_norm;

/* Rows of nodes, as in the paper; or rows of examples (nodes, links or graphs), from which an invariant encoder
 * (models/invariant.c) reads nothing that depends on the choice of an SVD's basis. */
typedef enum mo_feature_form { MO_FEATURES_OF_NODES = 0, MO_FEATURES_OF_EXAMPLES } mo_feature_form;

MO_API const char *mo_feature_form_name(mo_feature_form form); /* "nodes", "examples" */

/* The place of the rows of a pool's graphs: memory of its context's device; host memory; or files of the cache folder
 * for the hop stacks, and host memory for rows of links and graphs. Rows that are not on the device are computed by the
 * CPU, and a thread fetches those of an episode ahead of its step. AUTO: on the device, or in host memory if a graph's
 * rows do not fit in the device's free memory; a notice says so. */
typedef enum mo_feature_place {
    MO_FEATURES_AUTO = 0,
    MO_FEATURES_ON_DEVICE,
    MO_FEATURES_ON_HOST,
    MO_FEATURES_ON_DISK
} mo_feature_place;

typedef struct mo_feature_options {
    mo_feature_form form;
    mo_feature_place place; /* for pools; mo_features_open uses its graph's context and heeds only ON_DISK */
    int dim;                /* d: 512; for rows of examples 256 */
    int hops;               /* l: 3 */
    int power_iterations;   /* of the randomized SVD: 2; below 0: until converged */
    mo_combine combine;     /* structure and attributes: summed (columns of X reversed), or d/2 columns side by side */
    mo_feature_norm norm;   /* for rows of nodes; rows of examples ignore it and have their own norms */
    uint64_t seed;          /* of the test matrices */
    const char *cache;      /* folder of cached features, or NULL */
    /* Bytes that features, with what is taken beside them, may take while they are made and held. If a graph would need
     * more, its hop stack becomes a file in the cache folder. 0: what is free; then a graph without a folder may go
     * into the swap. */
    int64_t memory;
    int64_t beside, encoded; /* for that comparison: bytes taken beside the features; rows encoded together */
    mo_notice notice;        /* receives events of the cache and the progress of such files; may be NULL */
    void *notice_state;
} mo_feature_options;

/* Rows of examples that are encoded together, of which each has the same bits in a block of any size. */
enum { MO_EXAMPLE_ROWS = 2048 };
/* Named tensors of one graph, owned, in its pool's context or in a context of the CPU. Rows of nodes: "hops" float32
 * [l + 1, nodes, d]. Rows of E examples: "blocks" float32 [2, l + 1, E, w], "spectrum" [2, w], "extras" [E, p]. */
typedef struct mo_features {
    mo_arrays *arrays;
    int64_t nodes;
    int dim, hops, power_iterations;
    uint64_t seed;
    double svd_residual;      /* |A~ U - U S|_F / |A~|_F over the kept triplets; the worst of several SVDs */
    double svd_orthogonality; /* the largest |U^T U - I|; the worst of several SVDs */
    bool from_cache;
} mo_features;

/* D^-1/2 A D^-1/2, with zero rows for isolated nodes; declared symmetric. */
MO_API mo_csr *mo_normalized_adjacency(const mo_graph *graph, mo_dtype real);
/* Truncated SVD of a sparse [n, m] matrix: U [n, r], S [r] in falling order, V [m, r], on an EVAL tape; randomized with
 * Rayleigh-Ritz (Halko, Martinsson, Tropp 2011), exact if min(n, m) is at most r + 16 (2 r + 32 if A is declared
 * symmetric) or 64. Signs: in each column of U, the first of its largest entries (to rounding) is positive. residual
 * (may be NULL): receives |A V - U S|_F / |A|_F. Returns the status. */
MO_API mo_code mo_sparse_svd(mo_tape *t, const mo_csr *A, int rank, int power_iterations, uint64_t seed, mo_tensor **U,
    mo_tensor **S, mo_tensor **V, double *residual);
/* x, A x, ..., A^l x for x the LayerNorm (no affine, epsilon 1e-5) of X0 [n, d]: [l + 1, n, d]. */
MO_API mo_tensor *mo_hop_stack(mo_tape *t, const mo_csr *A, mo_tensor *X0, int hops);
/* Features of examples: nodes (w = d), links of the masked graph, positives before negatives (w bands of singular
 * values), or graphs of a set. Returns NULL on failure. */
MO_API mo_features *mo_example_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *options);
/* Computes the features, or loads them from the cache; a set of graphs gets one basis per graph. Returns NULL on
 * failure.
 */
MO_API mo_features *mo_features_open(const mo_graph *graph, const mo_feature_options *options);
/* One of the two above, by the form that the options ask for; task and links are those of examples. */
MO_API mo_features *mo_task_features_open(
    const mo_graph *graph, mo_task task, const mo_links *links, const mo_feature_options *options);
MO_API void mo_features_release(mo_features *features);

/* ---- the cache: one file for the features of a graph's content and all options that they depend on ---- */

typedef struct mo_cache_entry {
    const char *path;    /* borrowed for the call, as is all text */
    const char *made_of; /* digest of the graph and the options; "" if the file does not hold it */
    const char *damage;  /* the defect found, one line; NULL: none */
    int64_t bytes;
    int64_t used; /* last read or written: seconds since 1970 */
} mo_cache_entry;

typedef void (*mo_cache_visitor)(const mo_cache_entry *entry, void *state);

/* Visits the entries of a folder, the least recently used first; other files are skipped, and a missing folder has no
 * entries. mo_cache_visit reads the headers of the entries, mo_cache_verify all of each one, and compares its checksums
 * (XXH3). Both return the status. */
MO_API mo_code mo_cache_visit(mo_context *ctx, const char *folder, mo_cache_visitor visit, void *state);
MO_API mo_code mo_cache_verify(mo_context *ctx, const char *folder, mo_cache_visitor visit, void *state);
/* Removes entries, which say what they were made of, that were not used for `seconds` (below 0: at any age), then the
 * least recently used ones until the rest has at most `bytes` (below 0: no limit), and files that interrupted writes
 * left over an hour ago. Visits the removed entries. Returns the status. */
MO_API mo_code mo_cache_prune(
    mo_context *ctx, const char *folder, int64_t seconds, int64_t bytes, mo_cache_visitor visit, void *state);

#endif
