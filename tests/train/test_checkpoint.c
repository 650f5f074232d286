/* tests/train/test_checkpoint.c - files that must be refused: checkpoints of other settings, or whose content makes no
 * sense (cut short, with flipped bits: test_damage.c); logs without the steps of the checkpoint; weights without the
 * settings needed to use them. */
#include "tests/training_run.h"

static const fixtures around_all = {scratch_create, planted_release};

static char *folder_of(scratch *s) {
    static char path[512];
    snprintf(path, sizeof path, "%s/run", s->folder);
    return path;
}

static int clean_up(void **state) {
    folder_remove(folder_of(*state));
    return 0;
}

static const fixtures around_each = {NULL, clean_up};

static void write_file(const char *folder, const char *name, const void *data, size_t n) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

/* The parameters of a run as they are now. */
static bytes parameters_of(const training_run *run) {
    bytes all = {0};
    for (int i = 0; i < mo_model_n_parameters(run->model); i++) {
        mo_tensor *P = mo_model_parameter(run->model, i);
        bytes_append(&all, mo_tensor_view(P).data, (size_t)mo_numel(P) * sizeof(float));
    }
    return all;
}

/* Resuming fails with that code and those words, and changes neither weights nor files. */
static void assert_refused(const run_options *o, const char *folder, mo_code code, const char *const *parts) {
    training_run run = run_open(o, folder);
    bytes weights = parameters_of(&run), log = run_file(folder, "log.jsonl");
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, code, parts);
    assert_same_bytes(weights, parameters_of(&run));
    assert_same_bytes(log, run_file(folder, "log.jsonl"));
    run_close(&run);
}

static void flip_middle(const char *folder, const char *name) {
    bytes b = run_file(folder, name);
    b.data[b.n / 2] ^= 1;
    write_file(folder, name, b.data, b.n);
    bytes_release(&b);
}

/* Checkpoints are written after 0, 3, 5 steps: if the checkpoint of step 5 is damaged, the one of step 3 remains and
 * leads to the same weights. */
TEST(previous_checkpoint_is_kept_and_offered) {
    char *folder = folder_of(*state), whole[520], from[600], to[600];
    snprintf(whole, sizeof whole, "%s-whole", folder);
    snprintf(from, sizeof from, "%s/checkpoint.previous.safetensors", folder);
    snprintf(to, sizeof to, "%s/checkpoint.safetensors", folder);
    run_until(&usual_run, whole, false, usual_run.steps);
    run_until(&usual_run, folder, false, 5);
    bytes kept = run_file(folder, "checkpoint.safetensors");
    flip_middle(folder, "checkpoint.safetensors");
    assert_refused(&usual_run, folder, MO_FORMAT,
        PARTS("checkpoint.safetensors: damaged", "checkpoint.previous.safetensors, of step 3, is whole",
            "rename it to checkpoint.safetensors"));
    assert_int_equal(rename(from, to), 0);
    run_until(&usual_run, folder, true, usual_run.steps);
    assert_same_run(whole, folder);
    write_file(folder, "checkpoint.safetensors", kept.data, kept.n - 1);
    flip_middle(folder, "checkpoint.previous.safetensors");
    training_run run = run_open(&usual_run, folder);
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_null(strstr(mo_context_status(run.ctx)->message, "previous"));
    run_close(&run);
    bytes_release(&kept);
    folder_remove(whole);
}

TEST(missing_checkpoint_is_named) {
    char *folder = folder_of(*state);
    training_run run = run_open(&usual_run, folder);
    mo_trainer_resume(run.trainer);
    assert_failed(run.ctx, MO_IO, PARTS("resume", "checkpoint.safetensors"));
    assert_int_not_equal(access(folder, F_OK), 0); /* nothing was made */
    run_close(&run);
}

