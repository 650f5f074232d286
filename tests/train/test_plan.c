/* tests/train/test_plan.c - which examples an episode has, for every protocol: properties over thousands of episodes,
 * also for small classes; the pairs of links; test parts with natural frequencies; divisions that came with a graph. */
#include "tests/labelled_graph.h"

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

TEST_OF(support_and_query_never_share_an_example, scratch *s) {
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
        HELD(mo_graph) *graph = labelled_graph(s->ctx, sizes, classes);
        mo_plan_options options = {.k_min = 1,
            .k_max = 1 + mo_random_below(&r, 12),
            .q_min = 1,
            .q_max = 1 + mo_random_below(&r, 20),
            .max_classes = 2 + mo_random_below(&r, 8),
            .seed = trial};
        HELD(mo_plan) plan;
        assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, trial, &options, &plan), MO_OK);
        assert_int_equal(plan.classes, usable < options.max_classes ? usable : options.max_classes);
        assert_true(plan.k >= 1 && plan.k <= options.k_max && plan.q >= 1 && plan.q <= options.q_max);
        assert_int_equal(plan.left_out, single);
        assert_episode(graph, &plan);
    }
}

/* Writes how many distinct members of a class of the graph are in the support, and in the queries. */
static void count_members(const mo_graph *graph, const mo_plan *plan, int64_t class, int64_t members[2]) {
    bool met[2][LARGEST] = {{false}};
    members[0] = members[1] = 0;
    for (int64_t i = 0; i < plan->n_support + plan->n_query; i++) {
        bool query = i >= plan->n_support;
        int64_t id = query ? plan->query[0][i - plan->n_support] : plan->support[0][i];
        members[query] += graph->label[id] == class && !met[query][id];
        met[query][id] = true;
    }
}

/* With k : q = 4 : 8, 12 members are enough, 11 are divided into at most 3 and 8; 2 members always into 1 and 1.
 * Support first, for k = 9 and q = 6: 20 members give 9 and 6, 12 members 6 and 6, 5 members 3 and 2, and none of them
 * stays unused. */
TEST_OF(small_classes_split_their_members_k_to_q, scratch *s) {
    static const struct {
        int64_t k, q, small, classes, size[4], members[4][2];
        bool support_first;
    } cases[] = {{4, 8, 0, 2, {12, 30}, {{4, 8}, {4, 8}}, false},
        {4, 8, 3, 3, {11, 11, 2}, {{3, 8}, {3, 8}, {1, 1}}, false},
        {9, 6, 3, 4, {20, 12, 5, 2}, {{9, 6}, {6, 6}, {3, 2}, {1, 1}}, true}};
    for (int i = 0; i < 3; i++) {
        int64_t most[2] = {0, 0}, members[2];
        bool exact = cases[i].support_first || !cases[i].small;
        HELD(mo_graph) *graph = labelled_graph(s->ctx, cases[i].size, cases[i].classes);
        mo_plan_options options = {.k_min = cases[i].k,
            .k_max = cases[i].k,
            .q_min = cases[i].q,
            .q_max = cases[i].q,
            .max_classes = 64,
            .seed = 9,
            .support_first = cases[i].support_first};
        for (uint64_t number = 0; number < 500; number++) {
            HELD(mo_plan) plan;
            assert_int_equal(mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, &plan), MO_OK);
            assert_int_equal(plan.small_classes, cases[i].small);
            assert_episode(graph, &plan);
            for (int64_t c = 0; c < cases[i].classes; c++) {
                count_members(graph, &plan, c, members);
                for (int side = 0; side < 2; side++) {
                    int64_t allowed = cases[i].members[c][side];
                    assert_true(exact ? members[side] == allowed : members[side] <= allowed);
                    most[side] = c == 0 && members[side] > most[side] ? members[side] : most[side];
                }
            }
        }
        assert_true(most[0] == cases[i].members[0][0] && most[1] >= cases[i].members[0][1] - 1);
    }
}

