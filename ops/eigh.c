/* ops/eigh.c - w and V with A V = V diag(w) for symmetric A, batched.
 *
 * A [.., n, n] -> w [.., n] in rising order, V [.., n, n] with orthonormal eigenvectors in its columns; float32 or
 * float64. The lower triangle of A is read; all of A must be finite. The sign of an eigenvector is arbitrary: the entry
 * of largest magnitude of each column (the first of equal ones) is made positive. Errors: A not square, not finite, not
 * converged (named); a gradient through V if two eigenvalues differ by at most 1e-8 (float32: 1e-4) of the matrix's
 * largest |w|, since V has no derivative at equal ones. Saved: nothing beyond w and V.
 *
 * With C = V^T dV (antisymmetric) and W = diag(w): V^T dA V = dW + C W - W C, so dw = diag(V^T dA V) and
 * C_ij = F_ij (V^T dA V)_ij, F_ij = 1 / (w_j - w_i) off the diagonal, 0 on it. Hence (Giles 2008, 3.1)
 *     M = V (diag(w_bar) + F * (V^T V_bar)) V^T,   A_bar = ½ (M + M^T) on the symmetric matrices. */
#include "ops/inside.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"
#include "ops/rules/spectrum.h"

static bool eigh_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    return mo_call_real(c, 0, 0) && mo_call_square(c, 0) && mo_call_output(c, 0, A->dtype, A->ndim - 1, A->shape) &&
           mo_call_output(c, 1, A->dtype, A->ndim, A->shape);
}

static void eigh_forward(mo_call *c) {
    const mo_tensor *A = c->in[0];
    mo_tensor *info = mo_factor_info(c, A), *copy = mo_call_temporary(c, A->dtype, A->ndim, A->shape);
    mo_view a = mo_tensor_view(A), u = mo_tensor_view(copy), i = mo_tensor_view(info);
    mo_view w = mo_tensor_view(c->out[0]), V = mo_tensor_view(c->out[1]);
    if (!mo_ok(c->ctx))
        return;
    c->ctx->backend->copy(c->ctx, &a, &u);
    mo_kernels_of(c->ctx, A->dtype)->syevd(c->ctx, &u, &w, &i);
    if (mo_check_factor_info(c, info, "has eigenvalues that did not converge (%d)"))
        mo_fix_signs(c, u, u, V);
}

/* Returns F * (V^T V_bar), the part of M that comes through the eigenvectors. */
static mo_tensor *eigenvector_term(mo_tape *t, mo_tensor *w, mo_tensor *V, mo_tensor *V_bar) {
    int n = V->ndim;
    int64_t column[MO_MAX_AXES], row[MO_MAX_AXES];
    for (int i = 0; i < n; i++)
        column[i] = row[i] = V->shape[i];
    column[n - 1] = row[n - 2] = 1;
    mo_tensor *gaps = mo_sub(t, mo_reshape(t, w, n, row), mo_reshape(t, w, n, column)); /* w_j - w_i */
    return mo_div_or_zero(t, mo_matmul(t, mo_transpose(t, V), V_bar), gaps);
}

static void eigh_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *w = v->out[0], *V = v->out[1], *w_bar = v->out_bar[0], *V_bar = v->out_bar[1], *inner = NULL;
    if (V_bar) {
        if (!mo_check_spectrum(t, w, &(mo_spectrum){"eigh", "V", "eigenvalue", false}))
            return;
        inner = eigenvector_term(t, w, V, V_bar);
    }
    if (w_bar) {
        mo_tensor *W_bar = mo_diagonal_embed(t, w_bar);
        inner = inner ? mo_add(t, inner, W_bar) : W_bar;
    }
    mo_tensor *M = mo_matmul(t, mo_matmul(t, V, inner), mo_transpose(t, V));
    v->in_bar[0] = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
}

static double eigh_flops(const mo_call *c) {
    double n = (double)mo_dim(c->in[0], -1);
    return 9 * (double)mo_numel(c->in[0]) * n; /* Golub and Van Loan 2013, 8.3.3 */
}

static const mo_sample eigh_samples[] = {
    {"matrix", "symmetric[5, 5]"},
    {"batch", "symmetric[2, 3, 3]"},
    {"one", "symmetric[1, 1]"},
    {"not square", "[3, 4]", .error = "eigh: expected square matrices [.., n, n]; got [3, 4]"},
};

const mo_op mo_op_eigh = {
    .name = "eigh",
    .n_out = 2,
    .reads_out = 3,
    .shape = eigh_shape,
    .forward = eigh_forward,
    .vjp = eigh_vjp,
    .flops = eigh_flops,
    MO_SAMPLES(eigh_samples),
};

void mo_eigh(mo_tape *t, mo_tensor *A, mo_tensor **w, mo_tensor **V) {
    mo_tensor *out[2] = {NULL};
    mo_apply_all(t, &mo_op_eigh, (mo_tensor *[]){A}, 1, NULL, out);
    if (w)
        *w = out[0];
    if (V)
        *V = out[1];
}
