/* tests/cli/test_cli_split.c - splits of a user's own: lists of the examples to learn from and to test on. */
#include "tests/embedding_files.h"

/* The numbers from first to before end, one a line after a header. */
static void write_list(const program *p, const char *name, const char *header, int first, int end) {
    FILE *file = fopen(in_folder(p, name), "w");
    assert_non_null(file);
    fputs(header, file);
    for (int i = first; i < end; i++)
        fprintf(file, "%d\n", i);
    assert_int_equal(fclose(file), 0);
}

/* Four divisions in one file, with an interval; a class is without a training node in all but the first. */
static void several_divisions_are_averaged(void **state) {
    program *p = *state;
    RUN(p, "data", "info", "tests/graphs/divided.npz");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n  divisions  4 of the nodes, by protocol public\n"));
    RUN(p, "eval", "--data", "tests/graphs/divided.npz", "--weights", "none", "--hop", "1", "--quiet", "--protocol",
        "public");
    assert_ended(p, 0, NULL);
    static const char *const parts[] = {"accuracy in %, n = 4 public splits\n", "\n     1   93.9 ±  9.5",
        "\nleft out: up to 1 class without a training node in a split, with the test nodes\n",
        "\n± is the half width of the 95% interval"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(p->out, parts[i]))
            fail_msg("no '%s' in: %s", parts[i], p->out);
    RUN(p, "eval", "--data", "tests/graphs/divided.npz", "--weights", "none", "--hop", "1", "--quiet", "--protocol",
        "public", "--json");
    assert_ended(p, 0, NULL);
    json_t *cell = json_line(
        p, 2, "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,divisions,left_out");
    const json_t *values = json_object_get(cell, "values");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(values); i++)
        sum += json_number_value(json_array_get(values, i));
    assert_int_equal(json_array_size(values), 4);
    assert_int_equal(json_integer_value(json_object_get(cell, "divisions")), 4);
    assert_true(sum / 4 - json_number_value(json_object_get(cell, "mean")) < 1e-6);
    json_decref(cell);
    RUN(p, "data", "convert", "tests/graphs/divided.npz", in_folder(p, "again.npz"));
    RUN(p, "data", "info", in_folder(p, "again.npz"), "--json");
    assert_non_null(strstr(p->out, "\"divisions\":4"));
}

static void bad_lists_are_named(void **state) {
    program *p = *state;
    static const struct {
        const char *train, *test, *part;
    } uses[] = {
        {"fine.txt", "fine.txt", "fine.txt: expected rows that are not learned from, found 0, which is"},
        {"twice.txt", NULL, "twice.txt: expected different rows, found 7 in lines 1 and 3"},
        {"twice.npy", NULL, "twice.npy: expected different rows, found 7 in positions 0 and 2"},
        {"far.txt", NULL, "far.txt:2: expected the number of one of 2708 rows, from 0, found '2708'"},
        {"far.npy", NULL, "far.npy: expected numbers of 2708 rows, from 0, found -1 at position 1"},
        {"real.npy", NULL, "real.npy: expected numbers of rows, integers [n], found float32 [1]"},
        {"wide.npy", NULL, "wide.npy: expected numbers of rows, integers [n], found int64 [1, 2]"},
        {"real.txt", NULL, "real.txt:1: expected the number of one of 2708 rows, from 0, found '1.5'"},
        {"word.txt", NULL, "word.txt:2: expected the number of one of 2708 rows, from 0, found 'x'"},
        {"none.txt", NULL, "none.txt: expected a list of rows, found none"},
        {"none.npy", NULL, "none.npy: expected a list of rows, found none"},
        {"missing.txt", NULL, "missing.txt: cannot open"},
        {"few.txt", NULL, "expected rows to learn from of every class, found none of class"},
    };
    RUN(p, "embed", "--weights", "none", "--hop", "0", "--data", "cora", "--out", in_folder(p, "Z.npy"), "--labels",
        in_folder(p, "y.npy"), "--quiet");
    assert_ended(p, 0, NULL);
    write_list(p, "fine.txt", "", 0, 140);
    write_list(p, "few.txt", "", 0, 1);
    write_text(in_folder(p, "twice.txt"), "7\n8\n7\n");
    write_npy(p, "twice.npy", "<i8", "(3,)", (int64_t[]){7, 8, 7}, 24);
    write_text(in_folder(p, "far.txt"), "7\n2708\n");
    write_npy(p, "far.npy", "<i8", "(2,)", (int64_t[]){7, -1}, 16);
    write_npy(p, "real.npy", "<f4", "(1,)", (float[]){7}, 4);
    write_npy(p, "wide.npy", "<i8", "(1, 2)", (int64_t[]){7, 8}, 16);
    write_npy(p, "none.npy", "<i8", "(0,)", "", 0);
    write_text(in_folder(p, "real.txt"), "1.5\n");
    write_text(in_folder(p, "word.txt"), "node\nx\n");
    write_text(in_folder(p, "none.txt"), "node\n");
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char train[600];
        snprintf(train, sizeof train, "%s", in_folder(p, uses[i].train));
        RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "ridge", "--quiet", "--train", train,
            uses[i].test ? "--test" : NULL, uses[i].test ? in_folder(p, uses[i].test) : NULL);
        assert_ended(p, 1, uses[i].part);
    }
}

