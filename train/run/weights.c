/* train/run/weights.c - reads weights.safetensors: checks the digests, then each setting, then that the tensors have
 * the sizes that the settings claim. Makes the model of the weights: MOCHI, the invariant encoder or an encoder from
 * outside, with the readout it was trained with or a head of the caller's choice.
 *
 * Weights converted from the released program carry no metadata of ours: their sizes come from the tensors, the other
 * settings from that program.
 *
 * Writes the parameters, and metadata to use them, with the graphs they were trained on. The file holds no time, path
 * or thread count, so equal runs write equal bytes. */
#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/objects.h"
#include "train/graphs/loaders.h"
#include "train/run/trainer.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- writing ---- */

/* The ridge on single hops, beside which weights are judged. */
static const mo_field hop_fields[] = {
    {MO_FIELD_INT, "best_hop_nc", .at = offsetof(mo_weights, best_hop[MO_TASK_NC]), .low = -1, .high = 12},
    {MO_FIELD_INT, "best_hop_lp", .at = offsetof(mo_weights, best_hop[MO_TASK_LP]), .low = -1, .high = 12},
    {MO_FIELD_INT, "best_hop_gc", .at = offsetof(mo_weights, best_hop[MO_TASK_GC]), .low = -1, .high = 12},
    {MO_FIELD_REAL, "hop_lambda", .at = offsetof(mo_weights, lambda)},
    {MO_FIELDS_END},
};

/* The rows that an encoder from outside reads. */
static const mo_field rows_fields[] = {
    {MO_FIELD_CHOICE, "rows", .at = offsetof(mo_feature_options, form), .choices = "nodes|examples"},
    {MO_FIELDS_END},
};

/* Returns whether an earlier source has the same graph, or one with equal content. */
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
    mo_description metadata = mo_description_of(json_object());
    mo_describe(&metadata, "format", json_string(MO_WEIGHTS_FORMAT));
    mo_feature_options features = *o->features;
    if (features.attributes == MO_ATTRIBUTES_AUTO)
        features.attributes = MO_ATTRIBUTES_SCALED;
    metadata.whole = metadata.whole && mo_fields_write(mo_feature_fields, &features, metadata.object, true) &&
                     mo_model_describe(model, metadata.object, true);
    if (strcmp(model->encoder.name, MO_KIND_MOCHI) != 0 && strcmp(model->encoder.name, MO_KIND_INVARIANT) != 0)
        metadata.whole = metadata.whole && mo_fields_write(rows_fields, o->features, metadata.object, true);
    mo_weights hop = {.lambda = o->hop_lambda};
    memcpy(hop.best_hop, o->best_hop, sizeof hop.best_hop);
    metadata.whole = metadata.whole && mo_fields_write(hop_fields, &hop, metadata.object, true);
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
    return mo_code_of(ctx);
}

/* ---- reading ---- */

static bool weights_kind_is(const mo_weights *w, const char *kind) {
    return strcmp(w->kind, kind) == 0;
}

/* The metadata being read; raises at the first value that is missing or out of its domain. */
typedef struct reading {
    mo_context *ctx;
    const char *path;
    const json_t *metadata;
} reading;

enum { LARGEST_DIM = 65536, MOST_HOPS = 64 };

static const char *get_text(const reading *r, const char *key) {
    const char *text = json_string_value(json_object_get(r->metadata, key));
    if (!text)
        mo_fail(r->ctx, MO_FORMAT, "weights: %s: expected %s in the metadata, found none", r->path, key);
    return text ? text : "";
}

/* Reads the members of a struct of options. */
static void read_fields(const reading *r, const mo_field *table, void *options) {
    char label[MO_PATH + 16];
    snprintf(label, sizeof label, "weights: %.4095s", r->path);
    if (mo_ok(r->ctx))
        mo_fields_read(r->ctx, label, table, r->metadata, options);
}

/* Raises if a tensor is missing or its last axis has another size. Sizes in the metadata are only claims, and features
 * and models of that size are made before the tensors are copied. */
