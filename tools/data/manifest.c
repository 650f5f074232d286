/* tools/data/manifest.c - reads the manifest with jansson. A manifest is not trusted: its paths must stay below the
 * data folder, its addresses must be http or https. */
#include "tools/data/manifest.h"

#include "tools/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const count_names[COUNTS] = {"graphs", "nodes", "edges", "features", "classes"};

/* The place in the file that an error names: "FILE: cora: files[3]". */
typedef struct place {
    mo_context *ctx;
    char text[512];
} place;

static bool refuse_manifest(const place *at, const char *key, const char *expected, const json_t *found) {
    char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    mo_fail(at->ctx, MO_FORMAT, "%s: %s: expected %s, found %.80s", at->text, key, expected, text ? text : "nothing");
    free(text);
    return false;
}

/* Reads the text under a key; an absent one is NULL unless it is `required`. */
static bool read_manifest_text(const place *at, const json_t *o, const char *key, bool required, const char **text) {
    const json_t *value = json_object_get(o, key);
    *text = json_string_value(value);
    return (value ? json_is_string(value) && **text : !required) || refuse_manifest(at, key, "a text", value);
}

static bool read_count(const place *at, const json_t *o, const char *key, int64_t *count) {
    const json_t *value = json_object_get(o, key);
    *count = value ? json_integer_value(value) : -1;
    return !value || (json_is_integer(value) && *count >= 0) ||
           refuse_manifest(at, key, "a number of at least 0", value);
}

static bool is_sha256(const char *text) {
    return !text || (strlen(text) == SHA256_TEXT - 1 && strspn(text, "0123456789abcdef") == SHA256_TEXT - 1);
}

bool is_safe_path(const char *path) {
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n <= 2 && !strncmp(part, "..", n)) || memchr(part, '\\', n))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

static bool is_web(const char *url) {
    return !url || !strncmp(url, "https://", 8) || !strncmp(url, "http://", 7);
}

static bool read_manifest_file(const place *at, const json_t *o, manifest_file *f) {
    if (!json_is_object(o))
        return refuse_manifest(at, "files", "objects", o);
    return read_manifest_text(at, o, "path", true, &f->path) && read_manifest_text(at, o, "url", false, &f->url) &&
           read_manifest_text(at, o, "member", false, &f->member) &&
           read_manifest_text(at, o, "sha256", false, &f->sha256) &&
           read_manifest_text(at, o, "copy_sha256", false, &f->copy) && read_count(at, o, "bytes", &f->bytes) &&
           (is_safe_path(f->path) ||
               refuse_manifest(at, "path", "a path below the data folder", json_object_get(o, "path"))) &&
           (is_web(f->url) || refuse_manifest(at, "url", "an http or https address", json_object_get(o, "url"))) &&
           (!f->member || f->url || refuse_manifest(at, "url", "the archive of the member", NULL)) &&
           (is_sha256(f->sha256) ||
               refuse_manifest(at, "sha256", "64 lower-case hexadecimal digits", json_object_get(o, "sha256"))) &&
           (is_sha256(f->copy) || refuse_manifest(at, "copy_sha256", "64 lower-case hexadecimal digits",
                                      json_object_get(o, "copy_sha256")));
}

static bool read_files(const place *at, const json_t *list, manifest_entry *e) {
    if (!json_is_array(list))
        return refuse_manifest(at, "files", "a list", list);
    e->files = calloc(json_array_size(list) + 1, sizeof *e->files);
    if (!e->files)
        mo_fail(at->ctx, MO_MEMORY, "manifest: out of memory");
    for (size_t i = 0; e->files && i < json_array_size(list); i++)
        if (!read_manifest_file(at, json_array_get(list, i), &e->files[e->n_files++]))
            return false;
    return mo_ok(at->ctx);
}

/* Reads a list of texts; an absent list has none. */
static bool read_texts(const place *at, const json_t *o, const char *key, const json_t **list) {
    *list = json_object_get(o, key);
    for (size_t i = 0; i < json_array_size(*list); i++)
        if (!json_is_string(json_array_get(*list, i)))
            return refuse_manifest(at, key, "texts", json_array_get(*list, i));
    return !*list || json_is_array(*list) || refuse_manifest(at, key, "a list", *list);
}

static bool read_converter(const place *at, const json_t *o, manifest_entry *e) {
    const json_t *list;
    if (!read_texts(at, o, "convert", &list) || !list)
        return mo_ok(at->ctx);
    for (size_t i = 0; i < 3 && json_array_size(list) == 3; i++) {
        e->converter[i] = json_string_value(json_array_get(list, i));
        if (i > 0 && !is_safe_path(e->converter[i]))
            return refuse_manifest(at, "convert", "paths below the data folder", json_array_get(list, i));
    }
    return json_array_size(list) == 3 || refuse_manifest(at, "convert", "form, input and output", list);
}

