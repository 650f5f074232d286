/* tests/tensor/test_npy.c - .npy: round trips, files that NumPy wrote (tests/arrays), and truncated files.
 * tests/cli/arrays.cases has headers that contradict their data. */
#include "tensor/files/file.h"
#include "tensor/objects.h"
#include "tests/crafted.h"

static const fixtures around_all = {scratch_create, scratch_release}, around_each = {NULL, remove_files};

TEST_OF(every_dtype_and_number_of_axes_round_trips, scratch *s) {
    static const int64_t shape[MO_MAX_AXES] = {3, 1, 2, 4, 1, 2};
    static const mo_dtype dtypes[] = {MO_F32, MO_F64, MO_I32, MO_I64, MO_U8, MO_F16};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int ndim = 0; ndim <= MO_MAX_AXES; ndim++) {
            HELD(mo_tensor) *T = make_tensor(s->ctx, dtypes[d], ndim, shape);
            assert_int_equal(mo_npy_write(T, scratch_path(s, "a.npy")), MO_OK);
            HELD(mo_tensor) *U = mo_npy_read(s->ctx, s->path);
            assert_same(T, U);
        }
}

TEST_OF(empty_arrays_round_trip, scratch *s) {
    static const int64_t shapes[][3] = {{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}};
    for (int i = 0; i < 4; i++) {
        HELD(mo_tensor) *T = mo_tensor_create(s->ctx, MO_F32, 3, shapes[i]);
        assert_int_equal(mo_npy_write(T, scratch_path(s, "a.npy")), MO_OK);
        HELD(mo_tensor) *U = mo_npy_read(s->ctx, s->path);
        assert_same(T, U);
    }
}

TEST_OF(the_header_is_as_numpy_writes_it, scratch *s) {
    static const int64_t shape[] = {2, 3};
    static const float values[] = {-4, -1, 2, 5, 8, 11};
    HELD(mo_tensor) *T = mo_tensor_create_from(s->ctx, MO_F32, 2, shape, values);
    assert_int_equal(mo_npy_write(T, scratch_path(s, "a.npy")), MO_OK);
    HELD(bytes) ours = read_bytes(s->path), theirs = read_bytes("tests/arrays/f4.npy");
    assert_int_equal(ours.n, theirs.n);
    assert_memory_equal(ours.data, theirs.data, theirs.n);
}

TEST_OF(files_of_numpy_have_their_values, scratch *s) {
    static const struct {
        const char *file;
        mo_dtype dtype;
        int ndim;
        int64_t shape[3];
        double scale, first; /* element i is scale i + first */
    } files[] = {{"f2", MO_F16, 2, {2, 3}, 3, -4}, {"f4", MO_F32, 2, {2, 3}, 3, -4}, {"f8", MO_F64, 2, {2, 3}, 3, -4},
        {"i1", MO_I32, 2, {2, 3}, 3, -4}, {"i2", MO_I32, 2, {2, 3}, 3, -4}, {"i4", MO_I32, 2, {2, 3}, 3, -4},
        {"i8", MO_I64, 2, {2, 3}, 3, -4}, {"u1", MO_U8, 2, {2, 3}, 3, 0}, {"u2", MO_I32, 2, {2, 3}, 3, 0},
        {"u4", MO_I64, 2, {2, 3}, 3, 0}, {"u8", MO_I64, 2, {2, 3}, 3, 0}, {"big_f8", MO_F64, 2, {2, 3}, 3, -4},
        {"big_i2", MO_I32, 2, {2, 3}, 3, -4}, {"fortran_f4", MO_F32, 3, {2, 3, 2}, 3, -4},
        {"fortran_big_i4", MO_I32, 2, {2, 3}, 3, -4}, {"version_2", MO_F32, 2, {2, 3}, 3, -4},
        {"version_3", MO_F32, 2, {2, 3}, 3, -4}, {"scalar", MO_F64, 0, {0}, 0, 2.5},
        {"empty", MO_F32, 2, {0, 3}, 0, 0}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[128];
        double host[12];
        snprintf(path, sizeof path, "tests/arrays/%s.npy", files[f].file);
        HELD(mo_tensor) *T = mo_npy_read(s->ctx, path);
        assert_true(mo_ok(s->ctx));
        assert_int_equal(mo_tensor_dtype(T), files[f].dtype);
        assert_int_equal(mo_ndim(T), files[f].ndim);
        for (int a = 0; a < files[f].ndim; a++)
            assert_int_equal(mo_dim(T, a), files[f].shape[a]);
        HELD(mo_tensor) *wide = mo_tensor_create(s->ctx, MO_F64, files[f].ndim, files[f].shape);
        mo_tensor_copy(wide, T);
        assert_int_equal(mo_tensor_read(wide, host, (size_t)mo_numel(T) * sizeof *host), MO_OK);
        for (int64_t i = 0; i < mo_numel(T); i++)
            if (host[i] != files[f].scale * (double)i + files[f].first)
                fail_msg("%s: element %" PRId64 " is %g", path, i, host[i]);
    }
}

