/* train/inside.h - declarations of train/ for the program `mochi`: sources, weights, evaluation. No promise: any
 * release can change them. */
#ifndef MO_TRAIN_INSIDE_H
#define MO_TRAIN_INSIDE_H

#include "models/inside.h"
#include "train/evaluate.h"
#include "train/fit.h"
#include "train/frozen_features.h"
#include "train/graph.h"
#include "train/lists.h"
#include "train/metrics.h"

/* Holds a graph, beside its owner: it is freed once both have released it. Returns the graph. */
mo_graph *mo_graph_hold(mo_graph *graph);

/* The members of mo_feature_options that decide the features, of mo_plan_options, of mo_adamw_options and of
 * mo_trainer_options (tensor/files/fields.h). */
extern MO_API const mo_field mo_feature_fields[], mo_plan_fields[], mo_adamw_fields[], mo_trainer_fields[];

/* ---- pool: graphs to train on, with their features and links; episodes as tensors ---- */

struct mo_source {
    mo_graph *graph;
    mo_task task;
    mo_links *links;       /* lp: the held-out links and non-edges; else NULL */
    mo_features *features; /* for lp: of the masked graph; placed as mo_feature_place says */
    mo_tensor *rows;       /* nodes that are rows of a file: their embeddings [n, d], borrowed, in place of features */
    struct mo_example_kernels *kernels; /* further kernels for the readout of nodes or graphs, borrowed; or NULL */
    bool similarities;                  /* lp: episodes bring the kernels of the pairs' similarities */
    bool inductive;                     /* gc: the readout reads only kernels that need no unlabelled graph */
    bool owns_graph, owns_features;     /* false: another source of the same graph owns them */
};

/* Opens graphs by mo_graph_open's names, each for every task it supports; "cora:nc" and "cora:nc+lp" restrict the
 * tasks, "cora:nc+lp@0.1" also sets the share of held-out links. Returns NULL on failure. */
MO_API mo_pool *mo_pool_open(mo_context *ctx, const char *const *names, int n, const mo_feature_options *options,
    double link_share, mo_notice notice, void *state);
/* An empty pool, for graphs made in memory. */
MO_API mo_pool *mo_pool_create(
    mo_context *ctx, const mo_feature_options *options, double link_share, mo_notice notice, void *state);
/* Adds a graph by a name as for mo_pool_open. Returns the status. */
MO_API mo_code mo_pool_add_name(mo_pool *pool, const char *name);
/* Whether links of graphs that are added from now on, and their pairs without a link, are two steps apart
 * (mo_links_keep_near); false at first. */
MO_API void mo_pool_set_near(mo_pool *pool, bool near);
/* Sets how often each task is drawn, relative to the other tasks (1 each by default), if a step has one episode. A task
 * of weight 0 has no episodes, however many a step has. */
MO_API void mo_pool_set_families(mo_pool *pool, const double weight[MO_TASKS]);
/* The tensors of a planned episode on the tape. Rows of nodes hold each node of the plan once, so that it is encoded
 * once. */
MO_API mo_code mo_episode_build(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e);

/* ---- optimizer and trainer ---- */

/* A step in two parts, so that it can be captured (mo_capture_begin). mo_optimizer_advance sets the step's number and
 * rate: call it before the capture and before each replay. mo_optimizer_apply updates the parameters: call it inside
 * the capture. Both return the status. */
MO_API mo_code mo_optimizer_advance(mo_optimizer *o, double lr);
MO_API mo_code mo_optimizer_apply(mo_optimizer *o, mo_tensor *const *grads);

/* An optimizer's state, to save and restore it: the number of steps taken, and the first or second moment of parameter
 * i (order 1 or 2), in the parameter's shape; NULL if there is none. */
MO_API int64_t mo_optimizer_steps(const mo_optimizer *o);
MO_API mo_code mo_optimizer_set_steps(mo_optimizer *o, int64_t steps);
MO_API mo_tensor *mo_optimizer_moment(mo_optimizer *o, int i, int order);

/* Makes the folder of a new run; raises if it is not empty. The trainer does so too, but later. */
MO_API mo_code mo_run_folder(mo_context *ctx, const char *folder);
/* Checks a run before it is resumed: its checkpoint must be whole and have the settings of run.json, lr and lr_min
 * apart. The trainer does so too, but only after features and model are made. Returns the status. */
