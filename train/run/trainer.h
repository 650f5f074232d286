/* train/run/trainer.h - the fields of a trainer, and its parts: settings, log, checkpoint (library internal). */
#ifndef MO_TRAINER_H
#define MO_TRAINER_H

#include "autograd/tape.h"
#include "train/episodes/pool.h"
#include "train/run/optimizer.h"

#include <jansson.h>

/* ---- replay.c: steps that a device captures once and replays ---- */

/* Returns NULL on failure. */
struct mo_replay *mo_replay_create(mo_trainer *trainer);
void mo_replay_release(struct mo_replay *replay);
/* Does mo_queue_work directly or, if the trainer captures its steps, by a capture. May reset the tape, which frees the
 * values of e; the trainer reads no value on the tape afterwards. */
void mo_run_or_replay(mo_trainer *trainer, int place, const mo_episode *e);

/* ---- hooks of a program that spreads the episodes of a step over several trainers (tools/ranks/) ---- */

typedef struct mo_trainer_hooks {
    /* The gradients of an episode, one tensor per parameter, are computed, in the order of the trainer's episodes. Then
     * NULL: those of all its episodes are, or one has failed. Returns, to NULL, the sum over all episodes of the step,
     * valid until the next step, with the records of all episodes filled. Not called for a step of one episode. */
    mo_tensor *const *(*sum)(mo_trainer *trainer, void *state, mo_tensor *const *gradient);
    /* Returns whether the run goes on; go_on: whether it does if this trainer alone decides. */
    bool (*go_on)(mo_trainer *trainer, void *state, bool go_on);
    void *state;
} mo_trainer_hooks;
/* From now on the trainer, which is new, computes the episodes first .. end - 1 of each step; without `files` it reads
 * and writes no file of the run. */
void mo_trainer_hook(mo_trainer *trainer, const mo_trainer_hooks *hooks, int first, int end, bool files);

/* ---- trainer ---- */

/* The bytes of the values of one tensor: parameter, gradient or moment. */
static inline size_t mo_gradient_bytes(const mo_tensor *X) {
    return (size_t)mo_numel(X) * mo_dtype_size(X->dtype);
}

/* The figures of one episode of a step. */
typedef struct mo_episode_record {
    double loss, wrong;
    int64_t asked, source; /* number of query rows; index in the pool */
} mo_episode_record;

enum { MO_MOST_EPISODES = 65535 }; /* of a step */

struct mo_trainer {
    mo_context *ctx;
    mo_model *model;
    mo_pool *pool;
    mo_trainer_options options; /* out and settings are owned copies */
    json_t *settings;           /* everything that decides the result; compared on resume */
    json_t *beside;             /* further members of run.json, which are not compared; NULL: none */
    mo_optimizer *optimizer;
    mo_tape *tape;
    mo_prefetch *episodes;
    int64_t step; /* steps taken */
    int n;        /* parameters */
    mo_tensor **parameter, **grad;
    mo_tensor **sum;           /* of the gradients of several episodes, in their order; NULL: a step is one episode */
    int first, end;            /* first .. end - 1: the episodes of a step that this trainer computes */
    mo_episode_record *record; /* [episodes] of a step */
    mo_tensor *figures;        /* float64 [episodes, 2]: loss, number of wrong query rows; read at the step's end */
    double *host_figures;
    mo_tensor *const *gradient; /* gradients of the step, until the next step; NULL under replay */
    mo_step_report report;      /* of the last step */
    bool running;               /* in mo_trainer_run, whose report cannot release the trainer or run it */
    bool started;
    bool resumed, restored;   /* restored: a resumed run continues from a checkpoint, not from step 0 */
    int log;                  /* file descriptor of log.jsonl; -1: not open */
    char *blas_core;          /* names of the CPU cores (BLAS) that computed the run: "Haswell,SkylakeX" */
    struct mo_replay *replay; /* NULL: steps are not captured */
    mo_trainer_hooks hooks;
    bool hooked, without_files; /* without_files: reads and writes no file of the run */
};

/* The source of episode j of a step. */
static inline const mo_source *mo_episode_source(const mo_trainer *trainer, int j) {
    return trainer->pool->source + trainer->record[j].source;
}

/* Begins the run's files, once, before the first step. */
mo_code mo_trainer_start(mo_trainer *trainer);
/* Returns whether the run goes on: nothing has failed, `go_on`, and the hook agrees. */
bool mo_trainer_agree(mo_trainer *trainer, bool go_on);
/* Takes one step of a run that has been started and writes trainer->report, but neither counts it nor writes files; a
 * step that fails changes nothing, and the error names it. Returns whether it was taken. */
bool mo_take_step(mo_trainer *trainer);
/* Queues the work of the episode at `place` in a step or, if e is NULL, of the step's end. The work depends only on
 * `place` and on the episode's shape: it reads no values, and everything that changes from step to step lies on the
 * device. */
void mo_queue_work(mo_trainer *trainer, int place, const mo_episode *e);
/* Waits for the figures of this trainer's episodes. */
void mo_read_figures(mo_trainer *trainer);

#define MO_HOP_LAMBDA 3 /* lambda of the ridge on unit rows of one hop; chosen on the training pool */

/* ---- run_files.c ---- */

/* Begin or resume the files of a run, log a step, write the weights, and close the log. */
void mo_files_start(mo_trainer *trainer);
void mo_files_log(mo_trainer *trainer);
void mo_files_finish(mo_trainer *trainer);
void mo_files_close(mo_trainer *trainer);
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
/* Finds the first setting in which two runs differ; other_rate: lr and lr_min may differ. False: there is none. */
typedef struct mo_difference {
    char path[256]; /* "trainer.adamw.lr" */
    const json_t *kept, *now;
    bool other_rate;
} mo_difference;
bool mo_settings_differ(mo_difference *d, const json_t *kept, const json_t *now);
/* A setting as text; NULL: it is missing, or memory is. */
char *mo_setting_text(const json_t *value);
/* Raises MO_INVALID naming the first setting in which a run differs from what the file `label` kept. */
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