static void require_width(const reading *r, const mo_weights *w, const char *name, int64_t width) {
    const mo_tensor *X = mo_arrays_find(w->arrays, name);
    char got[160] = "absent";
    if (X && mo_ndim(X) > 0 && mo_dim(X, mo_ndim(X) - 1) == width)
        return;
    if (X)
        mo_shape_string(X, got, sizeof got);
    mo_fail(r->ctx, MO_FORMAT, "weights: %s: %s is %s, expected one whose last axis is %" PRId64, r->path, name, got,
        width);
}

/* Raises if dim is large and no tensor has an axis of that size, because a false value would allocate much memory. */
static void require_dim(const reading *r, const mo_weights *w, int dim) {
    bool there = dim <= MO_LARGEST_UNPROVEN_DIM;
    for (int64_t i = 0; i < w->arrays->count && !there; i++)
        for (int a = 0; a < mo_ndim(w->arrays->items[i].tensor) && !there; a++)
            there = mo_dim(w->arrays->items[i].tensor, a) == dim;
    if (!there)
        mo_fail(r->ctx, MO_FORMAT, "weights: %s: expected dim to be the size of a tensor or at most %d, found %d",
            r->path, MO_LARGEST_UNPROVEN_DIM, dim);
}

static void read_gamlp(const reading *r, mo_weights *w) {
    char last[64];
    read_fields(r, mo_gamlp_fields, &w->gamlp);
    require_dim(r, w, w->gamlp.dim);
    snprintf(last, sizeof last, "encoder.input_proj.%d.weight", w->gamlp.hops);
    require_width(r, w, "encoder.input_proj.0.weight", w->gamlp.dim);
    require_width(r, w, last, w->gamlp.dim);
}

/* The number of values in the tensors of the head that reads a task's embeddings. */
static int64_t elements_of_head(const mo_weights *w, mo_task task) {
    char prefix[32];
    int64_t n = 0;
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "head.%s.", mo_task_name(task));
    for (int64_t i = 0; i < w->arrays->count; i++)
        if (strncmp(w->arrays->items[i].name, prefix, length) == 0)
            n += mo_numel(w->arrays->items[i].tensor);
    return n;
}

/* Reads the readout of an encoder that was trained with a head. */
static void read_readout(const reading *r, mo_weights *w) {
    mo_readout_options *o = &w->readout;
    snprintf(w->head, sizeof w->head, "%s", get_text(r, "head"));
    o->head = mo_find_head(w->head);
    read_fields(r, mo_readout_fields, o);
    read_fields(r, mo_width_fields, o);
    for (int task = 0; task < MO_TASKS; task++)
        if (o->width[task] > elements_of_head(w, (mo_task)task))
            mo_fail(r->ctx, MO_FORMAT,
                "weights: %s: expected tensors of the head for embeddings %" PRId64 " wide (width_%s), found %" PRId64
                " numbers",
                r->path, o->width[task], mo_task_name((mo_task)task), elements_of_head(w, (mo_task)task));
}

static void read_weights_features(const reading *r, mo_weights *w) {
    /* What weights without these members were trained on. */
    w->features.norm = MO_FEATURE_NORM_LAYER;
    w->features.attributes = weights_kind_is(w, MO_KIND_INVARIANT) ? MO_ATTRIBUTES_SCALED : MO_ATTRIBUTES_RAW;
    read_fields(r, mo_feature_fields, &w->features);
    require_dim(r, w, w->features.dim);
    read_fields(r, hop_fields, w);
    const char *recipe = json_string_value(json_object_get(r->metadata, "recipe"));
    snprintf(w->recipe, sizeof w->recipe, "%s", recipe ? recipe : "");
}

static void read_invariant(const reading *r, mo_weights *w) {
    w->features.form = MO_ROWS_PER_EXAMPLE;
    read_fields(r, mo_invariant_fields, &w->invariant);
    require_width(r, w, "encoder.hop", w->invariant.hops + 1);
}

static bool get_hash(const char *text, uint64_t hash[2]) {
    return strlen(text) == MO_DIGITS && strspn(text, "0123456789abcdef") == MO_DIGITS &&
           sscanf(text, "%16" SCNx64 "%16" SCNx64, &hash[1], &hash[0]) == 2;
}

