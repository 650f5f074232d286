/* train/svd/svd.c - truncated SVD of a sparse matrix by a randomized range finder (Halko, Martinsson, Tropp 2011).
 *
 * Rank r, q = r + 16 columns: oversampling keeps the last singular values accurate; the extra ones are dropped. If the
 * smaller side is at most the dimension of the basis, or tiny, the whole space is decomposed and the result is exact.
 * For a symmetric matrix that decomposition has the matrix's dtype; all other eigenproblems are small, and solved in
 * float64.
 *
 * A symmetric matrix has eigenpairs: Q = orth(A^2 .. A^2 Omega), Omega random [n, q], two products per power iteration
 * (one more at first for a large graph: the larger a sparse graph, the flatter its spectrum); then Rayleigh-Ritz on [Q,
 * A Q] (ritz.c): A U = U diag(theta), S = |theta|, V = U sign(theta). A pair of eigenvalues +-s is one double singular
 * value, whose two vectors an SVD could rotate; the eigenvectors here are not rotated. The whole computation takes
 * two matrices [n, q] of memory.
 *
 * Any other matrix [n, m], with Omega random [m, q]:
 *     Q = orth(A Omega);   k times:  Q = orth(A orth(A^T Q));
 *     B = A^T Q, B^T B = W diag(s^2) W^T, U = Q W, V = B W / s.
 * In an exact SVD q is the smaller side: Q is the identity if q = n, and orth(A) if q = m < n. */
#include "train/svd/svd.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "train/svd/tall.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Up to condition FLAT of A Q, the products A A^T Q stay well enough conditioned for Cholesky QR; up to norm MODEST of
 * A, they do not overflow when squared. */
static const double FLAT = 8, MODEST = 1e4;
enum { MOST_ITERATIONS = 300, ROW_BLOCK = 2048, SIGN_ROWS = 512, LARGE = 80000 /* rows */ };

typedef struct problem {
    mo_tape *t;
    const mo_csr *A;
    const mo_svd_options *options;
    mo_dtype real;
    int64_t n, m, r, q;
    bool symmetric;
    bool exact;
    double epsilon;
    double rounding;  /* singular values below this share of the largest are zeros */
    double norm;      /* |A|_F */
    double condition; /* cond of the latest A Q */
    int64_t mark;     /* the tape's position at the start: later tensors are dropped */
} problem;

static double sum_of_squares(mo_tape *t, mo_tensor *X) {
    return mo_item(mo_sum(t, mo_square(t, mo_cast(t, X, MO_F64)), MO_ALL, MO_DROP_AXES));
}

/* |A|_F, in blocks of rows. */
static double matrix_norm(problem *p) {
    const mo_csr *A = p->A;
    mo_tape *t = p->t;
    int64_t blocks = (p->n + MO_TALL_ROWS - 1) / MO_TALL_ROWS, mark = t->n_tensors;
    int64_t *first = mo_host_values(A->row_pointer, MO_I64);
    double sum = 0;
    for (int64_t b = 0; b < blocks && mo_ok(t->ctx); b++) {
        int64_t end = (b + 1) * MO_TALL_ROWS < p->n ? (b + 1) * MO_TALL_ROWS : p->n;
        sum += sum_of_squares(t, mo_slice(t, A->values, MO_AXIS(0), first[b * MO_TALL_ROWS], first[end]));
        mo_tape_sweep(t, mark, NULL, 0);
    }
    free(first);
    return sqrt(sum);
}

static bool check_rank(problem *p, int64_t side) {
    if (p->options->rank < 1 || p->options->rank > side)
        mo_fail(p->t->ctx, MO_INVALID, "svd: rank %d of a matrix [%" PRId64 ", %" PRId64 "], expected 1 to %" PRId64,
            p->options->rank, p->n, p->m, side);
    return mo_ok(p->t->ctx);
}

