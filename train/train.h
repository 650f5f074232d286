/* train/train.h - trains weights on graphs, and predicts from few labels: graphs, pools of graphs, episodes, the
 * optimizer, the trainer and few-shot objects. */
#ifndef MO_TRAIN_H
#define MO_TRAIN_H

#include "models/models.h"

/* ---- graph: one data set, a single graph or a set of graphs; undirected, without self-loops and duplicates ---- */

typedef struct mo_graph mo_graph;

/* Reads a data set by name (from train/data, then from $MOCHI_DATA or, if that is not set, from mochi/ in the user's
 * data folder) or by path: .npz, .gml, an adjacency-list .txt(.gz), a SNAP edge list .txt(.gz), a TU folder, a folder
 * of interaction lists (train.txt, test.txt), a folder of features.npy and edges.txt. Raises if a graph in the current
 * folder has the same name: write ./NAME to open that one. A failure names file, line, expected and found. */
MO_API mo_graph *mo_graph_open(mo_context *ctx, const char *name_or_path);
/* Makes an undirected graph from n_edges directed edges, u[i] to v[i], in host arrays; self-loops and duplicates are
 * dropped and counted. Raises if an end is outside 0..nodes-1. The graph has no features and no labels. */
MO_API mo_graph *mo_graph_from_edges(
    mo_context *ctx, const char *name, int64_t nodes, int64_t n_edges, const int64_t *u, const int64_t *v);
MO_API void mo_graph_release(mo_graph *graph);

/* ---- pool: graphs to train on, with the frozen features that a model reads; episodes as tensors ---- */

typedef struct mo_pool mo_pool;
typedef struct mo_source mo_source; /* a graph of a pool for one task (train/inside.h) */

/* Opens graphs by mo_graph_open's names, each for every task it supports; "cora:nc+lp" restricts the tasks, and
 * "cora:nc+lp@0.1" sets the share of held-out links too (default 0.2). n may be 0. Features are not cached. */
MO_API mo_pool *mo_pool_for(mo_context *ctx, mo_model *model, const char *const *names, int n);
/* Adds a graph; the pool owns it from then on, even on failure. tasks: bits 1 << task; 0: every task it supports.
 * Graphs with equal content are kept once; raises if the pool has the graph for one of these tasks already. */
MO_API mo_code mo_pool_add(mo_pool *pool, mo_graph *graph, unsigned tasks);
MO_API void mo_pool_release(mo_pool *pool);
MO_API int mo_pool_size(const mo_pool *pool);
MO_API const mo_source *mo_pool_source(const mo_pool *pool, int i);

typedef struct mo_plan_options {
    int64_t k_min, k_max, q_min, q_max; /* bounds of the drawn k support and q query examples per class */
    int64_t max_classes;                /* most classes in an episode; `mochi train` takes 64 */
    uint64_t seed;
    bool log_uniform;                         /* k is drawn log-uniformly between its bounds; false: uniformly */
    int k_times[MO_TASKS], q_times[MO_TASKS]; /* factors of k and q for each task; 0 counts as 1 */
    /* For classes with fewer than k + q members. true: q members, at most half, become queries; the support draws from
     * the other members and repeats one only once all are used. false: the members are split in the ratio k : q, and
     * support and queries draw from their parts with replacement. */
    bool support_first;
} mo_plan_options;

/* ---- optimizer: AdamW (Loshchilov and Hutter 2019) or SGD; decoupled weight decay of all parameters ---- */

typedef struct mo_adamw_options {
    double lr, lr_min;            /* read by the trainer alone; mo_optimizer_step takes its rate as an argument */
    double beta1, beta2, epsilon; /* all 0: defaults 0.9, 0.999 and 1e-8 */
    double weight_decay;
    double clip; /* largest gradient norm; 0: no clipping */
} mo_adamw_options;

typedef struct mo_sgd_options {
    double momentum; /* in m <- momentum m + g, p <- p - lr m; 0: plain gradient descent */
    double weight_decay, clip;
} mo_sgd_options;

typedef struct mo_optimizer mo_optimizer;
MO_API mo_optimizer *mo_sgd_create(mo_context *ctx, mo_tensor *const *parameters, int n, const mo_sgd_options *options);
MO_API mo_optimizer *mo_adamw_create(
    mo_context *ctx, mo_tensor *const *parameters, int n, const mo_adamw_options *options);
