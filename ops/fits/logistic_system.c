/* ops/fits/logistic_system.c - products, preconditioner and conjugate gradients of logistic_system.h.
 *
 * The preconditioner puts row weights D_i = T_i max_c P_ic (1 - P_ic) for the curvature S: Phi^T D Phi + mu I, one
 * matrix for all classes. In the coordinates of the rows it is
 *     D (K v + 1 b) + lambda v = r,   1^T D (K v + 1 b) = r_b,
 * solved through the symmetric lambda I + D^1/2 K D^1/2. Summing the first line gives 1^T v = (1^T r - r_b) / lambda,
 * so with s = (D K + lambda)^-1 r and q = (D K + lambda)^-1 D 1: v = s - q b, b = (1^T s - (1^T r - r_b) / lambda) /
 * 1^T q.
 *
 * Conjugate gradients (ops/solvers/) are graph code, whose products use all threads; many or small systems go to the
 * device's kernel, if it has one. */
#include "ops/fits/logistic_system.h"
#include "autograd/tape.h"
#include "ops/rules/factor.h"
#include "tensor/fits.h"

#include <float.h>
#include <math.h>

/* From this number of elements on, a matrix is worth the threads inside its products. */
enum { LARGE_SYSTEM = 1 << 16 };

mo_tensor *mo_item_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXES(mo_ndim(X) - 2, mo_ndim(X) - 1), MO_KEEP_AXES);
}

mo_tensor *mo_class_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(-1), MO_KEEP_AXES);
}

mo_tensor *mo_class_centred(mo_tape *t, mo_tensor *X) {
    return mo_sub(t, X, mo_mean(t, X, MO_AXIS(-1), MO_KEEP_AXES));
}

static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(-2), MO_KEEP_AXES);
}

static mo_tensor *below(mo_tape *t, mo_tensor *X, mo_tensor *last_row) {
    return mo_concat(t, (mo_tensor *[]){X, last_row}, 2, MO_AXIS(-2));
}

/* The coordinates without the intercept, and those of the intercept. */
static mo_tensor *upper(mo_tape *t, mo_tensor *X) {
    return mo_slice(t, X, MO_AXIS(-2), 0, mo_dim(X, -2) - 1);
}

static mo_tensor *last(mo_tape *t, mo_tensor *X) {
    return mo_slice(t, X, MO_AXIS(-2), mo_dim(X, -2) - 1, mo_dim(X, -2));
}

mo_logistic_system mo_logistic_open(
    mo_tape *t, bool dual, bool free_intercept, mo_tensor *X, mo_tensor *weight, mo_tensor *lambda, mo_tensor *K) {
    mo_logistic_system s = {t, .dual = dual, .free_intercept = free_intercept, .X = X, .weight = weight};
    s.lambda = s.mu = lambda;
    if (dual)
        s.Phi = K ? K : mo_gram(t, X);
    else
        s.Phi = free_intercept ? mo_append_ones(t, X) : X;
    if (free_intercept) {
        int64_t rows = dual ? mo_dim(X, -2) : mo_dim(X, -1), size[] = {mo_dim(lambda, 0), rows, 1};
        s.mu = below(t, mo_broadcast_to(t, lambda, 3, size), mo_scale(t, lambda, 0, 0));
    }
    return s;
}

void mo_logistic_move(mo_logistic_system *s, mo_tensor *F) {
    s->P = mo_softmax(s->t, F, MO_AXIS(-1));
    s->TP = mo_mul(s->t, s->P, s->weight);
}

mo_krylov_vector mo_logistic_image(const mo_logistic_system *s, mo_tensor *x) {
    mo_tape *t = s->t;
    if (mo_logistic_passes(s, mo_dim(x, 2)))
        return (mo_krylov_vector){x, x, mo_logistic_pass_logits(s, x)};
    if (!s->dual)
        return (mo_krylov_vector){x, x, mo_matmul(t, s->Phi, x)};
    if (!s->free_intercept) {
        mo_tensor *G = mo_matmul(t, s->Phi, x);
        return (mo_krylov_vector){x, G, G};
    }
    mo_tensor *b = last(t, x), *G = mo_matmul(t, s->Phi, upper(t, x));
    return (mo_krylov_vector){x, below(t, G, b), mo_add(t, G, b)};
}

mo_tensor *mo_logistic_pull(const mo_logistic_system *s, mo_tensor *Q) {
    if (mo_logistic_passes(s, mo_dim(Q, 2)))
        return mo_logistic_pass_pull(s, Q);
    if (!s->dual)
        return mo_matmul(s->t, mo_transpose(s->t, s->Phi), Q);
    return s->free_intercept ? below(s->t, Q, row_sum(s->t, Q)) : Q;
}

