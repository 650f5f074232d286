/* ops/one_hot.c - turns labels into rows of zeros with a single 1.
 *
 * labels int64 [..] -> Y [.., classes] of a real dtype, Y[.., c] = 1 where c is the label. Errors: a label outside
 * 0 .. classes-1, named with its position. No derivative: labels are integers. */
#include "ops/inside.h"
#include "ops/rules/indices.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

typedef struct one_hot_options {
    int64_t classes;
    mo_dtype real;
} one_hot_options;

static bool one_hot_shape(mo_call *c) {
    const one_hot_options *o = c->attributes;
    const mo_tensor *labels = c->in[0];
    int64_t size[MO_MAX_AXES + 1];
    if (!mo_dtype_is_real(o->real))
        return mo_call_fail(c, MO_MISMATCH, "%s asked for, expected float32 or float64", mo_dtype_name(o->real));
    if (labels->ndim == MO_MAX_AXES)
        return mo_call_fail(c, MO_INVALID, "expected at most %d axes", MO_MAX_AXES - 1);
    if (o->classes < 1)
        return mo_call_fail(c, MO_INVALID, "%" PRId64 " classes, expected 1 or more", o->classes);
    if (!mo_check_indices(c, 0, o->classes, "label"))
        return false;
    memcpy(size, labels->shape, sizeof labels->shape);
    size[labels->ndim] = o->classes;
    return mo_call_output(c, 0, o->real, labels->ndim + 1, size);
}

/* Writes a 1 at each label's position into zeros. */
static void one_hot_forward(mo_call *c) {
    mo_view y = mo_tensor_view(c->out[0]), index = mo_call_dense(c, 0);
    index.shape[index.ndim] = index.stride[index.ndim] = 1;
    index.ndim++;
    mo_view ones = index;
    ones.dtype = y.dtype;
    ones.data = NULL;
    if (mo_ok(c->ctx))
        mo_kernels_of(c->ctx, y.dtype)->put_along(c->ctx, &ones, &index, &y);
}

static const mo_sample one_hot_samples[] = {
    {"vector", "index<3>[5]", &(const one_hot_options){3, MO_F64}},
    {"batch", "index<4>[2, 3]", &(const one_hot_options){4, MO_F32}},
    {"label", "index<1000>[4, 5]", &(const one_hot_options){2, MO_F64}, .error = "expected 0 to 1"},
    {"real labels", "[4]", &(const one_hot_options){2, MO_F64}, .error = "one_hot: input 0 is float64, expected int64",
        .code = MO_MISMATCH},
    {"dtype", "index<2>[4]", &(const one_hot_options){2, MO_I32},
        .error = "int32 asked for, expected float32 or float64", .code = MO_MISMATCH},
};

const mo_op mo_op_one_hot = {
    .name = "one_hot",
    .attributes_size = sizeof(one_hot_options),
    .shape = one_hot_shape,
    .forward = one_hot_forward,
    MO_SAMPLES(one_hot_samples),
};

mo_tensor *mo_one_hot(mo_tape *t, mo_tensor *labels, int64_t classes, mo_dtype real) {
    return mo_apply(t, &mo_op_one_hot, (mo_tensor *[]){labels}, 1, &(one_hot_options){classes, real});
}
