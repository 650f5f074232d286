/* tools/predict/predict_readout.c - a fit in a file: safetensors with the numbers and classes of the labelled examples,
 * and as metadata the readout and the digests of weights and data. A readout is closed-form and follows from its
 * labels: what is applied again is fitted again, to the same bits. */
#include "tools/predict/predict_readout.h"
#include "tools/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2: nodes and graphs are read by a mixture of kernels; a fit that an older version kept would give other predictions.
 */
static const char format[] = "mochi readout 2", command[] = "mochi predict --save";

const char *const transductive_names[4] = {"no", "yes", "auto", "never"};

/* The first number stands first, as `eval --json` prints weights; of a graph it is the second (`data info`). */
static void print_digest(uint64_t first, uint64_t second, char text[33]) {
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, first, second);
}

/* The digest of the weights that an object of these options reads. */
static bool digest_weights(mo_context *ctx, const mo_few_shot_options *o, char text[33]) {
    mo_weights *weights = mo_weights_read(ctx, o->weights ? o->weights : "best");
    if (weights)
        print_digest(weights->hash[0], weights->hash[1], text);
    mo_weights_release(weights);
    return mo_ok(ctx);
}

char *readout_metadata(const char *kind, const mo_graph *graph, const mo_few_shot_options *o, const char *classes) {
    char weights[33], data[33], lambda[40];
    if (!digest_weights(graph->ctx, o, weights))
        return NULL;
    print_digest(graph->hash[1], graph->hash[0], data);
    snprintf(lambda, sizeof lambda, "%.17g", o->lambda);
    json_t *metadata = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "format", kind, "weights", weights, "data",
        data, "head", o->head ? o->head->name : "", "lambda", lambda, "transductive",
        transductive_names[o->transductive], "classes", classes);
    char *text = needed(json_dumps(metadata, JSON_COMPACT));
    json_decref(metadata);
    return text;
}

/* The names of the classes as JSON text, owned. */
static char *class_names(const mo_labels *known) {
    json_t *names = json_array();
    for (int64_t c = 0; c < known->classes; c++)
        json_array_append_new(names, json_string(known->name[c]));
    char *classes = needed(json_dumps(names, JSON_COMPACT));
    json_decref(names);
    return classes;
}

bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_labels *known) {
    mo_context *ctx = graph->ctx;
    char *classes = class_names(known), *metadata = readout_metadata(format, graph, o, classes);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "id", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->id));
    mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->label));
    if (mo_ok(ctx))
        mo_safetensors_write(arrays, metadata, path);
    mo_arrays_release(arrays);
    free(metadata);
    free(classes);
    return mo_ok(ctx);
}

const char *readout_text(
    mo_context *ctx, const char *path, const char *command, const json_t *metadata, const char *key) {
    const char *text = json_string_value(json_object_get(metadata, key));
    if (!text && mo_ok(ctx))
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found no %s in its metadata", path, command, key);
    return text;
}

double readout_real(
    mo_context *ctx, const char *path, const char *command, const json_t *metadata, const char *key, bool none) {
    const char *text = readout_text(ctx, path, command, metadata, key);
    char *end = NULL;
    double value = text ? strtod(text, &end) : NAN;
    if (text && none && !strcmp(text, "none"))
        return NAN;
    if (text && (!*text || *end || !isfinite(value) || value < 0))
        mo_fail(ctx, MO_FORMAT, "%s: expected a number of 0 or more as its %s, found '%.40s'", path, key, text);
    return value;
}

static const char *text_of(mo_context *ctx, const char *path, const json_t *metadata, const char *key) {
    return readout_text(ctx, path, command, metadata, key);
}

static void check_belongs(
    const char *path, const mo_graph *graph, const mo_few_shot_options *o, const json_t *metadata) {
    char weights[33] = "", data[33];
    const char *of_weights = text_of(graph->ctx, path, metadata, "weights");
    const char *of_data = text_of(graph->ctx, path, metadata, "data");
    if (!of_weights || !of_data || !digest_weights(graph->ctx, o, weights))
        return;
    print_digest(graph->hash[1], graph->hash[0], data);
    if (strcmp(weights, of_weights) != 0)
        mo_fail(
            graph->ctx, MO_INVALID, "%s: the readout is of weights %s, found weights %s", path, of_weights, weights);
    else if (strcmp(data, of_data) != 0)
        mo_fail(graph->ctx, MO_INVALID,
            "%s: the readout is of other data than %s (%s, found %s); the features of a graph depend on all of it, so "
            "a changed graph needs its labels anew (--labels)",
            path, graph->name, of_data, data);
}

