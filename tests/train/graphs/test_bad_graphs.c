/* tests/train/graphs/test_bad_graphs.c - truncated and damaged graph files in text formats. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

static void assert_refused(scratch *s, const char *path, mo_code code, const char *const *parts) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (graph)
        fail_msg("expected %s to be refused (%s)", path, parts[0]);
    assert_int_equal(strncmp(mo_context_status(s->ctx)->message, path, strlen(path)), 0);
    assert_failed(s->ctx, code, parts);
}

/* Every truncation of a gzipped file is refused, and so is a wrong checksum. */
static void assert_gzip_guarded(scratch *s, const char *file) {
    bytes whole = read_bytes(file);
    for (size_t n = 3; n < whole.n; n++) {
        const char *path = scratch_write(s, "cut.txt.gz", whole.data, n);
        assert_refused(s, path, MO_FORMAT, PARTS("expected", "found"));
    }
    whole.data[whole.n - 5] ^= 1; /* a bit of the CRC-32 */
    const char *path = scratch_write(s, "flipped.txt.gz", whole.data, whole.n);
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS(path));
    bytes_release(&whole);
}

TEST(truncated_and_flipped_gzip_is_refused) {
    assert_gzip_guarded(*state, "tests/graphs/edges.txt.gz");
    assert_gzip_guarded(*state, "tests/graphs/lists.txt.gz");
}

TEST(every_beginning_of_an_adjacency_list_is_refused) {
    scratch *s = *state;
    bytes whole = read_bytes("tests/graphs/lists.txt");
    for (size_t n = 1; n + 1 < whole.n; n++) { /* without the last byte, a line end, the file is valid */
        mo_graph *graph = mo_graph_open(s->ctx, scratch_write(s, "cut.txt", whole.data, n));
        assert_null(graph);
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.txt:", "expected", "found"));
    }
    bytes_release(&whole);
}

TEST(refusals_hold_no_memory) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}
