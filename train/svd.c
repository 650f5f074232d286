/* train/svd.c - truncated SVD of a sparse matrix by a randomized range finder (Halko, Martinsson, Tropp 2011).
 *
 * A [n, m], rank r, q = r + 16 columns (oversampling keeps the last singular values good; the extra ones are dropped):
 *     Q = orth(A Omega), Omega random [m, q];   k times:  Q = orth(A orth(A^T Q)).
 * Symmetric A: Rayleigh-Ritz on K = orth[Q, A Q] (the last of the k iterations is spent on it),
 *     T = K^T A K = W diag(theta) W^T, U = K W, S = |theta|, V = U sign(theta).
 * On Q alone it would fail: before convergence Q holds mixtures a u + b v of eigenvectors of s and -s, whose Ritz
 * values (a^2 - b^2) s are far too small; A gives a u - b v, and the two together span both. A pair of eigenvalues +-s
 * is one double singular value, whose vectors an SVD may rotate; the eigenvectors are not rotated. Other A: B = A^T Q,
 * B^T B = W diag(s^2) W^T, U = Q W, V = B W / s. Where the smaller side is not above the dimension of the basis, or
 * tiny, Q spans the whole space (the identity, or A itself) and the result is exact. Small eigenproblems are solved in
 * float64: that costs little beside the products. */
#include "train/svd.h"

#include "autograd/tape.h"
#include "ops/ops.h"
#include "train/host_array.h"
#include "train/krylov.h"
#include "train/orthonormal.h"
#include "train/train.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { OVERSAMPLING = 16, MOST_ITERATIONS = 300, ROW_BLOCK = 8192 };
#define FLAT 8     /* up to this condition of A Q the products A A^T Q stay well enough conditioned for Cholesky QR */
#define MODEST 1e4 /* up to this norm of A they do not overflow when squared */

typedef struct problem {
    mo_tape *t;
    const mo_csr *A, *At;
    const mo_svd_options *options;
    mo_dtype real;
    int64_t n, m, r, q, blocks;
    bool exact;
    double epsilon;
    double rounding;  /* singular values below this share of the largest are zeros */
    double norm;      /* |A|_F */
    double condition; /* of the latest A Q */
    int64_t mark;     /* where the tape stood: everything later is ours to drop */
} problem;

static double frobenius(mo_tape *t, mo_tensor *X) {
    return sqrt(mo_item(mo_sum(t, mo_square(t, mo_cast(t, X, MO_F64)), 0, false)));
}

static bool set_up(problem *p) {
    const mo_csr *A = p->A;
    mo_context *ctx = p->t->ctx;
    if (!mo_ok(ctx))
        return false;
    int64_t side = A->rows < A->columns ? A->rows : A->columns;
    if (p->options->rank < 1 || p->options->rank > side) {
        mo_fail(ctx, MO_INVALID, "svd: rank %d of a matrix [%" PRId64 ", %" PRId64 "], expected 1 to %" PRId64,
            p->options->rank, A->rows, A->columns, side);
        return false;
    }
    p->At = mo_csr_transposed(A);
    p->real = A->values->dtype;
    p->epsilon = p->real == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    p->rounding = 64 * p->epsilon;
    if (!A->symmetric) /* squares of singular values are found to eps of the largest square */
        p->rounding = fmax(p->rounding, 4 * sqrt(DBL_EPSILON));
    p->n = A->rows;
    p->m = A->columns;
    p->r = p->options->rank;
    p->q = p->r + OVERSAMPLING < side ? p->r + OVERSAMPLING : side;
    p->blocks = A->symmetric && p->options->power_iterations != 0 ? 2 : 1;
    p->exact = side <= p->blocks * p->q || side <= p->options->exact_below;
    if (p->exact) {
        p->q = side;
        p->blocks = 1;
    }
    p->mark = p->t->n_tensors;
    p->norm = frobenius(p->t, A->values);
    mo_tape_sweep(p->t, p->mark, NULL, 0);
    if (mo_ok(ctx) && !isfinite(p->norm))
        mo_fail(ctx, MO_NUMERICAL,
            "svd: the norm of the matrix [%" PRId64 ", %" PRId64 "] is %g, expected a finite one", p->n, p->m, p->norm);
    return mo_ok(ctx);
}

/* Uniform entries span as well as normal ones (both are sub-Gaussian) and cost a third. */
static mo_tensor *test_matrix(problem *p) {
    mo_tensor *Omega = mo_tape_tensor(p->t, p->real, 2, (int64_t[]){p->m, p->q});
    mo_random position = mo_random_at(p->options->seed, MO_PURPOSE_SVD, p->options->stream);
    if (!mo_ok(p->t->ctx))
        return Omega;
    mo_view omega = mo_tensor_view(Omega);
    mo_kernels_of(p->t->ctx, p->real)->random(p->t->ctx, false, -1, 1, &position, &omega);
    return Omega;
}

