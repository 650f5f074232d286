/* tests/tensor/test_bad_safetensors.c - safetensors files that are cut or damaged (flipped bits: test_damage.c);
 * headers that do not describe their data stand in tests/cli/arrays.cases. */
#include "tensor/files/arrays.h"

#include "tests/crafted.h"

static const fixtures around_all = {scratch_create, scratch_release};

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

/* A file of ours. */
static bytes make_ours(scratch *s) {
    mo_arrays *arrays = mo_arrays_create(s->ctx);
    mo_arrays_take(arrays, "encoder.weight", make_tensor(s->ctx, MO_F32, 2, (int64_t[]){3, 2}));
    mo_arrays_take(arrays, "log_temp", make_tensor(s->ctx, MO_F64, 0, NULL));
    mo_arrays_take(arrays, "mask", make_tensor(s->ctx, MO_U8, 1, (int64_t[]){3}));
    assert_int_equal(mo_safetensors_write(arrays, "{\"step\":\"12\"}", scratch_path(s, "ours")), MO_OK);
    mo_arrays_release(arrays);
    return read_bytes(s->path);
}

TEST(every_truncation_is_refused) {
    scratch *s = *state;
    bytes files[2] = {make_ours(s), read_bytes("tests/arrays/reference.safetensors")};
    for (int f = 0; f < 2; f++) {
        for (size_t n = 0; n < files[f].n; n++) {
            bytes part = {0};
            bytes_append(&part, files[f].data, n);
            assert_refused(s->ctx, part, MO_FORMAT, PARTS("expected", "found"));
        }
        bytes_append(&files[f], "x", 1);
        assert_refused(s->ctx, files[f], MO_FORMAT, PARTS("bytes of data, found"));
    }
    scratch_files(s, true);
}

TEST(a_damaged_tensor_is_named) {
    scratch *s = *state;
    bytes b = make_ours(s);
    b.data[b.n - 1] ^= 1;
    assert_refused(s->ctx, b, MO_FORMAT, PARTS("damaged tensor 'mask': expected XXH3-128"));
    scratch_files(s, true);
}

TEST(checksums_are_verified_where_present) {
    scratch *s = *state;
    assert_refused(s->ctx,
        make_file(
            "{\"__metadata__\": {\"xxh3\": \"00\"}, \"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
            "a", 1),
        MO_FORMAT, PARTS("damaged data: expected XXH3-128 00, found a96faf705af16834e6c632b61e964e1f"));
    assert_refused(s->ctx, make_file("{\"__metadata__\":{\"xxh3_header\":\"00\"}}", "", 0), MO_FORMAT,
        PARTS("damaged header: expected XXH3-128 00, found"));
    assert_refused(s->ctx, make_file("{\"__metadata__\":{\"xxh3_tensors\":\"\"}}", "", 0), MO_FORMAT,
        PARTS("damaged header: expected xxh3_header beside xxh3_tensors, found none"));
    /* the data's checksum, as older versions wrote it */
    bytes b = make_file("{\"__metadata__\": {\"xxh3\": \"a96faf705af16834e6c632b61e964e1f\"}, "
                        "\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "a", 1);
    mo_arrays *arrays = mo_safetensors_decode(s->ctx, "fine", b.data, b.n);
    assert_non_null(arrays);
    mo_arrays_release(arrays);
    bytes_release(&b);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