MO_API mo_code mo_run_check(mo_context *ctx, const char *folder);

/* One step of mo_trainer_run. Returns the status. */
MO_API mo_code mo_trainer_step(mo_trainer *trainer, mo_step_report *report);
/* Writes out/checkpoint.safetensors. Returns the status. */
MO_API mo_code mo_trainer_checkpoint(mo_trainer *trainer);

/* ---- weights: the files of mo_trainer_finish, and converted released weights ---- */

typedef struct mo_trained_graph {
    char name[256];
    uint64_t hash[2]; /* hash of the graph's content, as in mo_graph */
} mo_trained_graph;
/* The tensors of a weights file and the settings to use them with. For a file without this library's metadata, the
 * shapes give dim, hops and layers, and the released program gives the other settings. */
typedef struct mo_weights {
    mo_context *ctx;
    mo_arrays *arrays;
    char kind[64];                  /* the encoder's name, such as "mochi" or "invariant" */
    mo_feature_options features;    /* cache: NULL; the form gives the rows that the model reads */
    mo_gamlp_options gamlp;         /* if kind is "mochi" */
    mo_invariant_options invariant; /* if kind is "invariant" */
    mo_readout_options readout;     /* if the model has a head; readout.head: NULL if it is not the library's */
    char head[64];                  /* the head's name; "" if the readout is the model's own */
    char recipe[32];                /* "" if unknown; "released" for a file without this library's metadata */
    uint64_t hash[2];               /* XXH3-128 of the file, as xxhsum -H2 prints it */
    double lambda;                  /* penalty of the ridge on single hops */
    int best_hop[MO_TASKS];         /* chosen on the training pool; -1: unknown */
    int n_pool;                     /* number of training graphs; -1: the file does not list them */
    mo_trained_graph *pool;         /* [n_pool], or NULL */
} mo_weights;

/* Reads a file, or embedded weights by name: "best" or "free". Returns NULL on failure. */
MO_API mo_weights *mo_weights_read(mo_context *ctx, const char *path);
MO_API void mo_weights_release(mo_weights *weights);
/* Whether weights were trained on a graph, or on one with equal content, whatever its name and task. Unknown if the
 * file does not list its graphs, or if it lists the graph's name with other content. For several weights take the
 * largest value. */
typedef enum mo_seen { MO_UNSEEN, MO_SEEN_UNKNOWN, MO_SEEN } mo_seen;
MO_API mo_seen mo_weights_seen(const mo_weights *weights, const mo_graph *graph);
/* A float32 model with these weights; NULL on failure. */
MO_API mo_model *mo_weights_model(const mo_weights *weights);

/* Changes to a trained model when it is made from its weights. */
typedef struct mo_model_choice {
    const mo_encoder *encoder; /* the encoder that the weights name, if it is not one of the library's; else NULL */
    const mo_head *head;       /* NULL: as trained; one of kernels: an "invariant" model's own readout */
    double lambda;             /* the head's parameter lambda; 0: the trained value */
    bool untrained;            /* take initial values, drawn from the seed, instead of the weights */
    uint64_t seed;
} mo_model_choice;
MO_API mo_model *mo_weights_model_as(const mo_weights *weights, const mo_model_choice *choice);

/* ---- evaluation ---- */

/* mo_expert_words: an expert's name in words: "own attributes" for "Xc"; an unknown name is returned unchanged.
 * mo_describe_shares: n shares in words, largest first: "own attributes 61%, place in the graph 30%, others 9%". */
MO_API const char *mo_expert_words(const char *name);
MO_API void mo_describe_shares(const mo_expert_share *share, int n, char *text, size_t bytes);

/* Embeds as mo_embed_all, block by block, in order: Z [n, d], on the tape, holds examples first .. first + n - 1 of
 * `examples` in all. If visit returns false, the call ends. Returns the status. */
typedef bool (*mo_embed_visit)(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state);
MO_API mo_code mo_embed_each(
    mo_model *model, const mo_source *source, int64_t max_rows, mo_embed_visit visit, void *state);

/* The width d of a model's embeddings, found by embedding the first example; 0 on failure. */
MO_API int64_t mo_embedding_width(mo_model *model, const mo_source *source);