/* A X and nothing else on the tape. */
static mo_tensor *product(problem *p, const mo_csr *A, mo_tensor *X) {
    mo_tensor *Y = mo_spmm(p->t, A, X);
    mo_tape_sweep(p->t, p->mark, &Y, 1);
    return Y;
}

/* orth(A X) and nothing else on the tape. */
static mo_tensor *orthonormal_product(problem *p, const mo_csr *A, mo_tensor *X, int passes) {
    mo_tensor *Q = mo_orthonormalize(p->t, product(p, A, X), passes, &p->condition);
    mo_tape_sweep(p->t, p->mark, &Q, 1);
    return Q;
}

static mo_tensor *first_basis(problem *p, int passes) {
    if (!p->exact)
        return orthonormal_product(p, p->A, test_matrix(p), passes);
    mo_tensor *I = mo_identity(p->t, p->real, p->q);
    return p->q == p->n ? I : orthonormal_product(p, p->A, I, 2);
}

static mo_tensor *iterate(problem *p, mo_tensor *Q, int count) {
    for (int k = 0; k < count && mo_ok(p->t->ctx); k++) {
        bool flat = p->condition < FLAT && p->norm < MODEST;
        Q = flat ? product(p, p->At, Q) : orthonormal_product(p, p->At, Q, 1);
        Q = orthonormal_product(p, p->A, Q, k + 1 < count ? 1 : 2);
    }
    return Q;
}

/* The r values of largest magnitude of the n of w (rising), falling; of +-s, equal to rounding, s first. */
static void order_by_magnitude(const double *w, int64_t n, int64_t r, double tolerance, int64_t *order) {
    int64_t low = 0, high = n - 1;
    for (int64_t j = 0; j < r; j++)
        order[j] = fabs(w[high]) >= fabs(w[low]) * (1 - tolerance) || low == high ? high-- : low++;
}

/* Eigenpairs of the small matrix T by magnitude: W [.., r] in the type of A, and the values theta [r]. */
static mo_tensor *small_eigenvectors(problem *p, mo_tensor *T, double *theta) {
    mo_tape *t = p->t;
    mo_context *ctx = t->ctx;
    mo_tensor *w, *W, *Wt = mo_null_tensor(ctx);
    int64_t n = mo_dim(T, 0);
    mo_eigh(t, T, &w, &W);
    double *value = mo_host_array(ctx, n, sizeof *value);
    int64_t *order = mo_host_array(ctx, p->r, sizeof *order);
    if (mo_ok(ctx) && mo_tensor_read(w, value, (size_t)n * sizeof *value) == MO_OK) {
        order_by_magnitude(value, n, p->r, p->rounding, order);
        for (int64_t j = 0; j < p->r; j++)
            theta[j] = value[order[j]];
        Wt = mo_gather_rows(t, mo_transpose(t, W), mo_from(t, MO_I64, 1, &p->r, order));
        Wt = mo_cast(t, Wt, p->real);
    }
    free(value);
    free(order);
    return mo_transpose(t, Wt);
}

/* Singular values from theta: below rounding they are zeros, and they never rise. */
static void singular_values(const problem *p, const double *theta, double *s) {
    double last = fabs(theta[0]);
    for (int64_t j = 0; j < p->r; j++) {
        last = fmin(last, fabs(theta[j]));
        s[j] = last > p->rounding * fabs(theta[0]) ? last : 0;
    }
}

static mo_tensor *vector_of(const problem *p, const double *x) {
    return mo_cast(p->t, mo_from(p->t, MO_F64, 1, &p->r, x), p->real);
}

/* |AV - U diag(s)|_F / |A|_F, by blocks of rows: the difference is as large as U. */
static double residual_of(problem *p, mo_tensor *AV, mo_tensor *U, mo_tensor *s) {
    mo_tape *t = p->t;
    double sum = 0;
    for (int64_t i = 0; i < p->n && mo_ok(t->ctx); i += ROW_BLOCK) {
        int64_t end = i + ROW_BLOCK < p->n ? i + ROW_BLOCK : p->n, mark = t->n_tensors;
        mo_tensor *US = mo_mul(t, mo_slice(t, U, 0, i, end), s);
        double norm = frobenius(t, mo_sub(t, mo_slice(t, AV, 0, i, end), US));
        sum += norm * norm;
        mo_tape_sweep(t, mark, NULL, 0);
    }
    return p->norm > 0 ? sqrt(sum) / p->norm : 0;
}

