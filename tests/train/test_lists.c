/* tests/train/test_lists.c - pools and suites as files; tests/graphs/files.cases has invalid ones. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

static void assert_items(char *const *items, int n, const char *const *expected, int n_expected) {
    assert_int_equal(n, n_expected);
    for (int i = 0; i < n; i++)
        assert_string_equal(items[i], expected[i]);
}

TEST(a_pool_is_read_into_items_of_a_pool) {
    scratch *s = *state;
    mo_pool_file *file = mo_pool_file_read(s->ctx, "tests/lists/small.pool");
    assert_non_null(file);
    assert_items(file->graph, file->n, (const char *const[]){"cora:nc+lp@0.1", "mutag"}, 2);
    assert_true(file->link_share == 0.25 && file->family[MO_TASK_NC] == 2 && file->family[MO_TASK_GC] == 0.5);
    mo_pool_file_release(file);
}

TEST(a_suite_has_its_tasks_and_what_is_usual) {
    scratch *s = *state;
    mo_suite *suite = mo_suite_read(s->ctx, "tests/lists/small.suite");
    assert_non_null(suite);
    assert_true(suite->episodes && suite->seeds == 5 && suite->n == 3);
    assert_items(suite->head, suite->n_heads, (const char *const[]){"ridge", "dot"}, 2);
    const mo_suite_task *nodes = &suite->task[0], *links = &suite->task[1], *graphs = &suite->task[2];
    assert_true(nodes->task == MO_TASK_NC && nodes->n_shots == 2 && nodes->shots[1] == 16);
    assert_true(links->task == MO_TASK_LP && links->n_shots == 1 && links->shots[0] == 512);
    assert_string_equal(mo_link_metric_name(2), "mrr");
    assert_null(mo_link_metric_name(-1));
    assert_null(mo_link_metric_name(6));
    assert_true(graphs->task == MO_TASK_GC && graphs->n_shots == 6 && graphs->shots[5] == 512);
    mo_suite_release(suite);
}

TEST(those_that_come_with_the_library_are_read) {
    scratch *s = *state;
    const struct {
        const char *name;
        int graphs, tasks;
    } lists[] = {{"paper-offline", 9, 9}, {"paper", 21, 20}};
    for (int i = 0; i < 2; i++) {
        assert_true(mo_is_pool_file(lists[i].name));
        mo_pool_file *file = mo_pool_file_read(s->ctx, lists[i].name);
        mo_suite *suite = mo_suite_read(s->ctx, lists[i].name);
        if (!file || !suite)
            fail_msg("%s", mo_context_status(s->ctx)->message);
        assert_int_equal(file->n, lists[i].graphs);
        assert_int_equal(suite->n, lists[i].tasks);
        for (int j = 0; j < suite->n; j++) /* no graph of the pool is one that the suite evaluates */
            for (int k = 0; k < file->n; k++)
                assert_true(strncmp(file->graph[k], suite->task[j].data, strlen(suite->task[j].data)) != 0 ||
                            strchr(":@", file->graph[k][strlen(suite->task[j].data)]) == NULL);
        mo_pool_file_release(file);
        mo_suite_release(suite);
    }
    assert_false(mo_is_pool_file("cora") || mo_is_pool_file("cora,mutag"));
}

TEST(what_is_not_there_is_said) {
    scratch *s = *state;
    assert_null(mo_suite_read(s->ctx, "nowhere"));
    assert_failed(s->ctx, MO_INVALID, (const char *const[]){"suite 'nowhere'", NULL});
    assert_null(mo_suite_read(s->ctx, "/no/such.suite"));
    assert_failed(s->ctx, MO_IO, (const char *const[]){"/no/such.suite", NULL});
}
