/* tests/cli/test_cli_bad_fit.c - the messages of `mochi fit` about files, supports and heads that it cannot use. */
#include "tests/embedding_files.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

TEST(bad_input_is_one_line) {
    program *p = *state;
    write_rows(p, 1);
    float rows[N * D] = {[5] = NAN};
    int64_t y[N] = {0};
    char path[600];
    write_npy(p, "nan.npy", "<f4", "(90, 4)", rows, sizeof rows);
    rows[5] = 1e30f;
    write_npy(p, "large.npy", "<f4", "(90, 4)", rows, sizeof rows);
    write_npy(p, "one.npy", "<i8", "(90,)", y, sizeof y);
    write_npy(p, "short.npy", "<i8", "(89,)", y, 89 * sizeof *y);
    write_npy(p, "cut.npy", "<f4", "(90, 4)", rows, 100);
    for (int i = 0; i < N; i++)
        y[i] = i;
    write_npy(p, "alone.npy", "<i8", "(90,)", y, sizeof y);
    static const struct {
        const char *Z, *y, *head, *part;
    } uses[] = {
        {"Z.npy", "short.npy", "ridge", "one label for each of 90 rows, found labels [89]"},
        {"Z.npy", "Z.npy", "ridge", "one label for each row, [n] or [n, 1], found labels [90, 4]"},
        {"nan.npy", "y.npy", "ridge", "found nan in row 1, column 1"},
        {"large.npy", "y.npy", "ridge", "squared norm is a float32, found a larger one in row 1: scale the rows"},
        {"Z.npy", "one.npy", "ridge", "two classes or more, found the one label 0"},
        {"Z.npy", "alone.npy", "ridge", "at least two classes of two or more examples"},
        {"none.npy", "y.npy", "ridge", "none.npy"},
        {"Z.npy", "none.npy", "ridge", "none.npy"},
        {"cut.npy", "y.npy", "ridge", "expected 1440 bytes of data"},
        {"y.npy", "y.npy", "ridge", "expected rows [n, d] of numbers, found int64 [90]"},
        {"Z.npy", "y.npy", "/no/such.so", "/no/such.so"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        snprintf(path, sizeof path, "%s", in_folder(p, uses[i].y));
        RUN(p, "fit", in_folder(p, uses[i].Z), path, "--head", uses[i].head, "--shots", "2", "--json");
        assert_ended(p, 1, uses[i].part);
        assert_null(strstr(p->out, "accuracy"));
    }
    RUN(p, "fit", in_folder(p, "Z.npy"));
    assert_ended(p, 2, "two files");
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "forest");
    assert_ended(p, 2, "forest");
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "prototype");
    assert_ended(
        p, 2, "(prototype_euclidean takes distances to class means, prototype_inner inner products); there are");
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--tune", "grid");
    assert_ended(p, 2, "--tune");
}

