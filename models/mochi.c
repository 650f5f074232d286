/* models/mochi.c - MOCHI: encoder, temperature, head, and the smoothed cross-entropy of the queries (paper, section
 * Method).
 *
 * An example is a row (nodes), the product of two rows (links) or the mean of a graph's rows. Temperature T =
 * exp(log_temp): `logit` multiplies the head's logits (the paper's text); `embed` brings every example to unit norm
 * times T before the head (the released program). */
#include "models/encoded.h"
#include "models/gamlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mo_mochi {
    mo_context *ctx;
    mo_mochi_options options;
    mo_dtype real;
    mo_gamlp *encoder;
    mo_tensor *log_temp;
    mo_tensor *head_parameter[MO_MAX_HEAD_PARAMETERS]; /* scalars are constants, tensors are trained */
    int n_learned;
    mo_tensor *learned[MO_MAX_HEAD_PARAMETERS]; /* the tensors among them */
} mo_mochi;

mo_mochi_options mo_mochi_defaults(void) {
    return (mo_mochi_options){
        .encoder = {.dim = 512, .hops = 3, .layers = 3, .relu_hops = true},
        .temperature = MO_TEMPERATURE_LOGIT,
        .smoothing = 0.1,
        .head = &mo_head_ridge,
        .lambda = 10,
    };
}

static bool mochi_check_options(mo_context *ctx, const mo_mochi_options *o) {
    if (!mo_head_validate(ctx, o->head))
        return false;
    if (o->head == &mo_head_ridge && !(o->lambda > 0))
        mo_fail(ctx, MO_INVALID, "head ridge: lambda is %g, expected more than 0", o->lambda);
    else if (!(o->smoothing >= 0 && o->smoothing < 1))
        mo_fail(ctx, MO_INVALID, "mochi: smoothing is %g, expected 0 or more and below 1", o->smoothing);
    return mo_ok(ctx);
}

static void mochi_make_head(mo_mochi *m, uint64_t seed) {
    const mo_mochi_options *o = &m->options;
    const mo_head *head = o->head;
    mo_tensor *start[MO_MAX_HEAD_PARAMETERS];
    mo_tape *t = mo_tape_create(m->ctx, MO_EVAL);
    if (mo_head_start(t, head, m->real, o->encoder.dim, o->lambda > 0 ? &o->lambda : NULL, seed, start) == MO_OK)
        for (int i = 0; i < head->n_parameters; i++) {
            const mo_head_parameter *p = &head->parameters[i];
            int64_t shape[2] = {mo_dim(start[i], 0), p->ndim == 2 ? mo_dim(start[i], 1) : 1};
            char name[96];
            snprintf(name, sizeof name, "head.%s", p->name);
            if (p->ndim)
                m->learned[m->n_learned++] = m->head_parameter[i] = mo_parameter(m->ctx, name, m->real, p->ndim, shape);
            else
                m->head_parameter[i] = mo_tensor_create(m->ctx, m->real, 0, NULL);
            mo_tensor_copy(m->head_parameter[i], start[i]);
        }
    mo_tape_release(t);
}

static int mochi_n_parameters(const void *model) {
    const mo_mochi *m = model;
    return m->encoder->n_parameters + 1 + m->n_learned;
}

static mo_tensor *mochi_parameter(const void *model, int i) {
    const mo_mochi *m = model;
    int n = m->encoder->n_parameters;
    if (i < 0 || i >= mochi_n_parameters(m))
        return NULL;
    return i < n ? m->encoder->parameter[i] : i == n ? m->log_temp : m->learned[i - n - 1];
}

/* From weights that were trained under another head, the head's parameters are not loaded. */
static mo_code mochi_load(void *model, const mo_arrays *arrays) {
    mo_mochi *m = model;
    mo_tensor *P[MO_GAMLP_MAX_PARAMETERS + 1 + MO_MAX_HEAD_PARAMETERS];
    int n = mochi_n_parameters(m), learned = 0;
    for (int i = 0; i < n; i++)
        P[i] = mochi_parameter(m, i);
    for (int i = 0; i < m->n_learned; i++)
        learned += mo_arrays_find(arrays, mo_tensor_name(m->learned[i])) != NULL;
    return mo_load_parameters(m->ctx, P, n - (learned ? 0 : m->n_learned), arrays);
}

static int mochi_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    const mo_mochi_options *o = &((const mo_mochi *)model)->options;
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
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof *all;
}

static mo_tensor *mochi_encode(mo_tape *t, const void *model, const mo_episode *e, mo_random *r) {
    return mo_gamlp_encode(t, ((const mo_mochi *)model)->encoder, e, r);
}

static mo_tensor *mochi_readout(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    const mo_mochi *m = model;
    mo_tensor *T = mo_exp(t, m->log_temp);
    if (m->options.temperature == MO_TEMPERATURE_EMBED) {
        Zs = mo_scale_unit(t, Zs, T, 1e-12);
        Zq = mo_scale_unit(t, Zq, T, 1e-12);
    }
    mo_tensor *logits = mo_episode_readout(t, e, m->options.head, Zs, Zq, m->head_parameter);
    return m->options.temperature == MO_TEMPERATURE_LOGIT ? mo_mul(t, logits, T) : logits;
}

static void mochi_release(void *model) {
    mo_mochi *m = model;
    mo_gamlp_release(m->encoder);
    mo_tensor_release(m->log_temp);
    for (int i = 0; i < MO_MAX_HEAD_PARAMETERS; i++)
        mo_tensor_release(m->head_parameter[i]);
    free(m);
}

static const mo_model_table mochi_table = {
    .name = "mochi",
    .n_parameters = mochi_n_parameters,
    .parameter = mochi_parameter,
    .load = mochi_load,
    .settings = mochi_settings,
    .encode = mochi_encode,
    .readout = mochi_readout,
    .release = mochi_release,
};

mo_model mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed) {
    mo_mochi_options o = options ? *options : mo_mochi_defaults();
    if (!o.head)
        o.head = &mo_head_ridge;
    if (!mo_ok(ctx) || !mochi_check_options(ctx, &o))
        return (mo_model){NULL, NULL};
    mo_mochi *m = calloc(1, sizeof *m);
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "mochi: out of memory");
        return (mo_model){NULL, NULL};
    }
    *m = (mo_mochi){.ctx = ctx, .options = o, .real = real};
    m->encoder = mo_gamlp_create(ctx, real, &o.encoder, seed);
    m->log_temp = mo_parameter(ctx, "log_temp", real, 0, NULL);
    mochi_make_head(m, seed);
    if (!mo_ok(ctx)) {
        mochi_release(m);
        return (mo_model){NULL, NULL};
    }
    return (mo_model){&mochi_table, m};
}

const mo_gamlp *mo_mochi_encoder(mo_model m) {
    return m.table == &mochi_table ? ((const mo_mochi *)m.content)->encoder : NULL;
}
