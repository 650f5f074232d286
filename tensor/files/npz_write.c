/* tensor/files/npz_write.c - writing .npz: deflated members in the order of the list; the bytes depend on no time or
 * machine.
 *
 * libzip builds the archive in memory, and mo_file_replace puts it in place all or nothing. */
#include "tensor/files/npz.h"

#include "tensor/files/file.h"
#include "tensor/files/npy.h"
#include "tensor/storage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEFLATE_LEVEL = 6 };
/* 1980-01-01, the first day of zip. */
enum { ZIP_EPOCH = 1 << 5 | 1 };

/* An archive being built. libzip reads the members only when it closes, so they are kept until then. */
typedef struct build {
    const mo_arrays *arrays;
    const char *label;
    mo_file_bytes *members;
    zip_t *zip;
} build;

static bool zip_failed(mo_context *ctx, const char *label, zip_error_t *error) {
    return mo_zip_failed(ctx, MO_INVALID, label, "cannot build the archive", error);
}

/* Adds encoded bytes as the member "name.npy". */
static bool add_source(zip_t *zip, const char *name, const mo_file_bytes *member) {
    zip_source_t *source = zip_source_buffer(zip, member->data, member->n, 0);
    zip_int64_t i = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (i < 0)
        zip_source_free(source);
    return i >= 0 && zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_DEFLATE, DEFLATE_LEVEL) == 0 &&
           zip_file_set_dostime(zip, (zip_uint64_t)i, 0, ZIP_EPOCH, 0) == 0;
}

/* Encodes array i and adds it. */
static bool add_member(const build *b, int64_t i) {
    mo_context *ctx = b->arrays->ctx;
    const mo_array *array = &b->arrays->items[i];
    mo_file_bytes *member = &b->members[i];
    size_t n = mo_npy_encoded_size(b->label, array->tensor), name_bytes = strlen(array->name) + 5;
    member->data = n ? mo_host_alloc(ctx, n) : NULL;
    if (!member->data)
        return false;
    member->n = n;
    char *name = mo_npy_encode(array->tensor, member->data, n) == MO_OK ? mo_host_alloc(ctx, name_bytes) : NULL;
    if (!name)
        return false;
    snprintf(name, name_bytes, "%s.npy", array->name);
    bool ok = add_source(b->zip, name, member) || zip_failed(ctx, b->label, zip_get_error(b->zip));
    mo_host_free(ctx, name, name_bytes);
    return ok;
}

/* Builds the archive in the memory behind source. */
static bool build_archive(build *b, zip_source_t *source) {
    mo_context *ctx = b->arrays->ctx;
    zip_error_t error;
    zip_error_init(&error);
    b->zip = zip_open_from_source(source, ZIP_TRUNCATE, &error);
    if (!b->zip)
        zip_failed(ctx, b->label, &error);
    zip_error_fini(&error);
    if (!b->zip)
        return false;
    zip_source_keep(source); /* the caller's reference; the archive releases its own */
    for (int64_t i = 0; i < b->arrays->count && mo_ok(ctx); i++)
        add_member(b, i);
    if (mo_ok(ctx) && zip_close(b->zip) == 0)
        return true;
    if (mo_ok(ctx))
        zip_failed(ctx, b->label, zip_get_error(b->zip));
    zip_discard(b->zip);
    return false;
}

/* Writes the finished archive to path. */
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
    /* libzip writes no archive without members; these bytes are the empty archive that NumPy writes */
    static const char empty[22] = "PK\x05\x06";
    if (arrays->count == 0)
        return mo_file_replace(ctx, path, empty, sizeof empty);
    size_t members_bytes = (size_t)arrays->count * sizeof(mo_file_bytes);
    build b = {.arrays = arrays, .label = label, .members = mo_host_alloc(ctx, members_bytes)};
    zip_error_t error;
    zip_error_init(&error);
    errno = 0;
    zip_source_t *source = b.members ? zip_source_buffer_create(NULL, 0, 0, &error) : NULL;
    if (!source && mo_ok(ctx))
        zip_failed(ctx, label, &error);
    else if (build_archive(&b, source))
        replace(ctx, label, path, source);
    zip_source_free(source);
    zip_error_fini(&error);
    for (int64_t i = 0; b.members && i < arrays->count; i++)
        mo_file_bytes_free(ctx, &b.members[i]);
    mo_host_free(ctx, b.members, members_bytes);
    return mo_context_status(ctx)->code;
}
