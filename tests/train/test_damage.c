/* tests/train/test_damage.c - flipped bits and truncations of small files (checkpoint, weights, cache entry, saved
 * readout) are refused. The suite `long` tries all of them, other suites every seventh in files above 1 KiB. */
#include "tests/small_stack.h"
#include "tests/training_run.h"
#include "train/saved_readout.h"

typedef struct subject {
    mo_context *ctx;
    mo_trainer *trainer;
    const mo_cache *cache;
    const mo_arrays *arrays; /* for a cache entry: its arrays */
    mo_graph *graph;         /* for a saved readout: its graph; below its weights */
    const char *weights;
    char path[600];
} subject;

enum { LARGE = 1024, STRIDE = 7 }; /* every seventh bit still meets each place in a byte, and each word of a header */

static bool every; /* tries every bit and length of files above LARGE bytes too: the argument `every` */

static const char entry_key[] = "format 1 graph 0123 dim 3";

static bool reads_weights(subject *s) {
    HELD(mo_weights) *w = mo_weights_read(s->ctx, s->path);
    return w;
}

static bool reads_checkpoint(subject *s) {
    return mo_checkpoint_read(s->trainer) == MO_OK;
}

static bool reads_readout(subject *s) {
    mo_few_shot_options o = {.weights = s->weights};
    HELD(mo_weights) *w = mo_weights_read(s->ctx, s->weights);
    mo_saved_readout saved;
    bool read = mo_saved_readout_read(s->path, s->graph, &o, w, &saved) == MO_OK;
    mo_saved_readout_release(&saved);
    return read;
}

static bool reads_entry(subject *s) {
    return mo_cache_load(s->cache, entry_key, s->arrays);
}

static bool reads_stack(subject *s) {
    char folder[400];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(s->path, '/') - s->path), s->path);
    return small_stack_of(s->ctx, folder, entry_key, 2, s) != 0;
}

/* Whether a byte is in the middle of 33 zeros, where flipping one bit is as good as any. */
static bool is_padding(bytes b, size_t at) {
    for (size_t i = at < 16 ? 0 : at - 16; i <= at + 16; i++)
        if (i >= b.n || b.data[i])
            return false;
    return true;
}

/* Damages the file in every way; fails if a damaged version is read without an error. */
static void expect_no_silent_damage(subject *s, bool (*reads)(subject *s)) {
    HELD(bytes) whole = read_bytes(s->path);
    int64_t accepted = 0, flips = 0, cuts = 0;
    size_t step = every || whole.n <= LARGE ? 1 : STRIDE;
    FILE *file = fopen(s->path, "r+b");
    assert_non_null(file);
    assert_true(reads(s));
    for (size_t bit = 0; bit < 8 * whole.n; bit += step) {
        if (bit % 8 != bit / 8 % 8 && is_padding(whole, bit / 8))
            continue;
        flips++;
        whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(pwrite(fileno(file), whole.data + bit / 8, 1, (off_t)(bit / 8)), 1);
        accepted += reads(s);
        if (strchr(mo_context_status(s->ctx)->message, '\n'))
            fail_msg("expected one line, found: %s", mo_context_status(s->ctx)->message);
        mo_clear_error(s->ctx);
        whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(pwrite(fileno(file), whole.data + bit / 8, 1, (off_t)(bit / 8)), 1);
    }
    for (size_t n = whole.n; n-- > 0;) {
        if ((n % 8 && is_padding(whole, n)) || n % step)
            continue;
        cuts++;
        assert_int_equal(ftruncate(fileno(file), (off_t)n), 0);
        accepted += reads(s);
        mo_clear_error(s->ctx);
    }
    fclose(file);
    write_bytes(s->path, whole.data, whole.n);
    assert_true(reads(s));
    print_message("%s: %lld flipped bits and %lld truncations of %zu bytes, %lld accepted\n", strrchr(s->path, '/') + 1,
        (long long)flips, (long long)cuts, whole.n, (long long)accepted);
    assert_true(flips > 0 && cuts > 0);
    assert_int_equal(accepted, 0);
}

/* Writes a readout of four nodes over the subject's weights, and sets the subject's path and graph to it. */
static void write_readout(subject *of, const char *folder) {
    mo_graph *graph = planted_graph(of->ctx, "planted", 30, 2, 0.5, 0.1, 1);
    mo_few_shot_options o = {.weights = of->weights, .head = &mo_head_ridge, .lambda = 0.5};
    mo_labels known;
    of->graph = graph;
    assert_true(mo_labels_of(of->ctx, (int64_t[]){0, 1, -1, 1, 0, -1}, NULL, 6, &known));
    snprintf(of->path, sizeof of->path, "%s/readout.safetensors", folder);
    HELD(mo_weights) *w = mo_weights_read(of->ctx, of->weights);
    HELD(mo_few_shot) *f = mo_few_shot_open_as(graph, MO_TASK_NC, &o, w);
    assert_int_equal(mo_few_shot_fit(f, known.id, known.label, known.n), MO_OK);
    assert_int_equal(mo_few_shot_write(f, graph, &o, w, &known, NULL, of->path), MO_OK);
    mo_labels_release(&known);
}

