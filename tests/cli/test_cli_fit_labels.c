/* tests/cli/test_cli_fit_labels.c - `mochi fit` on labels as people keep them: texts and numbers, in arrays and tables.
 */
#include "tests/embedding_files.h"

static const fixtures around_all = {program_create, program_release};

/* The table of a run, without its times: what lies before the column of seconds. */
static char *table_of(const program *p) {
    char *text = strdup(p->out), *write = text;
    for (const char *line = p->out, *end; *line; line = end + (*end == '\n')) {
        end = strchrnul(line, '\n');
        bool row = strstr(line, " \xc2\xb1") && strstr(line, " \xc2\xb1") < end;
        const char *stop = row ? end - 9 : end;
        if (line != p->out) /* the first line names the file */
            write = mempcpy(write, line, (size_t)(stop - line));
        *write++ = '\n';
    }
    *write = '\0';
    return text;
}

static void run_labels(const program *p, const char *labels) {
    char path[600];
    snprintf(path, sizeof path, "%s", in_folder(p, labels));
    RUN((program *)p, "fit", in_folder(p, "Z.npy"), path, "--shots", "4", "--episodes", "5", "--queries", "9", "--head",
        "ridge");
}

/* The classes 0, 1, 2 of the rows, each row on a line: as a format with %s, or with %d of numbers from 0. */
static void write_lines(const program *p, const char *name, const char *header, const char *format, bool words) {
    static const char *const word[C] = {"apple", "b, or not", "\xc3\xa9t\xc3\xa9"};
    FILE *file = fopen(in_folder(p, name), "w");
    assert_non_null(file);
    fputs(header, file);
    for (int i = 0; i < N; i++)
        if (words)
            fprintf(file, format, word[i % C]);
        else
            fprintf(file, format, i % C);
    assert_int_equal(fclose(file), 0);
}

static void write_word_arrays(const program *p) {
    static const uint32_t wide[C][5] = {{'a', 'p', 'p', 'l', 'e'}, {'b'}, {0xe9, 't', 0xe9}};
    static const char bytes[C][6] = {"apple", "b", "\xc3\xa9t\xc3\xa9"};
    uint32_t U[N][5], big[N][5];
    char S[N][6];
    for (int i = 0; i < N; i++) {
        memcpy(U[i], wide[i % C], sizeof U[i]);
        for (int k = 0; k < 5; k++)
            big[i][k] = __builtin_bswap32(U[i][k]);
        memcpy(S[i], bytes[i % C], sizeof S[i]);
    }
    write_npy(p, "U.npy", "<U5", "(90,)", U, sizeof U);
    write_npy(p, "column.npy", ">U5", "(90, 1)", big, sizeof big);
    write_npy(p, "S.npy", "|S6", "(90,)", S, sizeof S);
}

TEST(labels_of_every_form_give_the_same_figures) {
    program *p = *state;
    static const char *const forms[] = {"numbers.txt", "floats.txt", "words.txt", "numbers.csv", "words.csv",
        "table.tsv", "table.tsv:kind", "U.npy", "column.npy", "S.npy"};
    write_rows(p, 0.3);
    write_lines(p, "numbers.txt", "", "%d\r\n", false);
    write_lines(p, "floats.txt", "", "%d.000e+00\n", false);
    write_lines(p, "words.txt", "", " %s \n", true);
    write_lines(p, "numbers.csv", "what\n", "\"%d\"\n", false);
    write_lines(p, "words.csv", "\xef\xbb\xbfwhat\n", "\"%s\"\n", true);
    write_lines(p, "table.tsv", "id\tlabel\tkind\n", "7\t%d\tx\n", false);
    write_word_arrays(p);
    run_labels(p, "y.npy");
    assert_ended(p, 0, NULL);
    char *expected = table_of(p);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!strcmp(forms[i], "table.tsv:kind"))
            write_lines(p, "table.tsv", "id\tlabel\tkind\n", "7\tx\t%s\n", true);
        run_labels(p, forms[i]);
        assert_ended(p, 0, NULL);
        char *now = table_of(p);
        /* the diagnosis names a class by its label: of words it is compared without */
        *strstr(now, "\nhull ") = '\0';
        if (strncmp(now, expected, strlen(now)) != 0)
            fail_msg("%s: expected %s, found %s", forms[i], expected, now);
        free(now);
    }
    free(expected);
}

/* The diagnosis calls classes what the labels do; empty ones are unlabelled. */
TEST(classes_keep_their_names) {
    program *p = *state;
    write_rows(p, 3);
    write_lines(p, "words.txt", "", "%s\n", true);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "words.txt"), "--shots", "4", "--queries", "9", "--head", "ridge",
        "--diagnose");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n       apple      30"));
    assert_non_null(strstr(p->out, "\n   b, or not      30"));
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "words.txt"), "--shots", "4", "--queries", "9", "--head", "ridge",
        "--diagnose", "--json");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "{\"diagnosis\":\"class\",\"class\":1,\"rows\":30,"));
    assert_non_null(strstr(p->out, "\"name\":\"b, or not\"}"));
    FILE *file = fopen(in_folder(p, "some.txt"), "w");
    for (int i = 0; i < N; i++)
        fprintf(file, "%s\n", i % 9 == 8 ? "" : i % 2 ? "yes" : "no");
    fclose(file);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "some.txt"), "--shots", "4", "--queries", "9", "--head", "ridge");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "80 float32 rows of 4, 2 classes of 40 to 40 rows\n10 of 90 rows are unlabelled"));
}

/* Names of classes that control a terminal: '?' for a person, the name itself in JSON and in predictions. */
TEST(names_do_not_control_a_terminal) {
    program *p = *state;
    write_rows(p, 3);
    FILE *file = fopen(in_folder(p, "rude.txt"), "w");
    for (int i = 0; i < N; i++)
        fprintf(file, "%s\n", i % 3 ? i % 3 == 1 ? "a\x1b[2J" : "b\x07" : "c");
    fclose(file);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "rude.txt"), "--shots", "4", "--queries", "9", "--head", "ridge",
        "--diagnose", "--confusion", "ridge");
    assert_ended(p, 0, NULL);
    assert_true(strstr(p->out, " a?[2J") && strstr(p->out, "b?") && !strpbrk(p->out, "\x1b\x07"));
    RUN(p, "pitfalls", "hull", in_folder(p, "Z.npy"), in_folder(p, "rude.txt"));
    assert_ended(p, 0, NULL);
    assert_true(strstr(p->out, " a?[2J") && !strpbrk(p->out, "\x1b\x07"));
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "rude.txt"), "--head", "ridge", "--predict",
        in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, ",a\x1b[2J,"));
}

/* An archive is read for its arrays of numbers; which files texts are read from is said. */
TEST(an_archive_without_its_array_says_what_to_give) {
    program *p = *state;
    RUN(p, "fit", in_folder(p, "Z.npy"), "tests/arrays/stored.npz:who");
    assert_ended(p, 1,
        "expected an array named who, found 3 arrays of numbers (x, labels, n); labels that are texts are read from "
        ".npy, "
        ".txt, .csv and .tsv");
    RUN(p, "fit", in_folder(p, "Z.npy"), "tests/arrays/reference.safetensors:who");
    assert_ended(p, 1, "expected an array named who, found");
    assert_null(strstr(p->err, "texts"));
}
