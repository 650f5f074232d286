/* train/features/row_stack.h - rows of features that lie in a mapped file, or in the memory of another context (library
 * internal). */
#ifndef MO_ROW_STACK_H
#define MO_ROW_STACK_H

#include "train/inside.h"

/* An array [outer, rows] of rows of `width` bytes, contiguous; borrowed from its tensor. */
typedef struct mo_row_stack {
    int64_t outer, rows;
    size_t width; /* bytes of a row */
    const char *data;
    bool mapped; /* data is a window onto a file */
} mo_row_stack;

/* Returns whether ops of the context can read X directly: from memory or, on the CPU, from a mapped file. */
bool mo_rows_resident(const mo_context *ctx, const mo_tensor *X);
/* Returns whether X is resident and in memory. */
bool mo_rows_in_memory(const mo_context *ctx, const mo_tensor *X);
/* The slices along an axis of X, a contiguous tensor of the CPU, as rows; the axes before it are `outer`. */
mo_row_stack mo_row_stack_of(const mo_tensor *X, int axis);
/* Tells the system which rows of a mapped file will be read soon, so that the disk can queue them. */
void mo_announce_rows(const mo_row_stack *s, const int64_t *row, int64_t n);
/* out [outer, n, width] = the listed rows of each outer slice, in host memory. */
void mo_read_rows(const mo_row_stack *s, const int64_t *row, int64_t n, char *out);

/* The listed rows of X [.., E, w], which is not resident, as a tensor [.., n, w] of the tape. */
mo_tensor *mo_fetch_rows(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n);
/* Slices first .. last - 1 of X along an axis: a view if X is resident, else a copy. */
mo_tensor *mo_fetch_range(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last);
/* Rows first .. last - 1 [last - first, w] of one outer slice of X [outer, rows, w]: a view if X is resident, else a
 * copy. */
mo_tensor *mo_fetch_block(mo_tape *t, mo_tensor *X, int64_t outer, int64_t first, int64_t last);

#endif
