/* tests/cli/plugin_ops.c - a user's ops as a shared object: built once correctly, and several times with an error that
 * the build defines. */
#include "ops/inside.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI MO_OP_ABI
#endif
#ifndef PLUGIN_FACTOR
#define PLUGIN_FACTOR 3
#endif
#ifndef PLUGIN_SECOND
#define PLUGIN_SECOND "triple_again"
#endif
#ifndef PLUGIN_LIST
#define PLUGIN_LIST mo_ops
#endif

static bool shape(mo_call *c) {
    mo_view x = mo_tensor_view(c->in[0]);
    return mo_call_real(c, 0, 0) && mo_call_output(c, 0, x.dtype, x.ndim, x.shape);
}

static void forward(mo_call *c) {
    mo_view x = mo_call_dense(c, 0), y = mo_tensor_view(c->out[0]);
    for (int64_t i = 0; i < mo_numel(c->out[0]); i++)
        if (x.dtype == MO_F64)
            ((double *)y.data)[i] = 3 * ((double *)x.data)[i];
        else
            ((float *)y.data)[i] = 3 * ((float *)x.data)[i];
}

static void vjp(mo_vjp *v) {
    v->in_bar[0] = mo_scale(v->t, v->out_bar[0], PLUGIN_FACTOR, 0);
}

static const mo_sample samples[] = {
    {.name = "vector", .in = "[4]"},
};

static const mo_op triple = {
    .name = "triple",
    .n_in = 1,
    .shape = shape,
    .forward = forward,
    .vjp = vjp,
    MO_SAMPLES(samples),
};
static const mo_op second = {
    .name = PLUGIN_SECOND,
    .n_in = 1,
    .shape = shape,
    .forward = forward,
    .vjp = vjp,
    MO_SAMPLES(samples),
};

static const mo_op *const ops[] = {&triple, &second};
MO_API const mo_op_list PLUGIN_LIST = {PLUGIN_ABI, sizeof(mo_op), 2, ops};
