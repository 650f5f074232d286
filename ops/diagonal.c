/* ops/diagonal.c - the diagonal of square matrices, and its adjoint: a diagonal set into zeros; identity and trace.
 *
 * diagonal: A [.., n, n] -> y [.., n], y_i = A_ii; a view whose stride is the sum of the strides of rows and columns,
 * any dtype. diagonal_embed: x [.., n] -> Y [.., n, n], Y_ii = x_i, zeros off the diagonal; a copy. Errors: not square;
 * axes that are missing or too many. Saved: nothing.
 *
 * <y_bar, dy> = sum_i y_bar_i dA_ii = <diagonal_embed(y_bar), dA>, so each is the adjoint of the other. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"

#include <string.h>

static bool diagonal_shape(mo_call *c) {
    const mo_tensor *A = c->in[0];
    if (A->ndim < 2 || mo_dim(A, -1) != mo_dim(A, -2))
        return mo_call_fail(c, MO_INVALID, "expected square matrices [.., n, n]");
    return true;
}

static void diagonal_forward(mo_call *c) {
    mo_view d = mo_diagonal_view(mo_tensor_view(c->in[0]));
    mo_call_view(c, d.ndim, d.shape, d.stride, 0);
}

static void diagonal_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_diagonal_embed(v->t, v->out_bar[0]);
}

static const mo_sample diagonal_samples[] = {
    {"matrix", "[4, 4]"},
    {"batch", "[2, 1, 3, 3]"},
    {"not square", "[3, 4]", .error = "diagonal: expected square matrices [.., n, n]; got [3, 4]"},
};

const mo_op mo_op_diagonal = {
    .name = "diagonal",
    .is_view = true,
    .shape = diagonal_shape,
    .forward = diagonal_forward,
    .vjp = diagonal_vjp,
    MO_SAMPLES(diagonal_samples),
};

mo_tensor *mo_diagonal(mo_tape *t, mo_tensor *A) {
    return mo_apply(t, &mo_op_diagonal, (mo_tensor *[]){A}, 1, NULL);
}

/* ---- diagonal_embed ---- */

static bool diagonal_embed_shape(mo_call *c) {
    const mo_tensor *x = c->in[0];
    int64_t size[MO_MAX_AXES + 1];
    if (x->ndim < 1 || x->ndim == MO_MAX_AXES)
        return mo_call_fail(c, MO_INVALID, "expected 1 to %d axes", MO_MAX_AXES - 1);
    memcpy(size, x->shape, sizeof x->shape);
    size[x->ndim] = x->shape[x->ndim - 1];
    return mo_call_output(c, 0, x->dtype, x->ndim + 1, size);
}

static void diagonal_embed_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]), d = mo_diagonal_view(y);
    c->ctx->backend->fill(c->ctx, 0, &y);
    c->ctx->backend->copy(c->ctx, &x, &d);
}

static void diagonal_embed_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_diagonal(v->t, v->out_bar[0]);
}

static const mo_sample diagonal_embed_samples[] = {
    {"vector", "[4]"},
    {"batch", "[2, 2, 3]"},
    {"scalar", "[]", .error = "diagonal_embed: expected 1 to 5 axes"},
};

const mo_op mo_op_diagonal_embed = {
    .name = "diagonal_embed",
    .shape = diagonal_embed_shape,
    .forward = diagonal_embed_forward,
    .vjp = diagonal_embed_vjp,
    MO_SAMPLES(diagonal_embed_samples),
};

mo_tensor *mo_diagonal_embed(mo_tape *t, mo_tensor *x) {
    return mo_apply(t, &mo_op_diagonal_embed, (mo_tensor *[]){x}, 1, NULL);
}

/* ---- functions made of these ops ---- */

mo_tensor *mo_eye(mo_tape *t, mo_dtype real, int64_t n) {
    return mo_diagonal_embed(t, mo_full(t, real, 1, &n, 1));
}

mo_tensor *mo_trace(mo_tape *t, mo_tensor *A) {
    mo_tensor *d = mo_diagonal(t, A);
    return mo_is_null(d) ? d : mo_sum(t, d, MO_AXIS(d->ndim - 1), MO_DROP_AXES);
}
