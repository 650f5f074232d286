/* tests/cli/test_cli_fit.c - `mochi fit` on NumPy's files: its tables. */
#include "tests/embedding_files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>

#include <inttypes.h>

static const char run_members[] = "kind,format,command,versions,blas_core,threads,seed,episodes,unlabelled,rows,labels";
static const char members[] = "head,k,accuracy,ci95,nll,brier,ece,ece_temperature,seconds";

/* The digest of a file as xxhsum -H2 prints it. */
static const char *digest_of(const char *path) {
    static char hex[33], text[MAX_TEXT];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    XXH128_hash_t h = XXH3_128bits(text, fread(text, 1, MAX_TEXT, file));
    fclose(file);
    snprintf(hex, sizeof hex, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
    return hex;
}

static void every_head_and_k_has_its_line(void **state) {
    program *p = *state;
    static const char *const heads[] = {"ridge", "prototype_centred", "logistic", "lda"};
    write_rows(p, 3);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "ridge,prototype_centred,logistic,lda",
        "--shots", "2,8", "--episodes", "20", "--queries", "10", "--json");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_int_equal(count_lines(p->out), 1 + 8);
    json_t *run = json_line(p, 0, run_members), *rows = json_object_get(run, "rows");
    assert_string_equal(json_text_of(run, "kind"), "run");
    assert_string_equal(json_string_value(json_array_get(json_object_get(run, "command"), 0)), "mochi fit");
    assert_int_equal(json_real_of(run, "episodes"), 20);
    assert_string_equal(json_text_of(rows, "file"), in_folder(p, "Z.npy"));
    assert_string_equal(json_text_of(rows, "xxh3"), digest_of(in_folder(p, "Z.npy")));
    json_decref(run);
    for (int i = 0; i < 8; i++) {
        json_t *o = json_line(p, 1 + i, members);
        assert_string_equal(json_text_of(o, "head"), heads[i % 4]);
        assert_int_equal((int)json_real_of(o, "k"), i < 4 ? 2 : 8);
        assert_true(json_real_of(o, "accuracy") > 99 && json_real_of(o, "ece") >= 0);
        assert_true(json_real_of(o, "seconds") > 0);
        json_decref(o);
    }
}

/* The output of a run below its first line, without the times. */
static char *figures(const program *p) {
    char *text = strdup(strchr(p->out, '\n')), *at = text;
    while ((at = strstr(at, ",\"seconds\":"))) {
        char *end = strchr(at, '}');
        memmove(at, end, strlen(end) + 1);
    }
    return text;
}

static void one_seed_gives_the_same_figures_at_any_thread_count(void **state) {
    program *p = *state;
    char *first = NULL;
    write_rows(p, 0.3);
    for (int threads = 1; threads <= 3; threads++) {
        const char *count = threads == 1 ? "1" : threads == 2 ? "2" : "3";
        RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--episodes", "9", "--queries", "9",
            "--seed", "3", "--tune", "loo", "--head", "ridge,lda", "--threads", count, "--json");
        assert_ended(p, 0, NULL);
        char *now = figures(p);
        if (first)
            assert_string_equal(first, now);
        else
            first = strdup(now);
        free(now);
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--episodes", "9", "--queries", "9",
        "--seed", "4", "--tune", "loo", "--head", "ridge,lda", "--json");
    char *other = figures(p);
    assert_string_not_equal(first, other);
    free(first);
    free(other);
}

static void every_integer_label_file_gives_the_same_figures(void **state) {
    program *p = *state;
    static const struct {
        const char *descr;
        int bytes;
    } kinds[] = {{"<i8", 8}, {"|i1", 1}, {"|u1", 1}, {"<i2", 2}, {"<u2", 2}, {"<i4", 4}, {"<u4", 4}, {"<u8", 8},
        {">i8", 8}, {">i4", 4}, {">u2", 2}};
    char *first = NULL;
    write_rows(p, 0.3);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unsigned char y[N * 8] = {0};
        int bytes = kinds[i].bytes, low = kinds[i].descr[0] == '>' ? bytes - 1 : 0;
        for (int j = 0; j < N; j++)
            y[j * bytes + low] = (unsigned char)(j % C * 50);
        write_npy(p, "labels.npy", kinds[i].descr, "(90,)", y, (size_t)(N * bytes));
        RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "labels.npy"), "--shots", "4", "--episodes", "5", "--queries",
            "9", "--head", "ridge", "--json");
        assert_ended(p, 0, NULL);
        char *now = figures(p);
        if (first)
            assert_string_equal(first, now);
        else
            first = strdup(now);
        free(now);
    }
    free(first);
}

