/* tests/train/test_hop_store.c - hop stacks on disk equal those in memory, survive interruption and damage, and say how
 * much memory they need. */
#include "tests/drawn_graphs.h"
#include "tests/folder.h"

#include "tests/worst_of.h"
#include "train/features/feature_memory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const fixtures around_all = {scratch_create, scratch_release};

enum { WIDE_HOPS = 7, PAGE = 4096 };

typedef struct told {
    char text[4096];
} told;

static void remember(const char *line, void *state) {
    told *t = state;
    strncat(t->text, line, sizeof t->text - strlen(t->text) - 2);
    strcat(t->text, "\n");
}

static mo_feature_options on_disk(const char *folder, told *t) {
    mo_feature_options o = plain;
    o.place = MO_FEATURES_ON_DISK;
    o.hops = WIDE_HOPS;
    o.cache = folder;
    o.notice = remember;
    o.notice_state = t;
    t->text[0] = 0;
    return o;
}

/* Opens features with the memory limit of o. Fails unless the hops equal those without a limit. */
static void expect_equal(const mo_graph *graph, const mo_feature_options *o, bool from_cache) {
    mo_feature_options any = *o;
    any.place = MO_FEATURES_AUTO;
    any.cache = NULL;
    int64_t n, m;
    bool cached;
    float *x = hops_of(graph, o, &n, &cached), *y = hops_of(graph, &any, &m, NULL);
    assert_int_equal(cached, from_cache);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    free(x);
    free(y);
}

static void overwrite(const char *path, long offset, unsigned char mask) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET);
    int c = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(mask ? c ^ mask : 0, file);
    fclose(file);
}

TEST(a_stack_on_disk_equals_the_one_in_memory) {
    scratch *s = *state;
    mo_graph *graphs[] = {
        draw_graph(s->ctx, larger, 5, 1), draw_graph(s->ctx, larger, 0, 2), draw_graph(s->ctx, set, 4, 3)};
    char folder[512], path[1024];
    told t;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "equal"));
    for (int i = 0; i < 3; i++) {
        mo_feature_options o = on_disk(folder, &t);
        expect_equal(graphs[i], &o, false);
        expect_equal(graphs[i], &o, true);
        assert_int_equal(folder_files(folder, ".npy", path), i + 1);
        assert_int_equal(folder_files(folder, ".partial", path), 0);
        assert_non_null(strstr(t.text, "features: drawn: residual of the SVD 0."));
        assert_null(strstr(t.text, "cache:"));
        mo_graph_release(graphs[i]);
    }
    folder_remove(folder);
}

TEST(blocks_kept_apart_are_the_same_on_disk) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 5, 4);
    char folder[512];
    told t;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "blocks"));
    mo_feature_options o = on_disk(folder, &t), any;
    o.form = MO_FEATURES_OF_EXAMPLES;
    any = o;
    any.place = MO_FEATURES_AUTO;
    any.cache = NULL;
    mo_features *x = mo_example_features_open(graph, MO_TASK_NC, NULL, &o);
    mo_features *y = mo_example_features_open(graph, MO_TASK_NC, NULL, &any);
    expect_ok(s->ctx);
    mo_tensor *a = mo_arrays_find(x->arrays, "blocks"), *b = mo_arrays_find(y->arrays, "blocks");
    assert_int_equal(mo_numel(a), mo_numel(b));
    size_t bytes = (size_t)mo_numel(a) * sizeof(float);
    float *p = malloc(bytes), *q = malloc(bytes);
    mo_tensor_read(a, p, bytes);
    mo_tensor_read(b, q, bytes);
    assert_memory_equal(p, q, bytes);
    assert_true(x->svd_residual == y->svd_residual && x->svd_orthogonality > 0);
    free(p);
    free(q);
    mo_features_release(x);
    mo_features_release(y);
    mo_graph_release(graph);
    folder_remove(folder);
}

/* A killed run leaves a .partial file, which is not used, even if nearly all of its rows are there. */
TEST(what_a_killed_run_has_left_is_made_again) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 5);
    char folder[512], path[1024], partial[1100];
    told t;
    struct stat st;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "interrupted"));
    mo_feature_options o = on_disk(folder, &t);
    expect_equal(graph, &o, false);
    for (int cut = 0; cut < 2; cut++) {
        assert_int_equal(folder_files(folder, ".npy", path), 1);
        snprintf(partial, sizeof partial, "%s.partial", path);
        assert_int_equal(rename(path, partial), 0);
        assert_true(stat(partial, &st) == 0 && truncate(partial, cut ? 100 : st.st_size - 8) == 0);
        expect_equal(graph, &o, false);
        assert_int_equal(folder_files(folder, ".partial", path), 0);
        expect_equal(graph, &o, true);
    }
    mo_graph_release(graph);
    folder_remove(folder);
}

TEST(damage_is_found_told_and_made_good) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 6);
    char folder[512], path[1024];
    told t;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "damaged"));
    mo_feature_options o = on_disk(folder, &t);
    expect_equal(graph, &o, false);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    int64_t hop = 4 * DIM * graph->nodes;
    const long offsets[] = {PAGE + 5, (long)(PAGE + 3 * hop + 77), 3, -1};
    for (int i = 0; i < 4; i++) {
        t.text[0] = 0;
        overwrite(path, offsets[i], 0x10);
        expect_equal(graph, &o, false);
        assert_non_null(strstr(t.text, "damaged; made again"));
        expect_equal(graph, &o, true);
    }
    assert_int_equal(truncate(path, PAGE + 100), 0);
    expect_equal(graph, &o, false);
    mo_graph_release(graph);
    folder_remove(folder);
}

