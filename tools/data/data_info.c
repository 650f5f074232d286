/* tools/data/data_info.c - describes a graph by its sizes, classes and degrees; arrays by dtype, shape and range.
 *
 * The kind of a file follows from its name, except that an .npz is a graph if it has the members of one. */
#include "tools/data/data_info.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

typedef struct array_range {
    double low, high, mean;
    int64_t not_finite;
} array_range;

/* The range of the finite elements; NaN if there are none. */
static array_range find_array_range(mo_context *ctx, const mo_tensor *T) {
    array_range r = {.low = NAN, .high = NAN, .mean = NAN};
    int64_t n = mo_numel(T), shape[MO_MAX_AXES], finite = 0;
    for (int i = 0; i < mo_ndim(T); i++)
        shape[i] = mo_dim(T, i);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(T), shape);
    double *values = malloc((size_t)n * sizeof *values + 1), sum = 0;
    if (!values)
        mo_fail(ctx, MO_MEMORY, "data info: out of memory");
    mo_tensor_copy(wide, T);
    mo_tensor_read(wide, values, (size_t)n * sizeof *values);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++) {
        r.not_finite += !isfinite(values[i]);
        if (!isfinite(values[i]))
            continue;
        r.low = fmin(r.low, values[i]); /* fmin ignores a NaN */
        r.high = fmax(r.high, values[i]);
        sum += values[i];
        finite++;
    }
    r.mean = finite ? sum / (double)finite : NAN;
    free(values);
    mo_tensor_release(wide);
    return r;
}

static json_t *array_object(const char *name, const mo_tensor *T, const array_range *r) {
    json_t *shape = json_array();
    for (int i = 0; i < mo_ndim(T); i++)
        json_array_append_new(shape, json_integer(mo_dim(T, i)));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I}", "name", name, "dtype", mo_dtype_name(mo_tensor_dtype(T)),
        "shape", shape, "min", json_number(r->low), "max", json_number(r->high), "mean", json_number(r->mean),
        "not_finite", (json_int_t)r->not_finite);
}

static void print_array(const char *name, const mo_tensor *T, const array_range *r) {
    char shape[96];
    printf("  %-32s %-8s %-20s min %.6g  max %.6g  mean %.6g", name, mo_dtype_name(mo_tensor_dtype(T)),
        mo_shape_string(T, shape, sizeof shape), r->low, r->high, r->mean);
    if (r->not_finite)
        printf("  not finite: %" PRId64, r->not_finite);
    putchar('\n');
}

/* Prints "<path>: <kind>" and every array, or all as one object. */
static void describe_arrays(mo_context *ctx, const char *path, const char *kind, const mo_arrays *arrays, bool json) {
    json_t *list = json_array(), *metadata = arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL;
    if (!json)
        printf("%s: %s, %" PRId64 " tensors\n", path, kind, arrays->count);
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++) {
        const mo_array *a = &arrays->items[i];
        array_range r = find_array_range(ctx, a->tensor);
        if (json)
            json_array_append_new(list, array_object(a->name, a->tensor, &r));
        else
            print_array(a->name, a->tensor, &r);
    }
    const char *key;
    json_t *value;
    if (json && mo_ok(ctx))
        print_json(json_pack("{s:s, s:s, s:O, s:o}", "path", path, "kind", kind, "tensors", list, "metadata",
            metadata ? json_incref(metadata) : json_null()));
    else if (!json)
        json_object_foreach(metadata, key, value) printf("  %s = %s\n", key, json_string_value(value));
    json_decref(list);
    json_decref(metadata);
}

/* ---- graphs ---- */

typedef struct degrees {
    int64_t isolated, largest;
    double mean;
} degrees;

static degrees find_degrees(const mo_graph *graph) {
    degrees d = {.mean = graph->nodes ? (double)graph->nnz / (double)graph->nodes : 0};
    for (int64_t i = 0; i < graph->nodes; i++) {
        int64_t degree = graph->row_pointer[i + 1] - graph->row_pointer[i];
        d.isolated += degree == 0;
        d.largest = degree > d.largest ? degree : d.largest;
    }
    return d;
}

/* The number of members of every class, to be freed; *unlabelled counts nodes without a class. NULL if out of
 * memory. */
static int64_t *count_classes(const mo_graph *graph, int64_t *unlabelled) {
    int64_t *members = calloc((size_t)graph->classes + 1, sizeof *members);
    *unlabelled = 0;
    for (int64_t i = 0; members && i < graph->n_labels; i++)
        if (graph->label[i] < 0)
            ++*unlabelled;
        else
            members[graph->label[i]]++;
    return members;
}

/* What the file calls the classes, where it does not number them. */
static void print_class_names(const mo_graph *graph) {
    for (int64_t c = 0; graph->class_name && c < graph->classes && c < 64; c++) {
        fputs(c ? ", " : "  names      ", stdout);
        for (const char *at = graph->class_name[c]; *at; at++)
            putchar(printable(*at));
    }
    if (graph->class_name && graph->classes)
        printf("%s\n", graph->classes > 64 ? " .." : "");
}