static bool set_up(problem *p) {
    const mo_csr *A = p->A;
    mo_context *ctx = p->t->ctx;
    if (!mo_ok(ctx))
        return false;
    p->n = A->rows;
    p->m = A->columns;
    p->symmetric = A->symmetric;
    int64_t side = p->n < p->m ? p->n : p->m;
    if (!check_rank(p, side))
        return false;
    p->real = A->values->dtype;
    p->epsilon = p->real == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    p->rounding = 64 * p->epsilon;
    if (!p->symmetric) /* squares of singular values are accurate to eps of the largest square */
        p->rounding = fmax(p->rounding, 4 * sqrt(DBL_EPSILON));
    p->r = p->options->rank;
    p->q = p->r + MO_SVD_OVERSAMPLING < side ? p->r + MO_SVD_OVERSAMPLING : side;
    int64_t space = p->symmetric && p->options->power_iterations != 0 ? 2 * p->q : p->q;
    p->exact = side <= space || side <= p->options->exact_below;
    if (p->exact)
        p->q = side;
    p->mark = p->t->n_tensors;
    p->norm = matrix_norm(p);
    if (mo_ok(ctx) && !isfinite(p->norm))
        mo_fail(ctx, MO_NUMERICAL,
            "svd: the norm of the matrix [%" PRId64 ", %" PRId64 "] is %g, expected a finite one", p->n, p->m, p->norm);
    return mo_ok(ctx);
}

/* Fills Omega [.., q], contiguous, with uniform entries. Uniform columns span as well as normal ones (both are
 * sub-Gaussian) at a third of the cost. */
static void fill_test_matrix(problem *p, mo_tensor *Omega) {
    mo_random position = mo_random_at(p->options->seed, MO_PURPOSE_SVD, p->options->stream);
    mo_uniform_into(Omega, -1, 1, &position);
}

/* Writes the singular values s [r], falling, from theta; values below the level of rounding become zero. */
static void put_singular_values(const problem *p, const double *theta, double *s) {
    double last = fabs(theta[0]);
    for (int64_t j = 0; j < p->r; j++) {
        last = fmin(last, fabs(theta[j]));
        s[j] = last > p->rounding * fabs(theta[0]) ? last : 0;
    }
}

/* x [r] as a tensor of A's dtype on the tape. */
static mo_tensor *vector_of(const problem *p, const double *x) {
    return mo_cast(p->t, mo_from(p->t, MO_F64, 1, &p->r, x), p->real);
}

/* |A V - U diag(s)|_F / |A|_F, in blocks of rows, since A V is as large as U. */
static double residual_of(problem *p, mo_tensor *V, mo_tensor *U, mo_tensor *s) {
    mo_tape *t = p->t;
    double sum = 0;
    for (int64_t i = 0; i < p->n && mo_ok(t->ctx); i += ROW_BLOCK) {
        int64_t end = i + ROW_BLOCK < p->n ? i + ROW_BLOCK : p->n, mark = t->n_tensors;
        mo_tensor *US = mo_mul(t, mo_slice(t, U, MO_AXIS(0), i, end), s);
        sum += sum_of_squares(t, mo_sub(t, mo_tall_image(t, p->A, V, i, end), US));
        mo_tape_sweep(t, mark, NULL, 0);
    }
    return p->norm > 0 ? sqrt(sum) / p->norm : 0;
}

/* Returns whether the residual is at the level of rounding, or near it and no longer falling. */
static bool has_converged(const problem *p, double residual, double before) {
    double floor = 4 * p->epsilon;
    return residual <= floor || (residual < 1000 * floor && residual > 0.9 * before);
}

/* ---- eigenpairs of a symmetric matrix ---- */

/* S and signs of the eigenvalues theta; overwrites theta. */
static void put_values(problem *p, double *theta, double *s, mo_svd_factors *svd) {
    put_singular_values(p, theta, s);
    for (int64_t j = 0; j < p->r; j++)
        theta[j] = theta[j] < 0 && s[j] > 0 ? -1 : 1;
    svd->S = vector_of(p, s);
    svd->sign = vector_of(p, theta);
}

static void svd_symmetric_exact(problem *p, double *theta, double *s, mo_svd_factors *svd) {
    mo_tape *t = p->t;
    mo_tensor *T = mo_spmm(t, p->A, mo_eye(t, p->real, p->n));
    mo_tensor *W = mo_leading_eigenvectors(t, T, p->r, p->rounding, theta);
    svd->U = mo_contiguous(t, W);
    if (!mo_ok(t->ctx))
        return;
    put_values(p, theta, s, svd);
    svd->orthogonality = mo_reorthonormalize(t, svd->U);
    svd->residual = residual_of(p, svd->U, svd->U, mo_mul(t, svd->S, svd->sign));
}

