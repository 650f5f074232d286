/* models/models.h - encoders and MOCHI: graph code on ops/, no kernels and no hand-written gradients.
 *
 * An encoder turns the frozen rows of an episode into embeddings; a head (models/head.h) fits a readout on those of the
 * support and gives logits for the queries; MOCHI is both, with a learned temperature between. */
#ifndef MO_MODELS_H
#define MO_MODELS_H

#include "models/head.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mo_task { MO_TASK_NC = 0, MO_TASK_LP, MO_TASK_GC, MO_TASKS } mo_task; /* nodes, links, graphs */
MO_API const char *mo_task_name(mo_task task);                                     /* "nc", "lp", "gc" */

/* ---- episode: what a model sees of one few-shot problem ---- */

#define MO_MAX_ROWS 8

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
    mo_tensor *segment;                     /* gc: int64 [graphs + 1], first row of each graph; else NULL */
    int64_t max_rows; /* rows encoded at once; backward encodes them again. 0: all rows at once, kept in memory */
} mo_episode;

/* The rows of that name, gathered if they have an index. Raises MO_INVALID with the name if the episode has none. */
MO_API mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name);

/* ---- model: what a trainer, an evaluation and a weights file know of an encoder with its readout ---- */

#define MO_MAX_SETTINGS 16

/* One setting of a model: a word, or a number if word is NULL. */
typedef struct mo_setting {
    const char *key, *word;
    double number;
} mo_setting;

/* What a model is to trainer, evaluation, embedding and weights, which know nothing else of it. name and the functions
 * without "or NULL" must be there, and among the settings these numbers: "hops" (l, of the l + 1 blocks of rows that it
 * reads), "smoothing" (of the labels in its loss, 0 or more and below 1), and of rows of nodes "dim" (their width).
 * Weights of the model keep all settings in their metadata, under its name; what they need not say is "format", "kind",
 * "rows", "combine", "power_iterations", "feature_seed", "recipe", "hop_lambda" and "best_hop_..", which are others'.
 */