/* Every k, q, class, member and place occurs about equally often, within six standard deviations (sd). */
TEST_OF(draws_are_even, scratch *s) {
    enum { EPISODES = 6000 };
    int64_t k[3] = {0}, first_class[8] = {0}, in_support[160] = {0}, first_label[2] = {0};
    int64_t sizes[8] = {20, 20, 20, 20, 20, 20, 20, 20};
    HELD(mo_graph) *graph = labelled_graph(s->ctx, sizes, 8);
    mo_plan_options options = {.k_min = 2, .k_max = 4, .q_min = 3, .q_max = 3, .max_classes = 2, .seed = 5};
    for (uint64_t number = 0; number < EPISODES; number++) {
        HELD(mo_plan) plan;
        mo_plan_draw(graph, NULL, MO_TASK_NC, number, &options, &plan);
        k[plan.k - 2]++;
        first_label[plan.support_label[0]]++;
        for (int64_t i = 0; i < plan.n_support; i++) {
            in_support[plan.support[0][i]]++;
            first_class[graph->label[plan.support[0][i]]] += plan.support_label[i] == 0 && plan.k == 3;
        }
    }
    for (int i = 0; i < 3; i++) /* binomial with sd 36 */
        assert_true(llabs(k[i] - EPISODES / 3) < 6 * 37);
    for (int i = 0; i < 2; i++)
        assert_true(llabs(first_label[i] - EPISODES / 2) < 6 * 39);
    for (int i = 0; i < 8; i++) /* about 250 draws of three, sd 3 x 15 */
        assert_true(llabs(first_class[i] - EPISODES / 8) < 6 * 3 * 16);
    for (int i = 0; i < 160; i++) /* 2 of 8 classes, 3 of 20 members: 225 expected, sd 15 */
        assert_true(llabs(in_support[i] - 225) < 6 * 16);
}

static void assert_refused(mo_graph *graph, mo_task task, mo_plan_options options, const char *const *parts) {
    HELD(mo_plan) plan = {.n_support = 7};
    assert_int_equal(mo_plan_draw(graph, NULL, task, 0, &options, &plan), MO_INVALID);
    assert_int_equal(plan.n_support, 0);
    assert_failed(graph->ctx, MO_INVALID, parts);
}

TEST_OF(plans_that_cannot_be_are_errors, scratch *s) {
    mo_plan_options options = {.k_min = 1, .k_max = 2, .q_min = 1, .q_max = 2, .max_classes = 64, .seed = 1},
                    bad = options;
    HELD(mo_graph) *lone = labelled_graph(s->ctx, (int64_t[]){9, 1, 1, 0}, 4);
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){9, 9}, 2);
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
}

/* ---- links ---- */

/* Returns the position of a pair in a list, or -1. */
static int64_t find_pair(int64_t *const ends[2], int64_t n, int64_t u, int64_t v) {
    for (int64_t i = 0; i < n; i++)
        if (ends[0][i] == u && ends[1][i] == v)
            return i;
    return -1;
}

TEST_OF(link_plans_have_label_one_for_edges, scratch *s) {
    unsetenv("MOCHI_EMBEDDED");
    HELD(mo_graph) *graph = mo_graph_open(s->ctx, "cora");
    HELD(mo_links) *links = mo_links_create(graph, 0.004, 300, 1); /* 21 positives */
    assert_non_null(links);
    mo_plan_options options = {.k_min = 3, .k_max = 12, .q_min = 3, .q_max = 12, .max_classes = 64, .seed = 1};
    int64_t small = 0;
    for (uint64_t number = 0; number < 300; number++) {
        HELD(mo_plan) plan;
        assert_int_equal(mo_plan_draw(graph, links, MO_TASK_LP, number, &options, &plan), MO_OK);
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
    }
    assert_true(small > 0);
}

/* ---- the protocol "split" ---- */

