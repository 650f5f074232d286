/* models/models.h - models: graph code on ops/, no kernels and no hand-written gradients.
 *
 * An encoder turns the frozen rows of an episode into embeddings; a head (models/head.h) fits a readout on those of the
 * support and gives logits for the queries; a model is both, with a learned temperature between. */
#ifndef MO_MODELS_H
#define MO_MODELS_H

#include "models/head.h"

/* ---- heads of the library ---- */

extern MO_API const mo_head mo_head_ridge;               /* parameters: lambda = 10 */
extern MO_API const mo_head mo_head_ridge_intercept;     /* lambda = 10; the intercept not penalised */
extern MO_API const mo_head mo_head_prototype_inner;     /* inner product with class means: the paper's prototypes */
extern MO_API const mo_head mo_head_prototype_euclidean; /* minus squared distance to class means */
/* Ridges of lambda / 10, lambda and 10 lambda, mixed and calibrated by their leave-one-out evidence: lambda = 0.3,
 * sharpness = 0.3 */
extern MO_API const mo_head mo_head_mixture;
extern MO_API const mo_head mo_head_prototype_cosine;   /* scale = 10 times the cosine with class means */
extern MO_API const mo_head mo_head_prototype_centred;  /* inner product about the mean of the support */
extern MO_API const mo_head mo_head_logistic;           /* lambda = 1; the intercept not penalised */
extern MO_API const mo_head mo_head_logistic_penalised; /* lambda = 1; the intercept penalised */
extern MO_API const mo_head mo_head_svm;                /* Crammer-Singer; lambda = 1; first order */
extern MO_API const mo_head mo_head_lda;                /* shrinkage = 0.1 */
/* lr = 0.3, steps = 50, and the first layer W1 [d, 32], b1 [32], learned by training. For another width, write a table
 * with these functions and the shapes of that width. */
extern MO_API const mo_head mo_head_mlp;

/* Ridge regression with a penalised bias column (paper eq. "ridge-dual"): W [.., d, C] and b [.., 1, C]. MO_RIDGE_AUTO
 * solves the dual system (n_s x n_s) if n_s is at most d + 1, else the primal. lambda: scalar tensor, 0 or more; at 0 a
 * rank-deficient Gram matrix raises MO_NUMERICAL with the rank. */
typedef enum mo_ridge_form { MO_RIDGE_AUTO = 0, MO_RIDGE_DUAL, MO_RIDGE_PRIMAL } mo_ridge_form;
MO_API void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);

/* ---- episode: what a model sees of one few-shot problem ---- */

typedef enum mo_task { MO_TASK_NC = 0, MO_TASK_LP, MO_TASK_GC, MO_TASKS } mo_task; /* nodes, links, graphs */

enum { MO_MAX_ROWS = 8, MO_MAX_EXPERTS = 32 };

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
 * queries; there are no indices. Nodes and graphs may also have "kernels" [E, n_s, n_s], kernels 1 + k of the support,
 * and "query kernels" [E, n_q, n_s], those of the queries with the support, which a readout takes as further experts.
 */
typedef struct mo_episode {
    mo_task task;
    int64_t classes;
    int n_rows;
    mo_named rows[MO_MAX_ROWS];
    mo_tensor *support[2], *query[2];       /* int64 [n_s], [n_q]; the second ends only for lp, else NULL */
    mo_tensor *support_label, *query_label; /* int64, 0 .. classes-1 */
    mo_tensor *support_weight; /* int64 [n_s]: how often the support has the example of a row, at its first row; 0 at
                                  its copies. NULL: no example is there twice */
    mo_tensor *centres;   /* int64 [m], in rising order: support rows that stand for a large support; the second size of
                             kernels is then m. NULL: all rows */
    mo_tensor *segment;   /* gc: int64 [graphs + 1], first row of each graph; else NULL */
    double assortativity; /* nc: how alike the attributes of neighbours are, beyond those of two nodes at random, in
                             standard deviations of such two; 0: not at all, or not known */
    int64_t max_rows;     /* rows encoded at once; backward encodes them again. 0: all rows at once, kept in memory */
} mo_episode;

