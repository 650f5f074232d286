/* train/run/trainer.h - the fields of a trainer, and its parts: settings, log, checkpoint (library internal). */
#ifndef MO_TRAINER_H
#define MO_TRAINER_H

#include "autograd/tape.h"
#include "train/episodes/pool.h"
#include "train/run/optimizer.h"

#include <jansson.h>

/* ---- watchers: hooks that follow the steps of a run, each watcher in a file of its own ---- */

typedef enum mo_moment {
    MO_STARTS,   /* before the first step */
    MO_SUMMED,   /* this process has added up the gradients of its episodes, or has failed */
    MO_TAKEN,    /* the step's report is made */
    MO_AGREES,   /* watchers decide whether to go on: trainer->go_on */
    MO_SAVES,    /* a checkpoint is due */
    MO_FINISHES, /* the weights are wanted */
    MO_RELEASED,
    MO_MOMENTS
} mo_moment;

/* A hook finds the moment's data in the trainer: place and episode, report, gradient. */
typedef void (*mo_hook)(mo_trainer *trainer, void *state);
/* Queues the work of the episode at `place` in a step or, if e is NULL, of the step's end. The work depends only on
 * `place` and on the episode's shape: it reads no values, and everything that changes from step to step lies on the
 * device. */
typedef void (*mo_step_work)(mo_trainer *trainer, int place, const mo_episode *e);

typedef struct mo_watcher {
    mo_hook on[MO_MOMENTS]; /* NULL: does nothing at that moment */
    /* Performs `work` in the trainer's stead; NULL: the trainer performs it. May reset the tape, which frees the values
     * of e; the trainer reads no value on the tape afterwards. Returns whether the work was replayed from a capture. */
    bool (*perform)(mo_trainer *trainer, void *state, int place, const mo_episode *e, mo_step_work work);
} mo_watcher;

/* Watchers, in the order in which they are called. */
extern const mo_watcher mo_run_files; /* run_files.c: run.json, log, checkpoints, weights; without state */
/* Adds the watcher that captures and replays steps (replay.c); on failure raises and adds nothing. */
void mo_watch_replay(mo_trainer *trainer);

/* mo_watch adds a watcher, with its state, behind the others (at most MO_WATCHERS in all); mo_unwatch removes a watcher
 * without calling a hook; mo_tell calls every watcher's hook for a moment. */
void mo_watch(mo_trainer *trainer, const mo_watcher *watcher, void *state);
void mo_unwatch(mo_trainer *trainer, const mo_watcher *watcher);
void mo_tell(mo_trainer *trainer, mo_moment moment);

/* ---- ranks.c: messages between the processes of one run, on mo_ranks (train/inside.h) ---- */

/* The first episode of a rank: of the E episodes of a step, rank r has first(r) .. first(r + 1) - 1. */
int mo_ranks_first(int E, int size, int rank);
/* Returns the end such that, before round `bit` (1, 2, 4 ..: ranks.c), `rank` has the messages of ranks rank .. end -
 * 1. */
int mo_ranks_end(const mo_ranks *ranks, int rank, int bit);
/* settings.c: compares the ranks' programs, BLAS kernels and settings with those of rank 0; if they differ, raises on
 * every rank, naming the member. mine: this rank's settings as a JSON object (borrowed; NULL: it has failed). Returns
 * whether all are equal and no rank has failed. */
bool mo_ranks_compare(mo_context *ctx, const mo_ranks *ranks, const char *mine);
/* Copies rank 0's bytes to every rank. */
void mo_ranks_broadcast(const mo_ranks *ranks, void *data, size_t bytes);

/* ---- sum_tree.c: the gradients of a step as nodes of a fixed binary tree over its episodes ----
 *
 * Node (level, index) is the sum over the 2^level episodes from index * 2^level on. Episodes first .. end - 1 are a row
 * of such nodes, each as large as fits; tree.node[k] holds node k of the row. */

enum { MO_TREE_LEVELS = 16, MO_TREE_NODES = 2 * MO_TREE_LEVELS + 2 };

typedef struct mo_tree_node {
    mo_tensor *whole; /* owned by the tree, like sum; NULL before its first use */
    mo_tensor **sum;  /* the parts of `whole`, one per tensor */
} mo_tree_node;

