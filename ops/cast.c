/* ops/cast.c - Y = X in another dtype.
 *
 * X of any shape and dtype -> Y of the same shape; mo_cast returns X itself if it has that dtype. Reals become integers
 * by truncation; a value that the integer type cannot hold gives an undefined result. Errors: no such dtype. Saved:
 * nothing.
 *
 * Between real dtypes the cast is the identity up to rounding: X_bar is Y_bar in the dtype of X. Other dtypes carry no
 * gradient. */
#include "ops/inside.h"
#include "tensor/objects.h"

typedef struct target {
    mo_dtype dtype;
} target;

static bool cast_shape(mo_call *c) {
    const mo_tensor *X = c->in[0];
    mo_dtype dtype = ((const target *)c->attributes)->dtype;
    if (mo_dtype_size(dtype) == 0)
        return mo_call_fail(c, MO_INVALID, "to dtype %d, expected one of 0 to %d", (int)dtype, MO_DTYPES - 1);
    return mo_call_output(c, 0, dtype, X->ndim, X->shape);
}

static void cast_forward(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]), y = mo_tensor_view(c->out[0]);
    c->ctx->backend->copy(c->ctx, &x, &y);
}

static void cast_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_cast(v->t, v->out_bar[0], v->in[0]->dtype);
}

static double cast_flops(const mo_call *c) {
    (void)c;
    return 0;
}

static const mo_sample cast_samples[] = {
    {"real", "[3, 4]", &(target){MO_F64}},
    {"integers", "index<9>[5]", &(target){MO_F64}},
    {"bytes", "mask[5]", &(target){MO_I64}},
    {"dtype", "[3]", &(target){MO_DTYPES}, .error = "cast: to dtype 7, expected one of 0 to 6; got [3] float64"},
};

const mo_op mo_op_cast = {
    .name = "cast",
    .attributes_size = sizeof(target),
    .shape = cast_shape,
    .forward = cast_forward,
    .vjp = cast_vjp,
    .flops = cast_flops,
    MO_SAMPLES(cast_samples),
};

mo_tensor *mo_cast(mo_tape *t, mo_tensor *X, mo_dtype dtype) {
    if (!mo_is_null(X) && X->dtype == dtype)
        return X;
    return mo_apply(t, &mo_op_cast, (mo_tensor *[]){X}, 1, &(target){dtype});
}