MO_API void mo_optimizer_release(mo_optimizer *o);
/* Takes one step at the rate lr with the gradients grads[i], of any tape; norm (may be NULL): their norm before
 * clipping. A norm that is not finite raises MO_NUMERICAL and changes nothing. */
MO_API mo_code mo_optimizer_step(mo_optimizer *o, mo_tensor *const *grads, double lr, double *norm);
/* Cosine from lr to lr_min: lr_min + (lr - lr_min) (1 + cos(pi step / steps)) / 2, step = 0 .. steps - 1. */
MO_API double mo_cosine(double lr, double lr_min, int64_t step, int64_t steps);

/* ---- trainer ---- */

typedef struct mo_trainer_options {
    int64_t steps;
    int episodes_per_step;  /* 1 to 65535; with 2 or more the tasks take turns */
    mo_adamw_options adamw; /* the rate follows a cosine from lr to lr_min */
    mo_plan_options plan;
    int64_t max_rows;         /* rows encoded at once (mo_episode); 0: all rows of an episode */
    int64_t checkpoint_every; /* in steps; 0: only at the end */
    bool replay;              /* replay episodes of equal shapes as CUDA graphs, with bitwise equal results */
    const char *out;          /* folder of the run */
    const char *settings;     /* JSON object text kept in run.json and compared on resume; NULL: {} */
    bool other_rate;          /* a resumed run may have another lr and lr_min than its checkpoint */
} mo_trainer_options;

typedef struct mo_step_report {
    int64_t step, steps;
    double loss, gradient_norm, lr;
    double accuracy[MO_TASKS]; /* per task, of this step's queries, 0 .. 1; NaN: no episode of the task */
    double seconds;
    int replayed; /* number of the step's episodes that were replayed */
} mo_step_report;

typedef struct mo_trainer mo_trainer;
/* Makes a trainer, which holds the model and the pool: released, they are freed with it. The first step makes the
 * folder options->out, which must be empty or absent unless the run is resumed. */
MO_API mo_trainer *mo_trainer_create(mo_model *model, mo_pool *pool, const mo_trainer_options *options);
MO_API void mo_trainer_release(mo_trainer *trainer);
/* Continues from out/checkpoint.safetensors (weights, moments, step), whose settings must be equal to this run's,
 * except for what other_rate allows. */
MO_API mo_code mo_trainer_resume(mo_trainer *trainer);
/* Takes all remaining steps. Each draws episodes, adds up their gradients in their order, clips, updates by
 * AdamW and writes a log line. report (may be NULL) returns false to stop early, after which a checkpoint is written. A
 * step that fails numerically changes nothing and, on the CPU, writes a checkpoint of the state before it. */
MO_API mo_code mo_trainer_run(mo_trainer *trainer, bool (*report)(const mo_step_report *r, void *state), void *state);
/* Writes out/weights.safetensors with metadata: model, features, best hops. */
MO_API mo_code mo_trainer_finish(mo_trainer *trainer);
/* Returns a float32 model with the weights of a file (written by mo_trainer_finish, or a converted released file) or
 * with embedded weights ("best"); NULL on failure. */
MO_API mo_model *mo_model_open(mo_context *ctx, const char *path_or_name);

/* ---- few-shot: predicts the labels of a graph's examples from a few labelled ones ---- */

/* How the readout uses unlabelled examples. OFF: only through the features. ON: the readout is fitted again on its own
 * predictions for all examples, with classes assumed of equal size. AUTO: ON, unless it predicts held-out labels worse
 * than OFF by more than 0.02 nats of cross-entropy; OFF for over 100,000 examples or if their rows do not fit in
 * memory. NEVER: not at all, for a set of graphs and the weights' own readout, which then compares graphs by statistics
 * and vocabularies of the labelled ones: a prediction does not depend on other unlabelled graphs. */
typedef enum mo_transductive {
    MO_TRANSDUCTIVE_OFF,
    MO_TRANSDUCTIVE_ON,
    MO_TRANSDUCTIVE_AUTO,
    MO_TRANSDUCTIVE_NEVER
} mo_transductive;

