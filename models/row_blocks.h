/* models/row_blocks.h - the rows of an episode, and encoding them in blocks (library internal). */
#ifndef MO_ROW_BLOCKS_H
#define MO_ROW_BLOCKS_H

#include "models/inside.h"

/* ---- episode.c ---- */

/* The entry of that name, as it is; its tensor is null, with an error, where there is none. */
mo_named mo_episode_named(mo_tape *t, const mo_episode *e, const char *name);
/* X, or where there is an index those of its rows. */
mo_tensor *mo_gather_indexed(mo_tape *t, mo_tensor *X, mo_tensor *index);

/* ---- row_blocks.c ---- */

/* What an encoder makes of rows first .. last-1: by mo_recompute, so that backward makes it once more. */
typedef mo_tensor *(*mo_block_of_rows)(mo_tape *t, int64_t first, int64_t last, const void *state);

/* How the blocks' results become one: side by side along an axis of at least 0, or added. */
enum { MO_ADD_BLOCKS = -1 };

/* Whether n rows are encoded in blocks; raises where max_rows is below 0. */
bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows);
/* Rows 0 .. n-1 in blocks of max_rows >= 1. The order of all sums, forward and backward, follows from n and max_rows.
 */
mo_tensor *mo_encode_blocks(
    mo_tape *t, int64_t n, int64_t max_rows, int join, mo_block_of_rows encode, const void *state);

#endif
