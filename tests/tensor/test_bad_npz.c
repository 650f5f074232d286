/* tests/tensor/test_bad_npz.c - .npz files that are damaged, contradict themselves or hold members that cannot be
 * read. */
#include "tensor/objects.h"
#include "tests/crafted.h"

static const fixtures around_all = {scratch_create, scratch_release}, around_each = {NULL, remove_files};

static const char x_header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";

static bytes make_x(void) {
    return make_npy(x_header, "12345678", 8);
}

static void assert_refused(mo_context *ctx, bytes b, mo_code code, const char *const *parts) {
    assert_null(mo_npz_decode(ctx, "npz: bad.npz", b.data, b.n));
    assert_int_equal(strncmp(mo_context_status(ctx)->message, "npz: bad.npz: ", 14), 0);
    assert_failed(ctx, code, parts);
    bytes_release(&b);
}

static const char *const files[] = {"tests/arrays/stored.npz", "tests/arrays/deflated.npz"};

TEST_OF(every_truncation_is_refused, scratch *s) {
    for (int f = 0; f < 2; f++)
        assert_other_lengths_refused(
            s->ctx, assert_refused, read_bytes(files[f]), PARTS("expected"), PARTS("expected a whole zip archive"));
}

TEST_OF(every_flipped_bit_is_refused_or_harmless, scratch *s) {
    for (int f = 0; f < 2; f++) {
        int refused = 0, crc = 0;
        HELD(bytes) b = read_bytes(files[f]);
        HELD(mo_arrays) *right = mo_npz_decode(s->ctx, "npz: right.npz", b.data, b.n);
        assert_non_null(right);
        for (size_t bit = 0; bit < 8 * b.n; bit++) {
            b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            HELD(mo_arrays) *arrays = mo_npz_decode(s->ctx, "npz: bad.npz", b.data, b.n);
            if (arrays) { /* the flipped bit is in a time or an attribute, which is not read */
                assert_same_arrays(arrays, right);
            } else {
                refused++;
                crc += strstr(mo_context_status(s->ctx)->message, "CRC-32") != NULL;
                mo_clear_error(s->ctx);
            }
            b.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        print_message("%s: %d of %zu flipped bits refused, %d by CRC-32\n", files[f], refused, 8 * b.n, crc);
        assert_true(crc > (f == 0 ? 8 * (152 + 134 + 144 + 136) - 1 : 0)); /* a stored archive: CRC-32 finds every
                                                                            * flipped bit of its members */
    }
}

TEST_OF(a_wrong_crc_names_file_and_member, scratch *s) {
    for (int method = 0; method <= 8; method += 8) {
        zip_member m = {.name = "x.npy", .content = make_x(), .method = method, .crc_flip = 1};
        assert_refused(s->ctx, make_zip(&m, 1), MO_FORMAT, PARTS("member 'x'", "damaged: expected CRC-32", "found"));
    }
}

TEST_OF(sizes_that_are_wrong_are_refused, scratch *s) {
    for (int method = 0; method <= 8; method += 8)
        for (int more = -1; more <= 1; more += 2) {
            zip_member m = {.name = "x.npy", .content = make_x(), .method = method, .size_more = more};
            assert_refused(s->ctx, make_zip(&m, 1), MO_FORMAT, PARTS("member 'x'"));
        }
    for (int method = 0; method <= 8; method += 8) { /* a claimed size alone must not allocate memory */
        int64_t peak = mo_context_counters(s->ctx).bytes_peak;
        zip_member m = {.name = "x.npy", .content = make_x(), .method = method, .local64 = true, .central64 = true};
        m.size_more = (int64_t)1 << 45;
        assert_refused(s->ctx, make_zip(&m, 1), MO_FORMAT, PARTS("member 'x'", "expected to unfold to at most"));
        assert_true(mo_context_counters(s->ctx).bytes_peak < peak + 100000);
    }
}

TEST_OF(a_bomb_is_refused_without_its_memory, scratch *s) {
    size_t n = (size_t)100 << 20;
    bytes bomb = make_x();
    bomb.data = realloc(bomb.data, n);
    assert_non_null(bomb.data);
    memset(bomb.data + bomb.n, 0, n - bomb.n);
    bomb.n = n;
    int64_t peak = mo_context_counters(s->ctx).bytes_peak;
    s->ctx->max_expand = 2000; /* so large that only the array's own check can fail */
    zip_member m = {.name = "x.npy", .content = bomb, .method = 8};
    assert_refused(s->ctx, make_zip(&m, 1), MO_FORMAT,
        PARTS("member 'x'", "expected 8 bytes of data for shape [2] of '<f4', found 1048575"));
    assert_true(mo_context_counters(s->ctx).bytes_peak < peak + 100000);
    s->ctx->max_expand = 32;
}

/* Returns the offset of the central directory of an archive. */
static size_t central_start(bytes b) {
    const unsigned char *end = b.data + b.n - 22;
    return (size_t)(end[16] | end[17] << 8);
}

/* Makes an archive in which the data of member a are the local header and content of member b. Each member is valid,
 * but many such members expand to far more than the file, which no check of a single member can see. */
static bytes make_nested(void) {
    static const char zeros[1000];
    char dictionary[96];
    zip_member b = {.name = "b.npy"};
    b.content = make_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1000,)}", zeros, sizeof zeros);
    HELD(bytes) inner = make_zip(&b, 1);
    size_t inner_start = central_start(inner);
    snprintf(dictionary, sizeof dictionary, "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,)}", inner_start);
    zip_member a = {.name = "a.npy", .content = make_npy(dictionary, inner.data, inner_start)};
    bytes outer = make_zip(&a, 1), whole = {0};
    size_t start = central_start(outer), central = outer.n - 22 - start;
    uint32_t offset = (uint32_t)(start - inner_start);
    memcpy(inner.data + inner_start + 42, &offset, 4);
    bytes_append(&whole, outer.data, outer.n - 22);
    bytes_append(&whole, inner.data + inner_start, inner.n - 22 - inner_start);
    bytes_append(&whole, "PK\x05\x06\0\0\0\0\2\0\2\0", 12);
    bytes_append_number(&whole, central + inner.n - 22 - inner_start, 4);
    bytes_append_number(&whole, start, 4);
    bytes_append_number(&whole, 0, 2);
    bytes_release(&outer);
    return whole;
}