/* The rows that a head reads without a model: the nodes' features at one hop or, for a set, their means over each
 * graph; for rows of examples see train/evaluation/embed.c. */
MO_API mo_tensor *mo_embed_hop(const mo_source *source, int hop);
/* mo_embed_hop of rows of nodes, block by block, as mo_embed_each. Returns the status. */
MO_API mo_code mo_embed_hop_each(const mo_source *source, int hop, int64_t max_rows, mo_embed_visit visit, void *state);

/* The index of the head's parameter that tuning chooses: lambda, else its first share (a scalar from 0 to 1); -1: none,
 * as for NULL. */
MO_API int mo_regularisation(const mo_head *head);
MO_API const char *mo_protocol_name(mo_protocol protocol); /* "split", "episode", "public"; else NULL */

/* Two models on the same episodes of a pool: accuracy of each in percent, and their difference (first minus second)
 * with the half width of its 95% interval, paired by episode. NaN if the pool has no source of the task. */
typedef struct mo_paired {
    double mean[2], difference, ci95;
    int64_t n;
} mo_paired;
/* Compares the models on `episodes` episodes of each task, numbered from `first` on. Training has used the numbers
 * below steps times episodes_per_step. Returns the status. */
MO_API mo_code mo_compare_models(const mo_pool *pool, mo_model *const models[2], const mo_plan_options *plan,
    uint64_t first, int64_t episodes, mo_paired figures[MO_TASKS]);

/* As mo_few_shot_open, with weights that are read already, so that the caller knows which they are although the file
 * may change; NULL: reads those of the options. */
MO_API mo_few_shot *mo_few_shot_open_as(
    mo_graph *graph, mo_task task, const mo_few_shot_options *options, const mo_weights *weights);
/* Adds the fit to the arrays of a file: its state, and what was found by leaving labels out. Returns the status. */
MO_API mo_code mo_few_shot_save(mo_few_shot *f, mo_arrays *arrays);
/* The graph that mo_few_shot_save has put into the arrays of a file; NULL if there is none (it has over 2^26 edges and
 * attributes), or on failure. */
MO_API mo_graph *mo_graph_kept(const mo_arrays *arrays, const char *path);
/* The graph in which a fit on examples old_id [n] of `old` is applied to `now`, whose examples keep their numbers
 * there; id [n] receives the fit's examples. It is the old one, if nothing but names and the order of columns changed;
 * `now`, if nodes have no attributes and those of the fit are in it by name; else `now` and, behind it, `old`, whose
 * means and spreads the features then take, so that examples whose surroundings are as they were have the same rows.
 * Raises MO_INVALID by name if the two have not the same attributes. Release it; NULL on failure. */
MO_API mo_graph *mo_graph_beside(
    const mo_graph *old, const mo_graph *now, const int64_t *old_id, int64_t n, const char *path, int64_t *id);
/* Whether a label of the last fit reaches an example (train/few_shot/few_shot_reach.c). If none does, its probabilities
 * are the classes' shares of the labels. */
MO_API bool mo_few_shot_reaches(const mo_few_shot *f, int64_t id);

/* The least probability of a class that belongs to an example's set of classes, if sets shall hold the right class with
 * probability `coverage` (train/few_shot/few_shot_held_out.c); 0: every class does, as too few labels were held out. */
MO_API double mo_few_shot_set_bound(const mo_few_shot *f, double coverage);

/* ---- real targets (train/graphs/targets.c, train/few_shot/few_shot_targets.c) ---- */

/* Targets of n examples. Owned; release. */
typedef struct mo_targets {
    int64_t n, *id; /* [n]; ids rise */
    double *value;  /* [n] */
    char *headers;  /* first lines that were read as a header; NULL: none */
} mo_targets;
/* Reads CSV or TSV of two columns, example and target (of more, those under node or id, and target), or one column with
 * a target for each example; a target that is empty or a mark of the unknown is none. Raises with file and line for a
 * text, an infinite number, two targets of one example; with the file for fewer than three targets and for equal ones.
 * Returns false on failure. */
