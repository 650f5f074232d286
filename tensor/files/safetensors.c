/* tensor/files/safetensors.c - named tensors in a file, behind a JSON header. */
#include "tensor/files/safetensors.h"

#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The reference implementation's limit, in bytes. */
enum { LONGEST_HEADER = 100000000 };

#define METADATA "__metadata__"
#define TENSOR_DIGESTS "xxh3_tensors"
#define HEADER_DIGEST "xxh3_header"

/* A tensor as the header describes it. */
typedef struct entry {
    const char *name; /* the tensor's key in the JSON object */
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t begin, end; /* range of the tensor's bytes in the data */
} entry;

/* A file in memory, divided into its parts, with its header parsed. */
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

/* ---- digests: made, found and compared ---- */

void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, n));
    for (int i = 0; i < MO_DIGITS / 2; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest.digest[i]);
}

/* Returns the position of the digits of the digest named `key` in compact JSON text; -1 if there are none. */
static ptrdiff_t find_digits(const char *header, size_t n, const char *key) {
    char pattern[32]; /* a quote in a JSON string is escaped, so only the key matches */
    snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
    const char *found = memmem(header, n, pattern, strlen(pattern));
    if (!found || (size_t)(header + n - found) < strlen(pattern) + MO_DIGITS)
        return -1;
    return found + strlen(pattern) - header;
}

/* Returns whether the n bytes have the expected digest; raises "label: damaged <part>" if not. */
static bool digest_matches(
    mo_context *ctx, const char *label, const char *part, const void *bytes, size_t n, const char *expected) {
    char found[MO_DIGITS + 1], shown[MO_DIGITS + 8];
    mo_safetensors_digest(bytes, n, found);
    if (strcmp(expected, found) == 0)
        return true;
    mo_fail(ctx, MO_FORMAT, "%s: damaged %s: expected XXH3-128 %s, found %s", label, part,
        mo_quote(expected, strlen(expected), shown, sizeof shown), found);
    return false;
}

/* Checks the digest of a header of n bytes, if metadata (may be NULL) contain digests. Returns false after raising if
 * the digest is wrong or missing. */
static bool check_header_digest(
    mo_context *ctx, const char *label, const char *header, size_t n, const json_t *metadata) {
    const char *digits = json_string_value(json_object_get(metadata, HEADER_DIGEST));
    if (!digits && json_object_get(metadata, TENSOR_DIGESTS))
        mo_fail(ctx, MO_FORMAT, "%s: damaged header: expected " HEADER_DIGEST " beside " TENSOR_DIGESTS ", found none",
            label);
    char *blanked = digits ? mo_host_alloc(ctx, n) : NULL;
    if (!blanked)
        return mo_ok(ctx);
    ptrdiff_t at = find_digits(header, n, HEADER_DIGEST);
    memcpy(blanked, header, n);
    if (at >= 0)
        memset(blanked + at, '0', MO_DIGITS);
    bool ok = digest_matches(ctx, label, "header", blanked, n, digits);
    mo_host_free(ctx, blanked, n);
    return ok;
}

/* ---- reading: a JSON header that must describe every byte of the data exactly once ---- */

/* "F32", "BF16", ... */
static const char *dtype_name(mo_dtype dtype) {
    static const char *const names[MO_DTYPES] = {"F32", "F64", "I32", "I64", "U8", "F16", "BF16"};
    return names[dtype];
}

/* Returns whether metadata are an object whose values are strings. */
static bool is_metadata(json_t *metadata) {
    if (!json_is_object(metadata))
        return false;
    for (void *i = json_object_iter(metadata); i; i = json_object_iter_next(metadata, i))
        if (!json_is_string(json_object_iter_value(i)))
            return false;
    return true;
}

/* Finds header and data in the n bytes of a file. Returns false if they are no safetensors file. */
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
        mo_fail(p->ctx, MO_FORMAT,
            "%s: expected a safetensors header of at most %zu bytes, found %" PRIu64 " claimed%s", p->label, most,
            length, bytes[8] == '{' ? "" : ": this is no safetensors file");
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

/* Copies a JSON array of at most `most` non-negative integers into values and returns its length; -1 if json is not
 * such an array. */
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