typedef struct mo_sum_tree {
    mo_context *ctx;
    mo_tensor *const *like; /* n tensors that give the shapes of a sum's tensors */
    int n;
    mo_tree_node node[MO_TREE_NODES];
    mo_tree_node spare; /* memory for a sum that this process does not compute */
} mo_sum_tree;

/* The bytes of the values of one tensor: parameter, gradient or moment. */
static inline size_t mo_gradient_bytes(const mo_tensor *X) {
    return (size_t)mo_numel(X) * mo_dtype_size(X->dtype);
}

/* Borrows `like`. Returns NULL on failure. */
mo_sum_tree *mo_sum_tree_create(mo_context *ctx, mo_tensor *const *like, int n);
void mo_sum_tree_release(mo_sum_tree *tree);
/* Appends the n tensors X, the sum over the 2^level episodes from `at` on, to the nodes of episodes first .. at - 1,
 * and merges equal neighbours. Reads no value and keeps no count, so that it can be captured. If X is tree->spare.sum,
 * memory is swapped instead of copied. */
void mo_sum_tree_push(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t at, int level, mo_tensor *const *X);
/* The sum over the pushed episodes first .. end - 1; NULL if there are none. Valid until the next push. */
mo_tensor *const *mo_sum_tree_join(mo_sum_tree *tree, mo_tape *t, int64_t first, int64_t end);

/* Allocates the spare node, for sums of other ranks. Returns false if there is no memory. */
bool mo_sum_tree_reserve(mo_sum_tree *tree);
/* Returns, on every rank, the sum over the `episodes` of a step, valid until the next push, after each rank has pushed
 * its own episodes. A failed rank calls this too and sends arbitrary numbers; all ranks learn of its failure when they
 * agree. message: mo_sum_tree_bytes bytes of host memory for a device's sums, NULL on a CPU. */
mo_tensor *const *mo_sum_tree_share(
    mo_sum_tree *tree, mo_tape *t, const mo_ranks *ranks, int64_t episodes, char *message);
/* The bytes of a node's memory for n tensors with the shapes of `like`: float32, with zeros between the parts. */
size_t mo_sum_tree_bytes(mo_tensor *const *like, int n);

/* ---- trainer ---- */

/* The figures of one episode of a step. */
typedef struct mo_episode_record {
    double loss, wrong;
    int64_t asked, source; /* number of query rows; index in the pool */
} mo_episode_record;

enum { MO_WATCHERS = 5 };

struct mo_trainer {
    mo_context *ctx;
    mo_model *model;
    mo_pool *pool;
    mo_trainer_options options; /* out and settings are owned copies */
    json_t *settings;           /* everything that decides the result; compared on resume */
    json_t *processes;          /* member of run.json that lists several processes; NULL: one */
    mo_optimizer *optimizer;
    mo_tape *tape;
    mo_prefetch *episodes;
    int64_t step; /* steps taken */
    int n;        /* parameters */
    mo_tensor **parameter, **grad;
    mo_sum_tree *tree;         /* adds up the gradients; NULL: a step is one episode */
    int first, end;            /* first .. end - 1: this process's episodes of a step */
    int place;                 /* index of the current episode in its step */
    mo_episode_record *record; /* [episodes] of a step */
    mo_tensor *figures;        /* float64 [episodes, 2]: loss, number of wrong query rows; read at the step's end */
    double *host_figures;
    mo_tensor *const *gradient; /* gradients of the step, until the next step; NULL under replay */
    mo_step_report report;      /* of the last step */
    bool running;               /* in mo_trainer_run, whose report cannot release the trainer or run it */
    bool go_on;                 /* the answer of the watchers' hooks for MO_AGREES */
    bool started;
    bool resumed, restored; /* restored: a resumed run continues from a checkpoint, not from step 0 */
    int log;                /* file descriptor of log.jsonl; -1: not open */
    char *blas_core;        /* names of the CPU cores (BLAS) that computed the run: "Haswell,SkylakeX" */
    int n_watchers;
    struct {
        const mo_watcher *hooks;
        void *state;
    } watcher[MO_WATCHERS];
};

/* The source of episode j of a step. */
static inline const mo_source *mo_episode_source(const mo_trainer *trainer, int j) {
    return trainer->pool->source + trainer->record[j].source;
}