/* The support [2, 6] in the first member of the archive numbers rows of the file: no fourth row (unlabelled) is in it,
 * and some numbers exceed the number of labelled rows. */
static void assert_labelled_rows(const program *p, const char *name) {
    char *data;
    size_t n;
    unsigned char array[1024];
    int64_t row[12], highest = 0;
    read_file(in_folder(p, name), &data, &n);
    const unsigned char *header = (unsigned char *)data; /* lengths of name and extra field at 26 and 28 */
    size_t start = 30 + (size_t)(header[26] | header[27] << 8) + (size_t)(header[28] | header[29] << 8);
    assert_memory_equal(data + 30, "k2_support.npy", 14);
    z_stream z = {
        .next_in = (Bytef *)data + start, .avail_in = (uInt)(n - start), .next_out = array, .avail_out = sizeof array};
    assert_int_equal(inflateInit2(&z, -15), Z_OK); /* without a header of its own */
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    memcpy(row, array + 10 + array[8], sizeof row);
    for (int i = 0; i < 12; i++) {
        assert_true(row[i] >= 0 && row[i] < 120 && row[i] % 4 != 3);
        highest = row[i] > highest ? row[i] : highest;
    }
    assert_true(highest >= 90);
    free(data);
}

/* Rows of class -1 change no figure, for every integer type. */
static void unlabelled_rows_take_no_part(void **state) {
    program *p = *state;
    static const struct {
        const char *descr, *shape;
        int bytes;
    } kinds[] = {{"<i8", "(120,)", 8}, {"|i1", "(120,)", 1}, {">i2", "(120,)", 2}, {"<i4", "(120, 1)", 4}};
    enum { MORE = N + N / 3 };
    static float rows[MORE * D], given[N * D];
    write_rows(p, 0.3);
    FILE *file = fopen(in_folder(p, "Z.npy"), "rb");
    assert_int_equal(fseek(file, 128, SEEK_SET), 0);
    assert_int_equal(fread(given, sizeof *given, N * D, file), N * D);
    fclose(file);
    for (int i = 0; i < MORE * D; i++) /* every fourth row is far away and has no label */
        rows[i] = i / D % 4 == 3 ? 1e6f : given[(i / D - i / D / 4) * D + i % D];
    write_npy(p, "more.npy", "<f4", "(120, 4)", rows, sizeof rows);
    const char *const options[] = {"--shots", "4", "--episodes", "5", "--queries", "9", "--diagnose", "--json"};
#define FIT(Z, y)                                                                                                      \
    RUN(p, "fit", in_folder(p, Z), in_folder(p, y), options[0], options[1], options[2], options[3], options[4],        \
        options[5], options[6], options[7])
    FIT("Z.npy", "y.npy");
    char *expected = figures(p);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        unsigned char y[MORE * 8] = {0};
        int bytes = kinds[k].bytes, low = kinds[k].descr[0] == '>' ? bytes - 1 : 0;
        for (int i = 0; i < MORE; i++)
            if (i % 4 == 3)
                memset(y + i * bytes, 0xFF, (size_t)bytes);
            else
                y[i * bytes + low] = (unsigned char)((i - i / 4) % C);
        write_npy(p, "some.npy", kinds[k].descr, kinds[k].shape, y, (size_t)(MORE * bytes));
        FIT("more.npy", "some.npy");
        assert_ended(p, 0, NULL);
        char *now = figures(p);
        assert_string_equal(now, expected);
        free(now);
        json_t *run = json_line(p, 0, run_members);
        assert_int_equal(json_real_of(run, "unlabelled"), N / 3);
        json_decref(run);
    }
    free(expected);
#undef FIT
    RUN(p, "fit", in_folder(p, "more.npy"), in_folder(p, "some.npy"), "--shots", "2", "--episodes", "2", "--queries",
        "9", "--draws", in_folder(p, "some.npz"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n30 of 120 rows are unlabelled and left out\n"));
    assert_labelled_rows(p, "some.npz");
}

/* The files of `embed` for a graph that has nodes without a class. */
static void nodes_without_a_class_are_none_of_the_embeddings(void **state) {
    program *p = *state;
    RUN(p, "embed", "--data", "citeseer", "--weights", "none", "--hop", "0", "--out", in_folder(p, "hop.npy"),
        "--labels", in_folder(p, "class.npy"));
    assert_ended(p, 0, NULL);
    RUN(p, "embed", "--data", "citeseer", "--weights", "none", "--hop", "0", "--out", in_folder(p, "again.npy"),
        "--labels", in_folder(p, "class.npy"), "--quiet", "--json");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_int_equal(count_lines(p->out), 1 + 2);
    assert_same_file(p, "hop.npy", "again.npy");
    json_t *o = json_line(p, 2, "kind,file,holds,data,dtype,shape,xxh3");
    assert_string_equal(json_text_of(o, "holds"), "labels");
    assert_string_equal(json_text_of(o, "xxh3"), digest_of(in_folder(p, "class.npy")));
    assert_int_equal(json_integer_value(json_array_get(json_object_get(o, "shape"), 0)), 3327);
    json_decref(o);
    RUN(p, "embed", "--data", "citeseer", "--weights", "none", "--hop", "0", "--out", in_folder(p, "again.npy"),
        "--quiet");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, "");
    RUN(p, "fit", in_folder(p, "hop.npy"), in_folder(p, "class.npy"), "--shots", "4", "--episodes", "1", "--head",
        "ridge");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "3312 float32 rows of 512, 6 classes of 249 to 701 rows\n15 of 3327 rows are "
                                   "unlabelled and left out\n"));
}