/* The readout of a hop by `eval` on Cora's public split, and by `fit` on what `embed` writes of it and two lists: nodes
 * 0 to 139, and the last 1,000. */
static void fit_on_a_split_has_the_accuracy_of_eval(void **state) {
    program *p = *state;
    write_list(p, "train.txt", "", 0, 140);
    write_list(p, "test.csv", "node\n", 1708, 2708);
    RUN(p, "eval", "--data", "cora", "--cache", in_folder(p, "cache"), "--weights", "none", "--hop", "2", "--quiet",
        "--protocol", "public", "--json");
    assert_ended(p, 0, NULL);
    const char *cell = strstr(p->out, "\"features\":\"hop\"");
    double expected = atof(strstr(cell, "\"mean\":") + 7);
    RUN(p, "embed", "--weights", "none", "--hop", "2", "--data", "cora", "--out", in_folder(p, "Z.npy"), "--labels",
        in_folder(p, "y.npy"), "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--train", in_folder(p, "train.txt"), "--test",
        in_folder(p, "test.csv"), "--head", "ridge,logistic", "--json");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\"train_rows\":140,\"test_rows\":1000}"));
    assert_true(expected > 60);
    assert_true(atof(strstr(p->out, "\"accuracy\":") + 11) == expected);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--train", in_folder(p, "train.txt"), "--test",
        in_folder(p, "test.csv"), "--head", "ridge,ridge_intercept,svm", "--pairs", "--confusion", "svm",
        "--no-geometry");
    assert_ended(p, 0, NULL);
    static const char *const parts[] = {"a split: 140 rows of 7 classes to learn from, 1000 to test on",
        "    20  ridge               svm ", "\nsvm, k = 20: which classes are taken for which\n", "precision %",
        "\nworst   ", " of its queries\n", "\nverdict on the split: "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(p->out, parts[i]))
            fail_msg("no '%s' in: %s", parts[i], p->out);
}

/* Below the table a line for every value, in JSON a line of kind "fit sweep" with what --tune chose. */
static void a_sweep_is_printed(void **state) {
    program *p = *state;
    write_rows(p, 1);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--episodes", "5",
        "--head", "lda", "--sweep", "--tune", "loo", "--no-geometry");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "       value      accuracy %      nll  held out   chosen\n"));
    assert_non_null(strstr(p->out, "\n     4  lda                         0.35"));
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--episodes", "5",
        "--head", "lda", "--sweep", "--tune", "loo", "--json");
    assert_ended(p, 0, NULL);
    int64_t chosen = 0;
    for (int i = 2; i < 10; i++) {
        json_t *o = json_line(p, i, "kind,k,head,value,accuracy,ci95,nll,ece,held_nll,chosen");
        chosen += json_integer_value(json_object_get(o, "chosen"));
        json_decref(o);
    }
    assert_int_equal(chosen, 5);
}

