/* tensor/files/npz.c - NumPy's .npz files: zip archives of .npy members, stored or deflated.
 *
 * libzip reads the central directory (zip64 fields included) and inflates. The sizes in the directory can be false, so
 * every member is inflated first through a small buffer, which checks length, CRC-32 and header and costs no memory
 * whatever size is claimed; members of numbers are then inflated again, into memory of their true size. */
#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/npy.h"
#include "tensor/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>
#include <zlib.h>

/* No header of an array of numbers is this long; NumPy itself refuses headers above 10000 bytes. */
enum { HEAD = 16384 };
enum { SMALLEST_ZIP = 22 };

/* One member of an archive: the directory's entry, which can be false, and the member's first bytes. */
typedef struct member {
    zip_t *zip;
    zip_stat_t st;
    char label[MO_LABEL]; /* starts every message about this member */
    char name[256];       /* without .npy */
    unsigned char head[HEAD];
} member;

static bool zip_out_of_memory(const zip_error_t *error) {
    int code = zip_error_code_zip(error); /* ZIP_ER_OK: libzip sets no error if it lacks memory for a source */
    return code == ZIP_ER_OK || code == ZIP_ER_MEMORY || errno == ENOMEM ||
           (code == ZIP_ER_ZLIB && zip_error_code_system(error) == Z_MEM_ERROR);
}

/* Raises libzip's message after `label` and `what`, with `code` unless libzip lacks memory or a feature. Returns
 * false. */
static bool zip_failed(mo_context *ctx, mo_code code, const char *label, const char *what, zip_error_t *error) {
    int zip = zip_error_code_zip(error);
    if (zip_out_of_memory(error)) {
        mo_fail(ctx, MO_MEMORY, "%s: out of memory", label);
        return false;
    }
    if (zip == ZIP_ER_COMPNOTSUPP || zip == ZIP_ER_ENCRNOTSUPP || zip == ZIP_ER_NOPASSWD || zip == ZIP_ER_MULTIDISK)
        code = MO_UNSUPPORTED;
    mo_fail(ctx, code, "%s: %s: %s", label, what, zip_error_strerror(error));
    return false;
}

/* Reads the directory's entry of member i, and sets m->name and m->label. Returns false on failure. */
static bool find_member(mo_context *ctx, const char *archive, zip_uint64_t i, member *m) {
    char shown[128];
    if (zip_stat_index(m->zip, i, 0, &m->st) < 0)
        return zip_failed(ctx, MO_FORMAT, archive, "damaged archive", zip_get_error(m->zip));
    size_t length = strlen(m->st.name);
    bool npy = length >= 4 && length - 4 < sizeof m->name && strcmp(m->st.name + length - 4, ".npy") == 0;
    snprintf(m->name, sizeof m->name, "%.*s", npy ? (int)length - 4 : (int)sizeof m->name - 1, m->st.name);
    mo_quote(m->name, strlen(m->name), shown, sizeof shown);
    snprintf(m->label, sizeof m->label, "%s: member '%s'", archive, shown);
    if (!npy)
        mo_fail(ctx, MO_FORMAT, "%s: expected a name of at most 255 bytes that ends in .npy", m->label);
    else if (zip_name_locate(m->zip, m->st.name, 0) != (zip_int64_t)i)
        mo_fail(ctx, MO_FORMAT, "%s: expected every name once, found it twice", m->label);
    return mo_ok(ctx);
}

/* Returns whether the reader can read a member, and whether the archive of n bytes can contain it. *used sums the
 * compressed bytes of the members, so that no two of them can share bytes. */
static bool readable(mo_context *ctx, const member *m, size_t n, uint64_t *used) {
    const zip_stat_t *st = &m->st;
    if (st->encryption_method != ZIP_EM_NONE)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected a plain member, found an encrypted one", m->label);
    else if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected stored or deflated bytes, found zip method %d", m->label,
            st->comp_method);
    else if (st->comp_size > n - *used)
        mo_fail(ctx, MO_FORMAT, "%s: expected %" PRIu64 " compressed bytes, found %" PRIu64 " left in the file",
            m->label, (uint64_t)st->comp_size, n - *used);
    else
        *used += st->comp_size;
    return mo_ok(ctx);
}

