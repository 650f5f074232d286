/* tests/train/graphs/test_attribute_scale.c - which columns of attributes are brought to another scale, and how. */
#include "tensor/library.h"
#include "tests/scratch.h"

enum { NODES = 40 };

/* A ring of NODES nodes with the given columns, each a function of the node's number. */
typedef double column_of(int64_t node);

static mo_graph *ring(mo_context *ctx, column_of *const *columns, int64_t n) {
    static int64_t pointer[NODES + 1], adjacent[NODES], rows[NODES + 1], column[NODES * 16];
    static float value[NODES * 16];
    int64_t at = 0;
    for (int64_t u = 0; u < NODES; u++) {
        adjacent[u] = (u + 1) % NODES;
        for (int64_t j = 0; j < n; j++)
            if (columns[j](u) != 0) {
                column[at] = j;
                value[at++] = (float)columns[j](u);
            }
        rows[u + 1] = at;
        pointer[u + 1] = u + 1;
    }
    const int64_t square[] = {NODES, NODES}, wide[] = {NODES, n}, edges = NODES, two = 2, rows_n = NODES + 1;
    HELD(mo_arrays) *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "adj_shape", mo_tensor_create_from(ctx, MO_I64, 1, &two, square));
    mo_arrays_take(arrays, "adj_indptr", mo_tensor_create_from(ctx, MO_I64, 1, &rows_n, pointer));
    mo_arrays_take(arrays, "adj_indices", mo_tensor_create_from(ctx, MO_I64, 1, &edges, adjacent));
    mo_arrays_take(arrays, "attr_shape", mo_tensor_create_from(ctx, MO_I64, 1, &two, wide));
    mo_arrays_take(arrays, "attr_indptr", mo_tensor_create_from(ctx, MO_I64, 1, &rows_n, rows));
    mo_arrays_take(arrays, "attr_indices", mo_tensor_create_from(ctx, MO_I64, 1, &at, column));
    mo_arrays_take(arrays, "attr_data", mo_tensor_create_from(ctx, MO_F32, 1, &at, value));
    mo_graph *graph = mo_graph_from_arrays(arrays, "ring", "ring");
    assert_non_null(graph);
    return graph;
}

static double entry(const mo_graph *g, int64_t u, int64_t j) {
    double x = 0;
    for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++)
        x += g->feature_column[e] == j ? (double)g->feature_value[e] : 0;
    return x;
}

static double third(int64_t u) {
    return u % 3 == 0;
}
static double half(int64_t u) {
    return u % 2;
}
static double weight(int64_t u) { /* sparse, as of a word in a text */
    return u % 5 ? 0 : 0.3 + 0.01 * (double)u;
}
static double other_weight(int64_t u) {
    return u % 4 ? 0 : 0.2 + 0.01 * (double)u;
}
static double thousand(int64_t u) {
    return u < 0 ? 0 : 1000;
}
static double one(int64_t u) {
    return u < 0 ? 0 : 1;
}
static double income(int64_t u) {
    return exp(10 + 0.1 * (double)u);
}
static double age(int64_t u) {
    return 20 + (double)(u * 7 % NODES);
}
static double rare(int64_t u) { /* sparse, in large units */
    return u % 10 ? 0 : 5000 + 100 * (double)u;
}
static double coordinate(int64_t u) {
    return sin((double)u) * 0.02;
}
static double other_coordinate(int64_t u) {
    return cos((double)u) * 0.08;
}

static mo_graph *scaled(mo_graph *graph) {
    mo_graph *s = mo_graph_scale(graph, &(mo_feature_options){.attributes = MO_ATTRIBUTES_AUTO});
    assert_non_null(s);
    return s;
}

TEST_OF(columns_of_one_scale_stay, scratch *s) {
    column_of *const tables[][4] = {
        {third, half, weight, NULL}, {weight, other_weight, third, NULL}, {coordinate, other_coordinate, NULL}};
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        while (tables[i][n])
            n++;
        HELD(mo_graph) *graph = ring(s->ctx, tables[i], n), *same = scaled(graph);
        assert_ptr_equal(same, graph);
        assert_null(same->scaled);
    }
}

