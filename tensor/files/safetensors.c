/* tensor/files/safetensors.c - reading safetensors: a JSON header that must describe every byte of the data exactly
 * once. */
#include "tensor/files/safetensors.h"

#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/storage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The limit of the reference implementation. */
enum { LONGEST_HEADER = 100000000 };

/* A tensor as the header describes it. */
typedef struct entry {
    const char *name; /* of the JSON object */
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t begin, end; /* bytes of the data */
} entry;

/* A file in memory, its parts and its parsed header. */
typedef struct parts {
    mo_context *ctx;
    const char *label;
    const char *header;
    const unsigned char *data;
    size_t header_bytes, data_bytes;
    json_t *root;
    entry *entries;
    int64_t count;
} parts;

const char *mo_safetensors_dtype(mo_dtype dtype) {
    static const char *const names[MO_DTYPES] = {"F32", "F64", "I32", "I64", "U8", "F16", "BF16"};
    return names[dtype];
}

bool mo_safetensors_is_metadata(json_t *metadata) {
    if (!json_is_object(metadata))
        return false;
    for (void *i = json_object_iter(metadata); i; i = json_object_iter_next(metadata, i))
        if (!json_is_string(json_object_iter_value(i)))
            return false;
    return true;
}

/* Finds header and data in the n bytes of a file. */
static bool split(parts *p, const unsigned char *bytes, size_t n) {
    uint64_t length = 0;
    if (n < 10) {
        mo_fail(p->ctx, MO_FORMAT, "%s: expected a safetensors header of 10 bytes or more, found %zu", p->label, n);
        return false;
    }
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    if (length > n - 8 || length > LONGEST_HEADER) {
        size_t most = n - 8 < LONGEST_HEADER ? n - 8 : LONGEST_HEADER;
        mo_fail(p->ctx, MO_FORMAT, "%s: expected a safetensors header of at most %zu bytes, found %" PRIu64 " claimed",
            p->label, most, length);
        return false;
    }
    p->header = (const char *)bytes + 8;
    p->header_bytes = (size_t)length;
    p->data = bytes + 8 + length;
    p->data_bytes = n - 8 - (size_t)length;
    return true;
}

static bool parse_json(parts *p) {
    json_error_t error;
    char text[JSON_ERROR_TEXT_LENGTH + 4];
    p->root = mo_json_decode(p->header, p->header_bytes, JSON_REJECT_DUPLICATES, &error);
    if (!p->root) {
        mo_fail(p->ctx, mo_json_code(&error), "%s: safetensors header, line %d, column %d: %s", p->label, error.line,
            error.column, mo_quote(error.text, strlen(error.text), text, sizeof text));
        return false;
    }
    if (!json_is_object(p->root) || p->header[0] != '{')
        mo_fail(p->ctx, MO_FORMAT, "%s: expected a JSON object as safetensors header, found something else", p->label);
    return mo_ok(p->ctx);
}

/* Copies an array of at most `most` non-negative integers into values and returns its length; -1 if json is not one. */
static int read_integers(const json_t *json, int64_t *values, size_t most) {
    size_t n = json_array_size(json);
    if (!json_is_array(json) || n > most)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(json, i);
        values[i] = json_integer_value(item);
        if (!json_is_integer(item) || values[i] < 0)
            return -1;
    }
    return (int)n;
}

/* The bytes of a shape; -1 on overflow, which includes the strides of an empty shape. */
static int64_t shape_bytes(const entry *e) {
    int64_t bytes = (int64_t)mo_dtype_size(e->dtype), room = 8;
    for (int a = 0; a < e->ndim; a++) {
        if (__builtin_mul_overflow(room, e->shape[a] ? e->shape[a] : 1, &room))
            return -1;
        bytes *= e->shape[a];
    }
    return bytes;
}