TEST_OF(support_and_test_part_never_share_an_example, scratch *s) {
    for (uint64_t seed = 0; seed < 2000; seed++) {
        bool tested[LARGEST] = {false};
        mo_random r = mo_random_at(6, MO_PURPOSE_CHECK, seed);
        int64_t sizes[6], classes = 2 + mo_random_below(&r, 5), k = 1 + mo_random_below(&r, 30);
        for (int64_t c = 0; c < classes; c++)
            sizes[c] = 30 + mo_random_below(&r, 60);
        HELD(mo_graph) *graph = labelled_graph(s->ctx, sizes, classes);
        HELD(mo_plan) plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, k, seed, &plan), MO_OK);
        int64_t labelled = graph->n_labels - 1; /* a tenth, rounded half up */
        assert_int_equal(plan.n_query, (labelled + 5) / 10);
        assert_int_equal(plan.classes, classes);
        assert_int_equal(plan.n_support, classes * k);
        int64_t count[6] = {0};
        for (int64_t i = 0; i < plan.n_query; i++) {
            assert_int_equal(graph->label[plan.query[0][i]], plan.query_label[i]);
            tested[plan.query[0][i]] = true;
        }
        for (int64_t i = 0; i < plan.n_support; i++) {
            assert_false(tested[plan.support[0][i]]);
            assert_int_equal(graph->label[plan.support[0][i]], plan.support_label[i]);
            count[plan.support_label[i]]++;
        }
        for (int64_t c = 0; c < classes; c++)
            assert_int_equal(count[c], k);
    }
}

TEST_OF(the_test_part_depends_on_the_seed_alone, scratch *s) {
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){100, 200, 150}, 3);
    HELD(mo_plan) few, many, other;
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 4, 1, &few), MO_OK);
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 64, 1, &many), MO_OK);
    assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 4, 2, &other), MO_OK);
    assert_int_equal(few.n_query, 45);
    assert_memory_equal(few.query[0], many.query[0], 45 * sizeof(int64_t));
    assert_memory_not_equal(few.query[0], other.query[0], 45 * sizeof(int64_t));
    for (int64_t c = 0; c < 3; c++) /* few labels are the first of many */
        assert_memory_equal(few.support[0] + 4 * c, many.support[0] + 64 * c, 4 * sizeof(int64_t));
}

TEST_OF(support_repeats_only_when_a_class_is_used_up, scratch *s) {
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){20, 400}, 2);
    for (uint64_t seed = 0; seed < 200; seed++) {
        HELD(mo_plan) plan;
        int64_t small[2], large[2];
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 64, seed, &plan), MO_OK);
        assert_int_equal(plan.small_classes, 1);
        count_members(graph, &plan, 0, small);
        count_members(graph, &plan, 1, large);
        assert_int_equal(large[0], 64);
        assert_int_equal(small[0], 20 - small[1]);
    }
}

/* As classes have their natural frequencies, each example is tested for a tenth of the seeds. */
TEST_OF(every_example_is_tested_equally_often, scratch *s) {
    enum { SEEDS = 3000 };
    int64_t tested[LARGEST] = {0};
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){30, 90}, 2);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        HELD(mo_plan) plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 1, seed, &plan), MO_OK);
        for (int64_t i = 0; i < plan.n_query; i++)
            tested[plan.query[0][i]]++;
    }
    for (int64_t i = 0; i < 120; i++) /* expected 300, sd 16.4; allows six sd */
        assert_true(llabs(tested[i] - SEEDS / 10) < 99);
}

TEST_OF(classes_that_cannot_take_part_are_left_out, scratch *s) {
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){40, 1, 0, 40}, 4);
    int64_t lone = -1;
    for (int64_t i = 0; i < graph->nodes; i++)
        lone = graph->label[i] == 1 ? i : lone;
    for (uint64_t seed = 0; seed < 100; seed++) {
        HELD(mo_plan) plan;
        assert_int_equal(mo_plan_split(graph, MO_TASK_NC, 5, seed, &plan), MO_OK);
        assert_int_equal(plan.classes, 2);
        assert_int_equal(plan.left_out, 1);
        for (int64_t i = 0; i < plan.n_query; i++) { /* classes 0 and 3 get labels 0 and 1 */
            assert_true(plan.query[0][i] != lone);
            assert_int_equal(plan.query_label[i], graph->label[plan.query[0][i]] == 3);
        }
    }
}

