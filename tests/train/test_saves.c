/* tests/train/test_saves.c - every call of every save and every reader of the library fails, is interrupted or moves
 * fewer bytes than asked for. The result must be the right bytes, or one line that names the file, which then is the
 * former one. Also tests the order of a save's calls. */
#include "tensor/files/file.h"
#include "tests/drawn_graphs.h"
#include "tests/failing_disk.h"
#include "tests/folder.h"
#include "tests/planted.h"
#include "tests/small_stack.h"
#include "train/run/trainer.h"

static const char entry_key[] = "format 1 graph 0123 dim 3";

/* A kind of file: a function that writes version 0 or 1 of it, and a function that reads it as a number. */
typedef struct kind {
    const char *name; /* name of the file */
    void (*write)(mo_context *ctx, const char *path, int version);
    double (*read)(mo_context *ctx, const char *path);
} kind;

/* ---- kinds ---- */

static mo_arrays *arrays_of(mo_context *ctx, int version) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    double x[600];
    for (int i = 0; i < 600; i++)
        x[i] = i + 0.5 * version;
    mo_arrays_take(arrays, "x", mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){200, 3}, x));
    return arrays;
}

static double figure_of(const mo_tensor *X) {
    double x[600], sum = 0;
    if (!X || mo_numel(X) != 600 || mo_tensor_read(X, x, sizeof x) != MO_OK)
        return 0;
    for (int i = 0; i < 600; i++)
        sum += (i + 1) * x[i];
    return sum;
}

static double figure_of_arrays(mo_arrays *arrays) {
    double figure = figure_of(arrays ? mo_arrays_find(arrays, "x") : NULL);
    mo_arrays_release(arrays);
    return figure;
}

static void write_npy(mo_context *ctx, const char *path, int version) {
    HELD(mo_arrays) *arrays = arrays_of(ctx, version);
    mo_npy_write(mo_arrays_find(arrays, "x"), path);
}

static double read_npy(mo_context *ctx, const char *path) {
    HELD(mo_tensor) *X = mo_npy_read(ctx, path);
    return figure_of(X);
}

static void write_graph(mo_context *ctx, const char *path, int version) {
    HELD(mo_graph) *graph = planted_graph(ctx, "planted", 30, 3, 0.5, 0.1, 1 + (uint64_t)version);
    mo_graph_write(graph, path);
}

static double read_graph(mo_context *ctx, const char *path) {
    HELD(mo_graph) *graph = mo_graph_open(ctx, path);
    return graph ? (double)(graph->hash[0] >> 12) : 0;
}

/* Writes edges as text; only reading is tested for this kind. */
static void write_edges(mo_context *ctx, const char *path, int version) {
    mo_file_replace(ctx, path, version ? "0 1\n1 2\n2 3\n" : "0 1\n", version ? 12 : 4);
}

static void write_weights(mo_context *ctx, const char *path, int version) {
    HELD(mo_model) *model = planted_model(ctx, 1 + (uint64_t)version);
    mo_feature_options features = planted_features();
    mo_weights_write(ctx, model, &(mo_weights_about){&features, (int[MO_TASKS]){0}, 1, "paper++", NULL}, path);
}

static double read_weights(mo_context *ctx, const char *path) {
    HELD(mo_model) *model = mo_model_open(ctx, path);
    float row[PLANTED_DIM * PLANTED_DIM];
    if (model)
        mo_tensor_read(mo_model_parameter(model, 0), row, sizeof row);
    return model && mo_ok(ctx) ? row[7] + 10 : 0;
}

/* A cache only prints notices; here a notice becomes an error. */
static void raise_notice(const char *line, void *ctx) {
    mo_fail(ctx, MO_IO, "%s", line);
}

static const char *folder_of(const char *path, char folder[512]) {
    snprintf(folder, 512, "%.*s", (int)(strrchr(path, '/') - path), path);
    return folder;
}

static void write_entry(mo_context *ctx, const char *path, int version) {
    char folder[512];
    mo_cache cache = {.ctx = ctx, .folder = folder_of(path, folder), .notice = raise_notice, .state = ctx};
    HELD(mo_arrays) *arrays = arrays_of(ctx, version);
    mo_cache_store(&cache, entry_key, arrays);
}