/* Reads and checks one tensor's description. */
static bool read_entry(parts *p, const char *name, const json_t *json, entry *e) {
    char label[MO_LABEL], shown[128], text[160];
    mo_quote(name, strlen(name), shown, sizeof shown);
    snprintf(label, sizeof label, "%s: tensor '%s'", p->label, shown);
    const char *dtype = json_string_value(json_object_get(json, "dtype"));
    const json_t *shape = json_object_get(json, "shape");
    int64_t offsets[2] = {0, 0};
    int n_offsets = read_integers(json_object_get(json, "data_offsets"), offsets, 2);
    e->name = name;
    e->ndim = read_integers(shape, e->shape, MO_MAX_AXES);
    for (e->dtype = 0; dtype && e->dtype < MO_DTYPES && strcmp(dtype, mo_safetensors_dtype(e->dtype)) != 0;)
        e->dtype++;
    if (dtype && e->dtype == MO_DTYPES)
        mo_fail(p->ctx, MO_UNSUPPORTED, "%s: expected dtype F32, F64, I32, I64, U8, F16 or BF16, found '%s'", label,
            mo_quote(dtype, strlen(dtype), shown, sizeof shown));
    else if (json_is_array(shape) && json_array_size(shape) > MO_MAX_AXES)
        mo_fail(p->ctx, MO_UNSUPPORTED, "%s: expected at most %d axes, found %zu", label, MO_MAX_AXES,
            json_array_size(shape));
    else if (!dtype || e->ndim < 0 || n_offsets != 2)
        mo_fail(p->ctx, MO_FORMAT, "%s: expected %s, found none", label,
            !dtype        ? "a dtype"
            : e->ndim < 0 ? "a shape of sizes of 0 or more"
                          : "data_offsets of two integers of 0 or more");
    if (!mo_ok(p->ctx))
        return false;
    e->begin = offsets[0];
    e->end = offsets[1];
    int64_t bytes = shape_bytes(e);
    mo_format_shape(e->ndim, e->shape, text, sizeof text);
    if (bytes < 0)
        mo_fail(p->ctx, MO_FORMAT, "%s: expected a shape that the data holds, found %s, which overflows, and %zu bytes",
            label, text, p->data_bytes);
    else if (e->begin > e->end || e->end - e->begin != bytes)
        mo_fail(p->ctx, MO_FORMAT,
            "%s: expected %" PRId64 " bytes for shape %s of %s, found data_offsets %" PRId64 " to %" PRId64, label,
            bytes, text, dtype, e->begin, e->end);
    return mo_ok(p->ctx);
}