MO_API bool mo_targets_read(const mo_graph *graph, const char *path, mo_targets *targets);
/* Writes the path of the targets that lie beside the graph: targets.csv in its folder, or, in a TU set without classes,
 * NAME_graph_attributes.txt. Returns false if there are none. */
MO_API bool mo_targets_find(const mo_graph *graph, char *path, size_t bytes);
MO_API void mo_targets_release(mo_targets *targets);
/* As mo_rows_open, with the column `label` as real targets of the rows (NULL: as labels); release them even on failure.
 */
MO_API mo_graph *mo_rows_open_targets(
    mo_context *ctx, const char *path, const char *label, const mo_feature_options *options, mo_targets *targets);

/* Of targets before the fit: none, or their logarithms; AUTO: the one whose left-out targets have the larger density.
 */
typedef enum mo_target_transform { MO_TRANSFORM_AUTO = 0, MO_TRANSFORM_NONE, MO_TRANSFORM_LOG } mo_target_transform;
/* What left-out targets show, in their own unit. */
typedef struct mo_target_estimate {
    int64_t labelled, held_out; /* held_out: of more than 1024 targets, the centres */
    double r2, mae;             /* 1 - squared errors / squared distances to the mean; mean absolute error */
    bool log;                   /* the fit is of logarithms */
    double density[2]; /* mean logarithm of the density of a target: of plain targets, and of logarithms (NaN: not
                          tried) */
} mo_target_estimate;
/* Fits n examples with real targets in place of classes, three or more and not all equal; a later fit of either kind
 * replaces it. Raises MO_UNSUPPORTED for a head that reads classes and for a transductive readout that is asked for,
 * MO_INVALID for targets that are not finite, and for LOG with a target that is not above 0. Returns the status. */
MO_API mo_code mo_few_shot_fit_targets(
    mo_few_shot *f, const int64_t *id, const double *target, int64_t n, mo_target_transform transform);
MO_API mo_target_estimate mo_few_shot_expect_targets(const mo_few_shot *f);
/* Predictions [n] of the last fit of targets, in their unit (of logarithms: the median), with the intervals low .. high
 * [n] that hold a target with probability `coverage`; NaN if too few targets were left out to tell. low and high may be
 * NULL. Returns the status. */
MO_API mo_code mo_few_shot_predict_targets(
    mo_few_shot *f, const int64_t *id, int64_t n, double coverage, double *prediction, double *low, double *high);

/* Why an example is predicted as it is: each label adds to the logit of its own class, by way of each expert's kernel.
 * Owned; release. */
typedef struct mo_few_shot_reasons {
    int64_t n, classes;
    int experts;
    int64_t *id, *label; /* [n]: the labelled examples and their classes */
    double *weight; /* [experts, n]: what a label adds. logit_c is the sum over experts and the examples of class c, up
                     * to the rounding of the readout's solves */
    double *logit;  /* [classes] */
    const char *expert[MO_MAX_EXPERTS]; /* names, as of mo_few_shot_experts */
    bool refitted; /* predictions are of a refit on the readout's own predictions; the reasons are of the readout before
                    */
} mo_few_shot_reasons;
/* The reasons for an example, by the labels of the last fit. Raises MO_UNSUPPORTED unless the readout is that of the
 * weights, with at most 1024 labels, or the head ridge. Returns the status; release the reasons even on failure. */
MO_API mo_code mo_few_shot_explain(mo_few_shot *f, int64_t example, mo_few_shot_reasons *reasons);
MO_API void mo_few_shot_reasons_release(mo_few_shot_reasons *reasons);

/* How well the labelled examples cover other examples (train/few_shot/few_shot_cover.c). */
typedef struct mo_few_shot_cover {
    int64_t labelled, others; /* compared examples, at most 4096 of each; no figure if `labelled` is 0 */
    double far;            /* share of the other examples that are farther from the nearest labelled example than 90% of
                            * the labelled examples are */
    double expected, most; /* mean of `far` if labels are drawn at random; two standard deviations above this mean */
} mo_few_shot_cover;
/* How well the labelled examples of the last fit cover n other examples. Equal bits at any thread count. Returns the
 * status. */
MO_API mo_code mo_few_shot_cover_of(mo_few_shot *f, const int64_t *id, int64_t n, mo_few_shot_cover *cover);

