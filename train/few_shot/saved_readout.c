/* train/few_shot/saved_readout.c - the file of a fitted readout: safetensors with the state, and as metadata what the
 * readout is of, its settings and the names of its classes. */
#include "train/saved_readout.h"
#include "tensor/files/fields.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/library.h"
#include "train/few_shot/few_shot.h"
#include "train/run/trainer.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "mochi readout 3";
/* What a readout reads: the member `of`. */
static const char of_logits[] = "logits", of_rows[] = "rows", of_examples[] = "examples", of_targets[] = "targets",
                  of_links[] = "links";

enum { ANY_LENGTH = -1 };

/* The settings of a readout of rows, and of one of a graph. */
static const mo_field row_settings[] = {
    {MO_FIELD_CHOICE, "scaling", .at = offsetof(mo_row_readout, scaling),
        .choices = "none|centre|standardise|normalise"},
    {MO_FIELD_POSITIVE, "temperature", .at = offsetof(mo_row_readout, temperature)},
    {MO_FIELD_CHOICE, "rows", .at = offsetof(mo_row_readout, real), .low = MO_F32, .choices = "float32|float64"},
    {MO_FIELDS_END},
};
static const mo_field graph_settings[] = {
    {MO_FIELD_REAL, "lambda", .at = offsetof(mo_few_shot_options, lambda)},
    {MO_FIELD_CHOICE, "transductive", .at = offsetof(mo_few_shot_options, transductive),
        .choices = "no|yes|auto|never"},
    {MO_FIELD_CHOICE, "attributes", .at = offsetof(mo_few_shot_options, attributes), .low = MO_ATTRIBUTES_SCALED,
        .choices = "scaled|raw"},
    {MO_FIELDS_END},
};
/* Of rows too, as text: "none" if the readout has its head's own. */
static const mo_field regularisation = {MO_FIELD_REAL, "regularisation", .at = offsetof(mo_row_readout, value)};

/* ---- writing ---- */

/* The metadata of a readout; of: what it reads, name [n]: the classes. */
static mo_description describe(const char *of, const mo_head *head, char *const *name, int64_t n) {
    mo_description names = mo_description_of(json_array()), told = mo_description_of(json_object());
    for (int64_t c = 0; c < n; c++)
        mo_describe(&names, NULL, json_string(name[c]));
    json_t *list = mo_description_end(&names);
    char *text = list ? mo_json_encode(list, JSON_COMPACT) : NULL;
    mo_describe(&told, "format", json_string(format));
    mo_describe(&told, "of", json_string(of));
    mo_describe(&told, "head", json_string(head ? head->name : ""));
    if (of != of_logits)
        mo_describe(&told, "classes", text ? json_string(text) : NULL);
    free(text);
    json_decref(list);
    return told;
}

static void put_fields(mo_description *told, const mo_field *settings, const void *options) {
    told->whole = told->whole && mo_fields_write(settings, options, told->object, true);
}

/* Writes the file; frees arrays and metadata. */
static mo_code write_file(mo_context *ctx, const char *path, mo_arrays *arrays, const mo_description *told) {
    json_t *metadata = mo_description_end(told);
    char *text = metadata ? mo_json_encode(metadata, JSON_COMPACT) : NULL;
    if (mo_ok(ctx) && !text)
        mo_fail(ctx, MO_MEMORY, "readout: out of memory for the metadata (names must be UTF-8)");
    if (mo_ok(ctx))
        mo_safetensors_write(arrays, text, path);
    free(text);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_code_of(ctx);
}

/* ---- reading ---- */

/* A file that is open for reading. The functions below raise if an item is missing or invalid. */
typedef struct readout_file {
    mo_context *ctx;
    const char *path, *of;
    mo_arrays *arrays;
    json_t *metadata;
} readout_file;

static readout_file read_file(mo_context *ctx, const char *path) {
    readout_file f = {.ctx = ctx, .path = path, .arrays = mo_safetensors_read(ctx, path)};
    f.metadata = f.arrays ? mo_json_metadata(ctx, path, f.arrays->metadata) : NULL;
    f.of = json_string_value(json_object_get(f.metadata, "of"));
    return f;
}