static int by_offset(const void *x, const void *y) {
    const entry *a = x, *b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Reads all descriptions, sorts them by position, and checks that they tile the data. */
static bool read_entries(parts *p) {
    p->entries = mo_host_alloc(p->ctx, json_object_size(p->root) * sizeof *p->entries);
    if (!p->entries)
        return false;
    for (void *i = json_object_iter(p->root); i; i = json_object_iter_next(p->root, i)) {
        const char *name = json_object_iter_key(i);
        bool tensor = strcmp(name, MO_METADATA) != 0;
        if (tensor && !read_entry(p, name, json_object_iter_value(i), &p->entries[p->count++]))
            return false;
    }
    qsort(p->entries, (size_t)p->count, sizeof *p->entries, by_offset);
    int64_t next = 0;
    for (int64_t i = 0; i < p->count; next = p->entries[i++].end) {
        const entry *e = &p->entries[i];
        char shown[128];
        if (e->begin == next)
            continue;
        mo_fail(p->ctx, MO_FORMAT, "%s: tensor '%s': expected data from byte %" PRId64 ", found %" PRId64 ": %s",
            p->label, mo_quote(e->name, strlen(e->name), shown, sizeof shown), next, e->begin,
            e->begin < next ? "it overlaps another" : "a hole");
        return false;
    }
    if ((uint64_t)next != p->data_bytes)
        mo_fail(p->ctx, MO_FORMAT, "%s: expected %" PRId64 " bytes of data, found %zu", p->label, next, p->data_bytes);
    return mo_ok(p->ctx);
}

/* Checks that the metadata are strings, and the digest of the header if they hold one. */
static bool check_header(parts *p) {
    json_t *metadata = json_object_get(p->root, MO_METADATA);
    if (!metadata || mo_safetensors_is_metadata(metadata))
        return mo_safetensors_check_header(p->ctx, p->label, p->header, p->header_bytes, metadata);
    mo_fail(p->ctx, MO_FORMAT, "%s: expected an object of strings as " MO_METADATA ", found another type", p->label);
    return false;
}

/* Checks each tensor whose digest the metadata hold, in the order of the data. */
static bool check_tensors(parts *p, const char *digits) {
    size_t length = p->count ? (size_t)p->count * (MO_DIGITS + 1) - 1 : 0;
    if (strlen(digits) != length) {
        mo_fail(p->ctx, MO_FORMAT, "%s: expected " MO_TENSOR_DIGESTS " of %" PRId64 " tensors, %zu letters, found %zu",
            p->label, p->count, length, strlen(digits));
        return false;
    }
    for (int64_t i = 0; i < p->count; i++) {
        const entry *e = &p->entries[i];
        char shown[128], part[160], expected[MO_DIGITS + 1] = "";
        memcpy(expected, digits + i * (MO_DIGITS + 1), MO_DIGITS);
        snprintf(part, sizeof part, "tensor '%s'", mo_quote(e->name, strlen(e->name), shown, sizeof shown));
        if (!mo_safetensors_matches(p->ctx, p->label, part, p->data + e->begin, (size_t)(e->end - e->begin), expected))
            return false;
    }
    return true;
}

/* Checks the data against what digests the metadata hold. */
static bool check_data(parts *p) {
    const json_t *metadata = json_object_get(p->root, MO_METADATA);
    const char *all = json_string_value(json_object_get(metadata, MO_DATA_DIGEST));
    const char *each = json_string_value(json_object_get(metadata, MO_TENSOR_DIGESTS));
    return (!all || mo_safetensors_matches(p->ctx, p->label, "data", p->data, p->data_bytes, all)) &&
           (!each || check_tensors(p, each));
}

/* The metadata as JSON text, from mo_host_alloc; NULL on failure. */
static char *metadata_text(const parts *p, const json_t *metadata) {
    size_t n = json_dumpb(metadata, NULL, 0, MO_JSON_FLAGS);
    char *text = mo_host_alloc(p->ctx, n + 1);
    if (!text || (n && json_dumpb(metadata, text, n, MO_JSON_FLAGS) == n))
        return text;
    mo_host_free(p->ctx, text, n + 1);
    mo_fail(p->ctx, MO_MEMORY, "%s: out of memory for its metadata", p->label);
    return NULL;
}

/* Makes the tensors. */
static mo_arrays *take_entries(const parts *p) {
    mo_arrays *arrays = mo_arrays_create(p->ctx);
    const json_t *metadata = json_object_get(p->root, MO_METADATA);
    if (arrays && metadata)
        arrays->metadata = metadata_text(p, metadata);
    for (int64_t i = 0; i < p->count && mo_ok(p->ctx); i++) {
        const entry *e = &p->entries[i];
        mo_arrays_append(
            arrays, e->name, mo_tensor_create_from(p->ctx, e->dtype, e->ndim, e->shape, p->data + e->begin));
    }
    if (mo_ok(p->ctx))
        return arrays;
    mo_arrays_release(arrays);
    return NULL;
}

mo_arrays *mo_safetensors_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    parts p = {.ctx = ctx, .label = label};
    mo_arrays *arrays = NULL;
    if (split(&p, bytes, n) && parse_json(&p) && check_header(&p) && read_entries(&p) && check_data(&p))
        arrays = take_entries(&p);
    mo_host_free(ctx, p.entries, p.root ? json_object_size(p.root) * sizeof *p.entries : 0);
    json_decref(p.root);
    return arrays;
}

mo_arrays *mo_safetensors_read(mo_context *ctx, const char *path) {
    char label[MO_LABEL];
    mo_file_bytes content;
    if (!mo_given(ctx, "safetensors_read", "path", path) ||
        !mo_file_read(ctx, mo_file_label("safetensors", path, label), path, &content))
        return NULL;
    mo_arrays *arrays = mo_safetensors_decode(ctx, label, content.data, content.n);
    mo_file_bytes_free(ctx, &content);
    return arrays;
}
