/* tests/train/graphs/test_bad_graphs.c - graph files in text form that are missing, cut short, damaged or contradict
 * themselves. */
#include "tests/bad_text.h"

#include <zlib.h>

static void damaged_edge_lists_are_refused(void **state) {
    static const bad_text texts[] = {
        {"# only\n# comments\n", ":", "two node ids", "no edge in 2 lines"},
        {"1 2\n2 three\n", ":2:", "a node id", "\"three\""},
        {"1 2\n3 4x\n", ":2:", "a node id (an integer)", "\"4x\""},
        {"1 -2\n", ":1:", "0..9007199254740992", "\"-2\""},
        {"1 2\n\n9007199254740993 1\n", ":3:", "at most 2^53", "\"9007199254740993\""},
        {"1 99999999999999999999999999999999\n", ":1:", "at most 2^53", "\"999999999999999999999999...\""},
        {"1 2\n5\n", ":2:", "a node id", "the end of the line"},
        {"1 2 3\n", ":1:", "edge weights are unsupported: keep two columns", "\"3\""},
        {"1,2\n", ":1:", "a node id", "\",2\""},
        {"1.5 2\n", ":1:", "a node id", "\"1.5\""},
        {"+1 2\n", ":1:", "a node id", "\"+1\""},
        {"- 2\n", ":1:", "a node id", "\"-\""},
        {"\xff\xfe\x01 2\n", ":1:", "names in UTF-8", ""}, /* words are names */
        {"PK\n", ":1:", "the names of two nodes", "the end of the line"},
    };
    assert_texts_refused(*state, "bad.txt", texts, sizeof texts / sizeof *texts);
}

static void damaged_adjacency_lists_are_refused(void **state) {
    static const bad_text texts[] = {
        {"1\n", ":2:", "\"nodes class\" of a graph", "the end of the file"},
        {"0\n", ":1:", "the number of graphs (an integer in 1..", "\"0\""},
        {"1\n2 0\n0 1 1\n", ":4:", "the line of a node", "the end of the file"},
        {"2\n1 0\n0 0\n", ":4:", "\"nodes class\" of a graph", "the end of the file"},
        {"1\n2\n", ":2:", "the class of a graph", "the end of the line"},
        {"1\n0 1\n", ":2:", "the number of nodes of a graph (an integer in 1..", "\"0\""},
        {"1\n99999999999 0\n", ":2:", "the number of nodes of a graph (an integer in 1..2147483646)",
            "\"99999999999\""},
        {"1\n2 0 0\n", ":2:", "the end of the line", "\"0\""},
        {"1\n2 0\n0 2 1\n0 1 0\n", ":3:", "as many neighbours as the degree says", "the end of the line"},
        {"1\n2 0\n0 0 1\n0 1 0\n", ":3:", "as many neighbours as the degree says", "\"1\""},
        {"1\n2 0\n0 3 1 1 1\n0 1 0\n", ":3:", "the degree of a node (an integer in 0..2)", "\"3\""},
        {"1\n2 0\n0 -1\n0 1 0\n", ":3:", "the degree of a node", "\"-1\""},
        {"1\n2 0\n0 1 2\n0 1 0\n", ":3:", "(an integer in 0..1)", "\"2\""},
        {"1\n2 0\n0 1 -1\n0 1 0\n", ":3:", "(an integer in 0..1)", "\"-1\""},
        {"1\n2 0\n0 1 b\n0 1 0\n", ":3:", "as many neighbours", "\"b\""},
        {"1\n2 0\na 1 1\n0 1 0\n", ":3:", "the tag of a node", "\"a\""},
        {"1\n2 0\n0 1 1\n0 1 0\n\n3\n", ":6:", "the end of the file after the last graph", "\"3\""},
    };
    assert_texts_refused(*state, "bad.txt", texts, sizeof texts / sizeof *texts);
}