TEST_OF(booleans_become_bytes, scratch *s) {
    uint8_t host[6];
    HELD(mo_tensor) *T = mo_npy_read(s->ctx, "tests/arrays/b1.npy");
    assert_int_equal(mo_tensor_dtype(T), MO_U8);
    assert_int_equal(mo_tensor_read(T, host, sizeof host), MO_OK);
    assert_memory_equal(host, "\0\1\0\1\0\1", 6);
}

TEST_OF(unsigned_64_bit_numbers_fit_or_are_named, scratch *s) {
    static const char header[] = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,)}";
    uint64_t values[] = {7, INT64_MAX};
    int64_t host[2];
    bytes b = make_npy(header, values, sizeof values);
    HELD(mo_tensor) *T = mo_npy_decode(s->ctx, "npy: x", b.data, b.n);
    assert_int_equal(mo_tensor_read(T, host, sizeof host), MO_OK);
    assert_true(host[0] == 7 && host[1] == INT64_MAX);
    bytes_release(&b);
    values[1]++;
    b = make_npy(header, values, sizeof values);
    assert_true(mo_is_null(mo_npy_decode(s->ctx, "npy: x", b.data, b.n)));
    assert_failed(s->ctx, MO_UNSUPPORTED,
        PARTS("npy: x", "element 1", "expected an integer below 2^63", "found 9223372036854775808"));
    bytes_release(&b);
}

TEST_OF(dictionaries_may_vary_in_layout, scratch *s) {
    static const char *const headers[] = {"{'shape':(1,2),'descr':'<f4','fortran_order':False}",
        "{\"fortran_order\": False, \"shape\": (1, 2,), \"descr\": \"=f4\",}",
        " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 1 , 2 , ) , } \n\n",
        "{'descr':'<f4','fortran_order':True,'shape':(1L, 2L)}"};
    static const float values[] = {1, 2};
    for (int i = 0; i < 4; i++) {
        float host[2];
        HELD(bytes) b = make_npy(headers[i], values, sizeof values);
        HELD(mo_tensor) *T = mo_npy_decode(s->ctx, "npy: x", b.data, b.n);
        assert_int_equal(mo_tensor_read(T, host, sizeof host), MO_OK);
        assert_int_equal(mo_ndim(T), 2);
        assert_true(host[0] == 1 && host[1] == 2);
    }
}

TEST_OF(what_numpy_lacks_is_not_written, scratch *s) {
    HELD(mo_tensor) *T = mo_tensor_create(s->ctx, MO_BF16, 1, (int64_t[]){2});
    assert_int_equal(mo_npy_write(T, scratch_path(s, "a.npy")), MO_UNSUPPORTED);
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("a.npy", "bfloat16"));
    assert_int_equal(mo_npy_write(mo_null_tensor(s->ctx), s->path), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("a.npy", "null tensor"));
    assert_int_equal(mo_npy_write(NULL, s->path), MO_INVALID);
    assert_int_equal(scratch_files(s, true), 0);
}