static double read_entry(mo_context *ctx, const char *path) {
    char folder[512];
    mo_cache cache = {.ctx = ctx, .folder = folder_of(path, folder), .notice = raise_notice, .state = ctx};
    mo_arrays *arrays = arrays_of(ctx, 0);
    bool loaded = mo_cache_load(&cache, entry_key, arrays);
    double figure = figure_of_arrays(arrays);
    return loaded ? figure : 0;
}

static const char *entry_name(void) {
    static char name[MO_CACHE_NAME + 16];
    mo_cache_name(entry_key, name);
    return strcat(name, ".safetensors");
}

static const kind kinds[] = {
    {"x.npy", write_npy, read_npy}, {"graph.npz", write_graph, read_graph}, {"edges.txt", write_edges, read_graph},
    {"weights.safetensors", write_weights, read_weights}, {NULL, write_entry, read_entry}, /* entry_name() */
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- one fault ---- */

/* The number of runs, and of each outcome. */
typedef struct tally {
    long runs, whole, refused;
} tally;

static int open_files(void) {
    return folder_files("/proc/self/fd", "", NULL);
}

static void assert_one_line(const mo_context *ctx, const char *name, const char *what) {
    const mo_status *status = mo_context_status(ctx);
    if (status->code != MO_IO || strchr(status->message, '\n') || !strstr(status->message, name))
        fail_msg("%s: expected one line that names the file, found %s: %s", what, mo_code_name(status->code),
            status->message);
}

static bool holds(const char *path, bytes expected) {
    HELD(bytes) b = read_bytes(path);
    return b.n == expected.n && (!b.n || !memcmp(b.data, expected.data, b.n));
}

/* Whether call k closes the folder: its failure loses nothing. */
static bool closes_folder(const char *folder, long k) {
    const char *line = disk_calls();
    char close[600];
    for (; k > 1 && *line; line = strchr(line, '\n') + 1)
        k -= strncmp(line, "made ", 5) != 0;
    return !strncmp(line, close, (size_t)snprintf(close, sizeof close, "close %s\n", folder));
}

/* Replaces version 0 (or no file) by version 1 under the plan. */
static void save_once(
    scratch *s, const kind *k, const char *path, const bytes version[2], disk_plan plan, bool replaced, tally *t) {
    char what[200];
    snprintf(what, sizeof what, "%s, %s at call %ld%s", strrchr(path, '/') + 1, disk_fault_name(plan.fault), plan.at,
        plan.always ? " and later" : "");
    unlink(path); /* a new file, as emptying the old one could wait for the disk */
    if (replaced)
        write_bytes(path, version[0].data, version[0].n);
    int before = open_files();
    disk_begin(&plan);
    k->write(s->ctx, path, 1);
    disk_end();
    if (!disk_met())
        return mo_clear_error(s->ctx);
    t->runs++;
    bool ok = mo_ok(s->ctx), last = strstr(mo_context_status(s->ctx)->message, "written, but") ||
                                    strstr(mo_context_status(s->ctx)->message, "cannot close");
    *(ok ? &t->whole : &t->refused) += 1;
    if (!ok)
        assert_one_line(s->ctx, strrchr(path, '/') + 1, what);
    if (ok && plan.fault != DISK_EINTR && plan.fault != DISK_SHORT && plan.always && !closes_folder(s->folder, plan.at))
        fail_msg("%s: a save without an error", what);
    if (!ok && plan.fault == DISK_SHORT)
        fail_msg("%s: %s", what, mo_context_status(s->ctx)->message);
    mo_clear_error(s->ctx);
    if (ok || last ? !holds(path, version[1]) : replaced ? !holds(path, version[0]) : access(path, F_OK) == 0)
        fail_msg("%s: %s, and the file holds something else", what, ok ? "no error" : "refused");
    if (scratch_files(s, false) != (ok || last || replaced))
        fail_msg("%s: other files are left", what);
    if (open_files() != before || mo_context_counters(s->ctx).bytes_live != s->live)
        fail_msg("%s: files or memory are not given back", what);
}

static const disk_plan faults[] = {
    {.fault = DISK_EIO},
    {.fault = DISK_EIO, .always = true},
    {.fault = DISK_ENOSPC},
    {.fault = DISK_ENOSPC, .always = true},
    {.fault = DISK_EINTR},
    {.fault = DISK_EINTR, .always = true},
    {.fault = DISK_SHORT},
    {.fault = DISK_SHORT, .always = true},
};

enum { N_FAULTS = sizeof faults / sizeof *faults };

static const char *path_of_kind(scratch *s, const kind *k) {
    return scratch_path(s, k->name ? k->name : entry_name());
}

/* Makes both versions of the file, as bytes. */
static void make_versions(scratch *s, const kind *k, const char *path, bytes version[2]) {
    for (int v = 0; v < 2; v++) {
        k->write(s->ctx, path, v);
        expect_ok(s->ctx);
        version[v] = read_bytes(path);
    }
    assert_true(!holds(path, version[0]));
}

static void save_at_every_call(scratch *s, bool named_only, tally *t) {
    for (int i = 0; i < KINDS; i++) {
        const char *path = path_of_kind(s, &kinds[i]);
        bytes version[2];
        make_versions(s, &kinds[i], path, version);
        for (int replaced = 0; replaced < 2; replaced++) {
            disk_plan plan = {.under = s->folder, .named_only = named_only};
            if (!replaced)
                unlink(path);
            disk_begin(&plan);
            kinds[i].write(s->ctx, path, 1);
            long n = disk_end();
            for (int f = 0; f < N_FAULTS; f++)
                for (long k = 1; k <= n; k++) {
                    plan = faults[f];
                    plan.under = s->folder;
                    plan.named_only = named_only;
                    plan.at = k;
                    save_once(s, &kinds[i], path, version, plan, replaced, t);
                }
        }
        bytes_release(&version[0]);
        bytes_release(&version[1]);
        unlink(path);
    }
}

TEST(a_fault_in_a_save_leaves_the_former_file_or_the_next) {
    for (int named_only = 0; named_only < 2; named_only++) {
        tally t = {0};
        save_at_every_call(*state, named_only, &t);
        print_message("%ld faults in saves of %d kinds of files%s: %ld saved, %ld refused\n", t.runs, KINDS,
            named_only ? " without O_TMPFILE" : "", t.whole, t.refused);
        assert_true(t.runs > 300 && t.whole > 50 && t.refused > 150);
    }
}

/* ---- readers ---- */

static void read_at_every_call(scratch *s, const kind *k, const char *path, double expected, tally *t) {
    disk_begin(&(disk_plan){.under = s->folder});
    k->read(s->ctx, path);
    long n = disk_end();
    for (int f = 0; f < N_FAULTS; f++)
        for (long at = 1; at <= n; at++) {
            disk_plan plan = faults[f];
            char what[200];
            snprintf(what, sizeof what, "%s, %s at call %ld", strrchr(path, '/') + 1, disk_fault_name(plan.fault), at);
            plan.under = s->folder;
            plan.at = at;
            disk_begin(&plan);
            double figure = k->read(s->ctx, path);
            disk_end();
            if (!disk_met())
                continue;
            t->runs++;
            *(mo_ok(s->ctx) ? &t->whole : &t->refused) += 1;
            if (mo_ok(s->ctx) && figure != expected)
                fail_msg("%s: %.17g without an error, expected %.17g", what, figure, expected);
            if (!mo_ok(s->ctx))
                assert_one_line(s->ctx, strrchr(path, '/') + 1, what);
            if (!mo_ok(s->ctx) && plan.fault == DISK_SHORT)
                fail_msg("%s: %s", what, mo_context_status(s->ctx)->message);
            mo_clear_error(s->ctx);
        }
}

TEST_OF(a_fault_in_a_reader_is_told_or_changes_nothing, scratch *s) {
    tally t = {0};
    for (int i = 0; i < KINDS; i++) {
        const char *path = path_of_kind(s, &kinds[i]);
        kinds[i].write(s->ctx, path, 1);
        int before = open_files();
        double expected = kinds[i].read(s->ctx, path);
        expect_ok(s->ctx);
        assert_true(expected != 0);
        read_at_every_call(s, &kinds[i], path, expected, &t);
        assert_int_equal(open_files(), before);
        unlink(path);
    }
    print_message(
        "%ld faults in readers of %d kinds of files: %ld read, %ld refused\n", t.runs, KINDS, t.whole, t.refused);
    assert_true(t.runs > 50 && t.whole > 20 && t.refused > 20);
}

/* ---- hop stacks, which are written in place, under another name until they are complete ---- */

static double open_stack(scratch *s, const char *folder) {
    return open_small_stack(s->ctx, folder, entry_key, SMALL_STACK_HOPS);
}

/* Opens a stack that is there, or not yet. Fails unless the stack is right in spite of the fault, or a notice is
 * printed and the stack is right when opened again. */
static void open_stack_at_every_call(scratch *s, const char *folder, bool there, double expected, tally *t) {
    long n = 1;
    for (int f = -1; f < N_FAULTS; f++) /* f = -1 has no fault, and counts the calls */
        for (long at = 1; at <= (f < 0 ? 1 : n); at++) {
            disk_plan plan = f < 0 ? (disk_plan){0} : faults[f];
            char what[200], path[1024];
            snprintf(what, sizeof what, "stack, %s at call %ld", disk_fault_name(plan.fault), at);
            folder_remove(folder);
            if (there)
                open_stack(s, folder);
            expect_ok(s->ctx);
            plan.under = folder;
            plan.at = at;
            int before = open_files();
            disk_begin(&plan);
            double sum = open_stack(s, folder);
            n = f < 0 ? disk_end() : n;
            disk_end();
            assert_int_equal(open_files(), before);
            if (!disk_met())
                continue;
            t->runs++;
            *(mo_ok(s->ctx) ? &t->whole : &t->refused) += 1;
            if (mo_ok(s->ctx) && sum != expected)
                fail_msg("%s: %.17g without an error, expected %.17g", what, sum, expected);
            if (!mo_ok(s->ctx))
                assert_one_line(s->ctx, folder, what);
            mo_clear_error(s->ctx);
            sum = open_stack(s, folder);
            expect_ok(s->ctx);
            if (sum != expected)
                fail_msg("%s: afterwards %.17g, expected %.17g", what, sum, expected);
            assert_int_equal(folder_files(folder, ".npy", path), 1);
            if (folder_files(folder, "", path) != 1)
                fail_msg("%s: %d files are left, %s\n%s", what, folder_files(folder, "", path), path, disk_calls());
        }
}

TEST_OF(a_fault_in_a_hop_stack_is_told_and_made_good, scratch *s) {
    tally t = {0};
    const char *folder = scratch_path(s, "stacks");
    double expected = open_stack(s, folder);
    expect_ok(s->ctx);
    assert_true(expected != 0);
    open_stack_at_every_call(s, folder, false, expected, &t);
    open_stack_at_every_call(s, folder, true, expected, &t);
    print_message("%ld faults in hop stacks: %ld right, %ld refused\n", t.runs, t.whole, t.refused);
    assert_true(t.runs > 80 && t.whole > 20 && t.refused > 40);
    folder_remove(folder);
}

/* ---- the order ---- */

TEST_OF(a_save_is_written_synced_named_and_its_folder_synced, scratch *s) {
    int saves = 0;
    char wrong[400];
    for (int named_only = 0; named_only < 2; named_only++)
        for (int i = 0; i < KINDS; i++) {
            const char *path = path_of_kind(s, &kinds[i]);
            for (int version = 0; version < 2; version++, saves++) { /* a new file, then a replaced one */
                long written;
                disk_begin(&(disk_plan){.under = s->folder, .named_only = named_only});
                kinds[i].write(s->ctx, path, version);
                disk_end();
                expect_ok(s->ctx);
                if (!disk_save_in_order(disk_calls(), path, &written, wrong))
                    fail_msg("%s\n%s", wrong, disk_calls());
                HELD(bytes) b = read_bytes(path);
                assert_int_equal(written, b.n);
            }
            unlink(path);
        }
    print_message("%d saves in order\n", saves);
    assert_int_equal(saves, 4 * KINDS);
}

TEST_OF(a_hop_stack_is_synced_before_it_has_its_name, scratch *s) {
    char path[1024], wrong[400];
    long written;
    const char *folder = scratch_path(s, "stacks");
    folder_remove(folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    disk_begin(&(disk_plan){.under = folder});
    open_stack(s, folder);
    disk_end();
    expect_ok(s->ctx);
    assert_int_equal(folder_files(folder, ".npy", path), 1);
    if (!disk_save_in_order(disk_calls(), path, &written, wrong))
        fail_msg("%s\n%s", wrong, disk_calls());
    assert_true(written > 0);
    folder_remove(folder);
}
