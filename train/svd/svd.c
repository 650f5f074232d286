/* train/svd/svd.c - truncated SVD of a sparse matrix by a randomized range finder (Halko, Martinsson, Tropp 2011).
 *
 * Rank r, q = r + 16 columns: oversampling keeps the last singular values accurate; the extra ones are dropped.
 * Symmetric matrices have eigenpairs (svd_symmetric.c), other matrices singular triplets (svd_general.c). If the
 * smaller side is at most the dimension of the basis, or tiny, the whole space is decomposed and the result is exact.
 * For a symmetric matrix that decomposition has the matrix's dtype; all other eigenproblems are small, and solved in
 * float64. */
#include "train/svd/svd_parts.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "train/inside.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { ROW_BLOCK = 2048 };

static double sum_of_squares(mo_tape *t, mo_tensor *X) {
    return mo_item(mo_sum(t, mo_square(t, mo_cast(t, X, MO_F64)), MO_ALL, MO_DROP_AXES));
}

/* |A|_F, in blocks of rows. */
static double matrix_norm(mo_svd_problem *p) {
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

static bool check_rank(mo_svd_problem *p, int64_t side) {
    if (p->options->rank < 1 || p->options->rank > side)
        mo_fail(p->t->ctx, MO_INVALID, "svd: rank %d of a matrix [%" PRId64 ", %" PRId64 "], expected 1 to %" PRId64,
            p->options->rank, p->n, p->m, side);
    return mo_ok(p->t->ctx);
}

static bool set_up(mo_svd_problem *p) {
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
    p->At = mo_csr_transposed(A);
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

void mo_test_matrix(mo_svd_problem *p, mo_tensor *Omega) {
    mo_random position = mo_random_at(p->options->seed, MO_PURPOSE_SVD, p->options->stream);
    mo_uniform_into(Omega, -1, 1, &position);
}

void mo_singular_values(const mo_svd_problem *p, const double *theta, double *s) {
    double last = fabs(theta[0]);
    for (int64_t j = 0; j < p->r; j++) {
        last = fmin(last, fabs(theta[j]));
        s[j] = last > p->rounding * fabs(theta[0]) ? last : 0;
    }
}

mo_tensor *mo_svd_vector(const mo_svd_problem *p, const double *x) {
    return mo_cast(p->t, mo_from(p->t, MO_F64, 1, &p->r, x), p->real);
}

/* Computes in blocks of rows, since AV - U diag(s) is as large as U. */
double mo_svd_residual(mo_svd_problem *p, mo_tensor *AV, mo_tensor *U, mo_tensor *s) {
    mo_tape *t = p->t;
    int64_t blocks = (p->n + ROW_BLOCK - 1) / ROW_BLOCK;
    double sum = 0;
    for (int64_t b = 0; b < blocks && mo_ok(t->ctx); b++) {
        int64_t i = b * ROW_BLOCK, end = i + ROW_BLOCK < p->n ? i + ROW_BLOCK : p->n, mark = t->n_tensors;
        mo_tensor *US = mo_mul(t, mo_slice(t, U, MO_AXIS(0), i, end), s);
        sum += sum_of_squares(t, mo_sub(t, mo_slice(t, AV, MO_AXIS(0), i, end), US));
        mo_tape_sweep(t, mark, NULL, 0);
    }
    return p->norm > 0 ? sqrt(sum) / p->norm : 0;
}

bool mo_svd_converged(const mo_svd_problem *p, double residual, double before) {
    double floor = 4 * p->epsilon;
    return residual <= floor || (residual < 1000 * floor && residual > 0.9 * before);
}

mo_code mo_svd_compute(mo_tape *t, const mo_csr *A, const mo_svd_options *options, mo_svd *svd) {
    mo_svd_problem p = {.t = t, .A = A, .options = options};
    mo_tensor *null = mo_null_tensor(t->ctx);
    *svd = (mo_svd){.U = null, .S = null, .turn = null};
    if (!set_up(&p))
        return t->ctx->status.code;
    double *theta = mo_host_array(t->ctx, p.q, sizeof *theta), *s = mo_host_array(t->ctx, p.r, sizeof *s);
    if (mo_ok(t->ctx))
        (p.symmetric ? mo_svd_symmetric : mo_svd_general)(&p, theta, s, svd);
    free(theta);
    free(s);
    svd->turn = mo_column_signs(t, svd->U);
    mo_tape_sweep(t, p.mark, (mo_tensor *[]){svd->U, svd->S, svd->V, svd->sign, svd->turn}, 5);
    return t->ctx->status.code;
}
