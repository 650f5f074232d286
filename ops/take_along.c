/* ops/take_along.c - reading and adding entries of rows at integer positions that differ from row to row.
 *
 * take_along: X [.., m], index int64 [.., k] -> Y [.., k], Y_j = X_index(j) along the last axis. put_along: X [.., k],
 * index [.., k] -> Y [.., m], Y_index(j) += X_j from zeros, in rising j. Equal leading axes; float32 or float64.
 * Errors: leading axes that differ; an index out of range, named with its position. Saved: nothing beyond the inputs.
 *
 * Reading is Y = P X with a 0/1 matrix P that has a single 1 in each row, adding is Y = P^T X. Both are linear, so
 *     take_along: X_bar = put_along(Y_bar),   put_along: X_bar = take_along(Y_bar). */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "ops/rules/shapes.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

/* Requires X and index to have the same first `axes` axes. */
static bool rows_agree(mo_call *c, int axes) {
    const mo_tensor *X = c->in[0], *index = c->in[1];
    if (!mo_call_real(c, 0, 0))
        return false;
    if (X->ndim < 1 || !mo_same_leading(X, index, axes))
        return mo_call_fail(
            c, MO_INVALID, "expected the same %s axes, one or more", axes < X->ndim ? "leading" : "sizes on all");
    return true;
}

static bool output(mo_call *c, int64_t last) {
    const mo_tensor *X = c->in[0];
    int64_t size[MO_MAX_AXES];
    memcpy(size, X->shape, sizeof size);
    size[X->ndim - 1] = last;
    return mo_call_output(c, 0, X->dtype, X->ndim, size);
}

static bool take_along_shape(mo_call *c) {
    return rows_agree(c, c->in[0]->ndim - 1) && mo_check_indices(c, 1, mo_dim(c->in[0], -1), "index") &&
           output(c, mo_dim(c->in[1], -1));
}

static void take_along_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), index = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->take_along(c->ctx, &x, &index, &y);
}

static void take_along_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_put_along(v->t, v->out_bar[0], v->in[1], mo_dim(v->in[0], -1));
}

static const mo_sample take_along_samples[] = {
    {"repeats", "[3, 4] index<4>[3, 6]"},
    {"vector", "[5] index<5>[2]"},
    {"batch", "[2, 3, 4] index<4>[2, 3, 1]"},
    {"range", "[2, 3] index<1000>[2, 5]", .error = "expected 0 to 2"},
    {"rows", "[2, 3] index<3>[3, 5]",
        .error = "take_along: expected the same leading axes, one or more; got [2, 3] float64, [3, 5] int64"},
};

const mo_op mo_op_take_along = {
    .name = "take_along",
    .n_in = 2,
    .reads_in = 2,
    .shape = take_along_shape,
    .forward = take_along_forward,
    .vjp = take_along_vjp,
    MO_SAMPLES(take_along_samples),
};

mo_tensor *mo_take_along(mo_tape *t, mo_tensor *X, mo_tensor *index) {
    return mo_apply(t, &mo_op_take_along, (mo_tensor *[]){X, index}, 2, NULL);
}

/* ---- put_along: the op's option is m ---- */

static bool put_along_shape(mo_call *c) {
    int64_t m = *(const int64_t *)c->attributes;
    return rows_agree(c, c->in[0]->ndim) && mo_check_indices(c, 1, m, "index") && output(c, m);
}

static void put_along_forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), index = mo_call_dense(c, 1), y = mo_tensor_view(c->out[0]);
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->put_along(c->ctx, &x, &index, &y);
}

static void put_along_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_take_along(v->t, v->out_bar[0], v->in[1]);
}

static const mo_sample put_along_samples[] = {
    {"repeats", "[3, 6] index<4>[3, 6]", &(const int64_t){4}},
    {"batch", "[2, 3, 1] index<5>[2, 3, 1]", &(const int64_t){5}},
    {"range", "[2, 5] index<1000>[2, 5]", &(const int64_t){3}, .error = "expected 0 to 2"},
    {"sizes", "[2, 4] index<3>[2, 5]", &(const int64_t){3}, .error = "put_along: expected the same sizes on all axes"},
};

const mo_op mo_op_put_along = {
    .name = "put_along",
    .n_in = 2,
    .attributes_size = sizeof(int64_t),
    .reads_in = 2,
    .shape = put_along_shape,
    .forward = put_along_forward,
    .vjp = put_along_vjp,
    MO_SAMPLES(put_along_samples),
};

mo_tensor *mo_put_along(mo_tape *t, mo_tensor *X, mo_tensor *index, int64_t m) {
    return mo_apply(t, &mo_op_put_along, (mo_tensor *[]){X, index}, 2, &m);
}
