/* tensor/files/safetensors_write.c - writing safetensors: equal arrays give equal bytes.
 *
 * The header lists tensors by name; the data holds the widest dtypes first, and sorts equal widths by name, so that
 * every tensor is aligned to its elements wherever the file is mapped. */
#include "tensor/files/safetensors.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/storage.h"

#include <stdlib.h>
#include <string.h>

/* A file being built. */
typedef struct build {
    const mo_arrays *arrays;
    const char *label;
    const mo_array **order; /* of the tensors in the data */
    json_t *root;
    size_t data_bytes;
} build;

static int by_width_and_name(const void *x, const void *y) {
    const mo_array *a = *(const mo_array *const *)x, *b = *(const mo_array *const *)y;
    size_t wide_a = mo_dtype_size(a->tensor->dtype), wide_b = mo_dtype_size(b->tensor->dtype);
    return wide_a != wide_b ? (wide_a > wide_b ? -1 : 1) : strcmp(a->name, b->name);
}

/* Puts digits 0, to be replaced later, for the header and each of n tensors. Returns false when out of memory. */
static bool reserve_digests(json_t *metadata, int64_t n) {
    size_t length = n ? (size_t)n * (MO_DIGITS + 1) - 1 : 0;
    char *zeros = malloc(length + MO_DIGITS + 1);
    if (!zeros)
        return false;
    memset(zeros, '0', length + MO_DIGITS);
    for (int64_t i = 1; i < n; i++)
        zeros[i * (MO_DIGITS + 1) - 1] = ' ';
    bool ok = json_object_set_new(metadata, MO_TENSOR_DIGESTS, json_stringn(zeros, length)) == 0 &&
              json_object_set_new(metadata, MO_HEADER_DIGEST, json_stringn(zeros + length, MO_DIGITS)) == 0;
    json_object_del(metadata, MO_DATA_DIGEST);
    free(zeros);
    return ok;
}

/* The user's metadata with room for the digests; NULL on failure. */
static json_t *make_metadata(const build *b, const char *text) {
    mo_context *ctx = b->arrays->ctx;
    char shown[128];
    json_error_t error = {0};
    json_t *metadata = text ? mo_json_decode(text, strlen(text), JSON_REJECT_DUPLICATES, &error) : json_object();
    if (!metadata && (!error.text[0] || mo_json_code(&error) == MO_MEMORY))
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", b->label);
    else if (!mo_safetensors_is_metadata(metadata))
        mo_fail(ctx, MO_INVALID, "%s: expected a JSON object of strings as metadata, found '%s'", b->label,
            text ? mo_quote(text, strlen(text), shown, sizeof shown) : "");
    else if (!reserve_digests(metadata, b->arrays->count))
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", b->label);
    if (mo_ok(ctx))
        return metadata;
    json_decref(metadata);
    return NULL;
}

/* {"dtype", "shape", "data_offsets"} of a tensor whose data starts at byte `begin`; NULL when out of memory. */
static json_t *make_entry(const mo_tensor *T, size_t begin, size_t end) {
    json_t *shape = json_array();
    bool ok = shape;
    for (int a = 0; a < T->ndim; a++)
        ok = json_array_append_new(shape, json_integer(T->shape[a])) == 0 && ok;
    if (ok)
        return json_pack("{s:s, s:o, s:[I, I]}", "dtype", mo_safetensors_dtype(T->dtype), "shape", shape,
            "data_offsets", (json_int_t)begin, (json_int_t)end);
    json_decref(shape);
    return NULL;
}

/* Adds the description of the tensor whose data comes next. */
static bool describe(build *b, const mo_array *array) {
    mo_context *ctx = b->arrays->ctx;
    char shown[128];
    mo_quote(array->name, strlen(array->name), shown, sizeof shown);
    size_t bytes = (size_t)mo_numel(array->tensor) * mo_dtype_size(array->tensor->dtype);
    if (!mo_is_utf8(array->name, strlen(array->name)))
        mo_fail(ctx, MO_INVALID, "%s: expected a name in UTF-8, found '%s'", b->label, shown);
    else if (strcmp(array->name, MO_METADATA) == 0 || json_object_get(b->root, array->name))
        mo_fail(
            ctx, MO_INVALID, "%s: expected every name once and none '" MO_METADATA "', found '%s'", b->label, shown);
    if (!mo_ok(ctx))
        return false;
    json_t *entry = make_entry(array->tensor, b->data_bytes, b->data_bytes + bytes);
    b->data_bytes += bytes;
    if (entry && json_object_set_new(b->root, array->name, entry) == 0)
        return true;
    mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", b->label);
    return false;
}

/* Sorts the arrays and describes them in the JSON header. */
static bool make_header(build *b, const char *metadata) {
    mo_context *ctx = b->arrays->ctx;
    size_t count = (size_t)b->arrays->count;
    json_t *checked = make_metadata(b, metadata);
    if (!checked)
        return false;
    b->root = json_object();
    if (json_object_set_new(b->root, MO_METADATA, checked) < 0)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", b->label);
    for (size_t i = 0; i < count; i++)
        b->order[i] = &b->arrays->items[i];
    qsort(b->order, count, sizeof *b->order, by_width_and_name);
    for (size_t i = 0; i < count && mo_ok(ctx); i++)
        describe(b, b->order[i]);
    return mo_ok(ctx);
}

/* Writes the digests over their zeros: of the tensors, whose data follow the header, then of the header. */
static void stamp(const build *b, char *header, size_t header_bytes) {
    char digits[MO_DIGITS + 1];
    ptrdiff_t at = mo_safetensors_find_digits(header, header_bytes, MO_TENSOR_DIGESTS);
    const char *data = header + header_bytes;
    for (int64_t i = 0; i < b->arrays->count; i++, at += MO_DIGITS + 1) {
        const mo_tensor *T = b->order[i]->tensor;
        size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
        mo_safetensors_digest(data, bytes, digits);
        memcpy(header + at, digits, MO_DIGITS);
        data += bytes;
    }
    at = mo_safetensors_find_digits(header, header_bytes, MO_HEADER_DIGEST);
    mo_safetensors_digest(header, header_bytes, digits);
    memcpy(header + at, digits, MO_DIGITS);
}

/* Lays out header and data and replaces the file. */
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
