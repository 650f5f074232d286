/* train/features/row_stack.h - listed rows of features, wherever they lie: in memory, in a mapped file, or in the
 * memory of another context (library internal). */
#ifndef MO_ROW_STACK_H
#define MO_ROW_STACK_H

#include "tensor/backend.h"
#include "train/inside.h"

/* An array [outer, rows] of rows of `width` bytes, contiguous; borrowed from its tensor. */
typedef struct mo_row_stack {
    int64_t outer, rows;
    size_t width; /* bytes of a row */
    const char *data;
    bool mapped; /* data is a window onto a file */
} mo_row_stack;

/* The slices along an axis of X, a contiguous tensor of the CPU, as rows; the axes before it are `outer`. */
mo_row_stack mo_row_stack_of(const mo_tensor *X, int axis);
/* Tells the system which rows of a mapped file will be read soon, so that the disk can queue them. */
void mo_announce_rows(const mo_row_stack *s, const int64_t *row, int64_t n);
/* out [outer, n, width] = the listed rows of each outer slice, in host memory. */
void mo_read_rows(const mo_row_stack *s, const int64_t *row, int64_t n, char *out);

/* Rows that are ready to be read. Those of the tape's context lie in memory, or in a file whose rows are announced;
 * those of another context have been copied to page-locked memory. */
enum { MO_MOST_PIECES = 8 /* the most arrays from which an episode reads rows */ };
typedef struct mo_ready_rows {
    mo_pinned buffer;
    int n;
    const mo_tensor *array[MO_MOST_PIECES]; /* [n]: each array copied, and where its rows begin in the buffer */
    size_t offset[MO_MOST_PIECES];
} mo_ready_rows;
/* Copies the listed rows of the arrays [.., E, w] of other contexts than ctx, once the device has read the rows copied
 * before. */
void mo_make_ready(
    mo_context *ctx, const mo_tensor *const *array, int arrays, const int64_t *row, int64_t n, mo_ready_rows *ready);

/* The listed rows of X [.., E, w] as a tensor [.., n, w] of the tape. ready (NULL: none): the same rows, made ready. */
mo_tensor *mo_gather_listed(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n, const mo_ready_rows *ready);
/* Slices first .. last - 1 of X along an axis: a view of X if it is of the tape's context, else a copy. */
mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last);
/* Rows first .. last - 1 [last - first, w] of one outer slice of X [outer, rows, w]: as mo_fetch_range. */
mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last);

#endif
