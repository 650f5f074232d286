/* tests/train/test_plan.c - which examples an episode has: properties over thousands of episodes, also for small
 * classes. */
#include "tests/labelled_graph.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { LARGEST = 4096 };

/* Fails unless support and query share no example, labels are 0 .. classes - 1, each label has k and q examples, and
 * they all are from one class of the graph. */
static void assert_episode(const mo_graph *graph, const mo_plan *plan) {
    int64_t class_of[64], count[2][64] = {{0}};
    bool in_support[LARGEST] = {false};
    memset(class_of, -1, sizeof class_of);
    assert_int_equal(plan->n_support, plan->classes * plan->k);
    assert_int_equal(plan->n_query, plan->classes * plan->q);
    for (int64_t i = 0; i < plan->n_support + plan->n_query; i++) {
        bool query = i >= plan->n_support;
        int64_t at = query ? i - plan->n_support : i;
        int64_t id = query ? plan->query[0][at] : plan->support[0][at];
        int64_t label = query ? plan->query_label[at] : plan->support_label[at];
        assert_true(label >= 0 && label < plan->classes);
        assert_true(id >= 0 && id < graph->n_labels && graph->label[id] >= 0);
        assert_true(class_of[label] < 0 || class_of[label] == graph->label[id]);
        class_of[label] = graph->label[id];
        count[query][label]++;
        assert_false(query && in_support[id]);
        in_support[id] |= !query;
    }
    for (int64_t c = 0; c < plan->classes; c++) {
        assert_int_equal(count[0][c], plan->k);
        assert_int_equal(count[1][c], plan->q);
        for (int64_t other = 0; other < c; other++)
            assert_true(class_of[c] != class_of[other]);
    }
}

TEST(support_and_query_never_share_an_example) {
    scratch *s = *state;
    int64_t sizes[12];
    for (uint64_t trial = 0; trial < 4000; trial++) {
        mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, trial);
        int64_t classes = 2 + mo_random_below(&r, 11), usable = 0, single = 0;
        for (int64_t c = 0; c < classes; c++) {
            sizes[c] = mo_random_below(&r, 4) ? 2 + mo_random_below(&r, 40) : mo_random_below(&r, 4);
            usable += sizes[c] > 1;
            single += sizes[c] == 1;
        }
        if (usable < 2)
            continue;
        mo_graph *graph = labelled_graph(s->ctx, sizes, classes);
        mo_plan_options options = {.k_min = 1,
            .k_max = 1 + mo_random_below(&r, 12),
            .q_min = 1,
            .q_max = 1 + mo_random_below(&r, 20),
            .max_classes = 2 + mo_random_below(&r, 8),
            .seed = trial};
        mo_plan plan;
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, trial, &options, NULL, 0, &plan), MO_OK);
        assert_int_equal(plan.classes, usable < options.max_classes ? usable : options.max_classes);
        assert_true(plan.k >= 1 && plan.k <= options.k_max && plan.q >= 1 && plan.q <= options.q_max);
        assert_int_equal(plan.left_out, single);
        assert_episode(graph, &plan);
        mo_plan_release(&plan);
        mo_graph_release(graph);
    }
}

/* Counts the distinct examples in a list. */
static int64_t distinct(const int64_t *ids, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        bool met = false;
        for (int64_t j = 0; j < i; j++)
            met |= ids[i] == ids[j];
        count += !met;
    }
    return count;
}

TEST(large_classes_are_drawn_without_replacement) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){12, 30}, 2); /* 12 = k + q examples are enough */
    mo_plan_options options = {.k_min = 4, .k_max = 4, .q_min = 8, .q_max = 8, .max_classes = 64, .seed = 9};
    for (uint64_t number = 0; number < 500; number++) {
        mo_plan plan;
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &plan), MO_OK);
        assert_int_equal(plan.small_classes, 0);
        assert_int_equal(distinct(plan.support[0], plan.n_support), plan.n_support);
        assert_int_equal(distinct(plan.query[0], plan.n_query), plan.n_query);
        mo_plan_release(&plan);
    }
    mo_graph_release(graph);
}

