/* train/graphs/attributed/load_graph_files.c - a file of GraphML or of node-link JSON, or a folder of them, which is a
 * set of graphs in the order of the files' names; labels.csv (load_labels.c) may lie beside them.
 *
 * The graphs of a set are called as their files are, without the suffix, where each file has one graph. */
#include "train/graphs/attributed/attributed.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const suffixes[] = {".graphml", ".graphml.gz", ".json", NULL};

/* The length of a name without the suffix of a graph's file; 0 if it has none. */
static size_t stem_of(const char *name) {
    size_t n = strlen(name);
    for (int i = 0; suffixes[i]; i++)
        if (n > strlen(suffixes[i]) && mo_path_ends_with(name, suffixes[i]))
            return n - strlen(suffixes[i]);
    return 0;
}

static bool is_json(const char *path) {
    return mo_path_ends_with(path, ".json");
}

static bool read_graph_file(mo_attributed *a, const char *path, bool json) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char stem[NAME_MAX + 1];
    int64_t before = a->graphs;
    bool fine = json ? mo_read_node_link(a, path) : mo_read_graphml(a, path);
    snprintf(stem, sizeof stem, "%.*s", (int)stem_of(base), base);
    for (int64_t g = before; fine && g < a->graphs; g++)
        fine = mo_words_add(a->ctx, &a->names, a->graphs == before + 1 ? stem : "");
    return fine;
}

/* The names of the graphs' files of a folder, sorted. False on failure. */
static bool list_graph_files(mo_context *ctx, const char *folder, mo_words *names) {
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
        return false;
    }
    bool fine = true;
    for (struct dirent *entry; fine && (entry = readdir(listing));)
        fine = !stem_of(entry->d_name) || mo_words_add(ctx, names, entry->d_name);
    closedir(listing);
    return fine;
}

/* TU folders may have other files beside their own. */
bool mo_is_graph_files(const char *folder) {
    DIR *listing = opendir(folder);
    bool found = false;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        found |= stem_of(entry->d_name) > 0;
    if (listing)
        closedir(listing);
    return found && !mo_is_tu(folder);
}

static bool read_graph_files(mo_attributed *a, const char *folder) {
    mo_words names = {0};
    char path[PATH_MAX];
    bool fine = list_graph_files(a->ctx, folder, &names);
    mo_word *sorted = fine ? mo_words_sort(a->ctx, &names) : NULL;
    for (int64_t i = 0; sorted && fine && i < names.n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, sorted[i].text);
        fine = read_graph_file(a, path, is_json(path));
    }
    free(sorted);
    mo_words_release(&names);
    return mo_ok(a->ctx);
}

/* Labels beside the files, which must not have their own. */
static bool read_labels_beside(mo_graph *graph, const char *folder) {
    static const char *const files[] = {"labels.csv", "labels.tsv", "labels.txt", "labels.npy", NULL};
    char path[PATH_MAX];
    for (int i = 0; graph->n_labels && files[i]; i++)
        if (mo_text_find(folder, files[i], path, sizeof path)) {
            mo_fail(graph->ctx, MO_FORMAT, "%s: expected classes in the graphs' files or in %s, found both", folder,
                files[i]);
            return false;
        }
    return graph->n_labels || mo_load_labels(graph, folder);
}

static mo_graph *open_graph_files(mo_context *ctx, const char *name, const char *path, bool folder, bool json) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    mo_attributed a = {.ctx = ctx};
    bool fine = folder ? read_graph_files(&a, path) : read_graph_file(&a, path, json);
    if (fine && mo_attributed_become(&a, graph) && folder)
        read_labels_beside(graph, path);
    mo_attributed_release(&a);
    return mo_graph_finish(graph);
}

mo_graph *mo_load_graph_files(mo_context *ctx, const char *name, const char *folder) {
    return open_graph_files(ctx, name, folder, true, false);
}

mo_graph *mo_load_graphml(mo_context *ctx, const char *name, const char *path) {
    return open_graph_files(ctx, name, path, false, false);
}

mo_graph *mo_load_node_link(mo_context *ctx, const char *name, const char *path) {
    return open_graph_files(ctx, name, path, false, true);
}
