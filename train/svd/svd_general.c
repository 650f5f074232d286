/* train/svd/svd_general.c - the truncated SVD of a matrix that is not symmetric.
 *
 * A [n, m], Omega random [m, q]:
 *     Q = orth(A Omega);   k times:  Q = orth(A orth(A^T Q));
 *     B = A^T Q, B^T B = W diag(s^2) W^T, U = Q W, V = B W / s.
 * In an exact SVD q is the smaller side: Q is the identity if q = n, and orth(A) if q = m < n. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "ops/rules/in_place.h"
#include "train/svd/svd_parts.h"

#include <math.h>

/* A X or A^T X; no other tensor stays on the tape. */
static mo_tensor *svd_general_product(mo_svd_problem *p, bool transposed, mo_tensor *X) {
    mo_tensor *Y = transposed ? mo_spmm(p->t, p->At, X) : mo_spmm(p->t, p->A, X);
    mo_tape_sweep(p->t, p->mark, &Y, 1);
    return Y;
}

/* orth(A X) or orth(A^T X); no other tensor stays on the tape. */
static mo_tensor *orthonormal_product(mo_svd_problem *p, bool transposed, mo_tensor *X, int passes) {
    mo_tensor *Q = svd_general_product(p, transposed, X);
    mo_orthonormalize(p->t, Q, passes, &p->condition);
    return Q;
}

static mo_tensor *first_basis(mo_svd_problem *p) {
    mo_tape *t = p->t;
    if (p->exact) {
        mo_tensor *I = mo_eye(t, p->real, p->q);
        return p->q == p->n ? I : orthonormal_product(p, false, I, 2);
    }
    mo_tensor *Omega = mo_tape_tensor(t, p->real, 2, (int64_t[]){p->m, p->q});
    mo_test_matrix(p, Omega);
    return orthonormal_product(p, false, Omega, p->options->power_iterations == 0 ? 2 : 1);
}

static mo_tensor *svd_general_iterate(mo_svd_problem *p, mo_tensor *Q, int count) {
    for (int k = 0; k < count && mo_ok(p->t->ctx); k++) {
        bool flat = p->condition < MO_SVD_FLAT && p->norm < MO_SVD_MODEST;
        Q = flat ? svd_general_product(p, true, Q) : orthonormal_product(p, true, Q, 1);
        Q = orthonormal_product(p, false, Q, k + 1 < count ? 1 : 2);
    }
    return Q;
}

static void svd_general_extract(mo_svd_problem *p, mo_tensor *Q, double *theta, double *s, mo_svd *svd) {
    mo_tape *t = p->t;
    mo_tensor *B = mo_spmm(p->t, p->At, Q);
    mo_tensor *W = mo_cast(t, mo_leading_eigenvectors(t, mo_tall_gram(t, B, B), p->r, p->rounding, theta), p->real);
    if (!mo_ok(t->ctx))
        return;
    for (int64_t j = 0; j < p->r; j++)
        theta[j] = sqrt(fmax(theta[j], 0));
    mo_singular_values(p, theta, s);
    svd->S = mo_svd_vector(p, s);
    svd->U = mo_matmul(t, Q, W);
    for (int64_t j = 0; j < p->r; j++) /* rounding would decide the direction of V's other columns */
        theta[j] = s[j] > sqrt(p->epsilon) * s[0] ? s[j] : 0;
    svd->V = mo_div_or_zero(t, mo_matmul(t, B, W), mo_svd_vector(p, theta));
    svd->orthogonality = mo_reorthonormalize(t, svd->U);
    svd->residual = mo_svd_residual(p, mo_spmm(t, p->A, svd->V), svd->U, svd->S);
}

/* Power iterations, four at a time, until the residual is at the level of rounding, or near it and no longer
 * falling. */
static void svd_general_converge(mo_svd_problem *p, mo_tensor *Q, double *theta, double *s, mo_svd *svd) {
    double before = INFINITY;
    for (int done = 0; done < MO_SVD_MOST_ITERATIONS && mo_ok(p->t->ctx); done += 4) {
        if (done > 0)
            mo_tape_sweep(p->t, p->mark, &Q, 1);
        Q = svd_general_iterate(p, Q, 4);
        svd->iterations = done + 4;
        svd_general_extract(p, Q, theta, s, svd);
        if (mo_svd_converged(p, svd->residual, before))
            return;
        before = svd->residual;
    }
}

void mo_svd_general(mo_svd_problem *p, double *theta, double *s, mo_svd *svd) {
    int count = p->exact ? 0 : p->options->power_iterations;
    mo_tensor *Q = first_basis(p);
    if (count < 0) {
        svd_general_converge(p, Q, theta, s, svd);
        return;
    }
    svd->iterations = count;
    svd_general_extract(p, svd_general_iterate(p, Q, count), theta, s, svd);
}
