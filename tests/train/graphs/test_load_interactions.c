/* tests/train/graphs/test_load_interactions.c - LightGCN's lists as bipartite graphs. */
#include "tests/bad_text.h"

static mo_graph *open_or_fail(scratch *s, const char *path) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return graph;
}

static void items_are_numbered_behind_the_users(void **state) {
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

static void a_folder_is_the_union_of_its_files(void **state) {
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

static void damaged_lists_are_refused_by_line(void **state) {
    static const bad_text texts[] = {
        {"\n\n", ":", "\"user item item ..\"", "no item in 2 lines"},
        {"0\n1\n", ":", "\"user item item ..\"", "no item in 2 lines"},
        {"0 1\n0 2\n", ":2:", "a user above that of the line before (an integer in 1..", "\"0\""},
        {"3 1\n2 2\n", ":2:", "(an integer in 4..", "\"2\""},
        {"-1 1\n", ":1:", "a user", "\"-1\""},
        {"0 one\n", ":1:", "an item", "\"one\""},
        {"0 1\n1 2 -3\n", ":2:", "an item (an integer in 0..2147483645)", "\"-3\""},
        {"0 2147483646\n", ":1:", "an item (an integer in 0..2147483645)", "\"2147483646\""},
        {"0 1,2\n", ":1:", "an item", "\",2\""},
        {"0 1\n5 2147483645\n", ":", "numbered without wide gaps", "up to 5 and 2147483645 for 2 interactions"},
        {"0 1\n2147483645 1\n", ":", "numbered without wide gaps", "up to 2147483645 and 1 for 2 interactions"},
    };
    assert_texts_refused(*state, "train.txt", texts, sizeof texts / sizeof *texts);
    scratch_files(*state, true);
}

static void refusals_hold_no_memory(void **state) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_numbered_behind_the_users),
        cmocka_unit_test(a_folder_is_the_union_of_its_files),
        cmocka_unit_test(damaged_lists_are_refused_by_line),
        cmocka_unit_test(refusals_hold_no_memory),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
