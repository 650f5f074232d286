/* train/features/gram_blocks.h - kernels between listed rows of a matrix, and standardised columns (library
 * internal). */
#ifndef MO_GRAM_BLOCKS_H
#define MO_GRAM_BLOCKS_H

#include "train/inside.h"

/* Two lists of rows (nodes or graphs), which can repeat. */
typedef struct mo_row_pairs {
    const int64_t *a, *b;
    int64_t n_a, n_b;
} mo_row_pairs;

/* Returns whether all rows of both lists are in 0 .. rows - 1; raises at the first that is not. what: "node",
 * "graph". */
bool mo_rows_exist(mo_context *ctx, const mo_row_pairs *pairs, int64_t rows, const char *what);

/* A sparse matrix, borrowed: row i has the entries e with first[i] <= e < first[i + 1]; entry e stands in column[e] and
 * is value[e] times weight[column[e]]. value or weight NULL: all ones. */
typedef struct mo_sparse_rows {
    int64_t columns;
    const int64_t *first;
    const int32_t *column;
    const float *value;
    const double *weight; /* [columns] */
} mo_sparse_rows;

/* K [n_a, n_b] := 1 + the cosines of the rows; 1 if a row is zero. place [columns]: scratch, all -1 before and after.
 * Time: the number of entry pairs that share a column. Returns false on failure. */
bool mo_cosine_block(mo_context *ctx, const mo_sparse_rows *X, int32_t *place, const mo_row_pairs *pairs, float *K);

/* K [n_a, n_b] := 1 + exp(-|x - y|^2 / (2 p)) for rows x, y of X [.., columns]; p: the number of varying columns. */
void mo_gaussian_block(
    mo_context *ctx, const float *X, int64_t columns, int64_t p, const mo_row_pairs *pairs, float *K);

/* Returns the standard deviation (divisor n) of n values x[row[i] * stride], and writes their mean; 0 for n = 0. row
 * (NULL: 0 .. n - 1). */
double mo_spread(const float *x, int64_t stride, const int64_t *row, int64_t n, double *mean);

#define MO_KERNEL_CLIP 4 /* bound of Gaussian kernels' columns */
/* Standardises each column of X [n, columns] by mean and standard deviation of rows row[0 .. count - 1] (NULL: all),
 * clipped to -clip .. clip; a column that is constant on these rows becomes zero. Returns the number of columns that
 * vary. */
int64_t mo_scale_columns(float *X, int64_t n, int64_t columns, const int64_t *row, int64_t count, double clip);

#endif
