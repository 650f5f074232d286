/* tests/train/test_checkpoint.c - checkpoints with other settings or tensors are refused; weights say how to use them.
 * tests/cli/resume.cases has files whose metadata are invalid. */
#include "tests/training_run.h"

/* Returns the current parameters of a run. */
static bytes parameters_of(const training_run *run) {
    bytes all = {0};
    for (int i = 0; i < mo_model_n_parameters(run->model); i++) {
        mo_tensor *P = mo_model_parameter(run->model, i);
        bytes_append(&all, mo_tensor_view(P).data, (size_t)mo_numel(P) * sizeof(float));
    }
    return all;
}

/* Fails unless resuming gives this error, with these words, and changes neither weights nor files. */
static void assert_refused(const run_options *o, const char *folder, mo_code code, const char *const *parts) {
    HELD(training_run) run = run_open(o, folder);
    bytes weights = parameters_of(&run), log = run_file(folder, "log.jsonl");
    assert_int_not_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_failed(run.ctx, code, parts);
    assert_same_bytes(weights, parameters_of(&run));
    assert_same_bytes(log, run_file(folder, "log.jsonl"));
}

TEST(other_settings_are_refused_by_name) {
    const char *folder = scratch_folder(*state, "run");
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

/* Changes one tensor of a valid checkpoint: its type, its number of axes, its shape; or removes it. */
TEST_OF(tensors_of_another_form_are_refused, scratch *s) {
    const char *folder = scratch_folder(s, "run");
    const char *path = scratch_path(s, "run/checkpoint.safetensors");
    char shape[160];
    run_until(&usual_run, folder, false, 2);
    HELD(mo_arrays) *arrays = mo_safetensors_read(s->ctx, path);
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
}

TEST_OF(settings_that_are_no_object_are_refused, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    HELD(mo_model) *model = planted_model(s->ctx, 1);
    mo_trainer_options o = planted_steps(1, 1, 1, scratch_folder(s, "run"));
    o.settings = "[1, 2";
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("settings", "JSON object"));
    o.settings = "[1, 2]";
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("settings", "JSON object"));
    o.settings = NULL;
    o.steps = 0;
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("steps is 0"));
}

/* ---- weights ---- */

TEST_OF(weights_tell_how_to_use_them, scratch *s) {
    const char *folder = scratch_folder(s, "run");
    const char *path = scratch_path(s, "run/weights.safetensors");
    run_options o = usual_run;
    o.settings = "{\"recipe\":\"paper++\"}";
    run_until(&o, folder, false, o.steps);
    HELD(mo_weights) *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_int_equal(w->gamlp.dim, PLANTED_DIM);
    assert_int_equal(w->gamlp.layers, 3);
    assert_true(w->gamlp.relu_hops);
    assert_true(w->readout.lambda == 1 && w->readout.smoothing == 0.1);
    assert_ptr_equal(w->readout.head, &mo_head_ridge);
    assert_int_equal(w->readout.temperature, MO_TEMPERATURE_LOGIT);
    assert_int_equal(w->features.dim, PLANTED_DIM);
    assert_int_equal(w->features.seed, 7);
    for (int task = 0; task < MO_TASKS; task++)
        assert_in_range(w->best_hop[task], 0, PLANTED_HOPS);
    assert_non_null(strstr(w->arrays->metadata, "\"recipe\""));
    assert_string_equal(w->recipe, "paper++");
    assert_true(w->features.form == MO_ROWS_PER_NODE && w->lambda == 1);
    HELD(mo_model) *model = mo_weights_model(w), *opened = mo_model_open(s->ctx, path);
    assert_non_null(model);
    assert_true(mo_model_setting(model, "dim") == PLANTED_DIM);
    float first[PLANTED_DIM], again[PLANTED_DIM]; /* the bias of the first layer must be equal in both models */
    assert_int_equal(mo_tensor_read(mo_model_parameter(model, 1), first, sizeof first), MO_OK);
    assert_int_equal(mo_tensor_read(mo_model_parameter(opened, 1), again, sizeof again), MO_OK);
    assert_memory_equal(first, again, sizeof first);
    assert_null(mo_model_open(s->ctx, "/nowhere/w.safetensors"));
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere/w.safetensors"));
    assert_null(mo_weights_read(s->ctx, scratch_path(s, "run/checkpoint.safetensors")));
    assert_failed(s->ctx, MO_FORMAT, PARTS("mochi weights", "mochi checkpoint"));
}

/* Writes the model's parameters with these metadata. */
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

TEST_OF(weights_that_are_not_finite_are_refused, scratch *s) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = 8;
    o.encoder.hops = 2;
    HELD(mo_model) *model = mo_mochi_create(s->ctx, MO_F32, &o, 1);
    mo_tensor *P = mo_model_parameter(model, 0);
    ((float *)mo_tensor_view(P).data)[3] = NAN;
    const char *path = write_weights(s, model, NULL);
    assert_null(mo_weights_read(s->ctx, path));
    assert_failed(s->ctx, MO_FORMAT, PARTS("w.safetensors: tensor '", mo_tensor_name(P), "finite", "as element 3"));
}

/* The sizes of the released program's weights are those of the tensors in the file. */
TEST_OF(released_weights_have_bounded_sizes, scratch *s) {
    static const char *const expected[2] = {"at most 64 hops, found encoder.input_proj.65.weight",
        "encoder.input_proj.0.weight with 1 to 65536 rows, found [70000, 0]"};
    for (int wide = 0; wide < 2; wide++) {
        HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
        for (int hop = 0; hop < (wide ? 1 : 100); hop++) {
            char name[64];
            snprintf(name, sizeof name, "encoder.input_proj.%d.weight", hop);
            mo_arrays_take(arrays, name, mo_tensor_create(s->ctx, MO_F32, 2, (int64_t[]){wide ? 70000 : 8, 0}));
        }
        assert_int_equal(mo_safetensors_write(arrays, NULL, scratch_path(s, "wide.safetensors")), MO_OK);
        assert_null(mo_weights_read(s->ctx, s->path));
        assert_failed(s->ctx, MO_FORMAT, PARTS(expected[wide]));
    }
}

TEST_OF(weights_without_metadata_are_the_released_program, scratch *s) {
    for (int layers = 2; layers <= 3; layers++) {
        mo_mochi_options o = mo_mochi_defaults();
        o.encoder.dim = 8;
        o.encoder.hops = 2;
        o.encoder.layers = layers;
        HELD(mo_model) *model = mo_mochi_create(s->ctx, MO_F32, &o, 1);
        HELD(mo_weights) *w = mo_weights_read(s->ctx, write_weights(s, model, NULL));
        assert_non_null(w);
        assert_int_equal(w->gamlp.dim, 8);
        assert_int_equal(w->gamlp.hops, 2);
        assert_int_equal(w->gamlp.layers, layers);
        assert_int_equal(w->readout.temperature, MO_TEMPERATURE_EMBED);
        assert_int_equal(w->best_hop[MO_TASK_NC], -1);
        assert_int_equal(mo_model_load(model, w->arrays), MO_OK);
    }
}