/* The bytes of a tensor, and in `room` those of its axes that are not empty; -1 on overflow of either. */
static int64_t shape_bytes(const entry *e, int64_t *room) {
    int64_t bytes = (int64_t)mo_dtype_size(e->dtype);
    *room = 8;
    for (int a = 0; a < e->ndim; a++) {
        if (__builtin_mul_overflow(*room, e->shape[a] ? e->shape[a] : 1, room))
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
    for (e->dtype = 0; dtype && e->dtype < MO_DTYPES && strcmp(dtype, dtype_name(e->dtype)) != 0;)
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
    int64_t room, bytes = shape_bytes(e, &room), whole = (int64_t)(8 + p->header_bytes + p->data_bytes);
    mo_format_shape(e->ndim, e->shape, text, sizeof text);
    if (bytes < 0)
        mo_fail(p->ctx, MO_FORMAT, "%s: expected a shape that the data holds, found %s, which overflows, and %zu bytes",
            label, text, p->data_bytes);
    else if (e->begin > e->end || e->end - e->begin != bytes)
        mo_fail(p->ctx, MO_FORMAT,
            "%s: expected %" PRId64 " bytes for shape %s of %s, found data_offsets %" PRId64 " to %" PRId64, label,
            bytes, text, dtype, e->begin, e->end);
    else if (bytes == 0)
        mo_claim_fits(p->ctx, label, "bytes in the other axes of an empty array", room, 1, whole);
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

/* Reads all tensors' descriptions, sorts them by position, and checks that they cover the data without gap or
 * overlap. */
static bool read_entries(parts *p) {
    p->entries = mo_host_alloc(p->ctx, json_object_size(p->root) * sizeof *p->entries);
    if (!p->entries)
        return false;
    for (void *i = json_object_iter(p->root); i; i = json_object_iter_next(p->root, i)) {
        const char *name = json_object_iter_key(i);
        bool tensor = strcmp(name, METADATA) != 0;
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

/* Checks that the metadata are strings, and the header's digest if they contain it. */
static bool check_header(parts *p) {
    json_t *metadata = json_object_get(p->root, METADATA);
    if (!metadata || is_metadata(metadata))
        return check_header_digest(p->ctx, p->label, p->header, p->header_bytes, metadata);
    mo_fail(p->ctx, MO_FORMAT, "%s: expected an object of strings as " METADATA ", found another type", p->label);
    return false;
}

/* Checks each tensor, in the order of the data, against its digest in `digits`. */
static bool check_tensors(parts *p, const char *digits) {
    size_t length = p->count ? (size_t)p->count * (MO_DIGITS + 1) - 1 : 0;
    if (strlen(digits) != length) {
        mo_fail(p->ctx, MO_FORMAT, "%s: expected " TENSOR_DIGESTS " of %" PRId64 " tensors, %zu letters, found %zu",
            p->label, p->count, length, strlen(digits));
        return false;
    }
    for (int64_t i = 0; i < p->count; i++) {
        const entry *e = &p->entries[i];
        char shown[128], part[160], expected[MO_DIGITS + 1] = "";
        memcpy(expected, digits + i * (MO_DIGITS + 1), MO_DIGITS);
        snprintf(part, sizeof part, "tensor '%s'", mo_quote(e->name, strlen(e->name), shown, sizeof shown));
        if (!digest_matches(p->ctx, p->label, part, p->data + e->begin, (size_t)(e->end - e->begin), expected))
            return false;
    }
    return true;
}

/* Checks the data against the digests in the metadata, if there are any. */
static bool check_data(parts *p) {
    const json_t *metadata = json_object_get(p->root, METADATA);
    const char *digits = json_string_value(json_object_get(metadata, TENSOR_DIGESTS));
    return !digits || check_tensors(p, digits);
}

/* Returns the metadata as JSON text, from mo_host_alloc; NULL on failure. */
static char *metadata_text(const parts *p, const json_t *metadata) {
    size_t n = json_dumpb(metadata, NULL, 0, MO_JSON_FLAGS);
    char *text = mo_host_alloc(p->ctx, n + 1);
    if (!text || (n && json_dumpb(metadata, text, n, MO_JSON_FLAGS) == n))
        return text;
    mo_host_free(p->ctx, text, n + 1);
    mo_fail(p->ctx, MO_MEMORY, "%s: out of memory for its metadata", p->label);
    return NULL;
}

/* Makes the list of tensors, with the metadata. Returns NULL on failure. */
static mo_arrays *take_entries(const parts *p) {
    mo_arrays *arrays = mo_arrays_create(p->ctx);
    const json_t *metadata = json_object_get(p->root, METADATA);
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

static void release_parts(parts *p) {
    mo_host_free(p->ctx, p->entries, p->root ? json_object_size(p->root) * sizeof *p->entries : 0);
    json_decref(p->root);
}

mo_arrays *mo_safetensors_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    parts p = {.ctx = ctx, .label = label};
    mo_arrays *arrays = NULL;
    if (split(&p, bytes, n) && parse_json(&p) && check_header(&p) && read_entries(&p) && check_data(&p))
        arrays = take_entries(&p);
    release_parts(&p);
    return arrays;
}

bool mo_safetensors_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n) {
    parts p = {.ctx = ctx, .label = label};
    bool fine = split(&p, head, n);
    if (fine && 8 + p.header_bytes <= head_bytes)
        fine = parse_json(&p) && check_header(&p) && read_entries(&p);
    else if (fine) /* the rest of a longer header is checked with the whole file */
        fine = mo_file_check_text(ctx, label, head + 8, head_bytes - 8, n);
    release_parts(&p);
    return fine;
}

mo_arrays *mo_safetensors_read(mo_context *ctx, const char *path) {
    char label[MO_LABEL];
    mo_file_bytes content;
    if (!mo_given(ctx, "safetensors_read", "path", path) ||
        !mo_file_read_checked(ctx, mo_file_label("safetensors", path, label), path, mo_safetensors_check, &content))
        return NULL;
    mo_arrays *arrays = mo_safetensors_decode(ctx, label, content.data, content.n);
    mo_file_bytes_free(ctx, &content);
    return arrays;
}

bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata) {
    char shown[200];
    json_t *object = mo_json_metadata(ctx, path, metadata);
    bool there = json_object_get(object, HEADER_DIGEST) && json_object_get(object, TENSOR_DIGESTS);
    json_decref(object);
    if (there || !mo_ok(ctx))
        return there;
    mo_quote(path, strlen(path), shown, sizeof shown);
    mo_fail(ctx, MO_FORMAT,
        "%s: expected digests of its header and tensors, found none, as in files of other programs: `mochi data "
        "convert %s NEW.safetensors` adds them",
        shown, shown);
    return false;
}

/* ---- writing: equal arrays give equal bytes. The header lists tensors by name; the data holds the widest dtypes
 * first, and sorts equal widths by name, so that every tensor is aligned to its elements wherever the file is mapped.
 * ---- */

/* A file being built. */
typedef struct build {
    const mo_arrays *arrays;
    const char *label;
    const mo_array **order; /* the tensors' arrays in the order of the data */
    json_t *root;
    size_t data_bytes;
} build;

static int by_width_and_name(const void *x, const void *y) {
    const mo_array *a = *(const mo_array *const *)x, *b = *(const mo_array *const *)y;
    size_t wide_a = mo_dtype_size(a->tensor->dtype), wide_b = mo_dtype_size(b->tensor->dtype);
    return wide_a != wide_b ? (wide_a > wide_b ? -1 : 1) : strcmp(a->name, b->name);
}

/* Adds digests of zeros, which `stamp` replaces, for the header and each of n tensors. Returns false when out of
 * memory. */
static bool reserve_digests(json_t *metadata, int64_t n) {
    size_t length = n ? (size_t)n * (MO_DIGITS + 1) - 1 : 0;
    char *zeros = malloc(length + MO_DIGITS + 1);
    if (!zeros)
        return false;
    memset(zeros, '0', length + MO_DIGITS);
    for (int64_t i = 1; i < n; i++)
        zeros[i * (MO_DIGITS + 1) - 1] = ' ';
    bool ok = json_object_set_new(metadata, TENSOR_DIGESTS, json_stringn(zeros, length)) == 0 &&
              json_object_set_new(metadata, HEADER_DIGEST, json_stringn(zeros + length, MO_DIGITS)) == 0;
    free(zeros);
    return ok;
}

/* Returns the user's metadata with zeros in the digests' places (reserve_digests); NULL on failure. */
static json_t *make_metadata(const build *b, const char *text) {
    mo_context *ctx = b->arrays->ctx;
    char shown[128];
    json_error_t error = {0};
    json_t *metadata = text ? mo_json_decode(text, strlen(text), JSON_REJECT_DUPLICATES, &error) : json_object();
    if (!metadata && (!error.text[0] || mo_json_code(&error) == MO_MEMORY))
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", b->label);
    else if (!is_metadata(metadata))
        mo_fail(ctx, MO_INVALID, "%s: expected a JSON object of strings as metadata, found '%s'", b->label,
            text ? mo_quote(text, strlen(text), shown, sizeof shown) : "");
    else if (!reserve_digests(metadata, b->arrays->count))
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", b->label);
    if (mo_ok(ctx))
        return metadata;
    json_decref(metadata);
    return NULL;
}

/* Returns {"dtype", "shape", "data_offsets"} for a tensor at the bytes `begin` .. `end` - 1; NULL when out of
 * memory. */
static json_t *make_entry(const mo_tensor *T, size_t begin, size_t end) {
    json_t *shape = json_array();
    bool ok = shape;
    for (int a = 0; a < T->ndim; a++)
        ok = json_array_append_new(shape, json_integer(T->shape[a])) == 0 && ok;
    if (ok)
        return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(T->dtype), "shape", shape, "data_offsets",
            (json_int_t)begin, (json_int_t)end);
    json_decref(shape);
    return NULL;
}

/* Adds the description of the tensor that comes next in the data. */
static bool describe(build *b, const mo_array *array) {
    mo_context *ctx = b->arrays->ctx;
    char shown[128];
    mo_quote(array->name, strlen(array->name), shown, sizeof shown);
    size_t bytes = (size_t)mo_numel(array->tensor) * mo_dtype_size(array->tensor->dtype);
    if (!mo_is_utf8(array->name, strlen(array->name)))
        mo_fail(ctx, MO_INVALID, "%s: expected a name in UTF-8, found '%s'", b->label, shown);
    else if (strcmp(array->name, METADATA) == 0 || json_object_get(b->root, array->name))
        mo_fail(ctx, MO_INVALID, "%s: expected every name once and none '" METADATA "', found '%s'", b->label, shown);
    if (!mo_ok(ctx))
        return false;
    json_t *entry = make_entry(array->tensor, b->data_bytes, b->data_bytes + bytes);
    b->data_bytes += bytes;
    if (entry && json_object_set_new(b->root, array->name, entry) == 0)
        return true;
    mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", b->label);
    return false;
}

/* Sorts the arrays and describes them in the JSON header. Returns false on failure. */
static bool make_header(build *b, const char *metadata) {
    mo_context *ctx = b->arrays->ctx;
    size_t count = (size_t)b->arrays->count;
    json_t *checked = make_metadata(b, metadata);
    if (!checked)
        return false;
    b->root = json_object();
    if (json_object_set_new(b->root, METADATA, checked) < 0)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", b->label);
    for (size_t i = 0; i < count; i++)
        b->order[i] = &b->arrays->items[i];
    qsort(b->order, count, sizeof *b->order, by_width_and_name);
    for (size_t i = 0; i < count && mo_ok(ctx); i++)
        describe(b, b->order[i]);
    return mo_ok(ctx);
}

/* Writes the digests over their zeros in the header: first the tensors' digests (their data follow the header), then
 * the header's own. */
static void stamp(const build *b, char *header, size_t header_bytes) {
    char digits[MO_DIGITS + 1];
    ptrdiff_t at = find_digits(header, header_bytes, TENSOR_DIGESTS);
    const char *data = header + header_bytes;
    for (int64_t i = 0; i < b->arrays->count; i++, at += MO_DIGITS + 1) {
        const mo_tensor *T = b->order[i]->tensor;
        size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
        mo_safetensors_digest(data, bytes, digits);
        memcpy(header + at, digits, MO_DIGITS);
        data += bytes;
    }
    at = find_digits(header, header_bytes, HEADER_DIGEST);
    mo_safetensors_digest(header, header_bytes, digits);
    memcpy(header + at, digits, MO_DIGITS);
}

/* Puts header and data together, and replaces the file. */
static void write_file(const build *b, const char *path) {
    mo_context *ctx = b->arrays->ctx;
    size_t text_bytes = json_dumpb(b->root, NULL, 0, MO_JSON_FLAGS);
    size_t header_bytes = (text_bytes + 7) / 8 * 8, n = 8 + header_bytes + b->data_bytes;
    unsigned char *bytes = mo_host_alloc(ctx, n);
    if (!bytes)
        return;
    char *header = (char *)bytes + 8;
    unsigned char *at = bytes + 8 + header_bytes;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)header_bytes >> (8 * i));
    memset(header, ' ', header_bytes);
    if (!text_bytes || json_dumpb(b->root, header, text_bytes, MO_JSON_FLAGS) != text_bytes)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", b->label);
    for (int64_t i = 0; i < b->arrays->count && mo_ok(ctx); i++) {
        const mo_tensor *T = b->order[i]->tensor;
        size_t size = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
        mo_tensor_read(T, at, size);
        at += size;
    }
    if (mo_ok(ctx)) {
        stamp(b, header, header_bytes);
        mo_file_replace(ctx, path, bytes, n);
    }
    mo_host_free(ctx, bytes, n);
}

mo_code mo_safetensors_write(const mo_arrays *arrays, const char *metadata, const char *path) {
    if (!arrays)
        return MO_INVALID;
    mo_context *ctx = arrays->ctx;
    if (!mo_ok(ctx))
        return mo_context_status(ctx)->code;
    char label[MO_LABEL];
    build b = {.arrays = arrays, .label = mo_file_label("safetensors", path, label)};
    size_t order_bytes = (size_t)arrays->count * sizeof *b.order;
    b.order = mo_host_alloc(ctx, order_bytes);
    if (b.order && make_header(&b, metadata))
        write_file(&b, path);
    json_decref(b.root);
    mo_host_free(ctx, b.order, order_bytes);
    return mo_context_status(ctx)->code;
}
