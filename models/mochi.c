/* models/mochi.c - MOCHI: encoder, temperature, head, and the smoothed cross-entropy of the queries (paper, section
 * Method).
 *
 * An example is a row (nodes), the product of two rows (links) or the mean of a graph's rows. Temperature T =
 * exp(log_temp): `logit` multiplies the head's logits (the paper's text); `embed` brings every example to unit norm
 * times T before the head (the released program). */
#include "models/encoded.h"
#include "models/gamlp.h"
#include "tensor/given.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mo_mochi {
    mo_context *ctx;
    mo_mochi_options options;
    mo_dtype real;
    mo_gamlp *encoder;
    mo_tensor *log_temp;
    mo_tensor *head_parameter[MO_MAX_HEAD_PARAMETERS]; /* scalars are constants, tensors are trained */
    int n_learned;
    mo_tensor *learned[MO_MAX_HEAD_PARAMETERS]; /* the tensors among them */
};

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

static void make_head_parameters(mo_mochi *m, uint64_t seed) {
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

mo_mochi *mo_mochi_create(mo_context *ctx, mo_dtype real, const mo_mochi_options *options, uint64_t seed) {
    mo_mochi_options o = options ? *options : mo_mochi_defaults();
    if (!o.head)
        o.head = &mo_head_ridge;
    if (!mo_ok(ctx) || !mochi_check_options(ctx, &o))
        return NULL;
    mo_mochi *m = calloc(1, sizeof *m);
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "mochi: out of memory");
        return NULL;
    }
    *m = (mo_mochi){.ctx = ctx, .options = o, .real = real};
    m->encoder = mo_gamlp_create(ctx, real, &o.encoder, seed);
    m->log_temp = mo_parameter(ctx, "log_temp", real, 0, NULL);
    make_head_parameters(m, seed);
    if (!mo_ok(ctx)) {
        mo_mochi_release(m);
        return NULL;
    }
    return m;
}

void mo_mochi_release(mo_mochi *m) {
    if (!m)
        return;
    mo_gamlp_release(m->encoder);
    mo_tensor_release(m->log_temp);
    for (int i = 0; i < MO_MAX_HEAD_PARAMETERS; i++)
        mo_tensor_release(m->head_parameter[i]);
    free(m);
}

const mo_mochi_options *mo_mochi_options_of(const mo_mochi *m) {
    return m ? &m->options : NULL;
}

const mo_gamlp *mo_mochi_encoder(const mo_mochi *m) {
    return m ? m->encoder : NULL;
}

int mo_mochi_n_parameters(const mo_mochi *m) {
    return m ? m->encoder->n_parameters + 1 + m->n_learned : 0;
}

mo_tensor *mo_mochi_parameter(const mo_mochi *m, int i) {
    if (i < 0 || i >= mo_mochi_n_parameters(m))
        return NULL;
    int n = m->encoder->n_parameters;
    return i < n ? m->encoder->parameter[i] : i == n ? m->log_temp : m->learned[i - n - 1];
}

/* From weights that were trained under another head, the head's parameters are not loaded. */
static int n_loaded(const mo_mochi *m, const mo_arrays *arrays) {
    int learned = 0;
    for (int i = 0; i < m->n_learned; i++)
        learned += mo_arrays_find(arrays, mo_tensor_name(m->learned[i])) != NULL;
    return mo_mochi_n_parameters(m) - (learned ? 0 : m->n_learned);
}

mo_code mo_mochi_load(mo_mochi *m, const mo_arrays *arrays) {
    if (!m || !mo_given(m->ctx, "mochi_load", "arrays", arrays))
        return m ? mo_code_of(m->ctx) : MO_INVALID;
    mo_context *ctx = m->ctx;
    int n = n_loaded(m, arrays);
    for (int pass = 0; pass < 2; pass++) /* checks all parameters before it changes the first */
        for (int i = 0; i < n && mo_ok(ctx); i++) {
            mo_tensor *P = mo_mochi_parameter(m, i), *X = mo_arrays_find(arrays, mo_tensor_name(P));
            char want[160], got[160];
            if (!X)
                mo_fail(ctx, MO_FORMAT, "weights: no tensor named %s", mo_tensor_name(P));
            else if (mo_numel(X) != mo_numel(P) || mo_ndim(X) != mo_ndim(P) || mo_dim(X, 0) != mo_dim(P, 0))
                mo_fail(ctx, MO_FORMAT, "weights: %s is %s, expected %s", mo_tensor_name(P),
                    mo_shape_string(X, got, sizeof got), mo_shape_string(P, want, sizeof want));
            else if (pass)
                mo_tensor_copy(P, X);
        }
    return mo_context_status(ctx)->code;
}

/* Whether there is something to compute with. */
static bool given(mo_tape *t, const mo_mochi *m, const mo_episode *e) {
    mo_context *ctx = mo_tape_context(t);
    return mo_given(ctx, "mochi", "the model", m) && mo_given(ctx, "mochi", "the episode", e);
}

void mo_mochi_embed(mo_tape *t, const mo_mochi *m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq) {
    if (Zs && Zq)
        *Zs = *Zq = mo_null_tensor(mo_tape_context(t));
    if (!given(t, m, e) || !mo_given(m->ctx, "mochi", "Zs or Zq", Zs && Zq ? Zs : NULL))
        return;
    mo_episode_examples(t, e, mo_gamlp_encode(t, m->encoder, e, r), false, Zs, Zq);
}

mo_tensor *mo_mochi_readout(mo_tape *t, const mo_mochi *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    if (!given(t, m, e))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *T = mo_exp(t, m->log_temp), *Ys = mo_one_hot(t, e->support_label, e->classes, m->real);
    if (m->options.temperature == MO_TEMPERATURE_EMBED) {
        Zs = mo_mul(t, mo_l2_normalize(t, Zs, 1e-12), T);
        Zq = mo_mul(t, mo_l2_normalize(t, Zq, 1e-12), T);
    }
    mo_tensor *logits = mo_head_apply(t, m->options.head, Zs, Ys, Zq, m->head_parameter);
    return m->options.temperature == MO_TEMPERATURE_LOGIT ? mo_mul(t, logits, T) : logits;
}

mo_tensor *mo_mochi_logits(mo_tape *t, const mo_mochi *m, const mo_episode *e, mo_random *r) {
    mo_tensor *Zs = NULL, *Zq = NULL;
    mo_mochi_embed(t, m, e, r, &Zs, &Zq);
    return mo_mochi_readout(t, m, e, Zs, Zq);
}

mo_tensor *mo_mochi_loss(mo_tape *t, const mo_mochi *m, const mo_episode *e, mo_random *r, mo_tensor **logits) {
    mo_tensor *Y = mo_mochi_logits(t, m, e, r);
    if (logits)
        *logits = mo_keep(Y);
    if (mo_is_null(Y))
        return Y;
    return mo_softmax_cross_entropy(t, Y, e->query_label, m->options.smoothing);
}
