/* tools/data/data_list.c - `mochi data list`: names and paths of graphs; with --all also data sets of the manifest that
 * are not installed. */
#include "tools/data/data.h"
#include "tools/data/manifest.h"
#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The installed graphs. */
typedef struct located {
    const data_options *options;
    struct {
        const char *name;
        char *path;
        bool embedded;
    } * items;
    int count;
} located;

static void keep_name(const char *name, const char *path, bool embedded, void *state) {
    located *l = state;
    l->items = needed(realloc(l->items, ((size_t)l->count + 1) * sizeof *l->items));
    l->items[l->count].name = name;
    l->items[l->count].embedded = embedded;
    l->items[l->count++].path = needed(strdup(path));
}

/* "evaluation nc, lp" of ["evaluation nc", "evaluation lp"]. */
static const char *uses_in_paper(const json_t *paper, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(paper) && used < bytes; i++) {
        const char *use = json_string_value(json_array_get(paper, i));
        use = i > 0 && strrchr(use, ' ') ? strrchr(use, ' ') + 1 : use;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", use);
    }
    return text;
}

/* "verified" if every download of the entry has a SHA-256; "by hand" if there is no download. */
static const char *trust_of(const json_t *e) {
    bool any = false, all = true;
    const json_t *files = json_object_get(e, "files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *f = json_array_get(files, i);
        bool url = manifest_text(f, "url");
        any |= url;
        all &= !url || (manifest_text(f, "sha256") && !manifest_text(f, "member"));
    }
    return !any ? "by hand" : all ? "verified" : "unverified";
}

static void print_all(const json_t *e, const located *l) {
    char uses[96];
    const char *name = manifest_text(e, "name"), *licence = manifest_text(e, "licence");
    json_t *paper = json_object_get(e, "paper");
    int i = 0;
    while (i < l->count && strcmp(l->items[i].name, name))
        i++;
    const char *where = i == l->count ? "-" : l->items[i].embedded ? "embedded" : "here";
    uses_in_paper(paper, uses, sizeof uses);
    if (l->options->json)
        print_json(json_pack("{s:s, s:s, s:s, s:O?, s:s, s:O?, s:s, s:s?}", "name", name, "state", where, "download",
            trust_of(e), "paper", paper, "licence", licence, "cite", json_object_get(e, "cite"), "page",
            manifest_text(e, "page"), "note", manifest_text(e, "note")));
    else
        printf("%-16s %-9s %-11s %-19s %s\n", name, where, trust_of(e), uses, licence);
}

int data_list(mo_context *ctx, const data_options *o) {
    located l = {.options = o};
    mo_graph_list(ctx, keep_name, &l);
    json_t *m = mo_ok(ctx) && o->all ? manifest_read(ctx) : NULL;
    for (size_t i = 0; i < json_array_size(m); i++)
        print_all(json_array_get(m, i), &l);
    for (int i = 0; i < l.count; i++) {
        const char *path = l.items[i].path;
        if (!o->all && o->json)
            print_json(
                json_pack("{s:s, s:s, s:b}", "name", l.items[i].name, "path", path, "embedded", l.items[i].embedded));
        else if (!o->all)
            printf("%-16s %-9s %s\n", l.items[i].name, l.items[i].embedded ? "embedded" : "", path);
        free(l.items[i].path);
    }
    free(l.items);
    json_decref(m);
    return mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
}
