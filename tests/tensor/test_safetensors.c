/* tests/tensor/test_safetensors.c - safetensors: round trips, fixed bytes, and a file that the reference implementation
 * wrote. */
#include "tests/crafted.h"

static const fixtures around_all = {scratch_create, scratch_release}, around_each = {NULL, remove_files};

static mo_arrays *make_arrays(mo_context *ctx, bool reversed) {
    static const mo_dtype dtypes[] = {MO_F32, MO_F64, MO_I32, MO_I64, MO_U8, MO_F16, MO_BF16};
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < 28; i++) {
        int d = reversed ? 27 - i : i, ndim = d / 7;
        char name[64];
        snprintf(name, sizeof name, "%s.%d \"\\\n", mo_dtype_name(dtypes[d % 7]), ndim);
        mo_arrays_take(arrays, name, make_tensor(ctx, dtypes[d % 7], ndim, (int64_t[]){3, ndim == 3 ? 0 : 1, 5}));
    }
    return arrays;
}

TEST_OF(every_dtype_round_trips, scratch *s) {
    HELD(mo_arrays) *arrays = make_arrays(s->ctx, false);
    assert_int_equal(mo_safetensors_write(arrays, NULL, scratch_path(s, "a.safetensors")), MO_OK);
    HELD(mo_arrays) *again = mo_safetensors_read(s->ctx, s->path);
    assert_non_null(again);
    assert_int_equal(again->count, arrays->count);
    for (int64_t i = 0; i < arrays->count; i++)
        assert_same(arrays->items[i].tensor, mo_arrays_find(again, arrays->items[i].name));
}

TEST_OF(bytes_do_not_depend_on_the_order_of_the_arrays, scratch *s) {
    bytes written[2];
    for (int i = 0; i < 2; i++) {
        HELD(mo_arrays) *arrays = make_arrays(s->ctx, i == 1);
        const char *metadata = i ? "{\"b\": \"2\",\n \"a\": \"1\"}" : "{\"a\":\"1\",\"b\":\"2\"}";
        assert_int_equal(mo_safetensors_write(arrays, metadata, scratch_path(s, "a.safetensors")), MO_OK);
        written[i] = read_bytes(s->path);
    }
    assert_int_equal(written[0].n, written[1].n);
    assert_memory_equal(written[0].data, written[1].data, written[0].n);
    bytes_release(&written[0]);
    bytes_release(&written[1]);
}

TEST_OF(the_layout_is_fixed, scratch *s) {
    static const char header[] =
        "{\"__metadata__\":{\"seed\":\"7\",\"xxh3_header\":\"00000000000000000000000000000000\",\"xxh3_tensors\":"
        "\"dc6b20d207425aa58b3249d34c2ef0b0 "
        "d2f0f9428898845f08130b77ddef5807\"},\"b\":{\"data_offsets\":[0,8],\"dtype\":\"I64\",\"shape\":[]},"
        "\"w\":{\"data_offsets\":[8,10],\"dtype\":\"U8\",\"shape\":[2]}}";
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    mo_arrays_take(arrays, "w", mo_tensor_create_from(s->ctx, MO_U8, 1, (int64_t[]){2}, "\1\2"));
    mo_arrays_take(arrays, "b", mo_tensor_create_from(s->ctx, MO_I64, 0, NULL, &(int64_t){-1}));
    assert_int_equal(mo_safetensors_write(arrays, "{\"seed\":\"7\"}", scratch_path(s, "a.safetensors")), MO_OK);
    HELD(bytes) b = read_bytes(s->path);
    size_t padded = (strlen(header) + 7) / 8 * 8;
    assert_int_equal(b.n, 8 + padded + 10);
    assert_int_equal(b.data[0] | b.data[1] << 8, padded);
    char *digits = strstr((char *)b.data + 8, "xxh3_header\":\"");
    assert_non_null(digits);
    memset(digits + strlen("xxh3_header\":\""), '0', 32);
    assert_memory_equal(b.data + 8, header, strlen(header));
    for (size_t i = strlen(header); i < padded; i++)
        assert_int_equal(b.data[8 + i], ' ');
    assert_memory_equal(b.data + 8 + padded, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\2", 10);
}

TEST_OF(metadata_is_kept_as_json, scratch *s) {
    HELD(mo_arrays) *none = mo_arrays_create(s->ctx);
    assert_int_equal(mo_safetensors_write(none, "{\"note\":\"h\xC3\xA9 \\\"x\\\"\"}", scratch_path(s, "a")), MO_OK);
    HELD(mo_arrays) *arrays = mo_safetensors_read(s->ctx, s->path);
    assert_non_null(arrays);
    assert_int_equal(arrays->count, 0);
    assert_non_null(strstr(arrays->metadata, "\"note\":\"h\xC3\xA9 \\\"x\\\"\""));
    HELD(bytes) first = read_bytes(s->path); /* tensors that were read can be written again, with new checksums */
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, s->path), MO_OK);
    HELD(bytes) second = read_bytes(s->path);
    assert_int_equal(first.n, second.n);
    assert_memory_equal(first.data, second.data, first.n);
}

