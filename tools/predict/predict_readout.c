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

/* Raises if a saved fit belongs to other weights. */
static void check_weights(
    const kept_fit *f, const mo_graph *graph, const mo_few_shot_options *o, const mo_weights *read) {
    char weights[33], data[33];
    const char *own = kept_text(f, "weights");
    take_digests(graph, read, weights, data);
    if (own && strcmp(weights, own) != 0)
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other weights than %s (%s, found %s); name its own (--weights), or fit it anew "
            "(--labels)",
            f->path, o->weights ? o->weights : "best", own, weights);
}

/* Whether the attributes have the names that they had when the readout was fitted. The digest of the data is of values
 * alone, so that it does not tell. */
static bool has_columns(const kept_fit *f, const mo_graph *graph) {
    mo_tensor *T = mo_arrays_find(f->arrays, "graph.attr_names_text");
    size_t bytes = T && mo_tensor_dtype(T) == MO_U8 ? (size_t)mo_numel(T) : 0, at = 0;
    char *names = needed(malloc(bytes + 1));
    if (bytes)
        mo_tensor_read(T, names, bytes);
    bool same = true;
    for (int64_t j = 0; same && bytes && graph->feature_name && j < graph->features; j++) {
        size_t n = strlen(graph->feature_name[j]) + 1;
        same = at + n <= bytes && !memcmp(names + at, graph->feature_name[j], n);
        at += n;
    }
    free(names);
    return same;
}

/* Whether a saved fit is of this data, by their digests and the names of columns. */
static bool is_of_data(const kept_fit *f, const mo_graph *graph, const mo_weights *read) {
    char weights[33], data[33];
    const char *own = kept_text(f, "data");
    take_digests(graph, read, weights, data);
    return own && !strcmp(data, own) && has_columns(f, graph);
}

/* Opens a saved fit for these weights, and sets the readout in o. */
static kept_fit open_readout(
    const char *path, kept_kind kind, const mo_graph *graph, mo_few_shot_options *o, const mo_weights *read) {
    kept_fit f = open_kept(graph->ctx, path, kind);
    if (mo_ok(f.ctx))
        check_weights(&f, graph, o, read);
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

/* ---- labels or targets of examples ---- */

bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_weights *weights,
    const mo_labels *known, mo_few_shot *f) {
    mo_context *ctx = graph->ctx;
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_transductive chosen = o->transductive == MO_TRANSDUCTIVE_NEVER ? MO_TRANSDUCTIVE_NEVER
                             : mo_few_shot_expect(f).transductive     ? MO_TRANSDUCTIVE_ON
                                                                      : MO_TRANSDUCTIVE_OFF;
    mo_few_shot_save(f, arrays);
    mo_arrays_take(arrays, "id", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->id));
    if (known->label)
        mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->label));
    json_t *settings = pack_readout(graph, o, chosen, weights);
    return write_kept(
        ctx, path, known->label ? KEPT_EXAMPLES : KEPT_TARGETS, arrays, settings, known->name, known->classes);
}

/* Finds where a fit of another graph is applied. */
static void place_readout(
    const kept_fit *f, mo_graph *graph, mo_few_shot_options *o, mo_labels *known, loaded_readout *r) {
    mo_graph *old = mo_graph_kept(f->arrays, f->path);
    if (!old && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other data than %s, and its own graph is too large to be kept with it: give the "
            "labels anew (--labels)",
            f->path, graph->name);
    int64_t *id = needed(calloc((size_t)known->n + 1, sizeof *id));
    r->in = old ? mo_graph_beside(old, graph, known->id, known->n, f->path, id) : NULL;
    if (r->in && (r->in->hash[0] != old->hash[0] || r->in->hash[1] != old->hash[1])) { /* not the fit's own graph */
        r->old = known->id;
        known->id = id;
        if (o->transductive == MO_TRANSDUCTIVE_ON)
            o->transductive = MO_TRANSDUCTIVE_OFF;
    } else
        free(id);
    mo_graph_release(old);
}

bool load_readout(const char *path, kept_kind kind, mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights,
    mo_labels *known, loaded_readout *r) {
    kept_fit f = open_readout(path, kind, graph, o, weights);
    bool classes = kind == KEPT_EXAMPLES;
    *known = (mo_labels){.n = ANY_LENGTH};
    if (mo_ok(f.ctx) && classes)
        known->name = kept_names(&f, &known->classes);
    known->id = kept_numbers(&f, "id", &known->n);
    known->label = classes ? kept_numbers(&f, "label", &known->n) : NULL;
    known->n = mo_ok(f.ctx) ? known->n : 0;
    int64_t most = -1;
    for (int64_t i = 0; i < known->n; i++)
        if ((classes && (known->label[i] < 0 || known->label[i] >= known->classes)) ||
            (i && known->id[i] <= known->id[i - 1]))
            mo_fail(f.ctx, MO_FORMAT,
                "%s: label %" PRId64 " is not one of its classes, or its examples are not in rising order", path, i);
        else
            most = classes && known->label[i] > most ? known->label[i] : most;
    if (mo_ok(f.ctx) && most != known->classes - 1)
        mo_fail(f.ctx, MO_FORMAT, "%s: labels of %" PRId64 " classes, expected %" PRId64 " as it has names", path,
            most + 1, known->classes);
    if (mo_ok(f.ctx) && !is_of_data(&f, graph, weights))
        place_readout(&f, graph, o, known, r);
    give_arrays(&f, &r->arrays);
    return mo_ok(graph->ctx);
}

void release_readout(loaded_readout *r) {
    mo_arrays_release(r->arrays);
    mo_graph_release(r->in);
    free(r->old);
}

mo_code restore_readout(mo_few_shot *f, const mo_labels *known, const loaded_readout *r) {
    return r->old ? mo_few_shot_move(f, r->old, known->id, known->label, known->n, r->arrays)
                  : mo_few_shot_restore(f, known->id, known->label, known->n, r->arrays);
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
    if (mo_ok(f.ctx) && !is_of_data(&f, graph, weights))
        mo_fail(f.ctx, MO_INVALID,
            "%s: the readout is of other data than %s; links of a changed graph are fitted anew (--pairs)", path,
            graph->name);
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
