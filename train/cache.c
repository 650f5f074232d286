/* train/cache.c - one safetensors file for a graph and its settings, named by the XXH3-128 of both.
 *
 * Files are written beside their place and renamed, and their checksums are verified when read, so that processes may
 * share a folder: whoever comes last replaces equal content. */
#include "train/cache.h"

#include "tensor/storage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define LARGEST ((int64_t)4 << 30) /* bytes */

/* folder/<32 digits>.safetensors; NULL when out of memory. Free with free(). */
static char *path_of(const char *folder, const char *key) {
    XXH128_hash_t hash = XXH3_128bits(key, strlen(key));
    char *path;
    int n = asprintf(&path, "%s/%016llx%016llx.safetensors", folder, (unsigned long long)hash.high64,
        (unsigned long long)hash.low64);
    return n < 0 ? NULL : path;
}

/* Every folder of the path that is not there yet. */
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

static bool same_form(const mo_tensor *a, const mo_tensor *b) {
    return a && a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)b->ndim * sizeof *b->shape) == 0;
}

static bool take(const mo_arrays *arrays, mo_tensor *X0, double *residual) {
    const mo_tensor *stored = mo_arrays_find(arrays, "x0"), *error = mo_arrays_find(arrays, "svd_residual");
    if (!same_form(stored, X0) || !error || error->dtype != MO_F64 || mo_numel(error) != 1)
        return false;
    *residual = mo_item(error);
    return mo_tensor_copy(X0, stored) == MO_OK;
}

mo_arrays *mo_cache_read(mo_context *ctx, const char *folder, const char *key) {
    char *path = mo_ok(ctx) ? path_of(folder, key) : NULL;
    mo_arrays *arrays = path && access(path, R_OK) == 0 ? mo_safetensors_read(ctx, path) : NULL;
    if (path && !arrays)
        mo_clear_error(ctx);
    free(path);
    return arrays;
}

bool mo_cache_load(const char *folder, const char *key, mo_tensor *X0, double *residual) {
    mo_context *ctx = X0->ctx;
    mo_arrays *arrays = mo_cache_read(ctx, folder, key);
    bool loaded = arrays && take(arrays, X0, residual);
    mo_arrays_release(arrays);
    if (arrays && !loaded)
        mo_clear_error(ctx);
    return loaded;
}

/* A second header on the same storage, so that a list of arrays can own it. */
static mo_tensor *alias(const mo_tensor *T) {
    mo_tensor *copy = mo_host_alloc(T->ctx, sizeof *copy);
    if (!copy)
        return mo_null_tensor(T->ctx);
    *copy = *T;
    mo_storage_retain(copy->storage);
    return copy;
}

void mo_cache_write(const char *folder, const char *key, const mo_arrays *arrays) {
    mo_context *ctx = arrays->ctx;
    int64_t bytes = 0;
    for (int64_t i = 0; i < arrays->count; i++)
        bytes += mo_numel(arrays->items[i].tensor) * (int64_t)mo_dtype_size(arrays->items[i].tensor->dtype);
    char *path = mo_ok(ctx) && bytes <= LARGEST ? path_of(folder, key) : NULL;
    if (path) {
        make_folders(folder);
        mo_safetensors_write(arrays, NULL, path);
        mo_clear_error(ctx);
    }
    free(path);
}

void mo_cache_store(const char *folder, const char *key, mo_tensor *X0, double residual) {
    mo_context *ctx = X0->ctx;
    mo_arrays *arrays = mo_ok(ctx) ? mo_arrays_create(ctx) : NULL;
    if (arrays && mo_arrays_take(arrays, "x0", alias(X0)) == MO_OK &&
        mo_arrays_take(arrays, "svd_residual", mo_tensor_from(ctx, MO_F64, 0, NULL, &residual)) == MO_OK)
        mo_cache_write(folder, key, arrays);
    if (arrays)
        mo_clear_error(ctx);
    mo_arrays_release(arrays);
}
