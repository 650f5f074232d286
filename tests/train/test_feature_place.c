/* tests/train/test_feature_place.c - features on the device, in host memory and on disk: equal bits with any threads
 * and interruptions, memory that does not grow with the pool, and errors of the reading thread. Runs on the device of
 * MOCHI_DEVICE. */
#include "tests/device.h"
#include "tests/training_run.h"
#include "train/features/feature_memory.h"

#include <malloc.h>

static const char *const place_names[] = {"auto", "device", "host", "disk"};

static mo_feature_options placed(mo_feature_place place, mo_feature_form form, const char *cache) {
    mo_feature_options o = planted_features();
    o.place = place;
    o.form = form;
    o.cache = cache;
    return o;
}

static run_options placed_run(const mo_feature_options *features, int episodes, int threads) {
    run_options o = usual_run;
    o.device = test_device();
    o.features = features;
    o.episodes = episodes;
    o.threads = threads;
    o.steps = test_device() == MO_CUDA ? 4 : 8; /* fewer, as emulated steps are slow */
    return o;
}

/* Copies all features from one pool to the other, since the device that computes them decides their last bits. */
static void copy_features(const mo_pool *from, mo_pool *to) {
    for (int i = 0; i < to->n; i++) {
        const mo_arrays *x = from->source[i].features->arrays, *y = to->source[i].features->arrays;
        for (int64_t j = 0; to->source[i].owns_features && j < y->count; j++) {
            mo_tensor *X = mo_arrays_find(x, y->items[j].name), *Y = y->items[j].tensor;
            size_t bytes = (size_t)mo_numel(Y) * mo_dtype_size(mo_tensor_dtype(Y));
            HELD_MEMORY void *host = malloc(bytes + 1);
            assert_int_equal(mo_tensor_read(X, host, bytes), MO_OK);
            assert_int_equal(mo_tensor_write(Y, host, bytes), MO_OK);
        }
    }
}

/* Runs to the end with features on the device whose bits are those computed on the host. */
static void run_on_device(mo_feature_form form, int episodes, int threads, const char *folder) {
    mo_feature_options on_device = placed(MO_FEATURES_ON_DEVICE, form, NULL), on_host = on_device;
    on_host.place = MO_FEATURES_ON_HOST;
    run_options o = placed_run(&on_device, episodes, threads);
    HELD(training_run) run = run_open(&o, folder);
    HELD(mo_pool) *pool = planted_pool_of(run.ctx, &on_host);
    copy_features(pool, run.pool);
    mo_trainer_run(run.trainer, NULL, NULL);
    mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
}

/* Fails unless a run with features in that place has the weights, checkpoint and log of the run in `folder`. */
static void expect_same(scratch *s, const mo_feature_options *features, int episodes, int threads, const char *folder) {
    const char *other = scratch_folder(s, place_names[features->place]);
    run_options o = placed_run(features, episodes, threads);
    run_until(&o, other, false, o.steps);
    assert_same_run(folder, other);
}

TEST_OF(every_place_gives_the_same_bits, scratch *s) {
    const char *cache = scratch_folder(s, "cache");
    for (int form = MO_ROWS_PER_NODE; form <= MO_ROWS_PER_EXAMPLE; form++)
        for (int episodes = 1; episodes <= 3; episodes += 2) {
            const char *folder = scratch_folder(s, "whole");
            run_on_device((mo_feature_form)form, episodes, 1, folder);
            for (int threads = 1; threads <= (test_device() == MO_CUDA ? 1 : 2); threads++)
                for (int place = MO_FEATURES_ON_HOST; place <= MO_FEATURES_ON_DISK; place++) {
                    mo_feature_options o = placed(
                        (mo_feature_place)place, (mo_feature_form)form, place == MO_FEATURES_ON_DISK ? cache : NULL);
                    expect_same(s, &o, episodes, threads, folder);
                }
        }
}

TEST_OF(second_step_on_allocates_nothing, scratch *s) {
    const char *cache = scratch_folder(s, "cache");
    int step = test_device() == MO_CUDA ? 2 : 1; /* fewer on a device, as emulated steps are slow */
    for (int i = step == 2 ? 2 : 0; i < 6; i += step) {
        static const mo_feature_place place[] = {MO_FEATURES_ON_DEVICE, MO_FEATURES_ON_HOST, MO_FEATURES_ON_DISK};
        HELD(mo_context) *ctx = device_context(test_device());
        mo_feature_options features = placed(place[i / 2], MO_ROWS_PER_NODE, cache);
        HELD(mo_pool) *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
        mo_pool_add(pool, planted_graph(ctx, "planted", 150, 3, 0.25, 0.03, 1), 1u << MO_TASK_NC);
        HELD(mo_model) *model = planted_model(ctx, 1);
        mo_trainer_options o = planted_steps(5, 1 + i % 2 * 2, 1e-3, scratch_folder(s, "run"));
        o.plan.k_min = o.plan.k_max;
        o.plan.q_min = o.plan.q_max;
        HELD(mo_trainer) *trainer = mo_trainer_create(model, pool, &o);
        mo_trainer_step(trainer, NULL);
        int64_t before = mo_context_counters(ctx).allocations, bytes = mo_context_counters(ctx).bytes_live;
        while (trainer->step < o.steps)
            assert_int_equal(mo_trainer_step(trainer, NULL), MO_OK);
        assert_int_equal(mo_context_counters(ctx).allocations, before);
        assert_int_equal(mo_context_counters(ctx).bytes_live, bytes);
    }
}

/* ---- memory ---- */

enum { WIDE_NODES = 20000, WIDE_DIM = 64 };

