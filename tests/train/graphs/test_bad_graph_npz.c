/* tests/train/graphs/test_bad_graph_npz.c - a graph from the members of an npz archive, and archives that are damaged;
 * members that contradict each other stand in tests/graphs/files.cases. */
#include "tests/scratch.h"
#include "train/graphs/loaders.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

/* One member of n values, along one axis, or along two of `rows` rows. */
typedef struct member {
    const char *key;
    mo_dtype dtype;
    int64_t n;
    double values[8];
    int64_t rows;
} member;

enum { MEMBERS = 10 };

/* 4 nodes, edges 0-1, 1-2 and 3-2 directed this way, 3 features, the label of node 2 taken away. */
static const member right[MEMBERS] = {
    {"adj_shape", MO_I64, 2, {4, 4}, 0},
    {"adj_indptr", MO_I32, 5, {0, 1, 2, 2, 3}, 0},
    {"adj_indices", MO_U8, 3, {1, 2, 2}, 0},
    {"adj_data", MO_F32, 3, {1, 1, 1}, 0},
    {"attr_shape", MO_I64, 2, {4, 3}, 0},
    {"attr_indptr", MO_I64, 5, {0, 1, 1, 2, 3}, 0},
    {"attr_indices", MO_I32, 3, {0, 2, 1}, 0},
    {"attr_data", MO_F64, 3, {1, 2.5, -3}, 0},
    {"labels", MO_I32, 4, {0, 1, 1, 0}, 0},
    {"idx_unlabelled", MO_I64, 1, {2}, 0},
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
    const int64_t shape[] = {m->rows ? m->rows : m->n, m->rows ? m->n / m->rows : 0};
    return mo_tensor_create_from(ctx, m->dtype, m->rows ? 2 : 1, shape, host[m->dtype]);
}

/* The right arrays with n members replaced, by key, or added. */
static mo_graph *open_with(mo_context *ctx, const member *change, int n) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < MEMBERS + n; i++) {
        const member *m = i < MEMBERS ? &right[i] : &change[i - MEMBERS];
        bool replaced = false;
        for (int k = 0; k < n && i < MEMBERS; k++)
            replaced |= strcmp(change[k].key, m->key) == 0;
        if (!replaced)
            mo_arrays_take(arrays, m->key, make_member(ctx, m));
    }
    mo_graph *graph = mo_graph_from_arrays(arrays, "bad", "bad.npz");
    mo_arrays_release(arrays);
    return graph;
}

TEST(the_arrays_that_the_tests_damage_are_right) {
    scratch *s = *state;
    mo_graph *g = open_with(s->ctx, NULL, 0);
    assert_non_null(g);
    assert_memory_equal(g->row_pointer, ((int64_t[]){0, 1, 3, 5, 6}), 5 * sizeof(int64_t));
    assert_memory_equal(g->column, ((int32_t[]){1, 0, 2, 1, 3, 2}), 6 * sizeof(int32_t));
    assert_memory_equal(g->label, ((int64_t[]){0, 1, -1, 0}), 4 * sizeof(int64_t));
    assert_memory_equal(g->feature_value, ((float[]){1, 2.5f, -3}), 3 * sizeof(float));
    assert_int_equal(g->features, 3);
    assert_int_equal(g->classes, 2);
    mo_graph_release(g);
}

TEST(divisions_are_read_and_checked) {
    scratch *s = *state;
    static const member parts[] = {{"idx_train", MO_U8, 2, {0, 1}, 0}, {"idx_test", MO_I64, 1, {3}, 0}};
    mo_graph *g = open_with(s->ctx, parts, 2), *whole = open_with(s->ctx, NULL, 0);
    assert_non_null(g);
    assert_memory_equal(
        g->division, ((uint8_t[]){MO_DIVISION_TRAIN, MO_DIVISION_TRAIN, MO_DIVISION_NONE, MO_DIVISION_TEST}), 4);
    assert_null(whole->division);
    assert_memory_equal(g->hash, whole->hash, sizeof g->hash); /* it is no content of the graph */
    mo_graph_release(g);
    mo_graph_release(whole);
}

TEST(several_divisions_are_read_and_checked) {
    scratch *s = *state;
    enum { T = MO_DIVISION_TRAIN, Q = MO_DIVISION_TEST };
    static const member masks[] = {{"splits_train", MO_I32, 8, {1, 1, 0, 0, 0, 1, 0, 1}, 2},
        {"splits_test", MO_I32, 8, {0, 0, 0, 1, 1, 0, 0, 0}, 2}};
    mo_graph *g = open_with(s->ctx, masks, 2), *whole = open_with(s->ctx, NULL, 0);
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
}

TEST(names_are_read_in_any_order_and_checked) {
    scratch *s = *state;
    char number[24];
    mo_graph *g = open_with(s->ctx, &(member){"names_number", MO_I64, 4, {5, -3, 8, 0}, 0}, 1);
    assert_true(g && g->node_numbers);
    assert_int_equal(mo_graph_find_example(g, "-3"), 1);
    assert_int_equal(mo_graph_find_example(g, "0"), 3);
    assert_int_equal(mo_graph_find_example(g, "1"), -1);
    assert_string_equal(mo_graph_example_name(g, 2, number), "8");
    mo_graph_release(g);
    g = open_with(s->ctx, &(member){"names_text", MO_U8, 8, {'d', 0, 'a', 'b', 0, 'c', 0, 0}, 0}, 1);
    assert_true(g && !g->node_numbers);
    assert_int_equal(mo_graph_find_example(g, "ab"), 1);
    assert_int_equal(mo_graph_find_example(g, ""), 3);
    mo_graph_release(g);
    g = open_with(s->ctx, &(member){"class_names_number", MO_U8, 2, {9, 3}, 0}, 1);
    assert_true(g && g->class_numbers);
    assert_string_equal(mo_graph_class_name(g, 0, number), "9");
    mo_graph_release(g);
}

TEST(any_negative_label_means_none) {
    scratch *s = *state;
    mo_graph *graph = open_with(s->ctx, &(member){"labels", MO_I64, 4, {-2, 1, -1, 0}, 0}, 1);
    assert_non_null(graph);
    assert_int_equal(graph->classes, 2);
    assert_memory_equal(graph->label, ((int64_t[]){-1, 1, -1, 0}), 4 * sizeof *graph->label);
    mo_graph_release(graph);
}

TEST(files_that_are_no_archive_are_refused) {
    scratch *s = *state;
    const char *path = scratch_write(s, "empty.npz", "", 0);
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("empty.npz"));
    path = scratch_write(s, "text.npz", "1 2\n", 4);
    assert_null(mo_graph_open(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("text.npz"));
}

/* Damage anywhere in an embedded graph is found: by the archive's own checks, or as arrays that are no graph. */
TEST(truncated_embedded_graphs_are_refused) {
    scratch *s = *state;
    bytes whole = read_bytes("train/data/mutag.npz");
    assert_true(whole.n > 1000);
    for (size_t n = 0; n < whole.n; n += 211) {
        assert_null(mo_graph_open(s->ctx, scratch_write(s, "cut.npz", whole.data, n)));
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.npz"));
    }
    bytes_release(&whole);
}

TEST(refusals_hold_no_memory) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}
