/* tests/cli/plugin_sums.c - a user's head with a fit and a held_out, as a shared object: the logits are inner products
 * with the class sums. Built once correctly, and with an error that the build defines. */
#include "models/inside.h"

#ifndef PLUGIN_WEIGHT
#define PLUGIN_WEIGHT weight
#endif
#ifndef PLUGIN_TAKEN
#define PLUGIN_TAKEN 1 /* of what the rows left out have added */
#endif

/* Labels times the weights of their rows. */
static mo_tensor *counted(mo_tape *t, mo_tensor *Y, mo_tensor *weight) {
    (void)weight;
    return PLUGIN_WEIGHT ? mo_mul(t, Y, mo_with_axis(t, PLUGIN_WEIGHT, MO_AXIS(-1), 1)) : Y;
}

static void fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    (void)parameters;
    mo_tensor *sums = mo_matmul(t, mo_transpose(t, s->Zs), counted(t, s->Ys, s->weight));
    mo_state_put(state, "W",
        mo_concat(t, (mo_tensor *[]){sums, mo_scale(t, mo_slice(t, sums, MO_AXIS(-2), 0, 1), 0, 0)}, 2, MO_AXIS(-2)));
}

static mo_tensor *held_out(mo_tape *t, const mo_state *s, const int64_t *row, int64_t groups, int64_t h) {
    int64_t n = groups * h;
    mo_tensor *at = mo_from(t, MO_I64, 1, &n, row), *weight = mo_state_find(s, "weight");
    mo_tensor *Z = mo_reshape(t, mo_gather_rows(t, mo_state_get(t, s, "Zs"), at), 3, (int64_t[]){groups, h, s->d});
    mo_tensor *Y =
        mo_gather_rows(t, counted(t, mo_state_get(t, s, "Ys"), weight ? mo_state_get(t, s, "weight") : NULL), at);
    mo_tensor *W = mo_slice(t, mo_state_get(t, s, "W"), MO_AXIS(-2), 0, s->d);
    mo_tensor *own =
        mo_matmul(t, mo_matmul(t, Z, mo_transpose(t, Z)), mo_reshape(t, Y, 3, (int64_t[]){groups, h, s->classes}));
    return mo_sub(t, mo_matmul(t, Z, W), mo_scale(t, own, PLUGIN_TAKEN, 0));
}

MO_API const mo_head mo_head_plugin = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "sums",
    .fit = fit,
    .held_out = held_out,
    .separate_classes = true,
    .order = 2,
};