/* Calls the hooks for MO_STARTS, once, before the first step. */
mo_code mo_trainer_start(mo_trainer *trainer);
/* Returns whether no process of the run has failed and all want to go on. */
bool mo_trainer_agree(mo_trainer *trainer, bool go_on);
/* Waits for the figures of this process's episodes. */
void mo_read_figures(mo_trainer *trainer);

#define MO_HOP_LAMBDA 3 /* lambda of the ridge on unit rows of one hop; chosen on the training pool */

/* ---- run_files.c ---- */

#define MO_CHECKPOINT "checkpoint.safetensors"
#define MO_PREVIOUS_CHECKPOINT "checkpoint.previous.safetensors"
/* Returns whether the folder holds run.json and no later file of a run, as when a run's first save was cut short. */
bool mo_run_is_begun(const char *folder);

/* ---- a JSON object that is built from parts, whole or not at all ---- */

/* A jansson object, and whether memory sufficed for all of its members so far. */
typedef struct mo_description {
    json_t *object;
    bool whole;
} mo_description;

/* A description that starts from `object` (NULL: out of memory), which it takes over. */
static inline mo_description mo_description_of(json_t *object) {
    return (mo_description){object, object};
}
/* Adds value, which it takes over, as member `key` or (key NULL) as a list's next element. value NULL: out of
 * memory. */
static inline void mo_describe(mo_description *d, const char *key, json_t *value) {
    d->whole &= !(key ? json_object_set_new(d->object, key, value) : json_array_append_new(d->object, value));
}
/* Returns the object, owned by the caller. If a member is missing, frees the object and returns NULL. */
static inline json_t *mo_description_end(const mo_description *d) {
    if (d->whole)
        return d->object;
    json_decref(d->object);
    return NULL;
}

/* ---- settings.c ---- */

/* Model, features, pool, trainer and the caller's settings as one object. NULL on failure. */
json_t *mo_run_settings(mo_context *ctx, mo_model *model, const mo_pool *pool, const mo_trainer_options *options);
/* Raises MO_INVALID naming the first setting in which two runs differ; other_rate: lr and lr_min may differ. */
mo_code mo_compare_settings(mo_context *ctx, const char *label, const json_t *kept, const json_t *now, bool other_rate);
/* The hash of a graph's content as digits; a graph's name can differ between machines. */
const char *mo_hash_digits(const mo_graph *graph, char digits[40]);
/* "SkylakeX", or "unknown" if the BLAS does not report it. */
const char *mo_blas_core(void);
/* Writes run.json. */
mo_code mo_write_run(const mo_trainer *trainer);
/* The settings in a run.json; NULL on failure. */
json_t *mo_read_run(mo_context *ctx, const char *path);

/* ---- checkpoint.c ---- */

/* The tensors of part 0 .. 2 of a checkpoint, one per parameter: weights, first moments, second moments. */
mo_tensor *const *mo_trainer_state(const mo_trainer *trainer, int part);
/* Writes out/checkpoint.safetensors. */
void mo_checkpoint_write(mo_trainer *trainer);
/* Restores weights, moments and step from out/checkpoint.safetensors; nothing is changed on failure. */
mo_code mo_checkpoint_read(mo_trainer *trainer);
/* Writes out/name to path, which has MO_PATH bytes. Returns path. */
enum { MO_PATH = 4096 };
const char *mo_run_path(const mo_trainer *trainer, const char *name, char *path);

/* ---- weights.c ---- */

#define MO_WEIGHTS_FORMAT "mochi weights"
#define MO_KIND_MOCHI "mochi"
#define MO_KIND_INVARIANT "invariant"

/* The largest d that a weights file may claim if none of its tensors has an axis of size d. */
enum { MO_LARGEST_UNPROVEN_DIM = 2048 };

/* The contents of a weights file beside its parameters. */
typedef struct mo_weights_about {
    const mo_feature_options *features;
    const int *best_hop; /* [MO_TASKS] */
    double hop_lambda;
    const char *recipe;  /* or NULL */
    const mo_pool *pool; /* what the weights were trained on; NULL: unknown */
} mo_weights_about;
mo_code mo_weights_write(mo_context *ctx, mo_model *model, const mo_weights_about *about, const char *path);

#endif
