/* models/inside.h - declarations of models/ for the library's other folders and the program `mochi`. They promise
 * nothing: any release may change them. */
#ifndef MO_MODELS_INSIDE_H
#define MO_MODELS_INSIDE_H

#include "models/models.h"
#include "ops/inside.h"
#include "tensor/files/fields.h"

/* ---- heads ---- */

/* Returns head i of the library, counted from 0; NULL after the last one. */
MO_API const mo_head *mo_head_at(int i);
/* Whether a head is from outside the library; not so for NULL. */
MO_API bool mo_head_is_own(const mo_head *head);
/* Whether a head has a hyper-parameter of this name; not so for NULL. */
MO_API bool mo_head_has(const mo_head *head, const char *parameter);
/* Returns whether the head was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_head_validate(mo_context *ctx, const mo_head *head);
/* mo_head_apply to a support whose rows may have weights: each episode of the batch may lack classes of its own. */
MO_API mo_tensor *mo_head_apply_weighted(
    mo_tape *t, const mo_head *head, const mo_support *support, mo_tensor *Zq, mo_tensor *const *parameters);
/* Returns whether rows [.., n_s, d] are float32 and lie so far from 0, compared with the distances between them, that a
 * fit that depends on the offset needs float64, as mo_head_apply then takes. Reads on the host. */
MO_API bool mo_rows_lie_far(mo_tape *t, mo_tensor *Zs);
/* The same from K = Zs Zs^T [.., n_s, n_s], at a fraction of the time. */
MO_API bool mo_gram_lies_far(mo_tape *t, mo_tensor *K);

/* mo_state_save adds a state to the arrays of a file, as "state.NAME" and "state" [d, classes, axes, real].
 * mo_state_load makes a state of them, owned, for the head that it was saved of; applied, it gives the bits of the
 * saved state. Both return the status. Release the state even on failure. */
MO_API mo_code mo_state_save(const mo_state *state, mo_arrays *arrays);
MO_API mo_code mo_state_load(mo_context *ctx, const mo_head *head, const mo_arrays *arrays, mo_state *state);

/* ---- ridge ---- */

/* Ridge over a grid of R penalties, with a penalised bias column. Zs [.., n_s, d], Ys [.., n_s, C], lambda [.., R] > 0,
 * with equal leading axes. W [.., R, d + 1, C] multiplies [Z | 1]; Yloo [.., R, n_s, C] are the leave-one-out
 * predictions of the support rows. One factorization per penalty. weight [.., n_s] (NULL: 1 each) is how often a row
 * counts, a constant; a row is left out with all its weight, and rows of weight 0 are ignored (their Yloo is 0). */
MO_API void mo_ridge_loo_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda,
    mo_ridge_form form, mo_tensor **W, mo_tensor **Yloo);

/* Embeddings of all nodes of a graph, or of all graphs of a set: Z [N, d + 1], the rows of the expert T
 * (models/invariant.c), each followed by a 1; gram = Z^T Z. */
typedef struct mo_population {
    mo_tensor *Z, *gram;
} mo_population;
/* Options of self-training. Each of `rounds` (0 or more) fits labels softmax(sharpness logits). */
typedef struct mo_transduction {
    int rounds;
    mo_tensor *sharpness; /* scalar */
} mo_transduction;
/* A readout with logits = fixed + scale Z W, each term [N, C]. Self-training fits the ridge W again, with penalty
 * lambda. */
typedef struct mo_refitted {
    mo_tensor *logits, *fixed, *scale, *lambda;
} mo_refitted;
/* Returns logits [N, C] of all rows: refits the readout, which was fitted on the support (int64 [n_s], row numbers of
 * Z; labels Ys [n_s, C]), on all rows, assuming classes of equal size (transduce.c). */
MO_API mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_refitted *readout, const mo_transduction *options, mo_tensor **W);
/* mo_ridge_transduce of the first expert of a fitted mixture; K [E, N, m]: the kernels of all rows. Raises
 * MO_UNSUPPORTED for a state without experts. */
