/* tools/train/train_effect.c - refuses options of `mochi train` that have no effect on the run, and options that
 * contradict the resumed run. */
#include "tools/train/train_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses options of the recipe's encoder if --encoder replaces it. */
static void refuse_by_encoder(const train_options *o) {
    static const char *const of_encoder[] = {"layers", "hop-activation", "dropout", "without"};
    for (size_t i = 0; i < sizeof of_encoder / sizeof *of_encoder; i++)
        refuse_given(&o->given, of_encoder[i], true, "expected no --encoder, which stands in place of the recipe's");
    for (int i = 0; i < 2; i++)
        refuse_given(&o->given, i ? "combine" : "feature-norm", o->recipe.encoder->of_examples,
            "the encoder reads rows of examples, which keep structure and attributes apart");
}

/* Refuses options of encoders other than the recipe `best`'s; options of a head if the encoder's own readout is used;
 * and options of that readout if it is not used. */
static void refuse_by_recipe(const train_options *o) {
    static const char *const others[] = {"layers", "combine", "feature-norm", "hop-activation", "dropout"};
    static const char *const of_head[] = {"lambda", "temperature"};
    bool best = o->recipe.number == RECIPE_BEST, own = reads_itself(&o->recipe);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refuse_given(&o->given, others[i], best, "the recipe best has its own encoder; name another --recipe");
    for (size_t i = 0; i < sizeof of_head / sizeof *of_head; i++)
        refuse_given(&o->given, of_head[i], own,
            "the recipe best's own readout, mixture, has its own; name another --head or --recipe");
    refuse_given(&o->given, "without", !best, "expected --recipe best, which alone has parts to leave out");
}

void refuse_train_options(const train_options *o) {
    const mo_head *head = o->recipe.model.head;
    (o->recipe.encoder ? refuse_by_encoder : refuse_by_recipe)(o);
    refuse_given(&o->given, "lambda", !head_has(head, "lambda"), "the head of --head has no parameter of that name");
    refuse_given(&o->given, "digest", o->replay, "expected no --replay, whose gradients cannot be read");
    refuse_given(&o->given, "solve-health", o->replay, "expected no --replay, whose solves cannot be read");
    refuse_given(
        &o->given, "replay", o->device.device == MO_CPU, "expected --device cuda; the cpu has nothing to replay");
    refuse_given(&o->given, "deterministic", o->device.device == MO_CPU,
        "expected --device cuda; on the cpu every number of processes gives the same weights");
    refuse_given(&o->given, "new-lr", !o->resume, "expected --resume, of a run that goes on at another rate");
    refuse_given(&o->given, "quiet", o->json, "--json has no progress to leave out");
    refuse_math_on_cpu(&o->given, &o->device);
}

bool share_is_used(const train_options *o, const mo_pool *pool) {
    int links = 0, own = 0; /* graphs with links; graphs with a share of their own */
    for (int i = 0; i < mo_pool_size(pool); i++)
        links += mo_pool_source(pool, i)->task == MO_TASK_LP;
    for (int i = 0; i < o->recipe.pool.count; i++)
        own += strchr(o->recipe.pool.items[i], '@') != NULL;
    return !is_given(&o->given, "link-share") || links > own;
}

/* ---- resumed runs ---- */

static char *encode_effect(const json_t *value) {
    return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
}

/* Reports in one line the setting of run.json that differs, by the name of its option, with both values. Returns
 * true. */
static bool tell_contradiction(const train_options *o, const char *key, const json_t *kept, const json_t *now) {
    char option[64], *before = encode_effect(kept), *after = encode_effect(now);
    snprintf(option, sizeof option, "%s", strcmp(key, "families") ? key : "pool");
    for (char *c = option; *c; c++)
        *c = *c == '_' ? '-' : *c;
    fprintf(stderr, "%s: --%s: the run in %s has %s, found %s; a resumed run keeps its settings\n", o->given.command,
        option, o->out, before ? before : "none", after ? after : "none");
    free(before);
    free(after);
    return true;
}

/* Whether a setting is compared as text. Graphs are compared by content once they are open, as another machine may name
 * them differently. */
static bool is_compared(const char *key) {
    return strcmp(key, "pool") != 0;
}

void refuse_contradictions(const train_options *o, const char *kept_text) {
    char *text = recipe_text(&o->recipe);
    json_t *kept = json_loads(kept_text, 0, NULL), *now = json_loads(text, 0, NULL), *value;
    const char *key;
    bool refused = false;
    json_object_foreach(now, key, value) {
        if (!refused && is_compared(key) && !json_equal(value, json_object_get(kept, key)))
            refused = tell_contradiction(o, key, json_object_get(kept, key), value);
    }
    json_object_foreach(kept, key, value) {
        if (!refused && is_compared(key) && !json_object_get(now, key))
            refused = tell_contradiction(o, key, value, NULL);
    }
    json_decref(kept);
    json_decref(now);
    free(text);
    if (refused)
        exit(EXIT_USAGE);
}
