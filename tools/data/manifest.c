/* tools/data/manifest.c - reads the manifest, and sets an entry beside the graph found. */
#include "tools/data/manifest.h"

#include "tools/input.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

json_t *manifest_read(mo_context *ctx) {
    char path[PATH_MAX];
    json_error_t error;
    if (!mo_data_file("manifest.json", path, sizeof path)) {
        mo_fail(ctx, MO_IO, "manifest.json: not found among the files of the program");
        return NULL;
    }
    json_t *root = read_json_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *list = json_incref(json_object_get(root, "datasets"));
    if (!json_is_array(list))
        mo_fail(ctx, MO_FORMAT, "%s:%d: expected a manifest: %s", path, root ? 1 : error.line,
            root ? "no list \"datasets\"" : error.text);
    json_decref(root);
    return list;
}

const json_t *manifest_look(const json_t *manifest, const char *name) {
    for (size_t i = 0; i < json_array_size(manifest); i++)
        if (!strcasecmp(manifest_text(json_array_get(manifest, i), "name"), name))
            return json_array_get(manifest, i);
    return NULL;
}

const json_t *manifest_find(mo_context *ctx, const json_t *manifest, const char *name) {
    const json_t *e = manifest_look(manifest, name);
    if (!e)
        mo_fail(ctx, MO_INVALID, "'%.200s': expected a name of the manifest; mochi data list --all shows them", name);
    return e;
}

const char *manifest_text(const json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

/* ---- counts ---- */

json_t *find_counts(const mo_graph *graph) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "graphs", (json_int_t)graph->graphs, "nodes",
        (json_int_t)graph->nodes, "edges", (json_int_t)graph->nnz / 2, "features",
        (json_int_t)(graph->features - graph->attributes), "classes", (json_int_t)graph->classes);
}

/* The name of the first count that a graph does not have; NULL: it has all that are stated. */
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

bool check_counts(const json_t *entry, const mo_graph *graph) {
    json_t *found = find_counts(graph);
    const char *other = find_other_count(entry, found);
    if (other)
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected %" PRId64 " %s, found %" PRId64 " in %s",
            manifest_text(entry, "name"),
            (int64_t)json_integer_value(json_object_get(json_object_get(entry, "counts"), other)), other,
            (int64_t)json_integer_value(json_object_get(found, other)), graph->source);
    json_decref(found);
    return !other;
}

/* ---- an entry beside a graph ---- */

static bool can_be_downloaded(const json_t *entry) {
    const json_t *files = json_object_get(entry, "files");
    for (size_t i = 0; i < json_array_size(files); i++)
        if (manifest_text(json_array_get(files, i), "url"))
            return true;
    return false;
}

static void print_about_line(const char *label, const char *text) {
    if (text)
        printf("  %-10s %s\n", label, text);
}

/* "expected   2708 nodes, 5278 edges (found 5279)". found: NULL where there is no graph. */
static void print_expected_counts(const json_t *entry, const json_t *found) {
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
}

void print_about(const json_t *entry, const mo_graph *graph) {
    const char *name = manifest_text(entry, "name");
    json_t *found = graph ? find_counts(graph) : NULL;
    if (!graph && can_be_downloaded(entry))
        printf("%s: not here; mochi data get %s\n", name, name);
    else if (!graph)
        printf("%s: not here, nor an address to download it from\n", name);
    print_expected_counts(entry, found);
    print_about_line("licence", manifest_text(entry, "licence"));
    for (size_t i = 0; i < json_array_size(json_object_get(entry, "cite")); i++)
        print_about_line(i ? "" : "cite", json_string_value(json_array_get(json_object_get(entry, "cite"), i)));
    print_about_line("source", manifest_text(entry, "page"));
    print_about_line("note", manifest_text(entry, "note"));
    json_decref(found);
}

json_t *about_object(const json_t *entry, const mo_graph *graph) {
    json_t *found = graph ? find_counts(graph) : NULL, *stated = json_object_get(entry, "counts");
    json_t *agrees = found && json_object_size(stated) ? json_boolean(!find_other_count(entry, found)) : json_null();
    json_decref(found);
    return json_pack("{s:s, s:s, s:s?, s:O?, s:s?, s:o, s:o}", "name", manifest_text(entry, "name"), "licence",
        manifest_text(entry, "licence"), "page", manifest_text(entry, "page"), "cite", json_object_get(entry, "cite"),
        "note", manifest_text(entry, "note"), "expected", stated ? json_incref(stated) : json_object(), "agrees",
        agrees);
}
