/* models/row_blocks.c - encoding in blocks of rows: memory holds one block and the results, however large the
 * episode. */
#include "models/model.h"

#include <inttypes.h>

typedef struct blocks {
    int64_t max_rows;
    int join;
    mo_block_of_rows encode;
    const void *state;
} blocks;

bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows) {
    if (mo_ok(ctx) && max_rows < 0)
        mo_fail(ctx, MO_INVALID, "encode: max_rows is %" PRId64 ", expected 0 (all) or more", max_rows);
    return mo_ok(ctx) && max_rows > 0 && n > max_rows;
}

static mo_tensor *join(mo_tape *t, const blocks *b, mo_tensor *const *part, int n) {
    if (b->join != MO_ADD_BLOCKS)
        return mo_concat(t, part, n, MO_AXIS(b->join));
    mo_tensor *sum = part[0];
    for (int i = 1; i < n; i++)
        sum = mo_add(t, sum, part[i]);
    return sum;
}

/* Encodes rows first .. last-1 as a tree whose leaves are blocks, since one op joins at most MO_MAX_INPUTS tensors. */
static mo_tensor *row_blocks_encode_rows(mo_tape *t, const blocks *b, int64_t first, int64_t last) {
    mo_tensor *part[MO_MAX_INPUTS];
    int64_t rows = b->max_rows;
    int n = 0;
    if (last - first <= rows)
        return b->encode(t, first, last, b->state);
    while ((last - first - 1) / rows >= MO_MAX_INPUTS)
        rows *= MO_MAX_INPUTS;
    for (int64_t at = first; at < last && mo_ok(mo_tape_context(t)); at += rows)
        part[n++] = row_blocks_encode_rows(t, b, at, last - at < rows ? last : at + rows);
    return n ? join(t, b, part, n) : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_encode_blocks(
    mo_tape *t, int64_t n, int64_t max_rows, int join, mo_block_of_rows encode, const void *state) {
    return row_blocks_encode_rows(t, &(blocks){max_rows, join, encode, state}, 0, n);
}