/* A folder that several users share: a stack is written in place, but never through another user's link of its name. */
TEST(a_link_in_the_cache_is_not_written_through) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 11);
    char folder[512], path[1024], partial[1100], thesis[512];
    told t;
    struct stat st;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "shared"));
    snprintf(thesis, sizeof thesis, "%s", scratch_write(s, "thesis.txt", "my thesis\n", 10));
    mo_feature_options o = on_disk(folder, &t);
    expect_equal(graph, &o, false);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    snprintf(partial, sizeof partial, "%s.partial", path);
    for (int hard = 0; hard < 2; hard++) {
        unlink(path);
        assert_int_equal(hard ? link(thesis, partial) : symlink(thesis, partial), 0);
        assert_null(mo_features_open(graph, &o));
        assert_failed(s->ctx, MO_IO, PARTS(".npy.partial: expected a file of its own, found "));
        unlink(partial);
    }
    assert_int_equal(symlink(thesis, path), 0); /* a link with the name of the finished stack is replaced */
    expect_equal(graph, &o, false);
    assert_true(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
    bytes kept = read_bytes(thesis);
    assert_true(kept.n == 10 && memcmp(kept.data, "my thesis\n", 10) == 0);
    bytes_release(&kept);
    unlink(thesis);
    mo_graph_release(graph);
    folder_remove(folder);
}

/* Replaces the library's function, which asks the system. */
static double free_bytes = INFINITY, free_with_swap = INFINITY;

double mo_free_memory(const char *root, double *with_swap) {
    (void)root;
    *with_swap = free_with_swap;
    return free_bytes;
}

static void open_features(const mo_graph *graph, const mo_feature_options *o) {
    mo_features *f = mo_features_open(graph, o);
    expect_ok(graph->ctx);
    mo_features_release(f);
}

TEST(without_a_limit_what_is_free_counts) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 12);
    char folder[512], path[1024];
    told t;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "free"));
    mo_feature_options o = on_disk(folder, &t);
    o.place = MO_FEATURES_AUTO;
    o.beside = 100 << 20; /* memory that the caller needs beside the features */
    free_bytes = free_with_swap = 120 << 20;
    double inside, outside;
    assert_null(mo_features_open(graph, &o));
    assert_int_equal(
        sscanf(mo_context_status(s->ctx)->message, "features: 'drawn' needs %lf bytes, %lf", &inside, &outside), 2);
    assert_failed(s->ctx, MO_MEMORY, PARTS("on disk; free memory is 125829120"));
    assert_int_equal(access(folder, F_OK), -1); /* refused before anything is computed */
    assert_true(outside > (124 << 20) && inside > outside);
    free_bytes = free_with_swap = outside;
    open_features(graph, &o);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    assert_non_null(strstr(t.text, "features: drawn: 0.1 GB are needed, 0.1 GB are free: the hop stack goes to "));
    folder_remove(folder);
    t.text[0] = 0;
    o.cache = NULL; /* without a cache folder, swap may be used, but no more than there is */
    assert_null(mo_features_open(graph, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("needs ", "free memory is ", "name a cache folder"));
    free_with_swap = INFINITY;
    open_features(graph, &o);
    o.cache = folder;
    free_bytes = INFINITY;
    open_features(graph, &o);
    assert_int_equal(folder_files(folder, ".npy", path), 0);
    assert_null(strstr(t.text, "goes to"));
    o.memory = 200 << 20; /* if the user sets a limit, it counts instead of the free memory */
    free_bytes = free_with_swap = 1 << 20;
    folder_remove(folder);
    open_features(graph, &o);
    free_bytes = free_with_swap = INFINITY;
    mo_graph_release(graph);
    folder_remove(folder);
}

TEST(too_little_memory_says_what_is_needed) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 7);
    told t;
    mo_feature_options o = on_disk(NULL, &t);
    assert_null(mo_features_open(graph, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("features: 'drawn': name a cache folder", "takes 230400 bytes"));
    o.cache = scratch_path(s, "too-little");
    o.memory = 1000;
    assert_null(mo_features_open(graph, &o));
    assert_failed(s->ctx, MO_MEMORY,
        PARTS("features: 'drawn' needs ", "with its hop stack on disk; the limit of memory is 1000"));
    assert_int_equal(access(o.cache, F_OK), -1);
    mo_graph_release(graph);
}

/* A limit on file sizes acts as a full disk. */
TEST(a_full_disk_is_one_line_and_leaves_no_file) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 0, 8);
    char folder[512], path[1024];
    told t;
    struct rlimit before, small_files;
    snprintf(folder, sizeof folder, "%s", scratch_path(s, "full"));
    mo_feature_options o = on_disk(folder, &t);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small_files = before;
    small_files.rlim_cur = 10000;
    setrlimit(RLIMIT_FSIZE, &small_files);
    assert_null(mo_features_open(graph, &o));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_failed(s->ctx, MO_IO, PARTS("hop stack '", ".npy.partial': cannot reserve"));
    assert_int_equal(folder_files(folder, "", path), 0);
    expect_equal(graph, &o, false);
    mo_graph_release(graph);
    folder_remove(folder);
}
