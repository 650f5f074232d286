/* tests/tensor/test_bad_safetensors.c - safetensors files that are damaged or whose headers do not describe their data.
 */
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

TEST(every_flipped_bit_of_ours_is_refused) {
    scratch *s = *state;
    bytes b = make_ours(s);
    int accepted = 0, header = 0, data = 0;
    for (size_t bit = 0; bit < 8 * b.n; bit++) {
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        mo_arrays *arrays = mo_safetensors_decode(s->ctx, "bad", b.data, b.n);
        accepted += arrays != NULL;
        mo_arrays_release(arrays);
        header += strstr(mo_context_status(s->ctx)->message, "damaged header: expected") != NULL;
        data += strstr(mo_context_status(s->ctx)->message, "damaged tensor '") != NULL;
        mo_clear_error(s->ctx);
        b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    print_message(
        "%zu flipped bits: %d found in the header, %d in the data, %d accepted\n", 8 * b.n, header, data, accepted);
    assert_int_equal(data, 8 * (3 * 2 * 4 + 8 + 3)); /* every bit of the data */
    assert_int_equal(accepted, 0);
    bytes_release(&b);
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

TEST(header_lengths_are_not_believed) {
    scratch *s = *state;
    static const uint64_t lengths[] = {3, 100, 100000001, (uint64_t)1 << 32, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bytes b = {0};
        char claimed[64];
        bytes_append_number(&b, lengths[i], 8);
        bytes_append(&b, "{}", 2);
        snprintf(claimed, sizeof claimed, "at most 2 bytes, found %llu claimed", (unsigned long long)lengths[i]);
        assert_refused(s->ctx, b, MO_FORMAT, PARTS("expected a safetensors header of", claimed));
    }
}

TEST(headers_must_be_json_objects) {
    scratch *s = *state;
    static const struct {
        const char *header, *part;
    } cases[] = {
        {"[]", "expected a JSON object as safetensors header"},
        {" {}", "expected a JSON object as safetensors header"},
        {"{\"x\":}", "safetensors header, line 1, column"},
        {"{} x", "end of file expected near 'x'"},
        {"{\"\xFF\":1}", "unable to decode byte 0xff"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
            "duplicate object key"},
        {"{\"__metadata__\":[]}", "expected an object of strings as __metadata__"},
        {"{\"__metadata__\":{\"a\":1}}", "expected an object of strings as __metadata__"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(s->ctx, make_file(cases[i].header, "", 0), MO_FORMAT, PARTS(cases[i].part));
    bytes deep = {0};
    bytes_append_number(&deep, 100000, 8);
    for (int i = 0; i < 20000; i++)
        bytes_append(&deep, "{\"a\":", 5);
    assert_refused(s->ctx, deep, MO_FORMAT, PARTS("maximum parsing depth reached"));
}

TEST(descriptions_that_are_wrong_name_their_tensor) {
    scratch *s = *state;
    static const struct {
        const char *x; /* the description of tensor x; there are 8 bytes of data */
        mo_code code;
        const char *part;
    } cases[] = {
        {"\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]", MO_UNSUPPORTED,
            "expected dtype F32, F64, I32, I64, U8, F16 or BF16, found 'F8_E4M3'"},
        {"\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,8]", MO_UNSUPPORTED, "found 'f32'"},
        {"\"dtype\":3,\"shape\":[2],\"data_offsets\":[0,8]", MO_FORMAT, "expected a dtype, found none"},
        {"\"shape\":[2],\"data_offsets\":[0,8]", MO_FORMAT, "expected a dtype, found none"},
        {"\"dtype\":\"F32\",\"data_offsets\":[0,8]", MO_FORMAT, "expected a shape of sizes of 0 or more"},
        {"\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]", MO_FORMAT, "expected a shape"},
        {"\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]", MO_FORMAT, "expected a shape"},
        {"\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]", MO_FORMAT, "expected a shape"},
        {"\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]", MO_FORMAT, "expected a shape"},
        {"\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,2],\"data_offsets\":[0,8]", MO_UNSUPPORTED,
            "expected at most 6 axes, found 7"},
        {"\"dtype\":\"F32\",\"shape\":[2]", MO_FORMAT, "expected data_offsets of two integers"},
        {"\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8]", MO_FORMAT, "expected data_offsets of two integers"},
        {"\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]", MO_FORMAT, "expected data_offsets of two"},
        {"\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-8,0]", MO_FORMAT, "expected data_offsets of two"},
        {"\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]", MO_FORMAT,
            "expected 8 bytes for shape [2] of F32, found data_offsets 8 to 0"},
        {"\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]", MO_FORMAT,
            "expected 12 bytes for shape [3] of F32, found data_offsets 0 to 8"},
        {"\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[0,8]", MO_FORMAT, "expected 0 bytes for shape [2, 0]"},
        {"\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]", MO_FORMAT,
            "found [4294967296, 4294967296], which overflows"},
        {"\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]", MO_FORMAT, "overflows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[256];
        snprintf(header, sizeof header, "{\"x\":{%s}}", cases[i].x);
        assert_refused(s->ctx, make_file(header, "12345678", 8), cases[i].code, PARTS("tensor 'x'", cases[i].part));
    }
    assert_refused(s->ctx, make_file("{\"x\":[1]}", "", 0), MO_FORMAT, PARTS("tensor 'x'", "expected a dtype"));
    assert_refused(s->ctx, make_file("{\"x\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808]}}", "", 0), MO_FORMAT,
        PARTS("too big integer"));
}

TEST(tensors_must_tile_the_data) {
    scratch *s = *state;
    static const struct {
        const char *a, *b; /* offsets of two tensors of four bytes */
        const char *part;
    } cases[] = {
        {"0,4", "2,6", "tensor 'b': expected data from byte 4, found 2: it overlaps another"},
        {"0,4", "0,4", "tensor 'b': expected data from byte 4, found 0: it overlaps another"},
        {"0,4", "6,10", "tensor 'b': expected data from byte 4, found 6: a hole"},
        {"4,8", "8,12", "tensor 'a': expected data from byte 0, found 4: a hole"},
        {"0,4", "4,8", "expected 8 bytes of data, found 10"},
        {"4,8", "0,4", "expected 8 bytes of data, found 10"},
        {"0,4", "1000000000000,1000000000004", "tensor 'b': expected data from byte 4, found 1000000000000"},
        {"0,4", "9223372036854775803,9223372036854775807", "tensor 'b'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[300];
        snprintf(header, sizeof header,
            "{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%s]},"
            "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[%s]}}",
            cases[i].b, cases[i].a);
        assert_refused(s->ctx, make_file(header, "1234567890", 10), MO_FORMAT, PARTS(cases[i].part));
    }
    const char *far = "{\"x\":{\"dtype\":\"U8\",\"shape\":[1000000000000],\"data_offsets\":[0,1000000000000]}}";
    assert_refused(s->ctx, make_file(far, "1", 1), MO_FORMAT, PARTS("expected 1000000000000 bytes of data, found 1"));
}

TEST(files_that_cannot_be_read_are_named) {
    scratch *s = *state;
    assert_null(mo_safetensors_read(s->ctx, scratch_path(s, "missing.safetensors")));
    assert_failed(s->ctx, MO_IO, PARTS("safetensors: ", "missing.safetensors", "No such file"));
    assert_null(mo_safetensors_read(s->ctx, s->folder));
    assert_failed(s->ctx, MO_IO, PARTS("expected a file, found a directory"));
    assert_null(mo_safetensors_read(s->ctx, scratch_write(s, "empty", "", 0)));
    assert_failed(s->ctx, MO_FORMAT, PARTS("empty", "the file is empty"));
    assert_null(mo_safetensors_read(s->ctx, "tests/arrays/stored.npz"));
    assert_failed(s->ctx, MO_FORMAT, PARTS("stored.npz", "expected a safetensors header of at most"));
    scratch_files(s, true);
}

TEST(a_failed_write_leaves_the_old_weights) {
    scratch *s = *state;
    bytes before = make_ours(s);
    mo_arrays *arrays = mo_safetensors_read(s->ctx, s->path);
    mo_safetensors_write(arrays, "not json", s->path);
    assert_failed(s->ctx, MO_INVALID, PARTS("ours", "not json"));
    mo_safetensors_write(arrays, NULL, "/dev/full");
    assert_failed(s->ctx, MO_IO, PARTS("/dev/full"));
    bytes after = read_bytes(s->path);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.data, after.data, after.n);
    mo_arrays_release(arrays);
    bytes_release(&before);
    bytes_release(&after);
    assert_int_equal(scratch_files(s, true), 1);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
