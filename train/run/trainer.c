/* train/run/trainer.c - a run: created, started or resumed, stepped, finished. */
#include "train/run/trainer.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(mo_trainer_options, member)
const mo_field mo_trainer_fields[] = {
    {MO_FIELD_INT64, "steps", "N", AT(steps), "optimiser steps", 1, INT32_MAX},
    {MO_FIELD_INT, "episodes_per_step", "E", AT(episodes_per_step),
        "episodes per step, whose losses are averaged, 1 to 65535; from 2 on the task families take turns", 1,
        MO_MOST_EPISODES},
    {MO_FIELD_STRUCT, "adamw", NULL, AT(adamw), .table = mo_adamw_fields},
    {MO_FIELD_STRUCT, "episodes", NULL, AT(plan), .table = mo_plan_fields},
    {MO_FIELD_INT64, "max_rows", "N", AT(max_rows),
        "rows encoded at once; backward encodes them once more, and memory holds one such block; 0: all of an episode"},
    {MO_FIELDS_END},
};
#undef AT

static bool check_trainer_options(mo_context *ctx, mo_model *model, const mo_pool *pool, const mo_trainer_options *o) {
    double hops = mo_model_setting(model, "hops"), dim = mo_model_setting(model, "dim");
    bool of_examples = pool->options.form == MO_ROWS_PER_EXAMPLE;
    if (!mo_fields_check(ctx, "train", mo_trainer_fields, o))
        return false;
    if (of_examples && pool->options.dim > MO_LARGEST_UNPROVEN_DIM) /* a reader would refuse the weights */
        mo_fail(ctx, MO_INVALID, "train: rows of examples are %d wide, expected 1 to %d", pool->options.dim,
            MO_LARGEST_UNPROVEN_DIM);
    else if (o->checkpoint_every < 0)
        mo_fail(ctx, MO_INVALID, "train: checkpoint_every is %" PRId64 ", expected 0 or more", o->checkpoint_every);
    else if (!o->out || !*o->out)
        mo_fail(ctx, MO_INVALID, "train: expected a folder for the run");
    else if (of_examples != model->encoder.of_examples)
        mo_fail(ctx, MO_INVALID, "train: the pool has rows of %s, the model %s reads rows of %s",
            of_examples ? "examples" : "nodes", model->encoder.name, of_examples ? "nodes" : "examples");
    else if ((!of_examples && dim != pool->options.dim) || hops != pool->options.hops)
        mo_fail(ctx, MO_INVALID, "train: the pool has %d hops of width %d, the model reads %g of width %g",
            pool->options.hops, pool->options.dim, hops, dim);
    return mo_ok(ctx);
}

static bool create_buffers(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    size_t bytes = (size_t)trainer->n * sizeof *trainer->parameter;
    trainer->parameter = mo_host_alloc(ctx, bytes);
    trainer->grad = mo_host_alloc(ctx, bytes);
    for (int i = 0; i < trainer->n && mo_ok(ctx); i++)
        trainer->parameter[i] = mo_model_parameter(trainer->model, i);
    int E = trainer->options.episodes_per_step;
    trainer->record = mo_host_alloc(ctx, (size_t)E * sizeof *trainer->record);
    trainer->figures = mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){E, 2});
    trainer->host_figures = mo_host_alloc(ctx, 2 * (size_t)E * sizeof *trainer->host_figures);
    trainer->sum = E > 1 ? mo_host_alloc(ctx, bytes) : NULL;
    for (int i = 0; trainer->sum && i < trainer->n && mo_ok(ctx); i++) {
        const mo_tensor *P = trainer->parameter[i];
        trainer->sum[i] = mo_tensor_create(ctx, P->dtype, P->ndim, P->shape);
    }
    trainer->end = E;
    return mo_ok(ctx);
}

