/* models/model.c - what all models share: parameters by name, loss. */
#include "models/models.h"

#include <math.h>
#include <string.h>

void mo_model_release(mo_model m) {
    if (m.table && m.content)
        m.table->release(m.content);
}

int mo_model_n_parameters(mo_model m) {
    return m.table->n_parameters(m.content);
}

mo_tensor *mo_model_parameter(mo_model m, int i) {
    return m.table->parameter(m.content, i);
}

mo_code mo_model_load(mo_model m, const mo_arrays *arrays) {
    return m.table->load(m.content, arrays);
}

double mo_model_setting(mo_model m, const char *key) {
    mo_setting list[MO_MAX_SETTINGS];
    int n = m.table->settings(m.content, list);
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].key, key) && !list[i].word)
            return list[i].number;
    return NAN;
}

void mo_model_embed(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **Zs, mo_tensor **Zq) {
    m.table->embed(t, m.content, e, r, Zs, Zq);
}

mo_tensor *mo_model_readout(mo_tape *t, mo_model m, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    return m.table->readout(t, m.content, e, Zs, Zq);
}

mo_tensor *mo_model_transduce(mo_tape *t, mo_model m, const mo_episode *e, const mo_population *all) {
    if (m.table->transduce)
        return m.table->transduce(t, m.content, e, all);
    mo_context *ctx = mo_tape_context(t);
    mo_fail(ctx, MO_UNSUPPORTED, "the model %s has no transductive readout", m.table->name);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_model_logits(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r) {
    mo_tensor *Zs, *Zq;
    mo_model_embed(t, m, e, r, &Zs, &Zq);
    return mo_model_readout(t, m, e, Zs, Zq);
}

mo_tensor *mo_model_loss(mo_tape *t, mo_model m, const mo_episode *e, mo_random *r, mo_tensor **logits) {
    mo_tensor *Y = mo_model_logits(t, m, e, r);
    if (logits)
        *logits = mo_keep(Y);
    return mo_softmax_cross_entropy(t, Y, e->query_label, mo_model_setting(m, "smoothing"));
}