/* With k : q = 4 : 8, 11 members are divided into 3 and 8; 2 members always into 1 and 1. */
TEST(small_classes_split_their_members_k_to_q) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){11, 11, 2}, 3);
    mo_plan_options options = {.k_min = 4, .k_max = 4, .q_min = 8, .q_max = 8, .max_classes = 64, .seed = 9};
    int64_t most_support = 0, most_query = 0;
    for (uint64_t number = 0; number < 500; number++) {
        mo_plan plan;
        int64_t ids[2][64], n[2] = {0, 0};
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &plan), MO_OK);
        assert_int_equal(plan.small_classes, 3);
        assert_episode(graph, &plan);
        for (int64_t i = 0; i < plan.n_support; i++)
            if (graph->label[plan.support[0][i]] == 0)
                ids[0][n[0]++] = plan.support[0][i];
        for (int64_t i = 0; i < plan.n_query; i++)
            if (graph->label[plan.query[0][i]] == 0)
                ids[1][n[1]++] = plan.query[0][i];
        int64_t support = distinct(ids[0], n[0]), query = distinct(ids[1], n[1]);
        assert_true(support <= 3 && query <= 8);
        most_support = support > most_support ? support : most_support;
        most_query = query > most_query ? query : most_query;
        mo_plan_release(&plan);
    }
    assert_int_equal(most_support, 3);
    assert_true(most_query >= 7);
    mo_graph_release(graph);
}

/* Support first, for k = 9 and q = 6: 20 members give 9 and 6, 12 members 6 and 6, 5 members 3 and 2. */
TEST(support_first_leaves_no_member_of_a_small_class_unused) {
    static const int64_t size[] = {20, 12, 5, 2}, support[] = {9, 6, 3, 1}, query[] = {6, 6, 2, 1};
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, size, 4);
    mo_plan_options options = {
        .k_min = 9, .k_max = 9, .q_min = 6, .q_max = 6, .max_classes = 64, .seed = 9, .support_first = true};
    for (uint64_t number = 0; number < 500; number++) {
        mo_plan plan;
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &plan), MO_OK);
        assert_episode(graph, &plan);
        assert_int_equal(plan.small_classes, 3);
        for (int64_t c = 0; c < 4; c++) {
            int64_t ids[2][64], n[2] = {0, 0};
            for (int64_t i = 0; i < plan.n_support; i++)
                if (graph->label[plan.support[0][i]] == c)
                    ids[0][n[0]++] = plan.support[0][i];
            for (int64_t i = 0; i < plan.n_query; i++)
                if (graph->label[plan.query[0][i]] == c)
                    ids[1][n[1]++] = plan.query[0][i];
            assert_int_equal(distinct(ids[0], n[0]), support[c]);
            assert_int_equal(distinct(ids[1], n[1]), query[c]);
        }
        mo_plan_release(&plan);
    }
    mo_graph_release(graph);
}

static void assert_same_plan(const mo_plan *a, const mo_plan *b, bool same) {
    bool equal = a->n_support == b->n_support && a->n_query == b->n_query && a->classes == b->classes &&
                 memcmp(a->support[0], b->support[0], (size_t)a->n_support * sizeof(int64_t)) == 0 &&
                 memcmp(a->query[0], b->query[0], (size_t)a->n_query * sizeof(int64_t)) == 0 &&
                 memcmp(a->support_label, b->support_label, (size_t)a->n_support * sizeof(int64_t)) == 0 &&
                 memcmp(a->query_label, b->query_label, (size_t)a->n_query * sizeof(int64_t)) == 0;
    assert_int_equal(equal, same);
}

TEST(plans_are_a_function_of_seed_and_number) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){50, 60, 70}, 3);
    mo_plan_options options = {.k_min = 2, .k_max = 8, .q_min = 4, .q_max = 16, .max_classes = 64, .seed = 1},
                    other_seed = options;
    other_seed.seed = 2;
    for (uint64_t number = 0; number < 200; number++) {
        mo_plan a, b, next, other;
        mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &a);
        mo_plan_draw(graph, NULL, MO_TASK_NC, number + 1, &options, NULL, 0, &next);
        mo_plan_draw(graph, NULL, MO_TASK_NC, number, &other_seed, NULL, 0, &other);
        mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &b);
        assert_same_plan(&a, &b, true);
        assert_same_plan(&a, &next, false);
        assert_same_plan(&a, &other, false);
        mo_plan_release(&a);
        mo_plan_release(&b);
        mo_plan_release(&next);
        mo_plan_release(&other);
    }
    mo_graph_release(graph);
}