TEST(other_settings_are_refused_by_name) {
    char *folder = folder_of(*state);
    run_options o = usual_run, other;
    o.settings = "{\"recipe\":\"paper++\",\"lambda\":10}";
    run_until(&o, folder, false, 2);
    other = o;
    other.lr = 2e-2;
    assert_refused(&other, folder, MO_INVALID, PARTS("trainer.adamw.lr", "0.01", "0.02"));
    other = o;
    other.steps = 9;
    assert_refused(&other, folder, MO_INVALID, PARTS("trainer.steps = 8", "has 9"));
    other = o;
    other.episodes = 1;
    assert_refused(&other, folder, MO_INVALID, PARTS("trainer.episodes_per_step = 3"));
    other = o;
    other.settings = "{\"recipe\":\"paper++\",\"lambda\":1}";
    assert_refused(&other, folder, MO_INVALID, PARTS("settings.lambda = 10", "has 1"));
    other = o;
    other.settings = "{\"recipe\":\"paper++\"}";
    assert_refused(&other, folder, MO_INVALID, PARTS("settings.lambda = 10", "nothing"));
    other = o;
    other.checkpoint_every = 1; /* decides nothing */
    run_until(&other, folder, true, o.steps);
}

TEST(log_without_the_steps_is_refused) {
    char *folder = folder_of(*state);
    run_until(&usual_run, folder, false, 3);
    bytes log = run_file(folder, "log.jsonl");
    size_t first = (size_t)((unsigned char *)memchr(log.data, '\n', log.n) - log.data) + 1;
    write_file(folder, "log.jsonl", log.data, log.n - 2);
    training_run run = run_open(&usual_run, folder);
    mo_trainer_resume(run.trainer);
    assert_failed(run.ctx, MO_FORMAT, PARTS("log.jsonl", "expected step 2 in line 3"));
    run_close(&run);
    write_file(folder, "log.jsonl", log.data + first, log.n - first);
    run = run_open(&usual_run, folder);
    mo_trainer_resume(run.trainer);
    assert_failed(run.ctx, MO_FORMAT, PARTS("log.jsonl", "expected step 0 in line 1"));
    run_close(&run);
    bytes_release(&log);
}

/* Another core rounds otherwise, so the run no longer equals the uninterrupted one: the checkpoint tells. */
TEST(blas_core_of_another_machine_stays_on_record) {
    scratch *s = *state;
    char *folder = folder_of(s), path[600], expected[128];
    run_until(&usual_run, folder, false, 2);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    mo_arrays *arrays = mo_safetensors_read(s->ctx, path);
    json_t *metadata = json_loads(arrays->metadata, 0, NULL);
    json_object_set_new(metadata, "blas_core", json_string("Elsewhere"));
    char *text = json_dumps(metadata, JSON_COMPACT);
    assert_int_equal(mo_safetensors_write(arrays, text, path), MO_OK);
    free(text);
    json_decref(metadata);
    mo_arrays_release(arrays);
    run_until(&usual_run, folder, true, usual_run.steps);
    snprintf(expected, sizeof expected, "\"Elsewhere,%s\"", mo_blas_core());
    bytes run = run_file(folder, "run.json");
    bytes_append(&run, "", 1);
    assert_non_null(strstr((char *)run.data, expected));
    bytes_release(&run);
}

/* A whole checkpoint, its digests in order, with one value of its metadata replaced, or removed. */
TEST(metadata_that_make_no_sense_are_refused) {
    scratch *s = *state;
    char *folder = folder_of(s), path[600];
    static const char *const cases[][3] = {
        {"step", "", "expected step, settings and blas_core"},
        {"step", "2x", "expected step, settings and blas_core"},
        {"step", "-1", "expected step, settings and blas_core"},
        {"step", NULL, "expected step, settings and blas_core"},
        {"step", "99", "expected a step of 0 to 8, found 99"},
        {"settings", "[1]", "expected step, settings and blas_core"},
        {"blas_core", NULL, "expected step, settings and blas_core"},
        {"format", "other", "as format in its metadata, found \"other\""},
        {"format", NULL, "as format in its metadata, found \"\""},
    };
    run_until(&usual_run, folder, false, 2);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    mo_arrays *arrays = mo_safetensors_read(s->ctx, path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *metadata = json_loads(arrays->metadata, 0, NULL);
        if (cases[i][1])
            json_object_set_new(metadata, cases[i][0], json_string(cases[i][1]));
        else
            json_object_del(metadata, cases[i][0]);
        char *text = json_dumps(metadata, JSON_COMPACT);
        assert_int_equal(mo_safetensors_write(arrays, text, path), MO_OK);
        free(text);
        json_decref(metadata);
        assert_refused(&usual_run, folder, MO_FORMAT, PARTS("checkpoint.safetensors", cases[i][2]));
    }
    mo_arrays_release(arrays);
}

