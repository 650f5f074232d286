/* tests/cli/plugin_heads.c - a user's head as a shared object: built once correctly, and several times with an error
 * that the build defines. */
#include "models/inside.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI MO_HEAD_ABI
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(mo_head)
#endif
#ifndef PLUGIN_SYMBOL
#define PLUGIN_SYMBOL mo_head_plugin
#endif
#ifndef PLUGIN_CLASSES
#define PLUGIN_CLASSES mo_dim(Ys, -1)
#endif
#ifndef PLUGIN_SUPPORT
#define PLUGIN_SUPPORT Zs
#endif

/* Projects the embeddings; the logits are inner products with the class sums. */
static mo_tensor *logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *P = mo_matmul(t, mo_transpose(t, Ys), mo_matmul(t, PLUGIN_SUPPORT, parameters[1]));
    mo_tensor *Y = mo_matmul(t, mo_matmul(t, Zq, parameters[1]), mo_transpose(t, P));
    return mo_mul(t, mo_slice(t, Y, MO_AXIS(mo_ndim(Y) - 1), 0, PLUGIN_CLASSES), parameters[0]);
}

static const mo_head_parameter parameters[] = {
    {.name = "scale", .value = 0.01},
    {.name = "projection", .value = 1, .ndim = 2, .shape = {MO_HEAD_DIM, 5}},
};

MO_API const mo_head PLUGIN_SYMBOL = {
    .abi = PLUGIN_ABI,
    .size = PLUGIN_SIZE,
    .name = "projected",
    .n_parameters = 2,
    .parameters = parameters,
    .logits = logits,
    .order = 2,
};
