/* tools/predict/predict_readout.c - the readouts that `mochi predict` saves: the state, the labelled examples and their
 * classes, or pairs of nodes, linked ones first; and the digests of weights and data. */
#include "tools/cli/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const transductive_names[4] = {"no", "yes", "auto", "never"};
static const char *const attribute_names[2] = {"scaled", "raw"};

/* ---- digests of weights and data ---- */

/* Writes a digest, high half first. Of the two numbers of a digest, the high half is the first for weights
 * (`eval --json`) and the second for a graph (`data info`). */
static void print_digest(uint64_t first, uint64_t second, char text[33]) {
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, first, second);
}

/* Writes the digests of the weights and of the graph. */
static void take_digests(const mo_graph *graph, const mo_weights *read, char weights[33], char data[33]) {
    print_digest(read->hash[0], read->hash[1], weights);
    print_digest(graph->hash[1], graph->hash[0], data);
}

/* Returns the settings of a readout, for a new file. */
static json_t *pack_readout(
    const mo_graph *graph, const mo_few_shot_options *o, mo_transductive transductive, const mo_weights *read) {
    char weights[33], data[33], lambda[40];
    take_digests(graph, read, weights, data);
    snprintf(lambda, sizeof lambda, "%.17g", o->lambda);
    mo_attributes attributes = o->attributes ? o->attributes : read->features.attributes;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "weights", weights, "data", data, "head",
        o->head ? o->head->name : "", "lambda", lambda, "transductive", transductive_names[transductive], "attributes",
        attribute_names[attributes == MO_ATTRIBUTES_RAW]);
}

/* Raises if a saved fit belongs to other weights or other data. */
static void check_belongs(
    const kept_fit *f, const mo_graph *graph, const mo_few_shot_options *o, const mo_weights *read) {
    char weights[33], data[33];
    const char *of_weights = kept_text(f, "weights"), *of_data = kept_text(f, "data");
    if (!of_weights || !of_data)
        return;
    take_digests(graph, read, weights, data);
    if (strcmp(weights, of_weights) != 0)
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other weights than %s (%s, found %s); name its own (--weights), or fit it anew "
            "(--labels)",
            f->path, o->weights ? o->weights : "best", of_weights, weights);
    else if (strcmp(data, of_data) != 0)
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other data than %s (%s, found %s); the features of a graph depend on all of it, so "
            "a changed graph needs its labels anew (--labels)",
            f->path, graph->name, of_data, data);
}

/* Opens a saved fit for these weights and data, and sets the readout in o. */
static kept_fit open_readout(
    const char *path, kept_kind kind, const mo_graph *graph, mo_few_shot_options *o, const mo_weights *read) {
    kept_fit f = open_kept(graph->ctx, path, kind);
    if (mo_ok(f.ctx))
        check_belongs(&f, graph, o, read);
    if (mo_ok(f.ctx)) {
        o->lambda = kept_real(&f, "lambda", false);
        o->transductive = (mo_transductive)kept_word(&f, "transductive", transductive_names, 4);
        o->head = kept_head(&f, o->head);
        o->attributes = kept_word(&f, "attributes", attribute_names, 2) ? MO_ATTRIBUTES_RAW : MO_ATTRIBUTES_SCALED;
    }
    return f;
}

/* Releases a saved fit but its arrays, which go to *fitted; NULL after an error. */
static void give_arrays(kept_fit *f, mo_arrays **fitted) {
    if (mo_ok(f->ctx)) {
        *fitted = f->arrays;
        f->arrays = NULL;
    }
    release_kept(f);
}

/* ---- labels of examples ---- */

bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_weights *weights,
    const mo_labels *known, mo_few_shot *f) {
    mo_context *ctx = graph->ctx;
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_transductive chosen = o->transductive == MO_TRANSDUCTIVE_NEVER ? MO_TRANSDUCTIVE_NEVER
                             : mo_few_shot_expect(f).transductive     ? MO_TRANSDUCTIVE_ON
                                                                      : MO_TRANSDUCTIVE_OFF;
    mo_few_shot_save(f, arrays);
    mo_arrays_take(arrays, "id", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->id));
    mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->label));
    json_t *settings = pack_readout(graph, o, chosen, weights);
    return write_kept(ctx, path, KEPT_EXAMPLES, arrays, settings, known->name, known->classes);
}

