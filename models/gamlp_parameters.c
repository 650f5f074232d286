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

static mo_tensor *gamlp_new_parameter(
    mo_gamlp *m, mo_dtype real, const char *name, int ndim, const int64_t *shape, uint64_t seed, int64_t fan_in) {
    mo_tensor *P = mo_parameter(m->ctx, name, real, ndim, shape);
    if (!mo_is_null(P))
        draw_uniform(P, 1 / sqrt((double)fan_in), seed, m->n_parameters);
    return m->parameter[m->n_parameters++] = P;
}

static mo_linear_layer new_layer(
    mo_gamlp *m, mo_dtype real, const char *part, int number, int64_t out, int64_t in, uint64_t seed) {
    char name[96];
    mo_linear_layer layer;
    snprintf(name, sizeof name, "encoder.%s.%d.weight", part, number);
    layer.weight = gamlp_new_parameter(m, real, name, 2, (int64_t[]){out, in}, seed, in);
    snprintf(name, sizeof name, "encoder.%s.%d.bias", part, number);
    layer.bias = gamlp_new_parameter(m, real, name, 1, &out, seed, in);
    return layer;
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
    for (int k = 0; k <= options->hops; k++)
        m->input[k] = new_layer(m, real, "input_proj", k, d, d, seed);
    m->attention[0] = new_layer(m, real, "att_mlp", 0, d, 2 * d, seed);
    m->attention[1] = new_layer(m, real, "att_mlp", 2, 1, d, seed);
    for (int i = 0; i < options->layers; i++)
        m->output[i] = new_layer(m, real, "out_mlp", 3 * i, d, d, seed);
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
