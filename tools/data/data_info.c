/* tools/data/data_info.c - `mochi data info`: describes a graph by its sizes, classes and degrees, compared with its
 * entry in the manifest; describes arrays by dtype, shape and range.
 *
 * The kind of a file follows from its name, except that an .npz is a graph if it has the members of one. */
#include "tensor/files/foreign_text.h"
#include "tools/cli/digest.h"
#include "tools/cli/memory.h"
#include "tools/data/data.h"
#include "train/graphs/node_names.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- arrays ---- */

/* Returns an object that describes an array. Its range covers the finite elements; null if there are none. */
static json_t *array_object(mo_context *ctx, const char *name, const mo_tensor *T) {
    double low = NAN, high = NAN, sum = 0;
    int64_t n = mo_numel(T), size[MO_MAX_AXES], finite = 0;
    char shape[96];
    for (int i = 0; i < mo_ndim(T); i++)
        size[i] = mo_dim(T, i);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(T), size);
    double *values = needed(malloc((size_t)n * sizeof *values + 1));
    mo_tensor_copy(wide, T);
    mo_tensor_read(wide, values, (size_t)n * sizeof *values);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++)
        if (isfinite(values[i])) {
            low = fmin(low, values[i]); /* if one argument is NaN, fmin returns the other */
            high = fmax(high, values[i]);
            sum += values[i];
            finite++;
        }
    free(values);
    mo_tensor_release(wide);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I}", "name", name, "dtype", mo_dtype_name(mo_tensor_dtype(T)),
        "shape", json_loads(mo_shape_string(T, shape, sizeof shape), 0, NULL), "min", json_number(low), "max",
        json_number(high), "mean", json_number(finite ? sum / (double)finite : NAN), "not_finite",
        (json_int_t)(n - finite));
}

/* Returns an object that describes a file of arrays. */
static json_t *arrays_object(mo_context *ctx, const char *path, const char *kind, const mo_arrays *arrays) {
    json_t *list = json_array();
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++)
        json_array_append_new(list, array_object(ctx, arrays->items[i].name, arrays->items[i].tensor));
    return json_pack("{s:s, s:s, s:o, s:o?}", "path", path, "kind", kind, "tensors", list, "metadata",
        arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL);
}

/* ---- an entry of the manifest compared with a graph ---- */

/* Returns a new object with a loaded graph's counts: graphs, nodes, edges, features, classes. For a TU set, features
 * leave out the node attributes, as when the set is opened by name. */
static json_t *find_counts(const mo_graph *graph) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "graphs", (json_int_t)graph->graphs, "nodes",
        (json_int_t)graph->nodes, "edges", (json_int_t)graph->nnz / 2, "features",
        (json_int_t)(graph->features - graph->attributes), "classes", (json_int_t)graph->classes);
}

/* Returns the name of the first count that differs between the entry and `found`; NULL if none does. */
static const char *find_other_count(const json_t *entry, const json_t *found) {
    const char *name;
    json_t *n;
    json_object_foreach((json_t *)found, name, n) {
        const json_t *stated = json_object_get(json_object_get(entry, "counts"), name);
        if (stated && !json_equal(stated, n))
            return name;
    }
    return NULL;
}

/* Returns an object for the entry. found: the counts of the loaded graph; if NULL, "agrees" is null. */
static json_t *entry_object(const json_t *entry, const json_t *found) {
    json_t *stated = json_object_get(entry, "counts");
    return json_pack("{s:s, s:s, s:s?, s:O?, s:s?, s:o, s:o}", "name", text_of(entry, "name"), "licence",
        text_of(entry, "licence"), "page", text_of(entry, "page"), "cite", json_object_get(entry, "cite"), "note",
        text_of(entry, "note"), "expected", stated ? json_incref(stated) : json_object(), "agrees",
        found && json_object_size(stated) ? json_boolean(!find_other_count(entry, found)) : json_null());
}

/* ---- graphs ---- */

/* Counts over a graph's nodes and labels. */
typedef struct counted {
    int64_t isolated, largest, unlabelled; /* largest: the highest degree */
    double mean;                           /* mean degree */
    int64_t *members;                      /* number of examples in each class; owned */
} counted;

