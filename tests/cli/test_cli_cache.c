/* tests/cli/test_cli_cache.c - `--cache` and `mochi data cache`: cached features are used, damage to them only costs
 * time, and processes may share them. */
#include "tests/cli/program.h"
#include "tests/folder.h"

#include <limits.h>
#include <sys/resource.h>

/* Rows of one hop of small molecules: features that take some time. */
#define EMBED "embed", "--weights", "none", "--data", "mutag"

static const char from_cache[] = "(from the cache)";

static long size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static bool same_files(const char *a, const char *b) {
    char command[1200];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return size_of(a) > 0 && system(command) == 0;
}

/* Writes the path to a buffer of its own; in_folder reuses one. */
static void name_folder(const program *p, const char *name, char path[300]) {
    snprintf(path, 300, "%s/%s", p->folder, name);
}

/* Embeds with this cache, and expects the file of the run without a cache. */
static void expect_same(program *p, const char *cache) {
    RUN(p, EMBED, "--cache", cache, "--out", in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL);
    if (!same_files(in_folder(p, "Z.npy"), in_folder(p, "plain.npy")))
        fail_msg("the embeddings with a cache differ; standard error: %s", p->err);
}

/* Group set-up: the embeddings without a cache. */
static int embed_plain(void **state) {
    unsetenv("MOCHI_CACHE");
    if (program_create(state) != 0)
        return -1;
    program *p = *state;
    RUN(p, EMBED, "--out", in_folder(p, "plain.npy"));
    return p->code == 0 && !strstr(p->err, from_cache) ? 0 : -1;
}

static const fixtures around_all = {embed_plain, program_release};

TEST(a_second_run_reads_what_the_first_kept) {
    program *p = *state;
    char path[1024];
    char cache[300];
    name_folder(p, "deep/er", cache);
    expect_same(p, cache);
    assert_null(strstr(p->err, from_cache));
    assert_int_equal(folder_files(cache, "", path), 1);
    expect_same(p, cache);
    assert_non_null(strstr(p->err, from_cache));
    setenv("MOCHI_CACHE", cache, 1);
    RUN(p, EMBED, "--out", in_folder(p, "Z.npy"));
    unsetenv("MOCHI_CACHE");
    assert_non_null(strstr(p->err, from_cache));
    assert_int_equal(folder_files(cache, "", path), 1);
}

typedef struct damage {
    const char *name;
    long cut;  /* bytes to keep; below 0: bytes to cut off at the end */
    long byte; /* byte to change; below 0: counted from the end; 0: none */
} damage;

/* Entries that are empty, cut near the start, cut near the end, or have a changed value, header text or header
 * length. */
TEST(a_poisoned_entry_is_told_and_made_again) {
    program *p = *state;
    static const damage kinds[] = {{"empty", 0, 0}, {"stump", 11, 0}, {"cut", -5, 0}, {"value", LONG_MAX, -1000},
        {"header", LONG_MAX, 20}, {"length", LONG_MAX, 3}};
    char path[1024];
    char cache[300];
    name_folder(p, "poisoned", cache);
    expect_same(p, cache);
    assert_int_equal(folder_files(cache, "", path), 1);
    long good = size_of(path);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const damage *k = &kinds[i];
        FILE *file = fopen(path, "r+b");
        fseek(file, k->byte, k->byte < 0 ? SEEK_END : SEEK_SET);
        int c = fgetc(file);
        fseek(file, k->byte, k->byte < 0 ? SEEK_END : SEEK_SET);
        if (k->byte)
            fputc(c ^ 0x41, file);
        fclose(file);
        if (k->cut < good)
            assert_int_equal(truncate(path, k->cut < 0 ? good + k->cut : k->cut), 0);
        RUN(p, "data", "cache", "verify", "--cache", cache);
        if (p->code != 1 || !strstr(p->out, "DAMAGED"))
            fail_msg("%s: verify ended with %d and said %s", k->name, p->code, p->out);
        expect_same(p, cache);
        if (!strstr(p->err, "made again"))
            fail_msg("%s: no word of it in '%s'", k->name, p->err);
        expect_same(p, cache);
        assert_non_null(strstr(p->err, from_cache));
        assert_int_equal(size_of(path), good);
    }
    RUN(p, "data", "cache", "verify", "--cache", cache);
    assert_ended(p, 0, NULL);
}

/* As embed does, also where features are made again or not kept. */
TEST(predict_and_suggest_tell_of_the_cache_too) {
    program *p = *state;
    char cache[300], labels[300], path[1024];
    name_folder(p, "told", cache);
    name_folder(p, "seeds.csv", labels);
    write_text(labels, "node,label\n0,a\n1,b\n2,a\n3,b\n");
    const char *const commands[][7] = {{"predict", "--data", "cora", "--labels", labels, "--cache", cache},
        {"suggest", "--data", "cora", "--n", "2", "--cache", cache}};
    for (int c = 0; c < 2; c++)
        for (int quiet = 0; quiet < 2 - c; quiet++) { /* suggest has no --quiet */
            const char *words[9] = {NULL};
            memcpy(words, commands[c], sizeof commands[c]);
            words[7] = quiet ? "--quiet" : NULL;
            run_program_to(p, NULL, words);
            assert_ended(p, 0, NULL);
            if (strstr(p->err, "cache: "))
                fail_msg("%s: nothing is wrong, and standard error says '%s'", words[0], p->err);
            assert_int_equal(folder_files(cache, ".safetensors", path), 1);
            FILE *file = fopen(path, "r+b");
            fseek(file, -1000, SEEK_END);
            fputs("damage", file);
            fclose(file);
            run_program_to(p, NULL, words);
            assert_ended(p, 0, NULL);
            if (!strstr(p->err, "made again") == !quiet || (!quiet && !strstr(p->err, path)))
                fail_msg("%s%s: '%s'", words[0], quiet ? " --quiet" : "", p->err);
            words[6] = labels; /* a file is no folder */
            run_program_to(p, NULL, words);
            assert_ended(p, 0, NULL);
            if (!strstr(p->err, "the features are not kept") == !quiet)
                fail_msg("%s%s: '%s'", words[0], quiet ? " --quiet" : "", p->err);
        }
}

