/* train/inside.h - declarations of train/ for the program `mochi`: sources, weights, evaluation. They promise nothing:
 * any release may change them. */
#ifndef MO_TRAIN_INSIDE_H
#define MO_TRAIN_INSIDE_H

#include "models/inside.h"
#include "train/evaluate.h"
#include "train/fit.h"
#include "train/frozen_features.h"
#include "train/graph.h"
#include "train/lists.h"
#include "train/metrics.h"

/* ---- pool: graphs to train on, with their features and links; episodes as tensors ---- */

struct mo_source {
    mo_graph *graph;
    mo_task task;
    mo_links *links;       /* lp */
    mo_features *features; /* for lp: of the masked graph; the place of their memory: mo_feature_place */
    struct mo_example_kernels
        *kernels;   /* what a readout of nodes or graphs reads beside embeddings, borrowed; or NULL */
    bool inductive; /* gc: whether a readout reads nothing but kernels that ask the labelled graphs alone */
    bool owns_graph, owns_features; /* false: shared with another source of the graph */
};

/* Opens graphs by mo_graph_open's names, each for all tasks that it can serve; "cora:nc" and "cora:nc+lp" restrict the
 * tasks, "cora:nc+lp@0.1" also sets the share of links held out. Returns NULL on failure. */
MO_API mo_pool *mo_pool_open(mo_context *ctx, const char *const *names, int n, const mo_feature_options *options,
    double link_share, mo_notice notice, void *state);
/* An empty pool, for graphs made in memory. */
MO_API mo_pool *mo_pool_create(
    mo_context *ctx, const mo_feature_options *options, double link_share, mo_notice notice, void *state);
/* The relative frequency of each family at one episode per step (1 each by default). A family of weight 0 has no
 * episodes, at one or several per step. */
MO_API void mo_pool_set_families(mo_pool *pool, const double weight[MO_TASKS]);
/* The tensors of a planned episode on the tape: each named row encoded once. */
MO_API mo_code mo_episode_build(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e);

/* ---- optimizer and trainer ---- */

/* The step in two parts, for a step that is captured (mo_capture_begin): `advance` sets the step number and its rate,
 * outside of the capture, before it and before each replay; `apply` takes the step, inside. Both return the status. */
MO_API mo_code mo_optimizer_advance(mo_optimizer *o, double lr);
MO_API mo_code mo_optimizer_apply(mo_optimizer *o, mo_tensor *const *grads);

/* What an optimizer holds beside its options, for callers that save and restore it: the steps taken, and the first or
 * second moment of parameter i (order 1 or 2), of the parameter's shape; NULL if there is none. */
MO_API int64_t mo_optimizer_steps(const mo_optimizer *o);
MO_API mo_code mo_optimizer_set_steps(mo_optimizer *o, int64_t steps);
MO_API mo_tensor *mo_optimizer_moment(mo_optimizer *o, int i, int order);

/* Makes the folder of a new run; raises if it is not empty. The trainer does so too; this call reports it early. */
MO_API mo_code mo_run_folder(mo_context *ctx, const char *folder);
/* Checks a run before it is resumed: its checkpoint is whole, and of the settings in run.json. The trainer does so too;
 * this call reports it before anything of those sizes is made. Returns the status. */
MO_API mo_code mo_run_check(mo_context *ctx, const char *folder);

/* One step of mo_trainer_run. Returns the status. */
MO_API mo_code mo_trainer_step(mo_trainer *trainer, mo_step_report *report);
/* Writes out/checkpoint.safetensors. Returns the status. */
MO_API mo_code mo_trainer_checkpoint(mo_trainer *trainer);

/* ---- ranks: processes that share a run (train/run/README.md) ---- */

/* One of `size` processes, and how it sends messages to the others; messages from one to another arrive in order. */
typedef struct mo_ranks {
    int rank, size;
    int started; /* the processes of the run, where these are the first of them; 0: size. Messages count them. */
    const char *program;     /* names the code; ranks with another name are refused */
    const char *const *host; /* at rank 0: [size] names for run.json, or NULL */
    bool deterministic;      /* the bits of one process on every device: devices add nothing up among themselves */
    void (*send)(void *state, int to, const void *data, size_t bytes);
    void (*receive)(void *state, int from, void *data, size_t bytes);
    void *state;
    bool *parted; /* set once every rank knows of a failure: no rank waits for a message after that; or NULL */
} mo_ranks;
/* Whether no rank has failed and all want to go on, the same on every rank; each calls it. The failure of one becomes
 * every rank's. */
