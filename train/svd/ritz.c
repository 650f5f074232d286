/* train/svd/ritz.c - Rayleigh-Ritz on K = [Q, A Q], a block Krylov space of two blocks, by Gram matrices.
 *
 * Rayleigh-Ritz on Q alone fails: before convergence Q holds mixtures a u + b v of eigenvectors of s and -s, whose Ritz
 * values (a^2 - b^2) s are far too small; A turns such a mixture into s (a u - b v), and the two mixtures together span
 * u and v.
 *
 * K is never made orthonormal: with W = A Q - Q C, C = Q^T A Q, the Gram matrices G of K = [Q, W] and H = K^T A K are
 * enough. W is small where Q has converged; directions in which it is rounding error are left out. For a basis change B
 * with B^T G B = I the eigenpairs of B^T H B = Y theta Y^T give U = K (B Y): one product with K. As A Q = W + Q C,
 *     H = [ C                 W^T W + C^T Q^T W ]
 *         [ .                 W^T A W           ].
 * The accuracy that float32 loses in G appears in U^T U - I; one pass of Cholesky QR restores it if necessary. */
#include "train/svd/tall.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "tensor/library.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDING 16          /* a direction of W below ROUNDING * epsilon times the largest |A q|^2 is left out */
#define WELL_CONDITIONED 100 /* Cholesky factors up to this ratio of pivots are used as they are */

