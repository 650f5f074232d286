/* tests/cli/plugin_lab.c - an inner problem whose solution and gradient are known: F = exp(theta) w - 1, so w =
 * exp(-theta), and the loss |w|^2 / 2 has the gradient -w^2 in theta. */
#include "tools/inside.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI MO_LAB_ABI
#endif
#ifndef PLUGIN_SYMBOL
#define PLUGIN_SYMBOL mo_lab_plugin
#endif
#ifndef PLUGIN_STEP
#define PLUGIN_STEP 1
#endif

enum { OWN_SIZE = 3, MOST = 256 };

static bool open_exponentials(mo_context *ctx, uint64_t seed, int64_t n, mo_lab_start *start) {
    double theta[MOST];
    mo_random r = mo_random_at(seed, MO_PURPOSE_OWN, 0);
    start->shape[0] = n ? n : OWN_SIZE;
    for (int64_t i = 0; i < start->shape[0]; i++)
        theta[i] = -mo_random_uniform(&r); /* 1 / e <= exp(theta) <= 1: a step of 1 converges */
    start->theta = mo_tensor_create_from(ctx, MO_F64, 1, start->shape, theta);
    start->ndim = 1;
    start->step = PLUGIN_STEP;
    return true;
}

static mo_tensor *residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    return mo_scale(t, mo_mul(t, mo_exp(t, theta[0]), w), 1, -1);
}

static mo_tensor *loss(mo_tape *t, mo_tensor *w, void *state) {
    (void)state;
    return mo_scale(t, mo_sum(t, mo_square(t, w), MO_ALL, MO_DROP_AXES), 0.5, 0);
}

MO_API extern const mo_lab_problem PLUGIN_SYMBOL;
const mo_lab_problem PLUGIN_SYMBOL = {
    .abi = PLUGIN_ABI,
    .size = sizeof(mo_lab_problem),
    .name = "exponentials",
    .meaning = "w = exp(-theta), one by one",
    .open = open_exponentials,
    .residual = residual,
    .loss = loss,
};
