/* tests/train/graphs/test_bad_graph_npz.c - arrays that are no graph: a sound npz archive whose members contradict each
 * other.
 */
#include "tests/scratch.h"
#include "train/graphs/loaders.h"

#include <math.h>

/* One member; dtype MO_DTYPES ends a list. values: as many as the shape says (one axis of n). */
typedef struct member {
    const char *key;
    mo_dtype dtype;
    int64_t n;
    double values[8];
} member;

enum { MEMBERS = 10 };

/* 4 nodes, edges 0-1, 1-2 and 3-2 directed this way, 3 features, the label of node 2 taken away. */
static const member right[MEMBERS] = {
    {"adj_shape", MO_I64, 2, {4, 4}},
    {"adj_indptr", MO_I32, 5, {0, 1, 2, 2, 3}},
    {"adj_indices", MO_U8, 3, {1, 2, 2}},
    {"adj_data", MO_F32, 3, {1, 1, 1}},
    {"attr_shape", MO_I64, 2, {4, 3}},
    {"attr_indptr", MO_I64, 5, {0, 1, 1, 2, 3}},
    {"attr_indices", MO_I32, 3, {0, 2, 1}},
    {"attr_data", MO_F64, 3, {1, 2.5, -3}},
    {"labels", MO_I32, 4, {0, 1, 1, 0}},
    {"idx_unlabelled", MO_I64, 1, {2}},
};

static mo_tensor *make_member(mo_context *ctx, const member *m) {
    int64_t integers[8];
    int32_t narrow[8];
    uint8_t bytes[8];
    float floats[8];
    const void *host[MO_DTYPES] = {[MO_F32] = floats,
        [MO_F64] = m->values,
        [MO_I32] = narrow,
        [MO_I64] = integers,
        [MO_U8] = bytes,
        [MO_F16] = integers};
    for (int i = 0; i < 8; i++) {
        floats[i] = (float)m->values[i];
        integers[i] = m->values[i] >= 9e18 ? INT64_MAX : isfinite(m->values[i]) ? (int64_t)m->values[i] : 0;
        narrow[i] = (int32_t)integers[i];
        bytes[i] = (uint8_t)integers[i];
    }
    return mo_tensor_create_from(ctx, m->dtype, 1, &m->n, host[m->dtype]);
}

/* The right arrays with one member replaced (by key), added, or, where its dtype is MO_DTYPES, left out. */
static mo_graph *open_with(mo_context *ctx, const member *change) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    bool placed = false;
    for (int i = 0; i < MEMBERS; i++) {
        bool same = change && strcmp(change->key, right[i].key) == 0;
        const member *m = same ? change : &right[i];
        placed |= same;
        if (m->dtype != MO_DTYPES)
            mo_arrays_take(arrays, m->key, make_member(ctx, m));
    }
    if (change && !placed)
        mo_arrays_take(arrays, change->key, make_member(ctx, change));
    mo_graph *graph = mo_graph_from_arrays(arrays, "bad", "bad.npz");
    mo_arrays_release(arrays);
    return graph;
}

static void assert_refused(scratch *s, member change, mo_code code, const char *const *parts) {
    mo_graph *graph = open_with(s->ctx, &change);
    if (graph)
        fail_msg("expected a refusal that says '%s'", parts[0]);
    assert_int_equal(strncmp(mo_context_status(s->ctx)->message, "bad.npz: ", 9), 0);
    assert_failed(s->ctx, code, parts);
}

static void the_arrays_that_the_tests_damage_are_right(void **state) {
    scratch *s = *state;
    mo_graph *g = open_with(s->ctx, NULL);
    assert_non_null(g);
    assert_memory_equal(g->row_pointer, ((int64_t[]){0, 1, 3, 5, 6}), 5 * sizeof(int64_t));
    assert_memory_equal(g->column, ((int32_t[]){1, 0, 2, 1, 3, 2}), 6 * sizeof(int32_t));
    assert_memory_equal(g->label, ((int64_t[]){0, 1, -1, 0}), 4 * sizeof(int64_t));
    assert_memory_equal(g->feature_value, ((float[]){1, 2.5f, -3}), 3 * sizeof(float));
    assert_int_equal(g->features, 3);
    assert_int_equal(g->classes, 2);
    mo_graph_release(g);
}

