/* train/replay.h - episodes whose work is captured on the device and replayed when an episode of the same shape comes
 * (library internal). */
#ifndef MO_REPLAY_H
#define MO_REPLAY_H

#include "train/train.h"

typedef struct mo_replay mo_replay;

/* The work of a step's episode, which depends on its shape and place alone: it reads no value, and what changes from
 * step to step lies on the device. e: NULL for work that reads none. */
typedef void (*mo_replay_work)(void *state, int place, const mo_episode *e);

/* Of steps of so many episodes. NULL on failure: MO_UNSUPPORTED where the device captures nothing. */
mo_replay *mo_replay_create(mo_context *ctx, int64_t episodes);
void mo_replay_release(mo_replay *r);
/* Does the work, which leaves nothing on the tape that is read later, at a place of a step: by replay where that shape
 * has been captured there, else as it is. e may lie on the tape, which is reset. Returns whether it was replayed. */
bool mo_replay_do(
    mo_replay *r, mo_tape *t, int64_t step, int place, const mo_episode *e, mo_replay_work work, void *state);

#endif
