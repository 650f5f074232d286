/* tests/train/test_plan_split.c - protocol "split": a test part in which classes have their natural frequencies, and
 * support from the rest. */
#include "tests/labelled_graph.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { LARGEST = 1024 };

static void mark(const int64_t *ids, int64_t n, bool marked[LARGEST]) {
    memset(marked, 0, LARGEST);
    for (int64_t i = 0; i < n; i++)
        marked[ids[i]] = true;
}

TEST(support_and_test_part_never_share_an_example) {
    scratch *s = *state;
    bool tested[LARGEST];
    for (uint64_t seed = 0; seed < 2000; seed++) {
        mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, seed);
        int64_t sizes[6], classes = 2 + mo_random_below(&r, 5), k = 1 + mo_random_below(&r, 30);
        for (int64_t c = 0; c < classes; c++)
            sizes[c] = 30 + mo_random_below(&r, 60);
        mo_graph *graph = labelled_graph(s->ctx, sizes, classes);
        mo_plan plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, k, seed, &plan), MO_OK);
        int64_t labelled = graph->n_labels - 1; /* a tenth, rounded half up */
        assert_int_equal(plan.n_query, (labelled + 5) / 10);
        assert_int_equal(plan.classes, classes);
        assert_int_equal(plan.n_support, classes * k);
        mark(plan.query[0], plan.n_query, tested);
        int64_t count[6] = {0};
        for (int64_t i = 0; i < plan.n_support; i++) {
            assert_false(tested[plan.support[0][i]]);
            assert_int_equal(graph->label[plan.support[0][i]], plan.support_label[i]);
            count[plan.support_label[i]]++;
        }
        for (int64_t i = 0; i < plan.n_query; i++)
            assert_int_equal(graph->label[plan.query[0][i]], plan.query_label[i]);
        for (int64_t c = 0; c < classes; c++)
            assert_int_equal(count[c], k);
        mo_plan_release(&plan);
        mo_graph_release(graph);
    }
}

TEST(the_test_part_depends_on_the_seed_alone) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){100, 200, 150}, 3);
    mo_plan few, many, other;
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 4, 1, &few), MO_OK);
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 64, 1, &many), MO_OK);
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 4, 2, &other), MO_OK);
    assert_int_equal(few.n_query, 45);
    assert_memory_equal(few.query[0], many.query[0], 45 * sizeof(int64_t));
    assert_memory_not_equal(few.query[0], other.query[0], 45 * sizeof(int64_t));
    for (int64_t c = 0; c < 3; c++) /* few labels are the first of many */
        assert_memory_equal(few.support[0] + 4 * c, many.support[0] + 64 * c, 4 * sizeof(int64_t));
    mo_plan_release(&few);
    mo_plan_release(&many);
    mo_plan_release(&other);
    mo_graph_release(graph);
}

TEST(support_repeats_only_when_a_class_is_used_up) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){20, 400}, 2);
    for (uint64_t seed = 0; seed < 200; seed++) {
        mo_plan plan;
        bool used[LARGEST];
        int64_t distinct[2] = {0, 0};
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 64, seed, &plan), MO_OK);
        assert_int_equal(plan.small_classes, 1);
        mark(plan.support[0], plan.n_support, used);
        for (int64_t i = 0; i < graph->nodes; i++)
            if (used[i])
                distinct[graph->label[i]]++;
        assert_int_equal(distinct[1], 64);
        int64_t tested = 0;
        for (int64_t i = 0; i < plan.n_query; i++)
            tested += plan.query_label[i] == 0;
        assert_int_equal(distinct[0], 20 - tested);
        mo_plan_release(&plan);
    }
    mo_graph_release(graph);
}

/* As classes have their natural frequencies, each example is tested for a tenth of the seeds. */
TEST(every_example_is_tested_equally_often) {
    enum { SEEDS = 3000 };
    scratch *s = *state;
    int64_t tested[LARGEST] = {0};
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){30, 90}, 2);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        mo_plan plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 1, seed, &plan), MO_OK);
        for (int64_t i = 0; i < plan.n_query; i++)
            tested[plan.query[0][i]]++;
        mo_plan_release(&plan);
    }
    for (int64_t i = 0; i < 120; i++) /* expected 300, sd 16.4; allows six sd */
        assert_true(llabs(tested[i] - SEEDS / 10) < 99);
    mo_graph_release(graph);
}

TEST(classes_that_cannot_take_part_are_left_out) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){40, 1, 0, 40}, 4);
    int64_t lone = -1;
    for (int64_t i = 0; i < graph->nodes; i++)
        lone = graph->label[i] == 1 ? i : lone;
    for (uint64_t seed = 0; seed < 100; seed++) {
        mo_plan plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 5, seed, &plan), MO_OK);
        assert_int_equal(plan.classes, 2);
        assert_int_equal(plan.left_out, 1);
        for (int64_t i = 0; i < plan.n_query; i++) { /* classes 0 and 3 get labels 0 and 1 */
            assert_true(plan.query[0][i] != lone);
            assert_int_equal(plan.query_label[i], graph->label[plan.query[0][i]] == 3);
        }
        mo_plan_release(&plan);
    }
    mo_graph_release(graph);
}

TEST(sets_of_graphs_are_split_by_graph) {
    scratch *s = *state;
    unsetenv("MOCHI_EMBEDDED");
    mo_graph *graph = mo_graph_open(s->ctx, "mutag");
    assert_non_null(graph);
    mo_plan plan;
    assert_int_equal(mo_plan_split(graph, MO_TASK_GC, 16, 0, &plan), MO_OK);
    assert_int_equal(plan.n_query, 19); /* of 188 */
    assert_int_equal(plan.n_support, 32);
    for (int64_t i = 0; i < plan.n_support; i++)
        assert_true(plan.support[0][i] >= 0 && plan.support[0][i] < 188);
    assert_null(plan.support[1]);
    mo_plan_release(&plan);
    mo_graph_release(graph);
}

TEST(splits_that_cannot_be_are_errors) {
    scratch *s = *state;
    mo_plan plan;
    mo_graph *lone = labelled_graph(s->ctx, (int64_t[]){9, 1}, 2);
    assert_int_equal(mo_plan_split(lone, MO_TASK_NC, 4, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled (nc)", "two classes", "found 1"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_NC, 0, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("k >= 1", "found 0"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_GC, 1, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("gc"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_LP, 1, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("lp"));
    mo_graph_release(lone);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