static double ritz_epsilon(const mo_tensor *X) {
    return X->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* Sorts the n values w (rising) by falling magnitude; of a pair +-s, equal to rounding, s comes first. */
static void order_by_magnitude(const double *w, int64_t n, int64_t wanted, double rounding, int64_t *order) {
    int64_t low = 0, high = n - 1;
    for (int64_t j = 0; j < wanted; j++)
        order[j] = fabs(w[high]) >= fabs(w[low]) * (1 - rounding) || low == high ? high-- : low++;
}

/* Eigenvalues of T, rising; overwrites T with the eigenvectors. */
static mo_tensor *decompose_in_place(mo_tape *t, mo_tensor *T) {
    int64_t n = mo_dim(T, 0);
    mo_tensor *w = mo_full(t, T->dtype, 1, &n, 0);
    int info = mo_eigh_in_place(t, T, w);
    if (mo_ok(t->ctx) && info != 0)
        mo_fail(t->ctx, MO_NUMERICAL, "svd: a projection [%" PRId64 ", %" PRId64 "] %s", n, n,
            info < 0 ? "is not finite" : "has eigenvalues that did not converge");
    return w;
}

mo_tensor *mo_leading_eigenvectors(mo_tape *t, mo_tensor *T, int64_t wanted, double rounding, double *theta) {
    mo_context *ctx = t->ctx;
    mo_tensor *Wt = mo_null_tensor(ctx), *w = mo_ok(ctx) ? decompose_in_place(t, T) : Wt;
    int64_t n = mo_dim(T, 0);
    double *value = mo_ok(ctx) ? mo_host_values(w, MO_F64) : NULL;
    int64_t *order = mo_host_array(ctx, wanted, sizeof *order);
    if (mo_ok(ctx)) {
        order_by_magnitude(value, n, wanted, rounding, order);
        for (int64_t j = 0; j < wanted; j++)
            theta[j] = value[order[j]];
        Wt = mo_gather_rows(t, mo_transpose(t, T), mo_from(t, MO_I64, 1, &wanted, order));
    }
    free(value);
    free(order);
    return mo_transpose(t, Wt);
}

/* Columns Z with Z^T S Z = I, without the directions in which S is below `least`: [q, k], k <= q; NULL if none
 * remain. */
static mo_tensor *ritz_whitening(mo_tape *t, mo_tensor *S, double least) {
    mo_context *ctx = t->ctx;
    int64_t q = mo_dim(S, 0), none = 0;
    mo_tensor *L = mo_mul(t, S, mo_scalar(t, MO_F64, 1)), *w, *Z; /* a copy */
    double ratio = mo_factor_gram(t, L);
    if (ratio < WELL_CONDITIONED &&
        mo_item(mo_max(t, mo_neg(t, mo_diagonal(t, L)), MO_ALL, MO_DROP_AXES)) < -sqrt(least))
        return mo_inverse_factor(t, L);
    mo_eigh(t, S, &w, &Z);
    double *value = mo_host_values(w, MO_F64);
    while (value && none < q && !(value[none] > least))
        none++;
    free(value);
    if (none == q || !mo_ok(ctx))
        return NULL;
    mo_tensor *scale = mo_pow(t, mo_slice(t, w, MO_AXIS(0), none, q), -0.5);
    return mo_mul(t, mo_slice(t, Z, MO_AXIS(1), none, q), scale);
}

/* B with B^T G B = I for G = [G11, G12; G12^T, G22]: [2 q, q + k]. size2: the largest |A Q e_j|^2; directions of W are
 * dropped if they are small against it. */
static mo_tensor *basis_change(
    mo_tape *t, mo_tensor *G11, mo_tensor *G12, mo_tensor *G22, double epsilon, double size2) {
    int64_t q = mo_dim(G11, 0);
    mo_factor_gram(t, G11);
    mo_tensor *X = mo_inverse_factor(t, G11);             /* X^T G11 X = I */
    mo_tensor *M = mo_matmul(t, mo_transpose(t, X), G12); /* coordinates of W in the basis Q X */
    mo_tensor *S = mo_sub(t, G22, mo_matmul(t, mo_transpose(t, M), M));
    mo_tensor *Z = mo_ok(t->ctx) ? ritz_whitening(t, S, ROUNDING * epsilon * size2) : NULL;
    mo_tensor *left = mo_pad(t, X, MO_AXIS(0), 0, q);
    if (!Z)
        return left;
    mo_tensor *E = mo_neg(t, mo_matmul(t, X, mo_matmul(t, M, Z)));
    return mo_concat(t, (mo_tensor *[]){left, mo_concat(t, (mo_tensor *[]){E, Z}, 2, MO_AXIS(0))}, 2, MO_AXIS(1));
}

/* The largest |A Q e_j|^2 = |C e_j|^2 + |W e_j|^2, up to rounding. */
static double largest_image(mo_tape *t, mo_tensor *C, mo_tensor *G22) {
    mo_tensor *squares = mo_add(t, mo_sum(t, mo_square(t, C), MO_AXIS(0), MO_DROP_AXES), mo_diagonal(t, G22));
    return mo_item(mo_max(t, squares, MO_ALL, MO_DROP_AXES));
}

/* H of the opening comment. */
static mo_tensor *ritz_projected(mo_tape *t, mo_tensor *C, mo_tensor *G12, mo_tensor *G22, mo_tensor *H22) {
    int64_t q = mo_dim(C, 0);
    mo_tensor *H = mo_full(t, MO_F64, 2, (int64_t[]){2 * q, 2 * q}, 0);
    mo_tensor *top = mo_slice(t, H, MO_AXIS(0), 0, q), *bottom = mo_slice(t, H, MO_AXIS(0), q, 2 * q);
    mo_tensor *H12 = mo_add(t, G22, mo_matmul(t, mo_transpose(t, C), G12));
    if (!mo_ok(t->ctx))
        return H;
    mo_tensor_copy(mo_slice(t, top, MO_AXIS(1), 0, q), C);
    mo_tensor_copy(mo_slice(t, top, MO_AXIS(1), q, 2 * q), H12);
    mo_tensor_copy(mo_slice(t, bottom, MO_AXIS(1), 0, q), mo_transpose(t, H12));
    mo_tensor_copy(mo_slice(t, bottom, MO_AXIS(1), q, 2 * q), H22);
    return H;
}

/* B and T = B^T H B of the space [Q, W]; W replaces A Q in panel[1]. Each small matrix is freed right after its use:
 * together they would exceed a panel of a medium graph. */
static mo_tensor *ritz_project(mo_tape *t, const mo_csr *A, mo_tensor *const panel[2], mo_tensor *C, mo_tensor **B) {
    mo_tensor *Q = panel[0], *W = panel[1];
    int64_t mark = t->n_tensors;
    mo_tall_product_into(t, -1, Q, mo_cast(t, C, Q->dtype), 1, W);
    mo_tensor *G12 = mo_tall_gram(t, Q, W), *G22 = mo_tall_gram(t, W, W);
    mo_tensor *H = ritz_projected(t, C, G12, G22, mo_tall_image_gram(t, A, W, W));
    mo_tape_sweep(t, mark, (mo_tensor *[]){G12, G22, H}, 3);
    *B = basis_change(t, mo_tall_gram(t, Q, Q), G12, G22, ritz_epsilon(Q), largest_image(t, C, G22));
    mo_tape_sweep(t, mark, (mo_tensor *[]){H, *B}, 2);
    mo_tensor *HB = mo_matmul(t, H, *B);
    mo_tape_sweep(t, mark, (mo_tensor *[]){HB, *B}, 2);
    mo_tensor *T = mo_matmul(t, mo_transpose(t, *B), HB);
    mo_tape_sweep(t, mark, (mo_tensor *[]){T, *B}, 2);
    return T;
}

double mo_reorthonormalize(mo_tape *t, mo_tensor *U) {
    int64_t r = mo_dim(U, 1), mark = t->n_tensors;
    double defect = NAN;
    for (int pass = 0; pass < 2 && mo_ok(t->ctx); pass++) {
        mo_tensor *G = mo_tall_gram(t, U, U);
        defect = mo_item(mo_max(t, mo_abs(t, mo_sub(t, G, mo_eye(t, MO_F64, r))), MO_ALL, MO_DROP_AXES));
        if (pass > 0 || !(defect > 32 * ritz_epsilon(U)) || mo_factor_gram(t, G) > WELL_CONDITIONED)
            break;
        mo_tall_multiply(t, U, mo_cast(t, mo_inverse_factor(t, G), U->dtype), true);
    }
    mo_tape_sweep(t, mark, NULL, 0);
    return defect;
}

double mo_ritz_pairs(mo_tape *t, const mo_csr *A, mo_tensor *const panel[2], bool images, int64_t wanted,
    double rounding, double *theta) {
    mo_tensor *Q = panel[0], *B = mo_null_tensor(t->ctx);
    int64_t mark = t->n_tensors;
    mo_tall_spmm(A, Q, panel[1]);
    mo_tensor *T = mo_tall_gram(t, Q, panel[1]);
    if (images)
        T = ritz_project(t, A, panel, T, &B);
    mo_tensor *Y = mo_leading_eigenvectors(t, T, wanted, rounding, theta);
    mo_tape_sweep(t, mark, (mo_tensor *[]){Y, B}, 2);
    mo_tensor *W = mo_cast(t, images ? mo_matmul(t, B, Y) : Y, Q->dtype);
    mo_tape_sweep(t, mark, &W, 1);
    mo_tensor *U = mo_tall_combine(t, panel, W);
    double defect = mo_reorthonormalize(t, U);
    mo_tape_sweep(t, mark, NULL, 0);
    return defect;
}
