/* tests/train/test_plan_links.c - the pairs in an episode of links: edges have label one, other pairs label zero. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

/* Returns the position of a pair in a list, or -1. */
static int64_t find_pair(int64_t *const ends[2], int64_t n, int64_t u, int64_t v) {
    for (int64_t i = 0; i < n; i++)
        if (ends[0][i] == u && ends[1][i] == v)
            return i;
    return -1;
}

TEST(link_plans_have_label_one_for_edges) {
    scratch *s = *state;
    unsetenv("MOCHI_EMBEDDED");
    mo_graph *graph = mo_graph_open(s->ctx, "cora");
    mo_links *links = mo_links_create(graph, 0.004, 300, 1); /* 21 positives */
    assert_non_null(links);
    mo_plan_options options = {.k_min = 3, .k_max = 12, .q_min = 3, .q_max = 12, .max_classes = 64, .seed = 1};
    int64_t small = 0;
    for (uint64_t number = 0; number < 300; number++) {
        mo_plan plan;
        assert_int_equal(mo_plan_draw(graph, links, MO_TASK_LP, number, &options, NULL, 0, &plan), MO_OK);
        assert_int_equal(plan.classes, 2);
        assert_int_equal(plan.n_support, 2 * plan.k);
        assert_int_equal(plan.n_query, 2 * plan.q);
        assert_int_equal(plan.small_classes, plan.k + plan.q > links->n_positive);
        small += plan.small_classes;
        int64_t edges = 0;
        for (int64_t i = 0; i < plan.n_support; i++) {
            bool edge = plan.support_label[i] == 1;
            int64_t *const *list = edge ? links->positive : links->negative;
            int64_t n = edge ? links->n_positive : links->n_negative;
            assert_true(find_pair(list, n, plan.support[0][i], plan.support[1][i]) >= 0);
            assert_int_equal(find_pair(plan.query, plan.n_query, plan.support[0][i], plan.support[1][i]), -1);
            edges += edge;
        }
        assert_int_equal(edges, plan.k);
        for (int64_t i = 0; i < plan.n_query; i++)
            assert_int_equal(plan.query_label[i], mo_graph_has_edge(graph, plan.query[0][i], plan.query[1][i]));
        mo_plan_release(&plan);
    }
    assert_true(small > 0);
    mo_links_release(links);
    mo_graph_release(graph);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
