/* models/inside.h - declarations of models/ for the other rooms and the program `mochi`. They promise nothing: any
 * release may change them. */
#ifndef MO_MODELS_INSIDE_H
#define MO_MODELS_INSIDE_H

#include "models/models.h"
#include "ops/inside.h"

/* ---- heads ---- */

/* Folds that a head's cross_validate takes at most. It writes the held-out logits [.., stop[n - 1], C], which are
 * defined up to a constant per row; no gradient flows through them. */
enum { MO_MAX_FOLDS = 64 };

/* The heads of the library, numbered from 0; NULL after the last one. */
MO_API const mo_head *mo_head_at(int i);
/* Returns whether the head was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_head_validate(mo_context *ctx, const mo_head *head);

extern MO_API const mo_head mo_head_ridge;               /* parameters: lambda = 10 */
extern MO_API const mo_head mo_head_ridge_intercept;     /* lambda = 10; the intercept not penalised */
extern MO_API const mo_head mo_head_prototype_inner;     /* inner product with class means: the paper's prototypes */
extern MO_API const mo_head mo_head_prototype_euclidean; /* minus squared distance to class means */
/* Ridges of lambda / 30, lambda and 30 lambda, mixed by their leave-one-out evidence: lambda = 1, sharpness = 1, power
 * = 0.5, temperature = 8 */
extern MO_API const mo_head mo_head_ridge_mixture;
extern MO_API const mo_head mo_head_prototype_cosine;   /* scale = 10 times the cosine with class means */
extern MO_API const mo_head mo_head_prototype_centred;  /* inner product about the mean of the support */
extern MO_API const mo_head mo_head_logistic;           /* lambda = 1; the intercept not penalised */
extern MO_API const mo_head mo_head_logistic_penalised; /* lambda = 1; the intercept penalised */
extern MO_API const mo_head mo_head_svm;                /* Crammer-Singer; lambda = 1; first order */
extern MO_API const mo_head mo_head_lda;                /* shrinkage = 0.1 */
/* lr = 0.3, steps = 50, and the first layer W1 [d, 32], b1 [32], learned by training. For another width, write a table
 * with these functions and the shapes of that width. */
extern MO_API const mo_head mo_head_mlp;

/* ---- ridge ---- */

/* mo_ridge_fit with an intercept that is not penalised; the dual system if n_s is at most d. */
MO_API void mo_ridge_fit_intercept(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);
/* Ridge over a grid of R penalties, with the penalised bias column: W [.., R, d + 1, C] reads [Z | 1]; row i of Yloo
 * [.., R, n_s, C] is the prediction for support row i by the fit without it. One factorization per penalty. Zs [..,
 * n_s, d], Ys [.., n_s, C], lambda [.., R] > 0, leading axes equal. weight [.., n_s] (NULL: 1 each): how often a row
 * counts, constant; a row leaves with all its weight, and rows of weight 0 take no part (their Yloo is 0). */
MO_API void mo_ridge_loo_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda,
    mo_ridge_form form, mo_tensor **W, mo_tensor **Yloo);

/* How the ridges of M experts and R penalties are mixed by their leave-one-out evidence (ridge_mixture.c). gamma (may
 * be NULL): adds M experts, the same embeddings under the kernel 1 + exp(-gamma |x - y|^2); their penalties and priors
 * follow those of the first M. weight (may be NULL): of the support's rows, as mo_episode has it, but real. */
typedef struct mo_mixture {
    mo_tensor *lambda, *prior;                  /* [M, R]; [2 M, R] with gamma */
    mo_tensor *sharpness, *power, *temperature; /* scalars */
    mo_tensor *gamma;                           /* scalar */
    mo_tensor *weight;                          /* [.., n_s] */
} mo_mixture;
/* Zs [.., M, n_s, d] and Zq [.., M, n_q, d]: the embeddings of every expert; Ys [.., n_s, C] -> logits [.., n_q, C].
 * share (may be NULL): receives the shares, which sum to 1, in the shape of lambda. */
MO_API mo_tensor *mo_ridge_mixture(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, const mo_mixture *mix, mo_tensor **share);

/* All nodes of a graph, or all graphs of a set, as every expert embeds them: Z [N, M (d + 1)], the experts side by
 * side, each followed by a column of ones; gram: of nodes Z^T Z, of graphs Z_m Z_m^T of every expert, [M, N, N]. */
typedef struct mo_population {
    mo_tensor *Z, *gram;
} mo_population;
/* Options of self-training: rounds (0 or more), each on the labels softmax(sharpness logits). */
typedef struct mo_transduction {
    int rounds;
    mo_tensor *sharpness; /* scalar */
} mo_transduction;
/* The mixture fitted on the support (int64 [n_s], row numbers of Z; labels Ys [n_s, C]), then refitted on all rows
 * under the assumption that classes are of equal size (ridge_transduce.c) -> logits [N, C] of all rows. */