/* Opens a readout of `of` or `other`; command: what writes it. Release it even on failure. */
static readout_file open_readout(
    mo_context *ctx, const char *path, const char *of, const char *other, const char *command) {
    readout_file f = read_file(ctx, path);
    const char *found = json_string_value(json_object_get(f.metadata, "format"));
    bool current = found && !strcmp(found, format), is = f.of && (!strcmp(f.of, of) || !strcmp(f.of, other));
    if (mo_ok(ctx) && !(current && is))
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found %s%.40s", path, command,
            current ? "a readout of " : "",
            !found     ? "no format in its metadata"
            : !current ? found
            : f.of     ? f.of
                       : "none");
    if (mo_ok(ctx)) /* reading verifies only the digests that a file has */
        mo_require_digests(ctx, path, f.arrays->metadata);
    return f;
}

static void release_file(readout_file *f) {
    json_decref(f->metadata);
    mo_arrays_release(f->arrays);
}

static const char *text_of(const readout_file *f, const char *key) {
    const char *text = json_string_value(json_object_get(f->metadata, key));
    if (!text && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a saved readout, found no %s in its metadata", f->path, key);
    return text;
}

/* Returns the library's head that the file names or, if it has that name, own (may be NULL); NULL without an error if
 * the file names none. */
static const mo_head *head_of(const readout_file *f, const mo_head *own) {
    const char *name = text_of(f, "head");
    const mo_head *head = name ? mo_find_head(name) : NULL;
    if (name && !head && own && !strcmp(own->name, name))
        return own;
    if (name && own)
        mo_fail(f->ctx, MO_INVALID, "%s: its readout is %.40s, found %s (--head)", f->path, name, own->name);
    else if (name && *name && !head)
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "%s: its readout is %.40s, which is not one of the library's; expected --head FILE.so beside it", f->path,
            name);
    return head;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Raises if two of n names are equal. */
static void require_different(const readout_file *f, char *const *name, int64_t n) {
    char **sorted = mo_host_array(f->ctx, n, sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, name, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    for (int64_t i = 1; i < n && mo_ok(f->ctx); i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            mo_fail(
                f->ctx, MO_FORMAT, "%s: expected classes of different names, found '%.40s' twice", f->path, sorted[i]);
    free(sorted);
}

/* Returns the names of the classes, owned, even on failure with *classes of them. */
static char **names_of(const readout_file *f, int64_t *classes) {
    const char *text = text_of(f, "classes");
    json_t *names = text ? mo_json_decode(text, strlen(text), 0, NULL) : NULL;
    int64_t n = (int64_t)json_array_size(names);
    char **name = mo_ok(f->ctx) ? mo_host_array(f->ctx, n, sizeof *name) : NULL;
    *classes = name ? n : 0;
    for (int64_t c = 0; c < *classes && mo_ok(f->ctx); c++) {
        const char *given = json_string_value(json_array_get(names, (size_t)c));
        if (given)
            name[c] = mo_text_copy(f->ctx, given);
        else
            mo_fail(f->ctx, MO_FORMAT, "%s: class %" PRId64 " has no name", f->path, c);
    }
    if (mo_ok(f->ctx) && n < 2)
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the names of 2 or more classes, found %" PRId64, f->path, n);
    if (mo_ok(f->ctx))
        require_different(f, name, n);
    json_decref(names);
    return name;
}

/* Returns an int64 array [n], n 1 or more, owned; if *n is ANY_LENGTH, sets it. NULL on failure. */
static int64_t *numbers_of(const readout_file *f, const char *name, int64_t *n) {
    const mo_tensor *T = mo_ok(f->ctx) ? mo_arrays_find(f->arrays, name) : NULL;
    if (mo_ok(f->ctx) && (!T || mo_tensor_dtype(T) != MO_I64 || mo_ndim(T) != 1 || mo_numel(T) < 1 ||
                             (*n != ANY_LENGTH && mo_numel(T) != *n)))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the array %s, int64 [n], n 1 or more and as of its other arrays",
            f->path, name);
    if (!mo_ok(f->ctx))
        return NULL;
    *n = mo_numel(T);
    return mo_host_values(T, MO_I64);
}

/* ---- the state alone ---- */

mo_code mo_state_write(const mo_state *state, const char *path) {
    mo_context *ctx = state && state->n ? mo_tensor_context(state->tensor[0]) : NULL;
    if (!ctx || !path)
        return MO_INVALID;
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_description told = describe(of_logits, state->head, NULL, 0);
    mo_state_save(state, arrays);
    return write_file(ctx, path, arrays, &told);
}

mo_code mo_state_read(mo_context *ctx, const mo_head *head, const char *path, mo_state *state) {
    if (!mo_given(ctx, "readout", "the head", head) || !mo_given(ctx, "readout", "the path", path))
        return mo_code_of(ctx);
    readout_file f = read_file(ctx, path);
    const char *named = json_string_value(json_object_get(f.metadata, "head"));
    if (mo_ok(ctx) && named && strcmp(named, head->name) != 0)
        mo_fail(ctx, MO_INVALID, "%s: its head is %.40s, found %s", path, named, head->name);
    if (mo_ok(ctx))
        mo_state_load(ctx, head, f.arrays, state);
    release_file(&f);
    return mo_code_of(ctx);
}

/* ---- a readout of rows ---- */

mo_code mo_row_readout_write(const mo_row_readout *r, const char *path) {
    mo_context *ctx = r && r->state.n ? mo_tensor_context(r->state.tensor[0]) : NULL;
    if (!ctx || !path)
        return MO_INVALID;
    char value[64] = "none";
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_description told = describe(of_rows, r->state.head, r->name, r->classes);
    if (!isnan(r->value))
        mo_field_text(&regularisation, r, value, sizeof value);
    mo_describe(&told, regularisation.key, json_string(value));
    put_fields(&told, row_settings, r);
    mo_state_save(&r->state, arrays);
    return write_file(ctx, path, arrays, &told);
}

static void take_regularisation(const readout_file *f, mo_row_readout *r) {
    const char *text = text_of(f, regularisation.key);
    r->value = NAN;
    if (text && strcmp(text, "none") != 0 &&
        !mo_field_read(&regularisation, json_object_get(f->metadata, regularisation.key), r))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected %s as a number of 0 or more or none, found '%.40s'", f->path,
            regularisation.key, text);
}

/* Raises unless the state has [1, d] numbers of the rows' dtype to scale them by. */
static void check_scale(const readout_file *f, const char *name, const mo_row_readout *r) {
    const mo_tensor *T = mo_state_find(&r->state, name);
    if (mo_ok(f->ctx) &&
        (!T || mo_ndim(T) != 2 || mo_dim(T, 0) != 1 || mo_dim(T, 1) != r->state.d || mo_tensor_dtype(T) != r->real))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the array state.%s, %s [1, %" PRId64 "]", f->path, name,
            mo_dtype_name(r->real), r->state.d);
}

