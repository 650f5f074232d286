/* models/models.h - models: graph code on ops/, no kernels and no hand-written gradients.
 *
 * An encoder turns the frozen rows of an episode into embeddings; a head (models/head.h) fits a readout on the
 * support's embeddings and gives logits for the queries; a model is an encoder and a head with a temperature. */
#ifndef MO_MODELS_H
#define MO_MODELS_H

#include "models/encoder.h"

/* ---- heads of the library ---- */

extern MO_API const mo_head mo_head_ridge;               /* parameters: lambda = 10 */
extern MO_API const mo_head mo_head_ridge_intercept;     /* lambda = 10; the intercept not penalised */
extern MO_API const mo_head mo_head_prototype_inner;     /* inner product with class means: the paper's prototypes */
extern MO_API const mo_head mo_head_prototype_euclidean; /* minus squared distance to class means */
/* Ridges with penalties lambda / 10, lambda and 10 lambda, mixed and calibrated by leave-one-out (heads/mixture.c):
 * lambda = 0.3, sharpness = 0.3 */
extern MO_API const mo_head mo_head_mixture;
extern MO_API const mo_head mo_head_prototype_cosine;   /* scale = 10 times the cosine with class means */
extern MO_API const mo_head mo_head_prototype_centred;  /* inner product about the mean of the support */
extern MO_API const mo_head mo_head_logistic;           /* lambda = 1; the intercept not penalised */
extern MO_API const mo_head mo_head_logistic_penalised; /* lambda = 1; the intercept penalised */
extern MO_API const mo_head mo_head_svm;                /* Crammer-Singer; lambda = 1; first derivatives only */
extern MO_API const mo_head mo_head_lda;                /* shrinkage = 0.1 */
/* lr = 0.3, steps = 50; training learns the first layer W1 [d, 32], b1 [32]. For another width, write a head with the
 * functions of this head and other shapes. */
extern MO_API const mo_head mo_head_mlp;

/* Ridge regression with a penalised bias column (paper eq. "ridge-dual"): W [.., d, C] and b [.., 1, C]. MO_RIDGE_AUTO
 * solves the dual system (n_s x n_s) if n_s is at most d + 1, else the primal. lambda: scalar tensor, 0 or more; at 0 a
 * rank-deficient Gram matrix raises MO_NUMERICAL with the rank. */
typedef enum mo_ridge_form { MO_RIDGE_AUTO = 0, MO_RIDGE_DUAL, MO_RIDGE_PRIMAL } mo_ridge_form;
MO_API void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);

/* ---- model: an encoder, a head, and a temperature ---- */

typedef enum mo_temperature { MO_TEMPERATURE_LOGIT = 0, MO_TEMPERATURE_EMBED } mo_temperature;

typedef struct mo_readout_options {
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* value of the head's parameter lambda; 0: the value in its table */
    mo_temperature temperature; /* exp(log_temp) multiplies the logits, or the examples at unit norm */
    double smoothing;           /* label smoothing */
    int64_t width[MO_TASKS];    /* per task: width d of its embeddings; 0: the task learns no head */
} mo_readout_options;

/* The rows that an encoder reads: hops l and width d. */
typedef struct mo_encoder_rows {
    int hops, dim;
} mo_encoder_rows;

typedef struct mo_model mo_model;
/* Makes a model of a copy of the encoder and a head. The encoder's first values are drawn from the seed. */
MO_API mo_model *mo_encoder_create(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows,
    const mo_readout_options *readout, uint64_t seed);
/* Replaces the model's readout by a head and returns the model; on failure, releases the model and returns NULL.
 * Parameters are then "encoder.*", "log_temp" [tasks], and "head.nc.*", "head.lp.*", "head.gc.*": the tensors that the
 * head learns, one set per task, as embeddings of different tasks have different widths. A task whose width is 0 has
 * none and uses the head's first values. */
MO_API mo_model *mo_model_under_head(mo_model *m, const mo_readout_options *options, uint64_t seed);
MO_API void mo_model_release(mo_model *m);
/* All parameters, by number; borrowed. */
MO_API int mo_model_n_parameters(const mo_model *m);
MO_API mo_tensor *mo_model_parameter(const mo_model *m, int i);
/* Embeddings of an episode's examples, Zs [n_s, d] and Zq [n_q, d]. A link of nodes is the product of its ends, a graph
 * the mean of its nodes. r: dropout's random position, NULL without dropout. */
MO_API void mo_model_embed(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq);
/* mo_model_logits: logits [n_q, C] by the readout fitted on the support's embeddings. mo_model_loss: the cross-entropy
 * of the queries, with label smoothing; logits (may be NULL) receives the logits. */
MO_API mo_tensor *mo_model_logits(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r);
MO_API mo_tensor *mo_model_loss(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **logits);

/* GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section Architecture). */
typedef struct mo_gamlp_options {
    int dim;        /* d; mo_mochi_defaults: 512 */
    int hops;       /* l; mo_mochi_defaults: 3, so that l + 1 = 4 blocks are read */
    int layers;     /* output MLP: 3 (residual) or 2 (no residual) */
    bool relu_hops; /* ReLU after each hop layer (released program); false: linear, as the paper writes */
    double dropout; /* dropout rate after every hop layer and hidden layer of the MLP, in MO_RECORD only */
} mo_gamlp_options;

typedef struct mo_mochi_options {
    mo_gamlp_options encoder;
    mo_readout_options readout; /* width: ignored, as all tasks share one head, d wide */
} mo_mochi_options;

/* Makes MOCHI. Its parameters are "encoder.*" under the published names, drawn from U(+-1/sqrt(fan_in)) by the seed,
 * "log_temp", and "head.*", the tensors that the head learns. options NULL: mo_mochi_defaults, that is d 512, l 3, ReLU
 * after hop layers, 3 output layers, temperature on the logits, smoothing 0.1, ridge, lambda 10. */
MO_API mo_mochi_options mo_mochi_defaults(void);
MO_API mo_model *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed);

#endif