static void optional_members_may_be_missing(void **state) {
    scratch *s = *state;
    static const char *const keys[] = {"adj_data", "attr_data", "labels", "idx_unlabelled"};
    for (int i = 0; i < 4; i++) {
        mo_graph *g = open_with(s->ctx, &(member){keys[i], MO_DTYPES, 0, {0}});
        assert_non_null(g);
        assert_int_equal(g->nnz, 6);
        assert_true(i != 1 || g->feature_value[2] == 1);
        assert_int_equal(g->n_labels, i == 2 ? 0 : 4);
        mo_graph_release(g);
    }
}

static void entries_of_value_zero_are_no_edges(void **state) {
    scratch *s = *state;
    mo_graph *g = open_with(s->ctx, &(member){"adj_data", MO_F32, 3, {1, 0, 1}});
    assert_int_equal(g->nnz, 4);
    assert_false(mo_graph_has_edge(g, 1, 2));
    mo_graph_release(g);
}

static void required_members_are_named_when_missing(void **state) {
    static const char *const keys[] = {
        "adj_shape", "adj_indptr", "adj_indices", "attr_shape", "attr_indptr", "attr_indices"};
    for (int i = 0; i < 6; i++)
        assert_refused(*state, (member){keys[i], MO_DTYPES, 0, {0}}, MO_FORMAT, PARTS("expected a member", keys[i]));
}

static void wrong_dtypes_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(s, (member){"adj_indptr", MO_F32, 5, {0, 1, 2, 2, 3}}, MO_FORMAT,
        PARTS("adj_indptr: expected integers, found float32"));
    assert_refused(
        s, (member){"labels", MO_F64, 4, {0, 1, 1, 0}}, MO_FORMAT, PARTS("labels: expected integers, found float64"));
    assert_refused(s, (member){"attr_data", MO_F16, 3, {0}}, MO_UNSUPPORTED, PARTS("attr_data", "found float16"));
}

static void matrices_that_are_not_csr_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(
        s, (member){"adj_indptr", MO_I32, 5, {1, 1, 2, 2, 3}}, MO_FORMAT, PARTS("adj_indptr[0]: expected 0, found 1"));
    assert_refused(s, (member){"adj_indptr", MO_I32, 5, {0, 2, 1, 2, 3}}, MO_FORMAT,
        PARTS("adj_indptr[2]: expected at least the pointer before it, 2, found 1"));
    assert_refused(s, (member){"adj_indptr", MO_I32, 5, {0, 1, 2, 2, 9}}, MO_FORMAT,
        PARTS("adj_indptr[4]: expected the number of indices, 3, found 9"));
    assert_refused(
        s, (member){"adj_indptr", MO_I64, 5, {0, -4, 2, 2, 3}}, MO_FORMAT, PARTS("adj_indptr[1]", "found -4"));
    assert_refused(s, (member){"adj_indptr", MO_I32, 4, {0, 1, 2, 3}}, MO_FORMAT,
        PARTS("adj_indptr: expected 5 elements, found 4"));
    assert_refused(s, (member){"adj_indices", MO_I32, 3, {1, 4, 2}}, MO_FORMAT,
        PARTS("adj_indices[1]: expected a column in 0..3, found 4"));
    assert_refused(s, (member){"adj_indices", MO_I32, 3, {1, 2, -1}}, MO_FORMAT, PARTS("adj_indices[2]", "found -1"));
    assert_refused(
        s, (member){"adj_data", MO_F32, 2, {1, 1}}, MO_FORMAT, PARTS("adj_data: expected 3 elements, found 2"));
    assert_refused(s, (member){"attr_indices", MO_I32, 3, {0, 3, 1}}, MO_FORMAT,
        PARTS("attr_indices[1]: expected a column in 0..2, found 3"));
    assert_refused(s, (member){"attr_indptr", MO_I64, 5, {0, 1, 0, 2, 3}}, MO_FORMAT, PARTS("attr_indptr[2]"));
}