static mo_graph *wide_graph(mo_context *ctx, uint64_t seed) {
    mo_graph *graph = mo_graph_new(ctx, "wide", "wide");
    mo_edges edges = {0};
    int64_t *label = test_memory(WIDE_NODES * sizeof *label);
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 3);
    for (int64_t i = 0; i < WIDE_NODES; i++) {
        label[i] = i % 3;
        mo_edges_add(ctx, &edges, i, (i + 1) % WIDE_NODES);
        mo_edges_add(ctx, &edges, i, mo_random_below(&r, WIDE_NODES));
    }
    mo_graph_set_edges(graph, WIDE_NODES, &edges);
    mo_graph_set_classes(graph, label, WIDE_NODES);
    return mo_graph_finish(graph);
}

/* Returns a line of /proc/self/status, in bytes. */
static int64_t memory_of(const char *name) {
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            kib = strtoll(line + strlen(name) + 1, NULL, 10);
    if (file)
        fclose(file);
    return 1024 * kib;
}

static bool note_memory(const mo_step_report *r, void *most) {
    int64_t now = memory_of("RssAnon"), *peak = most;
    *peak = now > *peak ? now : *peak;
    return r != NULL;
}

/* Returns the bytes that a run on `graphs` graphs holds after some steps, and the most after a step. Pages of mapped
 * files are not counted: the system drops them when it needs memory. */
static void run_wide(scratch *s, int graphs, int64_t *held, int64_t *most) {
    const char *folder = scratch_folder(s, "run");
    const char *cache = scratch_folder(s, "cache");
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_feature_options features = placed(MO_FEATURES_ON_DISK, MO_ROWS_PER_NODE, cache);
    features.dim = WIDE_DIM;
    HELD(mo_pool) *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    for (int i = 0; i < graphs; i++)
        mo_pool_add(pool, wide_graph(ctx, (uint64_t)i + 1), 1u << MO_TASK_NC);
    mo_mochi_options m = mo_mochi_defaults();
    m.encoder.dim = WIDE_DIM;
    HELD(mo_model) *model = mo_mochi_create(ctx, MO_F32, &m, 1);
    mo_trainer_options o = planted_steps(20, 1, 1e-3, folder);
    HELD(mo_trainer) *trainer = mo_trainer_create(model, pool, &o);
    *most = 0;
    assert_int_equal(mo_trainer_run(trainer, note_memory, most), MO_OK);
    malloc_trim(0);
    *held = memory_of("RssAnon");
}

/* The stack of each graph takes 20 MB; its edges, labels and links take 2 MB. */
TEST(memory_does_not_grow_with_the_pool) {
    const int more = 4;
    int64_t one, many, one_peak, many_peak, stack = (int64_t)WIDE_NODES * WIDE_DIM * (PLANTED_HOPS + 1) * 4;
#ifdef __SANITIZE_ADDRESS__
    skip("AddressSanitizer does not return freed memory");
#endif
    run_wide(*state, 1, &one, &one_peak);
    run_wide(*state, 1 + more, &many, &many_peak);
    print_message("one graph: %.1f MB held, %.1f at most; %d: %.1f, %.1f; a stack: %.1f\n", 1e-6 * (double)one,
        1e-6 * (double)one_peak, 1 + more, 1e-6 * (double)many, 1e-6 * (double)many_peak, 1e-6 * (double)stack);
    assert_true(one > 0 && many - one < more * stack / 4);
    assert_true(many_peak - one_peak < more * stack / 4);
}

/* Writes a file below `root`, which stands for / in this test. */
static void put_file(const char *root, const char *path, const char *text) {
    char command[1400];
    const char *slash = strrchr(path, '/');
    snprintf(command, sizeof command, "mkdir -p '%s%.*s' && printf '%s' > '%s%s'", root, (int)(slash - path), path,
        text, root, path);
    assert_int_equal(system(command), 0);
}

static void expect_free(const char *root, double bytes) {
    double left = mo_free_memory(root);
    if (left != bytes)
        fail_msg("free are %g, expected %g", left, bytes);
}

TEST(free_memory_heeds_the_machine_and_every_group) {
    static const char *const groups = "/sys/fs/cgroup";
    char path[200], command[500];
    const char *root = scratch_path(*state, "root");
    expect_free(root, INFINITY); /* no files, so no limits are known */
    put_file(root, "/proc/meminfo", "MemTotal: 900 kB\\nMemAvailable:   600 kB\\nSwapFree: 50 kB\\n");
    expect_free(root, 600 * 1024);
    put_file(root, "/proc/self/cgroup", "0::/a/b\\n");
    for (int i = 0; i < 3; i++) { /* /a/b has no limit; /a has one, of which its cache can be dropped; the root's limit
                                   * is the smallest */
        static const char *const group[] = {"/a/b", "/a", ""}, *const limit[] = {"max", "500000", "300000"},
                                 *const used[] = {"7", "100000", "250000"};
        snprintf(path, sizeof path, "%s%s/memory.max", groups, group[i]);
        put_file(root, path, limit[i]);
        snprintf(path, sizeof path, "%s%s/memory.current", groups, group[i]);
        put_file(root, path, used[i]);
        snprintf(path, sizeof path, "%s%s/memory.stat", groups, group[i]);
        put_file(root, path, "anon 5\\ninactive_file 30000\\n");
        const double left[] = {600 * 1024, 430000, 80000};
        expect_free(root, left[i]);
    }
    put_file(root, "/proc/self/cgroup", "not what is expected\\n::\\n");
    expect_free(root, 600 * 1024);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

int main(void) {
    mo_context_release(device_context(test_device()));
    return run_suite();
}