/* Reads the graphs that the weights were trained on; files of older versions do not name them. */
static void read_trained_graphs(const reading *r, mo_weights *w) {
    if (!json_object_get(r->metadata, "pool"))
        return;
    const char *text = get_text(r, "pool");
    json_error_t error;
    json_t *list = mo_json_decode(text, strlen(text), JSON_REJECT_DUPLICATES, &error);
    size_t n = json_array_size(list);
    bool fine = json_is_array(list) && n <= INT_MAX;
    if (fine && n > 0)
        w->pool = mo_host_alloc(r->ctx, n * sizeof *w->pool);
    w->n_pool = fine && (w->pool || n == 0) ? (int)n : -1;
    for (int i = 0; i < w->n_pool && fine; i++) {
        mo_trained_graph *g = &w->pool[i];
        const json_t *item = json_array_get(list, (size_t)i);
        const char *name = json_string_value(json_object_get(item, "data")),
                   *hash = json_string_value(json_object_get(item, "xxh3"));
        fine = name && hash && strlen(name) < sizeof g->name && get_hash(hash, g->hash);
        if (fine)
            memcpy(g->name, name, strlen(name) + 1);
    }
    if (!fine)
        mo_fail(r->ctx, list ? MO_FORMAT : mo_json_code(&error),
            "weights: %s: expected pool as a list of graphs with data and xxh3, found \"%.40s\"", r->path, text);
    json_decref(list);
}

static void read_own(const reading *r, mo_weights *w) {
    snprintf(w->kind, sizeof w->kind, "%s", get_text(r, "kind"));
    bool mochi = weights_kind_is(w, MO_KIND_MOCHI), invariant = weights_kind_is(w, MO_KIND_INVARIANT);
    if (mochi)
        read_gamlp(r, w);
    else if (invariant)
        read_invariant(r, w);
    else if (mo_ok(r->ctx) && !json_object_get(r->metadata, "rows"))
        mo_fail(r->ctx, MO_FORMAT,
            "weights: %s: expected kind to be mochi or invariant, found \"%.40s\" and no rows that it reads", r->path,
            w->kind);
    else
        read_fields(r, rows_fields, &w->features);
    if (mochi || json_object_get(r->metadata, "head"))
        read_readout(r, w);
    if (mo_ok(r->ctx))
        read_weights_features(r, w);
    if (mo_ok(r->ctx))
        read_trained_graphs(r, w);
}

/* Sets the released program's settings, with the sizes that the file's tensors have. */
static void read_released(mo_context *ctx, const char *path, mo_weights *w) {
    const mo_tensor *first = mo_arrays_find(w->arrays, "encoder.input_proj.0.weight");
    char name[64], shape[160];
    int hops = 0;
    if (!first || mo_ndim(first) != 2) {
        mo_fail(ctx, MO_FORMAT, "weights: %s: expected a matrix encoder.input_proj.0.weight, found none", path);
        return;
    }
    if (mo_dim(first, 0) < 1 || mo_dim(first, 0) > LARGEST_DIM) {
        mo_fail(ctx, MO_FORMAT, "weights: %s: expected encoder.input_proj.0.weight with 1 to %d rows, found %s", path,
            LARGEST_DIM, mo_shape_string(first, shape, sizeof shape));
        return;
    }
    do
        snprintf(name, sizeof name, "encoder.input_proj.%d.weight", ++hops);
    while (hops <= MOST_HOPS && mo_arrays_find(w->arrays, name));
    if (hops > MOST_HOPS) {
        mo_fail(ctx, MO_FORMAT, "weights: %s: expected encoder.input_proj of at most %d hops, found %s too", path,
            MOST_HOPS, name);
        return;
    }
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = (int)mo_dim(first, 0);
    o.encoder.hops = hops - 1;
    o.encoder.layers = mo_arrays_find(w->arrays, "encoder.out_mlp.6.weight") ? 3 : 2;
    o.readout.temperature = MO_TEMPERATURE_EMBED;
    w->gamlp = o.encoder;
    w->readout = o.readout;
    snprintf(w->kind, sizeof w->kind, "%s", MO_KIND_MOCHI);
    snprintf(w->head, sizeof w->head, "%s", o.readout.head->name);
    w->features = (mo_feature_options){.dim = o.encoder.dim, .hops = o.encoder.hops, .power_iterations = 2};
    w->lambda = o.readout.lambda;
    snprintf(w->recipe, sizeof w->recipe, "released");
    for (int task = 0; task < MO_TASKS; task++)
        w->best_hop[task] = -1;
}