static void shapes_that_disagree_or_overflow_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(s, (member){"adj_shape", MO_I64, 2, {4, 5}}, MO_FORMAT, PARTS("square", "4 x 5"));
    assert_refused(s, (member){"adj_shape", MO_I64, 3, {4, 4, 4}}, MO_FORMAT, PARTS("expected 2 elements, found 3"));
    assert_refused(s, (member){"adj_shape", MO_I64, 2, {-1, -1}}, MO_FORMAT, PARTS("adj_shape", "found -1 x -1"));
    assert_refused(s, (member){"adj_shape", MO_I64, 2, {2147483647, 2147483647}}, MO_FORMAT, PARTS("0..2147483646"));
    assert_refused(s, (member){"adj_shape", MO_I64, 2, {9e18, 9e18}}, MO_FORMAT, PARTS("0..2147483646"));
    assert_refused(s, (member){"adj_shape", MO_I64, 2, {2147483646, 2147483646}}, MO_FORMAT,
        PARTS("adj_indptr: expected 2147483647 elements, found 5"));
    assert_refused(s, (member){"attr_shape", MO_I64, 2, {5, 3}}, MO_FORMAT, PARTS("attr_indptr: expected 6 elements"));
    assert_refused(s, (member){"attr_shape", MO_I64, 2, {4, 9e18}}, MO_FORMAT, PARTS("attr_shape"));
}

static void features_that_are_not_finite_are_refused_with_their_place(void **state) {
    scratch *s = *state;
    assert_refused(s, (member){"attr_data", MO_F32, 3, {1, NAN, 1}}, MO_INVALID,
        PARTS("attr_data[1] (row 2, column 2): expected a finite float32, found"));
    assert_refused(s, (member){"attr_data", MO_F64, 3, {1, 1, -INFINITY}}, MO_INVALID,
        PARTS("attr_data[2] (row 3, column 1)", "found -inf"));
    assert_refused(
        s, (member){"attr_data", MO_F64, 3, {1e300, 1, 1}}, MO_INVALID, PARTS("(row 0, column 0)", "found inf"));
    assert_refused(s, (member){"adj_data", MO_F32, 3, {1, 1, NAN}}, MO_INVALID, PARTS("adj_data[2] (row 3, column 2)"));
}

/* The right arrays with idx_train and idx_test, the first of which may be another. */
static mo_graph *open_divided(mo_context *ctx, const member *train) {
    static const member usual = {"idx_train", MO_U8, 2, {0, 1}}, test = {"idx_test", MO_I64, 1, {3}};
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < MEMBERS; i++)
        mo_arrays_take(arrays, right[i].key, make_member(ctx, &right[i]));
    mo_arrays_take(arrays, "idx_train", make_member(ctx, train ? train : &usual));
    mo_arrays_take(arrays, "idx_test", make_member(ctx, &test));
    mo_graph *graph = mo_graph_from_arrays(arrays, "bad", "bad.npz");
    mo_arrays_release(arrays);
    return graph;
}

static void divisions_are_read_and_checked(void **state) {
    scratch *s = *state;
    mo_graph *g = open_divided(s->ctx, NULL), *whole = open_with(s->ctx, NULL);
    assert_non_null(g);
    assert_memory_equal(
        g->division, ((uint8_t[]){MO_DIVISION_TRAIN, MO_DIVISION_TRAIN, MO_DIVISION_NONE, MO_DIVISION_TEST}), 4);
    assert_null(whole->division);
    assert_memory_equal(g->hash, whole->hash, sizeof g->hash); /* it is no content of the graph */
    mo_graph_release(g);
    mo_graph_release(whole);
    assert_null(open_divided(s->ctx, &(member){"idx_train", MO_I64, 2, {0, 4}}));
    assert_failed(s->ctx, MO_FORMAT, PARTS("bad.npz: idx_train[1]: expected 0..3, found 4"));
    assert_null(open_divided(s->ctx, &(member){"idx_train", MO_I64, 2, {0, -1}}));
    assert_failed(s->ctx, MO_FORMAT, PARTS("idx_train[1]: expected 0..3, found -1"));
    assert_null(open_divided(s->ctx, &(member){"idx_train", MO_I64, 2, {0, 3}}));
    assert_failed(s->ctx, MO_FORMAT, PARTS("idx_test[0]: expected a node that is listed once, found 3 again"));
}

