/* tests/cli/test_cli_suite.c - suites and pools through the program, and evaluations side by side. */
#include "program.h"

static const fixtures around_all = {program_create, program_release};

static const char suite[] = "{\"suite\": \"mini\", \"seeds\": 2, \"heads\": [\"ridge\", \"dot\"], \"tasks\": [\n"
                            " {\"data\": \"cora\", \"task\": \"nc\", \"k\": [4, 16]},\n"
                            " {\"data\": \"cora\", \"task\": \"lp\", \"k\": [64], \"metrics\": [\"auc\", \"mrr\"]},\n"
                            " {\"data\": \"arxiv\", \"task\": \"nc\"},\n"
                            " {\"data\": \"mutag\", \"task\": \"gc\", \"k\": [4]}]}";

static const char *write_file(const program *p, const char *name, const char *text) {
    const char *path = in_folder(p, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    return path;
}

TEST(a_suite_runs_what_is_there_and_lists_the_rest) {
    program *p = *state;
    int count[4] = {0};
    const char *kinds[] = {"data", "cell", "absent", "aggregate"};
    unsetenv("MOCHI_DATA");
    const char *path = write_file(p, "mini.json", suite);
    RUN(p, "eval", "--weights", "random", "--dim", "16", "--hop", "2", "--suite", path, "--json", "--quiet");
    assert_ended(p, 0, NULL);
    json_t *run = json_line(p, 0, "kind,format,command,versions,blas_core,device,weights,protocol,seed,suite,seeds");
    assert_string_equal(json_text_of(run, "suite"), path);
    assert_int_equal(json_real_of(run, "seeds"), 2);
    json_decref(run);
    for (const char *line = strchr(p->out, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        for (int i = 0; i < 4; i++) {
            char start[40];
            snprintf(start, sizeof start, "{\"kind\":\"%s\"", kinds[i]);
            count[i] += strncmp(line, start, strlen(start)) == 0;
        }
    assert_int_equal(count[0], 3);
    assert_int_equal(count[1], 3 * 2 + 3 * 2 * 2 + 3); /* random, x0, hop; of links two heads and two metrics */
    assert_int_equal(count[2], 1);
    assert_int_equal(count[3], 6);
    assert_non_null(strstr(p->out, "\"kind\":\"absent\",\"data\":\"arxiv\""));
    assert_null(strstr(p->out, "hits_"));
    write_file(p, "a.jsonl", p->out);
    RUN(p, "eval", "--weights", "random", "--dim", "16", "--hop", "2", "--suite", path, "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "not run, as the data are not there: arxiv nc"));
    assert_non_null(strstr(p->out, "normalised aggregate"));
}

/* Needs the file of the test before. */
TEST(evaluations_are_compared_in_pairs_and_with_the_paper) {
    program *p = *state;
    char a[512];
    snprintf(a, sizeof a, "%s", in_folder(p, "a.jsonl"));
    RUN(p, "compare", a, a, "paper", "--head", "ridge", "--metric", "accuracy", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(
        count_lines(p->out), 2 * 3 + 2 * 3 * 3); /* cora at two k, mutag; three pairs of columns of either file */
    json_t *own = json_line(p, 0,
        "kind,data,task,metric,k,head,features,other,other_features,mean,other_mean,difference,ci95,paired,apart,seen");
    assert_true(json_real_of(own, "difference") == 0 && json_is_true(json_object_get(own, "paired")) &&
                json_is_false(json_object_get(own, "apart")));
    json_decref(own);
    json_t *paper = json_line(p, 1,
        "kind,data,task,metric,k,head,features,other,other_features,mean,other_mean,difference,ci95,paired,apart,seen");
    assert_string_equal(json_text_of(paper, "other"), "paper");
    assert_true(json_real_of(paper, "other_mean") == 34.94 && json_is_false(json_object_get(paper, "paired")));
    json_decref(paper);
    RUN(p, "compare", a, "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "24.9 ±  1.5   34.9 ±  3.2"));
}

TEST(the_public_split_stands_beside_other_methods) {
    program *p = *state;
    unsetenv("MOCHI_DATA");
    RUN(p, "eval", "--weights", "none", "--hop", "2", "--dim", "32", "--protocol", "public", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    json_t *run = json_line(p, 0, "kind,format,command,versions,blas_core,device,weights,protocol,seed");
    assert_string_equal(json_text_of(run, "protocol"), "public");
    json_decref(run);
    json_t *cell = json_line(p, 2,
        "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen"); /* behind run and data */
    assert_string_equal(json_text_of(cell, "protocol"), "public");
    assert_int_equal(json_real_of(cell, "k"), 20);
    assert_int_equal(json_real_of(cell, "n_test"), 1000);
    assert_true(json_is_null(json_object_get(cell, "ci95")));
    json_decref(cell);
    assert_null(strstr(p->out, "\"kind\":\"pair\"")); /* one split has no spread */
    assert_non_null(strstr(p->out, "\"kind\":\"absent\",\"data\":\"pubmed\""));
    char path[512];
    snprintf(path, sizeof path, "%s", write_file(p, "public.jsonl", p->out));
    RUN(p, "compare", path, "public", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2);
    json_t *first = json_line(p, 0,
        "kind,data,task,metric,k,head,features,other,other_features,mean,other_mean,difference,ci95,paired,apart,seen");
    assert_true(json_real_of(first, "other_mean") == 80.1);
    assert_string_equal(json_text_of(first, "other_features"), "public best");
    json_decref(first);
    RUN(p, "compare", path, "public");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "C&S  GA-Wisconsin"));
    RUN(p, "compare", path, "paper");
    assert_ended(p, 1, "found none");
    RUN(p, "eval", "--weights", "none", "--hop", "2", "--dim", "32", "--protocol", "public", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "ridge head, accuracy in %, the public split"));
    assert_non_null(strstr(p->out, " 80.1          79.4          80.1 ")); /* C&S, GraphAny of two trainings */
    assert_non_null(strstr(p->out, "mean over 2 graphs (on their first two divisions): x0 "));
    assert_non_null(strstr(p->out, "C&S on 2 of them 73.3; x0 there "));
    assert_non_null(strstr(p->out, "not run, as the data are not there: pubmed nc"));
    RUN(p, "eval", "--weights", "none", "--hop", "2", "--dim", "32", "--protocol", "public", "--data", "photo");
    assert_int_equal(p->code, 0);
    assert_non_null(strstr(p->err, "photo: came with no division; 3 are drawn, of 160 training nodes in proportion"));
    assert_non_null(strstr(p->out, "n = 3 public splits"));
}

TEST(bad_suites_and_runs_end_with_one_line) {
    program *p = *state;
    char run[512];
    snprintf(run, sizeof run, "%s", write_file(p, "bad.json", "{\"suite\": \"a\",\n \"task\": []}"));
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--suite", run);
    assert_ended(p, 1, "bad.json: task: unknown key \"task\"");
    RUN(p, "eval", "--suite", "nowhere");
    assert_ended(p, 1, "suite 'nowhere'");
    RUN(p, "eval", "--suite", "paper", "--data", "cora");
    assert_ended(p, 2, "--suite");
    RUN(p, "train", "--pool", run, "--out", in_folder(p, "run"));
    assert_ended(p, 1, "bad.json: suite: unknown key \"suite\"");
    RUN(p, "compare", run, "paper");
    assert_ended(p, 1, "bad.json:1: ");
    RUN(p, "compare", "/no/such.jsonl", "paper");
    assert_ended(p, 1, "/no/such.jsonl");
    RUN(p, "compare", "paper");
    assert_ended(p, 2, "found 1");
    snprintf(run, sizeof run, "%s", write_file(p, "half.jsonl", "{\"kind\":\"cell\",\"data\":\"cora\"}\n"));
    RUN(p, "compare", run, "paper");
    assert_ended(p, 1, "half.jsonl:1: expected a line of `mochi eval --json`");
    snprintf(run, sizeof run, "%s",
        write_file(p, "\033.jsonl",
            "{\"kind\":\"cell\",\"data\":\"\\u001b[2J\\nx\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"f\","
            "\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":4,\"mean\":50,\"sd\":1,\"ci95\":1,\"values\":[49,51]}"
            "\n"));
    RUN(p, "compare", run, run);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "?[2J?x"));
    assert_null(strchr(p->out, '\033'));
}
