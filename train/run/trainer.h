/* train/run/trainer.h - what a trainer holds, and its parts: settings, log, checkpoint (library internal). */
#ifndef MO_TRAINER_H
#define MO_TRAINER_H

#include "train/episodes/pool.h"
#include "train/episodes/prefetch.h"
#include "train/run/optimizer.h"
#include "train/run/replay.h"
#include "train/run/shared.h"

#include <jansson.h>

/* Writes digests.jsonl (run_digest.c). */
typedef struct mo_run_digest mo_run_digest;

/* Of the solves of a step: run_solves.c. */
typedef struct mo_solve_figures {
    int64_t matrices;
    double rcond, residual; /* the smallest, the largest */
} mo_solve_figures;

struct mo_trainer {
    mo_context *ctx;
    mo_model model;
    mo_pool *pool;
    mo_trainer_options options; /* out and settings are owned copies */
    json_t *settings;           /* everything that decides the result; compared on resume */
    mo_optimizer *optimizer;
    mo_tape *tape;
    mo_prefetch *episodes;
    mo_replay *replay; /* NULL: options.replay is false */
    int64_t step;      /* steps taken */
    int n;             /* parameters */
    mo_tensor **parameter, **grad;
    /* Gradients of several episodes per step, added pairwise like a binary counter: level i holds the sum of 2^i
     * consecutive episodes. */
    int levels;
    mo_tensor **level[MO_TREE_LEVELS]; /* owned */
    mo_tensor **sum[MO_TREE_LEVELS];   /* the tensors of level, exchanged within a step */
    const mo_source **source;          /* of the episodes of a step, as is task */
    mo_task *task;                     /* of the episodes of a step */
    mo_tensor *figures; /* float64 [episodes, 2] of a step: loss, query rows that are wrong; read at its end */
    double *host_figures;
    mo_solve_figures solves; /* of the step so far, if options.solves */
    bool resumed, restored;  /* restored: from a checkpoint, not from the beginning */
    bool started;            /* its files are written */
    int log;                 /* file descriptor of log.jsonl, -1 before the first step */
    mo_run_digest *digest;   /* NULL before the first step, and where options.digest is false */
    mo_shared *shared;       /* NULL: this process takes all episodes */
    char *blas_core;         /* cores the run was computed with, in order: "SkylakeX", "Haswell,SkylakeX" */
};

#define MO_HOP_LAMBDA 3 /* of the ridge on unit rows of one hop; chosen on the training pool */

/* Before the first step: run.json is written, the folder of a new run gets its first checkpoint, the log is opened. */
mo_code mo_trainer_start(mo_trainer *trainer);

/* ---- run_folder.c ---- */

#define MO_CHECKPOINT "checkpoint.safetensors"
#define MO_PREVIOUS_CHECKPOINT "checkpoint.previous.safetensors"
/* Whether the folder holds a run whose first save was cut short: run.json, and no file that is written after it. */
bool mo_run_is_begun(const char *folder);
/* Removes temporary files that a killed process left in the folder. */
void mo_run_tidy(const char *folder);

/* ---- settings.c ---- */

/* Model, features, pool, trainer and the caller's settings as one object. NULL on failure. */
json_t *mo_run_settings(mo_context *ctx, mo_model model, const mo_pool *pool, const mo_trainer_options *options);
/* Raises MO_INVALID naming the first setting in which two runs differ; rates count unless other_rate. */
mo_code mo_compare_settings(mo_context *ctx, const char *label, const json_t *kept, const json_t *now, bool other_rate);
/* Raises MO_INVALID naming the first setting in which this process differs from rank 0. */
mo_code mo_compare_with_first(mo_context *ctx, const char *command, const json_t *first, const json_t *now);
/* "SkylakeX", or "unknown" where the BLAS does not tell. */
const char *mo_blas_core(void);
/* Writes run.json. */
mo_code mo_write_run(const mo_trainer *trainer);
/* Compares the settings of the trainer with those in run.json, as mo_compare_settings does. */
mo_code mo_compare_run(const mo_trainer *trainer);

/* ---- run_log.c ---- */

/* Opens the log for appending and locks it against other processes that would continue the run; raises where one has
 * the lock. Where the file system has no locks, a notice says so. Returns -1 on failure, and where there is no log and
 * `make` is false. */
int mo_log_open(mo_context *ctx, const char *path, bool make, mo_notice notice, void *state);
/* Cuts it back to its first `steps` lines, which must be there. */
mo_code mo_log_cut(mo_context *ctx, int log, const char *path, int64_t steps);
/* One line a step, written at once. */
mo_code mo_log_step(const mo_trainer *trainer, const mo_step_report *r);
/* Writes text to the file `name` of the run and a line feed, for which it takes the place of the closing zero. */
mo_code mo_log_write(const mo_trainer *trainer, int file, const char *name, int64_t step, char *text);

/* ---- run_solves.c ---- */

/* Notes the solves that the tape has recorded, before backward consumes them. */
void mo_note_solves(mo_trainer *trainer);

/* ---- run_digest.c ---- */

#define MO_DIGESTS "digests.jsonl"
/* Opens the file for the steps from `step` on; lines of earlier steps are kept. NULL on failure. */
mo_run_digest *mo_run_digest_open(mo_context *ctx, const char *path, int64_t step);
void mo_run_digest_release(mo_run_digest *d);
/* Notes the tensors of episode j of a step; nothing without d. */
void mo_run_digest_episode(mo_run_digest *d, int j, const mo_source *source, const mo_episode *e);
/* Notes losses, gradients and the new parameters, and writes the line of the step; nothing without d. */
mo_code mo_run_digest_step(mo_run_digest *d, const mo_trainer *trainer, mo_tensor *const *gradient);

/* ---- checkpoint.c ---- */

/* The tensors of part 0 .. 2 of a checkpoint, one per parameter: weights, first moments, second moments. */
mo_tensor *const *mo_trainer_state(const mo_trainer *trainer, int part);
/* Restores weights, moments and step from out/checkpoint.safetensors; nothing is changed on failure. */
mo_code mo_checkpoint_read(mo_trainer *trainer);
/* out/name into a buffer of MO_PATH bytes. Returns it. */
enum { MO_PATH = 4096 };
const char *mo_run_path(const mo_trainer *trainer, const char *name, char *path);

/* ---- weights.c, weights_write.c ---- */

#define MO_WEIGHTS_FORMAT "mochi weights"
#define MO_KIND_MOCHI "mochi"
#define MO_KIND_INVARIANT "invariant"

/* The largest d that a weights file may claim where none of its tensors has an axis of that size. */
enum { MO_LARGEST_UNPROVEN_DIM = 2048 };

/* What a weights file says beside its parameters. */
typedef struct mo_weights_about {
    const mo_feature_options *features;
    const int *best_hop; /* [MO_TASKS] */
    double hop_lambda;
    const char *recipe;  /* or NULL */
    const mo_pool *pool; /* what the weights were trained on; NULL: unknown */
} mo_weights_about;
mo_code mo_weights_write(mo_context *ctx, mo_model model, const mo_weights_about *about, const char *path);

#endif
