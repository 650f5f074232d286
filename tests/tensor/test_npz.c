/* tests/tensor/test_npz.c - .npz: round trips, and archives that NumPy wrote (tests/arrays), of tests/golden, of
 * train/data and of the available data sets. */
#include "tests/crafted.h"
#include "tests/data_at_hand.h"

#include <ftw.h>
#include <time.h>

static const fixtures around_all = {scratch_create, scratch_release}, around_each = {NULL, remove_files};

static void expect_round_trip(scratch *s, const mo_arrays *arrays) {
    assert_int_equal(mo_npz_write(arrays, scratch_path(s, "a.npz")), MO_OK);
    HELD(mo_arrays) *again = mo_npz_read(s->ctx, s->path);
    assert_non_null(again);
    assert_same_arrays(again, arrays);
}

TEST_OF(every_dtype_round_trips, scratch *s) {
    static const mo_dtype dtypes[] = {MO_F32, MO_F64, MO_I32, MO_I64, MO_U8, MO_F16};
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    for (int d = 0; d < 6; d++)
        for (int ndim = 0; ndim < 3; ndim++) {
            char name[32];
            snprintf(name, sizeof name, "layer.%s/%d", mo_dtype_name(dtypes[d]), ndim);
            mo_arrays_take(arrays, name, make_tensor(s->ctx, dtypes[d], ndim, (int64_t[]){7, 3}));
        }
    mo_arrays_take(arrays, "", mo_tensor_create(s->ctx, MO_F32, 2, (int64_t[]){0, 3}));
    mo_arrays_take(arrays, "h\xC3\xA9", make_tensor(s->ctx, MO_F32, 1, (int64_t[]){2}));
    expect_round_trip(s, arrays);
}

TEST_OF(an_archive_without_members_round_trips, scratch *s) {
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    expect_round_trip(s, arrays);
}

TEST_OF(equal_arrays_give_equal_bytes_in_every_time_zone, scratch *s) {
    static const char *const zones[] = {"UTC", "Pacific/Apia", "America/Los_Angeles"};
    bytes written[3];
    for (int i = 0; i < 3; i++) {
        setenv("TZ", zones[i], 1);
        tzset();
        HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
        mo_arrays_take(arrays, "x", make_tensor(s->ctx, MO_F32, 2, (int64_t[]){7, 3}));
        assert_int_equal(mo_npz_write(arrays, scratch_path(s, "a.npz")), MO_OK);
        written[i] = read_bytes(s->path);
        assert_int_equal(written[i].n, written[0].n);
        assert_memory_equal(written[i].data, written[0].data, written[0].n);
    }
    unsetenv("TZ");
    tzset();
    for (int i = 0; i < 3; i++)
        bytes_release(&written[i]);
}

static void assert_numpy_members(mo_context *ctx, const char *path) {
    HELD(mo_arrays) *arrays = mo_npz_read(ctx, path);
    float x[6];
    int32_t labels[6];
    assert_non_null(arrays);
    assert_int_equal(arrays->count, 3); /* the member `names` is text, which is skipped */
    assert_null(mo_arrays_find(arrays, "names"));
    assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "x"), x, sizeof x), MO_OK);
    assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "labels"), labels, sizeof labels), MO_OK);
    for (int i = 0; i < 6; i++)
        assert_true(x[i] == (float)(3 * i - 4) && labels[i] == 3 * i - 4);
    assert_true(mo_item(mo_arrays_find(arrays, "n")) == 7);
}

TEST_OF(stored_and_deflated_archives_of_numpy_are_read, scratch *s) {
    assert_numpy_members(s->ctx, "tests/arrays/stored.npz");
    assert_numpy_members(s->ctx, "tests/arrays/deflated.npz");
}

TEST_OF(zip64_sizes_are_read_from_either_header, scratch *s) {
    static const float values[] = {1, 2};
    for (int i = 0; i < 8; i++) {
        zip_member m = {.name = "x.npy", .method = i & 1 ? 8 : 0, .local64 = i & 2, .central64 = i & 4};
        m.content = make_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values, sizeof values);
        float host[2];
        HELD(bytes) b = make_zip(&m, 1);
        HELD(mo_arrays) *arrays = mo_npz_read(s->ctx, scratch_write(s, "a.npz", b.data, b.n));
        if (!arrays)
            fail_msg("variant %d: %s", i, mo_context_status(s->ctx)->message);
        assert_int_equal(mo_tensor_read(mo_arrays_find(arrays, "x"), host, sizeof host), MO_OK);
        assert_memory_equal(host, values, sizeof values);
    }
}

TEST_OF(names_are_taken_once, scratch *s) {
    HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(mo_arrays_take(arrays, name, make_tensor(s->ctx, MO_I32, 1, (int64_t[]){i})), MO_OK);
    }
    mo_arrays_take(arrays, "t7", make_tensor(s->ctx, MO_I32, 0, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("'t7'", "already"));
    mo_arrays_take(arrays, "null", mo_null_tensor(s->ctx));
    assert_failed(s->ctx, MO_INVALID, PARTS("'null'", "null tensor"));
    HELD(mo_context) *other = mo_context_create(NULL);
    mo_arrays_take(arrays, "other", make_tensor(other, MO_I32, 0, NULL));
    assert_failed(s->ctx, MO_MISMATCH, PARTS("'other'", "another context"));
    assert_int_equal(arrays->count, 20);
    assert_int_equal(mo_dim(mo_arrays_find(arrays, "t19"), 0), 19);
    assert_null(mo_arrays_find(arrays, "t20"));
    assert_null(mo_arrays_find(NULL, "t20"));
    mo_arrays_release(NULL);
}

/* State of read_archive, as nftw passes none. */
static mo_context *walk_context;
static int walk_archives, walk_arrays;

static int read_archive(const char *path, const struct stat *st, int type, struct FTW *where) {
    size_t n = strlen(path);
    if (type != FTW_F || n < 4 || strcmp(path + n - 4, ".npz") != 0)
        return 0;
    HELD(mo_arrays) *arrays = mo_npz_read(walk_context, path);
    if (!arrays)
        return 1;
    walk_archives++;
    walk_arrays += (int)arrays->count;
    return 0;
}

TEST_OF(every_archive_at_hand_is_read, scratch *s) {
    char root[560];
    walk_context = s->ctx;
    snprintf(root, sizeof root, "%s/.", data_at_hand()); /* with /. as the folder can be a link */
    nftw(root, read_archive, 16, FTW_PHYS);
    nftw("tests/golden", read_archive, 16, FTW_PHYS);
    nftw("train/data", read_archive, 16, FTW_PHYS);
    expect_ok(s->ctx);
    print_message("read %d archives of %d arrays\n", walk_archives, walk_arrays);
    assert_true(walk_archives >= 10 + 9); /* at least those of tests/golden and the embedded graphs */
}
