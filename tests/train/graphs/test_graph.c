/* tests/train/graphs/test_graph.c - graphs from host arrays: adjacency, counts, looking up edges, hash, tasks. */
#include "tests/scratch.h"
#include "train/graphs/graph_build.h"

enum { NODES = 23 };

/* Draws random directed edges with loops and repetitions; `dense` receives the undirected adjacency. */
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

/* Counts, without an index, directed pairs that occur before, and loops. */
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

TEST_OF(edges_become_the_undirected_adjacency, scratch *s) {
    int64_t u[200], v[200], loops, duplicates;
    bool dense[NODES][NODES];
    for (uint64_t trial = 0; trial < 500; trial++) {
        mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, trial);
        int64_t n = draw_edges(&r, u, v, dense), k = 0;
        HELD(mo_graph) *g = mo_graph_from_edges(s->ctx, "drawn", NODES, n, u, v);
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
    }
}

/* A weighted path 0 - 1 - 2, whose first edge is listed in both directions, and a loop. */
static mo_graph *weighted_path(mo_context *ctx, float second) {
    static const int64_t u[] = {0, 1, 1, 2}, v[] = {1, 0, 2, 2};
    const float weight[] = {2, 3, second, 9};
    mo_edges edges = {0};
    mo_graph *g = mo_graph_new(ctx, "path", "path");
    for (int i = 0; i < 4; i++)
        assert_true(mo_edges_add(ctx, &edges, u[i], v[i]) && mo_edges_weigh(ctx, &edges, weight[i]));
    assert_true(mo_graph_set_edges(g, 3, &edges));
    return mo_graph_finish(g);
}

TEST_OF(weights_of_edges_enter_the_normalised_adjacency, scratch *s) {
    HELD(mo_graph) *g = weighted_path(s->ctx, 0.5f);
    static const float expected[] = {3, 3, 0.5f, 0.5f};
    assert_memory_equal(g->weight, expected, sizeof expected);
    HELD(mo_csr) *A = mo_normalized_adjacency(g, MO_F64);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    double dense[9], first = 3 / sqrt(3 * 3.5), second = 0.5 / sqrt(3.5 * 0.5);
    assert_int_equal(mo_tensor_read(mo_spmm(t, A, mo_eye(t, MO_F64, 3)), dense, sizeof dense), MO_OK);
    const double truth[] = {0, first, 0, first, 0, second, 0, second, 0};
    for (int i = 0; i < 9; i++)
        assert_true(fabs(dense[i] - truth[i]) < 1e-15);
    const char *path = scratch_path(s, "path.npz");
    assert_int_equal(mo_graph_write(g, path), MO_OK);
    HELD(mo_graph) *read = mo_graph_open(s->ctx, path), *equal = weighted_path(s->ctx, 3);
    remove(path);
    assert_memory_equal(read->weight, expected, sizeof expected);
    assert_memory_equal(read->hash, g->hash, sizeof g->hash);
    HELD(mo_graph) *plain = mo_graph_from_edges(s->ctx, "path", 3, 2, (int64_t[]){0, 1}, (int64_t[]){1, 2});
    assert_null(equal->weight); /* a common factor says nothing */
    assert_memory_equal(equal->hash, plain->hash, sizeof plain->hash);
    assert_memory_not_equal(g->hash, plain->hash, sizeof plain->hash);
}

TEST_OF(held_out_edges_leave_the_weights_of_the_others, scratch *s) {
    mo_edges edges = {0};
    HELD(mo_graph) *g = mo_graph_new(s->ctx, "path", "path");
    for (int64_t i = 0; i < 3; i++)
        assert_true(mo_edges_add(s->ctx, &edges, i, i + 1) && mo_edges_weigh(s->ctx, &edges, (float)(i + 1)));
    assert_true(mo_graph_set_edges(g, 4, &edges));
    g = mo_graph_finish(g);
    HELD(mo_graph) *rest = mo_graph_without(g, (int64_t *[]){(int64_t[]){1}, (int64_t[]){2}}, 1);
    assert_memory_equal(rest->weight, ((const float[]){1, 1, 3, 3}), 4 * sizeof(float));
}

TEST_OF(equal_content_has_equal_hashes_and_other_content_has_not, scratch *s) {
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

TEST_OF(ends_outside_the_nodes_are_errors, scratch *s) {
    assert_null(mo_graph_from_edges(s->ctx, "high", 3, 2, (int64_t[]){0, 1}, (int64_t[]){1, 3}));
    assert_failed(s->ctx, MO_INVALID, PARTS("0..2", "edge 1", "1, 3"));
    assert_null(mo_graph_from_edges(s->ctx, "negative", 3, 1, (int64_t[]){-1}, (int64_t[]){1}));
    assert_failed(s->ctx, MO_INVALID, PARTS("edge 0", "-1, 1"));
    assert_null(mo_graph_from_edges(s->ctx, "huge", INT32_MAX, 0, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("2147483647"));
    assert_null(mo_graph_from_edges(s->ctx, "fewer", -1, 0, NULL, NULL));
    assert_failed(s->ctx, MO_INVALID, PARTS("-1"));
}
