/* tests/cli/test_cli_fit_readout.c - `mochi fit` keeps a readout and predicts rows by it. */
#include "tests/embedding_files.h"

#include "tools/inside.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

/* Fitted and predicted at once, kept and applied later: the same bytes, at any thread count and in every form. */
TEST(a_kept_readout_predicts_the_same_bytes) {
    program *p = *state;
    static const char *const endings[] = {".csv", ".tsv", ".jsonl", ".npy"};
    char Z[600], y[600], kept[600];
    write_rows(p, 0.3);
    snprintf(Z, sizeof Z, "%s", in_folder(p, "Z.npy"));
    snprintf(y, sizeof y, "%s", in_folder(p, "y.npy"));
    snprintf(kept, sizeof kept, "%s", in_folder(p, "kept.safetensors"));
    RUN(p, "fit", Z, y, "--head", "logistic", "--tune", "loo", "--standardise", "--save", kept);
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, "");
    assert_non_null(strstr(p->err, "logistic on 90 rows of 4, 3 classes, regularisation "));
    assert_non_null(strstr(p->err, " chosen by its held-out rows; held out in turn, "));
    for (int i = 0; i < 4; i++) {
        char first[64], second[64], from[600], to[600];
        snprintf(first, sizeof first, "first%s", endings[i]);
        snprintf(second, sizeof second, "second%s", endings[i]);
        snprintf(from, sizeof from, "%s", in_folder(p, first));
        snprintf(to, sizeof to, "%s", in_folder(p, second));
        RUN(p, "fit", Z, y, "--head", "logistic", "--tune", "loo", "--standardise", "--predict", Z, "--out", from,
            "--probabilities", "--threads", "1", "--quiet");
        assert_ended(p, 0, NULL);
        assert_string_equal(p->err, "");
        RUN(p, "fit", "--readout", kept, "--predict", Z, "--out", to, "--probabilities", "--threads", "3");
        assert_ended(p, 0, NULL);
        assert_string_equal(p->err, "90 predictions\n");
        assert_same_file(p, first, second);
    }
}

/* Predictions are right where classes are far apart, carry the names of text labels, and can be left out. */
TEST(predictions_carry_the_names) {
    program *p = *state;
    char y[600];
    write_rows(p, 9);
    FILE *file = fopen(in_folder(p, "y.txt"), "w");
    for (int i = 0; i < N; i++)
        fprintf(file, "%s\n", i >= 60 ? "" : i % C == 0 ? "red, or so" : i % C == 1 ? "green" : "blue");
    fclose(file);
    snprintf(y, sizeof y, "%s", in_folder(p, "y.txt"));
    RUN(p, "fit", in_folder(p, "Z.npy"), y, "--head", "ridge", "--predict", in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, "held out in turn, 60 of 60 are predicted right: 100.0%\n90 predictions\n"));
    const char *line = p->out;
    assert_int_equal(strncmp(line, "row,label,probability,margin\n", 29), 0);
    for (int i = 0; i < N; i++) {
        char expected[64];
        line = strchr(line, '\n') + 1;
        int used = snprintf(expected, sizeof expected, "%d,%s,", i,
            i % C == 0   ? "\"red, or so\""
            : i % C == 1 ? "green"
                         : "blue");
        assert_int_equal(strncmp(line, expected, (size_t)used), 0);
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), y, "--head", "ridge", "--predict", in_folder(p, "Z.npy"), "--min-confidence",
        "1");
    assert_non_null(strstr(p->err, "90 predictions, 90 of them below 1 and left without a label\n"));
    assert_non_null(strstr(p->out, "\n0,,0.9"));
}

/* A readout file of this metadata and these labels of three rows [3, 2], with its digests. */
static void write_readout(const program *p, const char *name, const char *metadata, const int64_t *label, int64_t n) {
    mo_context *ctx = mo_context_create(NULL);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(
        arrays, "rows", mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){3, 2}, (float[]){0, 1, 1, 0, 1, 1}));
    mo_arrays_take(arrays, "label", mo_tensor_create_from(ctx, MO_I64, 1, &n, label));
    assert_int_equal(mo_safetensors_write(arrays, metadata, in_folder(p, name)), MO_OK);
    mo_arrays_release(arrays);
    mo_context_release(ctx);
}

#define SETTINGS(head, lambda, scaling, temperature, classes)                                                          \
    "{\"format\":\"mochi readout of rows\",\"head\":\"" head "\",\"lambda\":\"" lambda                                 \
    "\",\"regularisation\":\"none\",\"scaling\":\"" scaling "\",\"seed\":\"0\",\"temperature\":\"" temperature         \
    "\",\"classes\":\"" classes "\"}"
