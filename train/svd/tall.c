/* train/svd/tall.c - products with tall matrices, without memory for a second tall matrix.
 *
 * A sum over n rows is formed in blocks: each block in the matrix's type, at the full rate of the product, the sum over
 * blocks in float64, so that its error does not grow with n. For a symmetric result or a triangular factor only the
 * necessary blocks are computed.
 *
 * Orthonormal bases are found by Cholesky QR (Yamamoto et al. 2015).
 *
 * Y^T Y = L L^T,  Q = Y L^-T: almost all of the work is two matrix products. Q is orthonormal up to eps cond(Y)^2; a
 * second pass over Q, whose condition is near 1, brings this error to eps. If Y is too ill-conditioned for Cholesky (a
 * graph of low rank, an eigenvector already found), its columns are first rotated by the eigenvectors of Y^T Y, which
 * makes them orthogonal, with very different norms, then scaled. Directions that consist of rounding error are replaced
 * by random ones. */
#include "train/svd/tall.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/library.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUM_ROWS = MO_TALL_ROWS, /* rows of a block: adding its product to the sum costs 1% of computing the product */
    TURN_ROWS = 2048,        /* rows of a block that is copied: the copy stays in the cache */
    PARTS = 3,               /* parts of the columns; leaving out parts of a triangle saves a third of the work */
    LEAST = 384              /* with at least this number of columns, the parts are wide enough for BLAS */
};

mo_tensor *mo_tall_create(mo_tape *t, mo_dtype real, int64_t rows, int64_t columns) {
    mo_context *ctx = t->ctx;
    mo_tensor *T = mo_tape_header(t, real, 2, (int64_t[]){rows, columns});
    if (!T)
        return mo_null_tensor(ctx);
    T->storage = mo_storage_create(ctx, (size_t)mo_numel(T) * mo_dtype_size(real));
    return T->storage ? T : mo_null_tensor(ctx);
}

static int64_t tall_smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The first column of part i. */
static int64_t part_start(int64_t columns, int64_t i) {
    return columns < LEAST ? (i > 0 ? columns : 0) : columns * i / PARTS;
}

static mo_tensor *columns_of(mo_tape *t, mo_tensor *X, int64_t start, int64_t stop) {
    return mo_slice(t, X, MO_AXIS(1), start, stop);
}

/* sum += X^T Y. */
static void add_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *sum) {
    mo_tensor *product = mo_cast(t, mo_matmul(t, mo_transpose(t, X), Y), MO_F64);
    if (!mo_ok(t->ctx))
        return;
    mo_accumulate_in_place(t, sum, product);
}

static mo_tensor *tall_window(mo_tape *t, mo_tensor *M, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    return columns_of(t, mo_slice(t, M, MO_AXIS(0), i0, i1), j0, j1);
}

/* Adds the lower triangle of X^T X, by parts of the columns. */
static void add_symmetric(mo_tape *t, mo_tensor *X, mo_tensor *sum) {
    int64_t q = mo_dim(X, 1);
    for (int64_t i = 0; i < PARTS; i++) {
        int64_t i0 = part_start(q, i), i1 = part_start(q, i + 1);
        if (i0 < i1)
            add_gram(t, columns_of(t, X, i0, i1), columns_of(t, X, 0, i1), tall_window(t, sum, i0, i1, 0, i1));
    }
}

/* Mirrors the parts below the diagonal to above it. */
static void tall_mirror(mo_tape *t, mo_tensor *M) {
    int64_t q = mo_dim(M, 1);
    for (int64_t i = 1; i < PARTS && mo_ok(t->ctx); i++) {
        int64_t i0 = part_start(q, i), i1 = part_start(q, i + 1);
        if (i0 < i1)
            mo_tensor_copy(tall_window(t, M, 0, i0, i0, i1), mo_transpose(t, tall_window(t, M, i0, i1, 0, i0)));
    }
}

/* Adds X^T Y of the block of rows that starts at row i to sum. */
static void add_block(mo_tape *t, mo_tensor *X, mo_tensor *Y, int64_t i, mo_tensor *sum) {
    int64_t mark = t->n_tensors, end = tall_smaller(mo_dim(X, 0), i + SUM_ROWS);
    mo_tensor *x = mo_slice(t, X, MO_AXIS(0), i, end);
    if (X == Y)
        add_symmetric(t, x, sum);
    else
        add_gram(t, x, mo_slice(t, Y, MO_AXIS(0), i, end), sum);
    mo_tape_sweep(t, mark, NULL, 0);
}