/* Q := A Q, or orth(A Q). Swaps the panels. */
static void svd_symmetric_step(problem *p, mo_tensor **panel, int passes) {
    mo_tensor *from = panel[0];
    mo_tall_spmm(p->A, from, panel[1]);
    panel[0] = panel[1];
    panel[1] = from;
    if (passes > 0)
        mo_orthonormalize(p->t, panel[0], passes, &p->condition);
}

/* Runs `count` power iterations of two products with A each. The first product needs no orthonormalization if the
 * latest image of Q was well enough conditioned for A A and Cholesky QR, and A has a modest norm, so that nothing
 * overflows. */
static void svd_symmetric_iterate(problem *p, mo_tensor **panel, int count) {
    for (int k = 0; k < count && mo_ok(p->t->ctx); k++) {
        bool gentle = p->condition < FLAT && p->norm < MODEST;
        svd_symmetric_step(p, panel, gentle ? 0 : 1);
        svd_symmetric_step(p, panel, 1);
        p->condition = gentle ? sqrt(p->condition) : p->condition; /* the condition of one product */
    }
}

/* Replaces panel[0] by the Ritz vectors and computes their residual. */
static void svd_symmetric_extract(
    problem *p, mo_tensor **panel, int64_t wanted, double *theta, double *s, mo_svd_factors *svd) {
    mo_tape *t = p->t;
    bool images = p->options->power_iterations != 0;
    svd->orthogonality = mo_ritz_pairs(t, p->A, panel, images, wanted, p->rounding, theta);
    if (!mo_ok(t->ctx))
        return;
    put_values(p, theta, s, svd);
    svd->U = mo_slice(t, panel[0], MO_AXIS(1), 0, p->r);
    svd->residual = residual_of(p, svd->U, svd->U, mo_mul(t, svd->S, svd->sign));
}

/* Power iterations, two at a time and starting from the Ritz vectors, until the residual is at the level of rounding,
 * or near it and no longer falling. */
static void svd_symmetric_converge(problem *p, mo_tensor **panel, double *theta, double *s, mo_svd_factors *svd) {
    double before = INFINITY;
    for (int done = 0; done < MOST_ITERATIONS && mo_ok(p->t->ctx); done += 2) {
        svd_symmetric_iterate(p, panel, 2);
        svd_symmetric_extract(p, panel, p->q, theta, s, svd);
        if (has_converged(p, svd->residual, before))
            return;
        before = svd->residual;
    }
}

static void decompose_symmetric(problem *p, double *theta, double *s, mo_svd_factors *svd) {
    if (p->exact) {
        svd_symmetric_exact(p, theta, s, svd);
        return;
    }
    int count = p->options->power_iterations;
    mo_tensor *panel[2];
    for (int i = 0; i < 2; i++)
        panel[i] = mo_tall_create(p->t, p->real, p->n, p->q);
    fill_test_matrix(p, panel[0]);
    p->condition = 1; /* the condition of Omega */
    if (count < 0) {
        svd_symmetric_converge(p, panel, theta, s, svd);
        return;
    }
    if (count == 0)
        svd_symmetric_step(p, panel, 2);
    else if (p->n > LARGE && p->norm < MODEST)
        svd_symmetric_step(p, panel, 0);
    svd_symmetric_iterate(p, panel, count);
    svd_symmetric_extract(p, panel, p->r, theta, s, svd);
}

/* ---- singular triplets of any other matrix ---- */

/* A X or A^T X; no other tensor stays on the tape. */
static mo_tensor *svd_general_product(problem *p, bool transposed, mo_tensor *X) {
    const mo_csr *M = transposed ? mo_csr_transposed(p->A) : p->A;
    mo_tensor *Y = mo_ok(p->t->ctx) ? mo_tall_create(p->t, p->real, M->rows, mo_dim(X, 1)) : mo_null_tensor(p->t->ctx);
    if (mo_ok(p->t->ctx))
        mo_tall_spmm(M, X, Y);
    mo_tape_sweep(p->t, p->mark, &Y, 1);
    return Y;
}

