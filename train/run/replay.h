/* train/run/replay.h - episodes whose work is captured on the device and replayed when an episode of the same shape
 * comes (library internal). */
#ifndef MO_REPLAY_H
#define MO_REPLAY_H

#include "train/inside.h"

typedef struct mo_replay mo_replay;

/* The work of one episode of a step. It depends on the episode's shape and its place in the step alone: it reads no
 * value, and all that changes from step to step lies on the device. e: NULL for work that reads no episode. */
typedef void (*mo_replay_work)(void *state, int place, const mo_episode *e);

/* episodes: episodes per step. Returns NULL on failure: MO_UNSUPPORTED if the device cannot capture. */
mo_replay *mo_replay_create(mo_context *ctx, int64_t episodes);
void mo_replay_release(mo_replay *r);
/* Does the work at a place of a step: by replay if that shape has been captured at that place, else directly. The work
 * must leave no value on the tape that is read later; e may lie on the tape, which is reset. Returns whether it was
 * replayed. */
bool mo_replay_do(
    mo_replay *r, mo_tape *t, int64_t step, int place, const mo_episode *e, mo_replay_work work, void *state);

#endif
