/* tests/cli/plugin_sums.c - a user's head with a fit and a held_out, as a shared object: the logits are inner products
 * with the class sums, divided by lambda. Built once correctly, and with errors that the build defines. */
#include "models/inside.h"

#include <stdlib.h>

#ifndef PLUGIN_WEIGHT
#define PLUGIN_WEIGHT weight
#endif
#ifndef PLUGIN_HELD_WEIGHT
#define PLUGIN_HELD_WEIGHT mo_state_get(t, s, "weight")
#endif
#ifndef PLUGIN_TAKEN
#define PLUGIN_TAKEN 1 /* of what the rows left out have added */
#endif
#ifndef PLUGIN_PLACE
#define PLUGIN_PLACE i /* of the i-th row left out */
#endif
#ifndef PLUGIN_LAMBDA
#define PLUGIN_LAMBDA 1
#endif

/* Labels times the weights of their rows. */
static mo_tensor *counted(mo_tape *t, mo_tensor *Y, mo_tensor *weight) {
    return weight ? mo_mul(t, Y, mo_with_axis(t, weight, MO_AXIS(-1), 1)) : Y;
}

static void fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *weight = s->weight;
    (void)weight;
    mo_tensor *sums = mo_matmul(t, mo_transpose(t, s->Zs), counted(t, s->Ys, PLUGIN_WEIGHT));
    sums = mo_div(t, sums, parameters[0]);
    mo_state_put(state, "W",
        mo_concat(t, (mo_tensor *[]){sums, mo_scale(t, mo_slice(t, sums, MO_AXIS(-2), 0, 1), 0, 0)}, 2, MO_AXIS(-2)));
    mo_state_put(state, "lambda", parameters[0]);
}

static mo_tensor *held_out(mo_tape *t, const mo_state *s, const int64_t *row, int64_t groups, int64_t h) {
    int64_t n = groups * h, *place = malloc((size_t)n * sizeof *place);
    for (int64_t i = 0; place && i < n; i++)
        place[i] = row[PLUGIN_PLACE];
    mo_tensor *at = mo_from(t, MO_I64, 1, &n, place);
    free(place);
    mo_tensor *Z = mo_reshape(t, mo_gather_rows(t, mo_state_get(t, s, "Zs"), at), 3, (int64_t[]){groups, h, s->d});
    mo_tensor *Y = counted(t, mo_state_get(t, s, "Ys"), mo_state_find(s, "weight") ? PLUGIN_HELD_WEIGHT : NULL);
    Y = mo_reshape(t, mo_gather_rows(t, Y, at), 3, (int64_t[]){groups, h, s->classes});
    mo_tensor *W = mo_slice(t, mo_state_get(t, s, "W"), MO_AXIS(-2), 0, s->d);
    mo_tensor *own = mo_matmul(t, mo_matmul(t, Z, mo_transpose(t, Z)), Y);
    own = mo_div(t, own, mo_state_get(t, s, "lambda"));
    return mo_sub(t, mo_matmul(t, Z, W), mo_scale(t, own, PLUGIN_TAKEN, 0));
}

static const mo_head_parameter parameters[] = {{.name = "lambda", .value = PLUGIN_LAMBDA, .low = 1e-6, .high = 1e6}};

MO_API const mo_head mo_head_plugin = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "sums",
    .n_parameters = 1,
    .parameters = parameters,
    .fit = fit,
    .held_out = held_out,
    .separate_classes = true,
    .order = 2,
};