mo_tensor *mo_tall_gram(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    mo_tensor *sum = mo_full(t, MO_F64, 2, (int64_t[]){mo_dim(X, 1), mo_dim(Y, 1)}, 0);
    int64_t mark = t->n_tensors;
    for (int64_t i = 0; i < mo_dim(X, 0) && mo_ok(t->ctx); i += SUM_ROWS)
        add_block(t, X, Y, i, sum);
    if (X == Y)
        tall_mirror(t, sum);
    mo_tape_sweep(t, mark, NULL, 0);
    return sum;
}

mo_tensor *mo_tall_image(mo_tape *t, const mo_csr *A, mo_tensor *Y, int64_t first, int64_t end) {
    mo_tensor *image = mo_tape_tensor(t, Y->dtype, 2, (int64_t[]){end - first, mo_dim(Y, 1)});
    if (!mo_ok(t->ctx))
        return image;
    mo_view x = mo_tensor_view(Y), y = mo_tensor_view(image);
    mo_spmm_into(A, first, &x, &y);
    return image;
}

mo_tensor *mo_tall_image_gram(mo_tape *t, const mo_csr *A, mo_tensor *X, mo_tensor *Y) {
    int64_t n = mo_dim(X, 0);
    mo_tensor *sum = mo_full(t, MO_F64, 2, (int64_t[]){mo_dim(X, 1), mo_dim(Y, 1)}, 0);
    int64_t mark = t->n_tensors;
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += SUM_ROWS) {
        int64_t end = tall_smaller(n, i + SUM_ROWS);
        add_gram(t, mo_slice(t, X, MO_AXIS(0), i, end), mo_tall_image(t, A, Y, i, end), sum);
        mo_tape_sweep(t, mark, NULL, 0);
    }
    return sum;
}

/* The sums of squares of the columns of X, in square [columns]. */
static void tall_squares(mo_tape *t, mo_tensor *X, double *square) {
    int64_t n = mo_dim(X, 0), q = mo_dim(X, 1), count = (n + SUM_ROWS - 1) / SUM_ROWS, mark = t->n_tensors;
    double *part = mo_host_array(t->ctx, q, sizeof *part);
    memset(square, 0, (size_t)q * sizeof *square);
    for (int64_t b = 0; b < count && mo_ok(t->ctx); b++) {
        mo_tensor *x = mo_slice(t, X, MO_AXIS(0), b * SUM_ROWS, tall_smaller(n, (b + 1) * SUM_ROWS));
        mo_tensor *figures = mo_cast(t, mo_column_figures(t, x, MO_COLUMN_SQUARES), MO_F64);
        if (mo_tensor_read(figures, part, (size_t)q * sizeof *part) == MO_OK)
            for (int64_t j = 0; j < q; j++)
                square[j] += part[j];
        mo_tape_sweep(t, mark, NULL, 0);
    }
    free(part);
}

void mo_tall_product_into(mo_tape *t, double alpha, mo_tensor *X, const mo_tensor *B, double beta, mo_tensor *Z) {
    int64_t n = mo_dim(X, 0), mark = t->n_tensors;
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += SUM_ROWS) {
        int64_t end = tall_smaller(n, i + SUM_ROWS);
        mo_matmul_into(alpha, mo_slice(t, X, MO_AXIS(0), i, end), B, beta, mo_slice(t, Z, MO_AXIS(0), i, end));
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

void mo_tall_multiply(mo_tape *t, mo_tensor *X, mo_tensor *R, bool upper) {
    int64_t n = mo_dim(X, 0), q = mo_dim(X, 1), mark = t->n_tensors;
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += TURN_ROWS) {
        mo_tensor *x = mo_slice(t, X, MO_AXIS(0), i, tall_smaller(n, i + TURN_ROWS));
        if (!upper)
            mo_tensor_copy(x, mo_matmul(t, x, R));
        for (int64_t part = PARTS - 1; part >= 0 && upper && mo_ok(t->ctx);
             part--) { /* last part first: a part reads only columns at or left of its own */
            int64_t j0 = part_start(q, part), j1 = part_start(q, part + 1);
            if (j0 < j1)
                mo_tensor_copy(
                    columns_of(t, x, j0, j1), mo_matmul(t, columns_of(t, x, 0, j1), tall_window(t, R, 0, j1, j0, j1)));
        }
        mo_tape_sweep(t, mark, NULL, 0);
    }
}

