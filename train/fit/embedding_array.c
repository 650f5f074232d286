/* train/fit/embedding_array.c - one array of a file: FILE, or FILE:NAME where it holds several. */
#include "tensor/inside.h"
#include "train/fit/label_column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The array of that name, or the only one; the error lists the names in the file. */
static mo_tensor *choose_array(mo_context *ctx, const mo_arrays *arrays, const char *path, const char *name) {
    mo_tensor *T = name ? mo_arrays_find(arrays, name) : arrays->count == 1 ? arrays->items[0].tensor : NULL;
    char names[256] = "";
    for (int64_t i = 0; !T && i < arrays->count && strlen(names) < 200; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "", arrays->items[i].name);
    if (!T)
        mo_fail(ctx, MO_INVALID, "%s: expected %s%s, found %" PRId64 " arrays of numbers (%s)%s", path,
            name ? "an array named " : "one array, or ", name ? name : "FILE:NAME", arrays->count, names,
            mo_path_ends_with(path, ".npz") ? "; labels that are texts are read from .npy, .txt, .csv and .tsv" : "");
    return T;
}

const char *mo_split_member(const char *path, const char *const *suffixes, int n, char *file, size_t bytes) {
    const char *colon = strrchr(path, ':');
    snprintf(file, bytes, "%s", path);
    if (!colon || colon == path || (size_t)(colon - path) >= bytes)
        return NULL;
    file[colon - path] = '\0';
    for (int i = 0; i < n; i++)
        if (mo_path_ends_with(file, suffixes[i]))
            return colon + 1;
    file[colon - path] = ':';
    return NULL;
}

mo_tensor *mo_embedding_array(mo_context *ctx, const char *path) {
    static const char *const archives[] = {".npz", ".safetensors"};
    char file[4096];
    const char *name = mo_split_member(path, archives, 2, file, sizeof file);
    bool npz = mo_path_ends_with(file, ".npz");
    if (!npz && !mo_path_ends_with(file, ".safetensors"))
        return mo_npy_read(ctx, path);
    mo_arrays *arrays = npz ? mo_npz_read(ctx, file) : mo_safetensors_read(ctx, file);
    mo_tensor *T = arrays ? choose_array(ctx, arrays, file, name) : NULL, *own = mo_null_tensor(ctx);
    for (int64_t i = 0; T && i < arrays->count; i++)
        if (arrays->items[i].tensor == T) {
            own = T;
            arrays->items[i].tensor = mo_null_tensor(ctx);
        }
    mo_arrays_release(arrays);
    return own;
}
