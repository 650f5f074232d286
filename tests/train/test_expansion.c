/* tests/train/test_expansion.c - compressed files that unfold to far more than they are: refused at the stated limit,
 * before memory is asked for, and read where the limit is raised, with one copy of an array. */
#include "tests/crafted.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { LARGE = 80 << 20 };

/* An archive of one array of LARGE zeros, below 100 KB. */
static const char *write_zeros(scratch *s) {
    char dictionary[128];
    unsigned char *zeros = calloc(1, LARGE);
    assert_non_null(zeros);
    int n =
        snprintf(dictionary, sizeof dictionary, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n", LARGE);
    assert_true(n > 0);
    zip_member member = {.name = "zeros.npy", .content = make_npy(dictionary, zeros, LARGE), .method = 8};
    bytes file = make_zip(&member, 1);
    assert_true(file.n < 100000);
    scratch_write(s, "zeros.npz", file.data, file.n);
    bytes_release(&file);
    free(zeros);
    return s->path;
}

static const char *write_gzip(scratch *s, const char *name, const char *line, int64_t times, const char *end) {
    gzFile file = gzopen(scratch_path(s, name), "wb9");
    assert_non_null(file);
    for (int64_t i = 0; i < times; i++)
        assert_true(gzputs(file, line) > 0);
    assert_true(gzputs(file, end) > 0);
    assert_int_equal(gzclose(file), Z_OK);
    return s->path;
}

TEST(an_array_beyond_the_limit_is_refused) {
    scratch *s = *state;
    const char *path = write_zeros(s);
    mo_context_reset_peaks(s->ctx);
    int64_t before = mo_context_counters(s->ctx).bytes_live;
    assert_null(mo_npz_read(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT,
        PARTS("zeros.npz: member 'zeros': expected to unfold to at most", "(64 MiB and 32 times the file)",
            "--max-expand"));
    assert_true(mo_context_counters(s->ctx).bytes_peak - before < (1 << 20));
    scratch_files(s, true);
}

TEST(a_raised_limit_reads_it_with_one_copy) {
    scratch *s = *state;
    const char *path = write_zeros(s);
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .max_expand = 2000});
    mo_context_reset_peaks(ctx);
    int64_t before = mo_context_counters(ctx).bytes_live;
    mo_arrays *arrays = mo_npz_read(ctx, path);
    if (!arrays)
        fail_msg("%s", mo_context_status(ctx)->message);
    assert_int_equal(mo_numel(mo_arrays_find(arrays, "zeros")), LARGE);
    assert_true(mo_context_counters(ctx).bytes_peak - before < LARGE + (1 << 20));
    mo_arrays_release(arrays);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    scratch_files(s, true);
}

static char *long_line(size_t n) {
    char *line = malloc(n + 2);
    assert_non_null(line);
    memset(line, 'x', n);
    line[0] = '#';
    line[n] = '\n';
    line[n + 1] = '\0';
    return line;
}

TEST(a_text_beyond_the_limit_is_refused) {
    scratch *s = *state;
    char *line = long_line(9999);
    const char *path = write_gzip(s, "edges.txt.gz", line, LARGE / 10000, "0 1\n");
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("edges.txt.gz: expected to unfold to at most", "--max-expand"));
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .max_expand = 2000});
    mo_graph *graph = mo_graph_open(ctx, path);
    if (!graph)
        fail_msg("%s", mo_context_status(ctx)->message);
    assert_int_equal(graph->nodes, 2);
    mo_graph_release(graph);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    free(line);
    scratch_files(s, true);
}

/* Text that is not compressed is as long as it is. */
TEST(plain_text_has_no_such_limit) {
    scratch *s = *state;
    char *line = long_line(9999);
    FILE *file = fopen(scratch_path(s, "edges.txt"), "wb");
    assert_non_null(file);
    for (int i = 0; i < LARGE / 10000; i++)
        fputs(line, file);
    fputs("0 1\n", file);
    assert_int_equal(fclose(file), 0);
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .max_expand = 1e-9});
    mo_graph *graph = mo_graph_open(ctx, s->path);
    if (!graph)
        fail_msg("%s", mo_context_status(ctx)->message);
    mo_graph_release(graph);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    free(line);
    scratch_files(s, true);
}

TEST(a_line_without_end_is_refused) {
    scratch *s = *state;
    static const char *const names[] = {"line.txt.gz", "line.gml.gz"};
    char *line = long_line((size_t)20 << 20);
    for (int i = 0; i < 2; i++) {
        assert_null(mo_graph_open(s->ctx, write_gzip(s, names[i], line, 1, "0 1\n")));
        assert_failed(
            s->ctx, MO_FORMAT, PARTS(names[i], "expected lines of at most 16777216 bytes, found a longer one"));
    }
    free(line);
    scratch_files(s, true);
}
