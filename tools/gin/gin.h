/* tools/gin/gin.h - the paper's baseline GIN: a graph isomorphism network (Xu et al. 2019) trained as a graph
 * autoencoder (Kipf and Welling 2016) on the pool's graphs of links. */
#ifndef GIN_H
#define GIN_H

#include "tools/inside.h"

enum { GIN_LAYERS = 2, GIN_OF_LAYER = 6, GIN_PARAMETERS = GIN_LAYERS * GIN_OF_LAYER };
#define GIN_KIND "gin" /* of its weights files, and its column in tables */

/* ---- gin.c ---- */

/* The parameters of each layer: epsilon [1], W1 [d, d], gamma [d], beta [d], W2 [d, d], b2 [d]. Owned; release. */
typedef struct gin {
    mo_context *ctx;
    int dim;
    mo_tensor *p[GIN_PARAMETERS];
} gin;

/* First parameters, drawn from the seed. Failures are raised on the context; release in any case. */
void gin_create(mo_context *ctx, int dim, uint64_t seed, gin *g);
void gin_release(gin *g);
/* Embeddings [n, d] from rows X [n, d] and the adjacency A, on the tape. */
mo_tensor *gin_encode(mo_tape *t, const gin *g, const mo_csr *A, mo_tensor *X);
/* The adjacency of ones, which is its own transpose. NULL on failure. */
mo_csr *gin_adjacency(const mo_graph *graph);

/* A graph to train on, with its rows. */
typedef struct gin_graph {
    mo_graph *graph;
    mo_csr *A;
    mo_tensor *X;
} gin_graph;

/* ---- gin_weights.c ---- */

/* Writes the parameters as a weights file whose rows are those of `features`, trained on n graphs. Returns the status.
 */
mo_code gin_write(const gin *g, const mo_feature_options *features, const gin_graph *graphs, int n, const char *path);
/* Whether weights are of such a file; false for NULL. */
bool gin_is(const mo_weights *weights);
/* A copy of their parameters, as gin_create. */
void gin_load(const mo_weights *weights, gin *g);
/* The hops of a source, and behind them the embeddings of its nodes by each of n networks, as hops l + 1, l + 2, ..;
 * of a source of links they come from the graph without those held out. NULL on failure. */
mo_features *gin_features(const gin *list, int n, const mo_source *source);

/* ---- gin_train.c ---- */

typedef struct gin_training {
    int64_t steps;
    double lr;
    uint64_t seed;
    /* Called with the step, its graph and its loss; may be NULL. */
    void (*report)(int64_t step, const mo_graph *graph, double loss, void *state);
    void *state;
} gin_training;

/* Opens a graph and computes its rows. Raises for a set of graphs. Returns false on failure; release in any case. */
bool gin_graph_open(mo_context *ctx, const char *name, const mo_feature_options *features, gin_graph *g);
void gin_graph_release(gin_graph *g);
/* Steps on one graph after the other, each graph whole: the cross-entropy of sigmoid(<z_u, z_v>) on drawn edges and as
 * many drawn pairs, by AdamW; the rate falls along a cosine. Returns the status. */
mo_code gin_train(gin *g, const gin_graph *graphs, int n, const gin_training *o);
/* The same loss on pairs that the seed draws, without a step; NaN on failure. */
double gin_loss(const gin *g, const gin_graph *graph, uint64_t seed);

#endif
