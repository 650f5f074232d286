/* tests/train/graphs/test_load_interactions.c - LightGCN's lists as bipartite graphs. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

static mo_graph *open_or_fail(scratch *s, const char *path) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return graph;
}

TEST(items_are_numbered_behind_the_users) {
    scratch *s = *state;
    mo_graph *g = open_or_fail(s, scratch_write(s, "train.txt", "0 2 0\n1 0\n3 1 1\n", 16));
    assert_int_equal(g->nodes, 4 + 3); /* user 2 has nothing yet */
    assert_int_equal(g->nnz, 2 * 4);
    assert_int_equal(g->dropped_duplicates, 1);
    assert_true(mo_graph_has_edge(g, 0, 4 + 2));
    assert_true(mo_graph_has_edge(g, 0, 4));
    assert_true(mo_graph_has_edge(g, 1, 4));
    assert_true(mo_graph_has_edge(g, 3, 5));
    assert_false(mo_graph_has_edge(g, 0, 1));
    mo_graph_release(g);
    remove(s->path);
}

TEST(a_folder_is_the_union_of_its_files) {
    scratch *s = *state;
    scratch_write(s, "train.txt", "0 0\n1 1\n", 8);
    mo_graph *g = open_or_fail(s, s->folder);
    assert_int_equal(g->nodes, 4);
    assert_int_equal(g->nnz, 4);
    mo_graph_release(g);
    scratch_write(s, "test.txt", "0 1\n1\n2 3\n", 10); /* user 1 has nothing to test, user 2 nothing to train */
    g = open_or_fail(s, s->folder);
    assert_int_equal(g->nodes, 3 + 4);
    assert_int_equal(g->nnz, 8);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            assert_false(mo_graph_has_edge(g, i, j));
    assert_true(mo_graph_has_edge(g, 0, 3) && mo_graph_has_edge(g, 0, 4) && mo_graph_has_edge(g, 1, 4) &&
                mo_graph_has_edge(g, 2, 6));
    mo_graph_release(g);
    scratch_files(s, true);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
