/* tests/cli/test_cli_compare.c - a run beside the paper's tables: the aggregate S of all methods, and means over k. */
#include "program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

static const char *file_of(const program *p, const char *name, const char *text) {
    write_text(in_folder(p, name), text);
    return in_folder(p, name);
}

#define NODES(data, features, protocol, k, mean)                                                                       \
    "{\"kind\":\"cell\",\"data\":\"" data "\",\"task\":\"nc\",\"protocol\":\"" protocol "\",\"features\":\"" features  \
    "\",\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":" #k ",\"mean\":" #mean                                       \
    ",\"sd\":1,\"ci95\":2,\"values\":[1,2]}\n"

/* The aggregate of a method in lines of JSON; NaN if it is null. */
static double aggregate_of(const program *p, const char *file, const char *features, const char *head) {
    double S = INFINITY;
    for (const char *line = p->out; *line; line = strchr(line, '\n') + 1) {
        json_t *o = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        const char *of = json_string_value(json_object_get(o, "file"));
        if (of && !strcmp(of, file) && !strcmp(json_text_of(o, "features"), features) &&
            !strcmp(json_text_of(o, "head"), head))
            S = json_is_null(json_object_get(o, "S")) ? NAN : json_real_of(o, "S");
        json_decref(o);
    }
    return S;
}

/* At k = 4 of Cora the paper's best is MOCHI++ by the ridge, 34.94; GIN has 19.14. */
TEST(the_aggregate_is_of_the_cells_that_run_and_paper_have) {
    program *p = *state;
    const char *path = file_of(p, "own.jsonl",
        NODES("cora", "mine", "split", 4, 69.88) NODES("cora", "hop", "split", 4, 34.94)
            NODES("unknown", "mine", "split", 4, 1) NODES("cora", "mine", "episode", 8, 99));
    RUN(p, "compare", path, "paper", "--json");
    assert_ended(p, 0, NULL);
    assert_float_equal(aggregate_of(p, "own", "mine", "ridge"), 1, 1e-12);
    assert_float_equal(aggregate_of(p, "own", "hop", "ridge"), 0.5, 1e-12);
    assert_float_equal(aggregate_of(p, "paper", "MOCHI++", "ridge"), 0.5, 1e-12);
    assert_float_equal(aggregate_of(p, "paper", "GIN", ""), 19.14 / 69.88, 1e-12);
    RUN(p, "compare", path, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "the mean over 1 (nc), 0 (lp), 0 (gc) cells"));
    RUN(p, "compare", path, "paper", "--head", "ridge");
    assert_ended(p, 0, NULL);
    assert_null(strstr(p->out, "normalised aggregate"));
}

#define CELL(data, task, features, k, metric, mean)                                                                    \
    "{\"kind\":\"cell\",\"data\":\"" data "\",\"task\":\"" task "\",\"protocol\":\"split\",\"features\":\"" features   \
    "\",\"head\":\"ridge\",\"metric\":\"" metric "\",\"k\":" #k ",\"mean\":" #mean                                     \
    ",\"sd\":1,\"ci95\":2,\"values\":[1,2]}\n"

/* Two cells of nodes, one of links, three of graphs; each best figure is above all of the paper's. By the definition S
 * is the mean over families of the mean over a family's cells of figure / best figure. */