/* Raises if a tensor holds a value that is not finite: all that reads the weights would be NaN, or fail elsewhere. */
static void require_finite(mo_context *ctx, const char *path, const mo_arrays *arrays) {
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++) {
        const mo_array *array = &arrays->items[i];
        mo_dtype dtype = mo_tensor_dtype(array->tensor);
        bool whole = dtype == MO_I32 || dtype == MO_I64 || dtype == MO_U8;
        double *value = whole ? NULL : mo_host_values(array->tensor, MO_F64);
        char shown[128];
        for (int64_t j = 0; value && j < mo_numel(array->tensor) && mo_ok(ctx); j++)
            if (!isfinite(value[j]))
                mo_fail(ctx, MO_FORMAT,
                    "weights: %s: tensor '%s': expected finite values, found %g as element %" PRId64, path,
                    mo_quote(array->name, strlen(array->name), shown, sizeof shown), value[j], j);
        free(value);
    }
}

/* Reads the file once, so that the hash is that of the tensors. */
static void read_hashed(mo_context *ctx, const char *path, mo_weights *w) {
    mo_file_bytes content;
    char label[MO_LABEL];
    mo_file_label("safetensors", path, label);
    if (!mo_file_read_checked(ctx, label, path, mo_safetensors_check, &content))
        return;
    XXH128_hash_t digest = XXH3_128bits(content.data, content.n);
    w->hash[0] = digest.high64;
    w->hash[1] = digest.low64;
    w->arrays = mo_safetensors_decode(ctx, label, content.data, content.n);
    mo_file_bytes_free(ctx, &content);
    if (w->arrays)
        require_finite(ctx, path, w->arrays);
}

/* Raises if a path names no file: the folder of a run, or a word that is none of the embedded weights. */
static bool check_place(mo_context *ctx, const char *path) {
    char inside[MO_PATH];
    struct stat status;
    bool there = stat(path, &status) == 0;
    if (!there && !strchr(path, '/'))
        return mo_fail(ctx, MO_IO,
            "weights: %s: expected a file, or best or free, the weights that come with mochi; found neither", path);
    if (!there || !S_ISDIR(status.st_mode))
        return true;
    bool run = snprintf(inside, sizeof inside, "%s/weights.safetensors", path) < MO_PATH && access(inside, F_OK) == 0;
    return mo_fail(ctx, MO_IO, "weights: %s: expected a file, found a folder%s%s", path,
        run ? "; its weights are " : " without weights.safetensors", run ? inside : "");
}

mo_weights *mo_weights_read(mo_context *ctx, const char *path) {
    if (!mo_given(ctx, "weights", "path", path))
        return NULL;
    char embedded[MO_PATH];
    if (mo_locate_embedded(
            path, ".safetensors", embedded, sizeof embedded)) /* embedded weights come before a file of that name */
        path = embedded;
    mo_weights *w = mo_ok(ctx) && check_place(ctx, path) ? mo_host_alloc(ctx, sizeof *w) : NULL;
    if (!w)
        return NULL;
    w->ctx = ctx;
    w->n_pool = -1;
    read_hashed(ctx, path, w);
    json_t *metadata = mo_ok(ctx) ? mo_json_metadata(ctx, path, w->arrays->metadata) : NULL;
    const char *format = json_string_value(json_object_get(metadata, "format"));
    reading r = {.ctx = ctx, .path = path, .metadata = metadata};
    if (format && !strcmp(format, MO_WEIGHTS_FORMAT) && mo_require_digests(ctx, path, w->arrays->metadata))
        read_own(&r, w);
    else if (mo_ok(ctx) && format && !strcmp(format, "mochi checkpoint"))
        mo_fail(ctx, MO_FORMAT,
            "weights: %s: expected \"%s\", found \"%s\": a run that has finished has weights.safetensors beside it, "
            "and `mochi train --out FOLDER --resume` finishes one",
            path, MO_WEIGHTS_FORMAT, format);
    else if (mo_ok(ctx) && format && !strncmp(format, "mochi ", 6))
        mo_fail(ctx, MO_FORMAT, "weights: %s: expected \"%s\", found \"%.40s\"", path, MO_WEIGHTS_FORMAT, format);
    else if (mo_ok(ctx))
        read_released(ctx, path, w);
    json_decref(metadata);
    if (mo_ok(ctx))
        return w;
    mo_weights_release(w);
    return NULL;
}