/* The hop whose rows give the head its highest accuracy over the pool's sources of that task (a few seeded episodes at
 * k = 4 .. 32); -1 without sources, and on failure. */
MO_API int mo_best_hop(
    mo_context *ctx, const mo_pool *pool, mo_task task, const mo_head *head, double lambda, uint64_t seed);

/* ---- few-shot ---- */

/* Pairs of nodes known to be linked or not. Owned; release. */
typedef struct mo_link_support {
    int64_t n, *u, *v, *linked; /* [n]; linked: 0 or 1 */
    int64_t *fit;    /* [n]: how often the readout is fitted on the pair; 0: the pair is only held out of the graph */
    double shift[2]; /* added to the scores of pairs [two steps apart]; 0 for pairs that are given */
} mo_link_support;
/* Reads CSV or TSV with a header and the columns from, to and, if `labelled`, linked (yes or no) and, optionally, fit
 * (1 if absent). Returns false on failure; the status names file and line. */
MO_API bool mo_link_support_read(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s);
MO_API void mo_link_support_release(mo_link_support *s);

/* A readout of links, fitted once. Its support is held out of the graph from which the support's rows are computed;
 * scored pairs get their rows from the whole graph. All rows are standardised by the support's moments. */
typedef struct mo_link_scorer mo_link_scorer;
/* weights: as for mo_few_shot_open_as. support: pairs with their `linked` as in the graph; NULL: drawn from the graph,
 * as by mo_few_shot_links. fitted: arrays to which mo_link_scorer_save has added the fit on this support; NULL: it is
 * fitted. Returns NULL on failure. */
MO_API mo_link_scorer *mo_link_scorer_open(mo_graph *graph, const mo_few_shot_options *options,
    const mo_weights *weights, const mo_link_support *support, const mo_arrays *fitted);
MO_API mo_code mo_link_scorer_save(const mo_link_scorer *s, mo_arrays *arrays);
MO_API void mo_link_scorer_release(mo_link_scorer *s);
/* The support that the scorer was fitted on, borrowed. */
MO_API const mo_link_support *mo_link_scorer_support(const mo_link_scorer *s);
/* As mo_few_shot_links. Returns the status. */
MO_API mo_code mo_link_scorer_score(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score);
/* The `most` partners with the highest scores of each node, highest first, among nodes that it is not linked to:
 * partner and score [nodes, most], -1 and NaN where there are fewer. Scored are nodes two and three steps away and
 * those with the nearest rows, some of each for every node (train/features/pairs/candidates.c). Returns the status. */
MO_API mo_code mo_link_scorer_best(mo_link_scorer *s, int64_t most, int64_t *partner, double *score);

/* How an episode's number determines its task: drawn by the pool's weights, or in turn. */
typedef enum mo_family_order { MO_FAMILY_DRAWN = 0, MO_FAMILY_IN_TURN } mo_family_order;
/* Draws episode `number`: task, source, k, q and examples, all a function of (options->seed, number). source (may be
 * NULL): receives the episode's source. Returns the status. */
MO_API mo_code mo_pool_draw(const mo_pool *pool, mo_tape *t, uint64_t number, mo_family_order order,
    const mo_plan_options *options, mo_episode *e, const mo_source **source);

#define MO_CLASS_METRICS 3
/* "accuracy"; "nll", the cross-entropy of the probabilities softmax(logits) in hundredths of a nat; "ece", their
 * expected calibration error in percent. Each is computed per seed or episode. */
MO_API const char *mo_class_metric_name(int i);
/* "auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled". */
MO_API const char *mo_link_metric_name(int i);

#define MO_TARGET_METRICS 3
MO_API const char *mo_target_metric_name(int i); /* "r2", "mae", "coverage" (train/few_shot/eval_targets.c) */

/* The logits behind mo_few_shot_probabilities. Returns the status. */
MO_API mo_code mo_few_shot_logits(mo_few_shot *f, const int64_t *id, int64_t n, double *logits);
/* The experts' shares in the logits computed last by the mixture of kernels. Returns their number, at most
 * MO_MAX_EXPERTS; 0 for a head, and before any logits. The names live as long as the object. */
MO_API int mo_few_shot_experts(const mo_few_shot *f, mo_expert_share out[MO_MAX_EXPERTS]);

#endif
