/* train/run/shared.h - what a trainer holds that shares the steps of a run with other processes (library internal). */
#ifndef MO_RUN_SHARED_H
#define MO_RUN_SHARED_H

#include "train/run/sum_tree.h"

/* What the other ranks need to know of an episode. */
typedef struct mo_episode_record {
    double loss, wrong;
    int64_t asked, source; /* query rows; index in the pool */
} mo_episode_record;

typedef struct mo_shared {
    mo_context *ctx;
    mo_ranks ranks;
    int episodes;      /* of a step */
    int first, end;    /* the episodes of a step that this rank takes */
    mo_sum_tree *tree; /* of the gradients of this rank's episodes */
    char *message;     /* `bytes` of host memory for the sums of a device; NULL on a CPU */
    size_t bytes;
    mo_episode_record *record; /* [episodes] */
    bool on_devices;           /* the devices add up the gradients, not messages */
    bool started;
    bool parted; /* what ranks.parted points to where the caller has none */
} mo_shared;

/* ---- shared.c ---- */

void mo_shared_release(mo_trainer *trainer);
/* Whether this process is the one that reads and writes the files of the run. */
bool mo_trainer_leads(const mo_trainer *trainer);
/* Whether no rank has failed and all want to go on; for one process, its own answer. */
bool mo_trainer_agree(mo_trainer *trainer, bool go_on);
/* The step, weights and moments of rank 0, on every rank, once its files are written. */
void mo_shared_start(mo_trainer *trainer);
/* Begins a step. */
void mo_shared_begin(mo_trainer *trainer);
/* The gradients of episode j of a step with this loss, added to those of this rank's other episodes. */
void mo_shared_gradients(mo_trainer *trainer, int j, mo_tensor *loss);
/* Exchanges figures and gradients of the episodes, and takes the step. */
void mo_shared_update(mo_trainer *trainer);

/* ---- device_sums.c ---- */

/* Decides whether the devices of the ranks add up the gradients, the same on every rank, and joins them. */
void mo_device_sums_open(mo_trainer *trainer);
void mo_device_sums_close(mo_trainer *trainer);
/* The sums of all episodes, one per parameter, on every rank; NULL, and nothing left queued, where a rank has failed.
 */
mo_tensor *const *mo_device_sums_add(mo_trainer *trainer);

#endif
