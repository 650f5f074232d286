/* train/features/cache.c - one safetensors file for a graph and the settings of its features, named by the XXH3-128 of
 * a text that holds both.
 *
 * Files are written beside their final path and renamed, and their checksums are verified on reading, so that processes
 * can share a folder: a later process replaces a file by equal content. A file's modification time records its last
 * use. */
#include "train/features/stack_file.h"

#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define LARGEST ((int64_t)4 << 30) /* bytes */

mo_cache mo_cache_of(mo_context *ctx, const mo_feature_options *options) {
    const char *folder = options->cache && *options->cache ? options->cache : NULL;
    return (mo_cache){ctx, folder, options->notice, options->notice_state};
}

/* Reports the context's error by the notice, and clears it. */
static void tell_and_forget(const mo_cache *cache, const char *consequence) {
    char line[1200];
    snprintf(line, sizeof line, "cache: %s; %s", mo_context_status(cache->ctx)->message, consequence);
    mo_clear_error(cache->ctx);
    if (cache->notice)
        cache->notice(line, cache->state);
}

const char *mo_cache_name(const char *key, char name[MO_CACHE_NAME]) {
    XXH128_hash_t hash = XXH3_128bits(key, strlen(key));
    snprintf(name, MO_CACHE_NAME, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    return name;
}

/* Returns NULL when out of memory. */
static char *cache_path_of(const char *folder, const char *key, const char *ending) {
    char name[MO_CACHE_NAME], *path;
    int n = asprintf(&path, "%s/%s%s", folder, mo_cache_name(key, name), ending);
    return n < 0 ? NULL : path;
}

static void make_folders(const char *folder) {
    char *path = strdup(folder);
    for (char *slash = path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    if (path)
        mkdir(path, 0777);
    free(path);
}

char *mo_cache_path(const mo_cache *cache, const char *key, const char *ending) {
    if (!mo_ok(cache->ctx))
        return NULL;
    make_folders(cache->folder);
    char *path = cache_path_of(cache->folder, key, ending);
    if (!path)
        mo_fail(cache->ctx, MO_MEMORY, "cache: out of memory");
    return path;
}

static bool same_array_form(const mo_tensor *a, const mo_tensor *b) {
    return a && a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)b->ndim * sizeof *b->shape) == 0;
}

/* Copies all arrays, or none if one is missing. */
static bool copy_all(const mo_arrays *kept, const mo_arrays *arrays) {
    for (int64_t i = 0; i < arrays->count; i++)
        if (!same_array_form(mo_arrays_find(kept, arrays->items[i].name), arrays->items[i].tensor))
            return false;
    for (int64_t i = 0; i < arrays->count; i++)
        mo_tensor_copy(arrays->items[i].tensor, mo_arrays_find(kept, arrays->items[i].name));
    return true;
}

/* Returns whether an entry's metadata (JSON text, or NULL) has that key. */
static bool made_of_key(const char *metadata, const char *key) {
    json_t *object = metadata ? mo_json_decode(metadata, strlen(metadata), 0, NULL) : NULL;
    const char *made_of = json_string_value(json_object_get(object, "made_of"));
    bool same = made_of && strcmp(made_of, key) == 0;
    json_decref(object);
    return same;
}

/* The arrays of an intact entry with that key; NULL on failure. */
static mo_arrays *read_cache_entry(mo_context *ctx, const char *path, const char *key) {
    mo_arrays *kept = mo_safetensors_read(ctx, path);
    if (kept && mo_require_digests(ctx, path, kept->metadata) && !made_of_key(kept->metadata, key))
        mo_fail(ctx, MO_FORMAT, "%s: expected features made of \"%s\", found others", path, key);
    if (mo_ok(ctx))
        return kept;
    mo_arrays_release(kept);
    return NULL;
}

bool mo_cache_load(const mo_cache *cache, const char *key, const mo_arrays *arrays) {
    mo_context *ctx = cache->ctx;
    char *path = mo_ok(ctx) && cache->folder ? cache_path_of(cache->folder, key, ".safetensors") : NULL;
    mo_arrays *kept = path && access(path, F_OK) == 0 ? read_cache_entry(ctx, path, key) : NULL;
    bool loaded = kept && copy_all(kept, arrays);
    if (path && mo_ok(ctx) && kept && !loaded)
        mo_fail(ctx, MO_FORMAT, "%s: does not hold the features that its name promises", path);
    if (path && !mo_ok(ctx))
        tell_and_forget(cache, "made again");
    if (loaded)
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    mo_arrays_release(kept);
    free(path);
    return loaded;
}

static void write_entry(const mo_cache *cache, const char *key, const mo_arrays *arrays, const char *path) {
    json_t *made_of = json_pack("{s:s}", "made_of", key);
    char *metadata = made_of ? mo_json_encode(made_of, JSON_COMPACT) : NULL;
    make_folders(cache->folder);
    mo_safetensors_write(arrays, metadata, path);
    json_decref(made_of);
    free(metadata);
}

void mo_cache_store(const mo_cache *cache, const char *key, const mo_arrays *arrays) {
    mo_context *ctx = cache->ctx;
    int64_t bytes = 0;
    for (int64_t i = 0; i < arrays->count; i++)
        bytes += mo_numel(arrays->items[i].tensor) * (int64_t)mo_dtype_size(arrays->items[i].tensor->dtype);
    char *path =
        mo_ok(ctx) && cache->folder && bytes <= LARGEST ? cache_path_of(cache->folder, key, ".safetensors") : NULL;
    if (path)
        write_entry(cache, key, arrays, path);
    if (path && !mo_ok(ctx))
        tell_and_forget(cache, "the features are not kept");
    free(path);
}
