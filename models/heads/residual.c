/* models/heads/residual.c - a head that gives only F(W; Zs, Ys, parameters): W is found by Newton-Krylov from W = 0 and
 * differentiated by the implicit function theorem.
 *
 * The solver gets F(W) / |F(0)|, per episode, so that its tolerance depends neither on the number of rows nor on the
 * scale of the embeddings. This scaling changes neither the solution nor its derivative. */
#include "models/heads/heads.h"

enum { ZS = 0, YS, SCALE, FIRST_PARAMETER }; /* theta */

/* Evaluates F(W) and checks that it has the shape and dtype of W. */
static mo_tensor *residual_evaluate(mo_tape *t, const mo_head *head, mo_tensor *W, mo_tensor *const *theta) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *F = head->residual(t, W, theta[ZS], theta[YS], theta + FIRST_PARAMETER);
    bool fits = !mo_is_null(F) && mo_ndim(F) == mo_ndim(W) && mo_tensor_dtype(F) == mo_tensor_dtype(W);
    for (int i = 0; fits && i < mo_ndim(W); i++)
        fits = mo_dim(F, i) == mo_dim(W, i);
    char got[160], want[160];
    if (!fits && mo_ok(ctx))
        mo_fail(ctx, MO_INVALID, "head %s: its residual is %s %s, expected %s %s", head->name,
            mo_is_null(F) ? "no tensor" : mo_shape_string(F, got, sizeof got),
            mo_is_null(F) ? "" : mo_dtype_name(mo_tensor_dtype(F)), mo_shape_string(W, want, sizeof want),
            mo_dtype_name(mo_tensor_dtype(W)));
    return fits ? F : mo_null_tensor(ctx);
}

static mo_tensor *residual_scaled(mo_tape *t, mo_tensor *W, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    return mo_div(t, residual_evaluate(t, state, W, theta), theta[SCALE]);
}

/* Returns |F(0)| of each episode [.., 1, 1], as a constant; 1 if F(0) = 0. */
static mo_tensor *first_norm(mo_tape *t, const mo_head *head, mo_tensor *W, mo_tensor *const *theta) {
    mo_mode mode = mo_tape_mode(t);
    mo_axes last_two = MO_AXES(-1, -2);
    mo_tape_set_mode(t, MO_EVAL);
    mo_tensor *norm = mo_sqrt(t, mo_sum(t, mo_square(t, residual_evaluate(t, head, W, theta)), last_two, MO_KEEP_AXES));
    norm = mo_where(t, norm, norm, mo_scalar(t, mo_tensor_dtype(W), 1));
    mo_tape_set_mode(t, mode);
    return norm;
}

mo_tensor *mo_head_weights(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_context *ctx = mo_tape_context(t);
    int ndim = mo_ndim(Zs), n = FIRST_PARAMETER + head->n_parameters;
    int64_t shape[MO_MAX_AXES];
    mo_tensor *theta[FIRST_PARAMETER + MO_MAX_HEAD_PARAMETERS] = {Zs, Ys};
    for (int i = 0; i < ndim - 2; i++)
        shape[i] = mo_dim(Zs, i);
    shape[ndim - 2] = mo_dim(Zs, -1) + 1;
    shape[ndim - 1] = mo_dim(Ys, -1);
    for (int i = 0; i < head->n_parameters; i++)
        theta[FIRST_PARAMETER + i] = parameters[i];
    mo_tensor *W = mo_full(t, mo_tensor_dtype(Zs), ndim, shape, 0);
    theta[SCALE] = mo_stop_gradient(t, first_norm(t, head, W, theta));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_solver_options options = {
        .implicit = {.batch_axes = ndim - 2, .symmetric = head->symmetric, .state = (void *)(uintptr_t)head},
        .tolerance = mo_tensor_dtype(Zs) == MO_F64 ? 1e-12 : 1e-5,
    };
    return mo_newton_krylov(t, W, residual_scaled, theta, n, &options);
}