mo_tensor *mo_logistic_curvature(const mo_logistic_system *s, mo_tensor *Q) {
    mo_tensor *TPQ = mo_mul(s->t, s->TP, Q);
    return mo_sub(s->t, TPQ, mo_mul(s->t, s->P, mo_class_sum(s->t, TPQ)));
}

/* ---- preconditioner ---- */

/* (D K + lambda)^-1 R. */
static mo_tensor *solve_rows(const mo_logistic_system *s, mo_tensor *R) {
    mo_tensor *Y = mo_solve_spd_factored(s->t, s->L, mo_div(s->t, R, s->root), s->L);
    return mo_mul(s->t, Y, s->root);
}

/* The matrix without its ridge: D^1/2 K D^1/2, or Phi^T D Phi. */
static mo_tensor *weighted_gram(const mo_logistic_system *s) {
    mo_tape *t = s->t;
    if (s->dual)
        return mo_mul(t, mo_mul(t, s->Phi, s->root), mo_transpose(t, s->root));
    return mo_matmul(t, mo_transpose(t, s->Phi), mo_mul(t, s->Phi, s->D));
}

static mo_tensor *trace_of_gram(const mo_logistic_system *s) { /* sum_i D_i |Phi_i|^2, [B, 1, 1] */
    mo_tape *t = s->t;
    int64_t B = mo_dim(s->Phi, 0), n = mo_dim(s->Phi, 1);
    mo_tensor *norms = s->dual ? mo_diagonal(t, s->Phi) : mo_logistic_row_squares(s, s->Phi, mo_dim(s->P, 2));
    return mo_item_sum(t, mo_mul(t, s->D, mo_reshape(t, norms, 3, (int64_t[]){B, n, 1})));
}

/* Sets the roots and the ridge, which depend on D alone. The ridge also keeps the factor positive in rounding: a
 * preconditioner need not be exact. */
static void set_diagonal(mo_logistic_system *s, mo_tensor *D) {
    mo_tape *t = s->t;
    double epsilon = mo_tensor_dtype(s->X) == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    s->D = D;
    s->root = s->dual ? mo_sqrt(t, D) : NULL;
    s->ridge = mo_add(t, mo_scale(t, trace_of_gram(s), 2 * epsilon, (double)FLT_MIN), s->lambda);
}

void mo_logistic_reuse(mo_logistic_system *s, mo_tensor *D, mo_tensor *L) {
    set_diagonal(s, D);
    s->L = L;
    s->border = s->dual && s->free_intercept ? solve_rows(s, s->D) : NULL;
}

void mo_logistic_factor(mo_logistic_system *s) {
    mo_tape *t = s->t;
    mo_tensor *D = mo_max(t, mo_mul(t, s->TP, mo_scale(t, s->P, -1, 1)), MO_AXIS(2), MO_KEEP_AXES);
    set_diagonal(s, mo_clamp(t, D, 1e-12, INFINITY));
    mo_tensor *M = weighted_gram(s), *diagonal = s->ridge;
    int64_t B = mo_dim(M, 0), rows = mo_dim(M, 2);
    if (s->free_intercept && !s->dual) /* lambda, except for the intercept */
        diagonal = mo_add(t, s->ridge, mo_sub(t, s->mu, s->lambda));
    diagonal = mo_contiguous(t, mo_broadcast_to(t, diagonal, 3, (int64_t[]){B, rows, 1}));
    diagonal = mo_reshape(t, diagonal, 2, (int64_t[]){B, rows});
    mo_logistic_reuse(s, s->D, mo_cholesky(t, mo_add(t, M, mo_diagonal_embed(t, diagonal))));
}

static mo_tensor *precondition(const mo_logistic_system *s, mo_tensor *r) {
    mo_tape *t = s->t;
    mo_tensor *V;
    if (!s->L)
        return r;
    if (!s->dual)
        V = mo_solve_spd_factored(t, s->L, r, s->L);
    else if (!s->free_intercept)
        V = solve_rows(s, r);
    else {
        mo_tensor *head = upper(t, r), *S = solve_rows(s, head);
        mo_tensor *excess = mo_div(t, mo_sub(t, row_sum(t, head), last(t, r)), s->ridge);
        mo_tensor *b = mo_div(t, mo_sub(t, row_sum(t, S), excess), row_sum(t, s->border));
        V = below(t, mo_sub(t, S, mo_mul(t, s->border, b)), b);
    }
    return mo_class_centred(t, V);
}

/* ---- conjugate gradients ---- */

static mo_tensor *logistic_product(mo_tape *t, const mo_krylov_vector *p, const void *state) {
    const mo_logistic_system *s = state;
    mo_tensor *losses = mo_logistic_passes(s, mo_dim(p->x, 2)) ? mo_logistic_pass_hessian(s, p->x)
                                                               : mo_logistic_pull(s, mo_logistic_curvature(s, p->F));
    return mo_add(t, losses, mo_mul(t, s->mu, p->x));
}