mo_tensor *mo_tall_combine(mo_tape *t, mo_tensor *const panel[2], mo_tensor *B) {
    int64_t n = mo_dim(panel[0], 0), q = mo_dim(panel[0], 1), wanted = mo_dim(B, 1);
    mo_tensor *U = mo_slice(t, panel[0], MO_AXIS(1), 0, wanted);
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += SUM_ROWS) {
        int64_t end = i + SUM_ROWS < n ? i + SUM_ROWS : n, mark = t->n_tensors;
        mo_tensor *rows = mo_tape_tensor(t, U->dtype, 2, (int64_t[]){end - i, wanted});
        for (int part = 0; part < mo_dim(B, 0) / q; part++)
            mo_matmul_into(1, mo_slice(t, panel[part], MO_AXIS(0), i, end),
                mo_slice(t, B, MO_AXIS(0), part * q, (part + 1) * q), part, rows);
        if (mo_ok(t->ctx))
            mo_tensor_copy(mo_slice(t, U, MO_AXIS(0), i, end), rows);
        mo_tape_sweep(t, mark, NULL, 0);
    }
    return U;
}

void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y) {
    if (!mo_ok(A->ctx))
        return;
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(Y);
    mo_spmm_into(A, 0, &x, &y);
}

/* ---- orthonormal bases ---- */

enum { ROUNDS = 8, FILL_ROWS = 4096 };
static const uint64_t fill_stream = (uint64_t)1 << 47; /* stream of random numbers beyond the test matrices' streams */

