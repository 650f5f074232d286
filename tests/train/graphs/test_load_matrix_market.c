/* tests/train/graphs/test_load_matrix_market.c - features.mtx beside an edge list: every form of Matrix Market that has
 * meaning there, and files that are damaged. */
#include "tests/bad_text.h"

static void put(scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

/* The features of a folder with that matrix, beside an edge of its first two nodes. */
static mo_graph *opened(scratch *s, const char *matrix) {
    put(s, "edges.txt", "0 1\n");
    put(s, "features.mtx", matrix);
    mo_graph *g = mo_graph_open(s->ctx, s->folder);
    if (!g)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return g;
}

static void assert_features(scratch *s, const char *matrix, const float dense[6]) {
    mo_graph *g = opened(s, matrix);
    float found[6] = {0};
    assert_int_equal(g->nodes, 3);
    assert_int_equal(g->features, 2);
    assert_true(mo_graph_has_edge(g, 0, 1));
    for (int64_t row = 0; row < 3; row++)
        for (int64_t i = g->feature_pointer[row]; i < g->feature_pointer[row + 1]; i++) {
            assert_true(i == g->feature_pointer[row] || g->feature_column[i] > g->feature_column[i - 1]);
            assert_true(g->feature_value[i] != 0);
            found[2 * row + g->feature_column[i]] = g->feature_value[i];
        }
    assert_int_equal(g->feature_pointer[3], g->feature_nnz);
    assert_memory_equal(found, dense, sizeof found);
    mo_graph_release(g);
    scratch_files(s, true);
}

static void every_form_becomes_features(void **state) {
    assert_features(*state,
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 2 4\n3 2 -2.5e0\n1 2 1.5\r\n 3  1\t3\n2 1 "
        "0\n\n",
        (float[]){0, 1.5f, 0, 0, 3, -2.5f});
    assert_features(*state, "%%MatrixMarket MATRIX Coordinate Integer General\n3 2 2\n1 1 -7\n2 2 40000\n",
        (float[]){-7, 0, 0, 40000, 0, 0});
    assert_features(
        *state, "%%MatrixMarket matrix coordinate pattern general\n3 2 2\n3 2\n1 1\n", (float[]){1, 0, 0, 0, 0, 1});
    assert_features(*state,
        "%%MatrixMarket matrix array real general\n3 2\n1\n0\n2\n% columns one after the other\n3\n4\n0.5",
        (float[]){1, 3, 0, 4, 2, 0.5f});
    assert_features(
        *state, "%%MatrixMarket matrix array integer general\n3 2\n1\n0\n2\n3\n4\n5\n", (float[]){1, 3, 0, 4, 2, 5});
    assert_features(*state, "%%MatrixMarket matrix coordinate double general\n3 2 0\n", (float[6]){0});
}

static void damaged_matrices_are_refused_by_line(void **state) {
    static const char banner[] = "%%MatrixMarket matrix coordinate real general\n";
    static const char *const bad[][3] = {
        {"", "features.mtx", "an empty file"},
        {"3 2 1\n1 1 1\n", ":1:", "%%MatrixMarket matrix coordinate|array"},
        {"%%MatrixMarket vector coordinate real general\n", ":1:", "%%MatrixMarket matrix"},
        {"%%MatrixMarket matrix coordinate complex general\n", ":1:", "real|integer|pattern general"},
        {"%%MatrixMarket matrix coordinate real symmetric\n", ":1:", "real|integer|pattern general"},
        {"%%MatrixMarket matrix array pattern general\n", ":1:", "%%MatrixMarket matrix"},
        {"%%MatrixMarket matrix coordinate real general 1\n", ":1:", "found \"1\""},
        {"%%MatrixMarket matrix coordinate real general\n%\n", ":2: expected the sizes", "the end of the file"},
        {"B3 2\n", ":2:", "the number of entries (an integer), found the end of the line"},
        {"B0 2 0\n", ":2:", "the number of rows (an integer in 1.."},
        {"B3 0 0\n", ":2:", "the number of columns (an integer in 1.."},
        {"B3 2 7\n", ":2:", "the number of entries (an integer in 0..6), found \"7\""},
        {"B999999999 2 1\n1 1 1\n",
            ":2:", "the number of rows (an integer in 1..1677"}, /* 64 MiB for so small a file */
        {"B3 2 99999999999999999999\n", ":2:", "at most 2^53"},
        {"B3 2 2\n1 1 1\n", ":3:", "expected as many entries as the sizes say, found the end of the file"},
        {"B3 2 1\n1 1 1\n2 2 1\n", ":4:", "the end of the file after the last entry, found \"2\""},
        {"B3 2 1\n4 1 1\n", ":3:", "a row (an integer in 1..3), found \"4\""},
        {"B3 2 1\n0 1 1\n", ":3:", "a row (an integer in 1..3), found \"0\""},
        {"B3 2 1\n1 3 1\n", ":3:", "a column (an integer in 1..2), found \"3\""},
        {"B3 2 1\n1 1\n", ":3:", "expected a value, found the end of the line"},
        {"B3 2 1\n1 1 x\n", ":3:", "a finite float32, found \"x\""},
        {"B3 2 1\n1 1 1e39\n", ":3:", "a finite float32, found \"1e39\""},
        {"B3 2 1\n1 1 nan\n", ":3:", "a finite float32, found \"nan\""},
        {"B3 2 1\n1 1 1 2\n", ":3:", "the end of the line, found \"2\""},
        {"B3 2 3\n2 2 1\n1 1 1\n2 2 5\n", ":5:", "expected each entry once, found row 2, column 2 of line 3"},
        {"%%MatrixMarket matrix coordinate integer general\n3 2 1\n1 1 1.5\n", ":3:", "an integer that is a finite"},
        {"%%MatrixMarket matrix coordinate pattern general\n3 2 1\n1 1 1\n", ":3:", "the end of the line"},
        {"%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n", ":5:", "a value for each row and column"},
        {"%%MatrixMarket matrix array real general\n2 1\n1 2\n", ":3:", "the end of the line, found \"2\""},
        {"%%MatrixMarket matrix array real general\n2 1 2\n", ":2:", "the end of the line, found \"2\""},
    };
    scratch *s = *state;
    char text[400];
    put(s, "edges.txt", "0 1\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool short_form = bad[i][0][0] == 'B';
        snprintf(text, sizeof text, "%s%s", short_form ? banner : "", bad[i][0] + short_form);
        put(s, "features.mtx", text);
        assert_null(mo_graph_open(s->ctx, s->folder));
        assert_failed(s->ctx, MO_FORMAT, PARTS("features.mtx", bad[i][1], bad[i][2]));
    }
    /* Every beginning of a file: refused, unless what is missing is the last line's end. */
    static const char whole[] = "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 2 1.5\n3 1 2\n";
    for (size_t n = 0; n + 2 < sizeof whole; n++) {
        scratch_write(s, "features.mtx", whole, n);
        assert_null(mo_graph_open(s->ctx, s->folder));
        assert_failed(s->ctx, MO_FORMAT, PARTS("features.mtx", "expected"));
    }
    put(s, "features.csv", "n,a\n0,1\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("expected features.csv or features.mtx, found both"));
    scratch_files(s, true);
}

static void rows_are_the_nodes_of_edges_and_labels(void **state) {
    scratch *s = *state;
    put(s, "labels.csv", "node,kind\n2,b\n0,a\n");
    mo_graph *g = opened(s, "%%MatrixMarket matrix coordinate pattern general\n3 1 1\n1 1\n");
    assert_memory_equal(g->label, ((int64_t[]){0, -1, 1}), 24);
    char number[24];
    assert_string_equal(mo_graph_class_name(g, 1, number), "b");
    mo_graph_release(g);
    put(s, "edges.txt", "0 3\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("edges.txt:1:", "0..2", "\"3\""));
    scratch_files(s, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_becomes_features),
        cmocka_unit_test(damaged_matrices_are_refused_by_line),
        cmocka_unit_test(rows_are_the_nodes_of_edges_and_labels),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