/* Rows written in blocks make the same file as the whole array; if rows are missing or do not fit, there is no file. */
TEST_OF(rows_may_come_in_blocks, scratch *s) {
    float x[30];
    char whole[512], parts[512];
    for (int i = 0; i < 30; i++)
        x[i] = (float)i;
    snprintf(whole, sizeof whole, "%s", scratch_path(s, "whole.npy"));
    snprintf(parts, sizeof parts, "%s", scratch_path(s, "parts.npy"));
    HELD(mo_tensor) *all = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){10, 3}, x);
    mo_tensor *block[3];
    for (int i = 0; i < 3; i++) /* rows 0 .. 3, 4 .. 7, 8 .. 9 */
        block[i] = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){i < 2 ? 4 : 2, 3}, x + 12 * i);
    assert_int_equal(mo_npy_write(all, whole), MO_OK);
    mo_npy_writer *w = mo_npy_start(s->ctx, parts, MO_F32, 10, 3);
    for (int i = 0; i < 3; i++)
        assert_true(mo_npy_append(w, block[i]));
    assert_int_equal(mo_npy_finish(w), MO_OK);
    mo_file_bytes a, b;
    assert_true(mo_file_read(s->ctx, "a", whole, &a) && mo_file_read(s->ctx, "b", parts, &b));
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    mo_file_bytes_free(s->ctx, &a);
    mo_file_bytes_free(s->ctx, &b);
    unlink(whole);
    unlink(parts);
    w = mo_npy_start(s->ctx, parts, MO_F32, 10, 3);
    mo_npy_append(w, block[0]);
    assert_int_equal(mo_npy_finish(w), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("parts.npy", "expected 10 rows, found 4"));
    w = mo_npy_start(s->ctx, parts, MO_F32, 5, 3);
    assert_true(mo_npy_append(w, block[0]));
    assert_false(mo_npy_append(w, block[1]));
    assert_int_equal(mo_npy_finish(w), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("parts.npy", "expected float32 [1 or fewer, 3], found float32 [4, 3]"));
    assert_null(mo_npy_start(s->ctx, parts, MO_BF16, 5, 3));
    assert_failed(s->ctx, MO_INVALID, PARTS("bfloat16"));
    assert_null(mo_npy_start(s->ctx, "/nowhere/at/all.npy", MO_F32, 5, 3));
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere/at/all.npy"));
    assert_int_equal(scratch_files(s, true), 0);
    for (int i = 0; i < 3; i++)
        mo_tensor_release(block[i]);
}

/* An array of more than the 16 MiB that one copy takes, and a view with gaps between its rows. */
TEST_OF(large_and_strided_arrays_round_trip, scratch *s) {
    enum { ROWS = 3000, COLUMNS = 2000 };
    float *x = test_memory((size_t)ROWS * COLUMNS * sizeof *x), *y = test_memory((size_t)ROWS * COLUMNS * sizeof *y);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 100003);
    HELD(mo_tensor) *T = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){ROWS, COLUMNS}, x);
    assert_int_equal(mo_npy_write(T, scratch_path(s, "large.npy")), MO_OK);
    HELD(mo_tensor) *back = mo_npy_read(s->ctx, s->path);
    assert_int_equal(mo_tensor_read(back, y, (size_t)ROWS * COLUMNS * sizeof *y), MO_OK);
    assert_memory_equal(x, y, (size_t)ROWS * COLUMNS * sizeof *x);
    unlink(s->path);
    mo_tensor view = *T; /* its transpose */
    view.shape[0] = COLUMNS, view.shape[1] = ROWS;
    view.stride[0] = 1, view.stride[1] = COLUMNS;
    assert_int_equal(mo_npy_write(&view, scratch_path(s, "turned.npy")), MO_OK);
    HELD(mo_tensor) *turned = mo_npy_read(s->ctx, s->path);
    assert_int_equal(mo_tensor_read(turned, y, (size_t)ROWS * COLUMNS * sizeof *y), MO_OK);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_true(y[j * ROWS + i] == x[i * COLUMNS + j]);
    unlink(s->path);
}

/* ---- files that are cut or damaged ---- */

static void assert_refused(mo_context *ctx, bytes b, mo_code code, const char *const *parts) {
    assert_true(mo_is_null(mo_npy_decode(ctx, "npy: bad.npy", b.data, b.n)));
    assert_int_equal(strncmp(mo_context_status(ctx)->message, "npy: bad.npy", 12), 0);
    assert_failed(ctx, code, parts);
    bytes_release(&b);
}

TEST_OF(every_truncation_is_refused, scratch *s) {
    static const char *const files[] = {"f4", "version_2", "fortran_f4", "b1", "scalar"};
    for (int f = 0; f < 5; f++) {
        char path[64];
        snprintf(path, sizeof path, "tests/arrays/%s.npy", files[f]);
        assert_other_lengths_refused(
            s->ctx, assert_refused, read_bytes(path), PARTS("expected", "found"), PARTS("bytes of data for shape"));
    }
}