static void take_readout(mo_context *ctx, const char *path, const json_t *metadata, mo_few_shot_options *o) {
    const char *head = text_of(ctx, path, metadata, "head");
    const char *transductive = text_of(ctx, path, metadata, "transductive");
    o->lambda = readout_real(ctx, path, command, metadata, "lambda", false);
    if (!mo_ok(ctx))
        return;
    o->head = head[0] ? mo_find_head(head) : NULL;
    int choice = MO_TRANSDUCTIVE_NEVER;
    while (choice >= 0 && strcmp(transductive, transductive_names[choice]) != 0)
        choice--;
    if (choice < 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected no, yes, auto or never as its transductive, found '%.40s'", path,
            transductive);
    o->transductive = (mo_transductive)choice;
    if (!mo_ok(ctx))
        return;
    if (head[0] && !o->head)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: its readout is %s, which is not one of the library's", path, head);
}

char **readout_names(mo_context *ctx, const char *path, const char *command, const json_t *metadata, int64_t *classes) {
    const char *text = readout_text(ctx, path, command, metadata, "classes");
    json_t *names = text ? json_loads(text, 0, NULL) : NULL;
    size_t n = json_array_size(names);
    char **name = mo_ok(ctx) ? needed(calloc(n + 1, sizeof *name)) : NULL;
    *classes = 0;
    for (size_t c = 0; name && c < n; c++) {
        const char *given = json_string_value(json_array_get(names, c));
        name[(*classes)++] = given ? needed(strdup(given)) : NULL;
        if (!given && mo_ok(ctx))
            mo_fail(ctx, MO_FORMAT, "%s: class %zu has no name", path, c);
        for (size_t b = 0; given && b < c && mo_ok(ctx); b++)
            if (!strcmp(name[b], given))
                mo_fail(ctx, MO_FORMAT, "%s: expected classes of different names, found '%.40s' twice", path, given);
    }
    if (mo_ok(ctx) && n < 2)
        mo_fail(ctx, MO_FORMAT, "%s: expected the names of 2 or more classes, found %zu", path, n);
    json_decref(names);
    return name;
}

int64_t *readout_numbers(mo_context *ctx, const char *path, const mo_arrays *arrays, const char *name, int64_t *n) {
    mo_tensor *T = mo_arrays_find(arrays, name);
    if (mo_ok(ctx) && (!T || mo_tensor_dtype(T) != MO_I64 || mo_ndim(T) != 1 || (*n && mo_numel(T) != *n)))
        mo_fail(ctx, MO_FORMAT, "%s: expected the array %s, int64 [n]", path, name);
    if (!mo_ok(ctx))
        return NULL;
    *n = mo_numel(T);
    int64_t *host = needed(calloc((size_t)*n + 1, sizeof *host));
    mo_tensor_read(T, host, (size_t)*n * sizeof *host);
    return host;
}

json_t *open_readout(
    const char *path, const char *kind, const mo_graph *graph, const mo_arrays *arrays, mo_few_shot_options *o) {
    mo_context *ctx = graph->ctx;
    json_t *metadata = arrays && arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL;
    const char *found = mo_ok(ctx) ? text_of(ctx, path, metadata, "format") : NULL;
    if (found && !strcmp(found, "mochi readout"))
        mo_fail(ctx, MO_FORMAT, "%s: kept by an older version, whose readout is gone; keep it anew (--labels)", path);
    else if (found && strcmp(found, kind) != 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `mochi predict --save`%s, found %s", path,
            strcmp(kind, format) ? " of links" : "", found);
    text_of(ctx, path, metadata, "xxh3_header"); /* verified by now, where they are there */
    text_of(ctx, path, metadata, "xxh3_tensors");
    if (mo_ok(ctx))
        check_belongs(path, graph, o, metadata);
    if (mo_ok(ctx))
        take_readout(ctx, path, metadata, o);
    return metadata;
}

bool load_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_labels *known) {
    mo_context *ctx = graph->ctx;
    *known = (mo_labels){0};
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    json_t *metadata = open_readout(path, format, graph, arrays, o);
    if (mo_ok(ctx))
        known->name = readout_names(ctx, path, command, metadata, &known->classes);
    known->id = readout_numbers(ctx, path, arrays, "id", &known->n);
    known->label = readout_numbers(ctx, path, arrays, "label", &known->n);
    for (int64_t i = 0; mo_ok(ctx) && i < known->n; i++)
        if (known->label[i] < 0 || known->label[i] >= known->classes || (i && known->id[i] <= known->id[i - 1]))
            mo_fail(ctx, MO_FORMAT, "%s: label %" PRId64 " is not one of its classes, or its examples do not rise",
                path, i);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}