typedef struct mo_model_table {
    const char *name; /* "mochi", "invariant" */
    bool of_examples; /* reads rows of examples; else of nodes */
    int (*n_parameters)(const void *model);
    mo_tensor *(*parameter)(const void *model, int i);                    /* named, each differently */
    mo_code (*load)(void *model, const mo_arrays *arrays);                /* or NULL: every parameter by its name */
    int (*settings)(const void *model, mo_setting list[MO_MAX_SETTINGS]); /* how many */
    /* Embeddings of an episode's rows. Of nodes: [N, d], or of its graphs where it has segments [G, d]. Of examples,
     * the support's before the queries': [n, d], or [experts, n, d]. r: dropout's random position, NULL where none is.
     */
    mo_tensor *(*encode)(mo_tape *t, const void *model, const mo_episode *e, mo_random *r);
    /* Logits [n_q, C] from embeddings of examples; for links of nodes, the products of both ends'. */
    mo_tensor *(*readout)(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
    mo_tensor *(*transduce)(mo_tape *t, const void *model, const mo_episode *e, const mo_population *all); /* or NULL */
    void (*release)(void *model);
} mo_model_table;

/* A model of any kind. table NULL: no model, the result of a failed constructor. */
typedef struct mo_model {
    const mo_model_table *table;
    void *content;
} mo_model;

MO_API void mo_model_release(mo_model m);
/* Whether the table is complete and has the settings that it must have; raises MO_INVALID, naming what is not. */
MO_API bool mo_model_validate(mo_context *ctx, mo_model m);
/* All parameters, by number; borrowed. */
MO_API int mo_model_n_parameters(mo_model m);
MO_API mo_tensor *mo_model_parameter(mo_model m, int i);
/* Copies parameters by name from arrays; names the first one missing or of another shape. Returns the status. */
MO_API mo_code mo_model_load(mo_model m, const mo_arrays *arrays);
/* The number of a setting; NaN if the model has none of that name. */
MO_API double mo_model_setting(mo_model m, const char *key);
/* Embeddings of an episode's rows, as the table's encode gives them. */
MO_API mo_tensor *mo_model_encode(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r);
/* Embeddings of an episode's examples; Zs [n_s, d] and Zq [n_q, d], or [experts, n_s, d] .. . Links of nodes: the
 * product of both ends'. */
MO_API void mo_model_embed(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq);
/* Readout fitted on embeddings of the support: logits [n_q, C]. */
MO_API mo_tensor *mo_model_readout(mo_tape *t, mo_model m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
/* Logits [N, C] of all rows, from the labels of the support e->support[0] (row numbers of `all`) and from the
 * embeddings of the unlabelled rows, assuming classes of equal size. Raises MO_UNSUPPORTED if the model's table has no
 * transduce. */
MO_API mo_tensor *mo_model_transduce(mo_tape *t, mo_model m, const mo_episode *e, const mo_population *all);
/* Logits: embeddings, then readout. Loss: the cross-entropy of the queries, smoothed by the model's setting
 * "smoothing"; logits may be NULL. */
MO_API mo_tensor *mo_model_logits(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r);
MO_API mo_tensor *mo_model_loss(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **logits);

/* ---- an encoder under any head ---- */

typedef enum mo_temperature { MO_TEMPERATURE_LOGIT = 0, MO_TEMPERATURE_EMBED } mo_temperature;

typedef struct mo_readout_options {
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* the head's parameter of that name; 0: as its table says */
    mo_temperature temperature; /* exp(log_temp) times the logits, or times the unit-norm examples */
    double smoothing;           /* label smoothing */
    int64_t width[MO_TASKS];    /* of a task's embeddings, for the tensors that the head learns; 0: it has none there */
} mo_readout_options;

/* The encoder of a model (taken over, whatever the outcome) under a head in place of its own readout: its parameters
 * named "encoder.*", "log_temp" [tasks], and "head.nc.*", "head.lp.*", "head.gc.*", the tensors that the head learns,
 * as embeddings of the tasks differ in width. A task without these gets the head's first values at every call. Several
 * experts' embeddings are read side by side, [n, M d], as mo_embed_all gives them: rows of unit norm make one of norm
 * sqrt(M). Load takes the encoder's parameters, and the others where arrays have all of them. A model without a table
 * on failure. */
MO_API mo_model mo_headed_create(
    mo_context *ctx, mo_dtype real, mo_model encoder, const mo_readout_options *options, uint64_t seed);

/* ---- encoder: GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section Architecture) ---- */

typedef struct mo_gamlp_options {
    int dim;        /* d: 512 */
    int hops;       /* l: 3, so that l + 1 blocks are read */
    int layers;     /* output MLP: 3 (residual) or 2 (no residual) */
    bool relu_hops; /* ReLU after each hop layer (released program); false: linear, as the paper writes */
    double dropout; /* rate after every ReLU, in MO_RECORD */
} mo_gamlp_options;

typedef struct mo_gamlp mo_gamlp;
/* Parameters have their published names and are drawn from U(+-1/sqrt(fan_in)) by the seed. Returns NULL on failure. */
MO_API mo_gamlp *mo_gamlp_create(mo_context *ctx, mo_dtype real, const mo_gamlp_options *options, uint64_t seed);
MO_API void mo_gamlp_release(mo_gamlp *model);
/* An episode's "hops" [l + 1, N, d] -> Z [N, d]. If the episode has segments: the mean over each graph's rows, [G, d];
 * the last output layer commutes with the mean and runs after it. r: random position of dropout, may be NULL if the
 * rate is 0. */
MO_API mo_tensor *mo_gamlp_encode(mo_tape *t, const mo_gamlp *model, const mo_episode *e, mo_random *r);
/* The two halves, for diagnosis: attention [N, l + 1] and the mixed hops [N, d]. */
MO_API mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_gamlp *model, mo_tensor *hops, mo_random *r, mo_tensor **attention);

/* ---- MOCHI ---- */

typedef struct mo_mochi_options {
    mo_gamlp_options encoder;
    mo_temperature temperature; /* exp(log_temp) times the logits, or times the unit-norm examples */
    double smoothing;           /* label smoothing: 0.1 */
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* the head's parameter of that name, where it has one: 10 */
} mo_mochi_options;

typedef struct mo_mochi mo_mochi;
/* d 512, l 3, ReLU after hop layers, 3 output layers, temperature on the logits, smoothing 0.1, ridge, lambda 10. */
MO_API mo_mochi_options mo_mochi_defaults(void);
MO_API mo_mochi *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed);
MO_API void mo_mochi_release(mo_mochi *model);
MO_API const mo_mochi_options *mo_mochi_options_of(const mo_mochi *model);
/* Its encoder; borrowed. */
MO_API const mo_gamlp *mo_mochi_encoder(const mo_mochi *model);
/* All parameters, "encoder.*", "log_temp" and "head.*" (the tensors a head learns); borrowed. */
MO_API int mo_mochi_n_parameters(const mo_mochi *model);
MO_API mo_tensor *mo_mochi_parameter(const mo_mochi *model, int i);
/* Copies parameters by name from arrays (converted released weights too); names the first one missing or of another
 * shape. Where arrays hold none of the head's, those keep their first values. */
MO_API mo_code mo_mochi_load(mo_mochi *model, const mo_arrays *arrays);
/* Example embeddings of an episode: Zs [n_s, d], Zq [n_q, d]. Links: product of both ends; graphs: mean over nodes. */
MO_API void mo_mochi_embed(
    mo_tape *t, const mo_mochi *model, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq);
/* Head and temperature on given embeddings: logits [n_q, C]. */
MO_API mo_tensor *mo_mochi_readout(
    mo_tape *t, const mo_mochi *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
/* Both; and the smoothed cross-entropy of the queries. logits may be NULL. */
MO_API mo_tensor *mo_mochi_logits(mo_tape *t, const mo_mochi *model, const mo_episode *e, mo_random *r);
MO_API mo_tensor *mo_mochi_loss(
    mo_tape *t, const mo_mochi *model, const mo_episode *e, mo_random *r, mo_tensor **logits);

/* MOCHI as a model; borrowed: releasing either releases both. */
MO_API mo_model mo_mochi_model(mo_mochi *model);

/* ---- invariant: an encoder that reads only what every valid SVD of a graph agrees on (invariant.c) ---- */

typedef struct mo_invariant_options {
    int hops;         /* 3 */
    double smoothing; /* label smoothing: 0.1 */
    bool linear;      /* links and graphs too are read by inner products alone, without the Gaussian kernel */
} mo_invariant_options;

MO_API mo_invariant_options mo_invariant_defaults(void);
/* 81 parameters at 3 hops (71 if linear), none tied to a width; initial values are fixed. Returns a model without a
 * table on failure. */
MO_API mo_model mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options);

#ifdef __cplusplus
}
#endif
#endif