MO_API bool mo_ranks_agree(mo_context *ctx, const mo_ranks *ranks, bool go_on);
/* From now on the trainer, new and with the same settings on every rank, takes its share of the episodes of each step:
 * the weights have the same bits as those of one process. Where every rank has a device of its own and NCCL, and none
 * asks for `deterministic`, the devices add up the gradients, in an order of their own: the weights then agree with
 * those of one process to rounding. MO_INVALID where two ranks have one device. Rank 0 reads and writes the files of
 * the run. `ranks` is copied, what it points to borrowed; a size of 1 changes nothing. Returns the status. */
MO_API mo_code mo_trainer_share(mo_trainer *trainer, const mo_ranks *ranks);

/* ---- weights: what mo_trainer_finish writes, and converted released weights ---- */

/* The tensors of a weights file and the settings to use them with. For a file without this library's metadata, dim,
 * hops and layers are read off the shapes, and the other settings are those of the released program. */
typedef struct mo_trained_graph {
    char name[256];
    uint64_t hash[2]; /* of its content, as a graph has it */
} mo_trained_graph;
typedef struct mo_weights {
    mo_context *ctx;
    mo_arrays *arrays;
    char kind[64];                  /* the name of the model's table: "mochi", "invariant" */
    mo_feature_options features;    /* cache: NULL; the form gives the rows that the model reads */
    mo_mochi_options mochi;         /* of "mochi"; head: NULL if it is not one of the library's */
    mo_invariant_options invariant; /* of "invariant" */
    mo_readout_options readout;     /* of a model under a head instead of its own readout; head as in mochi */
    char head[64];                  /* the head's name; "" if the readout is the model's own */
    char recipe[32];                /* "" if unknown; "released" for a file without this library's metadata */
    uint64_t hash[2];               /* XXH3-128 of the file, as xxhsum -H2 prints it */
    double lambda;                  /* penalty of the ridge on single hops */
    int best_hop[MO_TASKS];         /* chosen on the training pool; -1: unknown */
    int n_pool;                     /* the graphs that they were trained on; -1: the file does not say */
    mo_trained_graph *pool;         /* [n_pool], or NULL */
} mo_weights;

/* Reads a file, or embedded weights by name: "best". Returns NULL on failure. */
MO_API mo_weights *mo_weights_read(mo_context *ctx, const char *path);
MO_API void mo_weights_release(mo_weights *weights);
/* Whether weights were trained on a graph: on one of the same content, whatever its name and the task. Unknown where
 * the file does not say, or where a graph of that name had another content. Of several weights the largest value
 * counts. */
typedef enum mo_seen { MO_UNSEEN, MO_SEEN_UNKNOWN, MO_SEEN } mo_seen;
MO_API mo_seen mo_weights_seen(const mo_weights *weights, const mo_graph *graph);
/* A float32 model with these weights; NULL on failure. */
MO_API mo_model *mo_weights_model(const mo_weights *weights);

/* Changes to the trained model when it is made from its weights. */
typedef struct mo_model_choice {
    const mo_encoder *encoder; /* of weights of an encoder from outside, which are of its name; else NULL */
    const mo_head *head;       /* NULL: the head it was trained with; for "invariant", mixture is its own readout */
    double lambda;             /* the head's parameter of that name; 0: the trained value */
    bool untrained;            /* initial values, drawn from the seed, instead of the weights */
    uint64_t seed;
} mo_model_choice;
MO_API mo_model *mo_weights_model_as(const mo_weights *weights, const mo_model_choice *choice);

/* ---- evaluation ---- */

/* An expert in words: "own attributes" of "Xc"; a name that is not known as it is. All of n shares in words, the
 * largest first: "own attributes 61%, place in the graph 30%, others 9%". */
MO_API const char *mo_expert_words(const char *name);
MO_API void mo_describe_shares(const mo_expert_share *share, int n, char *text, size_t bytes);

/* mo_embed_all block by block, in order: Z [n, d], on the tape, are those of examples first .. first + n - 1 of all
 * `examples`. A visit that returns false ends it. Returns the status. */
typedef bool (*mo_embed_visit)(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state);
MO_API mo_code mo_embed_each(
    mo_model *model, const mo_source *source, int64_t max_rows, mo_embed_visit visit, void *state);

/* The width d of these embeddings, found from the first example alone; 0 on failure. */
MO_API int64_t mo_embedding_width(mo_model *model, const mo_source *source);

/* The rows that a head reads without a model: nodes at one hop of the features, or their means over graphs. */
MO_API mo_tensor *mo_embed_hop(const mo_source *source, int hop);
/* The same rows of nodes, block by block, as mo_embed_each. Returns the status. */
MO_API mo_code mo_embed_hop_each(const mo_source *source, int hop, int64_t max_rows, mo_embed_visit visit, void *state);

MO_API const char *mo_protocol_name(mo_protocol protocol); /* "split", "episode", "public" */

/* Two models on the same episodes of a pool: accuracy of each in percent, and the first less the second with the half
 * width of its 95% interval over episodes, which are pairs. NaN where the pool has none of the task. */