/* Takes the state, whose classes are those of the names, and the scaling. */
static void take_state(const readout_file *f, const mo_head *head, mo_row_readout *r) {
    if (!mo_ok(f->ctx) || mo_state_load(f->ctx, head, f->arrays, &r->state) != MO_OK)
        return;
    if (r->state.classes != r->classes || r->state.axes != 2)
        mo_fail(f->ctx, MO_FORMAT, "%s: a readout of %" PRId64 " classes, expected %" PRId64 " as it has names",
            f->path, r->state.classes, r->classes);
    if (r->scaling == MO_SCALING_CENTRE || r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.mean", r);
    if (r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.spread", r);
}

mo_code mo_row_readout_read(mo_context *ctx, const char *path, const mo_head *own, mo_row_readout *r) {
    if (!mo_given(ctx, "readout", "the readout", r) || !mo_given(ctx, "readout", "the path", path))
        return mo_code_of(ctx);
    *r = (mo_row_readout){0};
    readout_file f = open_readout(ctx, path, of_rows, of_rows, "mochi fit --save");
    const mo_head *head = mo_ok(ctx) ? head_of(&f, own) : NULL;
    if (mo_ok(ctx) && !head)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected the name of its readout, found none", path);
    if (mo_ok(ctx))
        take_regularisation(&f, r);
    if (mo_ok(ctx))
        mo_fields_read(ctx, path, row_settings, f.metadata, r);
    if (mo_ok(ctx))
        r->name = names_of(&f, &r->classes);
    take_state(&f, head, r);
    release_file(&f);
    return mo_code_of(ctx);
}

/* ---- a readout of a graph's examples ---- */

static const char *weights_digits(const mo_weights *weights, char digits[40]) {
    snprintf(digits, 40, "%016" PRIx64 "%016" PRIx64, weights->hash[0], weights->hash[1]);
    return digits;
}

/* Adds the digests of weights and data, and the settings. */
static void put_graph_settings(
    mo_description *told, const mo_graph *data, const mo_few_shot_options *o, const mo_weights *weights) {
    char digest[40];
    mo_describe(told, "weights", json_string(weights_digits(weights, digest)));
    mo_describe(told, "data", json_string(mo_hash_digits(data, digest)));
    mo_few_shot_options resolved = *o;
    resolved.attributes = o->attributes ? o->attributes : weights->features.attributes;
    put_fields(told, graph_settings, &resolved);
}

mo_code mo_few_shot_write(mo_few_shot *f, const mo_graph *data, const mo_few_shot_options *o, const mo_weights *weights,
    const mo_labels *known, const char *values, const char *path) {
    if (!f || !data || !o || !weights || !known || !path)
        return MO_INVALID;
    mo_context *ctx = f->ctx;
    if (o->n_experts)
        mo_fail(ctx, MO_UNSUPPORTED, "save: a readout is saved without rows of experts");
    mo_few_shot_options chosen = *o;
    if (o->transductive != MO_TRANSDUCTIVE_NEVER)
        chosen.transductive =
            known->label && mo_few_shot_expect(f).transductive ? MO_TRANSDUCTIVE_ON : MO_TRANSDUCTIVE_OFF;
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_few_shot_save(f, arrays);
    mo_arrays_take(arrays, "id", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->id));
    if (known->label)
        mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &known->n, known->label));
    mo_description told = describe(known->label ? of_examples : of_targets, o->head, known->name, known->classes);
    put_graph_settings(&told, data, &chosen, weights);
    if (values)
        mo_describe(&told, "values", json_string(values));
    return write_file(ctx, path, arrays, &told);
}