/* The right arrays with masks of both parts, of this shape each, or none where it has no axis. */
static mo_graph *open_masked(
    mo_context *ctx, int64_t rows, int64_t columns, const int32_t *train, const int32_t *test) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < MEMBERS; i++)
        mo_arrays_take(arrays, right[i].key, make_member(ctx, &right[i]));
    const int64_t shape[] = {rows, columns};
    mo_arrays_take(arrays, "splits_train", mo_tensor_create_from(ctx, MO_I32, 2, shape, train));
    if (test)
        mo_arrays_take(arrays, "splits_test", mo_tensor_create_from(ctx, MO_I32, 2, shape, test));
    mo_graph *graph = mo_graph_from_arrays(arrays, "bad", "bad.npz");
    mo_arrays_release(arrays);
    return graph;
}

static void several_divisions_are_read_and_checked(void **state) {
    scratch *s = *state;
    enum { T = MO_DIVISION_TRAIN, Q = MO_DIVISION_TEST };
    static const int32_t train[] = {1, 1, 0, 0, 0, 1, 0, 1}, test[] = {0, 0, 0, 1, 1, 0, 0, 0},
                         wrong[] = {0, 0, 0, 2, 1, 0, 0, 0}, both[] = {0, 0, 0, 1, 1, 1, 0, 0};
    mo_graph *g = open_masked(s->ctx, 2, 4, train, test), *whole = open_with(s->ctx, NULL);
    assert_non_null(g);
    assert_int_equal(g->divisions, 2);
    assert_memory_equal(g->division, ((uint8_t[]){T, T, 0, Q, Q, T, 0, T}), 8);
    assert_memory_equal(g->hash, whole->hash, sizeof g->hash);
    mo_graph_write(g, scratch_path(s, "divided.npz"));
    mo_graph *again = mo_graph_open(s->ctx, s->path);
    assert_non_null(again);
    assert_int_equal(again->divisions, 2);
    assert_memory_equal(again->division, g->division, 8);
    remove(s->path);
    mo_graph_release(again);
    mo_graph_release(g);
    mo_graph_release(whole);
    assert_null(open_masked(s->ctx, 2, 4, train, wrong));
    assert_failed(s->ctx, MO_FORMAT, PARTS("bad.npz: splits_test[0, 3]: expected 0 or 1, found 2"));
    assert_null(open_masked(s->ctx, 2, 4, train, both));
    assert_failed(
        s->ctx, MO_FORMAT, PARTS("splits_test[1, 1]: expected a node in one part of its division, found two"));
    assert_null(open_masked(s->ctx, 4, 2, train, test));
    assert_failed(s->ctx, MO_FORMAT, PARTS("splits_train: expected masks [4 divisions, 4 nodes], found [4, 2]"));
    assert_null(open_masked(s->ctx, 2, 4, train, NULL));
    assert_failed(s->ctx, MO_FORMAT, PARTS("splits_test: expected masks [2 divisions, 4 nodes], found none"));
    assert_null(open_masked(s->ctx, 0, 4, train, test));
    assert_failed(s->ctx, MO_FORMAT, PARTS("splits_train: expected masks [1 divisions, 4 nodes], found [0, 4]"));
}