mo_tensor *mo_state_transduce(
    mo_tape *t, mo_state *state, mo_tensor *K, const mo_population *all, mo_tensor *support, mo_tensor *Ys);
/* The logits of rows Z [n, d + 1] of the population, with kernels K [E, n, m], by a state that mo_state_transduce has
 * refitted: it puts "refitted" [d + 1, C] into the state. */
mo_tensor *mo_state_apply_transduced(mo_tape *t, const mo_state *state, mo_tensor *K, mo_tensor *Z);
/* Kernels [E, n, m]: `own` kernels of rows of unit length, 1 + <x, y>, which is K [n, m], and 1 + exp(-|x - y|^2); then
 * the given ones (NULL: none). Raises MO_INVALID if there are none. */
mo_tensor *mo_join_kernels(mo_tape *t, mo_tensor *K, int own, mo_tensor *given);

/* mo_state_held_out of one group by expert e under penalty r alone, [h, C], from a state of the head mixture. */
MO_API mo_tensor *mo_expert_without(
    mo_tape *t, const mo_state *state, int64_t e, int64_t r, const int64_t *row, int64_t h);

/* ---- model: for trainers, evaluations and weights files ---- */

MO_API const char *mo_task_name(mo_task task); /* "nc", "lp", "gc" */

/* Returns the number of experts that use embeddings, in a head of kernels: 1 for nodes ("T", a linear kernel), 2 for
 * links and graphs ("T" and "Tg", a Gaussian kernel), 0 if inductive. They precede the episode's kernels. name (may be
 * NULL): receives their names. */
int mo_own_experts(mo_task task, bool inductive, const char *const **name);

enum { MO_MAX_PARAMETERS = MO_MAX_ENCODER_PARAMETERS + 1 + MO_TASKS * MO_MAX_HEAD_PARAMETERS };

struct mo_model {
    mo_context *ctx;
    int64_t holders; /* objects of the library that read it: it is freed with the last of them */
    mo_dtype real;
    mo_encoder encoder; /* a copy; the model owns its `state` */
    mo_encoder_rows rows;
    int n_parameters; /* the encoder's parameters, then log_temp and the head's */
    mo_tensor *parameter[MO_MAX_PARAMETERS];
    mo_tensor *first[2 * MO_MAX_ENCODER_PARAMETERS]; /* the encoder's parameters, borrowed, then their first values */
    bool reads_kernels;         /* the head reads the episode's kernels, and its logits take no temperature */
    mo_readout_options options; /* head: not NULL */
    uint64_t seed;              /* draws the head's first values */
    bool one_head;              /* one head and temperature for all tasks, at one width */
    mo_tensor *log_temp;        /* scalar, or [tasks]; a parameter, as are the tensors of head */
    mo_tensor *head[MO_TASKS][MO_MAX_HEAD_PARAMETERS]; /* one task's constants and learned tensors; else NULL */
};

/* Holds a model, beside its owner: it is freed once both have released it. Returns the model. */
mo_model *mo_model_hold(mo_model *m);
/* Copies parameters by name from arrays; an error names the first parameter that is missing or has another shape. A
 * head per task and its temperatures are left as they are unless arrays has all of them, and so is a head shared by all
 * tasks if arrays has none of its tensors. Returns the status. */
MO_API mo_code mo_model_load(mo_model *m, const mo_arrays *arrays);
/* Adds to an object what weights files and run.json keep of a model: its kind, and the options of encoder and readout,
 * as JSON values or as texts (mo_fields_write). Returns false if memory runs out. */
bool mo_model_describe(const mo_model *m, json_t *object, bool as_text);
/* Returns the value of a numeric option; NaN if the model has no such option. */
MO_API double mo_model_setting(const mo_model *m, const char *key);
/* Embeddings of an episode's rows. Nodes: [N, d], or [G, d] for its graphs if e->segment is set. Examples: [n, d], the
 * support before the queries. r: dropout's random position, or NULL. */
MO_API mo_tensor *mo_model_encode(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r);
/* Fits the readout on the support's embeddings and returns the queries' logits [n_q, C]. share may be NULL. *share
 * becomes the share [E, R] of each expert and penalty, where the experts on embeddings (mo_own_experts) precede the
 * episode's "kernels"; NULL for a readout without experts. */