/* A limit on file sizes simulates a full disk. */
TEST(a_full_disk_costs_the_entry_alone) {
    program *p = *state;
    char path[1024];
    struct rlimit before, small;
    char cache[300];
    name_folder(p, "full", cache);
    const char *build[] = {"data", "cache", "build", "mutag:gc", "--recipe", "paper", "--cache", cache, NULL};
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    run_program_to(p, NULL, build);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, "the features are not kept"));
    assert_non_null(strstr(p->out, "mutag:gc computed"));
    assert_int_equal(rmdir(cache), 0); /* nothing in it */
    run_program_to(p, NULL, build);
    assert_int_equal(folder_files(cache, "", path), 1);
}

TEST(a_folder_that_cannot_be_made_costs_nothing_more) {
    program *p = *state;
    char below[600];
    snprintf(below, sizeof below, "%s/below", in_folder(p, "plain.npy"));
    expect_same(p, below);
    assert_non_null(strstr(p->err, "cache: "));
    RUN(p, "data", "cache", "list", "--cache", below);
    assert_ended(p, 1, below);
}

TEST(processes_at_once_keep_one_entry) {
    program *p = *state;
    enum { PROCESSES = 3 };
    char out[PROCESSES][300], err[PROCESSES][300], cache[300], path[1024];
    pid_t child[PROCESSES];
    snprintf(cache, sizeof cache, "%s/shared", p->folder);
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(out[i], sizeof out[i], "%s/out%d", p->folder, i);
        snprintf(err[i], sizeof err[i], "%s/err%d", p->folder, i);
        child[i] = start_program((const char *const[]){"data", "cache", "build", "mutag:gc", "--recipe", "paper",
                                     "--threads", "1", "--cache", cache, NULL},
            out[i], err[i]);
    }
    for (int i = 0; i < PROCESSES; i++) {
        wait_for_program(p, child[i], out[i], err[i]);
        assert_ended(p, 0, NULL);
    }
    assert_int_equal(folder_files(cache, "", path), 1);
    RUN(p, "data", "cache", "verify", "--cache", cache);
    assert_ended(p, 0, NULL);
}

TEST(entries_are_built_listed_and_removed) {
    program *p = *state;
    char cache[300];
    name_folder(p, "listed", cache);
    RUN(p, "data", "cache", "build", "cora:nc", "mutag", "--recipe", "paper", "--cache", cache, "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 2);
    json_t *o = json_line(p, 0, "graph,task,from_cache,svd_residual,svd_orthogonality,seconds");
    assert_true(json_is_false(json_object_get(o, "from_cache")) && json_real_of(o, "svd_residual") > 0.01);
    assert_true(json_real_of(o, "svd_residual") < 1 && json_real_of(o, "svd_orthogonality") < 1e-5);
    json_decref(o);
    RUN(p, "data", "cache", "list", "--cache", cache, "--json");
    assert_int_equal(count_lines(p->out), 2);
    o = json_line(p, 0, "path,bytes,used,made_of,damage");
    assert_true(json_real_of(o, "bytes") == (double)size_of(json_text_of(o, "path")));
    assert_non_null(strstr(json_text_of(o, "made_of"), "dim 512"));
    json_decref(o);
    RUN(p, "data", "cache", "prune", "--older", "1h", "--cache", cache);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, ": 0 entries removed"));
    RUN(p, "data", "cache", "prune", "--size", "8M", "--cache", cache); /* both are 12 MB, mutag alone 7 */
    assert_non_null(strstr(p->out, ": 1 entries removed, 5.5 MB"));
    RUN(p, "data", "cache", "clear", "--cache", cache);
    assert_non_null(strstr(p->out, ": 1 entries removed"));
    RUN(p, "data", "cache", "list", "--cache", cache);
    assert_non_null(strstr(p->out, ": 0 entries kept"));
}

TEST(wrong_words_are_usage) {
    program *p = *state;
    RUN(p, "data", "cache", "list");
    assert_ended(p, 2, NULL);
    assert_non_null(strstr(p->err, "MOCHI_CACHE is not set"));
    RUN(p, "data", "cache", "prune", "--cache", "x");
    assert_ended(p, 2, NULL);
    RUN(p, "data", "cache", "prune", "--cache", "x", "--older", "3w");
    assert_ended(p, 2, NULL);
    RUN(p, "data", "cache", "build", "--cache", "x");
    assert_ended(p, 2, NULL);
    RUN(p, "data", "cache", "build", "no-such-graph", "--cache", in_folder(p, "none"));
    assert_ended(p, 1, "no-such-graph");
}
