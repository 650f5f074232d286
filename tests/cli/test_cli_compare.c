/* tests/cli/test_cli_compare.c - a run beside the paper's tables. */
#include "program.h"

static const char *file_of(const program *p, const char *name, const char *text) {
    write_text(in_folder(p, name), text);
    return in_folder(p, name);
}

#define CELL(data, task, features, k, metric, mean)                                                                    \
    "{\"kind\":\"cell\",\"data\":\"" data "\",\"task\":\"" task "\",\"protocol\":\"split\",\"features\":\"" features   \
    "\",\"head\":\"ridge\",\"metric\":\"" metric "\",\"k\":" #k ",\"mean\":" #mean                                     \
    ",\"sd\":1,\"ci95\":2,\"values\":[1,2]}\n"

#define VALUES(features, mean, values)                                                                                 \
    "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"" features             \
    "\",\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":4,\"mean\":" #mean ",\"sd\":1,\"ci95\":2,\"values\":" values  \
    ",\"seen\":false}\n"

/* Differences of three pairs: to random 10, 11, 12; to x0 -10, -10, -11; to hop -1, 1, -1. Student's quantile at two
 * degrees of freedom is 4.303, and the half width 4.303 sd / sqrt(3). */
static void what_needs_no_training_and_is_above_is_named(void **state) {
    program *p = *state;
    const char *path = file_of(p, "own.jsonl",
        VALUES("trained", 52, "[50,52,54]") VALUES("random", 41, "[40,41,42]") VALUES("x0", 62.33, "[60,62,65]")
            VALUES("hop", 52.33, "[51,51,55]"));
    RUN(p, "compare", path, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\ntrained - random, of pairs: k = 4 +11.0 ± 2.5*\n"
                                   "trained - x0, of pairs: k = 4 -10.3 ± 1.4*\n"
                                   "trained - hop, of pairs: k = 4 -0.3 ± 2.9\n"
                                   "trained is within noise of hop at k = 4\n"
                                   "below x0: k = 4 (-10.3 ± 1.4)\n"));
    assert_null(strstr(p->out, "below hop"));
    assert_null(strstr(p->out, "below the untrained"));
}

/* Of a loss the larger figure is the worse one. */
static void a_loss_is_worse_above(void **state) {
    program *p = *state;
    char text[2048], *metric;
    snprintf(text, sizeof text, "%s",
        VALUES("trained", 52, "[50,52,54]") VALUES("random", 41, "[40,41,42]") VALUES("x0", 62.33, "[60,62,65]"));
    while ((metric = strstr(text, "\"accuracy\"")))
        memcpy(metric, "\"nll\"     ", 10);
    const char *path = file_of(p, "own.jsonl", text);
    RUN(p, "compare", path, path);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\nabove the untrained encoder (less is better): k = 4 (+11.0 ± 2.5)\n"));
    assert_null(strstr(p->out, "x0 (less is better)"));
    assert_null(strstr(p->out, "below "));
}

/* The paper names no k of its links: they stand beside 512 alone, in differences and tables. */
static void links_are_compared_with_the_paper_at_one_k(void **state) {
    program *p = *state;
    const char *path =
        file_of(p, "own.jsonl", CELL("cora", "lp", "mine", 4, "auc", 90) CELL("cora", "lp", "mine", 512, "auc", 95));
    RUN(p, "compare", path, "paper", "--json");
    assert_ended(p, 0, NULL);
    json_t *line = json_line(p, 0,
        "kind,data,task,metric,k,head,features,other,other_features,mean,other_mean,difference,ci95,paired,apart,seen");
    assert_int_equal(json_real_of(line, "k"), 512);
    json_decref(line);
    assert_null(strstr(strchr(p->out, '\n') + 1, "\"difference\""));
    RUN(p, "compare", path, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n     4   90.0 ±  2.0             -             -             -             -"));
    /* no k of the paper: the table without its columns, and no difference */
    path = file_of(
        p, "four.jsonl", CELL("cora", "lp", "mine", 4, "auc", 90) CELL("cora", "nc", "mine", 4, "accuracy", 80));
    RUN(p, "compare", path, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n     k         mine?\n     4   90.0 ±  2.0\n"));
    assert_non_null(strstr(p->out, "\n1 differences"));
    path = file_of(p, "alone.jsonl", CELL("cora", "lp", "mine", 4, "auc", 90));
    RUN(p, "compare", path, "paper");
    assert_ended(p, 1, "expected figures for the same data, task, head, metric and k, found none");
    RUN(p, "eval", "--weights", "none", "--dim", "8", "--hop", "0", "--data", "cora", "--task", "lp", "--metric", "auc",
        "--shots", "4,512", "--seeds", "1", "--quiet");
    assert_ended(p, 0, NULL);
    const char *row = strstr(p->out, "\n     4 "), *next = strstr(p->out, "\n   512 ");
    assert_non_null(row);
    assert_non_null(next);
    assert_null(memmem(row, (size_t)(next - row), "99.5", 4));
    assert_non_null(strstr(next, " 99.5 ±  0.2 "));
}

static void baselines_behind_weights_are_refused_by_name(void **state) {
    program *p = *state;
    static const char *const lists[] = {"best,random", "random,none", "best,none", "random,random"};
    for (int i = 0; i < 4; i++) {
        RUN(p, "eval", "--weights", lists[i], "--data", "mutag");
        assert_ended(p, 2, "--weights: random and none behind other weights: their table has");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_no_training_and_is_above_is_named),
        cmocka_unit_test(a_loss_is_worse_above),
        cmocka_unit_test(links_are_compared_with_the_paper_at_one_k),
        cmocka_unit_test(baselines_behind_weights_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