static bool create_parts(mo_trainer *trainer, const mo_trainer_options *options) {
    mo_context *ctx = trainer->ctx;
    trainer->options.out = strdup(options->out);
    trainer->options.settings = options->settings ? strdup(options->settings) : NULL;
    trainer->blas_core = strdup(mo_blas_core());
    if (!trainer->options.out || !trainer->blas_core || (options->settings && !trainer->options.settings))
        mo_fail(ctx, MO_MEMORY, "train: out of memory");
    trainer->settings = mo_ok(ctx) ? mo_run_settings(ctx, trainer->model, trainer->pool, options) : NULL;
    if (!trainer->settings || !create_buffers(trainer))
        return false;
    trainer->optimizer = mo_adamw_create(ctx, trainer->parameter, trainer->n, &options->adamw);
    trainer->tape = mo_ok(ctx) ? mo_tape_create(ctx, MO_RECORD) : NULL;
    int E = options->episodes_per_step;
    trainer->episodes = mo_prefetch_create(trainer->pool, E > 1 ? MO_FAMILY_IN_TURN : MO_FAMILY_DRAWN, &options->plan,
        (uint64_t)options->steps * (uint64_t)E);
    if (options->replay)
        trainer->replay = mo_replay_create(trainer);
    return mo_ok(ctx) && trainer->tape && trainer->episodes;
}

mo_trainer *mo_trainer_create(mo_model *model, mo_pool *pool, const mo_trainer_options *options) {
    if (!pool || !mo_given(pool->ctx, "train", "the model", model) ||
        !mo_given(pool->ctx, "train", "options", options) ||
        !mo_given(pool->ctx, "train", "the folder out", options->out))
        return NULL;
    mo_context *ctx = pool->ctx;
    if (!mo_ok(ctx) || !check_trainer_options(ctx, model, pool, options))
        return NULL;
    mo_trainer *trainer = mo_host_alloc(ctx, sizeof *trainer);
    if (!trainer)
        return NULL;
    *trainer = (mo_trainer){
        .ctx = ctx, .model = model, .pool = pool, .options = *options, .n = mo_model_n_parameters(model), .log = -1};
    trainer->options.out = trainer->options.settings = NULL;
    mo_model_hold(model);
    pool->holders++;
    if (create_parts(trainer, options))
        return trainer;
    mo_trainer_release(trainer);
    return NULL;
}

/* Returns whether the trainer is not in mo_trainer_run; raises if it is. */
static bool is_idle(const mo_trainer *trainer, const char *what) {
    if (trainer->running)
        mo_fail(trainer->ctx, MO_STATE, "%s: called in the report of the trainer that is running", what);
    return !trainer->running;
}

void mo_trainer_release(mo_trainer *trainer) {
    if (!trainer || !is_idle(trainer, "trainer_release"))
        return;
    mo_context *ctx = trainer->ctx;
    size_t bytes = (size_t)trainer->n * sizeof *trainer->parameter;
    size_t E = (size_t)trainer->options.episodes_per_step;
    mo_context_wait(ctx); /* a queued check can still read this trainer */
    mo_files_close(trainer);
    mo_replay_release(trainer->replay);
    mo_host_free(ctx, trainer->record, E * sizeof *trainer->record);
    mo_tensor_release(trainer->figures);
    mo_host_free(ctx, trainer->host_figures, 2 * E * sizeof *trainer->host_figures);
    mo_host_free(ctx, trainer->parameter, bytes);
    mo_host_free(ctx, trainer->grad, bytes);
    for (int i = 0; trainer->sum && i < trainer->n; i++)
        mo_tensor_release(trainer->sum[i]);
    mo_host_free(ctx, trainer->sum, bytes);
    mo_prefetch_release(trainer->episodes);
    mo_optimizer_release(trainer->optimizer);
    mo_tape_release(trainer->tape);
    json_decref(trainer->settings);
    json_decref(trainer->beside);
    mo_model_release(trainer->model);
    mo_pool_release(trainer->pool);
    free((char *)trainer->options.out);
    free((char *)trainer->options.settings);
    free(trainer->blas_core);
    mo_host_free(ctx, trainer, sizeof *trainer);
}

/* ---- hooks ---- */

void mo_trainer_hook(mo_trainer *trainer, const mo_trainer_hooks *hooks, int first, int end, bool files) {
    trainer->hooks = *hooks;
    trainer->hooked = true;
    trainer->first = first;
    trainer->end = end;
    trainer->without_files = !files;
}

