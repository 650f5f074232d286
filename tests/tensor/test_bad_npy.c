/* tests/tensor/test_bad_npy.c - .npy files that are cut, and writes that fail; headers that contradict their data stand
 * in tests/cli/arrays.cases. */
#include "tensor/files/arrays.h"

#include "tests/crafted.h"

static const fixtures around_all = {scratch_create, scratch_release};

static void assert_refused(mo_context *ctx, bytes b, mo_code code, const char *const *parts) {
    assert_true(mo_is_null(mo_npy_decode(ctx, "npy: bad.npy", b.data, b.n)));
    assert_failed(ctx, code, PARTS("npy: bad.npy"));
    mo_npy_decode(ctx, "npy: bad.npy", b.data, b.n);
    assert_failed(ctx, code, parts);
    bytes_release(&b);
}

TEST(every_truncation_is_refused) {
    scratch *s = *state;
    static const char *const files[] = {"f4", "version_2", "fortran_f4", "b1", "scalar"};
    for (int f = 0; f < 5; f++) {
        char path[64];
        snprintf(path, sizeof path, "tests/arrays/%s.npy", files[f]);
        bytes whole = read_bytes(path);
        for (size_t n = 0; n < whole.n; n++) {
            bytes part = {0}; /* a block of its own, so that a sanitizer sees any step beyond it */
            bytes_append(&part, whole.data, n);
            assert_refused(s->ctx, part, MO_FORMAT, PARTS("expected", "found"));
        }
        bytes_append(&whole, "x", 1);
        assert_refused(s->ctx, whole, MO_FORMAT, PARTS("bytes of data for shape"));
    }
}

TEST(a_failed_write_leaves_the_old_file) {
    scratch *s = *state;
    mo_tensor *T = make_tensor(s->ctx, MO_F32, 1, (int64_t[]){5});
    mo_tensor *bf16 = make_tensor(s->ctx, MO_BF16, 1, (int64_t[]){5});
    scratch_write(s, "old.npy", "precious", 8);
    mo_npy_write(bf16, s->path);
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("old.npy"));
    mo_npy_write(T, s->folder);
    assert_failed(s->ctx, MO_IO, PARTS("found a directory"));
    mo_npy_write(T, "/dev/full");
    assert_failed(s->ctx, MO_IO, PARTS("/dev/full"));
    bytes b = read_bytes(s->path);
    assert_int_equal(b.n, 8);
    assert_memory_equal(b.data, "precious", 8);
    assert_int_equal(scratch_files(s, true), 1);
    bytes_release(&b);
    mo_tensor_release(T);
    mo_tensor_release(bf16);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
