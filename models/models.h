/* models/models.h - models: graph code on ops/, no kernels and no hand-written gradients.
 *
 * An encoder turns the frozen rows of an episode into embeddings; a head (models/head.h) fits a readout on those of the
 * support and gives logits for the queries; a model is both, with a learned temperature between. */
#ifndef MO_MODELS_H
#define MO_MODELS_H

#include "models/head.h"

/* Ridge regression with a penalised bias column (paper eq. "ridge-dual"): W [.., d, C] and b [.., 1, C]. MO_RIDGE_AUTO
 * solves the dual system (n_s x n_s) if n_s is at most d + 1, else the primal. lambda: scalar tensor, 0 or more; at 0 a
 * rank-deficient Gram matrix raises MO_NUMERICAL with the rank. */
typedef enum mo_ridge_form { MO_RIDGE_AUTO = 0, MO_RIDGE_DUAL, MO_RIDGE_PRIMAL } mo_ridge_form;
MO_API void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);

/* ---- episode: what a model sees of one few-shot problem ---- */

typedef enum mo_task { MO_TASK_NC = 0, MO_TASK_LP, MO_TASK_GC, MO_TASKS } mo_task; /* nodes, links, graphs */

enum { MO_MAX_ROWS = 8 };

/* A tensor that an episode carries by name; an encoder asks for the tensors it reads ("hops": [hops + 1, N, d],
 * hop-major). With an index, int64 [K, N], the episode's row (k, i) is row index[k, i] of the K n rows of tensor
 * [K, n, d], so that an encoder gathers only the rows that it encodes at once. */
typedef struct mo_named {
    const char *name;
    mo_tensor *tensor, *index; /* index: NULL if the tensor holds the episode's rows themselves */
} mo_named;

/* Borrowed tensors of one episode. Rows of nodes: the rows are nodes (nc, lp) or all nodes of each graph (gc), indices
 * count nodes or graphs, and a link has two ends. Rows of examples ("blocks": [2, hops + 1, n_s + n_q, d]; "spectrum":
 * [2, d]; "extras": [n_s + n_q, p]): the n_s support examples come first, in the order of their labels, then the
 * queries; there are no indices. */
typedef struct mo_episode {
    mo_task task;
    int64_t classes;
    int n_rows;
    mo_named rows[MO_MAX_ROWS];
    mo_tensor *support[2], *query[2];       /* int64 [n_s], [n_q]; the second ends only for lp, else NULL */
    mo_tensor *support_label, *query_label; /* int64, 0 .. classes-1 */
    mo_tensor *support_weight; /* int64 [n_s]: how often the support has the example of a row, at its first row; 0 at
                                  its copies. NULL: no example is there twice */
    mo_tensor *segment;        /* gc: int64 [graphs + 1], first row of each graph; else NULL */
    int64_t max_rows; /* rows encoded at once; backward encodes them again. 0: all rows at once, kept in memory */
} mo_episode;

/* ---- model ---- */

/* A model of any kind. table NULL: no model, the result of a failed constructor. */
typedef struct mo_model {
    const struct mo_model_table *table;
    void *content;
} mo_model;

MO_API void mo_model_release(mo_model m);
/* All parameters, by number; borrowed. */
MO_API int mo_model_n_parameters(mo_model m);
MO_API mo_tensor *mo_model_parameter(mo_model m, int i);
/* Embeddings of an episode's examples, Zs [n_s, d] and Zq [n_q, d], or [experts, n_s, d] .. . A link of nodes is the
 * product of its ends, a graph the mean of its nodes. r: dropout's random position, NULL without dropout. */
MO_API void mo_model_embed(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq);
/* Logits [n_q, C] of the readout fitted on the support's embeddings. Loss: the cross-entropy of the queries with the
 * model's label smoothing; logits may be NULL. */
MO_API mo_tensor *mo_model_logits(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r);
MO_API mo_tensor *mo_model_loss(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **logits);

/* GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section Architecture). */
typedef struct mo_gamlp_options {
    int dim;        /* d: 512 */
    int hops;       /* l: 3, so that l + 1 blocks are read */
    int layers;     /* output MLP: 3 (residual) or 2 (no residual) */
    bool relu_hops; /* ReLU after each hop layer (released program); false: linear, as the paper writes */
    double dropout; /* rate after every ReLU, in MO_RECORD */
} mo_gamlp_options;

typedef enum mo_temperature { MO_TEMPERATURE_LOGIT = 0, MO_TEMPERATURE_EMBED } mo_temperature;

typedef struct mo_mochi_options {
    mo_gamlp_options encoder;
    mo_temperature temperature; /* exp(log_temp) times the logits, or times the unit-norm examples */
    double smoothing;           /* label smoothing: 0.1 */
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* the head's parameter of that name, where it has one: 10 */
} mo_mochi_options;

/* MOCHI: "encoder.*" with their published names, drawn from U(+-1/sqrt(fan_in)) by the seed, "log_temp", and "head.*",
 * the tensors that the head learns. options NULL: d 512, l 3, ReLU after hop layers, 3 output layers, temperature on
 * the logits, smoothing 0.1, ridge, lambda 10, as mo_mochi_defaults says. A model without a table on failure. */
MO_API mo_mochi_options mo_mochi_defaults(void);
MO_API mo_model mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed);

typedef struct mo_invariant_options {
    int hops;         /* 3 */
    double smoothing; /* label smoothing: 0.1 */
    bool linear;      /* links and graphs too are read by inner products alone, without the Gaussian kernel */
    unsigned without; /* parts left out, bits 1 << mo_invariant_part (models/inside.h); 0: none */
} mo_invariant_options;

/* The model of the recipe `best`, which reads only what every valid SVD of a graph agrees on (models/invariant.c).
 * options NULL: as above. 95 parameters at 3 hops (10 fewer if linear), none tied to a width; initial values are fixed.
 * A model without a table on failure. */
MO_API mo_model mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options);

#endif