TEST_OF(splits_that_cannot_be_are_errors, scratch *s) {
    mo_plan plan;
    HELD(mo_graph) *lone = labelled_graph(s->ctx, (int64_t[]){9, 1}, 2);
    assert_int_equal(mo_plan_split(lone, MO_TASK_NC, 4, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled (nc)", "two classes", "found 1"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_NC, 0, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("k >= 1", "found 0"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_GC, 1, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("gc"));
    assert_int_equal(mo_plan_split(lone, MO_TASK_LP, 1, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("lp"));
}

/* ---- the protocol "public": the division that came with a graph ---- */

/* Makes 12 nodes of three classes in turn and one node without a label; all nodes are in the given part. */
static mo_graph *divided_graph(mo_context *ctx, mo_division part) {
    mo_graph *graph = labelled_graph(ctx, (int64_t[]){4, 4, 4}, 3);
    graph->division = malloc((size_t)graph->nodes);
    graph->divisions = 1;
    memset(graph->division, part, (size_t)graph->nodes);
    return graph;
}

TEST_OF(support_and_queries_are_the_parts, scratch *s) {
    HELD(mo_graph) *graph = divided_graph(s->ctx, MO_DIVISION_TEST);
    memset(graph->division, MO_DIVISION_TRAIN, 5); /* these nodes have classes 0, 1, 2, 0, 1 */
    graph->division[5] = MO_DIVISION_VALIDATION;
    HELD(mo_plan) plan;
    assert_int_equal(mo_plan_public(graph, 0, &plan), MO_OK);
    assert_int_equal(plan.classes, 3);
    assert_int_equal(plan.k, 1); /* class 2 has one training node */
    assert_int_equal(plan.n_support, 5);
    assert_memory_equal(plan.support[0], ((int64_t[]){0, 1, 2, 3, 4}), 5 * sizeof(int64_t));
    assert_memory_equal(plan.support_label, ((int64_t[]){0, 1, 2, 0, 1}), 5 * sizeof(int64_t));
    assert_int_equal(plan.n_query, 6); /* the last node is in the test part, but unlabelled */
    assert_memory_equal(plan.query[0], ((int64_t[]){6, 7, 8, 9, 10, 11}), 6 * sizeof(int64_t));
    assert_memory_equal(plan.query_label, ((int64_t[]){0, 1, 2, 0, 1, 2}), 6 * sizeof(int64_t));
}

/* Two divisions. In the second, class 1 has no training node: the class is left out, with its queries. */
TEST_OF(each_division_is_a_problem_of_the_classes_it_teaches, scratch *s) {
    HELD(mo_graph) *graph = divided_graph(s->ctx, MO_DIVISION_TEST);
    graph->division = realloc(graph->division, 26);
    graph->divisions = 2;
    memset(graph->division + 13, MO_DIVISION_TEST, 13);
    memset(graph->division, MO_DIVISION_TRAIN, 5);
    for (int i = 13; i < 13 + 6; i += 3) /* two nodes each of classes 0 and 2 */
        graph->division[i] = graph->division[i + 2] = MO_DIVISION_TRAIN;
    HELD(mo_plan) first, plan;
    assert_int_equal(mo_plan_public(graph, 0, &first), MO_OK);
    assert_int_equal(first.left_out, 0);
    assert_int_equal(first.n_support, 5);
    assert_int_equal(mo_plan_public(graph, 1, &plan), MO_OK);
    assert_int_equal(plan.classes, 2);
    assert_int_equal(plan.left_out, 1);
    assert_int_equal(plan.k, 2);
    assert_int_equal(plan.n_support, 4);
    assert_memory_equal(plan.support[0], ((int64_t[]){0, 2, 3, 5}), 4 * sizeof(int64_t));
    assert_memory_equal(plan.support_label, ((int64_t[]){0, 1, 0, 1}), 4 * sizeof(int64_t));
    assert_int_equal(plan.n_query, 4);
    assert_memory_equal(plan.query[0], ((int64_t[]){6, 8, 9, 11}), 4 * sizeof(int64_t));
    assert_memory_equal(plan.query_label, ((int64_t[]){0, 1, 0, 1}), 4 * sizeof(int64_t));
}

TEST_OF(divisions_that_pose_no_problem_are_refused, scratch *s) {
    HELD(mo_graph) *plain = labelled_graph(s->ctx, (int64_t[]){4, 4}, 2),
                   *trained = divided_graph(s->ctx, MO_DIVISION_TRAIN),
                   *tested = divided_graph(s->ctx, MO_DIVISION_TEST);
    mo_plan plan;
    assert_int_equal(mo_plan_public(plain, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled", "idx_train and idx_test", "no division"));
    assert_int_equal(mo_plan_public(trained, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("and examples of them to test on, found 12 of 3 classes and 0"));
    memset(tested->division, MO_DIVISION_TRAIN, 1);
    assert_int_equal(mo_plan_public(tested, 0, &plan), MO_INVALID);
    assert_failed(
        s->ctx, MO_INVALID, PARTS("examples of two classes or more to learn from", "found 1 of 1 classes and 3"));
    assert_null(plan.support[0]);
    assert_int_equal(mo_plan_public(tested, 1, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled: expected one of 1 divisions, found 1"));
}

/* 20 labels times the number of classes, in proportion to the classes: of 24 + 240 + 36 nodes 5, 48 and 7. Half of the
 * other nodes are tested on. */
TEST_OF(divisions_are_drawn_in_proportion, scratch *s) {
    HELD(mo_graph) *graph = labelled_graph(s->ctx, (int64_t[]){24, 240, 36}, 3);
    assert_int_equal(mo_graph_divide(graph, 3, 7), 60);
    assert_int_equal(graph->divisions, 3);
    for (int64_t d = 0; d < 3; d++) {
        int64_t part[4][3] = {{0}};
        for (int64_t i = 0; i < 300; i++)
            part[graph->division[d * graph->nodes + i]][graph->label[i]]++;
        assert_memory_equal(part[MO_DIVISION_TRAIN], ((int64_t[]){5, 48, 7}), 3 * sizeof(int64_t));
        for (int c = 0; c < 3; c++)
            assert_in_range(part[MO_DIVISION_TEST][c] - part[MO_DIVISION_VALIDATION][c] + 1, 0, 2);
        assert_int_equal(part[MO_DIVISION_NONE][0] + part[MO_DIVISION_NONE][1] + part[MO_DIVISION_NONE][2], 0);
        assert_int_equal(graph->division[d * graph->nodes + 300], MO_DIVISION_NONE); /* the node without a label */
    }
    assert_memory_not_equal(graph->division, graph->division + graph->nodes, (size_t)graph->nodes);
    HELD(mo_graph) *again =
        labelled_graph(s->ctx, (int64_t[]){24, 240, 36}, 3); /* a division depends only on its seed */
    assert_int_equal(mo_graph_divide(again, 1, 8), 60);
    assert_memory_equal(again->division, graph->division + graph->nodes, (size_t)graph->nodes);
    assert_int_equal(mo_graph_divide(again, 1, 8), 0);
    assert_failed(s->ctx, MO_INVALID, PARTS("expected labelled nodes and no division, found a division"));
    mo_graph_release(graph);
    graph = labelled_graph(s->ctx, (int64_t[]){1, 2, 12}, 3); /* a small graph: four fifths train, but one node of each
                                                               * class is left to test */
    assert_int_equal(mo_graph_divide(graph, 1, 0), 12);
    int64_t train[3] = {0};
    for (int64_t i = 0; i < 15; i++)
        train[graph->label[i]] += graph->division[i] == MO_DIVISION_TRAIN;
    assert_memory_equal(train, ((int64_t[]){0, 1, 11}), sizeof train);
}