TEST_OF(members_cannot_share_their_bytes, scratch *s) {
    zip_member m[2] = {{.name = "a.npy", .content = make_x()}, {.name = "b.npy", .content = make_x()}};
    bytes b = make_zip(m, 2);
    memcpy(b.data + central_start(b) + 46 + 5 + 42, "\0\0\0\0", 4); /* moves the second member to the start of the
                                                                     * first */
    assert_refused(s->ctx, b, MO_FORMAT, PARTS("expected a whole zip archive"));
    assert_refused(
        s->ctx, make_nested(), MO_FORMAT, PARTS("member 'b'", "compressed bytes, found", "left in the file"));
}

TEST_OF(names_end_in_npy_and_occur_once, scratch *s) {
    char name[400];
    memset(name, 'n', sizeof name);
    strcpy(name + sizeof name - 5, ".npy");
    zip_member other = {.name = "notes.txt", .content = make_x()};
    assert_refused(s->ctx, make_zip(&other, 1), MO_FORMAT, PARTS("member 'notes.txt'", "ends in .npy"));
    zip_member folder = {.name = "folder/", .content = {0}};
    assert_refused(s->ctx, make_zip(&folder, 1), MO_FORMAT, PARTS("member 'folder/'", "ends in .npy"));
    zip_member lengthy = {.name = name, .content = make_x()};
    assert_refused(s->ctx, make_zip(&lengthy, 1), MO_FORMAT, PARTS("at most 255 bytes"));
    zip_member m[2] = {{.name = "a.npy", .content = make_x()}, {.name = "a.npy", .content = make_x()}};
    assert_refused(s->ctx, make_zip(m, 2), MO_FORMAT, PARTS("member 'a'", "every name once"));
    zip_member control = {.name = "a\n\x7F.npy", .content = make_npy("{", "", 0)};
    assert_refused(s->ctx, make_zip(&control, 1), MO_FORMAT, PARTS("member 'a?"));
}

TEST_OF(methods_that_cannot_be_read_are_named, scratch *s) {
    zip_member bzip2 = {.name = "x.npy", .content = make_x(), .method = 12};
    assert_refused(s->ctx, make_zip(&bzip2, 1), MO_UNSUPPORTED, PARTS("member 'x'", "found zip method 12"));
    zip_member secret = {.name = "x.npy", .content = make_x(), .encrypted = true};
    assert_refused(s->ctx, make_zip(&secret, 1), MO_UNSUPPORTED, PARTS("member 'x'", "encrypted"));
}

TEST_OF(members_are_checked_as_npy, scratch *s) {
    static const struct {
        const char *dictionary;
        mo_code code;
        const char *parts[4];
    } cases[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", MO_UNSUPPORTED,
            {"npz: bad.npz: member 'x' holds Python objects"}},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", MO_UNSUPPORTED, {"member 'x'", "found '<c8'"}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", MO_FORMAT,
            {"member 'x'", "expected 12 bytes of data for shape"}},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", MO_FORMAT,
            {"member 'x'", "expected 12 bytes of data for shape"}}, /* text is skipped only if it is whole */
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (-2,)}", MO_FORMAT, {"member 'x'", "a size of 0 or more"}},
        {"hello", MO_FORMAT, {"member 'x'", "npy header", "expected '{', found 'hello'"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zip_member m = {.name = "x.npy", .content = make_npy(cases[i].dictionary, "12345678", 8)};
        assert_refused(s->ctx, make_zip(&m, 1), cases[i].code, cases[i].parts);
    }
    zip_member empty = {.name = "x.npy"};
    assert_refused(s->ctx, make_zip(&empty, 1), MO_FORMAT, PARTS("member 'x'", "expected an .npy array", "found ''"));
}
