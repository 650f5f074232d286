/* tests/train/test_plan_public.c - protocol "public": the division that came with a graph, complete and in the order of
 * its nodes. */
#include "tests/labelled_graph.h"

static const fixtures around_all = {scratch_create, scratch_release};

/* Makes 12 nodes of three classes in turn and one node without a label; all nodes are in the given part. */
static mo_graph *divided_graph(mo_context *ctx, mo_division part) {
    mo_graph *graph = labelled_graph(ctx, (int64_t[]){4, 4, 4}, 3);
    graph->division = malloc((size_t)graph->nodes);
    graph->divisions = 1;
    memset(graph->division, part, (size_t)graph->nodes);
    return graph;
}

TEST(support_and_queries_are_the_parts) {
    scratch *s = *state;
    mo_graph *graph = divided_graph(s->ctx, MO_DIVISION_TEST);
    memset(graph->division, MO_DIVISION_TRAIN, 5); /* these nodes have classes 0, 1, 2, 0, 1 */
    graph->division[5] = MO_DIVISION_VALIDATION;
    mo_plan plan;
    assert_int_equal(mo_plan_public(graph, 0, &plan), MO_OK);
    assert_int_equal(plan.classes, 3);
    assert_int_equal(plan.k, 1); /* class 2 has one training node */
    assert_int_equal(plan.n_support, 5);
    assert_memory_equal(plan.support[0], ((int64_t[]){0, 1, 2, 3, 4}), 5 * sizeof(int64_t));
    assert_memory_equal(plan.support_label, ((int64_t[]){0, 1, 2, 0, 1}), 5 * sizeof(int64_t));
    assert_int_equal(plan.n_query, 6); /* the last node is in the test part, but unlabelled */
    assert_memory_equal(plan.query[0], ((int64_t[]){6, 7, 8, 9, 10, 11}), 6 * sizeof(int64_t));
    assert_memory_equal(plan.query_label, ((int64_t[]){0, 1, 2, 0, 1, 2}), 6 * sizeof(int64_t));
    mo_plan_release(&plan);
    mo_graph_release(graph);
}

/* Two divisions. In the second, class 1 has no training node: the class is left out, with its queries. */
TEST(each_division_is_a_problem_of_the_classes_it_teaches) {
    scratch *s = *state;
    mo_graph *graph = divided_graph(s->ctx, MO_DIVISION_TEST);
    graph->division = realloc(graph->division, 26);
    graph->divisions = 2;
    memset(graph->division + 13, MO_DIVISION_TEST, 13);
    memset(graph->division, MO_DIVISION_TRAIN, 5);
    for (int i = 13; i < 13 + 6; i += 3) /* two nodes each of classes 0 and 2 */
        graph->division[i] = graph->division[i + 2] = MO_DIVISION_TRAIN;
    mo_plan plan;
    assert_int_equal(mo_plan_public(graph, 0, &plan), MO_OK);
    assert_int_equal(plan.left_out, 0);
    assert_int_equal(plan.n_support, 5);
    mo_plan_release(&plan);
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
    mo_plan_release(&plan);
    mo_graph_release(graph);
}

