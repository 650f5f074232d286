/* tools/data/data_info.c - `mochi data info`: describes a graph by its sizes, classes and degrees, beside its entry in
 * the manifest; arrays by dtype, shape and range.
 *
 * The kind of a file follows from its name, except that an .npz is a graph if it has the members of one. */
#include "tools/data/data.h"
#include "tools/digest.h"
#include "tools/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

/* An object of an array: its range is that of the finite elements, null if there are none. */
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
            low = fmin(low, values[i]); /* fmin ignores a NaN */
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

static double number_of(const json_t *o, const char *key) {
    const json_t *n = json_object_get(o, key);
    return n && !json_is_null(n) ? json_number_value(n) : NAN;
}

static void print_array(const json_t *a, const mo_tensor *T) {
    char shape[96];
    double not_finite = number_of(a, "not_finite");
    printf("  %-32s %-8s %-20s min %.6g  max %.6g  mean %.6g", text_of(a, "name"), text_of(a, "dtype"),
        mo_shape_string(T, shape, sizeof shape), number_of(a, "min"), number_of(a, "max"), number_of(a, "mean"));
    if (not_finite > 0)
        printf("  not finite: %.0f", not_finite);
    putchar('\n');
}

/* Prints "<path>: <kind>" and every array, or all as one object. */
static void describe_arrays(mo_context *ctx, const char *path, const char *kind, const mo_arrays *arrays, bool json) {
    json_t *list = json_array(), *metadata = arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL, *value;
    const char *key;
    if (!json)
        printf("%s: %s, %" PRId64 " tensors\n", path, kind, arrays->count);
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++) {
        json_t *a = array_object(ctx, arrays->items[i].name, arrays->items[i].tensor);
        if (!json && mo_ok(ctx))
            print_array(a, arrays->items[i].tensor);
        json_array_append_new(list, a);
    }
    if (json && mo_ok(ctx))
        print_json(
            json_pack("{s:s, s:s, s:O, s:O?}", "path", path, "kind", kind, "tensors", list, "metadata", metadata));
    else if (!json)
        json_object_foreach(metadata, key, value) printf("  %s = %s\n", key, json_string_value(value));
    json_decref(list);
    json_decref(metadata);
}

/* ---- an entry of the manifest beside a graph ---- */

json_t *find_counts(const mo_graph *graph) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "graphs", (json_int_t)graph->graphs, "nodes",
        (json_int_t)graph->nodes, "edges", (json_int_t)graph->nnz / 2, "features",
        (json_int_t)(graph->features - graph->attributes), "classes", (json_int_t)graph->classes);
}

const char *find_other_count(const json_t *entry, const json_t *found) {
    const char *name;
    json_t *n;
    json_object_foreach((json_t *)found, name, n) {
        const json_t *stated = json_object_get(json_object_get(entry, "counts"), name);
        if (stated && !json_equal(stated, n))
            return name;
    }
    return NULL;
}

/* found: the counts of the graph, NULL where there is none. "agrees" is null then. */
static json_t *entry_object(const json_t *entry, const json_t *found) {
    json_t *stated = json_object_get(entry, "counts");
    return json_pack("{s:s, s:s, s:s?, s:O?, s:s?, s:o, s:o}", "name", text_of(entry, "name"), "licence",
        text_of(entry, "licence"), "page", text_of(entry, "page"), "cite", json_object_get(entry, "cite"), "note",
        text_of(entry, "note"), "expected", stated ? json_incref(stated) : json_object(), "agrees",
        found && json_object_size(stated) ? json_boolean(!find_other_count(entry, found)) : json_null());
}

/* "expected   2708 nodes, 5278 edges (found 5279)", and whose data these are. */
static void print_entry(const json_t *entry, const json_t *found) {
    static const char *const lines[] = {"licence", "cite", "page", "note"}, *const labels[] = {
                                                                                "licence", "cite", "source", "note"};
    const char *between = "", *name;
    json_t *n;
    printf("  %-10s ", "expected");
    json_object_foreach(json_object_get(entry, "counts"), name, n) {
        printf("%s%" PRId64 " %s", between, (int64_t)json_integer_value(n), name);
        if (found && !json_equal(json_object_get(found, name), n))
            printf(" (found %" PRId64 ")", (int64_t)json_integer_value(json_object_get(found, name)));
        between = ", ";
    }
    puts(!*between                         ? "no counts stated"
         : !found                          ? ""
         : !find_other_count(entry, found) ? "; all found"
                                           : "; NOT all found");
    for (int i = 0; i < 4; i++) {
        const json_t *said = json_object_get(entry, lines[i]);
        for (size_t j = 0; j < (json_is_array(said) ? json_array_size(said) : said != NULL); j++)
            printf("  %-10s %s\n", j ? "" : labels[i],
                json_string_value(json_is_array(said) ? json_array_get(said, j) : said));
    }
}

/* A data set that is not here. */
static void describe_absent(const json_t *entry, bool json) {
    const char *name = text_of(entry, "name");
    bool address = false;
    size_t i;
    json_t *file;
    if (json) {
        print_json(json_pack("{s:s, s:s, s:o}", "kind", "absent", "name", name, "manifest", entry_object(entry, NULL)));
        return;
    }
    json_array_foreach(json_object_get(entry, "files"), i, file) address |= text_of(file, "url") != NULL;
    printf(address ? "%s: not here; mochi data get %s\n" : "%s: not here, nor an address to download it from\n", name,
        name);
    print_entry(entry, NULL);
}