/* Labels that are not integers: each message says what to do. */
TEST(labels_of_another_kind_say_how_to_make_them) {
    program *p = *state;
    float real[N] = {[1] = 0.5f};
    int64_t y[N] = {0};
    char path[600];
    write_rows(p, 1);
    write_npy(p, "half.npy", "<f4", "(90,)", real, sizeof real);
    write_npy(p, "wide.npy", "<i8", "(4,)", y, 4 * sizeof *y);
    write_npy(p, "words.npy", "<U5", "(3,)", y, 60);
    write_npy(p, "wide_words.npy", "<U1", "(1, 2)", "a\0\0\0b\0\0\0", 8);
    write_npy(p, "broken.npy", "<U1", "(2,)", "a\0\0\0\0\xd8\0\0", 8);
    write_npy(p, "latin.npy", "|S2", "(1,)", "\xe9t", 2);
    write_npy(p, "half_words.npy", "|S3", "(3,)",
        "a\0\0b\0\0"
        "2.5",
        9);
    write_text(in_folder(p, "labels.txt"), "0\n1\n2\n");
    write_text(in_folder(p, "labels.dat"), "0\n1\n2\n");
    write_text(in_folder(p, "half.txt"), "0\n1\n0.25\n");
    write_text(in_folder(p, "half.csv"), "kind\n1e-3\n");
    write_text(in_folder(p, "latin.txt"), "a\n\xe9t\xe9\n");
    write_text(in_folder(p, "empty.txt"), "");
    write_text(in_folder(p, "two.csv"), "a,b\n1,x\n2\n");
    char one[200] = "a\na\n";
    memset(one + 4, '\n', 88);
    write_text(in_folder(p, "one.txt"), one);
    write_text(in_folder(p, "y.pt"), "PK\x03\x04 and more");
    static const struct {
        const char *y, *part;
    } uses[] = {
        {"half.npy", "labels that are whole numbers, found 0.5 in row 1 of float32 labels"},
        {"wide.npy", "found labels [4]: are the rows transposed? rows are [n, d]"},
        {"wide_words.npy", "one label for each row, [n] or [n, 1], found labels of 2 axes"},
        {"broken.npy", "broken.npy: element 1: expected text in Unicode without zeroes inside it"},
        {"latin.npy", "latin.npy: element 0: expected text in UTF-8 without zeroes inside it"},
        {"words.npy", "expected one label for each of 90 rows, found labels [3]"},
        {"half_words.npy", "half_words.npy: row 2: expected a class, as real numbers are no classes, found '2.5'"},
        {"half.txt", "half.txt:3: expected a class, as real numbers are no classes, found '0.25'"},
        {"half.csv", "half.csv:2: expected a class, as real numbers are no classes, found '1e-3'"},
        {"latin.txt", "latin.txt:2: expected text in UTF-8"},
        {"labels.txt", "expected one label for each of 90 rows, found labels [3]"},
        {"one.txt", "expected labels of two classes or more, found the one label 'a' (88 of 90 labels are empty"},
        {"empty.txt", "empty.txt: expected labels, found none"},
        {"two.csv", "two.csv:1: expected one column, a column named label, or FILE:NAME, found 2 other columns"},
        {"two.csv:kind", "two.csv:1: expected a column named kind, found 2 other columns"},
        {"two.csv:b", "two.csv:3: expected 2 columns, or more, found 1"},
        {"labels.dat", "expected an .npy array, found text: NumPy's save("},
        {"y.pt", "expected an .npy array, found a zip archive"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        snprintf(path, sizeof path, "%s", in_folder(p, uses[i].y));
        RUN(p, "fit", in_folder(p, "Z.npy"), path);
        assert_ended(p, 1, uses[i].part);
    }
}

/* At penalty 0 a support may have no fit; each head says why. */
TEST(without_a_penalty_the_reason_is_named) {
    program *p = *state;
    double repeated[N * D], equal[N * D] = {0};
    for (int i = 0; i < N * D; i++)
        repeated[i] = i / D % 2 == i % D; /* two different rows */
    write_rows(p, 3);
    write_npy(p, "repeated.npy", "<f8", "(90, 4)", repeated, sizeof repeated);
    write_npy(p, "equal.npy", "<f8", "(90, 4)", equal, sizeof equal);
    static const struct {
        const char *rows, *head, *part;
    } uses[] = {
        {"repeated.npy", "ridge", "ridge: lambda is 0 and the support's Gram matrix has rank 2 of 5"},
        {"repeated.npy", "ridge_intercept", "ridge: lambda is 0 and the support's Gram matrix has rank 1 of 4"},
        {"equal.npy", "logistic", "logistic: lambda is 0 and the support with its intercept has rank 1 of 5"},
        {"Z8.npy", "logistic", "are separable: with lambda 0 the optimum is at infinity"},
        {"Z.npy", "logistic_penalised", "are separable: with lambda 0 the optimum is at infinity"},
        {"Z.npy", "svm", "head svm: lambda is 0, expected 1e-12"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        RUN(p, "fit", in_folder(p, uses[i].rows), in_folder(p, "y.npy"), "--head", uses[i].head, "--lambda", "0",
            "--shots", "12", "--queries", "9", "--episodes", "3", "--json");
        assert_ended(p, 1, uses[i].part);
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "ridge", "--lambda", "0", "--shots", "12",
        "--queries", "9", "--json");
    assert_ended(p, 0, NULL); /* different rows have a fit */
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--lambda", "-1");
    assert_ended(p, 2, "--lambda: expected a number from 0");
}

/* Rows whose sums of products overflow: infinite or NaN logits give no accuracy. */
TEST(logits_that_are_not_finite_are_no_fit) {
    program *p = *state;
    float rows[N * D];
    for (int i = 0; i < N * D; i++)
        rows[i] = i % D ? 0 : i / D % C ? -1e19f : 1e19f;
    write_rows(p, 1);
    write_npy(p, "huge.npy", "<f4", "(90, 4)", rows, sizeof rows);
    RUN(p, "fit", in_folder(p, "huge.npy"), in_folder(p, "y.npy"), "--head", "prototype_euclidean,prototype_inner",
        "--shots", "1,2", "--episodes", "3", "--queries", "5", "--json");
    assert_ended(p, 1, "head prototype_euclidean: expected finite logits of the queries, found inf");
    assert_int_equal(count_lines(p->out), 1 + 4);
    assert_non_null(strstr(p->out, "\"head\":\"prototype_euclidean\",\"k\":1,\"accuracy\":null"));
    assert_null(strstr(p->out, "\"head\":\"prototype_inner\",\"k\":1,\"accuracy\":null"));
}

/* A class of one row cannot be both support and query: it is left out with a warning; if one class remains, there is
 * nothing to fit. */
TEST(a_class_that_no_support_can_hold_is_left_out) {
    program *p = *state;
    int64_t y[N];
    for (int i = 0; i < N; i++)
        y[i] = i == 0 ? 2 : i % 2;
    write_rows(p, 3);
    write_npy(p, "lonely.npy", "<i8", "(90,)", y, sizeof y);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "lonely.npy"), "--head", "ridge,logistic,svm,mlp,prototype_inner",
        "--shots", "1", "--queries", "9", "--episodes", "3", "--json");
    assert_ended(p, 0, "k = 1: 1 class of one row is left out");
    assert_int_equal(count_lines(p->out), 1 + 5);
}

TEST(plugins_that_do_not_fit_are_named) {
    program *p = *state;
    static const struct {
        const char *name, *part;
    } objects[] = {
        {"missing", "head_missing.so"},
        {"unnamed", "exports no mo_head_plugin"},
        {"old", "was built for version 1, a head of"},
        {"small", "a head of 16 bytes; expected"},
        {"shapes", "head projected: it returned logits [1, 90, 1] float32, expected [1, 90, 3] float32"},
    };
    write_rows(p, 3);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/head_%s.so", getenv("MOCHI_PLUGINS"), objects[i].name);
        RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", path, "--shots", "2", "--episodes", "1",
            "--quiet", "--json");
        assert_ended(p, 1, objects[i].part);
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", p->folder);
    assert_ended(p, 1, "not a plain file");
}
