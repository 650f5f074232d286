/* tests/train/graphs/test_graph.c - graphs from host arrays: adjacency, counts, look-up, hash, tasks. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { NODES = 23 };

/* Random directed edges with loops and repetitions; `dense` becomes the undirected truth. */
static int64_t draw_edges(mo_random *r, int64_t *u, int64_t *v, bool dense[NODES][NODES]) {
    int64_t n = mo_random_below(r, 200);
    memset(dense, 0, sizeof(bool[NODES][NODES]));
    for (int64_t i = 0; i < n; i++) {
        u[i] = mo_random_below(r, NODES);
        v[i] = mo_random_below(r, NODES);
        dense[u[i]][v[i]] = dense[v[i]][u[i]] = u[i] != v[i];
    }
    return n;
}

/* Directed pairs listed before, and loops, counted the slow way. */
static void count_dropped(const int64_t *u, const int64_t *v, int64_t n, int64_t *loops, int64_t *duplicates) {
    *loops = *duplicates = 0;
    for (int64_t i = 0; i < n; i++) {
        bool listed = false;
        for (int64_t j = 0; j < i; j++)
            listed |= u[i] == u[j] && v[i] == v[j];
        *loops += u[i] == v[i];
        *duplicates += listed && u[i] != v[i];
    }
}

TEST(edges_become_the_undirected_adjacency) {
    scratch *s = *state;
    int64_t u[200], v[200], loops, duplicates;
    bool dense[NODES][NODES];
    for (uint64_t trial = 0; trial < 500; trial++) {
        mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, trial);
        int64_t n = draw_edges(&r, u, v, dense), k = 0;
        mo_graph *g = mo_graph_from_edges(s->ctx, "drawn", NODES, n, u, v);
        assert_non_null(g);
        for (int64_t a = 0; a < NODES; a++) {
            assert_int_equal(g->row_pointer[a], k);
            for (int64_t b = 0; b < NODES; b++) {
                assert_int_equal(mo_graph_has_edge(g, a, b), dense[a][b]);
                if (dense[a][b])
                    assert_int_equal(g->column[k++], b);
            }
        }
        assert_int_equal(g->nnz, k);
        count_dropped(u, v, n, &loops, &duplicates);
        assert_int_equal(g->dropped_loops, loops);
        assert_int_equal(g->dropped_duplicates, duplicates);
        mo_graph_release(g);
    }
}

TEST(graphs_may_be_empty) {
    scratch *s = *state;
    for (int64_t nodes = 0; nodes < 3; nodes++) {
        mo_graph *g = mo_graph_from_edges(s->ctx, "empty", nodes, 0, NULL, NULL);
        assert_non_null(g);
        assert_int_equal(g->nodes, nodes);
        assert_int_equal(g->nnz, 0);
        assert_int_equal(g->graph_offset[1], nodes);
        assert_false(mo_graph_has_edge(g, 0, 0));
        for (int task = 0; task < MO_TASKS; task++)
            assert_false(mo_graph_has_task(g, (mo_task)task));
        mo_graph_release(g);
    }
    mo_graph_release(NULL);
}

TEST(look_ups_outside_the_graph_are_false) {
    scratch *s = *state;
    mo_graph *g = mo_graph_from_edges(s->ctx, "edge", 2, 1, (int64_t[]){0}, (int64_t[]){1});
    assert_true(mo_graph_has_edge(g, 0, 1) && mo_graph_has_edge(g, 1, 0));
    assert_false(mo_graph_has_edge(g, -1, 0) || mo_graph_has_edge(g, 0, -1));
    assert_false(mo_graph_has_edge(g, 2, 0) || mo_graph_has_edge(g, 0, INT64_MAX));
    mo_graph_release(g);
}

TEST(equal_content_has_equal_hashes_and_other_content_has_not) {
    scratch *s = *state;
    mo_graph *graphs[] = {
        mo_graph_from_edges(s->ctx, "a", 4, 3, (int64_t[]){0, 1, 2}, (int64_t[]){1, 2, 3}),
        mo_graph_from_edges(s->ctx, "b", 4, 5, (int64_t[]){3, 2, 1, 0, 2}, (int64_t[]){2, 1, 0, 0, 3}),
        mo_graph_from_edges(s->ctx, "a", 5, 3, (int64_t[]){0, 1, 2}, (int64_t[]){1, 2, 3}),
        mo_graph_from_edges(s->ctx, "a", 4, 3, (int64_t[]){0, 1, 1}, (int64_t[]){1, 2, 3}),
    };
    assert_memory_equal(graphs[0]->hash, graphs[1]->hash, 16);
    assert_memory_not_equal(graphs[0]->hash, graphs[2]->hash, 16);
    assert_memory_not_equal(graphs[0]->hash, graphs[3]->hash, 16);
    for (int i = 0; i < 4; i++)
        mo_graph_release(graphs[i]);
}

