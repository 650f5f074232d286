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

/* ---- encoder.c ---- */

/* Returns the embeddings of an episode's rows, or their means over graphs if e->segment is set. */
mo_tensor *mo_encode_rows(mo_tape *t, const mo_model *m, const mo_episode *e);

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
/* Returns the entry of that name as the episode holds it, without its index applied (mo_gather_indexed). If there is
 * none, raises an error and returns an entry with a null tensor. */
mo_named mo_episode_named(mo_tape *t, const mo_episode *e, const char *name);
/* Returns the rows of X at `index`, or X if index is NULL. */
mo_tensor *mo_gather_indexed(mo_tape *t, mo_tensor *X, mo_tensor *index);

/* ---- blocks of rows (encoder.c) ---- */

enum { MO_MAX_SLICED = 10 };

/* One tensor that an encoder reads; its rows lie along `axis` (-1: it belongs to all rows), or are gathered by `index`
 * (mo_named). */
typedef struct mo_sliced {
    mo_tensor *tensor, *index; /* tensor NULL: the episode lacks it; index NULL: none */
    int axis;
} mo_sliced;

/* Rows first .. last-1 of the `all` rows of an episode, as an encoder reads them. */
typedef struct mo_block {
    const mo_encoder *encoder;
    mo_task task;
    int64_t first, last, all;
    mo_random *r;                               /* dropout's position at the episode's first row; NULL: no dropout */
    mo_tensor *const *rows, *const *parameters; /* rows [MO_MAX_SLICED]: NULL where the episode lacks them */
} mo_block;
typedef mo_tensor *(*mo_encode_block)(mo_tape *t, const mo_block *b);

/* The member `join` below: the axis along which the blocks are concatenated, or MO_ADD_BLOCKS for their sum. */
enum { MO_ADD_BLOCKS = -1 };
typedef struct mo_blocks {
    mo_block all; /* first 0, last = all; rows and parameters are not read */
    mo_sliced rows[MO_MAX_SLICED];
    int n_parameters;
    mo_tensor *const *parameters;
    int64_t max_rows; /* of a block; 0: all rows at once */
    int join;
    mo_encode_block encode;
} mo_blocks;
/* Returns whether n rows are encoded in blocks; raises if max_rows is below 0. */
bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows);
/* Encodes all rows at once or, if max_rows is smaller, block by block by mo_recompute, so that backward encodes them
 * again. The order of all sums, forward and backward, depends on the numbers of rows alone. */
mo_tensor *mo_encode_blocks(mo_tape *t, const mo_blocks *b);

#endif
