/* models/mochi_model.c - MOCHI as a model: the table that trainer, evaluation and weights use. */
#include "models/models.h"

static int mochi_model_n_parameters(const void *model) {
    return mo_mochi_n_parameters(model);
}

static mo_tensor *mochi_model_parameter(const void *model, int i) {
    return mo_mochi_parameter(model, i);
}

static mo_code mochi_model_load(void *model, const mo_arrays *arrays) {
    return mo_mochi_load(model, arrays);
}

static int mochi_model_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    const mo_mochi_options *o = mo_mochi_options_of(model);
    const mo_setting all[] = {
        {.key = "dim", .number = o->encoder.dim},
        {.key = "hops", .number = o->encoder.hops},
        {.key = "layers", .number = o->encoder.layers},
        {.key = "relu_hops", .number = o->encoder.relu_hops},
        {.key = "dropout", .number = o->encoder.dropout},
        {.key = "smoothing", .number = o->smoothing},
        {.key = "lambda", .number = o->lambda},
        {.key = "temperature", .word = o->temperature == MO_TEMPERATURE_EMBED ? "embed" : "logit"},
        {.key = "head", .word = o->head->name},
    };
    enum { N = sizeof all / sizeof *all };
    for (int i = 0; i < N; i++)
        list[i] = all[i];
    return N;
}

static mo_tensor *encode(mo_tape *t, const void *model, const mo_episode *e, mo_random *r) {
    return mo_gamlp_encode(t, mo_mochi_encoder(model), e, r);
}

static mo_tensor *mochi_model_readout(
    mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    return mo_mochi_readout(t, model, e, Zs, Zq);
}

static void mochi_model_release(void *model) {
    mo_mochi_release(model);
}

mo_model mo_mochi_model(mo_mochi *model) {
    static const mo_model_table table = {
        .name = "mochi",
        .n_parameters = mochi_model_n_parameters,
        .parameter = mochi_model_parameter,
        .load = mochi_model_load,
        .settings = mochi_model_settings,
        .encode = encode,
        .readout = mochi_model_readout,
        .release = mochi_model_release,
    };
    return model ? (mo_model){&table, model} : (mo_model){NULL, NULL};
}