TEST(ends_outside_the_nodes_are_errors) {
    scratch *s = *state;
    assert_null(mo_graph_from_edges(s->ctx, "high", 3, 2, (int64_t[]){0, 1}, (int64_t[]){1, 3}));
    assert_failed(s->ctx, MO_INVALID, PARTS("0..2", "edge 1", "1, 3"));
    assert_null(mo_graph_from_edges(s->ctx, "negative", 3, 1, (int64_t[]){-1}, (int64_t[]){1}));
    assert_failed(s->ctx, MO_INVALID, PARTS("edge 0", "-1, 1"));
    assert_null(mo_graph_from_edges(s->ctx, "huge", INT32_MAX, 0, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("2147483647"));
    assert_null(mo_graph_from_edges(s->ctx, "fewer", -1, 0, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("-1"));
}

static mo_graph *open_or_fail(mo_context *ctx, const char *name) {
    mo_graph *graph = mo_graph_open(ctx, name);
    if (!graph)
        fail_msg("%s", mo_context_status(ctx)->message);
    return graph;
}

TEST(edge_lists_rank_their_ids) {
    static const char *const files[] = {"tests/graphs/edges.txt", "tests/graphs/edges.txt.gz"};
    scratch *s = *state;
    for (int f = 0; f < 2; f++) { /* ids 0 3 7 10 2^53 */
        mo_graph *g = open_or_fail(s->ctx, files[f]);
        assert_string_equal(g->name, "edges");
        assert_int_equal(g->nodes, 5);
        assert_int_equal(g->nnz, 8);
        assert_true(mo_graph_has_edge(g, 3, 2) && mo_graph_has_edge(g, 1, 2) && mo_graph_has_edge(g, 4, 1));
        assert_true(mo_graph_has_edge(g, 0, 3));
        assert_int_equal(g->dropped_loops, 1);
        assert_int_equal(g->dropped_duplicates, 1);
        mo_graph_release(g);
    }
}

TEST(adjacency_lists_become_a_set_of_graphs) {
    static const char *const files[] = {"tests/graphs/lists.txt", "tests/graphs/lists.txt.gz"};
    scratch *s = *state;
    for (int f = 0; f < 2; f++) {
        mo_graph *g = open_or_fail(s->ctx, files[f]);
        assert_int_equal(g->graphs, 2);
        assert_memory_equal(g->graph_offset, ((int64_t[]){0, 3, 5}), 3 * sizeof(int64_t));
        assert_memory_equal(g->row_pointer, ((int64_t[]){0, 2, 3, 4, 5, 6}), 6 * sizeof(int64_t));
        assert_memory_equal(g->column, ((int32_t[]){1, 2, 0, 0, 4, 3}), 6 * sizeof(int32_t));
        assert_memory_equal(g->label, ((int64_t[]){1, 0}), 2 * sizeof(int64_t)); /* 5 and -1 */
        assert_int_equal(g->classes, 2);
        assert_int_equal(g->dropped_loops, 1);
        assert_int_equal(g->features, 2); /* the tags 0 and 1 */
        assert_memory_equal(g->feature_column, ((int32_t[]){0, 0, 1, 0, 0}), 5 * sizeof(int32_t));
        mo_graph_release(g);
    }
}

TEST(tu_folders_map_labels_by_their_sorted_values) {
    scratch *s = *state;
    mo_graph *g = open_or_fail(s->ctx, "tests/graphs/TINY");
    assert_string_equal(g->name, "TINY");
    assert_memory_equal(g->graph_offset, ((int64_t[]){0, 3, 5}), 3 * sizeof(int64_t));
    assert_memory_equal(g->column, ((int32_t[]){1, 0, 2, 1, 4, 3}), 6 * sizeof(int32_t));
    assert_memory_equal(g->label, ((int64_t[]){1, 0}), 2 * sizeof(int64_t));
    assert_int_equal(g->features, 5); /* two attributes, and labels -2, 7, 9 */
    assert_int_equal(g->attributes, 2);
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 3, 5, 7, 10, 13}), 6 * sizeof(int64_t));
    assert_memory_equal(g->feature_column, ((int32_t[]){0, 1, 3, 1, 4, 0, 3, 0, 1, 2, 0, 1, 4}), 13 * sizeof(int32_t));
    assert_memory_equal(
        g->feature_value, ((float[]){1.5f, -2, 1, 30, 1, -0.25f, 1, 7, 7, 1, 0.5f, 1, 1}), 13 * sizeof(float));
    assert_true(mo_graph_has_task(g, MO_TASK_GC));
    mo_graph_release(g);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
