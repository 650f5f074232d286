/* tests/cli/test_cli_report.c - `mochi report`: a page that holds the measured figures under their names and fetches
 * nothing; and messages about unknown input. test_report_page.py opens such a page in a browser. */
#include "tests/cli/program.h"

enum { MAX_PAGE = 1 << 20 };

static char *read_page(const program *p) {
    static char page[MAX_PAGE];
    FILE *file = fopen(in_folder(p, "report.html"), "r");
    size_t n = file ? fread(page, 1, MAX_PAGE - 1, file) : 0;
    page[n] = '\0';
    if (file)
        fclose(file);
    return page;
}

/* Without the boxes about the words of commands. */
static char *without_spans(char *page) {
    static const char *const tags[] = {"<span>", "</span>"};
    for (int i = 0; i < 2; i++)
        for (char *at = page; (at = strstr(at, tags[i]));)
            memmove(at, at + strlen(tags[i]), strlen(at + strlen(tags[i])) + 1);
    return page;
}

static int count(const char *text, const char *part) {
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

#define CELL(features, k, mean)                                                                                        \
    "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"" features             \
    "\",\"head\":\"ridge\",\"k\":" #k ",\"metric\":\"accuracy\",\"mean\":" #mean                                       \
    ",\"sd\":1,\"ci95\":2.5,\"values\":[1,2]}\n"

static const char run_line[] =
    "{\"kind\":\"run\",\"format\":1,\"command\":[\"mochi eval\",\"--weights\",\"it's $HOME/w\",\"--json\"],"
    "\"versions\":{\"mochi\":\"0.1.0\"},\"blas_core\":\"Haswell\",\"weights\":[{\"features\":\"<i>mine</i>\","
    "\"file\":\"w\",\"recipe\":\"best\",\"xxh3\":\"99aa06d3014798d86001c324468d497f\"}]}\n";

/* A run of two steps, with empty weights: their digest is the empty file's. */
static void write_run(const program *p) {
    mkdir(in_folder(p, "run"), 0777);
    write_text(in_folder(p, "run/run.json"),
        "{\"settings\":{\"recipe\":\"best\",\"pool\":[\"citeseer\",\"a b\"],\"steps\":2,\"episodes_per_step\":3,"
        "\"lr\":0.01,\"lr_min\":0,\"k\":[4,64]},\"pool\":[{\"data\":\"citeseer\",\"task\":\"nc\",\"hash\":\"c98\"}],"
        "\"version\":\"0.1.0\",\"blas_core\":\"Haswell\"}");
    write_text(in_folder(p, "run/log.jsonl"),
        "{\"step\":0,\"loss\":1.5,\"accuracy\":{\"nc\":0.5},\"seconds\":0.25}\n"
        "{\"step\":1,\"loss\":1.25,\"accuracy\":{\"nc\":0.75},\"seconds\":0.5}\n");
    write_text(in_folder(p, "run/weights.safetensors"), "");
}

/* A finished run has one line per step; other files of its folder do not matter. */
static void a_finished_run_without_its_steps_is_refused(void **state) {
    program *p = *state;
    write_run(p);
    write_text(in_folder(p, "run/log.jsonl"), "");
    RUN(p, "report", in_folder(p, "run"), "--out", in_folder(p, "none.html"));
    assert_ended(p, 1, "log.jsonl: expected the 2 steps of a finished run, found 0");
    assert_int_equal(access(in_folder(p, "none.html"), F_OK), -1);
}

/* Two processes that continued one run before runs were locked. */
static void a_log_whose_steps_do_not_follow_one_another_is_refused(void **state) {
    program *p = *state;
    static const char *const step = "{\"step\":%d,\"loss\":1.5,\"accuracy\":{},\"seconds\":0.25}\n";
    static const int logs[][3] = {{0, 0, 1}, {0, 2, 1}, {1, 2, 3}};
    static const char *const messages[] = {
        "line 2: expected step 1, found step 0", "line 2: expected step 1, found step 2", "line 1: expected step 0"};
    for (int i = 0; i < 3; i++) {
        char text[400] = "";
        write_run(p);
        for (int j = 0; j < 3; j++)
            sprintf(text + strlen(text), step, logs[i][j]);
        write_text(in_folder(p, "run/log.jsonl"), text);
        RUN(p, "report", in_folder(p, "run"), "--out", in_folder(p, "none.html"));
        assert_ended(p, 1, messages[i]);
        assert_int_equal(access(in_folder(p, "none.html"), F_OK), -1);
    }
}

static void a_page_holds_figures_beside_the_papers_and_how_to_repeat_them(void **state) {
    program *p = *state;
    char lines[4096];
    skip_without_gnuplot();
    write_run(p);
    snprintf(lines, sizeof lines, "%s%s", run_line,
        CELL("<i>mine</i>", 4, 71.25) CELL("<i>mine</i>", 16, 80) CELL("hop", 4, 67.5) CELL("hop", 16,
            null) "{\"kind\":\"aggregate\",\"features\":\"hop\",\"head\":\"ridge\",\"S\":0.875,\"nc\":{\"S\":0.9,"
                  "\"cells\":1}}\n"
                  "{\"kind\":\"pair\",\"data\":\"cora\",\"task\":\"nc\",\"metric\":\"accuracy\",\"k\":4,"
                  "\"head\":\"ridge\",\"features\":\"a\",\"other_features\":\"hop\",\"difference\":1,"
                  "\"ci95\":0.5,\"paired\":true,\"apart\":true}\n"
                  "{\"kind\":\"absent\",\"data\":\"gowalla\",\"task\":\"lp\",\"reason\":\"it is not there\"}\n");
    write_text(in_folder(p, "eval.jsonl"), lines);
    RUN(p, "report", in_folder(p, "run"), in_folder(p, "eval.jsonl"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    const char *page = without_spans(read_page(p));
    static const char *const parts[] = {"&#60;i&#62;mine&#60;/i&#62;", "<td>71.2&#160;&#177;&#160;2.5</td>",
        "paper: MOCHI++", "<td>34.9&#160;&#177;&#160;3.2</td>", "0.8 s in steps", "2 of 2, 3 episodes each",
        "mochi train --recipe best --pool citeseer,&#39;a b&#39; --steps 2 --episodes-per-step 3 --lr 0.01 --k 4:64 "
        "--out RUN",
        "<li>Training ", "took 2 of 2 steps of recipe best in 0.8 s; its loss went from 1.38 to 1.38.</li>",
        "<li>Of 1 few-shot comparisons (a data set, task, head and k each) &#60;i&#62;mine&#60;/i&#62; has the highest "
        "figure in 1.</li>",
        "is above the paper&#39;s MOCHI++ in 2 of the 2 figures that both have.</li>", "hours of training",
        "the paper&#39;s methods", "mochi eval --weights &#39;it&#39;\\&#39;&#39;s $HOME/w&#39; --json",
        "99aa06d3014798d86001c324468d497f", "Cost against accuracy", "<td>0.875</td><td>0.900</td><td>&#8211;</td>",
        "Not run: gowalla, it is not there", "<li><a href='#part2'>Cost against accuracy</a></li>",
        "<section id='part2'>\n<h2>Cost against accuracy</h2>", "<details><summary>All figures as tables</summary>",
        "prefers-color-scheme:dark", "name='viewport'"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(page, parts[i]))
            fail_msg("no '%s' in the page", parts[i]);
    assert_int_equal(count(page, "<svg class='chart'"), 4); /* accuracy, cost, loss, accuracy of the training */
}

#define LINK_CELL(k)                                                                                                   \
    "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"lp\",\"protocol\":\"split\",\"features\":\"trained\","            \
    "\"head\":\"ridge\",\"k\":" #k ",\"metric\":\"auc\",\"mean\":80,\"sd\":1,\"ci95\":2.5,\"values\":[1,2]}\n"

/* The paper has one figure of links, 93.2 of MOCHI++, for k = 512: it is neither said nor drawn of another k. */
static void the_papers_links_are_of_one_k(void **state) {
    program *p = *state;
    const char *const figure = "<td>93.2&#160;&#177;&#160;0.4</td>", *const out = in_folder(p, "report.html");
    skip_without_gnuplot();
    write_text(in_folder(p, "links.jsonl"), LINK_CELL(4) LINK_CELL(16));
    RUN(p, "report", in_folder(p, "links.jsonl"), "--out", out);
    assert_ended(p, 0, NULL);
    const char *page = without_spans(read_page(p));
    assert_non_null(strstr(page, "those of links stand beside k = 512 alone."));
    assert_int_equal(count(page, figure), 0);
    assert_non_null(strstr(page, "paper: MOCHI++")); /* a point of the chart, at a tick of its own */
    assert_non_null(strstr(page, ">512<"));
    write_text(in_folder(p, "links.jsonl"), LINK_CELL(4) LINK_CELL(16) LINK_CELL(512));
    RUN(p, "report", in_folder(p, "links.jsonl"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    assert_int_equal(count(without_spans(read_page(p)), figure), 1);
}

/* Whatever text there is, it is text. */
static void nothing_in_a_page_runs_or_is_fetched(void **state) {
    program *p = *state;
    skip_without_gnuplot();
    RUN(p, "pitfalls", "all", "--seeds", "2", "--json");
    write_text(in_folder(p, "pitfalls.jsonl"), p->out);
    write_text(
        in_folder(p, "eval.jsonl"), CELL("</svg><script>alert(1)</script>", 4, 50) CELL("\\u0001'-;`id`", 4, 50));
    RUN(p, "report", in_folder(p, "pitfalls.jsonl"), in_folder(p, "eval.jsonl"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    const char *page = read_page(p);
    static const char *const never[] = {"<script", "://", "src=", "url(", "@import", "<i>", "onload", "<image"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(page, never[i]))
            fail_msg("'%s' in the page", never[i]);
    assert_int_equal(count(page, "<link"), 1); /* of an empty icon, so that no browser asks for one */
    assert_int_equal(count(page, "<svg class='chart'"), 6);
    assert_int_equal(count(page, "<figure>"), count(page, "</svg>\n<div class='legend'>"));
    assert_non_null(strstr(page, "In its set-up A is 1.5 above B and C"));
    assert_null(strstr(page, "nan"));
}

static void embeddings_have_their_reliability_and_hull(void **state) {
    program *p = *state;
    skip_without_gnuplot();
    char lines[8192] =
        "{\"head\":\"ridge\",\"k\":4,\"accuracy\":58.5,\"ci95\":null,\"nll\":1.7,\"brier\":0.8,\"ece\":0.4,"
        "\"ece_temperature\":null,\"seconds\":0.1}\n"
        "{\"diagnosis\":\"reliability\",\"head\":\"ridge\",\"k\":4,\"n\":[0,0,0,0,0,0,0,4,0,0,0,0,0,0,2],"
        "\"right\":[0,0,0,0,0,0,0,2,0,0,0,0,0,0,2],\"confidence\":[0,0,0,0,0,0,0,2,0,0,0,0,0,0,1.9]}\n";
    for (int c = 0; c < 4; c++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
            "{\"diagnosis\":\"class\",\"class\":%d,\"rows\":9,\"norm\":1,\"hull_distance\":0.5,"
            "\"hull_distance_normalised\":0.25,\"inside\":false,\"epsilon_included\":false,\"outer\":%s,\"flagged\":%s,"
            "\"plane\":[%d,%d]}\n",
            c, c < 3 ? "true" : "false", c < 3 ? "false" : "true", c == 1 ? 1 : 0, c == 2 ? 1 : 0);
    write_text(in_folder(p, "fit.jsonl"), lines);
    RUN(p, "report", in_folder(p, "fit.jsonl"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    const char *page = read_page(p);
    assert_non_null(strstr(page, "Reliability at k = 4"));
    assert_non_null(strstr(page, "Prototypes in the plane of their principal components"));
    assert_non_null(strstr(page, "interior, flagged"));
    assert_int_equal(count(page, "<svg class='chart'"), 4 + 1 + 2);
}

#define PLACED "node,label,probability,margin,known,truth,x,y\n"

static void predictions_have_a_picture_and_the_least_sure(void **state) {
    program *p = *state;
    skip_without_gnuplot();
    char lines[8192] = PLACED "s1,a,,,yes,a,0,0\n\"s2 <b>\",b,,,yes,b,1,1\n";
    for (int i = 0; i < 30; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "n%d,%c,0.%d,0.1,no,%c,0.%d,%d\n", i,
            i % 2 ? 'a' : 'b', 99 - i, i % 3 ? 'a' : 'b', i, i % 5);
    write_text(in_folder(p, "p.csv"), lines);
    RUN(p, "report", in_folder(p, "p.csv"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    const char *page = read_page(p);
    assert_int_equal(count(page, "<svg class='chart'"), 3);
    /* i % 2 is 1 where it says a; i % 3 is not 0 where that is true */
    assert_non_null(
        strstr(page, "<p>30 predictions from 2 labels. Of 30 whose class the data has, 15 are right: 50.0%."));
    assert_non_null(strstr(page, "<p>A class here has 1: probabilities are rough below 4 labels of a class: on Cora"));
    assert_int_equal(count(page, "<tr><td class='t'>n"), 20);
    const char *first = strstr(page, "<tr><td class='t'>n");
    assert_memory_equal(first,
        "<tr><td class='t'>n29</td><td class='t'>a</td><td>0.700</td><td>0.100</td>"
        "<td class='t'>a</td></tr>",
        99);
    assert_null(strstr(page, ">n9<"));
    /* Of class a, 20 in the data and 15 predicted, 10 are right; of b 10, 15 and 5. */
    assert_non_null(
        strstr(page, "<tr><td class='t'>a</td><td>1</td><td>15</td><td>20</td><td>50.0</td><td>66.7</td></tr>"));
    assert_non_null(
        strstr(page, "<tr><td class='t'>b</td><td>1</td><td>15</td><td>10</td><td>50.0</td><td>33.3</td></tr>"));
    assert_null(strstr(page, "<b>"));
    /* Without places and truth: the histogram and the least sure. Given twice: two sections. */
    write_text(in_folder(p, "q.tsv"), "graph\tlabel\tprobability\tmargin\n7\t\t0.5\t0\n8\tb\t1\t1\n");
    RUN(p, "report", in_folder(p, "q.tsv"), in_folder(p, "p.csv"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    page = read_page(p);
    assert_int_equal(count(page, "<svg class='chart'"), 4);
    assert_non_null(strstr(page, "<p>2 predictions, 1 of them too unsure for a label.</p>"));
    assert_non_null(strstr(page, "<p class='soft'>How many labels they were made from the table does not say; "
                                 "probabilities are rough below 4 labels of a class"));
    assert_non_null(strstr(page, "<code>mochi predict --pca</code>"));
    assert_non_null(strstr(page, "<td class='t'>7</td><td class='t'>none</td><td>0.500</td>"));
    char enough[1024] = PLACED;
    for (int i = 0; i < 10; i++)
        snprintf(enough + strlen(enough), sizeof enough - strlen(enough), "s%d,%c,%s,0,0\n", i, i % 2 ? 'a' : 'b',
            i < 8 ? ",,yes," : "0.9,0.1,no,");
    write_text(in_folder(p, "p.csv"), enough);
    RUN(p, "report", in_folder(p, "p.csv"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    assert_null(strstr(read_page(p), "rough"));
}

static void a_picture_has_at_most_3000_predictions(void **state) {
    program *p = *state;
    skip_without_gnuplot();
    FILE *file = fopen(in_folder(p, "p.csv"), "w");
    fputs(PLACED "s,a,,,yes,,0,0\n", file);
    for (int i = 0; i < 7000; i++)
        fprintf(file, "n%d,a,0.5,0.5,no,,%d,%d\n", i, i, i % 7);
    fclose(file);
    RUN(p, "report", in_folder(p, "p.csv"), "--out", in_folder(p, "report.html"));
    assert_ended(p, 0, NULL);
    const char *page = read_page(p);
    assert_non_null(strstr(page, "Of the predictions, the pictures have 2334.")); /* every third */
    assert_null(strstr(page, "By class"));                                        /* the data has none */
    int points = count(page, "<use ");
    assert_in_range(points, 2334 + 1, 2334 + 20); /* and those of labels and legends */
}

static void a_damaged_table_of_predictions_is_refused_with_its_line(void **state) {
    program *p = *state;
    static const char *const bad[][2] = {
        {"", "expected a header and predictions, found none"},
        {PLACED, "expected a header and predictions, found none"},
        {"from,to,score,linked\na,b,1,no\n",
            "in.csv:1: expected a table of mochi predict, which begins with node or graph"},
        {"node,label\n1,a\n", "in.csv:1: expected the columns node or graph, label, probability and margin"},
        {PLACED "1,a,0.5,0.5,no,,1\n", "in.csv:2: expected 8 columns, as the header has, found 7"},
        {PLACED "1,a,1.5,0.5,no,,1,1\n", "in.csv:2: expected a number of 0 to 1, found '1.5'"},
        {PLACED "1,a,nan,0.5,no,,1,1\n", "in.csv:2: expected a number of 0 to 1, found 'nan'"},
        {PLACED "1,a,,,no,,1,1\n", "in.csv:2: expected a probability and a margin"},
        {PLACED "1,,,,yes,,1,1\n", "in.csv:2: expected a label that is known"},
        {PLACED "1,a,,,maybe,,1,1\n", "in.csv:2: expected yes or no, found 'maybe'"},
        {PLACED "1,a,0.5,0.5,no,,1,\n", "in.csv:2: expected a place, x and y"},
        {PLACED "1,a,0.5,0.5,no,,inf,1\n", "in.csv:2: expected a finite number, found 'inf'"},
        {PLACED "1,\"a\n", "in.csv:2: expected the quote that ends a field"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(in_folder(p, "in.csv"), bad[i][0]);
        RUN(p, "report", in_folder(p, "in.csv"), "--out", in_folder(p, "never.html"));
        assert_ended(p, 1, bad[i][1]);
        assert_int_equal(access(in_folder(p, "never.html"), F_OK), -1);
    }
}

static void what_is_not_known_is_refused_with_file_and_line(void **state) {
    program *p = *state;
    static const struct {
        const char *text, *part;
    } files[] = {
        {"", "expected lines of --json, found an empty file"},
        {"{\"kind\":\"cell\"}\n", "in.jsonl: line 1: expected the member data to be a text, found none"},
        {CELL("a", 4, 1) "\n", "in.jsonl: line 2: expected a JSON object"},
        {CELL("a", 4, 1) "{\"step\":1,\"loss\":2}\n", "in.jsonl: line 2: expected a line of mochi eval"},
        {CELL("a", 4, true), "line 1: expected the member mean to be a number or null, found another type"},
        {"[1]\n", "line 1: expected a JSON object, found another value"},
        {"{\"kind\":\"reliability\",\"setting\":\"s\",\"head\":\"h\",\"n\":[1],\"right\":[1],\"confidence\":[1]}",
            "line 1: expected lists of numbers"},
        {"{\"kind\":1,\"kind\":2}\n", "line 1: expected a JSON object, found duplicate object key"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_text(in_folder(p, "in.jsonl"), files[i].text);
        RUN(p, "report", in_folder(p, "in.jsonl"), "--out", in_folder(p, "never.html"));
        assert_ended(p, 1, files[i].part);
        assert_int_equal(access(in_folder(p, "never.html"), F_OK), -1);
    }
    RUN(p, "report", "/no/such.jsonl", "--out", in_folder(p, "never.html"));
    assert_ended(p, 1, "/no/such.jsonl");
    mkdir(in_folder(p, "empty"), 0777);
    RUN(p, "report", in_folder(p, "empty"), "--out", in_folder(p, "never.html"));
    assert_ended(p, 1, "empty/run.json");
    write_run(p);
    write_text(in_folder(p, "run/log.jsonl"), "{\"step\":0,\"loss\":1,\"accuracy\":{},\"seconds\":1}\n{\"step\":1,\n");
    RUN(p, "report", in_folder(p, "run"), "--out", in_folder(p, "never.html"));
    assert_ended(p, 1, "run/log.jsonl: line 2");
    static const char *const steps[] = {"[]", "{\"loss\":1,\"accuracy\":{},\"seconds\":1}",
        "{\"step\":0,\"loss\":null,\"accuracy\":{},\"seconds\":1}", "{\"step\":0,\"loss\":1,\"accuracy\":{}}",
        "{\"step\":0,\"loss\":1,\"accuracy\":3,\"seconds\":1}",
        "{\"step\":0.5,\"loss\":1,\"accuracy\":{},\"seconds\":1}"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char line[200];
        snprintf(line, sizeof line, "%s\n", steps[i]);
        write_text(in_folder(p, "run/log.jsonl"), line);
        RUN(p, "report", in_folder(p, "run"), "--out", in_folder(p, "never.html"));
        assert_ended(p, 1, "log.jsonl: line 1: expected a step of mochi train, found another value");
    }
    for (int i = 0; i < 3; i++) {
        write_text(in_folder(p, "run/run.json"), i == 0 ? "[]" : i == 1 ? "{\"settings\":3}" : "{}");
        RUN(p, "report", in_folder(p, "run"), "--out", in_folder(p, "never.html"));
        assert_ended(p, 1, "run.json: expected the settings of a run of mochi train, found another object");
    }
    RUN(p, "report", "--out", "x.html");
    assert_ended(p, 2, "INPUT");
    RUN(p, "report", "in.jsonl");
    assert_ended(p, 2, "--out");
}

static void a_page_that_cannot_be_written_leaves_the_old_one(void **state) {
    program *p = *state;
    skip_without_gnuplot();
    write_text(in_folder(p, "in.jsonl"), CELL("a", 4, 1));
    write_text(in_folder(p, "report.html"), "old");
    RUN(p, "report", in_folder(p, "in.jsonl"), "--out", in_folder(p, "none/report.html"));
    assert_ended(p, 1, "none/report.html");
    char *path = strdup(getenv("PATH"));
    setenv("PATH", p->folder, 1);
    RUN(p, "report", in_folder(p, "in.jsonl"), "--out", in_folder(p, "report.html"));
    setenv("PATH", path, 1);
    free(path);
    assert_ended(p, 1, "gnuplot-nox");
    assert_string_equal(read_page(p), "old");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_run_without_its_steps_is_refused),
        cmocka_unit_test(a_log_whose_steps_do_not_follow_one_another_is_refused),
        cmocka_unit_test(a_page_holds_figures_beside_the_papers_and_how_to_repeat_them),
        cmocka_unit_test(the_papers_links_are_of_one_k),
        cmocka_unit_test(nothing_in_a_page_runs_or_is_fetched),
        cmocka_unit_test(embeddings_have_their_reliability_and_hull),
        cmocka_unit_test(predictions_have_a_picture_and_the_least_sure),
        cmocka_unit_test(a_picture_has_at_most_3000_predictions),
        cmocka_unit_test(a_damaged_table_of_predictions_is_refused_with_its_line),
        cmocka_unit_test(what_is_not_known_is_refused_with_file_and_line),
        cmocka_unit_test(a_page_that_cannot_be_written_leaves_the_old_one),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
