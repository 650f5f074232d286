/* tests/cli/plugin_encoders.c - a user's encoder as a shared object: built once correctly, and several times with an
 * error that the build defines. */
#include "models/inside.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI MO_ENCODER_ABI
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(mo_encoder)
#endif
#ifndef PLUGIN_SYMBOL
#define PLUGIN_SYMBOL mo_encoder_plugin
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "mixed"
#endif
#ifndef PLUGIN_ROWS
#define PLUGIN_ROWS Z
#endif
#ifndef PLUGIN_WEIGHT
#define PLUGIN_WEIGHT parameter[1]
#endif

/* Applies one layer to the weighted sum of the hops' rows. */
static mo_tensor *encode(mo_tape *t, const mo_encoding *x) {
    if (x->n > x->max_rows)
        return mo_in_blocks(t, x);
    mo_tensor *X = mo_episode_rows(t, x->episode, "hops"), *const *parameter = x->parameters;
    mo_tensor *a = mo_reshape(t, mo_softmax(t, parameter[0], MO_AXIS(0)), 3, (int64_t[]){-1, 1, 1});
    mo_tensor *Z = mo_matmul(t, mo_sum(t, mo_mul(t, X, a), MO_AXIS(0), MO_DROP_AXES), PLUGIN_WEIGHT);
    return PLUGIN_ROWS;
}

static const mo_encoder_parameter parameters[] = {
    {.name = "hop", .start = 0.5, .ndim = 1, .shape = {MO_ENCODER_BLOCKS}},
    {.name = "layer", .spread = 2, .ndim = 2, .shape = {MO_ENCODER_DIM, 7}},
};

MO_API const mo_encoder PLUGIN_SYMBOL = {
    .abi = PLUGIN_ABI,
    .size = PLUGIN_SIZE,
    .name = PLUGIN_NAME,
    .n_parameters = 2,
    .parameters = parameters,
    .encode = encode,
};