static counted count_graph(const mo_graph *graph) {
    counted c = {.mean = graph->nodes ? (double)graph->nnz / (double)graph->nodes : 0,
        .members = needed(calloc((size_t)graph->classes + 1, sizeof *c.members))};
    for (int64_t i = 0; i < graph->nodes; i++) {
        int64_t degree = graph->row_pointer[i + 1] - graph->row_pointer[i];
        c.isolated += degree == 0;
        c.largest = degree > c.largest ? degree : c.largest;
    }
    for (int64_t i = 0; i < graph->n_labels; i++)
        ++*(graph->label[i] < 0 ? &c.unlabelled : &c.members[graph->label[i]]);
    if (!graph->n_labels)
        c.unlabelled = mo_graph_examples(graph);
    return c;
}

/* Returns a text that says how the examples are called, and in which order they are: what rows of arrays follow. NULL
 * for graphs of a set that have only numbers. */
static json_t *names_text(const mo_graph *graph) {
    const struct mo_node_names *names = graph->names;
    char text[400] = "", number[24], shown[80];
    int64_t n = mo_graph_examples(graph);
    if (!names)
        return graph->graphs > 1 || n == 0 ? NULL : json_sprintf("0 to %" PRId64, n - 1);
    for (int64_t i = 0; i < n && i < 3; i++) {
        const char *name = mo_graph_example_name(graph, i, number);
        size_t used = strlen(text);
        snprintf(
            text + used, sizeof text - used, "%s%s", i ? ", " : "", mo_quote(name, strlen(name), shown, sizeof shown));
    }
    static const char *const order[] = {[MO_NAMES_BY_VALUE] = "whole numbers, by value",
        [MO_NAMES_AS_THEY_APPEAR] = "as they first appear",
        [MO_NAMES_LISTED] = "as the data lists them"};
    return json_sprintf("%s%s (%s)", text, n > 3 ? ", .." : "", order[names->order]);
}

/* Describes the real targets beside a graph; NULL if there are none. */
static json_t *targets_object(const mo_graph *graph) {
    char path[PATH_MAX];
    mo_targets y = {0};
    if (!mo_targets_find(graph, path, sizeof path) || !mo_targets_read(graph, path, &y))
        return NULL;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < y.n; i++) {
        low = fmin(low, y.value[i]);
        high = fmax(high, y.value[i]);
    }
    json_t *o = json_pack("{s:s, s:I, s:f, s:f}", "file", path, "known", (json_int_t)y.n, "min", low, "max", high);
    mo_targets_release(&y);
    return o;
}

static json_t *graph_object(const mo_graph *graph, const counted *c) {
    json_t *classes = json_array(), *tasks = json_array(), *names = graph->class_name ? json_array() : NULL;
    for (int64_t k = 0; k < graph->classes; k++) {
        json_array_append_new(classes, json_integer(c->members[k]));
        if (names)
            json_array_append_new(names, json_string(graph->class_name[k]));
    }
    for (int task = 0; task < MO_TASKS; task++)
        if (mo_graph_has_task(graph, (mo_task)task))
            json_array_append_new(tasks, json_string(mo_task_name((mo_task)task)));
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "path", graph->source, "kind", "graph",
        "name", graph->name, "graphs", (json_int_t)graph->graphs, "nodes", (json_int_t)graph->nodes, "edges",
        (json_int_t)(graph->nnz / 2), "isolated", (json_int_t)c->isolated, "largest_degree", (json_int_t)c->largest,
        "mean_degree", c->mean);
    json_object_update_new(
        o, json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o*, s:s*, s:s*}", "dropped_loops",
               (json_int_t)graph->dropped_loops, "dropped_duplicates", (json_int_t)graph->dropped_duplicates,
               "features", (json_int_t)graph->features, "attributes", (json_int_t)graph->attributes, "feature_nnz",
               (json_int_t)graph->feature_nnz, "classes", classes, "unlabelled", (json_int_t)c->unlabelled, "tasks",
               tasks, "hash", json_hash((uint64_t[]){graph->hash[1], graph->hash[0]}), "class_names", names, "left_out",
               graph->left_out, "headers", graph->headers));
    json_t *called = names_text(graph);
    if (called)
        json_object_set_new(o, "names", called);
    if (graph->weight)
        json_object_set_new(o, "weighted", json_true());
    if (graph->recoded)
        json_object_set_new(o, "recoded", json_string(graph->recoded));
    mo_graph *scaled = mo_graph_scale((mo_graph *)graph, &(mo_feature_options){0});
    if (scaled && scaled->scaled)
        json_object_set_new(o, "scaled", json_string(scaled->scaled));
    mo_graph_release(scaled);
    if (graph->divisions)
        json_object_set_new(o, "divisions", json_integer(graph->divisions));
    json_t *targets = targets_object(graph);
    if (targets)
        json_object_set_new(o, "targets", targets);
    return o;
}

