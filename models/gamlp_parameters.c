/* models/gamlp_parameters.c - the parameters of GAMLP (gamlp.c): names, shapes, order and first values. */
#include "models/gamlp.h"
#include "tensor/given.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Draws U(-bound, bound) as a function of the seed and the parameter's number alone. */
static void draw_uniform(mo_tensor *P, double bound, uint64_t seed, int number) {
    mo_context *ctx = mo_tensor_context(P);
    int64_t n = mo_numel(P);
    mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, (uint64_t)number);
    size_t size = mo_dtype_size(mo_tensor_dtype(P));
    void *values = malloc((size_t)n * size + 1);
    if (!values) {
        mo_fail(ctx, MO_MEMORY, "init: out of memory for %s", mo_tensor_name(P));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = bound * (2 * mo_random_uniform(&r) - 1);
        if (mo_tensor_dtype(P) == MO_F32)
            ((float *)values)[i] = (float)x;
        else
            ((double *)values)[i] = x;
    }
    mo_tensor_write(P, values, (size_t)n * size);
    free(values);
}

/* A layer in part[number ..] of the encoder. */
typedef struct layer_form {
    const char *part;
    int number;
    int64_t out, in;
} layer_form;

/* `count` layers of one form in one memory, numbered from form->number on: those of the hops are one batched product on
 * a device. */
static void new_layers(
    mo_gamlp *m, mo_dtype real, const layer_form *f, int count, uint64_t seed, mo_linear_layer *layers) {
    mo_parameter_form form[MO_GAMLP_MAX_PARAMETERS] = {0};
    char name[MO_GAMLP_MAX_PARAMETERS][64];
    mo_tensor **P = m->parameter + m->n_parameters;
    for (int i = 0; i < 2 * count; i++) {
        snprintf(name[i], sizeof name[i], "encoder.%s.%d.%s", f->part, f->number + i / 2, i % 2 ? "bias" : "weight");
        form[i] = (mo_parameter_form){name[i], i % 2 ? 1 : 2, {f->out, f->in}};
    }
    mo_parameters(m->ctx, real, 2 * count, form, P);
    for (int i = 0; i < 2 * count && mo_ok(m->ctx); i++)
        draw_uniform(P[i], 1 / sqrt((double)f->in), seed, m->n_parameters + i);
    for (int i = 0; i < count; i++)
        layers[i] = (mo_linear_layer){P[2 * i], P[2 * i + 1]};
    m->n_parameters += 2 * count;
}

static bool gamlp_check_options(mo_context *ctx, const mo_gamlp_options *o) {
    if (o->dim < 1 || o->dim > 1 << 16)
        mo_fail(ctx, MO_INVALID, "gamlp: dim is %d, expected 1 to 65536", o->dim);
    else if (o->hops < 0 || o->hops > MO_GAMLP_MAX_HOPS)
        mo_fail(ctx, MO_INVALID, "gamlp: hops is %d, expected 0 to %d", o->hops, MO_GAMLP_MAX_HOPS);
    else if (o->layers != 2 && o->layers != 3)
        mo_fail(ctx, MO_INVALID, "gamlp: layers is %d, expected 2 or 3", o->layers);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        mo_fail(ctx, MO_INVALID, "gamlp: dropout is %g, expected 0 or more and below 1", o->dropout);
    return mo_ok(ctx);
}

mo_gamlp *mo_gamlp_create(mo_context *ctx, mo_dtype real, const mo_gamlp_options *options, uint64_t seed) {
    if (!mo_given(ctx, "gamlp", "options", options) || !gamlp_check_options(ctx, options))
        return NULL;
    mo_gamlp *m = calloc(1, sizeof *m);
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "gamlp: out of memory");
        return NULL;
    }
    m->ctx = ctx;
    m->options = *options;
    int64_t d = options->dim;
    new_layers(m, real, &(layer_form){"input_proj", 0, d, d}, options->hops + 1, seed, m->input);
    new_layers(m, real, &(layer_form){"att_mlp", 0, d, 2 * d}, 1, seed, &m->attention[0]);
    new_layers(m, real, &(layer_form){"att_mlp", 2, 1, d}, 1, seed, &m->attention[1]);
    for (int i = 0; i < options->layers; i++)
        new_layers(m, real, &(layer_form){"out_mlp", 3 * i, d, d}, 1, seed, &m->output[i]);
    if (!mo_ok(ctx)) {
        mo_gamlp_release(m);
        return NULL;
    }
    return m;
}

void mo_gamlp_release(mo_gamlp *m) {
    if (!m)
        return;
    for (int i = 0; i < m->n_parameters; i++)
        mo_tensor_release(m->parameter[i]);
    free(m);
}

mo_gamlp mo_gamlp_with(const mo_gamlp *m, mo_tensor *const *P) {
    mo_gamlp own = *m;
    int n = 0;
    for (int k = 0; k <= m->options.hops; k++, n += 2)
        own.input[k] = (mo_linear_layer){P[n], P[n + 1]};
    for (int i = 0; i < 2; i++, n += 2)
        own.attention[i] = (mo_linear_layer){P[n], P[n + 1]};
    for (int i = 0; i < m->options.layers; i++, n += 2)
        own.output[i] = (mo_linear_layer){P[n], P[n + 1]};
    return own;
}
