/* tests/train/graphs/test_load_features.c - features.npy beside an edge list. */
#include "tests/bad_text.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

static const float features[] = {0, 1.5f, 0, 0, -2, 3};

static void write_array(
    scratch *s, const char *name, mo_dtype dtype, int ndim, const int64_t *shape, const void *values) {
    mo_tensor *T = mo_tensor_create_from(s->ctx, dtype, ndim, shape, values);
    assert_int_equal(mo_npy_write(T, scratch_path(s, name)), MO_OK);
    mo_tensor_release(T);
}

static void write_folder(scratch *s, const char *edges) {
    write_array(s, "features.npy", MO_F32, 2, (int64_t[]){3, 2}, features);
    scratch_write(s, "edges.txt", edges, strlen(edges));
}

static void assert_folder_refused(scratch *s, mo_code code, const char *const *parts) {
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, code, parts);
}

TEST(features_edges_and_labels_become_a_graph) {
    scratch *s = *state;
    write_folder(s, "# u v\n2 0\n0 2\n1 1\n");
    write_array(s, "labels.npy", MO_I64, 1, (int64_t[]){3}, (int64_t[]){1, -7, 0}); /* negative: none */
    mo_graph *g = mo_graph_open(s->ctx, s->folder);
    assert_non_null(g);
    assert_int_equal(g->nodes, 3);
    assert_int_equal(g->nnz, 2);
    assert_int_equal(g->dropped_loops, 1);
    assert_true(mo_graph_has_edge(g, 0, 2));
    assert_int_equal(g->features, 2);
    assert_int_equal(g->feature_nnz, 3);
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 1, 1, 3}), 32);
    assert_memory_equal(g->feature_column, ((int32_t[]){1, 0, 1}), 12);
    assert_memory_equal(g->feature_value, ((float[]){1.5f, -2, 3}), 12);
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, ((int64_t[]){1, -1, 0}), 24);
    mo_graph_release(g);
    remove(scratch_path(s, "labels.npy"));
    g = mo_graph_open(s->ctx, s->folder);
    assert_non_null(g);
    assert_int_equal(g->n_labels, 0);
    mo_graph_release(g);
}

TEST(integers_and_doubles_are_features_too) {
    scratch *s = *state;
    write_folder(s, "0 1\n");
    write_array(s, "features.npy", MO_U8, 2, (int64_t[]){3, 1}, (uint8_t[]){0, 7, 255});
    mo_graph *g = mo_graph_open(s->ctx, s->folder);
    assert_non_null(g);
    assert_memory_equal(g->feature_value, ((float[]){7, 255}), 8);
    mo_graph_release(g);
    write_array(s, "features.npy", MO_F64, 2, (int64_t[]){3, 1}, (double[]){0, 0.5, 0});
    g = mo_graph_open(s->ctx, s->folder);
    assert_non_null(g);
    assert_int_equal(g->feature_nnz, 1);
    mo_graph_release(g);
}

static void write_labels(scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

static void assert_labels(scratch *s, const int64_t expected[3]) {
    mo_graph *g = mo_graph_open(s->ctx, s->folder);
    if (!g)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    assert_memory_equal(g->label, expected, 3 * sizeof *expected);
    assert_int_equal(g->n_labels, 3);
    mo_graph_release(g);
}

TEST(labels_may_be_text) {
    scratch *s = *state;
    write_folder(s, "0 1\n");
    write_labels(s, "labels.txt", "1\r\n-4\r\n 0\t\r\n\r\n");
    assert_labels(s, (int64_t[]){1, -1, 0});
    write_labels(s, "labels.txt", "red wine\n\nblue\n");
    assert_labels(s, (int64_t[]){1, -1, 0});
    write_labels(s, "labels.txt", "10\nten\n10"); /* not all integers: names */
    assert_labels(s, (int64_t[]){0, 1, 0});
    write_labels(s, "labels.txt", "\n1\n\n\n\n"); /* empty lines are labels of nodes, and may follow them */
    assert_labels(s, (int64_t[]){-1, 1, -1});
    remove(scratch_path(s, "labels.txt"));
}

TEST(labels_are_never_ignored) {
    scratch *s = *state;
    write_folder(s, "0 1\n");
    write_labels(s, "labels.txt", "0\n1\n");
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.txt: expected a label for each of 3 nodes, found 2"));
    write_labels(s, "labels.txt", "0\n1\n1\n\n2\n");
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.txt: expected a label for each of 3 nodes, found 5"));
    write_labels(s, "labels.txt", "0\n3\n1\n");
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.txt:2: expected a class in 0..2", "found 3"));
    write_labels(s, "labels.txt", "0\n1\n0.5\n"); /* no class, here as elsewhere */
    assert_folder_refused(s, MO_INVALID, PARTS("labels.txt:3: expected a class, as real numbers are no classes"));
    write_labels(s, "labels.txt", "0\n1\n1\n-1\n"); /* a label of no node, though it says nothing */
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.txt: expected a label for each of 3 nodes, found 4"));
    write_array(s, "labels.npy", MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 1});
    assert_folder_refused(s, MO_FORMAT, PARTS("expected one of labels.npy and labels.txt, found both"));
    remove(scratch_path(s, "labels.npy"));
    remove(scratch_path(s, "labels.txt"));
    static const char *const others[] = {"Label.npy", "labels.npz"};
    for (int i = 0; i < 2; i++) {
        write_labels(s, others[i], "0\n1\n1\n");
        assert_folder_refused(s, MO_FORMAT, PARTS(others[i], "expected labels as labels.npy, labels.txt"));
        remove(scratch_path(s, others[i]));
    }
}