static mo_krylov_vector logistic_preconditioned(mo_tape *t, mo_tensor *r, const void *state) {
    const mo_logistic_system *s = state;
    (void)t;
    mo_tensor *z = precondition(s, r);
    return mo_logistic_passes(s, mo_dim(r, 2)) ? (mo_krylov_vector){z, z, z} : mo_logistic_image(s, z);
}

static bool conjugate_composed(
    const mo_logistic_system *s, mo_tensor *r, mo_tensor *eta, int limit, mo_krylov_vector *solution) {
    mo_tape *t = s->t;
    mo_conjugate g = {logistic_product, logistic_preconditioned, s, .batch_axes = 1, .limit = limit};
    *solution = mo_conjugate_solve(t, &g, r, mo_square(t, eta));
    if (mo_logistic_passes(s, mo_dim(r, 2)))
        *solution = mo_logistic_image(s, solution->x);
    mo_tensor *solved = mo_greater_equal(t, g.target, g.square); /* 0 where it is NaN */
    return mo_item(mo_sum(t, solved, MO_ALL, MO_DROP_AXES)) == (double)mo_dim(r, 0) && mo_ok(mo_tape_context(t));
}

static mo_view dense(mo_tape *t, mo_tensor *X) {
    return X ? mo_tensor_view(mo_contiguous(t, X)) : (mo_view){0};
}

static bool conjugate_by_kernel(
    const mo_logistic_system *s, mo_tensor *r, mo_tensor *eta, int limit, mo_krylov_vector *solution) {
    mo_tape *t = s->t;
    mo_context *ctx = mo_tape_context(t);
    int64_t B = mo_dim(r, 0);
    mo_tensor *x = mo_tape_tensor(t, r->dtype, 3, r->shape), *F = mo_tape_tensor(t, r->dtype, 3, s->P->shape);
    mo_tensor *open = mo_tape_tensor(t, r->dtype, 3, (int64_t[]){B, 1, 1});
    mo_logistic_cg g = {.dual = s->dual, .free_intercept = s->free_intercept, .limit = limit};
    g.Phi = dense(t, s->Phi);
    g.P = dense(t, s->P);
    g.T = dense(t, s->weight);
    g.lambda = dense(t, s->lambda);
    g.r = dense(t, r);
    g.eta = dense(t, eta);
    g.L = dense(t, s->L);
    g.root = dense(t, s->root);
    g.border = dense(t, s->border);
    g.ridge = dense(t, s->ridge);
    g.x = dense(t, x);
    g.F = dense(t, F);
    g.unsolved = dense(t, open);
    if (!mo_ok(ctx))
        return false;
    mo_fits_of(ctx, r->dtype)->logistic_cg(ctx, &g);
    *solution = (mo_krylov_vector){x, x, F};
    if (s->dual) {
        mo_tensor *b = s->free_intercept ? last(t, x) : NULL;
        solution->G = b ? below(t, mo_sub(t, F, b), b) : F;
    }
    return mo_item(mo_sum(t, open, MO_ALL, MO_DROP_AXES)) == 0 && mo_ok(ctx);
}

bool mo_logistic_conjugate(
    const mo_logistic_system *s, mo_tensor *r, mo_tensor *eta, int limit, mo_krylov_vector *solution) {
    const mo_fits *k = mo_fits_of(mo_tape_context(s->t), mo_tensor_dtype(r));
    bool composed =
        !k || !k->logistic_cg || (mo_dim(r, 0) == 1 && mo_dim(s->Phi, 1) * mo_dim(s->Phi, 2) > LARGE_SYSTEM);
    return (composed ? conjugate_composed : conjugate_by_kernel)(s, r, eta, limit, solution);
}

/* ---- between tensors of the caller and the system ---- */

mo_tensor *mo_logistic_weights(const mo_logistic_system *s, mo_tensor *x) {
    mo_tape *t = s->t;
    if (!s->dual)
        return x;
    mo_tensor *Xt = mo_transpose(t, s->X);
    return s->free_intercept ? below(t, mo_matmul(t, Xt, upper(t, x)), last(t, x)) : mo_matmul(t, Xt, x);
}

mo_tensor *mo_flat_batch(mo_tape *t, mo_tensor *X) {
    int64_t rows = mo_dim(X, -2), columns = mo_dim(X, -1), batch = 1;
    for (int i = 0; i < mo_ndim(X) - 2; i++)
        batch *= mo_dim(X, i);
    return mo_reshape(t, mo_contiguous(t, X), 3, (int64_t[]){batch, rows, columns});
}

mo_tensor *mo_flat_lambda(mo_tape *t, mo_tensor *lambda) {
    return mo_reshape(t, mo_contiguous(t, lambda), 3, (int64_t[]){mo_numel(lambda), 1, 1});
}
