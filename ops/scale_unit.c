/* ops/scale_unit.c - Y = s X / max(|X|, epsilon) row by row: l2_normalize and a factor, in one pass.
 *
 * X [.., d] and s, a scalar -> Y [.., d]. float32 or float64. Errors: no axis, s with axes. Saved: nothing beyond the
 * inputs.
 *
 * With U = X / M and M = max(|X|, epsilon) (normalize.c), dY = s dU + U ds, hence
 *     s_bar = <U, Y_bar>,   X_bar = s (Y_bar - U <U, Y_bar> [|X| > epsilon]) / M for each row.
 * scale_unit_adjoint computes both in one pass where the device has a kernel for it; s_bar is the sum of a number for
 * each row. Where gradients of gradients are asked for, and elsewhere, the rule is made of ops, so scale_unit_adjoint
 * has no derivative of its own. */
#include "ops/inside.h"
#include "ops/rules/shapes.h"
#include "tensor/backend.h"
#include "tensor/storage.h"

#include <math.h>
#include <string.h>

typedef struct guard {
    double epsilon;
} guard;

extern const mo_op mo_op_l2_normalize_adjoint, mo_op_scale_unit_adjoint;

static bool rows_and_scalar(mo_call *c) {
    if (!mo_call_real(c, 0, c->n_in - 1))
        return false;
    if (c->in[0]->ndim < 1 || c->in[1]->ndim != 0)
        return mo_call_fail(c, MO_INVALID, "expected rows [.., d] and a scalar");
    return true;
}

static bool scale_unit_shape(mo_call *c) {
    return rows_and_scalar(c) && mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape);
}

/* A scalar repeated over the axes of a view. */
static mo_view repeated(mo_view s, const mo_view *over) {
    s.ndim = over->ndim;
    memcpy(s.shape, over->shape, sizeof s.shape);
    memset(s.stride, 0, sizeof s.stride);
    return s;
}

static void scale_unit_forward(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    mo_view x = mo_call_dense(c, 0), s = mo_tensor_view(c->in[1]), y = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    if (k->scale_unit) {
        k->scale_unit(c->ctx, epsilon, &x, &s, &y);
        return;
    }
    s = repeated(s, &y);
    k->l2_normalize(c->ctx, epsilon, &x, &y);
    k->map2(c->ctx, MO_MAP_MUL, &y, &s, &y);
}

static void scale_unit_by_ops(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_tensor *X = v->in[0], *s = v->in[1], *Y_bar = v->out_bar[0];
    mo_tensor *U = mo_l2_normalize(t, X, ((const guard *)v->attributes)->epsilon);
    if (v->needs[0])
        v->in_bar[0] =
            mo_apply(t, &mo_op_l2_normalize_adjoint, (mo_tensor *[]){X, U, mo_mul(t, Y_bar, s)}, 3, v->attributes);
    if (v->needs[1])
        v->in_bar[1] = mo_sum_to(t, mo_mul(t, Y_bar, U), 0, NULL);
}

static void scale_unit_vjp(mo_vjp *v) {
    mo_tensor *out[2];
    const mo_tensor *X = v->in[0];
    if (v->create_graph || !mo_kernels_of(X->ctx, X->dtype)->scale_unit_adjoint) {
        scale_unit_by_ops(v);
        return;
    }
    mo_apply_all(
        v->t, &mo_op_scale_unit_adjoint, (mo_tensor *[]){v->in[0], v->in[1], v->out_bar[0]}, 3, v->attributes, out);
    v->in_bar[0] = out[0];
    if (v->needs[1])
        v->in_bar[1] = mo_sum_to(v->t, out[1], 0, NULL);
}

static double scale_unit_flops(const mo_call *c) {
    return 4.0 * (double)mo_numel(c->in[0]);
}

/* ---- the adjoint ---- */

static bool scale_unit_adjoint_shape(mo_call *c) {
    if (!rows_and_scalar(c))
        return false;
    if (!mo_same_shape(c->in[0], c->in[2]))
        return mo_call_fail(c, MO_INVALID, "expected rows and their cotangents of one shape");
    return mo_call_output(c, 0, c->in[0]->dtype, c->in[0]->ndim, c->in[0]->shape) &&
           mo_call_output(c, 1, c->in[0]->dtype, c->in[0]->ndim - 1, c->in[0]->shape);
}