void mo_weights_release(mo_weights *w) {
    if (!w)
        return;
    mo_arrays_release(w->arrays);
    mo_host_free(w->ctx, w->pool, w->n_pool > 0 ? (size_t)w->n_pool * sizeof *w->pool : 0);
    mo_host_free(w->ctx, w, sizeof *w);
}

mo_seen mo_weights_seen(const mo_weights *w, const mo_graph *graph) {
    if (!w || !graph)
        return MO_SEEN_UNKNOWN;
    mo_seen seen = w->n_pool < 0 ? MO_SEEN_UNKNOWN : MO_UNSEEN;
    const char *slash = strrchr(graph->name, '/'), *name = slash && slash[1] ? slash + 1 : graph->name;
    for (int i = 0; i < w->n_pool; i++)
        if (!memcmp(w->pool[i].hash, graph->hash, sizeof graph->hash))
            return MO_SEEN;
        else if (!strcasecmp(w->pool[i].name, name))
            seen = MO_SEEN_UNKNOWN;
    return seen;
}

/* ---- the model ---- */

static mo_model *make_mochi(const mo_weights *w, const mo_model_choice *c) {
    mo_mochi_options o = {w->gamlp, w->readout};
    if (c->head)
        o.readout.head = c->head;
    if (c->lambda > 0)
        o.readout.lambda = c->lambda;
    return mo_mochi_create(w->ctx, MO_F32, &o, c->seed);
}

/* Raises if weights of an encoder from outside are opened without that encoder, or with another one. */
static bool check_encoder(const mo_weights *w, const mo_encoder *encoder) {
    bool own = weights_kind_is(w, MO_KIND_MOCHI) || weights_kind_is(w, MO_KIND_INVARIANT);
    if (!own && !encoder)
        mo_fail(w->ctx, MO_UNSUPPORTED,
            "weights: they are of the model %s, which is not one of the library's; expected its encoder with them",
            w->kind);
    else if (encoder && (own || strcmp(encoder->name, w->kind) != 0))
        mo_fail(w->ctx, MO_INVALID, "weights: they are of the model %s, found the encoder %s with them", w->kind,
            encoder->name);
    return mo_ok(w->ctx);
}

/* Chooses the readout of an encoder: the one it was trained with, or the caller's head. */
static mo_readout_options choose_readout(const mo_weights *w, const mo_model_choice *c) {
    mo_readout_options o = w->readout;
    if (!w->head[0])
        o.smoothing = w->invariant.smoothing;
    if (c->head)
        o.head = c->head;
    if (c->head && strcmp(c->head->name, w->head) != 0) { /* the file's parameters are another head's */
        memset(o.width, 0, sizeof o.width);
        o.lambda = w->head[0] || mo_head_is_own(c->head) ? 0 : w->lambda; /* 0: the head's own */
    }
    if (c->lambda > 0)
        o.lambda = c->lambda;
    return o;
}

/* Makes an encoder with its own readout or, if one was trained or chosen, with a head. */
static mo_model *make_weights_encoder(const mo_weights *w, const mo_model_choice *c) {
    mo_context *ctx = w->ctx;
    mo_readout_options o = choose_readout(w, c);
    if (!weights_kind_is(w, MO_KIND_INVARIANT)) {
        mo_encoder_rows rows = {w->features.hops, w->features.dim};
        return mo_encoder_create(ctx, MO_F32, c->encoder, rows, &o, c->seed);
    }
    mo_model *model = mo_invariant_create(ctx, MO_F32, &w->invariant);
    bool own = !w->head[0] && (!c->head || c->head->kernels);
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
    mo_expect_parameters(ctx, w->arrays);
    if (mo_ok(ctx) && check_encoder(w, choice->encoder))
        model = (weights_kind_is(w, MO_KIND_MOCHI) ? make_mochi : make_weights_encoder)(w, choice);
    mo_expect_parameters(ctx, NULL);
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
