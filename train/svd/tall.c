/* train/svd/tall.c - products with tall matrices, without memory for a second tall matrix.
 *
 * A sum over n rows is formed in blocks: each block in the matrix's type, at the full rate of the product, the sum over
 * blocks in float64, so that its error does not grow with n. For a symmetric result or a triangular factor only the
 * necessary blocks are computed. */
#include "train/svd/svd_parts.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"

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

void mo_tall_squares(mo_tape *t, mo_tensor *X, double *square) {
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

void mo_tall_spmm(const mo_csr *A, mo_tensor *X, mo_tensor *Y) {
    if (!mo_ok(A->ctx))
        return;
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(Y);
    mo_spmm_into(A, 0, &x, &y);
}
