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
static const char *trust_of(const manifest_entry *e) {
    bool any = false, all = true;
    for (int i = 0; i < e->n_files; i++) {
        any |= e->files[i].url != NULL;
        all &= !e->files[i].url || (e->files[i].sha256 && !e->files[i].member);
    }
    return !any ? "by hand" : all ? "verified" : "unverified";
}

static void print_all(const manifest_entry *e, const located *l) {
    char uses[96];
    int i = 0;
    while (i < l->count && strcmp(l->items[i].name, e->name))
        i++;
    const char *where = i == l->count ? "-" : l->items[i].embedded ? "embedded" : "here";
    uses_in_paper(e->paper, uses, sizeof uses);
    if (l->options->json)
        print_json(json_pack("{s:s, s:s, s:s, s:O?, s:s, s:O?, s:s, s:s?}", "name", e->name, "state", where, "download",
            trust_of(e), "paper", e->paper, "licence", e->licence, "cite", e->cite, "page", e->page, "note", e->note));
    else
        printf("%-16s %-9s %-11s %-19s %s\n", e->name, where, trust_of(e), uses, e->licence);
}

int data_list(mo_context *ctx, const data_options *o) {
    located l = {.options = o};
    mo_graph_list(ctx, keep_name, &l);
    manifest *m = mo_ok(ctx) && o->all ? manifest_read(ctx, o->manifest) : NULL;
    for (int i = 0; m && i < m->count; i++)
        print_all(&m->entries[i], &l);
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
    manifest_release(m);
    return mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
}