static void print_graph(const mo_graph *graph, const int64_t *members, int64_t unlabelled) {
    degrees d = find_degrees(graph);
    printf("%s: %s from %s\n", graph->name, graph->graphs > 1 ? "set of graphs" : "graph", graph->source);
    if (graph->graphs > 1)
        printf(
            "  graphs     %" PRId64 ", %.1f nodes each\n", graph->graphs, (double)graph->nodes / (double)graph->graphs);
    printf("  nodes      %" PRId64 ", %" PRId64 " of them isolated\n", graph->nodes, d.isolated);
    printf("  edges      %" PRId64 " undirected; degree %.2f in the mean, %" PRId64 " at most\n", graph->nnz / 2,
        d.mean, d.largest);
    printf("  dropped    %" PRId64 " self-loops, %" PRId64 " repeated edges\n", graph->dropped_loops,
        graph->dropped_duplicates);
    if (graph->left_out)
        printf("  left out   %s\n", graph->left_out);
    printf("  features   %" PRId64 " columns, %" PRId64 " non-zeros", graph->features, graph->feature_nnz);
    if (graph->attributes)
        printf(": %" PRId64 " attributes, %" PRId64 " of node labels", graph->attributes,
            graph->features - graph->attributes);
    putchar('\n');
    printf("  labels     %" PRId64 " classes:", graph->classes);
    for (int64_t c = 0; c < graph->classes && c < 64; c++)
        printf(" %" PRId64, members[c]);
    printf("%s; %" PRId64 " unlabelled\n", graph->classes > 64 ? " .." : "", unlabelled);
    print_class_names(graph);
    if (graph->divisions)
        printf("  divisions  %" PRId64 " of the nodes, by protocol public\n", graph->divisions);
    fputs("  tasks     ", stdout);
    for (int task = 0; task < MO_TASKS; task++)
        if (mo_graph_has_task(graph, (mo_task)task))
            printf(" %s", mo_task_name((mo_task)task));
    printf("\n  hash       %016" PRIx64 "%016" PRIx64 "\n", graph->hash[1], graph->hash[0]);
}

static void print_graph_object(const mo_graph *graph, const int64_t *members, int64_t unlabelled, const json_t *entry) {
    degrees d = find_degrees(graph);
    char hash[40];
    snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, graph->hash[1], graph->hash[0]);
    json_t *classes = json_array(), *tasks = json_array();
    for (int64_t c = 0; c < graph->classes; c++)
        json_array_append_new(classes, json_integer(members[c]));
    for (int task = 0; task < MO_TASKS; task++)
        if (mo_graph_has_task(graph, (mo_task)task))
            json_array_append_new(tasks, json_string(mo_task_name((mo_task)task)));
    json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "path", graph->source, "kind", "graph",
        "name", graph->name, "graphs", (json_int_t)graph->graphs, "nodes", (json_int_t)graph->nodes, "edges",
        (json_int_t)(graph->nnz / 2), "isolated", (json_int_t)d.isolated, "largest_degree", (json_int_t)d.largest,
        "mean_degree", json_number(d.mean));
    json_object_update_new(
        o, json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:s}", "dropped_loops", (json_int_t)graph->dropped_loops,
               "dropped_duplicates", (json_int_t)graph->dropped_duplicates, "features", (json_int_t)graph->features,
               "attributes", (json_int_t)graph->attributes, "feature_nnz", (json_int_t)graph->feature_nnz, "classes",
               classes, "unlabelled", (json_int_t)unlabelled, "tasks", tasks, "hash", hash));
    json_t *names = graph->class_name ? json_array() : NULL;
    for (int64_t c = 0; names && c < graph->classes; c++)
        json_array_append_new(names, json_string(graph->class_name[c]));
    if (names)
        json_object_set_new(o, "class_names", names);
    if (graph->divisions)
        json_object_set_new(o, "divisions", json_integer(graph->divisions));
    if (graph->left_out)
        json_object_set_new(o, "left_out", json_string(graph->left_out));
    if (entry)
        json_object_set_new(o, "manifest", about_object(entry, graph));
    print_json(o);
}

/* Prints the manifest's entry of a data set that is not installed. */
static void describe_absent(const json_t *entry, bool json) {
    if (json)
        print_json(json_pack("{s:s, s:s, s:o}", "kind", "absent", "name", manifest_text(entry, "name"), "manifest",
            about_object(entry, NULL)));
    else
        print_about(entry, NULL);
}

/* Opens a graph; a name of the manifest at the path where `mochi data get` puts it. entry: NULL for other names. */
static mo_graph *open_graph(mo_context *ctx, const char *name, const json_t *entry) {
    char folder[PATH_MAX], path[PATH_MAX];
    const char *own = manifest_text(entry, "path");
    if (!entry || mo_graph_exists(name))
        return mo_graph_open(ctx, name);
    if (!own || !mo_data_folder(folder, sizeof folder) ||
        snprintf(path, sizeof path, "%s/%s", folder, own) >= (int)sizeof path || !mo_graph_exists(path))
        return NULL;
    return mo_graph_open(ctx, path);
}

static void describe_graph(mo_context *ctx, const char *name, const json_t *entry, bool json) {
    mo_graph *graph = open_graph(ctx, name, entry);
    if (!graph && entry && mo_ok(ctx))
        describe_absent(entry, json);
    if (!graph)
        return;
    if (strcmp(graph->source, name) == 0) /* a path: the manifest has another graph of this name */
        entry = NULL;
    int64_t unlabelled, *members = count_classes(graph, &unlabelled);
    if (!members)
        mo_fail(ctx, MO_MEMORY, "data info: out of memory");
    else if (json)
        print_graph_object(graph, members, unlabelled, entry);
    else
        print_graph(graph, members, unlabelled);
    if (members && entry && !json)
        print_about(entry, graph);
    free(members);
    mo_graph_release(graph);
}

bool describe_data(mo_context *ctx, const char *name, const json_t *m, bool json) {
    mo_arrays *arrays = NULL;
    const char *kind = "array";
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
        if (arrays && mo_arrays_find(arrays, "adj_indptr")) {
            mo_arrays_release(arrays);
            arrays = NULL;
            describe_graph(ctx, name, NULL, json);
        }
    } else {
        describe_graph(ctx, name, manifest_look(m, name), json);
    }
    if (arrays && mo_ok(ctx))
        describe_arrays(ctx, name, kind, arrays, json);
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}
