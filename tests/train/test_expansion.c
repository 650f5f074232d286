/* tests/train/test_expansion.c - an archive that expands to far more than its size: refused at the stated limit, before
 * memory is allocated; read if the limit is raised, with one copy of each array. tests/cli/arrays.cases has text
 * files. */
#include "tests/crafted.h"

enum { LARGE = 80 << 20 };

/* Writes an archive of one array of LARGE zeros, below 100 KB. */
static const char *write_zeros(scratch *s) {
    char dictionary[128];
    HELD_MEMORY unsigned char *zeros = calloc(1, LARGE);
    assert_non_null(zeros);
    int n =
        snprintf(dictionary, sizeof dictionary, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n", LARGE);
    assert_true(n > 0);
    zip_member member = {.name = "zeros.npy", .content = make_npy(dictionary, zeros, LARGE), .method = 8};
    HELD(bytes) file = make_zip(&member, 1);
    assert_true(file.n < 100000);
    scratch_write(s, "zeros.npz", file.data, file.n);
    return s->path;
}

TEST_OF(an_array_beyond_the_limit_is_refused, scratch *s) {
    const char *path = write_zeros(s);
    mo_context_reset_peaks(s->ctx);
    int64_t before = mo_context_counters(s->ctx).bytes_live;
    assert_null(mo_npz_read(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT,
        PARTS("zeros.npz: member 'zeros': expected to unfold to at most", "(64 MiB and 32 times the file)",
            "--max-expand"));
    assert_true(mo_context_counters(s->ctx).bytes_peak - before < (1 << 20));
}

TEST_OF(a_raised_limit_reads_it_with_one_copy, scratch *s) {
    const char *path = write_zeros(s);
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .max_expand = 2000});
    mo_context_reset_peaks(ctx);
    int64_t before = mo_context_counters(ctx).bytes_live;
    HELD(mo_arrays) *arrays = mo_npz_read(ctx, path);
    expect_ok(ctx);
    assert_int_equal(mo_numel(mo_arrays_find(arrays, "zeros")), LARGE);
    assert_true(mo_context_counters(ctx).bytes_peak - before < LARGE + (1 << 20));
}