/* By one kernel after the other. */
static void compose_adjoint(mo_call *c, double epsilon, const mo_view *x, const mo_view *s, const mo_view *g) {
    const mo_kernels *k = mo_kernels_of(c->ctx, x->dtype);
    mo_view x_bar = mo_tensor_view(c->out[0]), along = mo_tensor_view(c->out[1]);
    mo_view u = mo_tensor_view(mo_call_temporary(c, x->dtype, x->ndim, x->shape));
    mo_view M = mo_tensor_view(mo_call_temporary(c, x->dtype, along.ndim, along.shape));
    mo_view above = mo_tensor_view(mo_call_temporary(c, x->dtype, along.ndim, along.shape));
    if (!mo_ok(c->ctx))
        return;
    mo_view on_rows[3] = {along, M, above};
    for (int i = 0; i < 3; i++) {
        on_rows[i].ndim = x->ndim;
        on_rows[i].shape[x->ndim - 1] = x->shape[x->ndim - 1];
        on_rows[i].stride[x->ndim - 1] = 0;
    }
    mo_view scale = repeated(*s, x);
    k->l2_normalize(c->ctx, epsilon, x, &u);
    k->map2(c->ctx, MO_MAP_MUL, &u, g, &x_bar);
    k->reduce(c->ctx, MO_REDUCE_SUM, &x_bar, &on_rows[0]);
    k->reduce(c->ctx, MO_REDUCE_SUM_OF_SQUARES, x, &on_rows[1]);
    k->map1(c->ctx, MO_MAP_SQRT, 0, 0, &M, &M);
    k->map1(c->ctx, MO_MAP_SCALE, 1, -epsilon, &M, &above);
    k->map1(c->ctx, MO_MAP_CLAMP, epsilon, INFINITY, &M, &M);
    k->map2(c->ctx, MO_MAP_RELU_MASK, &along, &above, &above);
    k->map2(c->ctx, MO_MAP_MUL, &u, &on_rows[2], &x_bar);
    k->map2(c->ctx, MO_MAP_SUB, g, &x_bar, &u);
    k->map2(c->ctx, MO_MAP_DIV, &u, &on_rows[1], &u);
    k->map2(c->ctx, MO_MAP_MUL, &u, &scale, &x_bar);
}

static void scale_unit_adjoint_forward(mo_call *c) {
    double epsilon = ((const guard *)c->attributes)->epsilon;
    bool rows = c->in[2]->ndim == 2 && mo_tensor_view(c->in[2]).stride[1] == 1;
    mo_view x = mo_call_dense(c, 0), s = mo_tensor_view(c->in[1]);
    mo_view g = rows ? mo_tensor_view(c->in[2]) : mo_call_dense(c, 2);
    mo_view x_bar = mo_tensor_view(c->out[0]), along = mo_tensor_view(c->out[1]);
    if (!mo_ok(c->ctx))
        return;
    const mo_kernels *k = mo_kernels_of(c->ctx, x.dtype);
    if (k->scale_unit_adjoint)
        k->scale_unit_adjoint(c->ctx, epsilon, &x, &s, &g, &x_bar, &along);
    else
        compose_adjoint(c, epsilon, &x, &s, &g);
}

static const mo_sample scale_unit_samples[] = {
    {.name = "rows", .in = "[3, 4] []", .attributes = &(const guard){1e-5}},
    {.name = "large epsilon", .in = "[2, 3, 5] []", .attributes = &(const guard){9}},
    {.name = "vector", .in = "[4] []", .attributes = &(const guard){1e-5}},
    {.name = "no rows", .in = "[0, 3] []", .attributes = &(const guard){1e-5}},
    {.name = "scale",
        .in = "[3, 4] [3]",
        .attributes = &(const guard){1e-5},
        .error = "scale_unit: expected rows [.., d] and a scalar; got [3, 4]"},
};

static const mo_sample scale_unit_adjoint_samples[] = {
    {.name = "rows", .in = "[3, 4] [] [3, 4]", .attributes = &(const guard){1e-5}},
    {.name = "large epsilon", .in = "[2, 3, 5] [] [2, 3, 5]", .attributes = &(const guard){9}},
    {.name = "vector", .in = "[4] [] [4]", .attributes = &(const guard){1e-5}},
    {.name = "no rows", .in = "[0, 3] [] [0, 3]", .attributes = &(const guard){1e-5}},
    {.name = "cotangents",
        .in = "[3, 4] [] [4, 3]",
        .attributes = &(const guard){1e-5},
        .error = "scale_unit_adjoint: expected rows and their cotangents of one shape; got [3, 4]"},
};

const mo_op mo_op_scale_unit = {
    .name = "scale_unit",
    .n_in = 2,
    .attributes_size = sizeof(guard),
    .reads_in = 3,
    .shape = scale_unit_shape,
    .forward = scale_unit_forward,
    .vjp = scale_unit_vjp,
    .flops = scale_unit_flops,
    MO_SAMPLES(scale_unit_samples),
};

const mo_op mo_op_scale_unit_adjoint = {
    .name = "scale_unit_adjoint",
    .n_in = 3,
    .n_out = 2,
    .attributes_size = sizeof(guard),
    .shape = scale_unit_adjoint_shape,
    .forward = scale_unit_adjoint_forward,
    .flops = scale_unit_flops,
    MO_SAMPLES(scale_unit_adjoint_samples),
};

mo_tensor *mo_scale_unit(mo_tape *t, mo_tensor *X, mo_tensor *s, double epsilon) {
    return mo_apply(t, &mo_op_scale_unit, (mo_tensor *[]){X, s}, 2, &(guard){epsilon});
}
