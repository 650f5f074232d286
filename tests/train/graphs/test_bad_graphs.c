/* tests/train/graphs/test_bad_graphs.c - graph files in text form that are missing, cut short, damaged or contradict
 * themselves. */
#include "tests/bad_text.h"

#include <zlib.h>

static const fixtures around_all = {scratch_create, scratch_release};

TEST(missing_and_empty_paths_are_refused) {
    scratch *s = *state;
    assert_refused(s, "/nowhere/at/all.txt", MO_IO, PARTS("cannot open", "No such file"));
    assert_refused(s, "/nowhere/at/all.npz", MO_IO, PARTS("cannot open", "No such file"));
    assert_refused(s, "/dev/null", MO_IO, PARTS("expected a file or a folder"));
    assert_refused(s, scratch_write(s, "empty.txt", "", 0), MO_FORMAT, PARTS("expected a graph", "an empty file"));
    assert_refused(s, scratch_write(s, "empty.gz", "", 0), MO_FORMAT, PARTS("expected a graph", "an empty file"));
    assert_refused(s, s->folder, MO_FORMAT, PARTS("_A.txt", "found 0"));
}

TEST(zero_bytes_are_not_text) {
    scratch *s = *state;
    const char *path = scratch_write(s, "zero.txt", "1 2\n3 4\0 5\n", 11);
    assert_refused(s, path, MO_FORMAT, PARTS(":2:", "expected text", "a zero byte"));
}

/* Every beginning of the gzipped file is refused, and so is a wrong checksum. */
static void assert_gzip_guarded(scratch *s, const char *file) {
    bytes whole = read_bytes(file);
    for (size_t n = 3; n < whole.n; n++) {
        const char *path = scratch_write(s, "cut.txt.gz", whole.data, n);
        assert_refused(s, path, MO_FORMAT, PARTS("expected", "found"));
    }
    whole.data[whole.n - 5] ^= 1; /* in the CRC-32 */
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
    for (size_t n = 1; n + 1 < whole.n; n++) { /* the last line end may be missing */
        mo_graph *graph = mo_graph_open(s->ctx, scratch_write(s, "cut.txt", whole.data, n));
        assert_null(graph);
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.txt:", "expected", "found"));
    }
    bytes_release(&whole);
}

/* As Fingerprint has them: the labels file counts them, the indicator does not name them. */
TEST(tu_graphs_without_nodes_are_left_out) {
    scratch *s = *state;
    static const char *const files[][2] = {{"BAD_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n"},
        {"BAD_graph_indicator.txt", "2\n2\n5\n5\n"}, {"BAD_graph_labels.txt", "9\n1\n8\n8\n-1\n7\n"}};
    char number[24];
    for (int i = 0; i < 3; i++)
        scratch_write(s, files[i][0], files[i][1], strlen(files[i][1]));
    mo_graph *graph = mo_graph_open(s->ctx, s->folder);
    assert_non_null(graph);
    assert_int_equal(graph->graphs, 2);
    assert_memory_equal(graph->graph_offset, ((int64_t[]){0, 2, 4}), 3 * sizeof(int64_t));
    assert_int_equal(graph->classes, 2);
    assert_memory_equal(graph->label, ((int64_t[]){1, 0}), 2 * sizeof(int64_t));
    assert_string_equal(
        graph->left_out, "4 of the 6 graphs of BAD_graph_labels.txt, which have no nodes (the first in line 1)");
    assert_string_equal(mo_graph_example_name(graph, 1, number), "4"); /* line 5, from 0 */
    assert_int_equal(mo_graph_find_example(graph, "1"), 0);
    assert_int_equal(mo_graph_find_example(graph, "0"), -1);
    mo_graph_release(graph);
}

TEST(refusals_hold_no_memory) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}
