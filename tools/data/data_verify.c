/* tools/data/data_verify.c - `mochi data verify`: every file of an entry against its SHA-256, then the counts of the
 * loaded graph against the manifest's. */
#include "tools/data/data.h"
#include "tools/data/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const states[] = {"ok", "unverified", "differs", "absent"};

static void print_verified_file(
    const data_options *o, const manifest_entry *e, const manifest_file *f, file_state state, const char *digits) {
    if (o->json)
        print_json(json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "name", e->name, "path", f->path, "state", states[state],
            "expected", f->sha256 ? f->sha256 : f->copy, "found", digits[0] ? digits : NULL));
    else if (state == FILE_DIFFERS)
        printf("%-10s %s: expected %s, found %s\n", states[state], f->path, f->sha256, digits);
    else
        printf("%-10s %s\n", states[state], f->path);
}

static void print_verified_counts(const data_options *o, const manifest_entry *e, const mo_graph *graph, bool right) {
    int64_t n[COUNTS];
    find_counts(graph, n);
    if (o->json) {
        json_t *counts = json_object();
        for (int k = 0; k < COUNTS; k++)
            json_object_set_new(counts, count_names[k], json_integer(n[k]));
        print_json(json_pack("{s:s, s:s, s:s, s:o}", "name", e->name, "path", graph->source, "state",
            right ? "ok" : "differs", "counts", counts));
    } else if (right) {
        printf("%-10s %s: %" PRId64 " graphs, %" PRId64 " nodes, %" PRId64 " edges, %" PRId64 " features, %" PRId64
               " classes\n",
            "ok", e->name, n[COUNT_GRAPHS], n[COUNT_NODES], n[COUNT_EDGES], n[COUNT_FEATURES], n[COUNT_CLASSES]);
    }
}

/* Loads the entry's graph and compares the counts. Returns false after raising. */
static bool verify_counts(mo_context *ctx, const data_options *o, const manifest_entry *e, const char *found) {
    mo_graph *graph = mo_graph_open(ctx, found);
    if (graph)
        print_verified_counts(o, e, graph, check_counts(e, graph));
    mo_graph_release(graph);
    return mo_ok(ctx);
}

/* Verifies an entry that was named or has a file here. A file that only a conversion needs may be absent if the result
 * of the conversion is here. */
static bool verify_entry(mo_context *ctx, const data_options *o, const char *folder, const manifest_entry *e) {
    char found[PATH_MAX], digits[SHA256_TEXT], graph[PATH_MAX];
    bool fine = true, loadable = e->path && find_data_file(folder, e->path, graph);
    for (int i = 0; i < e->n_files; i++) {
        file_state state = check_file(ctx, folder, &e->files[i], found, digits);
        if (!mo_ok(ctx)) {
            report_failure(ctx);
            mo_clear_error(ctx);
        }
        print_verified_file(o, e, &e->files[i], state, digits);
        fine &= state == FILE_OK || state == FILE_UNVERIFIED || (state == FILE_ABSENT && e->converter[0] && loadable);
    }
    if (loadable && !verify_counts(ctx, o, e, graph)) {
        report_failure(ctx);
        mo_clear_error(ctx);
        fine = false;
    }
    return fine;
}

static bool is_here(const char *folder, const manifest_entry *e) {
    char found[PATH_MAX];
    for (int i = 0; i < e->n_files; i++)
        if (find_data_file(folder, e->files[i].path, found))
            return true;
    return false;
}

int data_verify(mo_context *ctx, const data_options *o) {
    char folder[PATH_MAX];
    manifest *m = open_data_folder(ctx, folder, sizeof folder) ? manifest_read(ctx, o->manifest) : NULL;
    bool fine = m;
    int checked = 0;
    for (int i = 0; m && i < o->words.count && mo_ok(ctx); i++) {
        const manifest_entry *e = manifest_find(ctx, m, o->words.items[i]);
        fine = e && verify_entry(ctx, o, folder, e) && fine;
        checked++;
    }
    for (int i = 0; m && o->words.count == 0 && i < m->count; i++)
        if (is_here(folder, &m->entries[i])) {
            fine = verify_entry(ctx, o, folder, &m->entries[i]) && fine;
            checked++;
        }
    if (m && checked == 0)
        mo_fail(ctx, MO_IO, "%s: expected files of the manifest, found none; mochi data get fetches them", folder);
    manifest_release(m);
    return !mo_ok(ctx) ? report_failure(ctx) : fine ? EXIT_FINE : EXIT_FAILED;
}