TEST_OF(a_column_of_another_scale_is_centred_if_dense, scratch *s) {
    column_of *const columns[] = {third, half, thousand, income, rare};
    HELD(mo_graph) *graph = ring(s->ctx, columns, 5), *g = scaled(graph);
    assert_string_equal(g->scaled, "put on one scale: column 3, column 4; the same in all rows, left out: column 2");
    double squares = 0;
    for (int64_t u = 0; u < NODES; u++) {
        assert_true(entry(g, u, 0) == third(u) && entry(g, u, 1) == half(u));
        assert_true(fabs(entry(g, u, 2)) <= 2.5);
        assert_true((entry(g, u, 3) == 0) == (rare(u) == 0));
        squares += entry(g, u, 3) * entry(g, u, 3) / 4; /* of 4 entries */
    }
    assert_true(fabs(squares - 1) < 1e-5); /* the length of the other columns' entries */
    assert_true(entry(g, 5, 2) < 0 && entry(g, 35, 2) > 0);
    assert_memory_equal(g->hash, graph->hash, sizeof g->hash);
    assert_true(entry(graph, 0, 2) == 1000); /* what was loaded stays */
}

/* Not only empty: without its number, so that sums over columns are cut as if the column had never been there. */
TEST_OF(a_constant_column_leaves_the_graph_of_the_others, scratch *s) {
    column_of *const columns[] = {thousand, third, income, one, half}, *const others[] = {third, income, half};
    static const char *const names[] = {"height", "third", "income", "one", "half"};
    HELD(mo_graph) *graph = ring(s->ctx, columns, 5), *without = ring(s->ctx, others, 3);
    graph->feature_name = mo_host_array(s->ctx, 5, sizeof *graph->feature_name);
    for (int j = 0; j < 5; j++)
        graph->feature_name[j] = mo_text_copy(s->ctx, names[j]);
    HELD(mo_graph) *g = scaled(graph), *expected = scaled(without);
    assert_string_equal(g->scaled, "put on one scale: income; the same in all rows, left out: height, one");
    assert_int_equal(g->features, 3);
    assert_string_equal(g->feature_name[0], "third");
    assert_string_equal(g->feature_name[1], "income");
    assert_string_equal(g->feature_name[2], "half");
    assert_int_equal(g->feature_nnz, expected->feature_nnz);
    size_t entries = (size_t)g->feature_nnz;
    assert_memory_equal(g->feature_column, expected->feature_column, entries * sizeof *g->feature_column);
    assert_memory_equal(g->feature_value, expected->feature_value, entries * sizeof *g->feature_value);
}

TEST_OF(a_table_of_units_gets_one_scale, scratch *s) {
    column_of *const columns[] = {age, income, third, one};
    HELD(mo_graph) *graph = ring(s->ctx, columns, 4), *g = scaled(graph);
    assert_string_equal(g->scaled, "put on one scale: column 0, column 1; the same in all rows, left out: column 3");
    double sum = 0, squares = 0;
    for (int64_t u = 0; u < NODES; u++) {
        sum += entry(g, u, 0) / NODES;
        squares += entry(g, u, 0) * entry(g, u, 0) / NODES;
        assert_true(entry(g, u, 2) == third(u));
    }
    assert_true(fabs(sum) < 1e-5 && squares > 0.25 && squares < 1.5); /* even ages: 0.78 deviations by quartiles */
}

TEST_OF(one_huge_value_does_not_flatten_its_column, scratch *s) {
    column_of *const columns[] = {age, income};
    HELD(mo_graph) *graph = ring(s->ctx, columns, 2);
    graph->feature_value[2 * 7] = 1e30f; /* the age of node 7 */
    HELD(mo_graph) *g = scaled(graph);
    assert_true(entry(g, 7, 0) == 2.5);
    assert_true(fabs(entry(g, 0, 0) - entry(g, 20, 0)) > 0.1);
}

TEST_OF(raw_attributes_and_sets_of_graphs_stay, scratch *s) {
    column_of *const columns[] = {age, income};
    HELD(mo_graph) *graph = ring(s->ctx, columns, 2);
    HELD(mo_graph) *raw = mo_graph_scale(graph, &(mo_feature_options){.attributes = MO_ATTRIBUTES_RAW});
    assert_ptr_equal(raw, graph);
    HELD(mo_graph) *set = mo_graph_open(s->ctx, "enzymes");
    HELD(mo_graph) *same = scaled(set);
    assert_ptr_equal(same, set);
}

TEST_OF(every_graph_that_comes_with_the_library_stays, scratch *s) {
    static const char *const names[] = {"cora", "citeseer", "photo", "astroph", "gnutella06"};
    for (int i = 0; i < 5; i++) {
        HELD(mo_graph) *graph = mo_graph_open(s->ctx, names[i]), *same = scaled(graph);
        assert_ptr_equal(same, graph);
    }
}

TEST_OF(the_graph_that_was_loaded_can_go_first, scratch *s) {
    column_of *const columns[] = {age, income};
    mo_graph *graph = ring(s->ctx, columns, 2), *g = scaled(graph);
    mo_graph_release(graph);
    assert_int_equal(g->nnz, 2 * NODES);
    assert_true(g->row_pointer[NODES] == g->nnz);
    mo_graph_release(g);
}