/* Two heads of one rule are within noise; a head of another is ahead. */
static void the_verdict_follows_the_intervals(void **state) {
    program *p = *state;
    float rows[N * D];
    write_rows(p, 1);
    for (int i = 0; i < N * D; i++) /* far from the origin: inner products with means fail */
        rows[i] = (i % D == i / D % C ? 3.0f : 0.0f) + (float)(i * 7 % 11) / 11 + (i % D ? 0.0f : 40.0f);
    write_npy(p, "far.npy", "<f4", "(90, 4)", rows, sizeof rows);
    RUN(p, "fit", in_folder(p, "far.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--head",
        "prototype_euclidean,prototype_inner,prototype_centred", "--no-geometry");
    assert_ended(p, 0, NULL);
    assert_non_null(
        strstr(p->out, "\nverdict k = 4: prototype_euclidean and prototype_centred are within noise of each "
                       "other; prototype_euclidean is ahead of the others\n"));
    RUN(p, "fit", in_folder(p, "far.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--head",
        "prototype_inner,prototype_euclidean", "--no-geometry");
    assert_non_null(strstr(p->out, "\nverdict k = 4: prototype_euclidean is ahead of prototype_inner\n"));
    RUN(p, "fit", in_folder(p, "far.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--head", "ridge",
        "--no-geometry");
    assert_null(strstr(p->out, "verdict"));
}

/* The characters c of a line. */
static int count_in(const char *line, const char *end, char c) {
    int n = 0;
    for (; line && line < end; line++)
        n += *line == c;
    return n;
}

/* Below the table of `eval`, every k whose interval holds 0 (no *) is named as within noise. */
static void differences_that_hold_zero_are_called_noise(void **state) {
    program *p = *state;
    static const char *const columns[][2] = {
        {"trained† - random, of pairs:", "\ntrained is within noise of untrained (random) at k ="},
        {"trained† - x0, of pairs:", "\ntrained is within noise of x0 at k ="},
        {"trained† - hop, of pairs:", "\ntrained is within noise of hop at k ="}};
    RUN(p, "train", "--pool", "mutag", "--recipe", "paper", "--dim", "8", "--k", "2:4", "--q", "2:5", "--steps", "2",
        "--quiet", "--out", in_folder(p, "run"));
    assert_ended(p, 0, NULL);
    RUN(p, "eval", "--weights", in_folder(p, "run/weights.safetensors"), "--data", "mutag", "--shots", "4,8,16",
        "--seeds", "4", "--quiet");
    assert_ended(p, 0, NULL);
    int noisy = 0;
    for (int i = 0; i < 3; i++) {
        const char *pairs = strstr(p->out, columns[i][0]), *noise = strstr(p->out, columns[i][1]);
        assert_non_null(pairs);
        int apart = count_in(pairs, strchr(pairs, '\n'), '*');
        int named = noise ? count_in(noise + 1, strchr(noise + 1, '\n'), ',') + 1 : 0;
        assert_int_equal(named, 3 - apart);
        noisy += named;
    }
    assert_true(noisy > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_divisions_are_averaged),
        cmocka_unit_test(bad_lists_are_named),
        cmocka_unit_test(fit_on_a_split_has_the_accuracy_of_eval),
        cmocka_unit_test(a_sweep_is_printed),
        cmocka_unit_test(the_verdict_follows_the_intervals),
        cmocka_unit_test(differences_that_hold_zero_are_called_noise),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
