/* train/run/weights_model.c - the model that weights are of: MOCHI, the invariant encoder or an encoder from outside,
 * under the readout it was trained with or a head of the caller's choice. */
#include "tensor/storage.h"
#include "train/inside.h"

#include <string.h>

static bool weights_are_kind(const mo_weights *w, const char *kind) {
    return strcmp(w->kind, kind) == 0;
}

static mo_model *make_mochi(const mo_weights *w, const mo_model_choice *c) {
    mo_mochi_options o = w->mochi;
    if (c->head)
        o.head = c->head;
    if (c->lambda > 0)
        o.lambda = c->lambda;
    return mo_mochi_create(w->ctx, MO_F32, &o, c->seed);
}

/* Raises where weights of an encoder from outside come without it, or with another one. */
static bool check_encoder(const mo_weights *w, const mo_encoder *encoder) {
    bool own = weights_are_kind(w, "mochi") || weights_are_kind(w, "invariant");
    if (!own && !encoder)
        mo_fail(w->ctx, MO_UNSUPPORTED,
            "weights: they are of the model %s, which is not one of the library's; expected its encoder with them",
            w->kind);
    else if (encoder && (own || strcmp(encoder->name, w->kind) != 0))
        mo_fail(w->ctx, MO_INVALID, "weights: they are of the model %s, found the encoder %s with them", w->kind,
            encoder->name);
    return mo_ok(w->ctx);
}

/* What reads an encoder: as it was trained with, or the head that was chosen. */
static mo_readout_options choose_readout(const mo_weights *w, const mo_model_choice *c) {
    mo_readout_options o = w->readout;
    if (!w->head[0])
        o.smoothing = w->invariant.smoothing;
    if (c->head)
        o.head = c->head;
    if (c->head && strcmp(c->head->name, w->head) != 0) { /* nothing that the other head learned is of use */
        memset(o.width, 0, sizeof o.width);
        o.lambda = w->head[0] ? 0 : w->lambda;
    }
    if (c->lambda > 0)
        o.lambda = c->lambda;
    return o;
}

/* An encoder under its own readout or, where one was chosen or trained with, a head. */
static mo_model *make_weights_encoder(const mo_weights *w, const mo_model_choice *c) {
    mo_context *ctx = w->ctx;
    mo_readout_options o = choose_readout(w, c);
    if (!weights_are_kind(w, "invariant")) {
        mo_encoder_rows rows = {w->features.hops, w->features.dim};
        return mo_encoder_create(ctx, MO_F32, c->encoder, rows, &o, c->seed);
    }
    mo_model *model = mo_invariant_create(ctx, MO_F32, &w->invariant);
    bool own = !w->head[0] && (!c->head || c->head == &mo_head_mixture);
    return own ? model : mo_model_under_head(model, &o, c->seed);
}

mo_model *mo_weights_model_as(const mo_weights *w, const mo_model_choice *choice) {
    if (!w || !mo_given(w->ctx, "weights", "the choice", choice))
        return NULL;
    mo_context *ctx = w->ctx;
    mo_model *model = NULL;
    if (mo_ok(ctx) && w->head[0] && !choice->head && !mo_find_head(w->head))
        mo_fail(ctx, MO_UNSUPPORTED, "weights: they were trained with the head %s, which is not one of the library's",
            w->head);
    ctx->promised = w->arrays;
    if (mo_ok(ctx) && check_encoder(w, choice->encoder))
        model = (weights_are_kind(w, "mochi") ? make_mochi : make_weights_encoder)(w, choice);
    ctx->promised = NULL;
    if (!model || choice->untrained || mo_model_load(model, w->arrays) == MO_OK)
        return model;
    mo_model_release(model);
    return NULL;
}

mo_model *mo_weights_model(const mo_weights *w) {
    return mo_weights_model_as(w, &(mo_model_choice){0});
}

mo_model *mo_model_open(mo_context *ctx, const char *path_or_name) {
    mo_weights *weights = mo_weights_read(ctx, path_or_name);
    mo_model *model = mo_weights_model(weights);
    mo_weights_release(weights);
    return model;
}