static bool read_manifest_entry(const place *file, const json_t *o, size_t i, manifest_entry *e) {
    place at = *file;
    snprintf(at.text, sizeof at.text, "%.400s: datasets[%zu]", file->text, i);
    if (!json_is_object(o) || !read_manifest_text(&at, o, "name", true, &e->name))
        return json_is_object(o) ? false : refuse_manifest(&at, "datasets", "objects", o);
    snprintf(at.text, sizeof at.text, "%.400s: %.100s", file->text, e->name);
    const json_t *counts = json_object_get(o, "counts");
    for (int k = 0; k < COUNTS; k++)
        if (!read_count(&at, counts, count_names[k], &e->counts[k]))
            return false;
    return read_manifest_text(&at, o, "licence", true, &e->licence) &&
           read_manifest_text(&at, o, "page", true, &e->page) && read_manifest_text(&at, o, "note", false, &e->note) &&
           read_manifest_text(&at, o, "path", false, &e->path) &&
           (!e->path || is_safe_path(e->path) ||
               refuse_manifest(&at, "path", "a path below the data folder", json_object_get(o, "path"))) &&
           read_texts(&at, o, "paper", &e->paper) && read_texts(&at, o, "cite", &e->cite) &&
           read_converter(&at, o, e) && read_files(&at, json_object_get(o, "files"), e);
}

static bool read_entries(manifest *m, const place *at) {
    const json_t *list = json_object_get(m->root, "datasets");
    if (!json_is_array(list))
        return refuse_manifest(at, "datasets", "a list", list);
    m->entries = calloc(json_array_size(list) + 1, sizeof *m->entries);
    if (!m->entries)
        mo_fail(at->ctx, MO_MEMORY, "manifest: out of memory");
    for (size_t i = 0; m->entries && i < json_array_size(list); i++)
        if (!read_manifest_entry(at, json_array_get(list, i), i, &m->entries[m->count++]))
            return false;
    return m->entries;
}

manifest *manifest_read(mo_context *ctx, const char *path) {
    char own[PATH_MAX];
    if (!path && !mo_data_file("manifest.json", own, sizeof own)) {
        mo_fail(ctx, MO_IO, "manifest.json: not found among the files of the program");
        return NULL;
    }
    place at = {.ctx = ctx};
    snprintf(at.text, sizeof at.text, "%.500s", path ? path : own);
    json_error_t error;
    manifest *m = calloc(1, sizeof *m);
    if (!m) {
        mo_fail(ctx, MO_MEMORY, "manifest: out of memory");
        return NULL;
    }
    m->root = read_json_file(path ? path : own, JSON_REJECT_DUPLICATES, &error);
    if (!m->root)
        mo_fail(ctx, MO_FORMAT, "%s:%d: expected a manifest: %s", at.text, error.line > 0 ? error.line : 1, error.text);
    if (m->root && read_entries(m, &at))
        return m;
    manifest_release(m);
    return NULL;
}

void manifest_release(manifest *m) {
    if (!m)
        return;
    for (int i = 0; i < m->count; i++)
        free(m->entries[i].files);
    free(m->entries);
    json_decref(m->root);
    free(m);
}

const manifest_entry *manifest_look(const manifest *m, const char *name) {
    for (int i = 0; i < m->count; i++)
        if (!strcasecmp(m->entries[i].name, name))
            return &m->entries[i];
    return NULL;
}

const manifest_entry *manifest_find(mo_context *ctx, const manifest *m, const char *name) {
    const manifest_entry *e = manifest_look(m, name);
    if (e)
        return e;
    mo_fail(ctx, MO_INVALID, "'%.200s': expected a name of the manifest; mochi data list --all shows them", name);
    return NULL;
}

void find_counts(const mo_graph *graph, int64_t found[COUNTS]) {
    found[COUNT_GRAPHS] = graph->graphs;
    found[COUNT_NODES] = graph->nodes;
    found[COUNT_EDGES] = graph->nnz / 2;
    found[COUNT_FEATURES] = graph->features - graph->attributes;
    found[COUNT_CLASSES] = graph->classes;
}

bool check_counts(const manifest_entry *entry, const mo_graph *graph) {
    int64_t found[COUNTS];
    find_counts(graph, found);
    for (int k = 0; k < COUNTS; k++)
        if (entry->counts[k] >= 0 && entry->counts[k] != found[k]) {
            mo_fail(graph->ctx, MO_FORMAT, "%s: expected %" PRId64 " %s, found %" PRId64 " in %s", entry->name,
                entry->counts[k], count_names[k], found[k], graph->source);
            return false;
        }
    return true;
}
