/* tests/train/test_suite.c - pools and suites as files: the content of valid ones, and the place of the error in
 * invalid ones. */
#include "tests/scratch.h"
#include "train/inside.h"

static void assert_items(char *const *items, int n, const char *const *expected, int n_expected) {
    assert_int_equal(n, n_expected);
    for (int i = 0; i < n; i++)
        assert_string_equal(items[i], expected[i]);
}

static void a_pool_is_read_into_items_of_a_pool(void **state) {
    scratch *s = *state;
    mo_pool_file *file = mo_pool_file_read(s->ctx, "tests/lists/small.pool.json");
    assert_non_null(file);
    assert_string_equal(file->name, "small");
    assert_items(file->graph, file->n, (const char *const[]){"cora:nc+lp@0.1", "mutag"}, 2);
    assert_true(file->link_share == 0.25 && file->family[MO_TASK_NC] == 2 && file->family[MO_TASK_GC] == 0.5);
    mo_pool_file_release(file);
}

static void a_suite_has_its_tasks_and_what_is_usual(void **state) {
    scratch *s = *state;
    mo_suite *suite = mo_suite_read(s->ctx, "tests/lists/small.suite.json");
    assert_non_null(suite);
    assert_true(suite->episodes && suite->seeds == 5 && suite->n == 3);
    assert_items(suite->head, suite->n_heads, (const char *const[]){"ridge", "dot"}, 2);
    const mo_suite_task *nodes = &suite->task[0], *links = &suite->task[1], *graphs = &suite->task[2];
    assert_true(nodes->task == MO_TASK_NC && nodes->n_shots == 2 && nodes->shots[1] == 16);
    assert_true(links->task == MO_TASK_LP && links->n_shots == 1 && links->shots[0] == 512);
    assert_string_equal(mo_link_metric_name(2), "mrr");
    assert_null(mo_link_metric_name(-1));
    assert_null(mo_link_metric_name(6));
    assert_int_equal(links->metrics, 1u << 0 | 1u << 2);
    assert_true(graphs->task == MO_TASK_GC && graphs->n_shots == 6 && graphs->shots[5] == 512 && graphs->metrics == 0);
    mo_suite_release(suite);
}

static void those_that_come_with_the_library_are_read(void **state) {
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
        for (int j = 0; j < suite->n; j++) /* nothing is trained on for the task that evaluates it */
            for (int k = 0; k < file->n; k++)
                assert_true(strncmp(file->graph[k], suite->task[j].data, strlen(suite->task[j].data)) != 0 ||
                            strchr(":@", file->graph[k][strlen(suite->task[j].data)]) == NULL);
        mo_pool_file_release(file);
        mo_suite_release(suite);
    }
    assert_false(mo_is_pool_file("cora") || mo_is_pool_file("cora,mutag"));
}