static void all_heads_are_named_by_one_word(void **state) {
    program *p = *state;
    write_rows(p, 3);
    RUN(p, "gradcheck", "--head", "?");
    int commas = 0;
    const char *list = strstr(p->err, "there are ");
    assert_non_null(list);
    for (const char *at = list; (at = strchr(at, ',')); at++)
        commas++; /* "a, b, c, or FILE.so" */
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "all", "--shots", "4", "--episodes", "2",
        "--queries", "9", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + commas);
    assert_non_null(strstr(p->out, "\"head\":\"mlp\""));
}

/* On a terminal a part of more than half a second shows its progress, and clears the line at its end; with --quiet it
 * shows nothing. 3000 episodes of mlp on one thread take one to three seconds. */
static void long_parts_say_how_far_they_are(void **state) {
    program *p = *state;
    write_rows(p, 1);
    for (int quiet = 0; quiet < 2; quiet++) {
        static char text[1 << 16];
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
        setenv("TERM", "xterm", 1);
        const char *words[] = {"fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "mlp", "--shots", "4",
            "--queries", "9", "--episodes", quiet ? "3" : "3000", "--threads", "1", quiet ? "--quiet" : NULL, NULL};
        pid_t child = start_program(words, in_folder(p, "stdout"), ptsname(terminal));
        ssize_t n = 0, more; /* the end of the child's side is an error here */
        while (n < (ssize_t)sizeof text - 1 && (more = read(terminal, text + n, sizeof text - 1 - (size_t)n)) > 0)
            n += more;
        text[n] = '\0';
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true((strstr(text, "k = 4, mlp: ") && strstr(text, " of 3000\033[K")) == !quiet);
        assert_true(quiet || !strcmp(text + n - 4, "\r\033[K"));
        close(terminal);
    }
}

static void draws_are_written_for_other_programs(void **state) {
    program *p = *state;
    write_rows(p, 1);
    RUN(p, "fit", in_folder(p, "Z8.npy"), in_folder(p, "y.npy"), "--shots", "2,4,2", "--episodes", "5", "--queries",
        "9", "--head", "prototype_inner", "--draws", in_folder(p, "draws.npz"), "--json");
    assert_ended(p, 0, NULL);
    RUN(p, "data", "info", in_folder(p, "draws.npz"));
    assert_ended(p, 0, NULL);
    static const char *const parts[] = {"k2_support", "k4_query_label", "[5, 12]", "[5, 27]"};
    for (int i = 0; i < 4; i++)
        assert_non_null(strstr(p->out, parts[i]));
}

static void the_table_ends_with_the_diagnosis(void **state) {
    program *p = *state;
    write_rows(p, 3);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--diagnose");
    assert_ended(p, 0, NULL);
    static const char *const parts[] = {"90 float32 rows of 4, 3 classes of 30 to 30 rows", "accuracy %", "ece(T)",
        "offset", "pairs of prototypes", "hull distance", "lowest", "logistic"};
    for (int i = 0; i < 8; i++)
        if (!strstr(p->out, parts[i]))
            fail_msg("no '%s' in: %s", parts[i], p->out);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "4", "--queries", "9", "--head",
        "prototype_inner", "--diagnose", "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 1 + 1 + C + 1 + 4);
    json_t *o = json_line(p, 3,
        "diagnosis,class,rows,norm,hull_distance,hull_distance_normalised,inside,epsilon_included,outer,flagged,plane");
    assert_true(json_real_of(o, "rows") == 30);
    json_decref(o);
}