#define TWO "[\\\"a\\\",\\\"b\\\"]"

TEST(bad_readouts_are_named) {
    program *p = *state;
    static const struct {
        const char *metadata, *part;
        int64_t label[3], n;
    } files[] = {
        {"{\"format\":\"pt\"}", "expected a file of `mochi fit --save`, found pt", {0, 1, 1}, 3},
        {"{\"other\":\"x\"}", "expected a file of `mochi fit --save`, found no format in its metadata", {0, 1, 1}, 3},
        {"{\"format\":\"mochi readout of rows\"}", "found no head in its metadata", {0, 1, 1}, 3},
        {SETTINGS("forest", "1", "none", "1", TWO), "its readout is forest, which is not one of the library's", {0}, 3},
        {SETTINGS("ridge", "x", "none", "1", TWO), "expected a number of 0 or more as its lambda, found 'x'", {0}, 3},
        {SETTINGS("ridge", "inf", "none", "1", TWO), "expected a number of 0 or more as its lambda, found 'inf'", {0},
            3},
        {SETTINGS("ridge", "-1", "none", "1", TWO), "expected a number of 0 or more as its lambda, found '-1'", {0}, 3},
        {"{\"format\":\"mochi readout of "
         "rows\",\"head\":\"ridge\",\"lambda\":\"1\",\"regularisation\":\"none\",\"scaling\":\"none\",\"seed\":"
         "\"1e30\",\"temperature\":\"1\",\"classes\":\"" TWO "\"}",
            "2^64 - 1 as its seed, found '1e30'", {0}, 3},
        {SETTINGS("ridge", "1", "none", "1", "[\\\"a\\\",\\\"a\\\"]"), "of different names, found 'a' twice", {0}, 3},
        {SETTINGS("ridge", "1", "squash", "1", TWO), "standardise or normalise, found 'squash'", {0}, 3},
        {SETTINGS("ridge", "1", "none", "0", TWO), "expected a temperature above 0, found 0", {0}, 3},
        {SETTINGS("ridge", "1", "none", "none", TWO), "expected a number of 0 or more as its temperature, found 'none'",
            {0}, 3},
        {SETTINGS("ridge", "1", "none", "1", "[]"), "the names of 2 or more classes, found 0", {0}, 3},
        {SETTINGS("ridge", "1", "none", "1", "[1,2]"), "class 0 has no name", {0}, 3},
        {SETTINGS("ridge", "1", "none", "1", TWO), "label 2 is 2, expected 0 to 1", {0, 1, 2}, 3},
        {SETTINGS("ridge", "1", "none", "1", TWO), "expected rows of every class, found none of class b", {0, 0, 0}, 3},
        {SETTINGS("ridge", "1", "none", "1", TWO), "expected the array label, int64 [n]", {0, 1}, 2},
    };
    char kept[600];
    write_rows(p, 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_readout(p, "bad.safetensors", files[i].metadata, files[i].label, files[i].n);
        snprintf(kept, sizeof kept, "%s", in_folder(p, "bad.safetensors"));
        RUN(p, "fit", "--readout", kept, "--predict", in_folder(p, "Z.npy"));
        assert_ended(p, 1, files[i].part);
        assert_string_equal(p->out, "");
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "ridge", "--save", kept, "--quiet");
    assert_ended(p, 0, NULL);
    write_npy(p, "narrow.npy", "<f4", "(1, 2)", (float[]){1, 2}, 8);
    RUN(p, "fit", "--readout", kept, "--predict", in_folder(p, "narrow.npy"));
    assert_ended(p, 1, "readout: expected rows [m, 4] as those it has learned from, found float32 [1, 2]");
    write_npy(p, "nan.npy", "<f4", "(1, 4)", (float[]){1, 2, 3, NAN}, 16);
    RUN(p, "fit", "--readout", kept, "--predict", in_folder(p, "nan.npy"));
    assert_ended(p, 1, "nan.npy: expected finite numbers, found");
    char plugin[512];
    snprintf(plugin, sizeof plugin, "%s/head_good.so", getenv("MOCHI_PLUGINS"));
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", plugin, "--save", kept, "--quiet");
    assert_ended(p, 1, "which is not one of the library's");
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--save", kept);
    assert_ended(p, 2, "--save: expected one head: --head NAME");
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "ridge", "--predict", in_folder(p, "Z.npy"),
        "--quiet", "--out", "/no/such/folder/p.csv");
    assert_ended(p, 1, "/no/such/folder");
    RUN(p, "fit", in_folder(p, "Z.npy"), "--readout", kept, "--predict", in_folder(p, "Z.npy"));
    assert_ended(p, 2, "--readout: it has rows and labels of its own, expected no others");
}