/* A whole checkpoint with one tensor of another type, number of axes or shape, or without it. */
TEST(tensors_of_another_form_are_refused) {
    scratch *s = *state;
    char *folder = folder_of(s), path[600], shape[160];
    run_until(&usual_run, folder, false, 2);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    mo_arrays *arrays = mo_safetensors_read(s->ctx, path);
    mo_array *first = &arrays->items[0], kept = *first;
    int64_t more[MO_MAX_AXES] = {1};
    int ndim = kept.tensor->ndim;
    memcpy(more + 1, kept.tensor->shape, (size_t)ndim * sizeof *more);
    mo_tensor *others[] = {
        mo_tensor_create(s->ctx, MO_F64, ndim, more + 1), mo_tensor_create(s->ctx, MO_F32, ndim + 1, more), NULL};
    more[1]++;
    others[2] = mo_tensor_create(s->ctx, MO_F32, ndim, more + 1);
    for (int i = 0; i < 3; i++) {
        first->tensor = others[i];
        assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
        mo_shape_string(others[i], shape, sizeof shape);
        assert_refused(
            &usual_run, folder, MO_FORMAT, PARTS("checkpoint.safetensors: expected ", kept.name, ", found ", shape));
        mo_tensor_release(others[i]);
    }
    first->tensor = kept.tensor;
    arrays->items[0] = arrays->items[arrays->count - 1];
    arrays->items[--arrays->count] = kept;
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
    assert_refused(&usual_run, folder, MO_FORMAT, PARTS("expected a tensor", kept.name, "found none"));
    arrays->count++;
    mo_arrays_release(arrays);
}

TEST(settings_that_are_no_object_are_refused) {
    scratch *s = *state;
    mo_pool *pool = planted_pool(s->ctx);
    mo_model *model = planted_model(s->ctx, 1);
    mo_trainer_options o = {.steps = 1,
        .episodes_per_step = 1,
        .adamw = {.epsilon = 1e-8},
        .plan = planted_plans(1),
        .out = folder_of(s),
        .settings = "[1, 2"};
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("settings", "JSON object"));
    o.settings = "[1, 2]";
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("settings", "JSON object"));
    o.settings = NULL;
    o.steps = 0;
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("steps is 0"));
    mo_model_release(model);
    mo_pool_release(pool);
}

/* ---- weights ---- */

