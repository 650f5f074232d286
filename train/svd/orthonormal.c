/* train/svd/orthonormal.c - orthonormal bases by Cholesky QR (Yamamoto et al. 2015).
 *
 * Y^T Y = L L^T,  Q = Y L^-T: almost all of the work is two matrix products. Q is orthonormal up to eps cond(Y)^2; a
 * second pass over Q, whose condition is near 1, brings this error to eps. If Y is too ill-conditioned for Cholesky (a
 * graph of low rank, an eigenvector already found), its columns are first rotated by the eigenvectors of Y^T Y, which
 * makes them orthogonal, with very different norms, then scaled. Directions that consist of rounding error are replaced
 * by random ones. */
#include "train/svd/svd_parts.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/hidden.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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
        mo_tall_squares(t, Y, norm);
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
