/* tensor/npz_write.c - writing .npz: deflated members in the order of the list, no time and no machine in the bytes.
 *
 * libzip builds the archive in memory, and mo_file_replace puts it in place all or nothing. */
#include "tensor/file.h"
#include "tensor/npy.h"
#include "tensor/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum { DEFLATE_LEVEL = 6 };
/* 1980-01-01, the first day of zip. */
enum { ZIP_EPOCH = 1 << 5 | 1 };

static bool zip_failed(mo_context *ctx, const char *label, zip_error_t *error) {
    bool memory = zip_error_code_zip(error) == ZIP_ER_MEMORY;
    mo_fail(ctx, memory ? MO_MEMORY : MO_INVALID, "%s: cannot build the archive: %s", label, zip_error_strerror(error));
    return false;
}

/* Adds one array as the member "name.npy". */
static bool add_member(mo_context *ctx, const char *label, zip_t *zip, const mo_array *array) {
    size_t n = mo_npy_encoded_size(label, array->tensor);
    size_t name_bytes = strlen(array->name) + 5;
    char *name = n ? mo_host_alloc(ctx, name_bytes) : NULL;
    /* libzip keeps the bytes until the archive is closed, then calls free() */
    unsigned char *bytes = name ? malloc(n) : NULL;
    if (name && !bytes)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory: %zu bytes for a member", label, n);
    bool ok = bytes && mo_npy_encode(array->tensor, bytes, n) == MO_OK;
    zip_source_t *source = ok ? zip_source_buffer(zip, bytes, n, 1) : NULL;
    if (!source)
        free(bytes);
    if (ok) {
        snprintf(name, name_bytes, "%s.npy", array->name);
        zip_int64_t i = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
        if (i < 0)
            zip_source_free(source);
        ok = i >= 0 && zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_DEFLATE, DEFLATE_LEVEL) == 0 &&
             zip_file_set_dostime(zip, (zip_uint64_t)i, 0, ZIP_EPOCH, 0) == 0;
        if (!ok)
            zip_failed(ctx, label, zip_get_error(zip));
    }
    mo_host_free(ctx, name, name_bytes);
    return ok;
}

/* Builds the archive in the memory behind source. */
static bool build(const mo_arrays *arrays, const char *label, zip_source_t *source) {
    mo_context *ctx = arrays->ctx;
    zip_error_t error;
    zip_error_init(&error);
    zip_t *zip = zip_open_from_source(source, ZIP_TRUNCATE, &error);
    if (!zip)
        zip_failed(ctx, label, &error);
    zip_error_fini(&error);
    if (!zip)
        return false;
    zip_source_keep(source); /* the caller's reference; the archive releases its own */
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++)
        add_member(ctx, label, zip, &arrays->items[i]);
    if (mo_ok(ctx) && zip_close(zip) == 0)
        return true;
    if (mo_ok(ctx))
        zip_failed(ctx, label, zip_get_error(zip));
    zip_discard(zip);
    return false;
}

/* Copies what was built to path. */
static void replace(mo_context *ctx, const char *label, const char *path, zip_source_t *source) {
    zip_stat_t st;
    if (zip_source_stat(source, &st) < 0 || zip_source_open(source) < 0) {
        zip_failed(ctx, label, zip_source_error(source));
        return;
    }
    size_t n = (size_t)st.size;
    unsigned char *bytes = mo_host_alloc(ctx, n);
    if (bytes && zip_source_read(source, bytes, n) != (zip_int64_t)n)
        zip_failed(ctx, label, zip_source_error(source));
    if (bytes && mo_ok(ctx))
        mo_file_replace(ctx, path, bytes, n);
    mo_host_free(ctx, bytes, n);
    zip_source_close(source);
}

mo_code mo_npz_write(const mo_arrays *arrays, const char *path) {
    if (!arrays)
        return MO_INVALID;
    mo_context *ctx = arrays->ctx;
    if (!mo_ok(ctx))
        return mo_context_status(ctx)->code;
    char label[MO_LABEL];
    mo_file_label("npz", path, label);
    /* libzip writes no archive without members: this is one, as NumPy writes it */
    static const char empty[22] = "PK\x05\x06";
    if (arrays->count == 0)
        return mo_file_replace(ctx, path, empty, sizeof empty);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &error);
    if (!source)
        zip_failed(ctx, label, &error);
    else if (build(arrays, label, source))
        replace(ctx, label, path, source);
    zip_source_free(source);
    zip_error_fini(&error);
    return mo_context_status(ctx)->code;
}
