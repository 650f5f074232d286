/* tests/tensor/test_bad_npy.c - .npy files that are cut; headers that contradict their data stand
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

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