TEST(weights_tell_how_to_use_them) {
    scratch *s = *state;
    char *folder = folder_of(s), path[600];
    run_options o = usual_run;
    o.settings = "{\"recipe\":\"paper++\"}";
    run_until(&o, folder, false, o.steps);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    mo_weights *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_int_equal(w->mochi.encoder.dim, PLANTED_DIM);
    assert_int_equal(w->mochi.encoder.layers, 3);
    assert_true(w->mochi.encoder.relu_hops);
    assert_true(w->mochi.lambda == 1 && w->mochi.smoothing == 0.1);
    assert_ptr_equal(w->mochi.head, &mo_head_ridge);
    assert_int_equal(w->mochi.temperature, MO_TEMPERATURE_LOGIT);
    assert_int_equal(w->features.dim, PLANTED_DIM);
    assert_int_equal(w->features.seed, 7);
    for (int task = 0; task < MO_TASKS; task++)
        assert_in_range(w->best_hop[task], 0, PLANTED_HOPS);
    assert_non_null(strstr(w->arrays->metadata, "\"recipe\""));
    assert_string_equal(w->recipe, "paper++");
    assert_true(w->features.form == MO_FEATURES_OF_NODES && w->lambda == 1);
    mo_model *model = mo_weights_model(w), *opened = mo_model_open(s->ctx, path);
    assert_non_null(model);
    assert_true(mo_model_setting(model, "dim") == PLANTED_DIM);
    float first[PLANTED_DIM], again[PLANTED_DIM]; /* the bias of the first layer: the same in both */
    assert_int_equal(mo_tensor_read(mo_model_parameter(model, 1), first, sizeof first), MO_OK);
    assert_int_equal(mo_tensor_read(mo_model_parameter(opened, 1), again, sizeof again), MO_OK);
    assert_memory_equal(first, again, sizeof first);
    mo_model_release(model);
    mo_model_release(opened);
    assert_null(mo_model_open(s->ctx, "/nowhere/w.safetensors"));
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere/w.safetensors"));
    mo_weights_release(w);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    assert_null(mo_weights_read(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("mochi weights", "mochi checkpoint"));
}

/* Writes the model's parameters with that metadata. */
static const char *write_weights(scratch *s, mo_model *model, const char *metadata) {
    mo_array items[64];
    int n = mo_model_n_parameters(model);
    for (int i = 0; i < n; i++) {
        mo_tensor *P = mo_model_parameter(model, i);
        items[i] = (mo_array){.name = P->name, .tensor = P};
    }
    mo_safetensors_write(
        &(mo_arrays){.ctx = s->ctx, .count = n, .items = items}, metadata, scratch_path(s, "w.safetensors"));
    return s->path;
}

TEST(weights_without_metadata_are_the_released_program) {
    scratch *s = *state;
    for (int layers = 2; layers <= 3; layers++) {
        mo_mochi_options o = mo_mochi_defaults();
        o.encoder.dim = 8;
        o.encoder.hops = 2;
        o.encoder.layers = layers;
        mo_model *model = mo_mochi_create(s->ctx, MO_F32, &o, 1);
        mo_weights *w = mo_weights_read(s->ctx, write_weights(s, model, NULL));
        assert_non_null(w);
        assert_int_equal(w->mochi.encoder.dim, 8);
        assert_int_equal(w->mochi.encoder.hops, 2);
        assert_int_equal(w->mochi.encoder.layers, layers);
        assert_int_equal(w->mochi.temperature, MO_TEMPERATURE_EMBED);
        assert_int_equal(w->best_hop[MO_TASK_NC], -1);
        assert_int_equal(mo_model_load(model, w->arrays), MO_OK);
        mo_weights_release(w);
        mo_model_release(model);
    }
}

TEST(weights_with_bad_metadata_are_refused) {
    scratch *s = *state;
    mo_model *model = planted_model(s->ctx, 1);
    static const char *const bad[][2] = {
        {"{\"format\":\"mochi weights\"}", "expected kind"},
        {"{\"format\":\"mochi weights\",\"kind\":\"other\"}", "mochi or invariant, found \"other\""},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\"}", "expected dim"},
        {"{\"format\":\"mochi weights\",\"kind\":\"invariant\",\"hops\":\"99\"}", "hops"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"-4\"}", "dim"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"16x\"}", "16x"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"16\",\"hops\":\"3\",\"layers\":\"7\"}", "layers"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"16\",\"hops\":\"nan\"}", "hops"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"16\",\"hops\":\"9.2e18\"}", "9.2e18"},
        {"{\"format\":\"mochi weights\",\"kind\":\"mochi\",\"dim\":\"16.7\"}", "dim as a whole number, found \"16.7\""},
        {"{\"format\":\"mochi weights\",\"kind\":\"invariant\",\"hops\":\"3\",\"smoothing\":\"0.1\",\"parts\":\"walks "
         "wave\"}",
            "expected parts of the invariant encoder, found \"wave\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(mo_weights_read(s->ctx, write_weights(s, model, bad[i][0])));
        assert_failed(s->ctx, MO_FORMAT, PARTS("w.safetensors", bad[i][1]));
    }
    mo_model_release(model);
    assert_null(mo_weights_read(s->ctx, "/nowhere/w.safetensors"));
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere/w.safetensors"));
}
