/* train/run/weights_write.c - weights.safetensors written: the parameters, and in the metadata what is needed to use
 * them, and which graphs they were trained on. No time, path or thread count, so equal runs write equal bytes. */
#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/run/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool put_number(json_t *metadata, const char *key, double value) {
    char text[40];
    mo_format(text, sizeof text, "%.17g", value);
    return json_object_set_new(metadata, key, json_string(text)) == 0;
}

/* Whether an earlier source is of the same graph, or of one of the same content. */
static bool is_listed(const mo_pool *pool, int i) {
    int j = 0;
    while (memcmp(pool->source[j].graph->hash, pool->source[i].graph->hash, sizeof pool->source[i].graph->hash) != 0)
        j++;
    return j < i;
}

/* The graphs of a pool, each once, as JSON text: [{"data": NAME, "xxh3": DIGEST of its content}, ..]. Of a name that is
 * a path only the last part is kept. */
static bool put_pool(json_t *metadata, const mo_pool *pool) {
    json_t *list = json_array();
    bool whole = list;
    for (int i = 0; i < pool->n; i++) {
        const mo_graph *graph = pool->source[i].graph;
        const char *slash = strrchr(graph->name, '/');
        char hash[40];
        snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, graph->hash[1], graph->hash[0]);
        if (!is_listed(pool, i))
            whole &= !json_array_append_new(
                list, json_pack("{s:s, s:s}", "data", slash && slash[1] ? slash + 1 : graph->name, "xxh3", hash));
    }
    char *text = whole ? mo_json_encode(list, JSON_COMPACT) : NULL;
    whole = text && !json_object_set_new(metadata, "pool", json_string(text));
    free(text);
    json_decref(list);
    return whole;
}

static char *encode_weights_metadata(mo_model *model, const mo_weights_about *o) {
    const mo_feature_options *features = o->features;
    json_t *metadata = json_object();
    char key[32];
    bool whole = metadata != NULL;
    mo_setting list[MO_MAX_SETTINGS];
    int n = mo_model_settings(model, list);
    whole &= !json_object_set_new(metadata, "format", json_string(MO_WEIGHTS_FORMAT));
    whole &= !json_object_set_new(metadata, "kind", json_string(model->encoder.name));
    for (int i = 0; i < n; i++)
        if (list[i].word)
            whole &= !json_object_set_new(metadata, list[i].key, json_string(list[i].word));
        else
            whole &= put_number(metadata, list[i].key, list[i].number);
    if (strcmp(model->encoder.name, MO_KIND_MOCHI) != 0 && strcmp(model->encoder.name, MO_KIND_INVARIANT) != 0)
        whole &= !json_object_set_new(metadata, "rows", json_string(model->encoder.of_examples ? "examples" : "nodes"));
    whole &= put_number(metadata, "dim", features->dim);
    whole &= !json_object_set_new(
        metadata, "combine", json_string(features->combine == MO_COMBINE_CONCAT ? "concat" : "sum"));
    if (features->form == MO_FEATURES_OF_NODES)
        whole &= !json_object_set_new(
            metadata, "feature_norm", json_string(features->norm == MO_FEATURE_NORM_NONE ? "none" : "layer"));
    whole &= put_number(metadata, "power_iterations", features->power_iterations < 0 ? -1 : features->power_iterations);
    snprintf(key, sizeof key, "%" PRIu64, features->seed);
    whole &= !json_object_set_new(metadata, "feature_seed", json_string(key));
    for (int task = 0; task < MO_TASKS; task++) {
        snprintf(key, sizeof key, "best_hop_%s", mo_task_name((mo_task)task));
        whole &= put_number(metadata, key, o->best_hop[task]);
    }
    whole &= put_number(metadata, "hop_lambda", o->hop_lambda);
    if (o->recipe)
        whole &= !json_object_set_new(metadata, "recipe", json_string(o->recipe));
    if (o->pool)
        whole &= put_pool(metadata, o->pool);
    char *text = whole ? mo_json_encode(metadata, JSON_COMPACT) : NULL;
    json_decref(metadata);
    return text;
}

mo_code mo_weights_write(mo_context *ctx, mo_model *model, const mo_weights_about *about, const char *path) {
    int n = mo_model_n_parameters(model);
    mo_array *items = mo_ok(ctx) ? mo_host_alloc(ctx, (size_t)n * sizeof *items) : NULL;
    char *metadata = items ? encode_weights_metadata(model, about) : NULL;
    if (items && !metadata)
        mo_fail(ctx, MO_MEMORY, "weights: out of memory for the metadata (names must be UTF-8)");
    if (metadata) {
        for (int i = 0; i < n; i++) {
            mo_tensor *P = mo_model_parameter(model, i);
            items[i] = (mo_array){.name = P->name, .tensor = P};
        }
        mo_safetensors_write(&(mo_arrays){.ctx = ctx, .count = n, .items = items}, metadata, path);
    }
    free(metadata);
    mo_host_free(ctx, items, (size_t)n * sizeof *items);
    return mo_context_status(ctx)->code;
}