/* Sets the readout in the options. Raises if the fit is of other weights. */
static void take_graph_settings(const readout_file *f, mo_few_shot_options *o, const mo_weights *weights) {
    char digest[40];
    const char *own = mo_ok(f->ctx) ? text_of(f, "weights") : NULL;
    if (own && strcmp(weights_digits(weights, digest), own) != 0)
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other weights than %s (%s, found %s); name its own (--weights), or fit it anew "
            "(--labels)",
            f->path, o->weights ? o->weights : "best", own, digest);
    if (mo_ok(f->ctx))
        o->head = head_of(f, o->head);
    if (mo_ok(f->ctx))
        mo_fields_read(f->ctx, f->path, graph_settings, f->metadata, o);
}

/* Whether the attributes have the names that they had when the readout was fitted. The digest of the data is of values
 * alone, so that it does not tell. */
static bool has_columns(const readout_file *f, const mo_graph *data) {
    const mo_tensor *T = mo_arrays_find(f->arrays, "graph.attr_names_text");
    char *names = T && mo_tensor_dtype(T) == MO_U8 ? mo_host_values(T, MO_U8) : NULL;
    size_t bytes = names ? (size_t)mo_numel(T) : 0, at = 0;
    bool same = true;
    for (int64_t j = 0; same && bytes && data->feature_name && j < data->features; j++) {
        size_t n = strlen(data->feature_name[j]) + 1;
        same = at + n <= bytes && !memcmp(names + at, data->feature_name[j], n);
        at += n;
    }
    free(names);
    return same;
}

/* Whether a fit is of this data, by the digest and the names of columns. */
static bool is_of_data(const readout_file *f, const mo_graph *data) {
    char digest[40];
    const char *own = text_of(f, "data");
    return own && !strcmp(mo_hash_digits(data, digest), own) && has_columns(f, data);
}

/* Reads the labelled examples, with their classes or, of real targets, without. */
static void take_known(const readout_file *f, mo_labels *known) {
    bool classes = mo_ok(f->ctx) && !strcmp(f->of, of_examples);
    int64_t n = ANY_LENGTH;
    if (classes)
        known->name = names_of(f, &known->classes);
    known->id = numbers_of(f, "id", &n);
    known->label = classes ? numbers_of(f, "label", &n) : NULL;
    for (int64_t i = 0; i < n && mo_ok(f->ctx); i++)
        if ((classes && (known->label[i] < 0 || known->label[i] >= known->classes)) ||
            known->id[i] <= (i ? known->id[i - 1] : -1))
            mo_fail(f->ctx, MO_FORMAT,
                "%s: label %" PRId64 " is not one of its classes, or its examples are not in rising order", f->path, i);
    known->n = mo_ok(f->ctx) ? n : 0;
}