TEST(the_aggregate_is_a_mean_of_means) {
    program *p = *state;
    const char *path = file_of(p, "own.jsonl",
        CELL("cora", "nc", "mine", 4, "accuracy", 80) CELL("cora", "nc", "hop", 4, "accuracy", 40)
            CELL("cora", "nc", "mine", 8, "accuracy", 60) CELL("cora", "nc", "hop", 8, "accuracy", 90)
                CELL("cora", "lp", "mine", 512, "auc", 100) CELL("cora", "lp", "hop", 512, "auc", 25)
                    CELL("mutag", "gc", "mine", 4, "accuracy", 99) CELL("mutag", "gc", "hop", 4, "accuracy", 98) CELL(
                        "mutag", "gc", "mine", 16, "accuracy", 99) CELL("mutag", "gc", "hop", 16, "accuracy", 97)
                        CELL("mutag", "gc", "mine", 64, "accuracy", 88) CELL("mutag", "gc", "hop", 64, "accuracy", 96));
    RUN(p, "compare", path, "paper", "--json");
    assert_ended(p, 0, NULL);
    assert_float_equal(
        aggregate_of(p, "own", "mine", "ridge"), ((1 + 60 / 90.) / 2 + 1 + (1 + 1 + 88 / 96.) / 3) / 3, 1e-12);
    assert_float_equal(aggregate_of(p, "own", "hop", "ridge"),
        ((40 / 80. + 1) / 2 + 25 / 100. + (98 / 99. + 97 / 99. + 1) / 3) / 3, 1e-12);
    RUN(p, "compare", path, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "the mean over 2 (nc), 1 (lp), 3 (gc) cells"));
}

#define VALUES(features, mean, values)                                                                                 \
    "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"" features             \
    "\",\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":4,\"mean\":" #mean ",\"sd\":1,\"ci95\":2,\"values\":" values  \
    ",\"seen\":false}\n"

/* Differences of three pairs: to random 10, 11, 12; to x0 -10, -10, -11; to hop -1, 1, -1. Student's quantile at two
 * degrees of freedom is 4.303, and the half width 4.303 sd / sqrt(3). */
TEST(what_needs_no_training_and_is_above_is_named) {
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
TEST(a_loss_is_worse_above) {
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

/* The paper names no k of its links: they stand beside 512 alone, in differences, tables and the aggregate. */
TEST(links_are_compared_with_the_paper_at_one_k) {
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
    assert_float_equal(aggregate_of(p, "own", "mine", "ridge"), 95 / 99.5, 1e-3);
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
    assert_non_null(strstr(p->out, "the mean over 1 (nc), 0 (lp), 0 (gc) cells"));
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

TEST(baselines_behind_weights_are_refused_by_name) {
    program *p = *state;
    static const char *const lists[] = {"best,random", "random,none", "best,none", "random,random"};
    for (int i = 0; i < 4; i++) {
        RUN(p, "eval", "--weights", lists[i], "--data", "mutag");
        assert_ended(p, 2, "--weights: random and none behind other weights: their table has");
    }
}

/* The paper's row of MOCHI++ on Cora by k has the mean 50.4, which its table of frozen embeddings prints. */
TEST(means_over_k_are_those_of_the_papers_table) {
    program *p = *state;
    json_error_t error;
    json_t *paper = json_load_file("train/data/paper.json", 0, &error);
    json_t *rows = json_object_get(json_array_get(json_object_get(paper, "tables"), 0), "rows"), *row;
    char text[8192] = "";
    size_t i;
    assert_non_null(rows);
    json_array_foreach(rows, i, row) if (!strcmp(json_text_of(row, "data"), "cora")) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n,
            "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"mine\","
            "\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":%g,\"mean\":%.17g,\"sd\":1,\"ci95\":2,\"values\":[1,2]}"
            "\n",
            json_real_of(row, "k"), json_number_value(json_array_get(json_object_get(row, "mean"), 9)));
    }
    json_decref(paper);
    RUN(p, "compare", file_of(p, "k.jsonl", text), "paper", "--metric", "accuracy_over_k", "--json");
    assert_ended(p, 0, NULL);
    json_t *line = json_line(p, 0,
        "kind,data,task,metric,k,head,features,other,other_features,mean,other_mean,difference,ci95,paired,apart,seen");
    assert_float_equal(json_real_of(line, "mean"), json_real_of(line, "other_mean"), 0.05);
    assert_float_equal(json_real_of(line, "other_mean"), 50.4, 1e-12);
    json_decref(line);
    *strrchr(text, '{') = '\0'; /* without k = 512 there is no mean */
    RUN(p, "compare", file_of(p, "k.jsonl", text), "paper", "--metric", "accuracy_over_k", "--json");
    assert_ended(p, 1, "found none");
}
