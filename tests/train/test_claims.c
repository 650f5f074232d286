/* tests/train/test_claims.c - files whose metadata claim sizes that their tensors do not have: refused before memory of
 * those sizes is asked for. Bound: 64 MiB and twice the file. */
#include "tests/training_run.h"

static const fixtures around_all = {scratch_create, planted_release};

/* A finished run of either model in s->folder/run; its weights are read, their metadata changed and written again. */
static void finish_run(scratch *s, mo_feature_form form, char folder[400]) {
    mo_feature_options features = planted_features();
    run_options o = usual_run;
    features.form = form;
    o.features = &features;
    snprintf(folder, 400, "%s/run", s->folder);
    run_until(&o, folder, false, o.steps);
}

/* The file of that path with one setting changed, with digests that hold. */
static const char *claim(scratch *s, const char *path, const char *key, const char *value) {
    mo_arrays *arrays = mo_safetensors_read(s->ctx, path);
    assert_non_null(arrays);
    json_t *metadata = json_loads(arrays->metadata, 0, NULL);
    json_object_set_new(metadata, key, json_string(value));
    char *text = json_dumps(metadata, JSON_COMPACT);
    assert_int_equal(mo_safetensors_write(arrays, text, scratch_path(s, "claims.safetensors")), MO_OK);
    free(text);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return s->path;
}

/* Reading these weights and making their model fails with that word, within the bound. */
static void expect_refused(scratch *s, const char *path, const char *key, const char *value, const char *word) {
    bytes file = read_bytes(claim(s, path, key, value));
    mo_context_reset_peaks(s->ctx);
    int64_t before = mo_context_counters(s->ctx).bytes_live;
    mo_weights *w = mo_weights_read(s->ctx, s->path);
    mo_model *model = w ? mo_weights_model(w) : NULL;
    int64_t asked = mo_context_counters(s->ctx).bytes_peak - before;
    if (model)
        fail_msg("%s = %s was taken", key, value);
    assert_failed(s->ctx, MO_FORMAT, PARTS("weights", word));
    if (asked > (64 << 20) + 2 * (int64_t)file.n)
        fail_msg("%s = %s asked for %lld bytes", key, value, (long long)asked);
    mo_weights_release(w);
    bytes_release(&file);
    scratch_files(s, true);
}

TEST(weights_of_mochi_are_as_large_as_they_claim) {
    scratch *s = *state;
    char folder[400], path[600];
    finish_run(s, MO_FEATURES_OF_NODES, folder);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    expect_refused(s, path, "dim", "65536", "expected dim to be the size of a tensor or at most 2048, found 65536");
    expect_refused(s, path, "dim", "2048", "encoder.input_proj.0.weight is [16, 16]");
    expect_refused(s, path, "hops", "64", "encoder.input_proj.64.weight is absent");
    folder_remove(folder);
}

TEST(weights_of_the_invariant_encoder_are_too) {
    scratch *s = *state;
    char folder[400], path[600];
    finish_run(s, MO_FEATURES_OF_EXAMPLES, folder);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    expect_refused(s, path, "dim", "65536", "expected dim to be the size of a tensor or at most 2048, found 65536");
    expect_refused(s, path, "hops", "2", "encoder.hop is");
    folder_remove(folder);
}

/* A head of widths that no tensor has. */
TEST(widths_of_heads_are_those_of_their_tensors) {
    scratch *s = *state;
    char folder[400], path[600], first[600];
    finish_run(s, MO_FEATURES_OF_EXAMPLES, folder);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    static const char *const readout[][2] = {
        {"head", "residual"}, {"lambda", "1"}, {"temperature", "logit"}, {"width_nc", "1073741824"}};
    for (int i = 0; i < 3; i++) {
        snprintf(first, sizeof first, "%s", claim(s, path, readout[i][0], readout[i][1]));
        snprintf(path, sizeof path, "%s/weights.safetensors", folder);
        assert_int_equal(rename(first, path), 0);
    }
    expect_refused(s, path, readout[3][0], readout[3][1], "width_nc");
    folder_remove(folder);
}

/* The settings of run.json are those of the checkpoint before anything of their sizes is made. */
TEST(run_json_is_compared_with_the_checkpoint) {
    scratch *s = *state;
    char folder[400], path[600];
    finish_run(s, MO_FEATURES_OF_NODES, folder);
    assert_int_equal(mo_run_check(s->ctx, folder), MO_OK);
    snprintf(path, sizeof path, "%s/run.json", folder);
    json_t *run = json_load_file(path, 0, NULL);
    json_object_set_new(json_object_get(run, "features"), "dim", json_integer(65536));
    assert_int_equal(json_dump_file(run, path, 0), 0);
    json_decref(run);
    assert_int_not_equal(mo_run_check(s->ctx, folder), MO_OK);
    assert_failed(s->ctx, MO_INVALID, PARTS("features.dim = 16", "has 65536"));
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_not_equal(mo_run_check(s->ctx, folder), MO_OK);
    assert_failed(s->ctx, MO_FORMAT, PARTS("checkpoint.safetensors", "checkpoint.previous.safetensors, of step 6"));
    folder_remove(folder);
    assert_int_not_equal(mo_run_check(s->ctx, folder), MO_OK);
    assert_failed(s->ctx, MO_IO, PARTS("nothing to continue from"));
}