/* orth(A X) or orth(A^T X); no other tensor stays on the tape. */
static mo_tensor *orthonormal_product(problem *p, bool transposed, mo_tensor *X, int passes) {
    mo_tensor *Q = svd_general_product(p, transposed, X);
    mo_orthonormalize(p->t, Q, passes, &p->condition);
    return Q;
}

static mo_tensor *first_basis(problem *p) {
    mo_tape *t = p->t;
    if (p->exact) {
        mo_tensor *I = mo_eye(t, p->real, p->q);
        return p->q == p->n ? I : orthonormal_product(p, false, I, 2);
    }
    mo_tensor *Omega = mo_tape_tensor(t, p->real, 2, (int64_t[]){p->m, p->q});
    fill_test_matrix(p, Omega);
    return orthonormal_product(p, false, Omega, p->options->power_iterations == 0 ? 2 : 1);
}

static mo_tensor *svd_general_iterate(problem *p, mo_tensor *Q, int count) {
    for (int k = 0; k < count && mo_ok(p->t->ctx); k++) {
        bool flat = p->condition < FLAT && p->norm < MODEST;
        Q = flat ? svd_general_product(p, true, Q) : orthonormal_product(p, true, Q, 1);
        Q = orthonormal_product(p, false, Q, k + 1 < count ? 1 : 2);
    }
    return Q;
}

/* A^T Q. If A has no more columns than Q, its rows are unfolded, some at a time, and A is not transposed. */
static mo_tensor *general_image(problem *p, mo_tensor *Q) {
    mo_tape *t = p->t;
    if (p->q < p->m)
        return mo_spmm(t, mo_csr_transposed(p->A), Q);
    mo_tensor *product = mo_tall_image_gram(t, p->A, Q, mo_eye(t, p->real, p->m));
    return mo_cast(t, mo_transpose(t, product), p->real);
}

/* Replaces the first `wanted` columns of Q by left singular vectors. */
static void svd_general_extract(
    problem *p, mo_tensor *Q, int64_t wanted, double *theta, double *s, mo_svd_factors *svd) {
    mo_tape *t = p->t;
    mo_tensor *B = general_image(p, Q);
    mo_tensor *W = mo_cast(t, mo_leading_eigenvectors(t, mo_tall_gram(t, B, B), wanted, p->rounding, theta), p->real);
    if (!mo_ok(t->ctx))
        return;
    for (int64_t j = 0; j < wanted; j++)
        theta[j] = sqrt(fmax(theta[j], 0));
    put_singular_values(p, theta, s);
    svd->S = vector_of(p, s);
    svd->U = mo_slice(t, mo_tall_combine(t, (mo_tensor *[]){Q, NULL}, W), MO_AXIS(1), 0, p->r);
    for (int64_t j = 0; j < p->r; j++) /* rounding would decide the direction of V's other columns */
        theta[j] = s[j] > sqrt(p->epsilon) * s[0] ? s[j] : 0;
    svd->V = mo_div_or_zero(t, mo_matmul(t, B, mo_slice(t, W, MO_AXIS(1), 0, p->r)), vector_of(p, theta));
    svd->orthogonality = mo_reorthonormalize(t, svd->U);
    svd->residual = residual_of(p, svd->V, svd->U, svd->S);
}

/* Power iterations, four at a time, until the residual is at the level of rounding, or near it and no longer
 * falling. */
static void svd_general_converge(problem *p, mo_tensor *Q, double *theta, double *s, mo_svd_factors *svd) {
    double before = INFINITY;
    for (int done = 0; done < MOST_ITERATIONS && mo_ok(p->t->ctx); done += 4) {
        if (done > 0)
            mo_tape_sweep(p->t, p->mark, &Q, 1);
        Q = svd_general_iterate(p, Q, 4);
        svd_general_extract(p, Q, p->q, theta, s, svd);
        if (has_converged(p, svd->residual, before))
            return;
        before = svd->residual;
    }
}

static void decompose_general(problem *p, double *theta, double *s, mo_svd_factors *svd) {
    int count = p->exact ? 0 : p->options->power_iterations;
    mo_tensor *Q = first_basis(p);
    if (count < 0) {
        svd_general_converge(p, Q, theta, s, svd);
        return;
    }
    svd_general_extract(p, svd_general_iterate(p, Q, count), p->r, theta, s, svd);
}

