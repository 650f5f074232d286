/* tests/train/test_damage.c - every flipped bit and every truncation of a small checkpoint and of small weights is
 * refused. */
#include "tests/training_run.h"

typedef struct subject {
    training_run run;
    char path[600];
} subject;

static bool reads_weights(subject *s) {
    mo_weights *w = mo_weights_read(s->run.ctx, s->path);
    mo_weights_release(w);
    return w;
}

static bool reads_checkpoint(subject *s) {
    return mo_checkpoint_read(s->run.trainer) == MO_OK;
}

static void put_file(const char *path, const unsigned char *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Damages the file in every way and counts what is read as if nothing were wrong. */
static void expect_no_silent_damage(subject *s, bool (*reads)(subject *s)) {
    bytes whole = read_bytes(s->path);
    int64_t accepted = 0;
    FILE *file = fopen(s->path, "r+b");
    assert_non_null(file);
    assert_true(reads(s));
    for (size_t bit = 0; bit < 8 * whole.n; bit++) {
        whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(pwrite(fileno(file), whole.data + bit / 8, 1, (off_t)(bit / 8)), 1);
        accepted += reads(s);
        if (strchr(mo_context_status(s->run.ctx)->message, '\n'))
            fail_msg("expected one line, found: %s", mo_context_status(s->run.ctx)->message);
        mo_clear_error(s->run.ctx);
        whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(pwrite(fileno(file), whole.data + bit / 8, 1, (off_t)(bit / 8)), 1);
    }
    for (size_t n = whole.n; n-- > 0;) {
        assert_int_equal(ftruncate(fileno(file), (off_t)n), 0);
        accepted += reads(s);
        mo_clear_error(s->run.ctx);
    }
    fclose(file);
    put_file(s->path, whole.data, whole.n);
    assert_true(reads(s));
    print_message("%s: %zu flipped bits, %zu truncations, %lld accepted\n", strrchr(s->path, '/') + 1, 8 * whole.n,
        whole.n, (long long)accepted);
    assert_int_equal(accepted, 0);
    bytes_release(&whole);
}

/* A finished run of the invariant encoder, whose files are small. */
static void small_files_are_refused_damaged(void **state) {
    scratch *s = *state;
    char folder[400];
    mo_feature_options features = planted_features();
    run_options o = usual_run;
    features.form = MO_FEATURES_OF_EXAMPLES;
    o.features = &features;
    snprintf(folder, sizeof folder, "%s/run", s->folder);
    run_until(&o, folder, false, o.steps);
    subject of = {.run = run_open(&o, folder)};
    snprintf(of.path, sizeof of.path, "%s/weights.safetensors", folder);
    expect_no_silent_damage(&of, reads_weights);
    snprintf(of.path, sizeof of.path, "%s/checkpoint.safetensors", folder);
    expect_no_silent_damage(&of, reads_checkpoint);
    run_close(&of.run);
    folder_remove(folder);
}

/* The same file as older versions wrote it, without digests. Returns its path. */
static const char *strip(scratch *s, const char *path) {
    bytes b = read_bytes(path), old = {0};
    size_t n = b.data[0] | (size_t)b.data[1] << 8;
    json_t *header = json_loadb((char *)b.data + 8, n, 0, NULL), *metadata = json_object_get(header, "__metadata__");
    assert_int_equal(json_object_del(metadata, "xxh3_header") | json_object_del(metadata, "xxh3_tensors"), 0);
    char *text = json_dumps(header, JSON_COMPACT);
    bytes_append_number(&old, strlen(text), 8);
    bytes_append(&old, text, strlen(text));
    bytes_append(&old, b.data + 8 + n, b.n - 8 - n);
    scratch_write(s, "old.safetensors", old.data, old.n);
    free(text);
    json_decref(header);
    bytes_release(&b);
    bytes_release(&old);
    return s->path;
}

static void files_without_digests_say_how_to_convert(void **state) {
    scratch *s = *state;
    char folder[400], path[600];
    snprintf(folder, sizeof folder, "%s/run", s->folder);
    run_until(&usual_run, folder, false, usual_run.steps);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    assert_null(mo_weights_read(s->ctx, strip(s, path)));
    assert_failed(s->ctx, MO_FORMAT,
        PARTS("old.safetensors: expected digests of its header and tensors, found none", "`mochi data convert ",
            " NEW.safetensors`"));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    bytes old = read_bytes(strip(s, path));
    put_file(path, old.data, old.n);
    training_run run = run_open(&usual_run, folder);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, MO_FORMAT, PARTS("checkpoint.safetensors: expected digests", "`mochi data convert "));
    /* What the command does: the same tensors and metadata, written again. */
    mo_arrays *arrays = mo_safetensors_read(run.ctx, path);
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
    mo_arrays_release(arrays);
    assert_int_equal(mo_checkpoint_read(run.trainer), MO_OK);
    run_close(&run);
    bytes_release(&old);
    folder_remove(folder);
    scratch_files(s, true);
}

/* A file of the same tensors and metadata that calls itself something else is no checkpoint. */
static void the_format_of_a_checkpoint_is_read(void **state) {
    scratch *s = *state;
    char folder[400], path[600];
    snprintf(folder, sizeof folder, "%s/run", s->folder);
    run_until(&usual_run, folder, false, 2);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    training_run run = run_open(&usual_run, folder);
    mo_arrays *arrays = mo_safetensors_read(run.ctx, path);
    char *format = strstr(arrays->metadata, "mochi checkpoint");
    assert_non_null(format);
    format[0] = 'M';
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
    mo_arrays_release(arrays);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, MO_FORMAT, PARTS("\"mochi checkpoint\" as format", "found \"Mochi checkpoint\""));
    run_close(&run);
    folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files_are_refused_damaged),
        cmocka_unit_test(files_without_digests_say_how_to_convert),
        cmocka_unit_test(the_format_of_a_checkpoint_is_read),
    };
    return cmocka_run_group_tests(tests, scratch_create, planted_release);
}