/* The rows of that name, gathered if they have an index. Raises MO_INVALID with the name if the episode has none. */
MO_API mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name);

/* ---- encoder: parameters, and graph code from an episode's rows to embeddings ---- */

#define MO_ENCODER_ABI 3
enum {
    MO_MAX_ENCODER_PARAMETERS = 36,
    MO_MAX_ENCODER_SETTINGS = 16,
    MO_MAX_SETTINGS = MO_MAX_ENCODER_SETTINGS + 8 /* with the readout's */
};
#define MO_ENCODER_DIM (-1)    /* in the shape of a parameter: d, the width of rows of nodes */
#define MO_ENCODER_BLOCKS (-2) /* l + 1, the hops and the rows themselves */

/* A tensor that training learns, at first start + U(-spread, spread) / sqrt(fan_in). */
typedef struct mo_encoder_parameter {
    const char *name; /* in weights files "encoder.NAME" */
    double start, spread;
    int ndim; /* 0 to 3 */
    int64_t shape[3];
    int64_t fan_in;       /* 0: its last size */
    const double *values; /* all first values, row-major; NULL: drawn, as above */
} mo_encoder_parameter;

/* One setting, as weights files keep it: a word, or a number if word is NULL. */
typedef struct mo_setting {
    const char *key, *word;
    double number;
} mo_setting;

/* Embeddings Z [n, k] of the n rows that the episode carries by name, k at will; a row of Z depends on its own rows
 * alone, so that they can be encoded in blocks. Rows of nodes: "hops" [l + 1, n, d] (mo_episode_rows). Rows of
 * examples: "blocks" [2, l + 1, n, d], "spectrum" [2, d] and "extras" [n, p] (models/invariant.c). The episode holds no
 * labels. parameters: in the order of the table. */
typedef mo_tensor *(*mo_encode)(mo_tape *t, mo_tensor *const *parameters, const mo_episode *e);

/* An encoder is one `const mo_encoder`. Head, temperature, loss, blocks of rows, means over graphs, products of links
 * and weights files come from the library, so that any head reads it. Several threads may be in its functions at once,
 * each with a context of its own. */
typedef struct mo_encoder {
    int abi;          /* MO_ENCODER_ABI */
    size_t size;      /* sizeof(mo_encoder) of the program that made it */
    const char *name; /* the kind of its weights */
    bool of_examples; /* reads rows of examples; else of nodes */
    int n_parameters;
    const mo_encoder_parameter *parameters;
    mo_encode encode; /* NULL: whole */
    /* The rest is 0 for most. whole: all of an episode, where an encoder has its own way with blocks of e->max_rows
     * rows and with means over graphs; [n, k]. r: dropout's random position, or NULL. */
    mo_tensor *(*whole)(
        mo_tape *t, const struct mo_encoder *encoder, mo_tensor *const *parameters, const mo_episode *e, mo_random *r);
    bool reads_first; /* behind its parameters, `whole` gets their first values */
    /* Returns their number. NULL: "hops" and "dim". */
    int (*settings)(const struct mo_encoder *encoder, mo_setting list[MO_MAX_ENCODER_SETTINGS]);
    void *state;
    /* Given the state when a model of it is released, or cannot be made though the encoder is valid; or NULL. */
    void (*release)(void *state);
} mo_encoder;

/* Returns whether the encoder was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_encoder_validate(mo_context *ctx, const mo_encoder *encoder);
/* The encoder that a shared object exports as `const mo_encoder mo_encoder_plugin`; path: with a slash, or a name that
 * the loader finds. The object stays loaded. Returns NULL on failure; the status names the file. */
MO_API const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path);
/* Checks an encoder on drawn rows in float64: the gradients to its parameters, to 1e-6 at order 1 and 1e-5 at order 2;
 * and that rows encoded in blocks are those encoded at once. */
MO_API mo_check_result mo_check_encoder(mo_context *ctx, const mo_encoder *encoder, int order, uint64_t seed);

/* ---- model: an encoder, a head, and a temperature ---- */