/* Finds a file in the data folder, plain or gzipped, and writes its path to `found`. Returns false if there is none. */
static bool find_data_file(const char *path, char found[PATH_MAX]) {
    char folder[PATH_MAX];
    for (int packed = 0; packed < 2 && mo_data_folder(folder, sizeof folder); packed++) {
        int length = snprintf(found, PATH_MAX, "%s/%s%s", folder, path, packed ? ".gz" : "");
        if (length > 0 && length < PATH_MAX && access(found, F_OK) == 0)
            return true;
    }
    return false;
}

/* Opens a graph by name or path. If none is found and the manifest has an entry for the name, opens the file where
 * `mochi data get` puts it. entry: NULL if the manifest has none. */
static mo_graph *open_graph(mo_context *ctx, const char *name, const json_t *entry) {
    char path[PATH_MAX];
    const char *own = text_of(entry, "path");
    if (!entry || mo_graph_exists(name))
        return mo_graph_open(ctx, name);
    return own && find_data_file(own, path) ? mo_graph_open(ctx, path) : NULL;
}

static json_t *describe_graph(mo_context *ctx, const char *name, const json_t *entry) {
    mo_graph *graph = open_graph(ctx, name, entry);
    if (!graph)
        return mo_ok(ctx) ? json_pack("{s:s, s:s, s:s, s:o}", "kind", "absent", "name", text_of(entry, "name"),
                                "download", trust_of(entry), "manifest", entry_object(entry, NULL))
                          : NULL;
    counted c = count_graph(graph);
    json_t *o = graph_object(graph, &c), *found = find_counts(graph);
    if (entry && strcmp(graph->source, name) != 0) /* not for a path: its file can be another graph of the same name */
        json_object_set_new(o, "manifest", entry_object(entry, found));
    json_decref(found);
    free(c.members);
    mo_graph_release(graph);
    return o;
}

/* Describes one file or graph as an object. Raises and returns NULL on failure. */
static json_t *describe_data(mo_context *ctx, const char *name, const json_t *m) {
    mo_arrays *arrays = NULL;
    const char *kind = "array";
    json_t *o = NULL;
    bool graph = false;
    if (mo_path_ends_with(name, ".tape")) {
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected a graph, an array or weights, found a tape", name);
    } else if (mo_path_ends_with(name, ".npy")) {
        mo_tensor *T = mo_npy_read(ctx, name);
        arrays = mo_arrays_create(ctx);
        if (arrays)
            mo_arrays_take(arrays, "array", T);
    } else if (mo_path_ends_with(name, ".safetensors")) {
        kind = "weights";
        arrays = mo_safetensors_read(ctx, name);
    } else if (mo_path_ends_with(name, ".npz")) {
        arrays = mo_npz_read(ctx, name);
        graph = arrays && mo_arrays_find(arrays, "adj_indptr");
    } else {
        o = describe_graph(ctx, name, manifest_find(m, name));
    }
    if (arrays && mo_ok(ctx) && !graph)
        o = arrays_object(ctx, name, kind, arrays);
    mo_arrays_release(arrays);
    return graph ? describe_graph(ctx, name, NULL) : o;
}

bool data_info(mo_context *ctx, const data_options *o, const json_t *m) {
    bool fine = true;
    for (int i = 0; i < o->words.count; i++) { /* a bad file does not end the loop */
        json_t *found = describe_data(ctx, o->words.items[i], m);
        const char *name = text_of(found, "name"), *path = text_of(found, "path"),
                   *download = text_of(found, "download");
        if (o->json && mo_ok(ctx)) {
            print_json(json_incref(found));
        } else if (mo_ok(ctx)) {
            bool offered = download && strcmp(download, "by hand") != 0;
            printf("%s: %s%s%s\n", name ? name : path, text_of(found, "kind"),
                offered        ? "; mochi data get "
                : name && path ? " from "
                               : "",
                offered        ? name
                : name && path ? path
                               : "");
            const char *const told[] = {"kind", "name", "path"};
            for (int k = 0; k < 3; k++)
                json_object_del(found, told[k]);
            if (json_integer_value(json_object_get(found, "graphs")) == 1) /* attributes: of sets alone */
                json_object_del(found, "attributes");
            print_members(found, 2);
            if (json_is_array(json_object_get(found, "classes")) &&
                !json_array_size(json_object_get(found, "classes")) && !json_object_get(found, "targets"))
                printf("  %-19snone; `mochi predict --labels FILE` predicts them from a few of yours\n", "labels");
        }
        json_decref(found);
        fine &= went_well(ctx);
    }
    return fine;
}
