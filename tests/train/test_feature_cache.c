/* tests/train/test_feature_cache.c - cached features, and hop stacks on disk, equal computed ones and are bound to
 * their options; what is free decides where a stack lies. Damaged entries, full disks, killed runs and processes that
 * share a folder are in tests/cli/cache.cases, test_saves.c and test_damage.c. */
#include "tests/drawn_graphs.h"
#include "tests/folder.h"
#include "tests/small_stack.h"
#include "train/features/feature_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDE_HOPS = 7, PAGE = 4096 };

static mo_feature_options cached(mo_feature_place place, const char *folder, notices *t) {
    mo_feature_options o = plain;
    o.place = place;
    o.hops = place == MO_FEATURES_ON_DISK ? WIDE_HOPS : HOPS;
    o.cache = folder;
    o.notice = remember;
    o.notice_state = t;
    t->text[0] = 0;
    return o;
}

/* Opens features with the cache and memory limit of o. Fails unless they come from the cache or not, as stated, and
 * equal those of neither. */
static void expect_equal(const mo_graph *graph, const mo_feature_options *o, bool from_cache) {
    mo_feature_options any = *o;
    any.place = MO_FEATURES_AUTO;
    any.cache = NULL;
    int64_t n, m;
    bool cached;
    HELD_MEMORY float *x = hops_of(graph, o, &n, &cached), *y = hops_of(graph, &any, &m, NULL);
    assert_int_equal(cached, from_cache);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
}

/* Flips a bit of the stack's first row. */
static void damage(const char *path) {
    HELD(bytes) b = read_bytes(path);
    b.data[PAGE + 5] ^= 0x10;
    write_bytes(path, b.data, b.n);
}

TEST_OF(a_hit_equals_what_is_computed, scratch *s) {
    notices t;
    mkdir(scratch_path(s, "deep"), 0777);
    const char *folder = scratch_folder(s, "deep/er"); /* the cache creates this folder */
    mo_feature_options o = cached(MO_FEATURES_AUTO, folder, &t), other[] = {o, o, o, o, o, o};
    other[0].hops = 1; /* the cache holds hop 0, which gives any number of hops */
    other[1].seed = 9;
    other[2].combine = MO_COMBINE_CONCAT;
    other[3].norm = MO_FEATURE_NORM_NONE;
    other[4].dim = DIM - 1;
    other[5].power_iterations = 1;
    for (int i = 0; i < 2; i++) {
        HELD(mo_graph) *graph = i ? draw_graph(s->ctx, set, 0, 8) : draw_graph(s->ctx, larger, 5, 8);
        expect_equal(graph, &o, false);
        expect_equal(graph, &o, true);
        for (int k = 0; k < 6; k++)
            expect_equal(graph, &other[k], k == 0);
    }
    HELD(mo_graph) *graph = draw_graph(s->ctx, small, 5, 10);
    o.cache = ""; /* an empty name is no folder */
    expect_equal(graph, &o, false);
    expect_equal(graph, &o, false);
}

TEST_OF(a_use_sets_the_time_of_an_entry, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, larger, 5, 9);
    const char *folder = scratch_folder(s, "used");
    char path[1024];
    notices t;
    struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    struct stat st;
    mo_feature_options o = cached(MO_FEATURES_AUTO, folder, &t);
    expect_equal(graph, &o, false);
    assert_int_equal(folder_files(folder, "", path), 1);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    expect_equal(graph, &o, true);
    assert_true(stat(path, &st) == 0 && st.st_mtim.tv_sec > 1000000);
}

TEST_OF(a_stack_on_disk_equals_the_one_in_memory, scratch *s) {
    mo_graph *graphs[] = {
        draw_graph(s->ctx, larger, 5, 1), draw_graph(s->ctx, larger, 0, 2), draw_graph(s->ctx, set, 4, 3)};
    const char *folder = scratch_folder(s, "equal");
    char path[1024];
    notices t;
    for (int i = 0; i < 3; i++) {
        mo_feature_options o = cached(MO_FEATURES_ON_DISK, folder, &t);
        expect_equal(graphs[i], &o, false);
        expect_equal(graphs[i], &o, true);
        assert_int_equal(folder_files(folder, ".npy", path), i + 1);
        assert_int_equal(folder_files(folder, "", path), i + 1);
        assert_non_null(strstr(t.text, "features: drawn: residual of the SVD 0."));
        assert_null(strstr(t.text, "cache:"));
        if (i == 0) {
            damage(path);
            expect_equal(graphs[i], &o, false);
            assert_non_null(strstr(t.text, "damaged; made again"));
            t.text[0] = 0;
        }
        mo_graph_release(graphs[i]);
    }
}

/* A pipe without a writer blocks whoever opens it to read. */
TEST_OF(a_pipe_in_the_cache_is_not_waited_for, scratch *s) {
    static const char key[] = "format 1 graph 0123 dim 3";
    const char *folder = scratch_folder(s, "piped");
    char path[1024];
    double sum = open_small_stack(s->ctx, folder, key, 2);
    assert_true(sum != 0);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60);
    assert_true(open_small_stack(s->ctx, folder, key, 2) == 0);
    alarm(0);
    assert_failed(s->ctx, MO_IO, PARTS("expected a file or nothing, found a device, pipe or socket"));
}