MO_API mo_tensor *mo_model_readout(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq, mo_tensor **share);
/* The two halves of mo_model_readout: fits the head on the support's embeddings Zs, and gives the logits of rows Zq,
 * for which the episode has the "query kernels" if the head reads kernels. held_out: as in mo_support. mo_model_fit
 * returns the status. */
MO_API mo_code mo_model_fit(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state);
MO_API mo_tensor *mo_model_apply(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq);
/* heads/mixture.c: the standard deviations [n_q, C] of a fit's predictions of rows Zq; diagonal [E, n_q]: the given
 * kernels of each query with itself, of the order of `kernels` [E, n_q, m]; both NULL if there are none. */
MO_API mo_tensor *mo_mixture_spread(
    mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels, mo_tensor *diagonal);
/* The standard deviations [n_q, C] of such predictions of real targets, by a model that reads kernels
 * (mo_mixture_spread). */
MO_API mo_tensor *mo_model_spread(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq);
/* mo_state_held_out of such a state, at the model's temperature, which the state has. */
MO_API mo_tensor *mo_model_held_out(
    mo_tape *t, const mo_model *m, const mo_state *state, const int64_t *row, int64_t groups, int64_t h);
/* Logits [N, C] of all rows, from the labels of the support e->support[0] (row numbers of `all`) and from the
 * embeddings of the unlabelled rows, assuming classes of equal size. Raises MO_UNSUPPORTED if the model's readout
 * cannot do this. state (may be NULL): receives the readout, which mo_model_apply_transduced applies to rows Zq
 * [n, d + 1] of the population, for which the episode has the "query kernels". */
MO_API mo_tensor *mo_model_transduce(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all, mo_state *state);
MO_API mo_tensor *mo_model_apply_transduced(
    mo_tape *t, const mo_model *m, const mo_episode *e, const mo_state *state, mo_tensor *Zq);

/* The members of mo_readout_options: those of every head, and the widths at which it learns. */
extern MO_API const mo_field mo_readout_fields[], mo_width_fields[];

/* ---- GAMLP ---- */

extern MO_API const mo_field mo_gamlp_fields[]; /* the members of mo_gamlp_options */

/* For diagnosis of a model of mo_mochi_create: returns the mixed hops [N, d] and writes the attention [N, l + 1]. */
MO_API mo_tensor *mo_gamlp_mix(mo_tape *t, const mo_model *m, mo_tensor *hops, mo_random *r, mo_tensor **attention);
/* The encoder's options of a model of mo_mochi_create; NULL for another model. */
MO_API const mo_gamlp_options *mo_mochi_encoder(const mo_model *m);

typedef struct mo_invariant_options {
    int hops;         /* 3 */
    double smoothing; /* label smoothing: 0.1 */
} mo_invariant_options;

/* The options that mo_invariant_create uses if it is given NULL. */
MO_API mo_invariant_options mo_invariant_defaults(void);

extern MO_API const mo_field mo_invariant_fields[];

/* Returns whether the encoder was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_encoder_validate(mo_context *ctx, const mo_encoder *encoder);

/* The model of the recipe `best`, which gives the same results for every valid SVD of a graph (models/invariant.c).
 * options NULL: mo_invariant_defaults. At 3 hops it learns 28 numbers, in shapes that depend on no width; their initial
 * values are fixed. Returns NULL on failure. */
MO_API mo_model *mo_invariant_create(mo_context *ctx, mo_dtype real, const mo_invariant_options *options);
/* Returns the weights [2, sides, K] with which a model of mo_invariant_create sums, in each of the two blocks, the K
 * rows of a node: its hops, then its diffused rows if the model reads these. Side 0 has the parameters and side 1, if
 * there is one, their first values. An episode of nodes can bring the sums, "mixed" [2, sides, n, d], in place of
 * "blocks" and "diffused". NULL for another model. */
mo_tensor *mo_invariant_hop_weights(mo_tape *t, const mo_model *m);

#endif
