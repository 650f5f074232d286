/* models/heads/ridge.c - ridge regression on one-hot labels, in closed form (paper eq. "ridge-dual"; Bertinetto et al.
 * 2019).
 *
 * With Z1 = [Zs | 1], the bias column penalised like the rest, [W; b] minimises |Z1 [W; b] - Ys|^2 + lambda |[W; b]|^2:
 *     dual    [W; b] = Z1^T (Z1 Z1^T + lambda I)^-1 Ys     an n_s x n_s system, the smaller one while n_s <= d + 1
 *     primal  [W; b] = (Z1^T Z1 + lambda I)^-1 Z1^T Ys     a (d + 1) x (d + 1) system
 * Both are equal (push-through identity), values and gradients. Gradients flow to Zs, Ys, Zq and lambda. */
#include "models/head.h"

void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b) {
    int64_t d = mo_dim(Zs, -1), n_s = mo_dim(Zs, -2);
    int rows = mo_ndim(Zs) - 2;
    if (form == MO_RIDGE_AUTO)
        form = n_s <= d + 1 ? MO_RIDGE_DUAL : MO_RIDGE_PRIMAL;
    mo_tensor *Z1 = mo_append_ones(t, Zs), *Z1t = mo_transpose(t, Z1), *Wb;
    if (form == MO_RIDGE_DUAL)
        Wb = mo_matmul(t, Z1t, mo_solve_spd(t, mo_add_diag(t, mo_matmul(t, Z1, Z1t), lambda), Ys));
    else
        Wb = mo_solve_spd(t, mo_add_diag(t, mo_matmul(t, Z1t, Z1), lambda), mo_matmul(t, Z1t, Ys));
    *W = mo_slice(t, Wb, rows, 0, d);
    *b = mo_slice(t, Wb, rows, d, d + 1);
}

static mo_tensor *logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *W, *b;
    mo_ridge_fit(t, Zs, Ys, parameters[0], MO_RIDGE_AUTO, &W, &b);
    return mo_add(t, mo_matmul(t, Zq, W), b);
}

static const mo_head_parameter parameters[] = {{.name = "lambda", .value = 10}};

const mo_head mo_head_ridge = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "ridge",
    .n_parameters = 1,
    .parameters = parameters,
    .logits = logits,
    .order = 2,
};
