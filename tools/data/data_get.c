/* tools/data/data_get.c - `mochi data get`: downloads the missing files of an entry of the manifest, verifies them
 * before anything reads them, puts the data set together in a stage, loads it there, and only then moves it into the
 * data folder. */
#include "tools/data/data_fetch.h"
#include "tools/interrupt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- missing files ---- */

/* Whether the data set is installed, has every known SHA-256, and loads with the right counts. */
static bool is_complete(const fetch *f) {
    char found[PATH_MAX];
    const manifest_entry *e = f->entry;
    for (int i = 0; i < e->n_files; i++) {
        file_state state = check_file(f->ctx, f->folder, &e->files[i], found, NULL);
        bool intermediate = e->converter[0] && strcmp(e->files[i].path, e->path) != 0;
        if (state == FILE_DIFFERS || (state == FILE_ABSENT && !intermediate)) {
            mo_clear_error(f->ctx);
            return false;
        }
    }
    mo_graph *graph = e->path && find_data_file(f->folder, e->path, found) ? mo_graph_open(f->ctx, found) : NULL;
    bool complete = graph && check_counts(e, graph);
    mo_graph_release(graph);
    mo_clear_error(f->ctx);
    return complete;
}

/* Whether an earlier file has the same address: an archive with several members is one download. */
static bool is_repeated(const manifest_entry *e, int file) {
    for (int i = 0; i < file; i++)
        if (e->files[i].url && !strcmp(e->files[i].url, e->files[file].url))
            return true;
    return false;
}

/* Raises if the entry has downloads without a known SHA-256 and the user gave neither --sha256 nor
 * --accept-unverified. */
static bool may_download(const fetch *f) {
    const manifest_entry *e = f->entry;
    const char *first = NULL;
    int downloads = 0, unverified = 0;
    for (int i = 0; i < e->n_files; i++)
        if (e->files[i].url && !is_repeated(e, i)) {
            downloads++;
            if (!is_verified(&e->files[i]) && !unverified++)
                first = e->files[i].url;
        }
    if (!downloads)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: no address to get it from; see %s%s%s", e->name, e->page,
            e->note ? ": " : "", e->note ? e->note : "");
    else if (f->options->sha256 && unverified != 1)
        mo_fail(f->ctx, MO_INVALID, "%s: expected one download without a SHA-256 for --sha256, found %d", e->name,
            unverified);
    else if (unverified && !f->options->sha256 && !f->options->accept)
        mo_fail(f->ctx, MO_INVALID,
            "%s: the SHA-256 of %s is not known: give --sha256 HEX, or "
            "--accept-unverified to take what comes",
            e->name, first);
    return mo_ok(f->ctx);
}

/* Prints the missing downloads. */
static bool say_missing(const fetch *f) {
    const manifest_entry *e = f->entry;
    char found[PATH_MAX];
    for (int i = 0; i < e->n_files; i++) {
        file_state state = check_file(f->ctx, f->folder, &e->files[i], found, NULL);
        mo_clear_error(f->ctx);
        if (e->files[i].url && (state == FILE_ABSENT || state == FILE_DIFFERS))
            printf("%s: %s %s, from %s\n", e->name, e->files[i].path,
                state == FILE_ABSENT ? "is missing" : "is another file", e->files[i].url);
    }
    mo_fail(f->ctx, MO_IO, "%s: not complete below %s", e->name, f->folder);
    return false;
}

/* Loads the staged graph and compares its counts. */
static bool check_graph(fetch *f, int64_t counts[COUNTS]) {
    char found[PATH_MAX];
    const manifest_entry *e = f->entry;
    if (!e->path || !find_data_file(f->stage, e->path, found)) {
        mo_fail(
            f->ctx, MO_IO, "%s: expected %s to be there now, found nothing", e->name, e->path ? e->path : "a graph");
        return false;
    }
    mo_graph *graph = mo_graph_open(f->ctx, found);
    if (graph && check_counts(e, graph))
        find_counts(graph, counts);
    mo_graph_release(graph);
    return mo_ok(f->ctx);
}

static void report_got(const fetch *f, const int64_t counts[COUNTS]) {
    if (f->options->json)
        print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name", f->entry->name, "folder", f->folder,
            "graphs", (json_int_t)counts[0], "nodes", (json_int_t)counts[1], "edges", (json_int_t)counts[2], "features",
            (json_int_t)counts[3], "classes", (json_int_t)counts[4]));
    else
        printf("%s: %" PRId64 " graphs, %" PRId64 " nodes, %" PRId64 " edges, %" PRId64 " features, %" PRId64
               " classes in %s/%s; licence: %s\n",
            f->entry->name, counts[0], counts[1], counts[2], counts[3], counts[4], f->folder, f->entry->path,
            f->entry->licence);
}

static bool get_entry(fetch *f) {
    int64_t counts[COUNTS];
    if (is_complete(f)) {
        if (!f->options->json)
            printf("%s: complete below %s\n", f->entry->name, f->folder);
        return true;
    }
    if (f->options->offline)
        return say_missing(f);
    if (!may_download(f) || !stage_open(f->ctx, f->folder, f->stage))
        return false;
    bool done = fill_stage(f) && run_converter(f) && check_graph(f, counts);
    done = done && stage_publish(f->ctx, f->stage, f->folder, f->entry);
    stage_close(f->stage);
    if (done || mo_context_status(f->ctx)->code == MO_FORMAT) /* the next attempt must download again */
        drop_cached(f);
    if (done)
        report_got(f, counts);
    return done;
}

int data_get(mo_context *ctx, const data_options *o) {
    manifest *m = manifest_read(ctx, o->manifest);
    int code = m ? EXIT_FINE : report_failure(ctx);
    catch_interrupts(0);
    for (int i = 1; m && i < o->words.count && !*interruption(); i++) {
        fetch *f = calloc(1, sizeof *f);
        if (f)
            *f = (fetch){
                .ctx = ctx, .options = o, .stop = interruption(), .entry = manifest_find(ctx, m, o->words.items[i])};
        else
            mo_fail(ctx, MO_MEMORY, "data get: out of memory");
        if (!f || !f->entry || !open_data_folder(ctx, f->folder, sizeof f->folder) || !get_entry(f)) {
            code = report_failure(ctx); /* goes on after a failure */
            mo_clear_error(ctx);
        }
        free(f);
    }
    manifest_release(m);
    return *interruption() ? interrupted_code() : code;
}