/* ---- graphs ---- */

/* What is counted in a graph. */
typedef struct counted {
    int64_t isolated, largest, unlabelled; /* largest: degree */
    double mean;                           /* degree */
    int64_t *members;                      /* of each class; owned */
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
    return c;
}

static void print_graph(const mo_graph *graph, const counted *c) {
    int64_t shown = graph->classes < 64 ? graph->classes : 64;
    const char *more = graph->classes > shown ? " .." : "";
    printf("%s: %s from %s\n", graph->name, graph->graphs > 1 ? "set of graphs" : "graph", graph->source);
    if (graph->graphs > 1)
        printf(
            "  graphs     %" PRId64 ", %.1f nodes each\n", graph->graphs, (double)graph->nodes / (double)graph->graphs);
    printf("  nodes      %" PRId64 ", %" PRId64 " of them isolated\n", graph->nodes, c->isolated);
    printf("  edges      %" PRId64 " undirected; degree %.2f in the mean, %" PRId64 " at most\n", graph->nnz / 2,
        c->mean, c->largest);
    printf("  dropped    %" PRId64 " self-loops, %" PRId64 " repeated edges\n", graph->dropped_loops,
        graph->dropped_duplicates);
    if (graph->left_out)
        printf("  left out   %s\n", graph->left_out);
    printf("  features   %" PRId64 " columns, %" PRId64 " non-zeros", graph->features, graph->feature_nnz);
    if (graph->attributes)
        printf(": %" PRId64 " attributes, %" PRId64 " of node labels", graph->attributes,
            graph->features - graph->attributes);
    printf("\n  labels     %" PRId64 " classes:", graph->classes);
    for (int64_t k = 0; k < shown; k++)
        printf(" %" PRId64, c->members[k]);
    printf("%s; %" PRId64 " unlabelled\n", more, c->unlabelled);
    for (int64_t k = 0; graph->class_name && k < shown; k++) { /* where the file does not number them */
        fputs(k ? ", " : "  names      ", stdout);
        for (const char *at = graph->class_name[k]; *at; at++)
            putchar(printable(*at));
    }
    if (graph->class_name && shown)
        puts(more);
    if (graph->divisions)
        printf("  divisions  %" PRId64 " of the nodes, by protocol public\n", graph->divisions);
    fputs("  tasks     ", stdout);
    for (int task = 0; task < MO_TASKS; task++)
        if (mo_graph_has_task(graph, (mo_task)task))
            printf(" %s", mo_task_name((mo_task)task));
    printf("\n  hash       %016" PRIx64 "%016" PRIx64 "\n", graph->hash[1], graph->hash[0]);
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
        o, json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o*, s:s*}", "dropped_loops",
               (json_int_t)graph->dropped_loops, "dropped_duplicates", (json_int_t)graph->dropped_duplicates,
               "features", (json_int_t)graph->features, "attributes", (json_int_t)graph->attributes, "feature_nnz",
               (json_int_t)graph->feature_nnz, "classes", classes, "unlabelled", (json_int_t)c->unlabelled, "tasks",
               tasks, "hash", json_hash((uint64_t[]){graph->hash[1], graph->hash[0]}), "class_names", names, "left_out",
               graph->left_out));
    if (graph->divisions)
        json_object_set_new(o, "divisions", json_integer(graph->divisions));
    return o;
}

/* Opens a graph; a name of the manifest at the path where `mochi data get` puts it. entry: NULL for other names. */
static mo_graph *open_graph(mo_context *ctx, const char *name, const json_t *entry) {
    char path[PATH_MAX];
    const char *own = text_of(entry, "path");
    if (!entry || mo_graph_exists(name))
        return mo_graph_open(ctx, name);
    return own && find_data_file(own, path) ? mo_graph_open(ctx, path) : NULL;
}

static void describe_graph(mo_context *ctx, const char *name, const json_t *entry, bool json) {
    mo_graph *graph = open_graph(ctx, name, entry);
    if (!graph && entry && mo_ok(ctx))
        describe_absent(entry, json);
    if (!graph)
        return;
    if (strcmp(graph->source, name) == 0) /* a path: the manifest has another graph of this name */
        entry = NULL;
    counted c = count_graph(graph);
    json_t *o = json ? graph_object(graph, &c) : NULL, *found = find_counts(graph);
    if (json && entry)
        json_object_set_new(o, "manifest", entry_object(entry, found));
    if (json)
        print_json(o);
    else
        print_graph(graph, &c);
    if (!json && entry)
        print_entry(entry, found);
    json_decref(found);
    free(c.members);
    mo_graph_release(graph);
}

/* Describes one file or graph on standard output. */
static void describe_data(mo_context *ctx, const char *name, const json_t *m, bool json) {
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
        describe_graph(ctx, name, manifest_find(m, name), json);
    }
    if (arrays && mo_ok(ctx))
        describe_arrays(ctx, name, kind, arrays, json);
    mo_arrays_release(arrays);
}

bool data_info(mo_context *ctx, const data_options *o, const json_t *m) {
    bool fine = true;
    for (int i = 0; i < o->words.count; i++) { /* goes on after a bad file */
        describe_data(ctx, o->words.items[i], m, o->json);
        fine &= went_well(ctx);
    }
    return fine;
}