static void damage_readout(scratch *s, const char *weights) {
    subject of = {.ctx = s->ctx, .weights = weights};
    write_readout(&of, s->folder);
    expect_no_silent_damage(&of, reads_readout);
    assert_int_equal(unlink(of.path), 0);
    mo_graph_release(of.graph);
}

/* Writes the readout again, with right digests and id and label of these lengths. */
static void set_lengths(subject *of, const int64_t n[2]) {
    static const int64_t zeros[1000];
    HELD(mo_arrays) *read = mo_safetensors_read(of->ctx, of->path), *other = mo_arrays_create(of->ctx);
    json_t *metadata = json_loads(read->metadata, 0, NULL);
    json_object_del(metadata, "xxh3_header");
    json_object_del(metadata, "xxh3_tensors");
    HELD_MEMORY char *text = json_dumps(metadata, JSON_COMPACT);
    for (int i = 0; i < 2; i++)
        mo_arrays_take(other, i ? "label" : "id", mo_tensor_create_from(of->ctx, MO_I64, 1, &n[i], zeros));
    assert_int_equal(mo_safetensors_write(other, text, of->path), MO_OK);
    json_decref(metadata);
}

/* An empty first array leaves no length unset. */
TEST_OF(arrays_of_a_readout_have_one_length, scratch *s) {
    static const int64_t cases[][2] = {{0, 1000}, {0, 0}, {1, 0}, {1000, 1}, {1, 1000}};
    subject of = {.ctx = s->ctx, .weights = "best"};
    write_readout(&of, s->folder);
    assert_true(reads_readout(&of));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_lengths(&of, cases[i]);
        assert_false(reads_readout(&of));
        assert_failed(s->ctx, MO_FORMAT, PARTS("readout.safetensors: expected the array ", "n 1 or more"));
    }
    mo_graph_release(of.graph);
    assert_int_equal(unlink(of.path), 0);
}

/* Files of a finished run of the invariant encoder, which are small. */
TEST_OF(small_files_are_refused_damaged, scratch *s) {
    mo_feature_options features = planted_features();
    run_options o = usual_run;
    features.form = MO_ROWS_PER_EXAMPLE;
    o.features = &features;
    const char *folder = scratch_folder(s, "run");
    run_until(&o, folder, false, o.steps);
    HELD(training_run) run = run_open(&o, folder);
    subject of = {.ctx = run.ctx, .trainer = run.trainer};
    snprintf(of.path, sizeof of.path, "%s/weights.safetensors", folder);
    expect_no_silent_damage(&of, reads_weights);
    damage_readout(s, of.path);
    snprintf(of.path, sizeof of.path, "%s/checkpoint.previous.safetensors", folder);
    assert_int_equal(unlink(of.path), 0); /* without it, a failed load would also read the previous checkpoint, to
                                           * suggest it */
    snprintf(of.path, sizeof of.path, "%s/checkpoint.safetensors", folder);
    expect_no_silent_damage(&of, reads_checkpoint);
}

/* Writes the file as older versions did, without digests. Returns its path. */
static const char *strip(scratch *s, const char *path) {
    HELD(bytes) b = read_bytes(path), old = {0};
    size_t n = b.data[0] | (size_t)b.data[1] << 8;
    json_t *header = json_loadb((char *)b.data + 8, n, 0, NULL), *metadata = json_object_get(header, "__metadata__");
    assert_int_equal(json_object_del(metadata, "xxh3_header") | json_object_del(metadata, "xxh3_tensors"), 0);
    HELD_MEMORY char *text = json_dumps(header, JSON_COMPACT);
    bytes_append_number(&old, strlen(text), 8);
    bytes_append(&old, text, strlen(text));
    bytes_append(&old, b.data + 8 + n, b.n - 8 - n);
    scratch_write(s, "old.safetensors", old.data, old.n);
    json_decref(header);
    return s->path;
}

static mo_arrays *make_entry(mo_context *ctx, float first) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_arrays_take(
        arrays, "basis", mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){2, 3}, (float[]){first, 2, 3, 4, 5, 6}));
    mo_arrays_take(arrays, "svd", mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){2}, (double[]){0.5, 0.25}));
    return arrays;
}