typedef enum mo_temperature { MO_TEMPERATURE_LOGIT = 0, MO_TEMPERATURE_EMBED } mo_temperature;

typedef struct mo_readout_options {
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* the head's parameter of that name; 0: as its table says */
    mo_temperature temperature; /* exp(log_temp) times the logits, or times the unit-norm examples */
    double smoothing;           /* label smoothing */
    int64_t width[MO_TASKS];    /* of a task's embeddings, for the tensors that the head learns; 0: it has none there */
} mo_readout_options;

/* What rows an encoder is made for: l and d. */
typedef struct mo_encoder_rows {
    int hops, dim;
} mo_encoder_rows;

typedef struct mo_model mo_model;
/* The encoder, which is copied, under a head, as a model of its name; its first parameters are drawn from the seed.
 * Returns NULL on failure. */
MO_API mo_model *mo_encoder_create(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows,
    const mo_readout_options *readout, uint64_t seed);
/* The model itself, with a head over its encoder in place of its readout; NULL on failure, when the model is released.
 * Parameters: "encoder.*", "log_temp" [tasks], and
 * "head.nc.*", "head.lp.*", "head.gc.*", the tensors that the head learns, as embeddings of the tasks differ in width.
 * A task without these gets the head's first values at every call. */
MO_API mo_model *mo_model_under_head(mo_model *m, const mo_readout_options *options, uint64_t seed);
MO_API void mo_model_release(mo_model *m);
/* All parameters, by number; borrowed. */
MO_API int mo_model_n_parameters(const mo_model *m);
MO_API mo_tensor *mo_model_parameter(const mo_model *m, int i);
/* Embeddings of an episode's examples, Zs [n_s, d] and Zq [n_q, d]. A link of nodes is the
 * product of its ends, a graph the mean of its nodes. r: dropout's random position, NULL without dropout. */
MO_API void mo_model_embed(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq);
/* Logits [n_q, C] of the readout fitted on the support's embeddings. Loss: the cross-entropy of the queries with the
 * model's label smoothing; logits may be NULL. */
MO_API mo_tensor *mo_model_logits(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r);
MO_API mo_tensor *mo_model_loss(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r, mo_tensor **logits);

/* GAMLP with node-adaptive hop attention (Zhang et al. 2022; paper, section Architecture). */
typedef struct mo_gamlp_options {
    int dim;        /* d: 512 */
    int hops;       /* l: 3, so that l + 1 blocks are read */
    int layers;     /* output MLP: 3 (residual) or 2 (no residual) */
    bool relu_hops; /* ReLU after each hop layer (released program); false: linear, as the paper writes */
    double dropout; /* rate after every ReLU, in MO_RECORD */
} mo_gamlp_options;

typedef struct mo_mochi_options {
    mo_gamlp_options encoder;
    mo_temperature temperature; /* exp(log_temp) times the logits, or times the unit-norm examples */
    double smoothing;           /* label smoothing: 0.1 */
    const mo_head *head;        /* NULL: ridge */
    double lambda;              /* the head's parameter of that name, where it has one: 10 */
} mo_mochi_options;

/* MOCHI: "encoder.*" with their published names, drawn from U(+-1/sqrt(fan_in)) by the seed, "log_temp", and "head.*",
 * the tensors that the head learns. options NULL: d 512, l 3, ReLU after hop layers, 3 output layers, temperature on
 * the logits, smoothing 0.1, ridge, lambda 10, as mo_mochi_defaults says. Returns NULL on failure. */
MO_API mo_mochi_options mo_mochi_defaults(void);
MO_API mo_model *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed);

typedef struct mo_invariant_options {
    int hops;         /* 3 */
    double smoothing; /* label smoothing: 0.1 */
    unsigned without; /* parts left out, bits 1 << mo_invariant_part (models/inside.h); 0: none */
} mo_invariant_options;

/* The model of the recipe `best`, which reads only what every valid SVD of a graph agrees on (models/invariant.c).
 * options NULL: as above. 28 parameters at 3 hops, none tied to a width; initial values are fixed. Returns NULL on
 * failure. */
MO_API mo_model *mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options);

#endif
