/* models/model.h - making models, and functions that encoders and readouts share (library internal). */
#ifndef MO_MODEL_H
#define MO_MODEL_H

#include "models/inside.h"

/* ---- model.c ---- */

/* Makes a model of an encoder, without a readout yet; takes over the encoder's state, even on failure. Returns NULL if
 * out of memory; other failures are in the context, and mo_model_made returns NULL for them. */
mo_model *mo_model_make(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows, uint64_t seed);
/* Gives the model a readout, which is borrowed. */
void mo_model_own_readout(mo_model *m, const mo_own_readout *readout, double smoothing);
/* Replaces the readout by a head; one_head: a single one of one width for all tasks, instead of one per task. Failures
 * are in the context. */
void mo_model_put_head(mo_model *m, const mo_readout_options *options, bool one_head, uint64_t seed);
/* The model, or NULL after a failure. */
mo_model *mo_model_made(mo_model *m);

/* ---- encoder.c ---- */

/* The embeddings of an episode by an encoder of rows, at once or in blocks, and the means of its graphs. */
mo_tensor *mo_encode_rows(mo_tape *t, const mo_model *m, const mo_episode *e);

/* ---- episode.c ---- */

/* Selects the examples among an episode's embeddings Z: rows of examples lie in order, [.., n, d]; rows of nodes and
 * graphs [N, d] are selected by number, and a link is the product of its ends. */
void mo_episode_examples(
    mo_tape *t, const mo_episode *e, mo_tensor *Z, bool of_examples, mo_tensor **Zs, mo_tensor **Zq);
/* Logits of the queries Zq by a head fitted on the support's embeddings Zs, with its labels and weights. */
mo_tensor *mo_episode_readout(
    mo_tape *t, const mo_episode *e, const mo_head *head, mo_tensor *Zs, mo_tensor *Zq, mo_tensor *const *parameters);
/* The entry of that name, not gathered; its tensor is null, with an error, if there is no such entry. */
mo_named mo_episode_named(mo_tape *t, const mo_episode *e, const char *name);
/* X; or its rows at index, if index is not NULL. */
mo_tensor *mo_gather_indexed(mo_tape *t, mo_tensor *X, mo_tensor *index);

/* ---- head.c ---- */

/* mo_head_apply, with weights of the rows as in mo_head_weighted, of any dtype; NULL: no row is a copy. */
mo_tensor *mo_head_apply_weighted(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters);

/* ---- row_blocks.c ---- */

/* Encodes rows first .. last-1 by mo_recompute, so that backward encodes them again. */
typedef mo_tensor *(*mo_block_of_rows)(mo_tape *t, int64_t first, int64_t last, const void *state);
/* How the blocks' results become one: side by side along an axis of at least 0, or added. */
enum { MO_ADD_BLOCKS = -1 };
/* Whether n rows are encoded in blocks; raises if max_rows is below 0. */
bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows);
/* Rows 0 .. n-1 in blocks of max_rows >= 1. The order of all sums, forward and backward, depends on n and max_rows
 * alone. */
mo_tensor *mo_encode_blocks(
    mo_tape *t, int64_t n, int64_t max_rows, int join, mo_block_of_rows encode, const void *state);

#endif
