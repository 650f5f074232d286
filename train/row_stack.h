/* train/row_stack.h - rows of features that are not where they are computed with: in host memory, or in a file (library
 * internal).
 */
#ifndef MO_ROW_STACK_H
#define MO_ROW_STACK_H

#include "train/train.h"

/* An array [outer, rows, width bytes], contiguous; borrowed from its tensor. */
typedef struct mo_row_stack {
    int64_t outer, rows;
    size_t width;     /* of a row that is fetched: float16 becomes float32 */
    size_t stored;    /* and where it is */
    const char *data; /* where it is memory */
    int fd;           /* else of the file, and where in it the array begins */
    int64_t offset;
    const char *path;
} mo_row_stack;

/* The type that fetched rows have. */
mo_dtype mo_row_dtype(const mo_tensor *X);
/* The upper half of x [n] holds n values of float16, which x becomes. */
void mo_widen_halves(float *x, int64_t n);
/* Whether ops of the context can read X itself: it is memory of that context. */
bool mo_rows_at_hand(const mo_context *ctx, const mo_tensor *X);
/* Slices along an axis of X, a contiguous tensor of the CPU, as rows; those before it are `outer`. */
mo_row_stack mo_row_stack_of(const mo_tensor *X, int axis);
/* out [outer, n, width] = the rows listed, of each outer. No context takes part, so any thread may call it. On failure
 * false, and one line in `why`. */
bool mo_rows_fetch(const mo_row_stack *s, const int64_t *row, int64_t n, char *out, char *why, size_t bytes);

/* The rows listed of X [.., E, w], as a tensor [.., n, w] of the tape, which waits for them. */
mo_tensor *mo_rows_brought(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n);
/* Slices first .. last - 1 of X along an axis: a view where X is at hand, else brought. */
mo_tensor *mo_features_here(mo_tape *t, mo_tensor *X, int axis, int64_t first, int64_t last);

#endif
