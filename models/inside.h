/* models/inside.h - declarations of models/ for the other rooms and the program `mochi`. They promise nothing: any
 * release may change them. */
#ifndef MO_MODELS_INSIDE_H
#define MO_MODELS_INSIDE_H

#include "models/models.h"
#include "ops/inside.h"

/* ---- heads ---- */

/* The most folds that a head's cross_validate takes. It writes the held-out logits [.., stop[n - 1], C], which are
 * defined up to a constant per row; no gradient flows through them. */
enum { MO_MAX_FOLDS = 64 };

/* The heads of the library, numbered from 0; NULL after the last one. */
MO_API const mo_head *mo_head_at(int i);
/* Returns whether the head was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_head_validate(mo_context *ctx, const mo_head *head);

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

/* All nodes of a graph, or all graphs of a set, as they are embedded: the rows of the expert T (models/
 * invariant.c), each followed by a one, Z [N, d + 1], and gram = Z^T Z. */
typedef struct mo_population {
    mo_tensor *Z, *gram;
} mo_population;
/* Options of self-training: rounds (0 or more), each on the labels softmax(sharpness logits). */
typedef struct mo_transduction {
    int rounds;
    mo_tensor *sharpness; /* scalar */
} mo_transduction;
/* A readout whose logits are fixed + scale Z W, of which the ridge W is fitted again: logits and fixed [N, C], scalars
 * scale and lambda. */
typedef struct mo_refitted {
    mo_tensor *logits, *fixed, *scale, *lambda;
} mo_refitted;
/* The readout, fitted on the support (int64 [n_s], row numbers of Z; labels Ys [n_s, C]), refitted on all rows under
 * the assumption that classes are of equal size (transduce.c) -> logits [N, C] of all rows. */
MO_API mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_refitted *readout, const mo_transduction *options);

/* ---- model: for trainers, evaluations and weights files ---- */

MO_API const char *mo_task_name(mo_task task); /* "nc", "lp", "gc" */

/* A readout of an encoder's own, in place of a head: it learns alpha [E, m, C] from the support and gives logits
 * [n_q, C] of queries from it. share: receives the share of each expert and penalty [E, R]. */
typedef struct mo_own_readout {
    mo_tensor *(*learn)(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor **share);
    mo_tensor *(*apply)(
        mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *alpha, mo_tensor *Zq);
    mo_tensor *(*transduce)(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all);
    /* Both are for nodes and graphs, if the episode has no centres. `invert` writes two tensors, from which `without`
     * computes what the readout would be if the rows row[0 .. h - 1] were not in the support: it returns the logits
     * [h, C] of these rows by that readout, and writes to `each` the logits [E, R, h, C] of every expert and penalty
     * alone. */
    void (*invert)(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *inverted[2]);
    mo_tensor *(*without)(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *const inverted[2],
        const int64_t *row, int64_t h, mo_tensor **each);
} mo_own_readout;

/* The number of experts on embeddings, which come before the episode's kernels in the mixture: T for nodes, T and Tg
 * for links and graphs, none if inductive. name (may be NULL): receives their names. */
int mo_own_experts(mo_task task, bool inductive, const char *const **name);

enum { MO_MAX_PARAMETERS = MO_MAX_ENCODER_PARAMETERS + 1 + MO_TASKS * MO_MAX_HEAD_PARAMETERS };

struct mo_model {
    mo_context *ctx;
    mo_dtype real;
    mo_encoder encoder; /* a copy, which owns its state */
    mo_encoder_rows rows;
    int n_parameters; /* the encoder's come first, then the head's */
    mo_tensor *parameter[MO_MAX_PARAMETERS];
    mo_tensor *first[2 * MO_MAX_ENCODER_PARAMETERS];   /* the encoder's parameters, borrowed, then their first values */
    const mo_own_readout *readout;                     /* NULL: head and temperature */
    mo_readout_options options;                        /* a readout of its own uses only the smoothing */
    uint64_t seed;                                     /* draws the head's first values */
    bool one_head;                                     /* one head and temperature, of one width, for all tasks */
    mo_tensor *log_temp;                               /* scalar, or [tasks]; a parameter, as are the tensors of head */
    mo_tensor *head[MO_TASKS][MO_MAX_HEAD_PARAMETERS]; /* scalars at their initial values, learned tensors; or NULL */
};

/* Copies parameters by name from arrays; names the first one missing or of another shape. A head's learned tensors and
 * its temperature are taken only if arrays have all of them. Returns the status. */
MO_API mo_code mo_model_load(mo_model *m, const mo_arrays *arrays);
/* The settings that weights keep in their metadata, under the encoder's name; returns their number. */
MO_API int mo_model_settings(const mo_model *m, mo_setting list[MO_MAX_SETTINGS]);
/* The number of a setting; NaN if the model has none of that name. */
MO_API double mo_model_setting(const mo_model *m, const char *key);
/* Embeddings of an episode's rows. Nodes: [N, d], or [G, d] of its graphs if it has segments. Examples: [n, d], the
 * support before the queries. r: dropout's random position, or NULL. */
MO_API mo_tensor *mo_model_encode(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r);
/* Readout fitted on embeddings of the support: logits [n_q, C]. share (may be NULL): if the encoder has a readout of
 * its own, receives the shares [E, R] of its experts and penalties, experts on embeddings (mo_own_experts) before the
 * episode's "kernels"; else NULL. */
MO_API mo_tensor *mo_model_readout(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq, mo_tensor **share);
/* Logits [N, C] of all rows, from the labels of the support e->support[0] (row numbers of `all`) and from the
 * embeddings of the unlabelled rows, assuming classes of equal size. Raises MO_UNSUPPORTED if the model's readout
 * cannot do this. */
MO_API mo_tensor *mo_model_transduce(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all);

/* ---- GAMLP ---- */

/* The first half of a model of mo_mochi_create, for diagnosis: attention [N, l + 1] and the mixed hops [N, d]. */
MO_API mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_model *m, mo_tensor *hops, mo_random *r, mo_tensor **attention);
/* The encoder's options of a model of mo_mochi_create; NULL for another model. */
MO_API const mo_gamlp_options *mo_mochi_encoder(const mo_model *m);

typedef struct mo_invariant_options {
    int hops;         /* 3 */
    double smoothing; /* label smoothing: 0.1 */
    unsigned without; /* parts left out, bits 1 << mo_invariant_part (below); 0: none */
} mo_invariant_options;

/* The options that mo_invariant_create uses if it is given NULL. */
MO_API mo_invariant_options mo_invariant_defaults(void);

/* Parts that can be left out. With all of them left out, the encoder is the recipe's first form. */
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

/* The bits 1 << part of a list of names, between blanks or commas: "diffused", "initial", "statistics", "subtrees",
 * "waves", "walks", "matches". Returns false with the first unknown name in `word`, cut to fit. */
MO_API bool mo_invariant_read_parts(const char *list, unsigned *parts, char *word, size_t bytes);
/* The names of those bits, with a blank between. */
MO_API void mo_invariant_write_parts(unsigned parts, char *list, size_t bytes);

/* Returns whether the encoder was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_encoder_validate(mo_context *ctx, const mo_encoder *encoder);

/* The model of the recipe `best`, which reads only what every valid SVD of a graph agrees on (models/invariant.c).
 * options NULL: mo_invariant_defaults. 28 parameters at 3 hops, none tied to a width; initial values are fixed. Returns
 * NULL on failure. */
MO_API mo_model *mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options);

#endif
