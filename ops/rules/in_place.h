/* ops/rules/in_place.h - computations of ops that write to the caller's memory: for solvers of large problems, which
 * have no memory for separate results, and for tables that are filled part by part. Nothing is recorded, and no
 * gradient flows; writing counts as an in-place change. In the error state the functions do nothing (library
 * internal). */
#ifndef MO_IN_PLACE_H
#define MO_IN_PLACE_H

#include "autograd/inside.h"
#include "tensor/objects.h"

/* Z := alpha X B + beta Z; Z contiguous in its last axis. */
void mo_matmul_into(double alpha, const mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z);
/* mo_matmul_into for real views of the context's memory. */
void mo_matmul_views(mo_context *ctx, double alpha, const mo_view *X, const mo_view *B, double beta, const mo_view *Z);
/* Y := rows first .. first + n - 1 of A X, for views X [columns of A, d] and Y [n, d] with unit strides along rows. */
void mo_spmm_into(const mo_csr *A, int64_t first, const mo_view *X, const mo_view *Y);
/* Y := layer_norm(X), rows of real views [n, d]. */
void mo_layer_norm_into(mo_context *ctx, double epsilon, const mo_view *X, const mo_view *Y);
/* Y := X between any two dtypes and strides of equal shape. */
void mo_copy_into(mo_context *ctx, const mo_view *X, const mo_view *Y);
/* Fills the contiguous T with numbers uniform in [low, high); element i is drawn at *position plus i. */
void mo_uniform_into(mo_tensor *T, double low, double high, const mo_random *position);

/* Returns the sum of squares, or the largest entry, of each column of X [m, n], as [1, n] on the tape. */
typedef enum mo_column_figure { MO_COLUMN_SQUARES, MO_COLUMN_MAX } mo_column_figure;
mo_tensor *mo_column_figures(mo_tape *t, const mo_tensor *X, mo_column_figure figure);

/* Replaces the lower triangle of A [n, n], contiguous, by L with A = L L^T, and the upper one by zeros. Waits for the
 * result and returns 0; i if leading minor i is not positive; or -1 if a value is not finite. Raises no error. */
int mo_cholesky_in_place(mo_tape *t, mo_tensor *A);
/* Replaces A [n, n], symmetric and contiguous, by its eigenvectors in columns, of any sign; w [n] receives the
 * eigenvalues, rising. Waits for the result and returns 0, -1 if a value is not finite, or a number above 0 if the
 * eigenvalues did not converge. */
int mo_eigh_in_place(mo_tape *t, mo_tensor *A, mo_tensor *w);

#endif