static double orthonormal_epsilon(const mo_tensor *X) {
    return X->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* The diagonal [n] of a contiguous matrix M [n, n], as a view; M itself if M is the null tensor. */
static mo_tensor *diagonal_of(mo_tape *t, mo_tensor *M) {
    return mo_is_null(M) ? M : mo_tape_window(t, M, 1, M->shape, &(int64_t){M->shape[1] + 1}, 0);
}

double mo_factor_gram(mo_tape *t, mo_tensor *M) {
    int info = mo_cholesky_in_place(t, M);
    if (mo_ok(t->ctx) && info < 0)
        mo_fail(
            t->ctx, MO_NUMERICAL, "orthonormalize: the products of %" PRId64 " columns are not finite", M->shape[0]);
    if (info != 0)
        return INFINITY;
    mo_tensor *diagonal = mo_cast(t, diagonal_of(t, M), MO_F64);
    double largest = mo_item(mo_max(t, diagonal, MO_ALL, MO_DROP_AXES));
    double smallest = -mo_item(mo_max(t, mo_neg(t, diagonal), MO_ALL, MO_DROP_AXES));
    return largest / smallest;
}

mo_tensor *mo_inverse_factor(mo_tape *t, mo_tensor *L) {
    return mo_transpose(t, mo_solve_triangular(t, L, mo_eye(t, L->dtype, mo_dim(L, 0)), MO_LOWER));
}

/* Returns false if Y is too ill-conditioned. The product with L^-T reads Y once and writes it in place; a solve would
 * transpose Y twice. The second pass restores the accuracy that the inverse loses. */
static bool cholesky_pass(mo_tape *t, mo_tensor *Y, double *condition) {
    mo_tensor *L = mo_tall_gram(t, Y, Y);
    *condition = mo_ok(t->ctx) ? mo_factor_gram(t, L) : INFINITY;
    if (!mo_ok(t->ctx) || !(*condition * *condition * orthonormal_epsilon(Y) < 1e-3))
        return false;
    mo_tall_multiply(t, Y, mo_cast(t, mo_inverse_factor(t, L), Y->dtype), true);
    return true;
}

/* Finds the factor of every column of Y and the factor of the random column that is added to it. Returns the number of
 * columns that random ones replace. */
static int64_t column_weights(mo_tape *t, mo_tensor *Y, mo_tensor **scale, mo_tensor **fill) {
    int64_t n = mo_dim(Y, 1), filled = 0;
    double *norm = mo_host_array(t->ctx, n, sizeof *norm), *random = mo_host_array(t->ctx, n, sizeof *random);
    double rows = (double)mo_dim(Y, 0);
    if (mo_ok(t->ctx))
        tall_squares(t, Y, norm);
    if (mo_ok(t->ctx)) {
        double largest = 0, rounding = 100 * orthonormal_epsilon(Y);
        for (int64_t j = 0; j < n; j++)
            largest = fmax(largest, norm[j]);
        for (int64_t j = 0; j < n; j++) {
            bool null = !(norm[j] > rounding * rounding * largest);
            random[j] = null ? sqrt(3 / rows) : 0; /* uniform in [-1, 1): variance 1/3 */
            norm[j] = null ? 0 : 1 / sqrt(norm[j]);
            filled += null;
        }
        *scale = mo_cast(t, mo_from(t, MO_F64, 1, &n, norm), Y->dtype);
        *fill = mo_cast(t, mo_from(t, MO_F64, 1, &n, random), Y->dtype);
    }
    free(norm);
    free(random);
    return filled;
}

/* Scales columns to norm 1, in place; replaces those that are zero to rounding, relative to the largest, by random
 * ones, which differ per attempt. */
static void fill_columns(mo_tape *t, mo_tensor *Y, int attempt) {
    mo_tensor *scale = mo_null_tensor(t->ctx), *fill = scale;
    int64_t mark = t->n_tensors, filled = mo_ok(t->ctx) ? column_weights(t, Y, &scale, &fill) : 0;
    int64_t m = mo_dim(Y, 0), n = mo_dim(Y, 1);
    mo_random position = mo_random_at(0, MO_PURPOSE_SVD, fill_stream + (uint64_t)attempt);
    for (int64_t i = 0; i < m && mo_ok(t->ctx); i += FILL_ROWS) {
        int64_t here = t->n_tensors, end = i + FILL_ROWS < m ? i + FILL_ROWS : m;
        mo_tensor *y = mo_slice(t, Y, MO_AXIS(0), i, end), *scaled = mo_mul(t, y, scale);
        if (filled && mo_ok(t->ctx)) {
            mo_tensor *random = mo_tape_tensor(t, Y->dtype, 2, (int64_t[]){end - i, n});
            position.index = (uint64_t)(i * n);
            mo_uniform_into(random, -1, 1, &position);
            scaled = mo_add(t, scaled, mo_mul(t, random, fill));
        }
        if (mo_ok(t->ctx))
            mo_tensor_copy(y, scaled);
        mo_tape_sweep(t, here, NULL, 0);
    }
    mo_tape_sweep(t, mark, NULL, 0);
}

/* Y := Y Z for the eigenvectors Z of Y^T Y: the new columns are orthogonal, with errors relative to |Y|, not to the
 * columns' own norms. */
static void rotate_to_orthogonal(mo_tape *t, mo_tensor *Y) {
    mo_tensor *w, *Z;
    mo_eigh(t, mo_tall_gram(t, Y, Y), &w, &Z);
    mo_tall_multiply(t, Y, mo_cast(t, Z, Y->dtype), false);
}

void mo_orthonormalize(mo_tape *t, mo_tensor *Y, int passes, double *condition) {
    double first = 1, later;
    int64_t mark = t->n_tensors;
    int done = 0;
    for (int round = 0; done < passes && mo_ok(t->ctx) && mo_dim(Y, 0) * mo_dim(Y, 1) > 0; round++) {
        bool better = cholesky_pass(t, Y, round == 0 ? &first : &later);
        done += better;
        if (!better && mo_ok(t->ctx)) {
            rotate_to_orthogonal(t, Y);
            fill_columns(t, Y, round);
        }
        mo_tape_sweep(t, mark, NULL, 0);
        if (round == ROUNDS && mo_ok(t->ctx))
            mo_fail(t->ctx, MO_NUMERICAL, "orthonormalize: no basis of %" PRId64 " columns of length %" PRId64 " found",
                mo_dim(Y, 1), mo_dim(Y, 0));
    }
    if (condition)
        *condition = first;
}