/* Finds where a fit of other data is applied. */
static void place_readout(const readout_file *f, mo_graph *data, mo_few_shot_options *o, mo_saved_readout *r) {
    mo_graph *old = mo_graph_kept(f->arrays, f->path);
    if (!old && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_INVALID,
            "%s: the readout is of other data than %s, and its own graph is too large to be kept with it: give the "
            "labels anew (--labels)",
            f->path, data->name);
    int64_t *id = old ? mo_host_array(f->ctx, r->known.n, sizeof *id) : NULL;
    r->graph = id ? mo_graph_beside(old, data, r->known.id, r->known.n, f->path, id) : NULL;
    if (r->graph && (r->graph->hash[0] != old->hash[0] || r->graph->hash[1] != old->hash[1])) {
        r->old = r->known.id; /* it is not the fit's own graph */
        r->known.id = id;
        if (o->transductive == MO_TRANSDUCTIVE_ON)
            o->transductive = MO_TRANSDUCTIVE_OFF;
    } else
        free(id);
    mo_graph_release(old);
}

mo_code mo_saved_readout_read(
    const char *path, mo_graph *data, mo_few_shot_options *o, const mo_weights *weights, mo_saved_readout *r) {
    if (r)
        *r = (mo_saved_readout){0};
    if (!path || !data || !o || !weights || !r)
        return MO_INVALID;
    mo_context *ctx = data->ctx;
    readout_file f = open_readout(ctx, path, of_examples, of_targets, "mochi predict --save");
    take_graph_settings(&f, o, weights);
    if (mo_ok(ctx))
        take_known(&f, &r->known);
    if (mo_ok(ctx) && json_object_get(f.metadata, "values"))
        r->values = mo_text_copy(ctx, text_of(&f, "values"));
    if (mo_ok(ctx) && is_of_data(&f, data))
        r->graph = mo_graph_hold(data);
    else if (mo_ok(ctx))
        place_readout(&f, data, o, r);
    r->arrays = f.arrays;
    f.arrays = NULL;
    release_file(&f);
    return mo_code_of(ctx);
}

void mo_saved_readout_release(mo_saved_readout *r) {
    if (!r)
        return;
    mo_labels_release(&r->known);
    mo_arrays_release(r->arrays);
    mo_graph_release(r->graph);
    free(r->values);
    free(r->old);
    *r = (mo_saved_readout){0};
}

/* ---- a readout of pairs of nodes ---- */

static const char *const column_name[] = {"from", "to", "linked", "fit"};

mo_code mo_link_readout_write(const mo_link_scorer *scorer, const mo_graph *data, const mo_few_shot_options *o,
    const mo_weights *weights, const char *path) {
    const mo_link_support *support = scorer ? mo_link_scorer_support(scorer) : NULL;
    if (!support || !data || !o || !weights || !path)
        return MO_INVALID;
    mo_context *ctx = data->ctx;
    const int64_t *const column[] = {support->u, support->v, support->linked, support->fit};
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < 4; i++)
        mo_arrays_take(arrays, column_name[i], mo_tensor_create_from(ctx, MO_I64, 1, &support->n, column[i]));
    mo_link_scorer_save(scorer, arrays);
    mo_description told = describe(of_links, o->head, (char *[]){"no", "yes"}, 2);
    put_graph_settings(&told, data, o, weights);
    return write_file(ctx, path, arrays, &told);
}

mo_code mo_link_readout_read(const char *path, const mo_graph *data, mo_few_shot_options *o, const mo_weights *weights,
    mo_link_support *support, mo_arrays **fitted) {
    if (!path || !data || !o || !weights || !support || !fitted)
        return MO_INVALID;
    mo_context *ctx = data->ctx;
    readout_file f = open_readout(ctx, path, of_links, of_links, "mochi predict --save` of `--task lp");
    take_graph_settings(&f, o, weights);
    if (mo_ok(ctx) && !is_of_data(&f, data))
        mo_fail(ctx, MO_INVALID,
            "%s: the readout is of other data than %s; links of a changed graph are fitted anew (--pairs)", path,
            data->name);
    int64_t n = ANY_LENGTH;
    *support = (mo_link_support){0};
    int64_t **const column[] = {&support->u, &support->v, &support->linked, &support->fit};
    for (int i = 0; i < 4; i++)
        *column[i] = numbers_of(&f, column_name[i], &n);
    support->n = mo_ok(ctx) ? n : 0;
    for (int64_t i = 0; i < support->n && mo_ok(ctx); i++)
        if (support->u[i] < 0 || support->u[i] >= data->nodes || support->v[i] < 0 || support->v[i] >= data->nodes ||
            support->fit[i] < 0 || support->fit[i] > 1 << 20)
            mo_fail(ctx, MO_FORMAT, "%s: pair %" PRId64 " is not one of nodes of %s", path, i, data->name);
    *fitted = f.arrays;
    f.arrays = NULL;
    release_file(&f);
    return mo_code_of(ctx);
}