/* As PyTorch Geometric's airports have them, be they CSR with zeros written out. */
static void features_that_number_the_nodes_are_left_out(void **state) {
    scratch *s = *state;
    static const member identity[] = {
        {"attr_shape", MO_I64, 2, {4, 4}},
        {"attr_indptr", MO_I64, 5, {0, 2, 3, 4, 5}},
        {"attr_indices", MO_I32, 5, {0, 2, 0, 3, 1}},
        {"attr_data", MO_F64, 5, {0, 1, 1, 1, 1}},
    };
    mo_arrays *arrays = mo_arrays_create(s->ctx);
    for (int i = 0; i < MEMBERS; i++)
        if (strncmp(right[i].key, "attr", 4) != 0)
            mo_arrays_take(arrays, right[i].key, make_member(s->ctx, &right[i]));
    for (int i = 0; i < 4; i++)
        mo_arrays_take(arrays, identity[i].key, make_member(s->ctx, &identity[i]));
    mo_graph *graph = mo_graph_from_arrays(arrays, "bad", "bad.npz");
    mo_arrays_release(arrays);
    assert_non_null(graph);
    assert_int_equal(graph->features, 0);
    assert_string_equal(graph->left_out, "4 feature columns that number the nodes (an identity matrix)");
    mo_graph_release(graph);
}

static void names_are_read_in_any_order_and_checked(void **state) {
    scratch *s = *state;
    char number[24];
    mo_graph *g = open_with(s->ctx, &(member){"names_number", MO_I64, 4, {5, -3, 8, 0}});
    assert_true(g && g->node_numbers);
    assert_int_equal(mo_graph_find_example(g, "-3"), 1);
    assert_int_equal(mo_graph_find_example(g, "0"), 3);
    assert_int_equal(mo_graph_find_example(g, "1"), -1);
    assert_string_equal(mo_graph_example_name(g, 2, number), "8");
    mo_graph_release(g);
    g = open_with(s->ctx, &(member){"names_text", MO_U8, 8, {'d', 0, 'a', 'b', 0, 'c', 0, 0}});
    assert_true(g && !g->node_numbers);
    assert_int_equal(mo_graph_find_example(g, "ab"), 1);
    assert_int_equal(mo_graph_find_example(g, ""), 3);
    mo_graph_release(g);
    g = open_with(s->ctx, &(member){"class_names_number", MO_U8, 2, {9, 3}});
    assert_true(g && g->class_numbers);
    assert_string_equal(mo_graph_class_name(g, 0, number), "9");
    mo_graph_release(g);
    assert_refused(s, (member){"names_number", MO_I64, 3, {1, 2, 3}}, MO_FORMAT, PARTS("expected 4 elements, found 3"));
    assert_refused(s, (member){"names_number", MO_I32, 4, {1, 2, 1, 3}}, MO_FORMAT,
        PARTS("names_number[2]: expected each name once"));
    assert_refused(s, (member){"names_text", MO_U8, 8, {'a', 0, 'b', 0, 'a', 0, 'c', 0}}, MO_FORMAT,
        PARTS("names_text[2]: expected each name once"));
    assert_refused(s, (member){"names_text", MO_U8, 3, {'a', 0, 'b'}}, MO_FORMAT, PARTS("names_text", "a zero"));
    assert_refused(s, (member){"names_text", MO_U8, 4, {'a', 0, 'b', 0}}, MO_FORMAT, PARTS("4 texts, found 2"));
    assert_refused(s, (member){"names_text", MO_U8, 2, {200, 0}}, MO_FORMAT, PARTS("names_text: text 0", "UTF-8"));
    assert_refused(s, (member){"names_text", MO_I64, 2, {97, 0}}, MO_FORMAT, PARTS("bytes (uint8)", "found int64"));
    assert_refused(s, (member){"class_names_text", MO_U8, 2, {'a', 0}}, MO_FORMAT, PARTS("2 texts, found 1"));
}

static void labels_out_of_range_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(s, (member){"labels", MO_I64, 4, {0, 1, 4, 0}}, MO_FORMAT,
        PARTS("labels[2]: expected a class in 0..3, or a negative number for none, found 4"));
    assert_refused(
        s, (member){"labels", MO_I64, 4, {0, 1, 9e18, 0}}, MO_FORMAT, PARTS("labels[2]", "9223372036854775807"));
    assert_refused(
        s, (member){"labels", MO_I64, 3, {0, 1, 1}}, MO_FORMAT, PARTS("labels: expected 4 elements, found 3"));
    assert_refused(
        s, (member){"idx_unlabelled", MO_I64, 1, {4}}, MO_FORMAT, PARTS("idx_unlabelled[0]: expected 0..3, found 4"));
    assert_refused(s, (member){"idx_unlabelled", MO_I64, 1, {-1}}, MO_FORMAT, PARTS("idx_unlabelled[0]", "found -1"));
}

