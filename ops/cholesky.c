/* ops/cholesky.c - L with A = L L^T for symmetric positive definite A, batched.
 *
 * A [.., n, n] -> L [.., n, n] lower triangular with positive diagonal; float32 or float64. Only the lower triangle of
 * A is read. Errors: A not square, a matrix that is not positive definite or not finite (named, with its leading
 * minor). Saved: nothing beyond L.
 *
 * A = L L^T;  dA = dL L^T + L dL^T;  L^-1 dA L^-T = L^-1 dL + (L^-1 dL)^T. The first term is lower triangular, so
 * L^-1 dL = Phi(L^-1 dA L^-T), where Phi keeps the lower triangle and halves the diagonal (Smith 1995, Murray 2016).
 * <L_bar, dL> = <Phi(L^T L_bar), L^-1 dA L^-T>, hence
 *     M = L^-T Phi(L^T L_bar) L^-1,   A_bar = ½ (M + M^T) on the symmetric matrices. */
#include "ops/inside.h"
#include "ops/rules/factor.h"

static bool cholesky_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    return mo_call_real(c, 0, 0) && mo_call_square(c, 0) && mo_call_output(c, 0, A->dtype, A->ndim, A->shape);
}

static void cholesky_forward(mo_call *c) {
    mo_tensor *info = mo_factor_info(c, c->in[0]);
    mo_view a = mo_tensor_view(c->in[0]), l = mo_tensor_view(c->out[0]), i = mo_tensor_view(info);
    if (!mo_ok(c->ctx))
        return;
    c->ctx->backend->copy(c->ctx, &a, &l);
    mo_kernels_of(c->ctx, l.dtype)->potrf(c->ctx, &l, &i);
    mo_check_factor_info(c, info, "is not positive definite (leading minor %d)");
}

/* Phi(X): the lower triangle of X with its diagonal halved. */
static mo_tensor *Phi(mo_tape *t, mo_tensor *X) {
    mo_tensor *half_diagonal = mo_scale(t, mo_diagonal_embed(t, mo_diagonal(t, X)), 0.5, 0);
    return mo_sub(t, mo_tril(t, X), half_diagonal);
}

static void cholesky_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *L = v->out[0], *L_bar = v->out_bar[0];
    mo_tensor *P = Phi(t, mo_matmul(t, mo_transpose(t, L), L_bar));
    mo_tensor *S = mo_solve_triangular(t, L, P, MO_LOWER_TRANSPOSED); /* L^-T P */
    mo_tensor *M_T =
        mo_solve_triangular(t, L, mo_transpose(t, S), MO_LOWER_TRANSPOSED); /* (L^-T P L^-1)^T = L^-T S^T */
    v->in_bar[0] = mo_scale(t, mo_add(t, M_T, mo_transpose(t, M_T)), 0.5, 0);
}

static double cholesky_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return (double)mo_numel(c->in[0]) * n / 3;
}

static const mo_sample cholesky_samples[] = {
    {"matrix", "spd[5, 5]"},
    {"batch", "spd[2, 2, 3, 3]"},
    {"one", "spd[1, 1]"},
    {"not square", "[3, 4]", .error = "cholesky: expected square matrices [.., n, n]; got [3, 4]"},
    {"indefinite", "symmetric[2, 4, 4]", .error = "cholesky: matrix 0 of 2 is not positive definite (leading minor",
        .code = MO_NUMERICAL},
};

const mo_op mo_op_cholesky = {
    .name = "cholesky",
    .reads_out = 1,
    .shape = cholesky_shape,
    .forward = cholesky_forward,
    .vjp = cholesky_vjp,
    .flops = cholesky_flops,
    MO_SAMPLES(cholesky_samples),
};

mo_tensor *mo_cholesky(mo_tape *t, mo_tensor *A) {
    return mo_apply(t, &mo_op_cholesky, (mo_tensor *[]){A}, 1, NULL);
}

mo_tensor *mo_cholesky_solve(mo_tape *t, mo_tensor *L, mo_tensor *B) {
    mo_tensor *V = mo_solve_triangular(t, L, B, MO_LOWER);    /* L^-1 B */
    return mo_solve_triangular(t, L, V, MO_LOWER_TRANSPOSED); /* L^-T L^-1 B */
}