/* Leaves Q (converging goes on from it) and the result on the tape. */
static void ritz_symmetric(problem *p, mo_tensor *Q, double *theta, double *s, mo_svd *svd) {
    mo_tape *t = p->t;
    mo_krylov k = mo_krylov_basis(t, p->A, Q, p->blocks);
    mo_tensor *W = small_eigenvectors(p, k.T, theta);
    if (!mo_ok(t->ctx))
        return;
    singular_values(p, theta, s);
    for (int64_t j = 0; j < p->r; j++)
        theta[j] = theta[j] < 0 && s[j] > 0 ? -1 : 1;
    svd->S = vector_of(p, s);
    svd->sign = vector_of(p, theta);
    svd->U = mo_matmul(t, k.K, W);
    mo_tape_sweep(t, p->mark, (mo_tensor *[]){Q, svd->S, svd->sign, svd->U}, 4);
    svd->residual = residual_of(p, mo_spmm(t, p->A, svd->U), svd->U, mo_mul(t, svd->S, svd->sign));
}

static void ritz_general(problem *p, mo_tensor *Q, double *theta, double *s, mo_svd *svd) {
    mo_tape *t = p->t;
    mo_tensor *B = mo_spmm(t, p->At, Q), *B64 = mo_cast(t, B, MO_F64);
    mo_tensor *W = small_eigenvectors(p, mo_matmul(t, mo_transpose(t, B64), B64), theta);
    if (!mo_ok(t->ctx))
        return;
    for (int64_t j = 0; j < p->r; j++)
        theta[j] = sqrt(fmax(theta[j], 0));
    singular_values(p, theta, s);
    svd->S = vector_of(p, s);
    svd->U = mo_matmul(t, Q, W);
    svd->V = mo_div_or_zero(t, mo_matmul(t, B, W), svd->S);
    if (s[p->r - 1] <= sqrt(p->epsilon) * s[0]) /* s = 0 makes any orthonormal columns right, but not none */
        svd->V = mo_orthonormalize(t, mo_fill_columns(t, svd->V, 0), 2, NULL);
    svd->residual = residual_of(p, mo_spmm(t, p->A, svd->V), svd->U, svd->S);
}

static bool extract(problem *p, mo_tensor *Q, mo_svd *svd) {
    mo_context *ctx = p->t->ctx;
    double *theta = mo_host_array(ctx, p->r, sizeof *theta), *s = mo_host_array(ctx, p->r, sizeof *s);
    svd->V = svd->sign = NULL;
    if (mo_ok(ctx) && p->A->symmetric)
        ritz_symmetric(p, Q, theta, s, svd);
    else if (mo_ok(ctx))
        ritz_general(p, Q, theta, s, svd);
    free(theta);
    free(s);
    svd->turn = mo_column_signs(p->t, svd->U);
    return mo_ok(ctx);
}

/* Power iterations, four at a time, until the residual is at rounding or no longer falls near it. */
static void converge(problem *p, mo_tensor *Q, mo_svd *svd) {
    double floor = 4 * p->epsilon, before = INFINITY;
    svd->residual = INFINITY;
    for (int done = 0; done < MOST_ITERATIONS && svd->residual > floor && mo_ok(p->t->ctx); done += 4) {
        Q = iterate(p, Q, 4);
        svd->iterations = done + 4;
        if (!extract(p, Q, svd) || (svd->residual < 1000 * floor && svd->residual > 0.9 * before))
            return;
        before = svd->residual;
        if (svd->residual > floor && done + 4 < MOST_ITERATIONS)
            mo_tape_sweep(p->t, p->mark, &Q, 1);
    }
}

mo_code mo_svd_compute(mo_tape *t, const mo_csr *A, const mo_svd_options *options, mo_svd *svd) {
    problem p = {.t = t, .A = A, .options = options};
    mo_tensor *null = mo_null_tensor(t->ctx);
    *svd = (mo_svd){.U = null, .S = null, .turn = null};
    if (!set_up(&p))
        return t->ctx->status.code;
    int count = p.exact ? 0 : options->power_iterations;
    mo_tensor *Q = first_basis(&p, count >= 0 && count < p.blocks ? 2 : 1);
    if (count < 0) {
        converge(&p, Q, svd);
    } else {
        svd->iterations = count;
        extract(&p, iterate(&p, Q, count - (p.blocks - 1)), svd);
    }
    mo_tape_sweep(t, p.mark, (mo_tensor *[]){svd->U, svd->S, svd->V, svd->sign, svd->turn}, 5);
    return t->ctx->status.code;
}

mo_code mo_sparse_svd(mo_tape *t, const mo_csr *A, int rank, int power_iterations, uint64_t seed, mo_tensor **U,
    mo_tensor **S, mo_tensor **V, double *residual) {
    mo_svd_options options = {
        .rank = rank, .power_iterations = power_iterations, .exact_below = MO_SVD_EXACT_BELOW, .seed = seed};
    mo_svd svd;
    mo_svd_compute(t, A, &options, &svd);
    *U = mo_mul(t, svd.U, svd.turn);
    *S = svd.S;
    *V = svd.V ? mo_mul(t, svd.V, svd.turn) : mo_mul(t, *U, svd.sign ? svd.sign : svd.turn);
    if (residual)
        *residual = svd.residual;
    return mo_tape_context(t)->status.code;
}
