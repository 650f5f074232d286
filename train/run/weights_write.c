/* train/run/weights_write.c - writes weights.safetensors: the parameters, and metadata to use them, with the graphs
 * they were trained on. It holds no time, path or thread count, so equal runs write equal bytes. */
#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/run/description.h"
#include "train/run/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_number(mo_description *metadata, const char *key, double value) {
    char text[40];
    mo_format(text, sizeof text, "%.17g", value);
    mo_describe(metadata, key, json_string(text));
}

/* Whether an earlier source has the same graph, or one with equal content. */
static bool is_listed(const mo_pool *pool, int i) {
    int j = 0;
    while (memcmp(pool->source[j].graph->hash, pool->source[i].graph->hash, sizeof pool->source[i].graph->hash) != 0)
        j++;
    return j < i;
}

/* The graphs of a pool, each once, as JSON text: [{"data": NAME, "xxh3": DIGEST of its content}, ..]. A name that is a
 * path is cut to its last part. */
static void put_pool(mo_description *metadata, const mo_pool *pool) {
    mo_description list = mo_description_of(json_array());
    for (int i = 0; i < pool->n; i++) {
        const mo_graph *graph = pool->source[i].graph;
        const char *slash = strrchr(graph->name, '/');
        char hash[40];
        if (!is_listed(pool, i))
            mo_describe(&list, NULL,
                json_pack("{s:s, s:s}", "data", slash && slash[1] ? slash + 1 : graph->name, "xxh3",
                    mo_hash_digits(graph, hash)));
    }
    json_t *graphs = mo_description_end(&list);
    char *text = graphs ? mo_json_encode(graphs, JSON_COMPACT) : NULL;
    mo_describe(metadata, "pool", text ? json_string(text) : NULL);
    free(text);
    json_decref(graphs);
}

static char *encode_weights_metadata(mo_model *model, const mo_weights_about *o) {
    const mo_feature_options *features = o->features;
    mo_description metadata = mo_description_of(json_object());
    char key[32];
    mo_setting list[MO_MAX_SETTINGS];
    int n = mo_model_settings(model, list);
    mo_describe(&metadata, "format", json_string(MO_WEIGHTS_FORMAT));
    mo_describe(&metadata, "kind", json_string(model->encoder.name));
    for (int i = 0; i < n; i++)
        if (list[i].word)
            mo_describe(&metadata, list[i].key, json_string(list[i].word));
        else
            put_number(&metadata, list[i].key, list[i].number);
    if (strcmp(model->encoder.name, MO_KIND_MOCHI) != 0 && strcmp(model->encoder.name, MO_KIND_INVARIANT) != 0)
        mo_describe(&metadata, "rows", json_string(model->encoder.of_examples ? "examples" : "nodes"));
    put_number(&metadata, "dim", features->dim);
    mo_describe(&metadata, "combine", json_string(features->combine == MO_COMBINE_CONCAT ? "concat" : "sum"));
    if (features->form == MO_FEATURES_OF_NODES)
        mo_describe(&metadata, "feature_norm", json_string(features->norm == MO_FEATURE_NORM_NONE ? "none" : "layer"));
    put_number(&metadata, "power_iterations", features->power_iterations < 0 ? -1 : features->power_iterations);
    snprintf(key, sizeof key, "%" PRIu64, features->seed);
    mo_describe(&metadata, "feature_seed", json_string(key));
    for (int task = 0; task < MO_TASKS; task++) {
        snprintf(key, sizeof key, "best_hop_%s", mo_task_name((mo_task)task));
        put_number(&metadata, key, o->best_hop[task]);
    }
    put_number(&metadata, "hop_lambda", o->hop_lambda);
    if (o->recipe)
        mo_describe(&metadata, "recipe", json_string(o->recipe));
    if (o->pool)
        put_pool(&metadata, o->pool);
    json_t *whole = mo_description_end(&metadata);
    char *text = whole ? mo_json_encode(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
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
