/* models/model.c - functions of every model: the check of a table, parameters by name, loss. */
#include "models/encoded.h"
#include "tensor/given.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mo_model_release(mo_model m) {
    if (m.table && m.content && m.table->release)
        m.table->release(m.content);
}

/* The name of the first required function that is missing. */
static const char *missing_function(const mo_model_table *table) {
    return !table->n_parameters ? "n_parameters"
           : !table->parameter  ? "parameter"
           : !table->settings   ? "settings"
           : !table->encode     ? "encode"
           : !table->readout    ? "readout"
           : !table->release    ? "release"
                                : NULL;
}

static void check_settings(mo_context *ctx, mo_model m) {
    double hops = mo_model_setting(m, "hops"), dim = mo_model_setting(m, "dim"),
           smoothing = mo_model_setting(m, "smoothing");
    const char *name = m.table->name;
    if (!(hops >= 0 && hops == floor(hops)))
        mo_fail(ctx, MO_INVALID, "model %s: setting hops is %g, expected a whole number of 0 or more", name, hops);
    else if (!m.table->of_examples && !(dim >= 1 && dim == floor(dim)))
        mo_fail(ctx, MO_INVALID, "model %s: setting dim is %g, expected the width of the rows it reads", name, dim);
    else if (!(smoothing >= 0 && smoothing < 1))
        mo_fail(ctx, MO_INVALID, "model %s: setting smoothing is %g, expected 0 or more and below 1", name, smoothing);
}

bool mo_model_validate(mo_context *ctx, mo_model m) {
    if (!mo_ok(ctx))
        return false;
    if (!m.table || !m.table->name || !*m.table->name) {
        mo_fail(ctx, MO_INVALID, "model: it has no %s", m.table ? "name in its table" : "table");
        return false;
    }
    const char *missing = missing_function(m.table);
    if (missing)
        mo_fail(ctx, MO_INVALID, "model %s: its table lacks %s", m.table->name, missing);
    else
        check_settings(ctx, m);
    return mo_ok(ctx);
}

int mo_model_n_parameters(mo_model m) {
    return m.table ? m.table->n_parameters(m.content) : 0;
}

mo_tensor *mo_model_parameter(mo_model m, int i) {
    return !m.table ? NULL : m.table->parameter(m.content, i);
}

/* Returns whether P can take X's values; writes both shapes ("absent" without X) for the error. */
static bool shapes_agree(const mo_tensor *P, const mo_tensor *X, char want[160], char got[160]) {
    mo_shape_string(P, want, 160);
    snprintf(got, 160, "absent");
    if (X)
        mo_shape_string(X, got, 160);
    return strcmp(want, got) == 0;
}

mo_code mo_load_parameters(mo_context *ctx, mo_tensor *const *P, int n, const mo_arrays *arrays) {
    char want[160], got[160];
    for (int pass = 0; pass < 2; pass++) /* checks all parameters before it changes the first */
        for (int i = 0; i < n && mo_ok(ctx); i++) {
            mo_tensor *X = mo_arrays_find(arrays, mo_tensor_name(P[i]));
            if (!shapes_agree(P[i], X, want, got))
                mo_fail(ctx, MO_FORMAT, "weights: %s is %s, expected %s", mo_tensor_name(P[i]), got, want);
            else if (pass)
                mo_tensor_copy(P[i], X);
        }
    return mo_context_status(ctx)->code;
}

bool mo_arrays_fit(mo_tensor *const *P, int n, const mo_arrays *arrays) {
    char want[160], got[160];
    for (int i = 0; i < n; i++)
        if (!shapes_agree(P[i], mo_arrays_find(arrays, mo_tensor_name(P[i])), want, got))
            return false;
    return true;
}

mo_code mo_model_load(mo_model m, const mo_arrays *arrays) {
    if (!m.table || !arrays)
        return MO_INVALID;
    if (m.table->load)
        return m.table->load(m.content, arrays);
    int n = mo_model_n_parameters(m);
    mo_tensor **P = calloc((size_t)n + 1, sizeof *P);
    mo_context *ctx = arrays->ctx;
    if (!P)
        mo_fail(ctx, MO_MEMORY, "weights: out of memory");
    for (int i = 0; P && i < n; i++)
        P[i] = mo_model_parameter(m, i);
    if (P)
        mo_load_parameters(ctx, P, n, arrays);
    free(P);
    return mo_context_status(ctx)->code;
}

double mo_model_setting(mo_model m, const char *key) {
    mo_setting list[MO_MAX_SETTINGS];
    int n = m.table && key ? m.table->settings(m.content, list) : 0;
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].key, key) && !list[i].word)
            return list[i].number;
    return NAN;
}

/* Whether there is something to compute with. */
static bool given(mo_tape *t, mo_model m, const mo_episode *e) {
    mo_context *ctx = mo_tape_context(t);
    return mo_given(ctx, "model", "the table", m.table) && mo_given(ctx, "model", "the episode", e);
}

mo_tensor *mo_model_encode(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r) {
    if (!given(t, m, e))
        return mo_null_tensor(mo_tape_context(t));
    const char *section = mo_tape_section(t, "encoder");
    mo_tensor *Z = m.table->encode(t, m.content, e, r);
    mo_tape_section(t, section);
    return Z;
}

void mo_model_embed(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq) {
    if (Zs && Zq)
        *Zs = *Zq = mo_null_tensor(mo_tape_context(t));
    if (!given(t, m, e) || !mo_given(mo_tape_context(t), "model", "Zs or Zq", Zs && Zq ? Zs : NULL))
        return;
    mo_tensor *Z = mo_model_encode(t, m, e, r);
    mo_episode_examples(t, e, Z, m.table->of_examples, Zs, Zq);
}

mo_tensor *mo_model_readout(mo_tape *t, mo_model m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    if (!given(t, m, e))
        return mo_null_tensor(mo_tape_context(t));
    const char *section = mo_tape_section(t, "head");
    mo_tensor *logits = m.table->readout(t, m.content, e, Zs, Zq);
    mo_tape_section(t, section);
    return logits;
}

mo_tensor *mo_model_transduce(mo_tape *t, mo_model m, const mo_episode *e, const mo_population *all) {
    if (!given(t, m, e) || !mo_given(mo_tape_context(t), "model", "population", all))
        return mo_null_tensor(mo_tape_context(t));
    if (m.table->transduce)
        return m.table->transduce(t, m.content, e, all);
    mo_context *ctx = mo_tape_context(t);
    mo_fail(ctx, MO_UNSUPPORTED, "the model %s has no transductive readout", m.table->name);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_model_logits(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r) {
    mo_tensor *Zs = NULL, *Zq = NULL;
    mo_model_embed(t, m, e, r, &Zs, &Zq);
    return mo_model_readout(t, m, e, Zs, Zq);
}

mo_tensor *mo_model_loss(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **logits) {
    mo_tensor *Y = mo_model_logits(t, m, e, r);
    if (logits)
        *logits = mo_keep(Y);
    if (mo_is_null(Y))
        return Y;
    return mo_softmax_cross_entropy(t, Y, e->query_label, mo_model_setting(m, "smoothing"));
}