/* ---- the signs of columns, which a decomposition leaves arbitrary ---- */

/* The largest magnitude of each column of U [n, r], in blocks of rows. */
static void find_magnitudes(mo_tape *t, mo_tensor *U, double *magnitude) {
    int64_t mark = t->n_tensors, n = mo_dim(U, 0), r = mo_dim(U, 1);
    mo_tensor *most = mo_full(t, U->dtype, 2, (int64_t[]){1, r}, 0);
    for (int64_t i = 0; i < n && mo_ok(t->ctx); i += SIGN_ROWS) {
        int64_t here = t->n_tensors, end = i + SIGN_ROWS < n ? i + SIGN_ROWS : n;
        mo_tensor *rows = mo_abs(t, mo_slice(t, U, MO_AXIS(0), i, end));
        mo_tensor *high = mo_column_figures(t, rows, MO_COLUMN_MAX);
        if (mo_ok(t->ctx))
            mo_tensor_copy(most, mo_larger(t, most, high));
        mo_tape_sweep(t, here, NULL, 0);
    }
    mo_tensor_read(mo_cast(t, most, MO_F64), magnitude, (size_t)r * sizeof *magnitude);
    mo_tape_sweep(t, mark, NULL, 0);
}

/* [r] of 1 and -1: multiplied by these, the entry of largest magnitude of each column of U [n, r] is positive. If
 * several entries are equal to rounding, as in symmetric graphs, the first one decides. */
static mo_tensor *column_signs(mo_tape *t, mo_tensor *U) {
    mo_context *ctx = t->ctx;
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    int64_t n = mo_dim(U, 0), r = mo_dim(U, 1), open = r;
    double share = 1 - sqrt(U->dtype == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON);
    double *rows = mo_host_array(ctx, (n < SIGN_ROWS ? n : SIGN_ROWS) * r, sizeof *rows);
    double *magnitude = mo_host_array(ctx, r, sizeof *magnitude), *sign = mo_host_array(ctx, r, sizeof *sign);
    if (mo_ok(ctx))
        find_magnitudes(t, U, magnitude);
    for (int64_t first = 0; first < n && open > 0 && mo_ok(ctx); first += SIGN_ROWS) {
        int64_t mark = t->n_tensors, end = first + SIGN_ROWS < n ? first + SIGN_ROWS : n;
        mo_tensor *part = mo_cast(t, mo_slice(t, U, MO_AXIS(0), first, end), MO_F64);
        bool read = mo_tensor_read(part, rows, (size_t)((end - first) * r) * sizeof *rows) == MO_OK;
        mo_tape_sweep(t, mark, NULL, 0);
        for (int64_t i = 0; read && i < (end - first) * r; i++)
            if (sign[i % r] == 0 && fabs(rows[i]) >= share * magnitude[i % r]) {
                sign[i % r] = rows[i] < 0 ? -1 : 1;
                open--;
            }
    }
    mo_tensor *signs = mo_ok(ctx) ? mo_cast(t, mo_from(t, MO_F64, 1, &r, sign), U->dtype) : mo_null_tensor(ctx);
    free(rows);
    free(magnitude);
    free(sign);
    return signs;
}

mo_code mo_svd_compute(mo_tape *t, const mo_csr *A, const mo_svd_options *options, mo_svd_factors *svd) {
    problem p = {.t = t, .A = A, .options = options};
    mo_tensor *null = mo_null_tensor(t->ctx);
    *svd = (mo_svd_factors){.U = null, .S = null, .column_sign = null};
    if (!set_up(&p))
        return t->ctx->status.code;
    double *theta = mo_host_array(t->ctx, p.q, sizeof *theta), *s = mo_host_array(t->ctx, p.r, sizeof *s);
    if (mo_ok(t->ctx))
        (p.symmetric ? decompose_symmetric : decompose_general)(&p, theta, s, svd);
    free(theta);
    free(s);
    svd->column_sign = column_signs(t, svd->U);
    mo_tape_sweep(t, p.mark, (mo_tensor *[]){svd->U, svd->S, svd->V, svd->sign, svd->column_sign}, 5);
    return t->ctx->status.code;
}
