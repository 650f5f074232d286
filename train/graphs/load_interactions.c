/* train/graphs/load_interactions.c - interactions of users with items, in LightGCN's format (He et al. 2020): lines
 * "user item item ..", users rising.
 *
 * The graph is bipartite: the file numbers users and items separately, and item i becomes node (users + i). A folder
 * holds train.txt and optionally test.txt: the graph is their union; evaluation splits it anew. */
#include "tensor/files/file.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <limits.h>

/* Edges from users to items, both numbered from 0. */
typedef struct interactions {
    mo_edges pairs;
    int64_t users, items, file_bytes; /* counted over both files */
} interactions;

/* Reads a user's line. It has no items if all of the user's items are in the other file. */
static bool add_user(mo_text_reader *r, interactions *list, int64_t *last) {
    int64_t user, item;
    if (!mo_text_integer_in(r, "a user above that of the line before", *last + 1, MO_GRAPH_LARGEST - 2, &user))
        return false;
    *last = user;
    list->users = user >= list->users ? user + 1 : list->users;
    while (!mo_text_blank(r)) {
        if (!mo_text_integer_in(r, "an item", 0, MO_GRAPH_LARGEST - 2, &item) ||
            !mo_edges_add(r->ctx, &list->pairs, user, item)) {
            return false;
        }
        list->items = item >= list->items ? item + 1 : list->items;
    }
    return true;
}

static bool read_interactions_file(mo_context *ctx, const char *path, interactions *list) {
    mo_text_reader r;
    int64_t last = -1, before = list->pairs.count;
    bool fine = mo_text_open(&r, ctx, path);
    while (fine && mo_text_line(&r))
        fine = mo_text_blank(&r) || add_user(&r, list, &last);
    mo_text_close(&r);
    list->file_bytes += r.file_bytes;
    if (mo_ok(ctx) && list->pairs.count == before)
        mo_fail(ctx, MO_FORMAT, "%s: expected lines \"user item item ..\", found no item in %lld lines", path,
            (long long)r.line);
    return mo_ok(ctx);
}

static bool read_folder(mo_context *ctx, const char *folder, interactions *list) {
    char path[PATH_MAX];
    if (!mo_text_find(folder, "train.txt", path, sizeof path))
        return mo_fail(ctx, MO_FORMAT, "%s: expected train.txt, found none", folder);
    return read_interactions_file(ctx, path, list) &&
           (!mo_text_find(folder, "test.txt", path, sizeof path) || read_interactions_file(ctx, path, list));
}

bool mo_is_interactions(const char *folder) {
    char path[PATH_MAX];
    return mo_text_find(folder, "train.txt", path, sizeof path);
}

mo_graph *mo_load_interactions(mo_context *ctx, const char *name, const char *path, bool folder) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    interactions list = {0};
    if (folder ? read_folder(ctx, path, &list) : read_interactions_file(ctx, path, &list)) {
        /* Bounds the highest number: the graph has a row for every number below it, so a few lines could demand all
         * memory. */
        bool fits = mo_claim_fits(ctx, path, "users and items, numbered without wide gaps", list.users + list.items,
            MO_BYTES_A_NODE, list.file_bytes);
        for (int64_t i = 0; fits && i < list.pairs.count; i++)
            list.pairs.v[i] += (uint32_t)list.users;
        if (mo_ok(ctx))
            mo_graph_set_edges(graph, list.users + list.items, &list.pairs);
    }
    mo_edges_release(&list.pairs);
    return mo_graph_finish(graph);
}