static void any_negative_label_means_none(void **state) {
    scratch *s = *state;
    mo_graph *graph = open_with(s->ctx, &(member){"labels", MO_I64, 4, {-2, 1, -1, 0}});
    assert_non_null(graph);
    assert_int_equal(graph->classes, 2);
    assert_memory_equal(graph->label, ((int64_t[]){-1, 1, -1, 0}), 4 * sizeof *graph->label);
    mo_graph_release(graph);
}

static void sets_of_graphs_with_wrong_offsets_are_refused(void **state) {
    scratch *s = *state;
    assert_refused(s, (member){"graph_offset", MO_I64, 1, {0}}, MO_FORMAT, PARTS("graph_offset", "found 1 elements"));
    assert_refused(s, (member){"graph_offset", MO_I64, 2, {1, 4}}, MO_FORMAT, PARTS("graph_offset: expected 0"));
    assert_refused(s, (member){"graph_offset", MO_I64, 2, {0, 3}}, MO_FORMAT,
        PARTS("graph_offset[1]: expected the number of nodes, 4, found 3"));
    assert_refused(s, (member){"graph_offset", MO_I64, 4, {0, 2, 2, 4}}, MO_FORMAT,
        PARTS("graph_offset[2]: expected more than 2"));
    assert_refused(s, (member){"graph_offset", MO_I64, 3, {0, 2, 4}}, MO_FORMAT,
        PARTS("adj_indices[1]: expected a node of graph 0, 0..1, found 2"));
    assert_refused(
        s, (member){"graph_offset", MO_I64, 2, {0, 4}}, MO_FORMAT, PARTS("labels: expected 1 elements, found 4"));
}

static void files_that_are_no_archive_are_refused(void **state) {
    scratch *s = *state;
    const char *path = scratch_write(s, "empty.npz", "", 0);
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("empty.npz"));
    path = scratch_write(s, "text.npz", "1 2\n", 4);
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("text.npz"));
}

/* Damage anywhere in an embedded graph is found: by the archive's own checks, or as arrays that are no graph. */
static void truncated_embedded_graphs_are_refused(void **state) {
    scratch *s = *state;
    bytes whole = read_bytes("train/data/mutag.npz");
    assert_true(whole.n > 1000);
    for (size_t n = 0; n < whole.n; n += 211) {
        assert_null(mo_graph_open(s->ctx, scratch_write(s, "cut.npz", whole.data, n)));
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.npz"));
    }
    bytes_release(&whole);
}

static void refusals_hold_no_memory(void **state) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_arrays_that_the_tests_damage_are_right),
        cmocka_unit_test(optional_members_may_be_missing),
        cmocka_unit_test(entries_of_value_zero_are_no_edges),
        cmocka_unit_test(required_members_are_named_when_missing),
        cmocka_unit_test(wrong_dtypes_are_refused),
        cmocka_unit_test(matrices_that_are_not_csr_are_refused),
        cmocka_unit_test(shapes_that_disagree_or_overflow_are_refused),
        cmocka_unit_test(features_that_are_not_finite_are_refused_with_their_place),
        cmocka_unit_test(divisions_are_read_and_checked),
        cmocka_unit_test(several_divisions_are_read_and_checked),
        cmocka_unit_test(features_that_number_the_nodes_are_left_out),
        cmocka_unit_test(names_are_read_in_any_order_and_checked),
        cmocka_unit_test(labels_out_of_range_are_refused),
        cmocka_unit_test(any_negative_label_means_none),
        cmocka_unit_test(sets_of_graphs_with_wrong_offsets_are_refused),
        cmocka_unit_test(files_that_are_no_archive_are_refused),
        cmocka_unit_test(truncated_embedded_graphs_are_refused),
        cmocka_unit_test(refusals_hold_no_memory),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
