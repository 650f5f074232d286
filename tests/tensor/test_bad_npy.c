/* tests/tensor/test_bad_npy.c - .npy files that contradict their headers: each gives one line that says what was
 * expected. */
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

TEST(claims_that_the_bytes_do_not_hold_are_refused) {
    scratch *s = *state;
    static const struct {
        const char *dictionary;
        mo_code code;
        const char *parts[4];
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000)}", MO_FORMAT,
            {"expected 4000000000000 bytes of data for shape [1000000, 1000000] of '<f4', found 8"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", MO_FORMAT,
            {"found [4294967296, 4294967296] of '<f4', which overflows, and 8 bytes"}},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,)}", MO_FORMAT, {"overflows"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", MO_FORMAT, {"overflows"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", MO_FORMAT,
            {"expected a size below 2^63", "found '9223372036854775"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", MO_FORMAT,
            {"expected a size of 0 or more", "found '-2,)}'"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", MO_FORMAT,
            {"expected ',' or ')'", "found '.0,)"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", MO_FORMAT,
            {"expected 0 bytes of data for shape [0]"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", MO_FORMAT,
            {"expected 4 bytes of data for shape [1]"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 2)}", MO_UNSUPPORTED,
            {"expected at most 6 axes, found more"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(s->ctx, make_npy(cases[i].dictionary, "12345678", 8), cases[i].code, cases[i].parts);
}

TEST(dtypes_that_are_no_numbers_are_named) {
    scratch *s = *state;
    static const struct {
        const char *descr;
        mo_code code;
        const char *parts[4];
    } cases[] = {
        {"'|O'", MO_UNSUPPORTED, {"npy: bad.npy holds Python objects", "found dtype '|O'"}},
        {"'O'", MO_UNSUPPORTED, {"holds Python objects", "numbers labels"}},
        {"'<U5'", MO_UNSUPPORTED, {"holds text ('<U5')", "unique(y, return_inverse=True)[1] numbers labels"}},
        {"'<c8'", MO_UNSUPPORTED, {"expected a boolean, integer or real dtype of at most 64 bits, found '<c8'"}},
        {"'<f16'", MO_UNSUPPORTED, {"found '<f16'"}},
        {"'<i3'", MO_UNSUPPORTED, {"found '<i3'"}},
        {"'<f0'", MO_UNSUPPORTED, {"found '<f0'"}},
        {"'<U2'", MO_UNSUPPORTED, {"holds text ('<U2')"}},
        {"'|S8'", MO_UNSUPPORTED, {"holds text ('|S8')"}},
        {"'|V8'", MO_UNSUPPORTED, {"found '|V8'"}},
        {"'<M8[D]'", MO_UNSUPPORTED, {"found '<M8[D]'"}},
        {"'<M\n8[D]'", MO_FORMAT, {"expected a dtype such as '<f4', found ''<M?8[D]"}},
        {"'O\033[2J'", MO_FORMAT, {"expected a dtype such as '<f4', found ''O?[2J"}},
        {"[('x', '<f4'), ('y', '<i4')]", MO_UNSUPPORTED, {"found a structured dtype"}},
        {"'<q8'", MO_FORMAT, {"byte 10", "expected a dtype such as '<f4', found ''<q8'"}},
        {"'f4'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"'|f4'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"'<f4x'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"'<'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"''", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"'<f99999999999999999999'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"'<f4444444444444444444444444444444444444'", MO_FORMAT, {"expected a dtype such as '<f4'"}},
        {"4", MO_FORMAT, {"expected a dtype such as '<f4', found '4"}},
        {"'<f4", MO_FORMAT, {"expected"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dictionary[160];
        snprintf(dictionary, sizeof dictionary, "{'descr': %s, 'fortran_order': False, 'shape': (1,)}", cases[i].descr);
        assert_refused(s->ctx, make_npy(dictionary, "12345678", 8), cases[i].code, cases[i].parts);
    }
}

TEST(dictionaries_of_another_form_are_refused) {
    scratch *s = *state;
    static const struct {
        const char *dictionary, *part;
    } cases[] = {
        {"", "byte 0: expected '{', found its end"},
        {"{", "expected the key descr, fortran_order or shape, found its end"},
        {"{}", "expected the key 'descr', found none"},
        {"{'descr': '<f4', 'shape': (2,)}", "expected the key 'fortran_order', found none"},
        {"{'descr': '<f4', 'fortran_order': False}", "expected the key 'shape', found none"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "expected every key once"},
        {"{'dtype': '<f4', 'fortran_order': False, 'shape': (2,)}", "expected the key descr, fortran_order or shape"},
        {"{descr: '<f4', 'fortran_order': False, 'shape': (2,)}", "expected the key descr, fortran_order or shape"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}", "expected ':', found ''<f4'"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", "expected ',' or '}'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "expected True or False, found '0"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "expected the tuple of the shape, found '2}'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", "expected a tuple, '(n,)', found '}'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "expected a size of 0 or more, found ',)}'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "expected ',' or ')', found '3)}'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "found its end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", "expected ',' or '}', found its end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
            "expected spaces after the dictionary, found 'x'"},
        {"{'descr': '<\xFF\x34', 'fortran_order': False, 'shape': (2,)}",
            "expected a dtype such as '<f4', found ''<?4'"},
        {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (2,)}", "expected a dtype such as '<f4'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(s->ctx, make_npy(cases[i].dictionary, "12345678", 8), MO_FORMAT, PARTS(cases[i].part));
}

TEST(other_beginnings_are_refused) {
    scratch *s = *state;
    static const struct {
        const char *start;
        size_t n;
        mo_code code;
        const char *part;
    } cases[] = {
        {"PK\3\4 this is a zip", 18, MO_FORMAT, "expected an .npy array, found a zip archive: one of NumPy's is named"},
        {"0\n1\n2\n", 6, MO_FORMAT, "expected an .npy array, found text: NumPy's save("},
        {"\1\2 bytes", 8, MO_FORMAT, "expected an .npy array (it begins with \\x93NUMPY), found '?? byt'"},
        {"\x93NUMPX\1\0\0\0\0\0", 12, MO_FORMAT, "expected an .npy array"},
        {"\x93NUMPY\4\0\0\0\0\0", 12, MO_UNSUPPORTED, "expected npy version 1.0, 2.0 or 3.0, found 4.0"},
        {"\x93NUMPY\1\1\0\0\0\0", 12, MO_UNSUPPORTED, "found 1.1"},
        {"\x93NUMPY\0\0\0\0\0\0", 12, MO_UNSUPPORTED, "found 0.0"},
        {"\x93NUMPY\1\0\xFF\xFF{}", 12, MO_FORMAT, "expected 65535 bytes of npy header, found 2"},
        {"\x93NUMPY\2\0\xFF\xFF\xFF\xFF{}", 14, MO_FORMAT, "expected 4294967295 bytes of npy header, found 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = {0};
        bytes_append(&b, cases[i].start, cases[i].n);
        assert_refused(s->ctx, b, cases[i].code, PARTS(cases[i].part));
    }
}

TEST(a_boolean_is_0_or_1) {
    scratch *s = *state;
    static const char dictionary[] = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}";
    assert_refused(s->ctx, make_npy(dictionary, "\0\1\2", 3), MO_FORMAT,
        PARTS("element 2: expected a boolean of 0 or 1, found 2"));
}

TEST(files_that_cannot_be_read_are_named) {
    scratch *s = *state;
    assert_true(mo_is_null(mo_npy_read(s->ctx, scratch_path(s, "missing.npy"))));
    assert_failed(s->ctx, MO_IO, PARTS("npy: ", "missing.npy", "No such file"));
    assert_true(mo_is_null(mo_npy_read(s->ctx, s->folder)));
    assert_failed(s->ctx, MO_IO, PARTS(s->folder, "expected a file, found a directory"));
    assert_true(mo_is_null(mo_npy_read(s->ctx, scratch_write(s, "empty.npy", "", 0))));
    assert_failed(s->ctx, MO_FORMAT, PARTS("empty.npy", "the file is empty"));
    assert_true(mo_is_null(mo_npy_read(s->ctx, scratch_write(s, "line\nbreak", "x", 1))));
    assert_failed(s->ctx, MO_FORMAT, PARTS("line?break", "found text"));
    assert_true(mo_is_null(mo_npy_read(s->ctx, "tests/arrays/object.npy")));
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("tests/arrays/object.npy holds Python objects"));
    scratch_files(s, true);
}

TEST(long_paths_leave_room_for_the_reason) {
    scratch *s = *state;
    char path[4200];
    memset(path, 'd', sizeof path);
    strcpy(path + sizeof path - 10, "/last.npy");
    assert_true(mo_is_null(mo_npy_read(s->ctx, path)));
    assert_failed(s->ctx, MO_IO, PARTS("npy: ...dd", "/last.npy: cannot open: File name too long"));
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
