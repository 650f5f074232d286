/* models/model.h - making models, and functions shared by encoders and readouts (library internal). */
#ifndef MO_MODEL_H
#define MO_MODEL_H

#include "models/inside.h"

/* ---- model.c ---- */

/* Makes a model of an encoder, without a readout yet, and takes over the encoder's state, even on failure. Returns NULL
 * if out of memory or after an error in the context. Other failures are set in the context, and mo_model_made then
 * returns NULL. */
mo_model *mo_model_make(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows, uint64_t seed);
/* Gives the model a head of kernels, which reads those of the episode and takes no temperature. */
void mo_model_put_kernels(mo_model *m, const mo_head *head, double smoothing);
/* Replaces the readout by a head. one_head: all tasks share one head of one width; else one head per task. Failures are
 * set in the context. */
void mo_model_put_head(mo_model *m, const mo_readout_options *options, bool one_head, uint64_t seed);
/* Returns the model; after a failure releases it and returns NULL. */
mo_model *mo_model_made(mo_model *m);

/* Checks that model and episode are given and valid. */
bool mo_model_given(mo_tape *t, const mo_model *m, const mo_episode *e);

/* ---- episode.c ---- */

/* Selects support Zs and queries Zq among an episode's embeddings Z. Rows of examples [.., n, d] are in order; rows of
 * nodes and graphs [N, d] are selected by number, and a link is the product of its two ends. */
void mo_episode_examples(
    mo_tape *t, const mo_episode *e, mo_tensor *Z, bool of_examples, mo_tensor **Zs, mo_tensor **Zq);
/* The support of an episode of the library, whose classes all have a support row and whose rows are no padding: no
 * value is read on the host for that. Copies of a row reach a head that leaves rows out as one row with a weight; for
 * another they are rows like any. */
mo_support mo_episode_support(mo_tape *t, const mo_episode *e, const mo_head *head, mo_tensor *Zs);
/* Returns the entry's tensor, or NULL if there is none. */
mo_tensor *mo_episode_find(const mo_episode *e, const char *name);

#endif