/* Node attributes: on one scale (train/graphs/attribute_scale.c), or as they are. AUTO: as for the weights. */
typedef enum mo_attributes { MO_ATTRIBUTES_AUTO, MO_ATTRIBUTES_SCALED, MO_ATTRIBUTES_RAW } mo_attributes;
/* Your own expert, given by rows [nodes, w], float32 or float64. Its kernel is 1 + <x, y> for rows x and y scaled to
 * unit length (a zero row stays zero). Both fields are borrowed for the call. */
typedef struct mo_expert {
    const char *name; /* as listed by mo_few_shot_experts */
    mo_tensor *rows;
} mo_expert;

typedef struct mo_few_shot_options {
    const char *weights; /* as for mo_model_open; NULL: "best" */
    const mo_head *head; /* NULL: the readout that the weights were trained with */
    double lambda;       /* the head's parameter lambda (raises if the head has none); 0: the trained value */
    const char *cache;   /* folder of cached features, and of hop stacks for which memory is too small; NULL: none */
    mo_transductive transductive;
    mo_attributes attributes;
    mo_tensor *rows; /* NULL, or your own embeddings [examples, d], float32 or float64, which are copied: the head
                      * (NULL: ridge) reads them unchanged; weights, cache and transductive must not be set */
    int n_experts;   /* your own experts, added to the mixture of kernels of nodes */
    const struct mo_expert *experts;
    void (*notice)(const char *line, void *state); /* receives events of the cache and progress of files; may be NULL */
    void *notice_state;
} mo_few_shot_options;

/* Estimates from labelled examples left out of a fit, one of each class at a time; with 3 to 8 per class also two, to
 * extrapolate to a fit on all labels. The interval: Wilson's (1927) for held_out / 1.6 trials (few_shot_held_out.c). */
typedef struct mo_few_shot_estimate {
    int64_t classes, labelled, held_out; /* held_out: examples that were left out once */
    int64_t small_classes;               /* number of classes with one example, which cannot be left out */
    double accuracy, low, high;          /* mean over classes, and its 95% interval; NaN without held-out examples */
    double baseline; /* the accuracy of a ridge on features two hops away alone, estimated in the same way; NaN if the
                        readout does not mix kernels of nodes, or has centres (models/heads/mixture.c) */
    double temperature;      /* of the probabilities */
    double nll;              /* mean cross-entropy of the held-out labels, in nats; NaN without any */
    bool transductive;       /* whether the readout was fitted again on its predictions */
    double other, other_nll; /* accuracy and nll of the readout that AUTO did not choose; NaN without AUTO */
} mo_few_shot_estimate;

typedef struct mo_few_shot mo_few_shot;
/* Computes features and embeddings of a graph's nodes (MO_TASK_NC) or of the graphs of a set (MO_TASK_GC); the graph is
 * held, so that its release frees it with this object, and may be NULL if the options have rows (MO_TASK_NC). */
MO_API mo_few_shot *mo_few_shot_open(mo_graph *graph, mo_task task, const mo_few_shot_options *options);
MO_API void mo_few_shot_release(mo_few_shot *f);
/* Fits the readout on n examples with labels 0 .. classes - 1, each class present; a later call replaces the fit. */
MO_API mo_code mo_few_shot_fit(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n);
MO_API mo_few_shot_estimate mo_few_shot_expect(const mo_few_shot *f);
/* softmax(logits / temperature) of n examples: [n, classes], row-major. Equal bits at any thread count. */
MO_API mo_code mo_few_shot_probabilities(mo_few_shot *f, const int64_t *id, int64_t n, double *probabilities);
/* Chooses n examples to label next, most useful first, beside the n_known labelled ones: those that most reduce the
 * mean posterior variance of a ridge readout over all examples (V-optimal design, Fedorov 1972). Needs no fit. */
MO_API mo_code mo_few_shot_suggest(mo_few_shot *f, const int64_t *known, int64_t n_known, int64_t n, int64_t *id);
/* Scores n pairs of nodes (u[i], v[i]) that are not linked; the higher the score, the more likely a link is missing
 * there. A score is the logit of "link" minus that of "no link", by a readout fitted on at most 512 of the graph's own
 * links, which are held out, and on no more non-edges; apart from rounding, it does not depend on the other pairs. */
MO_API mo_code mo_few_shot_links(
    mo_graph *graph, const mo_few_shot_options *options, const int64_t *u, const int64_t *v, int64_t n, double *score);

#endif