/* columns: of the features that are kept, 0: all are left out, with this notice. */
static void assert_kept(scratch *s, int64_t columns, const char *notice) {
    mo_graph *g = mo_graph_open(s->ctx, s->folder);
    if (!g)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    assert_int_equal(g->features, columns);
    assert_true(!g->feature_pointer == !columns && !g->left_out == !notice);
    if (notice)
        assert_non_null(strstr(g->left_out, notice));
    mo_graph_release(g);
}

TEST(features_that_only_number_the_nodes_are_left_out) {
    scratch *s = *state;
    static const char numbers[] = "3 feature columns that number the nodes (an identity matrix)",
                      same[] = "1 feature column that is the same for all nodes";
    static const struct {
        int64_t columns, kept;
        float x[12];
        const char *notice;
    } uses[] = {
        {3, 0, {1, 0, 0, 0, 1, 0, 0, 0, 1}, numbers},
        {3, 0, {0, 0, 1, 1, 0, 0, 0, 1, 0}, numbers},
        {4, 0, {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0}, "4 feature columns that number the nodes"},
        {3, 3, {0, 0, 1, 0, 0, 1, 0, 1, 0}, NULL},          /* two nodes of one kind */
        {3, 3, {0, 0, 1, 2, 0, 0, 0, 1, 0}, NULL},          /* not all 1 */
        {3, 3, {0, 0, 1, 0, 0, 0, 0, 1, 0}, NULL},          /* a node without a feature */
        {4, 4, {0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0}, NULL}, /* and another column */
        {2, 2, {1, 0, 0, 1, 0, 1}, NULL},
        {1, 0, {7, 7, 7}, same},
        {1, 0, {0, 0, 0}, same},
        {1, 1, {7, 0, 7}, NULL},
        {2, 2, {7, 7, 7, 7, 7, 7}, NULL},
    };
    write_folder(s, "0 1\n");
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        write_array(s, "features.npy", MO_F32, 2, (int64_t[]){3, uses[i].columns}, uses[i].x);
        assert_kept(s, uses[i].kept, uses[i].notice);
    }
    remove(scratch_path(s, "features.npy"));
    remove(scratch_path(s, "edges.txt"));
    write_labels(s, "features.csv", "node,a,b,c\nann,0,1,0\nbob,1.0,0,0\ncy,0,0,1\n");
    write_labels(s, "edges.csv", "from,to\nann,bob\n");
    assert_kept(s, 0, numbers);
    remove(scratch_path(s, "features.csv"));
    remove(scratch_path(s, "edges.csv"));
}

TEST(what_does_not_fit_is_refused) {
    scratch *s = *state;
    write_folder(s, "0 1\n1 3\n");
    assert_folder_refused(s, MO_FORMAT, PARTS("edges.txt:2:", "a node id (an integer in 0..2)", "\"3\""));
    remove(scratch_path(s, "edges.txt"));
    assert_folder_refused(s, MO_FORMAT, PARTS(s->folder, "edges.txt, edges.csv or edges.tsv beside the features"));
    remove(scratch_path(s, "features.npy"));
    write_labels(s, "features.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 3\n");
    write_labels(s, "edges.txt", "0 1\n");
    assert_folder_refused(s, MO_UNSUPPORTED, PARTS("convert.py' features '", "features.mtx' '", "features.npy'"));
    remove(scratch_path(s, "features.mtx"));
    write_folder(s, "0 1\n");
    write_array(s, "labels.npy", MO_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1});
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.npy: expected a label for each of 3 nodes, found 2"));
    write_array(s, "labels.npy", MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 3});
    assert_folder_refused(s, MO_FORMAT, PARTS("labels.npy", "labels[2]", "0..2", "found 3"));
    write_array(s, "labels.npy", MO_F32, 1, (int64_t[]){3}, features);
    assert_folder_refused(
        s, MO_INVALID, PARTS("labels.npy: expected labels that are whole numbers, found 1.5 in row 1"));
    remove(scratch_path(s, "labels.npy"));
    write_array(s, "features.npy", MO_F32, 1, (int64_t[]){6}, features);
    assert_folder_refused(s, MO_FORMAT, PARTS("features.npy", "[nodes, columns]", "[6]"));
    write_array(s, "features.npy", MO_F32, 2, (int64_t[]){0, 2}, features);
    assert_folder_refused(s, MO_FORMAT, PARTS("features.npy", "[0, 2]"));
    float bad[] = {0, 1, 2, NAN, 4, 5};
    write_array(s, "features.npy", MO_F32, 2, (int64_t[]){3, 2}, bad);
    assert_folder_refused(s, MO_INVALID, PARTS("features.npy", "row 1, column 1", "finite", "nan"));
    scratch_write(s, "features.npy", "not an array", 12);
    assert_folder_refused(s, MO_FORMAT, PARTS("features.npy"));
}

TEST(refusals_hold_no_memory) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}