typedef struct mo_paired {
    double mean[2], difference, ci95;
    int64_t n;
} mo_paired;
/* Figures of every task on `episodes` episodes each, from number `first` on: numbers at least steps times
 * episodes_per_step are those that training did not see. Returns the status. */
MO_API mo_code mo_compare_models(const mo_pool *pool, mo_model *const models[2], const mo_plan_options *plan,
    uint64_t first, int64_t episodes, mo_paired figures[MO_TASKS]);

/* The embeddings of all N examples of a few-shot object in the plane of their first two principal components: xy
 * [N, 2], row-major. Needs no fit. Returns the status. */
MO_API mo_code mo_few_shot_plane(mo_few_shot *f, double *xy);

/* How far the labelled examples cover others (train/few_shot/few_shot_cover.c). */
typedef struct mo_few_shot_cover {
    int64_t labelled, others; /* examples that were compared, at most 4096 of each; 0 of the first: no figure */
    double far;               /* share of the others that lie farther from every labelled example than nine of ten
                               * labelled ones lie from the nearest other one */
    double expected, most;    /* that share if the labelled ones were drawn at random: mean, and two standard deviations
                               * above it */
} mo_few_shot_cover;
/* Of the labels that were fitted last and the n others. Equal bits at any thread count. Returns the status. */
MO_API mo_code mo_few_shot_cover_of(mo_few_shot *f, const int64_t *id, int64_t n, mo_few_shot_cover *cover);

/* The hop on whose rows the head is most accurate over the pool's sources of that task (a few seeded episodes at k = 4
 * .. 32); -1 without sources. */
MO_API int mo_best_hop(
    mo_context *ctx, const mo_pool *pool, mo_task task, const mo_head *head, double lambda, uint64_t seed);

/* ---- few-shot ---- */

/* Pairs of nodes of which it is known whether they are linked. Owned; release. */
typedef struct mo_link_support {
    int64_t n, *u, *v, *linked; /* [n]; linked: 0 or 1 */
    int64_t *fit; /* [n]: how often the readout is fitted on the pair; 0: it is held out like the others, and no more */
} mo_link_support;
/* Reads CSV or TSV with a header and the columns from, to and, where `labelled`, linked (yes or no) and fit (may be
 * absent: 1). Returns false on failure; the status names file and line. */
MO_API bool mo_link_support_read(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s);
MO_API void mo_link_support_release(mo_link_support *s);

/* A readout of links, fitted once. Its support, with the rows of which all rows are standardised, is held out of the
 * graph that its rows come from; what is asked about is seen from the whole graph. */
typedef struct mo_link_scorer mo_link_scorer;
/* support: pairs that are links of the graph or are not, as they say; NULL: drawn from the graph, as mo_few_shot_links
 * does. Returns NULL on failure. */
MO_API mo_link_scorer *mo_link_scorer_open(
    mo_graph *graph, const mo_few_shot_options *options, const mo_link_support *support);
MO_API void mo_link_scorer_release(mo_link_scorer *s);
/* What it was fitted on, borrowed. */
MO_API const mo_link_support *mo_link_scorer_support(const mo_link_scorer *s);
/* As mo_few_shot_links. Returns the status. */
MO_API mo_code mo_link_scorer_score(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score);

/* How the task family of an episode follows from its number: drawn by the pool's weights, or one after the other. */
typedef enum mo_family_order { MO_FAMILY_DRAWN = 0, MO_FAMILY_IN_TURN } mo_family_order;
/* Episode `number`: family, source, k, q and examples, all a function of (options->seed, number). source (may be NULL):
 * receives where it came from. Returns the status. */
MO_API mo_code mo_pool_draw(const mo_pool *pool, mo_tape *t, uint64_t number, mo_family_order order,
    const mo_plan_options *options, mo_episode *e, const mo_source **source);

#define MO_CLASS_METRICS 3
/* "accuracy"; "nll", the cross-entropy of the probabilities softmax(logits) in hundredths of a nat; "ece", their
 * expected calibration error in percent, of each seed or episode by itself. */
MO_API const char *mo_class_metric_name(int i);
#define MO_LINK_METRICS 6
/* "auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled". */
MO_API const char *mo_link_metric_name(int i);

/* The logits themselves, as mo_few_shot_probabilities reads them. Returns the status. */
MO_API mo_code mo_few_shot_logits(mo_few_shot *f, const int64_t *id, int64_t n, double *logits);
/* The shares of the experts in the logits that were read last, of the mixture of kernels: returns their number, at most
 * MO_MAX_EXPERTS; 0 of a head, and before logits were read. The names live as long as the object. */
MO_API int mo_few_shot_experts(const mo_few_shot *f, mo_expert_share out[MO_MAX_EXPERTS]);

#endif