/* Inflates the next n bytes of a member. done: the number of bytes before these, for messages. */
static bool inflate_next(
    mo_context *ctx, const member *m, zip_file_t *file, uint64_t done, unsigned char *bytes, size_t n) {
    for (size_t have = 0; have < n;) {
        errno = 0;
        zip_int64_t got = zip_fread(file, bytes + have, n - have);
        if (got < 0 && zip_out_of_memory(zip_file_get_error(file)))
            return zip_failed(ctx, MO_FORMAT, m->label, "cannot inflate", zip_file_get_error(file));
        if (got <= 0) {
            const char *reason = got < 0 ? zip_error_strerror(zip_file_get_error(file)) : "end of data";
            mo_fail(ctx, MO_FORMAT, "%s: damaged: expected %" PRIu64 " bytes, found %" PRIu64 ", then %s", m->label,
                (uint64_t)m->st.size, done + have, reason);
            return false;
        }
        have += (size_t)got;
    }
    return true;
}

static zip_file_t *open_member(mo_context *ctx, const member *m) {
    errno = 0; /* zip_out_of_memory reads it */
    zip_file_t *file = zip_fopen_index(m->zip, m->st.index, 0);
    if (!file)
        zip_failed(ctx, MO_FORMAT, m->label, "cannot open", zip_get_error(m->zip));
    return file;
}

/* Inflates a member once to check its length and CRC-32; keeps its first bytes in m->head. */
static bool verify(mo_context *ctx, member *m) {
    unsigned char buffer[HEAD], *bytes = m->head;
    uint32_t crc = 0;
    zip_file_t *file = open_member(ctx, m);
    bool ok = file;
    for (uint64_t done = 0; ok && done < m->st.size; bytes = buffer) {
        size_t n = m->st.size - done < HEAD ? (size_t)(m->st.size - done) : HEAD;
        ok = inflate_next(ctx, m, file, done, bytes, n);
        crc = (uint32_t)crc32_z(crc, bytes, n);
        done += n;
    }
    if (ok && crc != m->st.crc) {
        mo_fail(ctx, MO_FORMAT, "%s: damaged: expected CRC-32 %08" PRIx32 ", found %08" PRIx32, m->label,
            (uint32_t)m->st.crc, crc);
        ok = false;
    }
    if (ok && zip_fread(file, buffer, 1) != 0) {
        mo_fail(ctx, MO_FORMAT, "%s: expected %" PRIu64 " bytes, found more", m->label, (uint64_t)m->st.size);
        ok = false;
    }
    if (file)
        zip_fclose(file);
    return ok;
}

/* Inflates a verified member whose elements need no conversion into T, which it takes over and adds to arrays. The
 * header is inflated into m->head. */
static void fill_tensor(mo_arrays *arrays, member *m, const mo_npy_header *h, mo_tensor *T) {
    mo_context *ctx = arrays->ctx;
    size_t n = (size_t)h->numel * mo_dtype_size(T->dtype);
    zip_file_t *file = open_member(ctx, m);
    bool filled = file && inflate_next(ctx, m, file, 0, m->head, h->data) &&
                  inflate_next(ctx, m, file, h->data, mo_tensor_view(T).data, n);
    if (file)
        zip_fclose(file);
    if (filled)
        mo_arrays_append(arrays, m->name, T);
    else
        mo_tensor_release(T);
}

/* Inflates a verified member of numbers and adds it to arrays; straight into the tensor if no element needs
 * conversion. */
static void take_member(mo_arrays *arrays, member *m, const mo_npy_header *h) {
    mo_context *ctx = arrays->ctx;
    mo_tensor *T = mo_npy_tensor_of(ctx, h);
    bool direct = !mo_is_null(T);
    if (direct)
        fill_tensor(arrays, m, h, T); /* takes T over */
    if (direct || !mo_ok(ctx))
        return;
    mo_file_bytes content = {.data = mo_host_alloc(ctx, (size_t)m->st.size), .n = (size_t)m->st.size};
    zip_file_t *file = content.data ? open_member(ctx, m) : NULL;
    if (file && inflate_next(ctx, m, file, 0, content.data, content.n))
        mo_arrays_append(arrays, m->name, mo_npy_decode(ctx, m->label, content.data, content.n));
    if (file)
        zip_fclose(file);
    mo_file_bytes_free(ctx, &content);
}