bool load_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights,
    mo_labels *known, mo_arrays **fitted) {
    kept_fit f = open_readout(path, KEPT_EXAMPLES, graph, o, weights);
    *known = (mo_labels){.n = ANY_LENGTH};
    if (mo_ok(f.ctx))
        known->name = kept_names(&f, &known->classes);
    known->id = kept_numbers(&f, "id", &known->n);
    known->label = kept_numbers(&f, "label", &known->n);
    known->n = mo_ok(f.ctx) ? known->n : 0;
    int64_t most = -1;
    for (int64_t i = 0; i < known->n; i++)
        if (known->label[i] < 0 || known->label[i] >= known->classes || (i && known->id[i] <= known->id[i - 1]))
            mo_fail(f.ctx, MO_FORMAT,
                "%s: label %" PRId64 " is not one of its classes, or its examples are not in rising order", path, i);
        else
            most = known->label[i] > most ? known->label[i] : most;
    if (mo_ok(f.ctx) && most != known->classes - 1)
        mo_fail(f.ctx, MO_FORMAT, "%s: labels of %" PRId64 " classes, expected %" PRId64 " as it has names", path,
            most + 1, known->classes);
    give_arrays(&f, fitted);
    return mo_ok(graph->ctx);
}

/* ---- pairs of nodes ---- */

static const char *const column_name[] = {"from", "to", "linked", "fit"};

bool save_link_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_weights *weights,
    const mo_link_scorer *scorer) {
    const mo_link_support *support = mo_link_scorer_support(scorer);
    mo_context *ctx = graph->ctx;
    const int64_t *const column[] = {support->u, support->v, support->linked, support->fit};
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < 4; i++)
        mo_arrays_take(arrays, column_name[i], mo_tensor_create_from(ctx, MO_I64, 1, &support->n, column[i]));
    mo_link_scorer_save(scorer, arrays);
    json_t *settings = pack_readout(graph, o, o->transductive, weights);
    return write_kept(ctx, path, KEPT_LINKS, arrays, settings, (char *[]){"no", "yes"}, 2);
}

bool load_link_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights,
    mo_link_support *support, mo_arrays **fitted) {
    kept_fit f = open_readout(path, KEPT_LINKS, graph, o, weights);
    *support = (mo_link_support){.n = ANY_LENGTH};
    int64_t **const column[] = {&support->u, &support->v, &support->linked, &support->fit};
    for (int i = 0; i < 4; i++)
        *column[i] = kept_numbers(&f, column_name[i], &support->n);
    support->n = mo_ok(f.ctx) ? support->n : 0;
    for (int64_t i = 0; i < support->n; i++)
        if (support->u[i] < 0 || support->u[i] >= graph->nodes || support->v[i] < 0 || support->v[i] >= graph->nodes ||
            support->fit[i] < 0 || support->fit[i] > 1 << 20)
            mo_fail(f.ctx, MO_FORMAT, "%s: pair %" PRId64 " is not one of nodes of %s", path, i, graph->name);
    give_arrays(&f, fitted);
    return mo_ok(graph->ctx);
}

/* ---- real targets ---- */

static const char *const transforms[] = {"auto", "none", "log"};

bool save_target_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o,
    const mo_weights *weights, const mo_targets *targets, mo_target_transform transform) {
    mo_context *ctx = graph->ctx;
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "id", mo_tensor_create_from(ctx, MO_I64, 1, &targets->n, targets->id));
    mo_arrays_take(arrays, "target", mo_tensor_create_from(ctx, MO_F64, 1, &targets->n, targets->value));
    json_t *settings = pack_readout(graph, o, MO_TRANSDUCTIVE_OFF, weights);
    json_object_set_new(settings, "transform", json_string(transforms[transform]));
    return write_kept(ctx, path, KEPT_TARGETS, arrays, settings, NULL, 0);
}

bool load_target_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights,
    mo_targets *targets, mo_target_transform *transform) {
    kept_fit f = open_readout(path, KEPT_TARGETS, graph, o, weights);
    *targets = (mo_targets){.n = ANY_LENGTH};
    *transform = mo_ok(f.ctx) ? (mo_target_transform)kept_word(&f, "transform", transforms, 3) : MO_TRANSFORM_AUTO;
    targets->id = kept_numbers(&f, "id", &targets->n);
    mo_tensor *T = mo_ok(f.ctx) ? mo_arrays_find(f.arrays, "target") : NULL;
    if (mo_ok(f.ctx) && (!T || mo_tensor_dtype(T) != MO_F64 || mo_ndim(T) != 1 || mo_numel(T) != targets->n))
        mo_fail(f.ctx, MO_FORMAT, "%s: expected the array target, float64 [%" PRId64 "]", path, targets->n);
    targets->n = mo_ok(f.ctx) ? targets->n : 0;
    targets->value = needed(calloc((size_t)targets->n + 1, sizeof *targets->value));
    if (targets->n)
        mo_tensor_read(T, targets->value, (size_t)targets->n * sizeof *targets->value);
    for (int64_t i = 1; i < targets->n && mo_ok(f.ctx); i++)
        if (targets->id[i] <= targets->id[i - 1])
            mo_fail(f.ctx, MO_FORMAT, "%s: its examples are not in rising order", path);
    release_kept(&f);
    return mo_ok(graph->ctx);
}
