/* tensor/safetensors_write.c - writing safetensors: equal arrays give equal bytes.
 *
 * The header lists names in order; the data holds the widest dtypes first, and names in order among those, so that
 * every tensor is aligned to its elements wherever the file is mapped. */
#include "tensor/safetensors.h"

#include "tensor/file.h"
#include "tensor/storage.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A file being built. */
typedef struct build {
    const mo_arrays *arrays;
    const char *label;
    const mo_array **order; /* of the data */
    json_t *root;
    size_t data_bytes;
} build;

static int by_width_and_name(const void *x, const void *y) {
    const mo_array *a = *(const mo_array *const *)x, *b = *(const mo_array *const *)y;
    size_t wide_a = mo_dtype_size(a->tensor->dtype), wide_b = mo_dtype_size(b->tensor->dtype);
    return wide_a != wide_b ? (wide_a > wide_b ? -1 : 1) : strcmp(a->name, b->name);
}

/* The user's metadata with room for the checksums; NULL on failure. */
static json_t *make_metadata(mo_context *ctx, const char *label, const char *text) {
    static const char zeros[] = "00000000000000000000000000000000";
    const char *key;
    char shown[128];
    json_t *value, *metadata = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : json_object();
    bool strings = json_is_object(metadata);
    json_object_foreach(metadata, key, value) strings = strings && json_is_string(value);
    if (!strings)
        mo_fail(ctx, MO_INVALID, "%s: expected a JSON object of strings as metadata, found '%s'", label,
            text ? mo_quote(text, strlen(text), shown, sizeof shown) : "");
    else if (json_object_set_new(metadata, MO_DATA_DIGEST, json_string(zeros)) < 0 ||
             json_object_set_new(metadata, MO_HEADER_DIGEST, json_string(zeros)) < 0)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", label);
    if (mo_ok(ctx))
        return metadata;
    json_decref(metadata);
    return NULL;
}

/* Adds the description of a tensor whose data is next. */
static bool describe(build *b, const mo_array *array) {
    mo_context *ctx = b->arrays->ctx;
    const mo_tensor *T = array->tensor;
    char shown[128];
    mo_quote(array->name, strlen(array->name), shown, sizeof shown);
    size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    if (strcmp(array->name, MO_METADATA) == 0 || json_object_get(b->root, array->name)) {
        mo_fail(
            ctx, MO_INVALID, "%s: expected every name once and none '" MO_METADATA "', found '%s'", b->label, shown);
        return false;
    }
    json_t *shape = json_array();
    for (int a = 0; a < T->ndim; a++)
        json_array_append_new(shape, json_integer(T->shape[a]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", mo_safetensors_dtype(T->dtype), "shape", shape,
        "data_offsets", (json_int_t)b->data_bytes, (json_int_t)(b->data_bytes + bytes));
    b->data_bytes += bytes;
    if (entry && json_object_set_new(b->root, array->name, entry) == 0)
        return true;
    mo_fail(ctx, MO_INVALID, "%s: expected a name in UTF-8 (and memory for its header), found '%s'", b->label, shown);
    return false;
}

/* Sorts the arrays and describes them in the JSON header. */
static bool make_header(build *b, const char *metadata) {
    mo_context *ctx = b->arrays->ctx;
    size_t count = (size_t)b->arrays->count;
    json_t *checked = make_metadata(ctx, b->label, metadata);
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

/* Writes a checksum over its digits in the header. */
static void stamp(char *header, size_t header_bytes, const char *key, const void *bytes, size_t n) {
    char digits[MO_DIGITS + 1];
    mo_safetensors_digest(bytes, n, digits);
    memcpy(header + mo_safetensors_find_digits(header, header_bytes, key), digits, MO_DIGITS);
}

/* Lays header and data out and replaces the file. */
static void write_file(const build *b, const char *text, const char *path) {
    mo_context *ctx = b->arrays->ctx;
    size_t header_bytes = (strlen(text) + 7) / 8 * 8, n = 8 + header_bytes + b->data_bytes;
    unsigned char *bytes = mo_host_alloc(ctx, n), *at = bytes + 8 + header_bytes;
    if (!bytes)
        return;
    char *header = (char *)bytes + 8;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)header_bytes >> (8 * i));
    memset(header, ' ', header_bytes);
    memcpy(header, text, strlen(text));
    for (int64_t i = 0; i < b->arrays->count; i++) {
        const mo_tensor *T = b->order[i]->tensor;
        size_t size = (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
        mo_tensor_read(T, at, size);
        at += size;
    }
    stamp(header, header_bytes, MO_DATA_DIGEST, header + header_bytes, b->data_bytes);
    stamp(header, header_bytes, MO_HEADER_DIGEST, header, header_bytes);
    if (mo_ok(ctx))
        mo_file_replace(ctx, path, bytes, n);
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
    if (b.order && make_header(&b, metadata)) {
        char *text = json_dumps(b.root, JSON_COMPACT | JSON_SORT_KEYS);
        if (text)
            write_file(&b, text, path);
        else
            mo_fail(ctx, MO_MEMORY, "%s: out of memory for its header", label);
        free(text);
    }
    json_decref(b.root);
    mo_host_free(ctx, b.order, order_bytes);
    return mo_context_status(ctx)->code;
}