TEST_OF(the_reference_implementation_is_read, scratch *s) {
    float b[6];
    int64_t a[2];
    uint8_t c[3];
    HELD(mo_arrays) *arrays = mo_safetensors_read(s->ctx, "tests/arrays/reference.safetensors");
    assert_non_null(arrays);
    assert_int_equal(arrays->count, 5);
    assert_string_equal(arrays->metadata, "{\"made\":\"reference\"}");
    assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "a"), a, sizeof a), MO_OK);
    assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "b"), b, sizeof b), MO_OK);
    assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "c"), c, sizeof c), MO_OK);
    assert_true(a[0] == -4 && a[1] == -1);
    for (int i = 0; i < 6; i++)
        assert_true(b[i] == (float)(3 * i - 4));
    assert_memory_equal(c, "\0\3\6", 3);
    assert_true(mo_item(mo_arrays_find(arrays, "s")) == 2.5);
    assert_int_equal(mo_dim(mo_arrays_find(arrays, "e"), 0), 0);
}

TEST_OF(bad_arguments_write_nothing, scratch *s) {
    const char *path = scratch_path(s, "a.safetensors");
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    mo_safetensors_write(arrays, "[1]", path);
    assert_failed(s->ctx, MO_INVALID, PARTS("a.safetensors", "JSON object of strings", "[1]"));
    mo_safetensors_write(arrays, "{\"a\":1}", path);
    assert_failed(s->ctx, MO_INVALID, PARTS("JSON object of strings", "{\"a\":1}"));
    mo_safetensors_write(arrays, "{\"a\":\"1\",\"a\":\"2\"}", path);
    assert_failed(s->ctx, MO_INVALID, PARTS("JSON object of strings"));
    mo_arrays_take(arrays, "__metadata__", make_tensor(s->ctx, MO_U8, 0, NULL));
    mo_safetensors_write(arrays, NULL, path);
    assert_failed(s->ctx, MO_INVALID, PARTS("none '__metadata__'"));
    HELD(mo_arrays) *named = mo_arrays_create(s->ctx);
    mo_arrays_take(named, "\xFF", make_tensor(s->ctx, MO_U8, 0, NULL));
    mo_safetensors_write(named, NULL, path);
    assert_failed(s->ctx, MO_INVALID, PARTS("UTF-8", "'?'"));
    assert_int_equal(mo_safetensors_write(NULL, NULL, path), MO_INVALID);
    assert_int_equal(scratch_files(s, true), 0);
}

/* ---- files that are cut or damaged ---- */

static void assert_refused(mo_context *ctx, bytes b, mo_code code, const char *const *parts) {
    assert_null(mo_safetensors_decode(ctx, "safetensors: bad", b.data, b.n));
    assert_int_equal(strncmp(mo_context_status(ctx)->message, "safetensors: bad: ", 18), 0);
    assert_failed(ctx, code, parts);
    bytes_release(&b);
}

static bytes make_file(const char *header, const char *data, size_t n) {
    bytes b = {0};
    bytes_append_number(&b, strlen(header), 8);
    bytes_append(&b, header, strlen(header));
    bytes_append(&b, data, n);
    return b;
}

/* Returns the bytes of a file that the library wrote. */
static bytes make_ours(scratch *s) {
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    mo_arrays_take(arrays, "encoder.weight", make_tensor(s->ctx, MO_F32, 2, (int64_t[]){3, 2}));
    mo_arrays_take(arrays, "log_temp", make_tensor(s->ctx, MO_F64, 0, NULL));
    mo_arrays_take(arrays, "mask", make_tensor(s->ctx, MO_U8, 1, (int64_t[]){3}));
    assert_int_equal(mo_safetensors_write(arrays, "{\"step\":\"12\"}", scratch_path(s, "ours")), MO_OK);
    return read_bytes(s->path);
}

TEST_OF(every_truncation_is_refused, scratch *s) {
    bytes files[2] = {make_ours(s), read_bytes("tests/arrays/reference.safetensors")};
    for (int f = 0; f < 2; f++)
        assert_other_lengths_refused(
            s->ctx, assert_refused, files[f], PARTS("expected", "found"), PARTS("bytes of data, found"));
}

TEST_OF(a_damaged_tensor_is_named, scratch *s) {
    bytes b = make_ours(s);
    b.data[b.n - 1] ^= 1;
    assert_refused(s->ctx, b, MO_FORMAT, PARTS("damaged tensor 'mask': expected XXH3-128"));
}

TEST_OF(checksums_are_verified_where_present, scratch *s) {
    assert_refused(s->ctx, make_file("{\"__metadata__\":{\"xxh3_header\":\"00\"}}", "", 0), MO_FORMAT,
        PARTS("damaged header: expected XXH3-128 00, found"));
    assert_refused(s->ctx, make_file("{\"__metadata__\":{\"xxh3_tensors\":\"\"}}", "", 0), MO_FORMAT,
        PARTS("damaged header: expected xxh3_header beside xxh3_tensors, found none"));
}