MO_API mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *options);
/* The same of a population of graphs, under the mixture's kernels (kernel_transduce.c). */
MO_API mo_tensor *mo_kernel_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *options);

/* ---- episode ---- */

MO_API const char *mo_task_name(mo_task task); /* "nc", "lp", "gc" */
/* The rows of that name, gathered if they have an index. Raises MO_INVALID with the name if the episode has none. */
MO_API mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name);

/* ---- model: what a trainer, an evaluation and a weights file know of an encoder with its readout ---- */

enum { MO_MAX_SETTINGS = 16 };

/* One setting of a model: a word, or a number if word is NULL. */
typedef struct mo_setting {
    const char *key, *word;
    double number;
} mo_setting;

/* What a model is to trainer, evaluation, embedding and weights, which know nothing else of it. name and the functions
 * without "or NULL" must be there, and among the settings these numbers: "hops" (l, of the l + 1 blocks of rows that it
 * reads), "smoothing" (of the labels in its loss, 0 or more and below 1), and of rows of nodes "dim" (their width).
 * Weights of the model keep all settings in their metadata, under its name; what they need not say is "format", "kind",
 * "rows", "combine", "power_iterations", "feature_seed", "recipe", "hop_lambda", "best_hop_.." and "pool", which are
 * others'.
 */
enum { MO_MOST_LEARNED = 2 };
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
    /* The readout in two steps, or both NULL: what it learns from the support, at most MO_MOST_LEARNED tensors, whose
     * number is returned; and logits of queries by them, in the bits that `readout` gives the same queries. */
    int (*learn)(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor **learned);
    mo_tensor *(*apply)(
        mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *const *learned, mo_tensor *Zq);
} mo_model_table;

/* Whether the table is complete and has the settings that it must have; raises MO_INVALID, naming what is not. */
MO_API bool mo_model_validate(mo_context *ctx, mo_model m);
/* Copies parameters by name from arrays; names the first one missing or of another shape. Returns the status. */
MO_API mo_code mo_model_load(mo_model m, const mo_arrays *arrays);
/* The number of a setting; NaN if the model has none of that name. */
MO_API double mo_model_setting(mo_model m, const char *key);
/* Embeddings of an episode's rows, as the table's encode gives them. */
MO_API mo_tensor *mo_model_encode(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r);
/* Readout fitted on embeddings of the support: logits [n_q, C]. */
MO_API mo_tensor *mo_model_readout(mo_tape *t, mo_model m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq);
/* Logits [N, C] of all rows, from the labels of the support e->support[0] (row numbers of `all`) and from the
 * embeddings of the unlabelled rows, assuming classes of equal size. Raises MO_UNSUPPORTED if the model's table has no
 * transduce. */
MO_API mo_tensor *mo_model_transduce(mo_tape *t, mo_model m, const mo_episode *e, const mo_population *all);

/* ---- an encoder under any head ---- */

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

/* ---- GAMLP ---- */

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
/* The encoder of a model of mo_mochi_create, borrowed; NULL of another model. */
MO_API const mo_gamlp *mo_mochi_encoder(mo_model m);

MO_API mo_invariant_options mo_invariant_defaults(void);

/* Parts that can be left out. An encoder without all of them is the recipe's first form. */
typedef enum mo_invariant_part {
    MO_PART_DIFFUSED = 0, /* nodes: rows diffused by personalised PageRank, beside the hops */
    MO_PART_INITIAL,      /* the row of the untrained encoder beside the trained one */
    MO_PART_STATISTICS,   /* graphs: counts and shares of nodes, edges, triangles, cycles */
    MO_PART_SUBTREES,     /* graphs: the Weisfeiler-Lehman optimal assignment kernel */
    MO_PART_WAVES,        /* graphs: random Fourier features of the nodes' hops */
    MO_PART_WALKS,        /* links: walks of two to four steps between both ends */
    MO_PART_MATCHES,      /* links: one end's attributes against those of the other's neighbours */
    MO_INVARIANT_PARTS
} mo_invariant_part;
#define MO_ALL_PARTS ((1u << MO_INVARIANT_PARTS) - 1)

/* "diffused", "initial", "statistics", "subtrees", "waves", "walks", "matches". */
MO_API const char *mo_invariant_part_name(mo_invariant_part part);
/* The bits 1 << part of a list of names, between blanks or commas. Returns false with the first unknown name in `word`,
 * cut to fit. */
MO_API bool mo_invariant_read_parts(const char *list, unsigned *parts, char *word, size_t bytes);
/* The names of those bits, with a blank between. */
MO_API void mo_invariant_write_parts(unsigned parts, char *list, size_t bytes);

#endif