/* In a folder that several users share, another user can put a link where an entry or a stack will be, as names follow
 * from graph and options. The link is replaced. */
TEST_OF(a_link_in_the_cache_is_not_written_through, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, larger, 5, 11);
    char path[1024];
    notices t;
    struct stat st;
    const char *thesis = scratch_write(s, "thesis.txt", "my thesis\n", 10);
    for (int disk = 0; disk < 2; disk++) {
        const char *folder = scratch_folder(s, "shared");
        mo_feature_options o = cached(disk ? MO_FEATURES_ON_DISK : MO_FEATURES_AUTO, folder, &t);
        expect_equal(graph, &o, false);
        assert_int_equal(folder_files(folder, disk ? ".npy" : "", path), 1);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink(thesis, path), 0);
        expect_equal(graph, &o, false);
        assert_true(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
        expect_equal(graph, &o, true);
        HELD(bytes) kept = read_bytes(thesis);
        assert_true(kept.n == 10 && memcmp(kept.data, "my thesis\n", 10) == 0);
    }
}

/* Replaces the library's function, which asks the system. */
static double free_bytes = INFINITY;

double mo_free_memory(const char *root) {
    return free_bytes;
}

static void open_features(const mo_graph *graph, const mo_feature_options *o) {
    HELD(mo_features) *f = mo_task_features_open(graph, MO_TASK_NC, NULL, o);
    expect_ok(graph->ctx);
}

TEST_OF(what_is_free_decides_where_a_stack_lies, scratch *s) {
    HELD(mo_graph) *graph = draw_graph(s->ctx, larger, 0, 12);
    const char *folder = scratch_folder(s, "free");
    char path[1024];
    notices t;
    mo_feature_options o = cached(MO_FEATURES_ON_DISK, folder, &t);
    o.place = MO_FEATURES_AUTO;
    o.encoded = (100 << 20) / (4.3 * (WIDE_HOPS + 1) * o.dim * 4); /* rows that the caller encodes at once: 100 MiB */
    free_bytes = 120 << 20;
    double inside, outside;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    const char *message = mo_context_status(s->ctx)->message, *stay = strstr(message, "the hop stack goes to ");
    assert_int_equal(sscanf(message, "features: drawn: %lfM of memory are needed, 120.0M are free", &inside), 1);
    assert_true(stay && sscanf(strrchr(message, ',') + 2, "%lfM stay", &outside) == 1);
    assert_failed(s->ctx, MO_MEMORY, PARTS("features: drawn: "));
    assert_int_equal(access(folder, F_OK), -1); /* refused before anything is computed */
    assert_true(outside > 123.9 && inside > outside);
    free_bytes = (outside + 0.1) * (1 << 20);
    open_features(graph, &o);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    assert_non_null(strstr(t.text, " are free: the hop stack goes to "));
    folder_remove(folder);
    t.text[0] = 0;
    o.cache = NULL;
    assert_null(mo_task_features_open(graph, MO_TASK_NC, NULL, &o));
    assert_failed(
        s->ctx, MO_MEMORY, PARTS(" are needed, ", " are free: ", "on disk (--cache DIR; cache of the options)"));
    o.cache = folder;
    free_bytes = INFINITY;
    open_features(graph, &o);
    assert_int_equal(folder_files(folder, ".npy", path), 0);
    assert_null(strstr(t.text, "goes to"));
}

/* A bound of the context counts instead of the free memory: by the estimate it moves a stack to disk, but it refuses no
 * run before the run has more. */
TEST(a_bound_refuses_only_what_exceeds_it) {
    scratch *s = *state;
    char path[1024];
    notices t;
    const char *folder = scratch_folder(s, "bound");
    free_bytes = 1 << 20;
    for (int64_t bound = (int64_t)1 << 30, once = 0, peak = 0; once < 4; once++) {
        HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1, .memory = bound});
        HELD(mo_graph) *graph = draw_graph(ctx, larger, 0, 12);
        mo_feature_options o = cached(MO_FEATURES_AUTO, once == 2 ? folder : NULL, &t);
        mo_features *f = mo_task_features_open(graph, MO_TASK_NC, NULL, &o);
        bool told = strstr(t.text, " are allowed: ");
        if (once < 3)
            expect_ok(ctx);
        else
            assert_failed(ctx, MO_MEMORY, PARTS("M asked, ", "M held, ", "M allowed: raise --memory "));
        assert_int_equal(told, once > 0); /* the estimate, which has room for libraries, exceeds the second bound */
        peak = mo_context_counters(ctx).bytes_peak;
        bound = once < 2 ? peak + (1 << 16) : peak / 2; /* the loader's arrays are counted while they are made */
        mo_features_release(f);
    }
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    folder_remove(folder);
    free_bytes = INFINITY;
}