TEST_OF(small_entries_are_refused_damaged, scratch *s) {
    char name[MO_CACHE_NAME];
    const char *folder = scratch_folder(s, "cache");
    mo_cache cache = {.ctx = s->ctx, .folder = folder};
    HELD(mo_arrays) *arrays = make_entry(s->ctx, 1);
    mo_cache_store(&cache, entry_key, arrays);
    subject of = {.ctx = s->ctx, .cache = &cache, .arrays = arrays};
    snprintf(of.path, sizeof of.path, "%s/%s.safetensors", folder, mo_cache_name(entry_key, name));
    expect_no_silent_damage(&of, reads_entry);
}

TEST_OF(small_stacks_are_refused_damaged, scratch *s) {
    char name[MO_CACHE_NAME];
    const char *folder = scratch_folder(s, "cache");
    assert_true(open_small_stack(s->ctx, folder, entry_key, 2) != 0);
    assert_true(mo_ok(s->ctx));
    subject of = {.ctx = s->ctx};
    snprintf(of.path, sizeof of.path, "%s/%s.npy", folder, mo_cache_name(entry_key, name));
    expect_no_silent_damage(&of, reads_stack);
}

static void take_notice(const char *line, void *state) {
    snprintf(state, 1200, "%s", line);
}

/* A valid entry of another graph under this graph's name is reported and not used. */
TEST_OF(an_entry_is_bound_to_its_key, scratch *s) {
    char name[MO_CACHE_NAME], from[600], to[600], said[1200] = "";
    const char *folder = scratch_folder(s, "cache");
    mo_cache cache = {.ctx = s->ctx, .folder = folder, .notice = take_notice, .state = said};
    HELD(mo_arrays) *other = make_entry(s->ctx, 7), *arrays = make_entry(s->ctx, 1);
    mo_cache_store(&cache, "another", other);
    snprintf(from, sizeof from, "%s/%s.safetensors", folder, mo_cache_name("another", name));
    snprintf(to, sizeof to, "%s/%s.safetensors", folder, mo_cache_name(entry_key, name));
    assert_true(mo_cache_load(&cache, "another", other));
    assert_int_equal(rename(from, to), 0);
    assert_false(mo_cache_load(&cache, entry_key, arrays));
    assert_true(mo_ok(s->ctx));
    assert_non_null(strstr(said, "expected features made of \"format 1 graph 0123 dim 3\", found others; made again"));
    assert_true(*(float *)mo_tensor_view(mo_arrays_find(arrays, "basis")).data == 1);
}

/* An entry whose values another program has changed, without writing digests. */
TEST_OF(an_entry_without_digests_is_not_used, scratch *s) {
    char name[MO_CACHE_NAME], path[600], said[1200] = "";
    const char *folder = scratch_folder(s, "cache");
    mo_cache cache = {.ctx = s->ctx, .folder = folder, .notice = take_notice, .state = said};
    HELD(mo_arrays) *arrays = make_entry(s->ctx, 1);
    mo_cache_store(&cache, entry_key, arrays);
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, mo_cache_name(entry_key, name));
    HELD(bytes) old = read_bytes(strip(s, path));
    write_bytes(path, old.data, old.n);
    assert_false(mo_cache_load(&cache, entry_key, arrays));
    assert_non_null(strstr(said, "expected digests of its header and tensors"));
}

TEST_OF(files_without_digests_say_how_to_convert, scratch *s) {
    const char *folder = scratch_folder(s, "run");
    const char *weights = scratch_path(s, "run/weights.safetensors");
    const char *path = scratch_path(s, "run/checkpoint.safetensors");
    run_until(&usual_run, folder, false, usual_run.steps);
    assert_null(mo_weights_read(s->ctx, strip(s, weights)));
    assert_failed(s->ctx, MO_FORMAT,
        PARTS("old.safetensors: expected digests of its header and tensors, found none", "`mochi data convert ",
            " NEW.safetensors`"));
    HELD(bytes) old = read_bytes(strip(s, path));
    write_bytes(path, old.data, old.n);
    HELD(training_run) run = run_open(&usual_run, folder);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, MO_FORMAT, PARTS("checkpoint.safetensors: expected digests", "`mochi data convert "));
    /* Writes the same tensors and metadata again, as `mochi data convert` does. */
    HELD(mo_arrays) *arrays = mo_safetensors_read(run.ctx, path);
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
    assert_int_equal(mo_checkpoint_read(run.trainer), MO_OK);
}

int main(int argc, char **argv) {
    every = argc > 1 && !strcmp(argv[1], "every");
    return run_suite();
}
