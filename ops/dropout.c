/* ops/dropout.c - Y = X * M, where an entry of M is 0 with probability p, else 1 / (1 - p) (Srivastava et al. 2014).
 *
 * X of any shape -> Y of the same shape; float32 or float64. Entry i of M is drawn at the call's random position plus
 * i, so equal positions give equal masks on any device and with any number of threads. mo_dropout advances the position
 * by the number of entries; in MO_EVAL and at p = 0 it returns X itself and does not advance. Errors: p outside [0, 1).
 * Saved: M.
 *
 * M does not depend on X: dY = M * dX, hence X_bar = M * Y_bar. */
#include "ops/inside.h"
#include "tensor/library.h"
#include "tensor/objects.h"

typedef struct dropout {
    double rate;
    mo_random r;
} dropout;

static bool dropout_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    double rate = ((const dropout *)c->attributes)->rate;
    if (!mo_call_real(c, 0, 0))
        return false;
    if (!(rate >= 0 && rate < 1))
        return mo_call_fail(c, MO_INVALID, "rate %g, expected at least 0 and below 1", rate);
    return mo_call_output(c, 0, X->dtype, X->ndim, X->shape);
}

static void dropout_forward(mo_call *c) {
    const dropout *d = c->attributes;
    const mo_tensor *X = c->in[0];
    mo_tensor *M = mo_tape_tensor(c->t, X->dtype, X->ndim, X->shape);
    mo_view x = mo_tensor_view(X), y = mo_tensor_view(c->out[0]), m = mo_tensor_view(M);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    k->dropout_mask(c->ctx, d->rate, &d->r, &m);
    k->map2(c->ctx, MO_MAP_MUL, &x, &m, &y);
    mo_call_save(c, M);
}

static void dropout_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->saved[0], v->out_bar[0]);
}

static const mo_sample dropout_samples[] = {
    {"half", "[3, 4]", &(dropout){0.5, {7, MO_PURPOSE_DROPOUT, 1, 3}}},
    {"tenth", "[9]", &(dropout){0.1, {7, MO_PURPOSE_DROPOUT, 1, 3}}},
    {"none", "[3]", &(dropout){0, {7, MO_PURPOSE_DROPOUT, 1, 3}}},
    {"one", "[3]", &(dropout){1, {7, MO_PURPOSE_DROPOUT, 1, 3}},
        .error = "dropout: rate 1, expected at least 0 and below 1; got [3] float64"},
    {"negative", "[3]", &(dropout){-0.1, {7, MO_PURPOSE_DROPOUT, 1, 3}}, .error = "rate -0.1"},
};

const mo_op mo_op_dropout = {
    .name = "dropout",
    .attributes_size = sizeof(dropout),
    .shape = dropout_shape,
    .forward = dropout_forward,
    .vjp = dropout_vjp,
    MO_SAMPLES(dropout_samples),
};

mo_tensor *mo_dropout(mo_tape *t, mo_tensor *X, double rate, mo_random *r) {
    if (rate == 0 || (mo_tape_mode(t) == MO_EVAL && rate > 0 && rate < 1))
        return X;
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "dropout", "the random position", r))
        return mo_null_tensor(ctx);
    mo_tensor *Y = mo_apply(t, &mo_op_dropout, (mo_tensor *[]){X}, 1, &(dropout){rate, *r});
    if (!mo_is_null(Y))
        r->index += (uint64_t)mo_numel(Y);
    return Y;
}
