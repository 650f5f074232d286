/* train/episodes/pool_file.c - pools as JSON files (suite.h says what they hold). */
#include "tensor/files/json_text.h"
#include "tensor/files/number_text.h"
#include "tensor/hidden.h"
#include "train/episodes/suite_parts.h"
#include "train/graphs/graph_names.h"
#include "train/suite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const families[MO_TASKS] = {"nc", "lp", "gc"};

bool mo_is_pool_file(const char *text) {
    if (!text)
        return false;
    char path[PATH_MAX];
    return mo_path_ends_with(text, ".json") || mo_locate_list(text, ".pool.json", path, sizeof path);
}

bool mo_find_list(mo_context *ctx, const char *kind, const char *name_or_path, char *path, size_t bytes) {
    if (!mo_given(ctx, kind, "the name or path", name_or_path))
        return false;
    char ending[32];
    snprintf(ending, sizeof ending, ".%s.json", kind);
    if (mo_ok(ctx) && !mo_locate_list(name_or_path, ending, path, bytes)) {
        if (strchr(name_or_path, '/') || mo_path_ends_with(name_or_path, ".json"))
            snprintf(path, bytes, "%s", name_or_path);
        else
            mo_fail(ctx, MO_INVALID, "%s '%.200s': expected a path that ends in .json, or paper or paper-offline", kind,
                name_or_path);
    }
    return mo_ok(ctx);
}

const char *mo_read_data(const mo_json_text *t, mo_json_place place, const json_t *object) {
    const char *name = mo_json_string(t, place, object, "data", true);
    char quoted[80];
    if (mo_ok(t->ctx) && !mo_find_graph_name(name) && !strchr(name, '/') && (!*name || access(name, F_OK) != 0))
        mo_json_fail(t, mo_json_key(place, "data"),
            "unknown data set \"%s\"; expected a name of `mochi data list` or a path",
            mo_quote(name, strlen(name), quoted, sizeof quoted));
    return name;
}

/* The tasks as bits; 0 if the file does not name them. */
static unsigned read_tasks(const mo_json_text *t, mo_json_place place, const json_t *graph) {
    const json_t *list = mo_json_array(t, place, graph, "tasks", false);
    unsigned tasks = 0;
    for (size_t i = 0; i < json_array_size(list) && mo_ok(t->ctx); i++) {
        mo_json_place at = mo_json_index(mo_json_key(place, "tasks"), i);
        int task = mo_json_choice(t, at, json_array_get(list, i), families, MO_TASKS);
        if (task >= 0 && tasks >> task & 1)
            mo_json_fail(t, at, "\"%s\" is there twice", families[task]);
        else if (task >= 0)
            tasks |= 1u << task;
    }
    return tasks;
}

/* Compares the names of two graphs without their tasks. */
static bool same_graph(const char *item, const char *name) {
    size_t n = strlen(name);
    return strncasecmp(item, name, n) == 0 && (!item[n] || strchr(":@", item[n]));
}

static void read_pool_graph(const mo_json_text *t, mo_json_place place, const json_t *graph, mo_pool_file *file) {
    static const char *const keys[] = {"data", "tasks", "link_share"};
    char text[PATH_MAX + 64], quoted[80];
    if (!mo_json_only(t, place, graph, keys, 3))
        return;
    const char *name = mo_read_data(t, place, graph);
    unsigned tasks = read_tasks(t, place, graph);
    double share = mo_json_real(t, place, graph, "link_share", (double[]){0.001, 0.9, 0});
    for (int i = 0; i < file->n && mo_ok(t->ctx); i++)
        if (same_graph(file->graph[i], name))
            mo_json_fail(t, mo_json_key(place, "data"), "\"%s\" is there twice",
                mo_quote(name, strlen(name), quoted, sizeof quoted));
    if (!mo_ok(t->ctx))
        return;
    size_t used = (size_t)snprintf(text, sizeof text, "%s", name);
    for (int task = 0, first = 1; task < MO_TASKS && used < sizeof text; task++)
        if (tasks >> task & 1) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%c%s", first ? ':' : '+', families[task]);
            first = 0;
        }
    if (share > 0 && used < sizeof text)
        mo_format(text + used, sizeof text - used, "@%.15g", share);
    file->graph[file->n] = mo_text_copy(t->ctx, text);
    file->n += file->graph[file->n] != NULL;
}

static void read_families(const mo_json_text *t, const json_t *root, mo_pool_file *file) {
    mo_json_place place = mo_json_key((mo_json_place){0}, "families");
    const json_t *object = json_object_get(root, "families");
    double sum = 0;
    if (object && !mo_json_only(t, place, object, families, MO_TASKS))
        return;
    for (int task = 0; task < MO_TASKS; task++)
        sum += file->family[task] = mo_json_real(t, place, object, families[task], (double[]){0, 1e6, 1});
    if (mo_ok(t->ctx) && !(sum > 0))
        mo_json_fail(t, place, "expected a family above 0");
}

static void read_pool(const mo_json_text *t, mo_pool_file *file) {
    static const char *const keys[] = {"pool", "about", "link_share", "families", "graphs"};
    mo_json_place top = {0};
    if (!mo_json_only(t, top, t->root, keys, 5))
        return;
    mo_json_string(t, top, t->root, "about", false);
    file->name = mo_text_copy(t->ctx, mo_json_string(t, top, t->root, "pool", true));
    file->link_share = mo_json_real(t, top, t->root, "link_share", (double[]){0.001, 0.9, 0.2});
    read_families(t, t->root, file);
    const json_t *list = mo_json_array(t, top, t->root, "graphs", true);
    file->graph = mo_host_array(t->ctx, (int64_t)json_array_size(list), sizeof *file->graph);
    for (size_t i = 0; i < json_array_size(list) && mo_ok(t->ctx); i++)
        read_pool_graph(t, mo_json_index(mo_json_key(top, "graphs"), i), json_array_get(list, i), file);
}

mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path) {
    char path[PATH_MAX];
    mo_json_text text = {0};
    if (!mo_find_list(ctx, "pool", name_or_path, path, sizeof path))
        return NULL;
    mo_pool_file *file = mo_host_array(ctx, 1, sizeof *file);
    if (file) {
        file->ctx = ctx;
        if (mo_json_read(ctx, "pool", path, &text))
            read_pool(&text, file);
        mo_json_release(&text);
    }
    if (mo_ok(ctx))
        return file;
    mo_pool_file_release(file);
    return NULL;
}

void mo_pool_file_release(mo_pool_file *file) {
    if (!file)
        return;
    for (int i = 0; i < file->n; i++)
        free(file->graph[i]);
    free(file->graph);
    free(file->name);
    free(file);
}