/* Adds the name of a text member to arrays->texts, so that the caller can refuse it by name. */
static void note_text(mo_arrays *arrays, const member *m) {
    int64_t n = (int64_t)strlen(m->name), at = arrays->texts_bytes;
    if (!mo_host_array_grow(arrays->ctx, &arrays->texts, &arrays->texts_room, at + n + 2, 1))
        return;
    arrays->texts[at] = '\n';
    memcpy(arrays->texts + at + 1, m->name, (size_t)n + 1);
    arrays->texts_bytes += n + 1;
}

/* Reads every member of an archive of n bytes. m: workspace, with m->zip set. */
static void read_members(mo_arrays *arrays, const char *label, member *m, size_t n) {
    mo_context *ctx = arrays->ctx;
    uint64_t used = 0, left = (uint64_t)mo_expansion_limit(ctx, (int64_t)n);
    zip_int64_t count = zip_get_num_entries(m->zip, 0);
    for (zip_int64_t i = 0; i < count; i++) {
        mo_npy_header h;
        if (!find_member(ctx, label, (zip_uint64_t)i, m) || !readable(ctx, m, n, &used))
            return;
        if (m->st.size > left)
            mo_expansion_fail(ctx, m->label, (int64_t)n);
        if (!mo_ok(ctx) || !verify(ctx, m))
            return;
        left -= m->st.size;
        size_t head = m->st.size < HEAD ? (size_t)m->st.size : HEAD;
        if (!mo_npy_header_read(ctx, m->label, m->head, head, &h))
            return;
        bool text = h.kind == 'U' || h.kind == 'S';
        if (h.kind != 'O' && !mo_npy_header_fits(ctx, m->label, &h, (size_t)m->st.size))
            return;
        if (text)
            note_text(arrays, m);
        else
            take_member(arrays, m, &h);
        if (!mo_ok(ctx))
            return;
    }
}

/* Opens an archive in memory; NULL on failure. */
static zip_t *open_archive(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    zip_error_t error;
    zip_error_init(&error);
    errno = 0; /* zip_failed reads errno, as libzip can report a damaged archive if memory runs out */
    zip_source_t *source = zip_source_buffer_create(bytes, n, 0, &error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
    if (source && !zip && zip_error_code_zip(&error) == ZIP_ER_EXISTS) /* two members have one name: find_member says
                                                                        * which */
        zip = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!zip) {
        zip_failed(ctx, MO_FORMAT, label, "expected a whole zip archive, found damage", &error);
        zip_source_free(source);
    }
    zip_error_fini(&error);
    return zip;
}

bool mo_npz_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n) {
    char found[16];
    return (n >= SMALLEST_ZIP && memcmp(head, "PK", 2) == 0) ||
           mo_fail(ctx, MO_FORMAT,
               "%s: expected a zip archive, which begins with PK and has %d bytes or more; found %zu bytes that begin "
               "with '%s'",
               label, SMALLEST_ZIP, n,
               mo_quote((const char *)head, head_bytes < 4 ? head_bytes : 4, found, sizeof found));
}

mo_arrays *mo_npz_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    if (!mo_npz_check(ctx, label, bytes, n, n))
        return NULL;
    zip_t *zip = open_archive(ctx, label, bytes, n);
    mo_arrays *arrays = zip ? mo_arrays_create(ctx) : NULL;
    member *m = arrays ? mo_host_alloc(ctx, sizeof *m) : NULL;
    if (m) {
        m->zip = zip;
        arrays->file_bytes = (int64_t)n;
        read_members(arrays, label, m, n);
    }
    mo_host_free(ctx, m, sizeof *m);
    if (zip)
        zip_discard(zip);
    if (mo_ok(ctx))
        return arrays;
    mo_arrays_release(arrays);
    return NULL;
}