bool mo_trainer_agree(mo_trainer *trainer, bool go_on) {
    go_on = mo_ok(trainer->ctx) && go_on;
    return trainer->hooked ? trainer->hooks.go_on(trainer, trainer->hooks.state, go_on) : go_on;
}

/* ---- a run ---- */

mo_code mo_trainer_start(mo_trainer *trainer) {
    if (!trainer->started) {
        if (!trainer->without_files)
            mo_files_start(trainer);
        trainer->started = mo_ok(trainer->ctx);
    }
    return mo_code_of(trainer->ctx);
}

mo_code mo_trainer_step(mo_trainer *trainer, mo_step_report *report) {
    if (!trainer)
        return MO_INVALID;
    if (mo_ok(trainer->ctx) && trainer->step >= trainer->options.steps)
        mo_fail(trainer->ctx, MO_STATE, "train: all %" PRId64 " steps have been taken", trainer->options.steps);
    if (mo_trainer_start(trainer) == MO_OK && mo_take_step(trainer)) {
        if (!trainer->without_files)
            mo_files_log(trainer);
        trainer->step++;
    }
    if (report && mo_ok(trainer->ctx))
        *report = trainer->report;
    return mo_code_of(trainer->ctx);
}

mo_code mo_trainer_resume(mo_trainer *trainer) {
    if (!trainer)
        return MO_INVALID;
    if (mo_ok(trainer->ctx) && trainer->started)
        mo_fail(trainer->ctx, MO_STATE, "resume: the run has taken steps already, expected a new trainer");
    trainer->resumed = mo_ok(trainer->ctx);
    mo_hold_errors(trainer->ctx);
    mo_trainer_start(trainer);
    mo_release_errors(trainer->ctx);
    trainer->resumed = trainer->started;
    return mo_code_of(trainer->ctx);
}

mo_code mo_trainer_checkpoint(mo_trainer *trainer) {
    if (!trainer)
        return MO_INVALID;
    if (!trainer->without_files)
        mo_checkpoint_write(trainer);
    return mo_code_of(trainer->ctx);
}

/* Saves the state after the last good step. On the CPU this is the present state, since a failed step changes nothing
 * there. The failure stays in the context. */
static void keep_last_good(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    mo_status failure = *mo_context_status(ctx);
    if (failure.code != MO_NUMERICAL || mo_context_device(ctx) != MO_CPU)
        return;
    mo_clear_error(ctx);
    mo_trainer_checkpoint(trainer);
    ctx->status = failure;
}

mo_code mo_trainer_run(mo_trainer *trainer, bool (*report)(const mo_step_report *r, void *state), void *state) {
    if (!trainer)
        return MO_INVALID;
    if (!is_idle(trainer, "trainer_run"))
        return mo_code_of(trainer->ctx);
    const mo_trainer_options *o = &trainer->options;
    mo_step_report r;
    bool more = true;
    trainer->running = true;
    mo_hold_errors(trainer->ctx);
    while (more && trainer->step < o->steps) {
        bool taken = mo_trainer_step(trainer, &r) == MO_OK;
        more = mo_trainer_agree(trainer, taken && (!report || report(&r, state)));
        if (!mo_ok(trainer->ctx))
            break;
        bool due = o->checkpoint_every && trainer->step % o->checkpoint_every == 0;
        if (due || !more || trainer->step == o->steps) {
            mo_trainer_checkpoint(trainer);
            more = mo_trainer_agree(trainer, more);
        }
    }
    keep_last_good(trainer);
    trainer->running = false;
    mo_release_errors(trainer->ctx);
    return mo_code_of(trainer->ctx);
}

mo_code mo_trainer_finish(mo_trainer *trainer) {
    if (!trainer)
        return MO_INVALID;
    mo_trainer_start(trainer); /* starts a run of zero steps, which can be finished too */
    if (!trainer->without_files)
        mo_files_finish(trainer);
    mo_trainer_agree(trainer, true);
    return mo_code_of(trainer->ctx);
}