static void missing_and_empty_paths_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(s, "/nowhere/at/all.txt", MO_IO, PARTS("cannot open", "No such file"));
    assert_refused(s, "/nowhere/at/all.npz", MO_IO, PARTS("cannot open", "No such file"));
    assert_refused(s, "/dev/null", MO_IO, PARTS("expected a file or a folder"));
    assert_refused(s, scratch_write(s, "empty.txt", "", 0), MO_FORMAT, PARTS("expected a graph", "an empty file"));
    assert_refused(s, scratch_write(s, "empty.gz", "", 0), MO_FORMAT, PARTS("expected a graph", "an empty file"));
    assert_refused(s, s->folder, MO_FORMAT, PARTS("_A.txt", "found 0"));
}

static void zero_bytes_are_not_text(void **state) {
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

static void truncated_and_flipped_gzip_is_refused(void **state) {
    assert_gzip_guarded(*state, "tests/graphs/edges.txt.gz");
    assert_gzip_guarded(*state, "tests/graphs/lists.txt.gz");
}

static void every_beginning_of_an_adjacency_list_is_refused(void **state) {
    scratch *s = *state;
    bytes whole = read_bytes("tests/graphs/lists.txt");
    for (size_t n = 1; n + 1 < whole.n; n++) { /* the last line end may be missing */
        mo_graph *graph = mo_graph_open(s->ctx, scratch_write(s, "cut.txt", whole.data, n));
        assert_null(graph);
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.txt:", "expected", "found"));
    }
    bytes_release(&whole);
}

/* ---- TU folders ---- */

/* The files of a set of two graphs; NULL leaves one out. */
typedef struct tu_files {
    const char *edges, *indicator, *graph_labels, *node_labels, *attributes;
} tu_files;

static const tu_files right_tu = {
    "1, 2\n2, 1\n3, 4\n4, 3\n", "1\n1\n2\n2\n", "1\n-1\n", "0\n1\n1\n0\n", " 0.5, -1e3\n2,0\n0.0,\t4\r\n-1 , 7\n\n"};

static void write_tu(scratch *s, tu_files files, bool removed) {
    static const char *const endings[] = {"A", "graph_indicator", "graph_labels", "node_labels", "node_attributes"};
    const char *contents[] = {files.edges, files.indicator, files.graph_labels, files.node_labels, files.attributes};
    char folder[400], name[100];
    snprintf(folder, sizeof folder, "%s/TU", s->folder);
    mkdir(folder, 0700);
    for (int k = 0; k < 5; k++) {
        snprintf(name, sizeof name, "TU/BAD_%s.txt", endings[k]);
        remove(scratch_path(s, name));
        if (!removed && contents[k])
            scratch_write(s, name, contents[k], strlen(contents[k]));
    }
    scratch_path(s, "TU");
    if (removed)
        rmdir(s->path);
}

/* file: the ending of the file that is to blame, with ":LINE:" or ":". */
static void assert_tu_refused(scratch *s, tu_files files, mo_code code, const char *const *parts) {
    write_tu(s, files, false);
    assert_refused(s, s->path, code, parts);
    write_tu(s, files, true);
}

static void the_tu_folder_that_the_tests_damage_is_right(void **state) {
    scratch *s = *state;
    write_tu(s, right_tu, false);
    mo_graph *graph = mo_graph_open(s->ctx, s->path);
    assert_non_null(graph);
    assert_int_equal(graph->nnz, 4);
    assert_int_equal(graph->features, 4);
    assert_int_equal(graph->attributes, 2);
    mo_graph_release(graph);
    tu_files files = right_tu;
    files.node_labels = NULL; /* the files that a set need not have */
    for (int attributes = 2; attributes >= 0; attributes -= 2) {
        write_tu(s, files, false);
        graph = mo_graph_open(s->ctx, s->path);
        assert_non_null(graph);
        assert_int_equal(graph->features, attributes);
        assert_int_equal(graph->attributes, attributes);
        mo_graph_release(graph);
        files.attributes = NULL;
    }
    write_tu(s, files, true);
}

static void tu_folders_lacking_a_file_are_refused(void **state) {
    scratch *s = *state;
    tu_files files = right_tu;
    files.edges = NULL;
    assert_tu_refused(s, files, MO_FORMAT, PARTS("expected one file that ends in _A.txt", "found 0"));
    files = right_tu;
    files.indicator = NULL;
    assert_tu_refused(s, files, MO_IO, PARTS("BAD_graph_indicator.txt: cannot open"));
    files = right_tu;
    files.graph_labels = NULL;
    assert_tu_refused(s, files, MO_IO, PARTS("BAD_graph_labels.txt: cannot open"));
    write_tu(s, right_tu, false);
    scratch_write(s, "TU/ALSO_A.txt", "1, 2\n", 5);
    assert_refused(s, scratch_path(s, "TU"), MO_FORMAT, PARTS("expected one file that ends in _A.txt", "found 2"));
    remove(scratch_path(s, "TU/ALSO_A.txt"));
    write_tu(s, right_tu, true);
}

static void damaged_tu_edges_are_refused(void **state) {
    static const bad_text texts[] = {
        {"1, 2\n2, 3\n", "BAD_A.txt:2:", "an edge within one graph", "2 (graph 1), 3 (graph 2)"},
        {"1, 5\n", "BAD_A.txt:1:", "a node (an integer in 1..4)", "\"5\""},
        {"0, 1\n", "BAD_A.txt:1:", "a node (an integer in 1..4)", "\"0,\""},
        {"1, 2\n-1, 2\n", "BAD_A.txt:2:", "a node", "\"-1,\""},
        {"1 2\n", "BAD_A.txt:1:", "a comma", "\"2\""},
        {"1, 2, 3\n", "BAD_A.txt:1:", "the end of the line", "\",\""},
        {"1, 2\n2,", "BAD_A.txt:2:", "a node", "the end of the line"},
        {"1, two\n", "BAD_A.txt:1:", "a node", "\"two\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tu_files files = right_tu;
        files.edges = texts[i].content;
        assert_tu_refused(*state, files, MO_FORMAT, PARTS(texts[i].place, texts[i].expected, texts[i].found));
    }
}

static void damaged_tu_indicators_are_refused(void **state) {
    static const bad_text texts[] = {
        {"", ":", "the graph of a node", "an empty file"},
        {"2\n2\n3\n3\n", "BAD_graph_labels.txt:", "3 lines or more (as NAME_graph_indicator.txt says)", "found 2"},
        {"0\n0\n1\n1\n", "_graph_indicator.txt:1:", "expected graph 1 or a later one", "found 0"},
        {"1\n2\n1\n2\n", ":3:", "expected graph 2 or a later one", "found 1"},
        {"1\n1\n9007199254740992\n9007199254740992\n", "BAD_graph_labels.txt:", "9007199254740992 lines", "found 2"},
        {"1\n1\n2\nx\n", ":4:", "the graph of a node", "\"x\""},
        {"1\n\n2\n2\n", ":3:", "the end of the file after a blank line", "\"2\""},
        {"1\n1\n2\n", "_A.txt:3:", "a node (an integer in 1..3)", "\"4\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tu_files files = right_tu;
        files.indicator = texts[i].content;
        assert_tu_refused(*state, files, MO_FORMAT, PARTS(texts[i].place, texts[i].expected, texts[i].found));
    }
}

/* As Fingerprint has them: the labels file counts them, the indicator does not name them. */
static void tu_graphs_without_nodes_are_left_out(void **state) {
    scratch *s = *state;
    tu_files files = right_tu;
    char number[24];
    files.indicator = "2\n2\n5\n5\n";
    files.graph_labels = "9\n1\n8\n8\n-1\n7\n";
    write_tu(s, files, false);
    mo_graph *graph = mo_graph_open(s->ctx, s->path);
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
    write_tu(s, files, true);
}

static void tu_labels_of_another_number_are_refused(void **state) {
    scratch *s = *state;
    tu_files files = right_tu;
    files.graph_labels = "1\n";
    assert_tu_refused(s, files, MO_FORMAT, PARTS("BAD_graph_labels.txt: expected 2 lines or more", "found 1"));
    files.graph_labels = "1\n1.5\n";
    assert_tu_refused(s, files, MO_FORMAT, PARTS("BAD_graph_labels.txt:2:", "\"1.5\""));
    files = right_tu;
    files.node_labels = "0\n1\n";
    assert_tu_refused(s, files, MO_FORMAT, PARTS("BAD_node_labels.txt: expected 4 lines", "found 2"));
    files.node_labels = "0\n1\n1, 2\n0\n";
    assert_tu_refused(s, files, MO_FORMAT, PARTS("BAD_node_labels.txt:3:", "the end of the line"));
}

static void damaged_tu_attributes_are_refused(void **state) {
    static const bad_text texts[] = {
        {"1, 2\n3, 4\n5\n6, 7\n", "BAD_node_attributes.txt:3:", "2 attributes, as in line 1", "found 1"},
        {"1\n3, 4\n5\n6\n", "BAD_node_attributes.txt:2:", "1 attributes, as in line 1", "found 2"},
        {"1, 2\n3, nan\n5, 6\n7, 8\n", "BAD_node_attributes.txt:2:", "an attribute of a node (a finite float32)",
            "\"nan\""},
        {"1\n2\n-inf\n4\n", "BAD_node_attributes.txt:3:", "an attribute of a node", "\"-inf\""},
        {"1\n2\n1e39\n4\n", "BAD_node_attributes.txt:3:", "an attribute of a node", "\"1e39\""},
        {"1\n2\n3 4\n4\n", "BAD_node_attributes.txt:3:", "a comma", "\"4\""},
        {"1,\n2\n3\n4\n", "BAD_node_attributes.txt:1:", "an attribute of a node", "the end of the line"},
        {"1\n2\nthree\n4\n", "BAD_node_attributes.txt:3:", "an attribute of a node", "\"three\""},
        {"1\n2\n3x\n4\n", "BAD_node_attributes.txt:3:", "an attribute of a node", "\"3x\""},
        {"1\n2\n\n3\n4\n", "BAD_node_attributes.txt:3:", "an attribute of a node", "the end of the line"},
        {"1\n2\n3\n", "BAD_node_attributes.txt:3:", "4 lines (as NAME_graph_indicator.txt says)",
            "the end of the file"},
        {"", "BAD_node_attributes.txt:0:", "4 lines", "the end of the file"},
        {"1\n2\n3\n4\n5\n", "BAD_node_attributes.txt:5:", "4 lines (as NAME_graph_indicator.txt says)", "\"5\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tu_files files = right_tu;
        files.attributes = texts[i].content;
        assert_tu_refused(*state, files, MO_FORMAT, PARTS(texts[i].place, texts[i].expected, texts[i].found));
    }
}

static void refusals_hold_no_memory(void **state) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_edge_lists_are_refused),
        cmocka_unit_test(damaged_adjacency_lists_are_refused),
        cmocka_unit_test(missing_and_empty_paths_are_refused),
        cmocka_unit_test(zero_bytes_are_not_text),
        cmocka_unit_test(truncated_and_flipped_gzip_is_refused),
        cmocka_unit_test(every_beginning_of_an_adjacency_list_is_refused),
        cmocka_unit_test(the_tu_folder_that_the_tests_damage_is_right),
        cmocka_unit_test(tu_folders_lacking_a_file_are_refused),
        cmocka_unit_test(damaged_tu_edges_are_refused),
        cmocka_unit_test(damaged_tu_indicators_are_refused),
        cmocka_unit_test(tu_graphs_without_nodes_are_left_out),
        cmocka_unit_test(tu_labels_of_another_number_are_refused),
        cmocka_unit_test(damaged_tu_attributes_are_refused),
        cmocka_unit_test(refusals_hold_no_memory),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