/* Every k, q, class, member and place occurs about equally often, within six standard deviations (sd). */
TEST(draws_are_even) {
    enum { EPISODES = 6000 };
    scratch *s = *state;
    int64_t k[3] = {0}, first_class[8] = {0}, in_support[160] = {0}, first_label[2] = {0};
    int64_t sizes[8] = {20, 20, 20, 20, 20, 20, 20, 20};
    mo_graph *graph = labelled_graph(s->ctx, sizes, 8);
    mo_plan_options options = {.k_min = 2, .k_max = 4, .q_min = 3, .q_max = 3, .max_classes = 2, .seed = 5};
    for (uint64_t number = 0; number < EPISODES; number++) {
        mo_plan plan;
        mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, NULL, 0, &plan);
        k[plan.k - 2]++;
        first_label[plan.support_label[0]]++;
        for (int64_t i = 0; i < plan.n_support; i++) {
            in_support[plan.support[0][i]]++;
            first_class[graph->label[plan.support[0][i]]] += plan.support_label[i] == 0 && plan.k == 3;
        }
        mo_plan_release(&plan);
    }
    for (int i = 0; i < 3; i++) /* binomial with sd 36 */
        assert_true(llabs(k[i] - EPISODES / 3) < 6 * 37);
    for (int i = 0; i < 2; i++)
        assert_true(llabs(first_label[i] - EPISODES / 2) < 6 * 39);
    for (int i = 0; i < 8; i++) /* about 250 draws of three, sd 3 x 15 */
        assert_true(llabs(first_class[i] - EPISODES / 8) < 6 * 3 * 16);
    for (int i = 0; i < 160; i++) /* 2 of 8 classes, 3 of 20 members: 225 expected, sd 15 */
        assert_true(llabs(in_support[i] - 225) < 6 * 16);
    mo_graph_release(graph);
}

TEST(candidates_alone_take_part) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){40, 40, 40}, 3);
    int64_t candidates[] = {119, 3, 0, 1, 4, 120, 7, 10, 6, 9}; /* node 120 has no label */
    mo_plan_options options = {.k_min = 1, .k_max = 2, .q_min = 1, .q_max = 2, .max_classes = 64, .seed = 1};
    for (uint64_t number = 0; number < 300; number++) {
        mo_plan plan;
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, candidates, 10, &plan), MO_OK);
        assert_episode(graph, &plan);
        assert_int_equal(plan.classes, 2);
        assert_int_equal(plan.left_out, 1); /* node 119 is the only one of class 2 */
        for (int64_t i = 0; i < plan.n_query; i++)
            assert_true(plan.query[0][i] < 11 && plan.query[0][i] % 3 != 2);
        mo_plan_release(&plan);
    }
    mo_graph_release(graph);
}

static void assert_refused(mo_graph *graph, mo_task task, mo_plan_options options, const char *const *parts) {
    mo_plan plan = {.n_support = 7};
    assert_int_equal(mo_plan_draw(graph, NULL, task, 0, &options, NULL, 0, &plan), MO_INVALID);
    assert_int_equal(plan.n_support, 0);
    mo_plan_release(&plan);
    assert_failed(graph->ctx, MO_INVALID, parts);
}

TEST(plans_that_cannot_be_are_errors) {
    scratch *s = *state;
    mo_plan_options options = {.k_min = 1, .k_max = 2, .q_min = 1, .q_max = 2, .max_classes = 64, .seed = 1},
                    bad = options;
    mo_graph *lone = labelled_graph(s->ctx, (int64_t[]){9, 1, 1, 0}, 4);
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){9, 9}, 2);
    assert_refused(lone, MO_TASK_NC, options, PARTS("two classes of two or more", "found 1 of 4 (2 of one)"));
    assert_refused(graph, MO_TASK_GC, options, PARTS("labelled", "gc", "1 graphs"));
    assert_refused(graph, MO_TASK_LP, options, PARTS("needs links"));
    bad.k_min = 0;
    assert_refused(graph, MO_TASK_NC, bad, PARTS("k 0..2"));
    bad = options;
    bad.q_max = 0;
    assert_refused(graph, MO_TASK_NC, bad, PARTS("q 1..0"));
    bad = options;
    bad.max_classes = 1;
    assert_refused(graph, MO_TASK_NC, bad, PARTS("max_classes 1"));
    mo_plan plan;
    assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, 0, &options, (int64_t[]){0, 1, 0}, 3, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("distinct candidates", "0 twice"));
    assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, 0, &options, (int64_t[]){0, 19}, 2, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("0..18", "found 19"));
    mo_graph_release(lone);
    mo_graph_release(graph);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