/* 70 classes: the table names all of their pairs; the geometry can be left out. */
static void many_classes_have_many_pairs(void **state) {
    program *p = *state;
    int64_t y[N];
    for (int i = 0; i < N; i++)
        y[i] = i % 70;
    write_rows(p, 3);
    write_npy(p, "many.npy", "<i8", "(90,)", y, sizeof y);
    const char *const Z = in_folder(p, "Z.npy");
    char labels[600];
    snprintf(labels, sizeof labels, "%s", in_folder(p, "many.npy"));
    RUN(p, "fit", Z, labels, "--shots", "1", "--episodes", "1", "--head", "ridge", "--ways", "9", "--quiet");
    assert_ended(p, 0, NULL);
    static const char *const parts[] = {
        "9 of 70 classes take part in an episode (--ways)", "of 2415 pairs of prototypes", "hull    "};
    for (int i = 0; i < 3; i++)
        if (!strstr(p->out, parts[i]))
            fail_msg("no '%s' in: %s", parts[i], p->out);
    RUN(p, "fit", Z, labels, "--shots", "1", "--episodes", "1", "--head", "ridge", "--quiet", "--no-geometry");
    assert_ended(p, 0, NULL);
    assert_null(strstr(p->out, "hull    "));
    assert_non_null(strstr(p->out, "norm    "));
}

static void options_without_effect_are_refused(void **state) {
    program *p = *state;
    static const struct {
        const char *words[4], *part;
    } uses[] = {
        {{"--no-geometry", "--diagnose"}, "--diagnose: it prints the geometry"},
        {{"--no-geometry", "--json"}, "--no-geometry: --json prints the geometry with --diagnose alone"},
        {{"--epsilon", "0.2", "--json"}, "--epsilon: --json prints"},
        {{"--epsilon", "0.2", "--no-geometry"}, "--epsilon: --no-geometry leaves the hull out"},
        {{"--head", "prototype_euclidean", "--lambda", "2"}, "--lambda: none of these heads has it"},
        {{"--lambda", "2", "--tune", "loo"}, "--lambda: --tune loo chooses it"},
        {{"--head", "prototype_inner", "--tune", "loo"}, "--tune: none of these heads has a regularisation"},
        {{"--shots", "1", "--tune", "loo"}, "--tune: a support of one row a class"},
    };
    write_rows(p, 3);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const char *const *w = uses[i].words;
        RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), w[0], w[1], w[2], w[3]);
        assert_ended(p, 2, uses[i].part);
        assert_string_equal(p->out, "");
    }
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "lda,prototype_inner", "--tune", "loo",
        "--shots", "4", "--episodes", "1", "--queries", "9", "--json");
    assert_ended(p, 0, NULL); /* shrinkage is a share */
}

static void small_classes_are_said_once(void **state) {
    program *p = *state;
    write_rows(p, 3);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--shots", "20", "--episodes", "5", "--head",
        "ridge,prototype_centred", "--json");
    assert_ended(p, 0, "k = 20: 3 classes have fewer than k + 30 rows");
    assert_int_equal(count_lines(p->out), 1 + 2);
}

static void a_head_without_a_fit_leaves_the_others(void **state) {
    program *p = *state;
    write_rows(p, 1);
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "lda,prototype_inner", "--shots", "1,4",
        "--queries", "5", "--episodes", "5", "--json");
    assert_ended(p, 1, "lda");
    assert_int_equal(count_lines(p->out), 1 + 4);
    assert_non_null(strstr(p->out, "\"accuracy\":null"));
    RUN(p, "fit", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--head", "lda,prototype_inner", "--shots", "1,4",
        "--queries", "5", "--episodes", "5", "--draws", in_folder(p, "draws.npz"));
    assert_ended(p, 1, "lda");
    assert_non_null(strstr(p->out, "     4  prototype_inner "));
    assert_non_null(strstr(p->out, "hull    ")); /* rows that do not need it are still printed */
    assert_int_equal(access(in_folder(p, "draws.npz"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_and_k_has_its_line),
        cmocka_unit_test(one_seed_gives_the_same_figures_at_any_thread_count),
        cmocka_unit_test(every_integer_label_file_gives_the_same_figures),
        cmocka_unit_test(unlabelled_rows_take_no_part),
        cmocka_unit_test(nodes_without_a_class_are_none_of_the_embeddings),
        cmocka_unit_test(all_heads_are_named_by_one_word),
        cmocka_unit_test(long_parts_say_how_far_they_are),
        cmocka_unit_test(draws_are_written_for_other_programs),
        cmocka_unit_test(the_table_ends_with_the_diagnosis),
        cmocka_unit_test(many_classes_have_many_pairs),
        cmocka_unit_test(options_without_effect_are_refused),
        cmocka_unit_test(small_classes_are_said_once),
        cmocka_unit_test(a_head_without_a_fit_leaves_the_others),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
