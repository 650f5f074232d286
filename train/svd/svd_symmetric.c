/* train/svd/svd_symmetric.c - the truncated SVD of a symmetric matrix: its eigenpairs of largest magnitude.
 *
 * Q = orth(A^2 .. A^2 Omega), Omega random [n, q], two products per power iteration (one more at first for a large
 * graph: the larger a sparse graph, the flatter its spectrum); then Rayleigh-Ritz on [Q, A Q] (ritz.c): A U = U
 * diag(theta), S = |theta|, V = U sign(theta). A pair of eigenvalues +-s is one double singular value, whose two
 * vectors an SVD could rotate; the eigenvectors here are not rotated. The whole computation takes three matrices [n, q]
 * of memory. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "train/svd/svd_parts.h"

#include <math.h>

/* S and signs of the eigenvalues theta; overwrites theta. */
static void put_values(mo_svd_problem *p, double *theta, double *s, mo_svd *svd) {
    mo_singular_values(p, theta, s);
    for (int64_t j = 0; j < p->r; j++)
        theta[j] = theta[j] < 0 && s[j] > 0 ? -1 : 1;
    svd->S = mo_svd_vector(p, s);
    svd->sign = mo_svd_vector(p, theta);
}

static void svd_symmetric_exact(mo_svd_problem *p, double *theta, double *s, mo_svd *svd) {
    mo_tape *t = p->t;
    mo_tensor *T = mo_spmm(t, p->A, mo_eye(t, p->real, p->n));
    mo_tensor *W = mo_leading_eigenvectors(t, T, p->r, p->rounding, theta);
    svd->U = mo_contiguous(t, W);
    if (!mo_ok(t->ctx))
        return;
    put_values(p, theta, s, svd);
    svd->orthogonality = mo_reorthonormalize(t, svd->U);
    svd->residual = mo_svd_residual(p, mo_spmm(t, p->A, svd->U), svd->U, mo_mul(t, svd->S, svd->sign));
}

enum { LARGE = 80000 }; /* rows */

/* Q := A Q, or orth(A Q). Swaps the panels. */
static void svd_symmetric_step(mo_svd_problem *p, mo_tensor **panel, int passes) {
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
static void svd_symmetric_iterate(mo_svd_problem *p, mo_tensor **panel, int count) {
    for (int k = 0; k < count && mo_ok(p->t->ctx); k++) {
        bool gentle = p->condition < MO_SVD_FLAT && p->norm < MO_SVD_MODEST;
        svd_symmetric_step(p, panel, gentle ? 0 : 1);
        svd_symmetric_step(p, panel, 1);
        p->condition = gentle ? sqrt(p->condition) : p->condition; /* the condition of one product */
    }
}

/* Extracts the Ritz vectors to panel[2] and computes their residual through panel[0]. */
static void svd_symmetric_extract(
    mo_svd_problem *p, mo_tensor **panel, int64_t wanted, double *theta, double *s, mo_svd *svd) {
    mo_tape *t = p->t;
    bool images = p->options->power_iterations != 0;
    svd->orthogonality = mo_ritz_pairs(t, p->A, panel, images, wanted, p->rounding, theta);
    if (!mo_ok(t->ctx))
        return;
    put_values(p, theta, s, svd);
    svd->U = mo_slice(t, panel[2], MO_AXIS(1), 0, p->r);
    mo_tensor *AU = mo_slice(t, panel[0], MO_AXIS(1), 0, p->r);
    mo_tall_spmm(p->A, svd->U, AU);
    svd->residual = mo_svd_residual(p, AU, svd->U, mo_mul(t, svd->S, svd->sign));
}

/* Power iterations, two at a time and starting from the Ritz vectors, until the residual is at the level of rounding,
 * or near it and no longer falling. */
static void svd_symmetric_converge(mo_svd_problem *p, mo_tensor **panel, double *theta, double *s, mo_svd *svd) {
    double before = INFINITY;
    for (int done = 0; done < MO_SVD_MOST_ITERATIONS && mo_ok(p->t->ctx); done += 2) {
        svd_symmetric_iterate(p, panel, 2);
        svd_symmetric_extract(p, panel, p->q, theta, s, svd);
        svd->iterations = done + 2;
        if (mo_svd_converged(p, svd->residual, before))
            return;
        before = svd->residual;
        mo_tensor *ritz = panel[2];
        panel[2] = panel[0];
        panel[0] = ritz;
    }
}

void mo_svd_symmetric(mo_svd_problem *p, double *theta, double *s, mo_svd *svd) {
    if (p->exact) {
        svd_symmetric_exact(p, theta, s, svd);
        return;
    }
    int count = p->options->power_iterations;
    mo_tensor *panel[3];
    for (int i = 0; i < 3; i++)
        panel[i] = mo_tall_create(p->t, p->real, p->n, p->q);
    mo_test_matrix(p, panel[0]);
    p->condition = 1; /* the condition of Omega */
    if (count < 0) {
        svd_symmetric_converge(p, panel, theta, s, svd);
        return;
    }
    if (count == 0)
        svd_symmetric_step(p, panel, 2);
    else if (p->n > LARGE && p->norm < MO_SVD_MODEST)
        svd_symmetric_step(p, panel, 0);
    svd_symmetric_iterate(p, panel, count);
    svd_symmetric_extract(p, panel, p->r, theta, s, svd);
    svd->iterations = count;
}
