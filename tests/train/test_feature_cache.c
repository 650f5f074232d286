/* tests/train/test_feature_cache.c - cached features equal computed ones. Damaged entries, folders that cannot be
 * written and processes that share one are in tests/cli/cache.cases. */
#include "tests/drawn_graphs.h"
#include "tests/folder.h"

#include <fcntl.h>

static const fixtures around_all = {scratch_create, scratch_release};

static mo_feature_options cached_options(scratch *s, const char *folder) {
    mo_feature_options o = plain;
    o.cache = scratch_path(s, folder);
    return o;
}

/* Opens features with the cache. Asserts that they come from the cache or not, and equal those computed without it. */
static void expect_from(const mo_graph *graph, const mo_feature_options *options, bool from_cache) {
    mo_feature_options without = *options;
    int64_t n, m;
    bool cached, no;
    without.cache = NULL;
    float *x = hops_of(graph, options, &n, &cached), *y = hops_of(graph, &without, &m, &no);
    assert_false(no);
    assert_int_equal(cached, from_cache);
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
    free(x);
    free(y);
}

TEST(a_hit_equals_what_is_computed) {
    scratch *s = *state;
    mo_graph *graphs[] = {draw_graph(s->ctx, larger, 5, 8), draw_graph(s->ctx, set, 0, 8)};
    mkdir(scratch_path(s, "deep"), 0777);
    mo_feature_options o = cached_options(s, "deep/er"); /* the cache creates this folder */
    for (int i = 0; i < 2; i++) {
        expect_from(graphs[i], &o, false);
        expect_from(graphs[i], &o, true);
        mo_feature_options other = o;
        other.hops = 1; /* the cache holds hop 0, which gives any number of hops */
        expect_from(graphs[i], &other, true);
        other = o;
        other.seed = 9;
        expect_from(graphs[i], &other, false);
        other = o;
        other.combine = MO_COMBINE_CONCAT;
        expect_from(graphs[i], &other, false);
        other = o;
        other.norm = MO_FEATURE_NORM_NONE;
        expect_from(graphs[i], &other, false);
        other = o;
        other.dim = DIM - 1;
        expect_from(graphs[i], &other, false);
        other = o;
        other.power_iterations = 1;
        expect_from(graphs[i], &other, false);
        mo_graph_release(graphs[i]);
    }
    folder_remove(o.cache);
    rmdir(scratch_path(s, "deep"));
}

TEST(a_use_sets_the_time_of_an_entry) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 5, 9);
    mo_feature_options o = cached_options(s, "used");
    char folder[512], path[1024];
    struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    struct stat st;
    snprintf(folder, sizeof folder, "%s", o.cache);
    o.cache = folder;
    expect_from(graph, &o, false);
    assert_int_equal(folder_files(folder, "", path), 1);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    expect_from(graph, &o, true);
    assert_true(stat(path, &st) == 0 && st.st_mtim.tv_sec > 1000000);
    mo_graph_release(graph);
    folder_remove(folder);
}

/* Names of entries follow from graph and options, so another user of a shared folder can put a link there under that
 * name. */
TEST(a_link_in_the_folder_is_not_written_through) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, larger, 5, 9);
    mo_feature_options o = cached_options(s, "shared-by-users");
    char folder[512], path[1024], thesis[512];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", o.cache);
    o.cache = folder;
    expect_from(graph, &o, false);
    assert_int_equal(folder_files(folder, "", path), 1);
    snprintf(thesis, sizeof thesis, "%s", scratch_write(s, "thesis.txt", "my thesis\n", 10));
    assert_int_equal(unlink(path) | symlink(thesis, path), 0);
    expect_from(graph, &o, false);
    bytes kept = read_bytes(thesis);
    assert_true(kept.n == 10 && memcmp(kept.data, "my thesis\n", 10) == 0);
    bytes_release(&kept);
    assert_true(lstat(path, &st) == 0 && S_ISREG(st.st_mode)); /* the entry replaces the link */
    expect_from(graph, &o, true);
    unlink(thesis);
    mo_graph_release(graph);
    folder_remove(folder);
}

TEST(an_empty_name_is_no_folder) {
    scratch *s = *state;
    mo_graph *graph = draw_graph(s->ctx, small, 5, 10);
    mo_feature_options o = plain;
    o.cache = "";
    expect_from(graph, &o, false);
    expect_from(graph, &o, false);
    mo_graph_release(graph);
}