static void what_is_wrong_is_said_with_its_place(void **state) {
    scratch *s = *state;
    const struct {
        const char *text, *says;
    } pools[] = {
        {"{\"pool\": \"a\", \"graphs\": [{\"data\": \"cora\"}],\n  \"grahps\": 1}", ": grahps: unknown key \"grahps\""},
        {"{\"pool\": \"a\", \"pool\": \"b\"}", ":1:"},
        {"{\"pool\": \"a\",\n \"graphs\": [{\"data\": \"cora\"},\n  {\"data\": \"cora\"}]}",
            ": graphs[1].data: \"cora\" is there twice"},
        {"{\"pool\": \"a\", \"graphs\": [\n{\"data\": \"nowhere\"}]}",
            ": graphs[0].data: unknown data set \"nowhere\""},
        {"{\"pool\": \"a\", \"graphs\": [{\"data\": \"cora\",\n \"tasks\": [\"nc\", \"cv\"]}]}",
            ": graphs[0].tasks[1]: expected nc, lp or gc, found cv"},
        {"{\"pool\": \"a\", \"graphs\": [{\"data\": \"cora\", \"tasks\": [\"nc\", \"nc\"]}]}", "\"nc\" is there twice"},
        {"{\"pool\": \"a\", \"graphs\": []}", ": graphs: expected \"graphs\" to be an array of at least one"},
        {"{\"pool\": \"a\"}", ": expected the key \"graphs\""},
        {"{\"graphs\": [{\"data\": \"cora\"}]}", "expected the key \"pool\""},
        {"{\"pool\": \"a\", \"link_share\": 2, \"graphs\": [{\"data\": \"cora\"}]}",
            ": link_share: expected \"link_share\" to be a number of 0.001 to 0.9"},
        {"{\"pool\": \"a\", \"families\": {\"nc\": 0, \"lp\": 0, \"gc\": 0}, \"graphs\": [{\"data\": \"cora\"}]}",
            "expected a family above 0"},
        {"{\"pool\": \"a\", \"families\": {\"nodes\": 1}, \"graphs\": [{\"data\": \"cora\"}]}",
            ": families.nodes: unknown key \"nodes\""},
        {"{\"pool\": \"a\", \"graphs\": [1]}", ": graphs[0]: expected an object"},
        {"[]", ": expected an object"},
        {"{\"pool\": \"a\",\n}", ":2:"},
        {"", "the file is empty"},
    };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        const char *path = scratch_write(s, "bad.json", pools[i].text, strlen(pools[i].text));
        assert_null(mo_pool_file_read(s->ctx, path));
        assert_failed(s->ctx, MO_FORMAT, (const char *const[]){path, pools[i].says, NULL});
    }
}

static void what_is_wrong_with_a_suite_is_said(void **state) {
    scratch *s = *state;
    const struct {
        const char *text, *says;
    } suites[] = {
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\"},\n{\"task\": \"nc\", \"data\": "
         "\"Cora\"}]}",
            ": tasks[1]: \"Cora\" is there twice for nc"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\", \"metrics\": [\"auc\"]}]}",
            "expected accuracy, found auc"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\", \"k\": [4, 0]}]}",
            "expected k as a whole number of 1"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\", \"k\": [4, 4.5]}]}",
            "expected k as a whole number"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\", \"k\": [4, 4]}]}",
            "k = 4 is there twice"},
        {"{\"suite\": \"a\", \"heads\": [\"crown\"], \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\"}]}",
            ": heads[0]: expected the name of a head"},
        {"{\"suite\": \"a\", \"protocol\": \"guess\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\"}]}",
            ": protocol: expected split or episode, found guess"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\"}]}", ": tasks[0]: expected the key \"task\""},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"lp\", \"metrics\": [\"auc\",\n\"auc\"]}]}",
            ": tasks[0].metrics[1]: \"auc\" is there twice"},
        {"{\"suite\": \"a\", \"tasks\": [{\"data\": \"cora\", \"task\": \"nc\", \"k\": [1048577]}]}",
            "expected k as a whole number"},
    };
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        const char *path = scratch_write(s, "bad.json", suites[i].text, strlen(suites[i].text));
        assert_null(mo_suite_read(s->ctx, path));
        assert_failed(s->ctx, MO_FORMAT, (const char *const[]){path, suites[i].says, NULL});
    }
    assert_null(mo_suite_read(s->ctx, "nowhere"));
    assert_failed(s->ctx, MO_INVALID, (const char *const[]){"suite 'nowhere'", NULL});
    assert_null(mo_suite_read(s->ctx, "/no/such.json"));
    assert_failed(s->ctx, MO_IO, (const char *const[]){"/no/such.json", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_read_into_items_of_a_pool),
        cmocka_unit_test(a_suite_has_its_tasks_and_what_is_usual),
        cmocka_unit_test(those_that_come_with_the_library_are_read),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(what_is_wrong_with_a_suite_is_said),
    };
    return cmocka_run_group_tests_name("suite", tests, scratch_create, scratch_release);
}