mo_arrays *mo_npz_read(mo_context *ctx, const char *path) {
    char label[MO_LABEL];
    mo_file_bytes content;
    if (!mo_given(ctx, "npz_read", "path", path) ||
        !mo_file_read_checked(ctx, mo_file_label("npz", path, label), path, mo_npz_check, &content))
        return NULL;
    mo_arrays *arrays = mo_npz_decode(ctx, label, content.data, content.n);
    mo_file_bytes_free(ctx, &content);
    return arrays;
}

/* ---- writing: deflated members in the order of the list; the bytes depend on no time or machine. libzip builds the
 * archive in memory, and mo_file_replace puts it in place all or nothing. ---- */

enum { DEFLATE_LEVEL = 6 };
/* 1980-01-01, the first date that zip can store. */
enum { ZIP_EPOCH = 1 << 5 | 1 };

/* An archive being built. libzip reads the members only when the archive is closed, so the members are kept until
 * then. */
typedef struct build {
    const mo_arrays *arrays;
    const char *label;
    mo_file_bytes *members;
    zip_t *zip;
} build;

static bool build_failed(mo_context *ctx, const char *label, zip_error_t *error) {
    return zip_failed(ctx, MO_INVALID, label, "cannot build the archive", error);
}

/* Adds encoded bytes to the archive as the member "name.npy". */
static bool add_source(zip_t *zip, const char *name, const mo_file_bytes *member) {
    zip_source_t *source = zip_source_buffer(zip, member->data, member->n, 0);
    zip_int64_t i = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (i < 0)
        zip_source_free(source);
    return i >= 0 && zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_DEFLATE, DEFLATE_LEVEL) == 0 &&
           zip_file_set_dostime(zip, (zip_uint64_t)i, 0, ZIP_EPOCH, 0) == 0;
}

/* Encodes array i and adds it to the archive. */
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
    bool ok = add_source(b->zip, name, member) || build_failed(ctx, b->label, zip_get_error(b->zip));
    mo_host_free(ctx, name, name_bytes);
    return ok;
}

/* Builds the archive in the memory of `source`. */
static bool build_archive(build *b, zip_source_t *source) {
    mo_context *ctx = b->arrays->ctx;
    zip_error_t error;
    zip_error_init(&error);
    b->zip = zip_open_from_source(source, ZIP_TRUNCATE, &error);
    if (!b->zip)
        build_failed(ctx, b->label, &error);
    zip_error_fini(&error);
    if (!b->zip)
        return false;
    zip_source_keep(source); /* keeps a reference for the caller, as the archive releases its own */
    for (int64_t i = 0; i < b->arrays->count && mo_ok(ctx); i++)
        add_member(b, i);
    if (mo_ok(ctx) && zip_close(b->zip) == 0)
        return true;
    if (mo_ok(ctx))
        build_failed(ctx, b->label, zip_get_error(b->zip));
    zip_discard(b->zip);
    return false;
}

/* Writes the finished archive to path. */
static void replace(mo_context *ctx, const char *label, const char *path, zip_source_t *source) {
    zip_stat_t st;
    if (zip_source_stat(source, &st) < 0 || zip_source_open(source) < 0) {
        build_failed(ctx, label, zip_source_error(source));
        return;
    }
    size_t n = (size_t)st.size;
    unsigned char *bytes = mo_host_alloc(ctx, n);
    if (bytes && zip_source_read(source, bytes, n) != (zip_int64_t)n)
        build_failed(ctx, label, zip_source_error(source));
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
        build_failed(ctx, label, &error);
    else if (build_archive(&b, source))
        replace(ctx, label, path, source);
    zip_source_free(source);
    zip_error_fini(&error);
    for (int64_t i = 0; b.members && i < arrays->count; i++)
        mo_file_bytes_free(ctx, &b.members[i]);
    mo_host_free(ctx, b.members, members_bytes);
    return mo_context_status(ctx)->code;
}