TEST(divisions_that_pose_no_problem_are_refused) {
    scratch *s = *state;
    mo_graph *plain = labelled_graph(s->ctx, (int64_t[]){4, 4}, 2), *trained = divided_graph(s->ctx, MO_DIVISION_TRAIN),
             *tested = divided_graph(s->ctx, MO_DIVISION_TEST);
    mo_plan plan;
    assert_int_equal(mo_plan_public(plain, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled", "idx_train and idx_test", "no division"));
    assert_int_equal(mo_plan_public(trained, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("and nodes of them to test on, found 12 of 3 classes and 0"));
    memset(tested->division, MO_DIVISION_TRAIN, 1);
    assert_int_equal(mo_plan_public(tested, 0, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("training nodes of two classes or more", "found 1 of 1 classes and 3"));
    assert_null(plan.support[0]);
    assert_int_equal(mo_plan_public(tested, 1, &plan), MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("split of graph labelled: expected one of 1 divisions, found 1"));
    mo_graph_release(plain);
    mo_graph_release(trained);
    mo_graph_release(tested);
}

/* A user's own division is read from text lists, with or without a header, and from arrays; a part without a list gets
 * the rest. */
TEST(a_division_is_read_from_lists) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){4, 4, 4}, 3);
    uint8_t part[13];
    char train[600], test[600];
    assert_int_equal(graph->nodes, 13);
    snprintf(train, sizeof train, "%s", scratch_path(s, "train.csv"));
    FILE *file = fopen(train, "w");
    fputs("node,label\n3,x\n0,y\n\n12,z\n", file);
    fclose(file);
    snprintf(test, sizeof test, "%s", scratch_path(s, "test.npy"));
    mo_tensor *T = mo_tensor_create_from(s->ctx, MO_I32, 2, (int64_t[]){2, 1}, (int32_t[]){5, 1});
    mo_npy_write(T, test);
    mo_tensor_release(T);
    assert_true(mo_division_read(graph, train, test, "nodes", part));
    for (int i = 0; i < 13; i++)
        assert_int_equal(part[i], i == 0 || i == 3 || i == 12 ? MO_DIVISION_TRAIN
                                  : i == 1 || i == 5          ? MO_DIVISION_TEST
                                                              : MO_DIVISION_NONE);
    assert_true(mo_division_read(graph, NULL, test, "nodes", part));
    for (int i = 0; i < 13; i++)
        assert_int_equal(part[i], i == 1 || i == 5 ? MO_DIVISION_TEST : MO_DIVISION_TRAIN);
    assert_true(mo_division_read(graph, train, NULL, "nodes", part));
    for (int i = 0; i < 13; i++)
        assert_int_equal(part[i], i == 0 || i == 3 || i == 12 ? MO_DIVISION_TRAIN : MO_DIVISION_TEST);
    mo_graph_release(graph);
    scratch_files(s, true);
}

/* 20 labels times the number of classes, in proportion to the classes: of 24 + 240 + 36 nodes 5, 48 and 7. Half of the
 * other nodes are tested on. */
TEST(divisions_are_drawn_in_proportion) {
    scratch *s = *state;
    mo_graph *graph = labelled_graph(s->ctx, (int64_t[]){24, 240, 36}, 3);
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
    mo_graph *again = labelled_graph(s->ctx, (int64_t[]){24, 240, 36}, 3); /* a division depends only on its seed */
    assert_int_equal(mo_graph_divide(again, 1, 8), 60);
    assert_memory_equal(again->division, graph->division + graph->nodes, (size_t)graph->nodes);
    assert_int_equal(mo_graph_divide(again, 1, 8), 0);
    assert_failed(s->ctx, MO_INVALID, PARTS("expected labelled nodes and no division, found a division"));
    mo_graph_release(again);
    mo_graph_release(graph);
    graph = labelled_graph(s->ctx, (int64_t[]){1, 2, 12}, 3); /* a small graph: four fifths train, but one node of each
                                                               * class is left to test */
    assert_int_equal(mo_graph_divide(graph, 1, 0), 12);
    int64_t train[3] = {0};
    for (int64_t i = 0; i < 15; i++)
        train[graph->label[i]] += graph->division[i] == MO_DIVISION_TRAIN;
    assert_memory_equal(train, ((int64_t[]){0, 1, 11}), sizeof train);
    mo_graph_release(graph);
}

/* Planetoid's division: first 20 nodes of each class to train, and 1,000 nodes to test. */
TEST(planetoid_came_with_a_division) {
    scratch *s = *state;
    static const char *const names[] = {"cora", "citeseer"};
    static const int64_t classes[] = {7, 6};
    for (int i = 0; i < 2; i++) {
        mo_graph *graph = mo_graph_open(s->ctx, names[i]);
        mo_plan plan;
        assert_non_null(graph);
        assert_int_equal(mo_plan_public(graph, 0, &plan), MO_OK);
        assert_int_equal(plan.k, 20);
        assert_int_equal(plan.n_support, 20 * classes[i]);
        assert_int_equal(plan.n_query, 1000);
        mo_plan_release(&plan);
        mo_graph_release(graph);
    }
}
