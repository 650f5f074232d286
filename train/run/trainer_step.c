/* train/run/trainer_step.c - one optimizer step: draws and fetches each episode, encodes it and computes its loss on
 * one tape; backward gives its gradients, which are added in the order of the episodes; the optimizer takes the step
 * with their sum.
 *
 * The loss is the mean over episodes. With one episode the optimizer reads the tape's gradients; with several, memory
 * holds one episode and one sum of gradients. */
#include "train/evaluation/evaluation.h"
#include "train/run/trainer.h"

#include "autograd/tape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- figures of an episode, which stay on the device until the step is queued ---- */

static void fail_loss(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)position;
    (void)before;
    const mo_source *source = mo_episode_source(note->check.caller, (int)note->check.shape[0]);
    mo_fail(ctx, MO_NUMERICAL, "train: step %" PRId64 ": the loss on %s:%s is %g, expected it finite",
        note->check.limit + note->ahead, source->graph->name, mo_task_name(source->task), found.real);
}

/* Figure k of episode j: a scalar in the trainer's memory. */
static mo_tensor *step_figure(mo_trainer *trainer, int j, int k) {
    return mo_tape_window(trainer->tape, trainer->figures, 0, NULL, NULL, 2 * j + k);
}

/* Keeps the loss and the number of wrong rows of episode j; raises if the loss is not finite. */
static void note_figures(mo_trainer *trainer, int j, mo_tensor *loss, mo_tensor *logits, mo_tensor *label) {
    mo_context *ctx = trainer->ctx;
    if (!mo_ok(ctx))
        return;
    mo_tensor_copy(step_figure(trainer, j, 0), loss);
    mo_tensor_copy(step_figure(trainer, j, 1), mo_count_wrong(trainer->tape, logits, label));
    mo_check check = {.condition = MO_VALUES_FINITE,
        .values = mo_tensor_view(step_figure(trainer, j, 0)),
        .limit = trainer->step,
        .shape = {j},
        .raise = fail_loss,
        .caller = trainer};
    mo_check_values(ctx, &check);
}

void mo_read_figures(mo_trainer *trainer) {
    size_t bytes = 2 * (size_t)trainer->options.episodes_per_step * sizeof *trainer->host_figures;
    if (!mo_ok(trainer->ctx) || mo_tensor_read(trainer->figures, trainer->host_figures, bytes) != MO_OK)
        return;
    for (int j = trainer->first; j < trainer->end; j++) {
        trainer->record[j].loss = trainer->host_figures[2 * j];
        trainer->record[j].wrong = trainer->host_figures[2 * j + 1];
    }
}

static void report_step(mo_trainer *trainer, double start) {
    mo_step_report *r = &trainer->report;
    int E = trainer->options.episodes_per_step;
    int64_t wrong[MO_TASKS] = {0}, asked[MO_TASKS] = {0};
    for (int j = 0; j < E; j++) {
        mo_task task = mo_episode_source(trainer, j)->task;
        r->loss += trainer->record[j].loss / E;
        wrong[task] += (int64_t)trainer->record[j].wrong;
        asked[task] += trainer->record[j].asked;
    }
    for (int task = 0; task < MO_TASKS; task++)
        r->accuracy[task] = asked[task] ? (double)(asked[task] - wrong[task]) / (double)asked[task] : NAN;
    r->seconds = mo_clock(CLOCK_MONOTONIC) - start;
}

/* Adds the step's number to a failed op's message, if it is missing. */
static void name_step(const mo_trainer *trainer) {
    mo_status *status = &trainer->ctx->status;
    char text[sizeof status->message];
    if (strstr(status->message, "step "))
        return;
    snprintf(text, sizeof text, "train: step %" PRId64 ": %.900s", trainer->step, status->message);
    memcpy(status->message, text, sizeof text);
}

/* ---- the step ---- */

static uint64_t episode_number(const mo_trainer *trainer, int j) {
    return (uint64_t)trainer->step * (uint64_t)trainer->options.episodes_per_step + (uint64_t)j;
}

static void add_gradients(mo_trainer *trainer, bool first) {
    if (trainer->hooked && mo_ok(trainer->ctx)) {
        trainer->hooks.sum(trainer, trainer->hooks.state, trainer->grad);
        return;
    }
    for (int i = 0; i < trainer->n && mo_ok(trainer->ctx); i++)
        if (first)
            mo_tensor_copy(trainer->sum[i], trainer->grad[i]);
        else
            mo_accumulate_in_place(trainer->tape, trainer->sum[i], trainer->grad[i]);
}

/* Queues the work of episode j: encode, loss, backward, and the optimizer's step; with several episodes per step, the
 * sum of their gradients in its place, and the optimizer's step at the end (e NULL). */
void mo_queue_work(mo_trainer *trainer, int j, const mo_episode *e) {
    int E = trainer->options.episodes_per_step;
    if (!e) {
        mo_optimizer_apply(trainer->optimizer, trainer->gradient);
        return;
    }
    mo_tape *t = trainer->tape;
    mo_random dropout = mo_random_at(trainer->options.plan.seed, MO_PURPOSE_DROPOUT, episode_number(trainer, j));
    mo_tensor *logits, *loss = mo_model_loss(t, trainer->model, e, &dropout, &logits);
    note_figures(trainer, j, loss, logits, e->query_label);
    if (E > 1)
        loss = mo_scale(t, loss, 1.0 / E, 0);
    mo_grad(t, &loss, NULL, 1, trainer->parameter, trainer->grad, trainer->n, 0);
    trainer->gradient = E > 1 ? trainer->sum : trainer->grad;
    if (E > 1)
        add_gradients(trainer, j == 0);
    else
        mo_optimizer_apply(trainer->optimizer, trainer->gradient);
}

/* Draws episode j, fetches its rows, and runs its work or replays it. */
static void run_episode(mo_trainer *trainer, int j) {
    uint64_t number = episode_number(trainer, j);
    const mo_source *source;
    mo_episode e;
    mo_tape_reset(trainer->tape);
    uint64_t next = j + 1 < trainer->end ? number + 1
                                         : episode_number(trainer, trainer->options.episodes_per_step + trainer->first);
    if (mo_prefetch_take(trainer->episodes, trainer->tape, number, next, &e, &source) != MO_OK)
        return;
    e.max_rows = trainer->options.max_rows;
    trainer->record[j] =
        (mo_episode_record){.asked = mo_numel(e.query_label), .source = source - trainer->pool->source};
    mo_run_or_replay(trainer, j, &e);
    mo_prefetch_ahead(trainer->episodes); /* the device is busy now */
}

bool mo_take_step(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    const mo_trainer_options *o = &trainer->options;
    double start = mo_clock(CLOCK_MONOTONIC);
    mo_step_report *r = &trainer->report;
    *r = (mo_step_report){.step = trainer->step, .steps = o->steps};
    r->lr = mo_cosine(o->adamw.lr, o->adamw.lr_min, trainer->step, o->steps);
    int64_t before = trainer->optimizer->step;
    trainer->gradient = NULL;
    mo_optimizer_advance(trainer->optimizer, r->lr);
    for (int j = trainer->first; j < trainer->end && mo_ok(ctx); j++)
        run_episode(trainer, j);
    if (trainer->hooked)
        trainer->gradient = trainer->hooks.sum(trainer, trainer->hooks.state, NULL);
    if (o->episodes_per_step > 1 && mo_ok(ctx))
        mo_run_or_replay(trainer, o->episodes_per_step, NULL);
    mo_optimizer_norm(trainer->optimizer, &r->gradient_norm);
    mo_read_figures(trainer); /* with the norm above, the only wait of a step, after all of it has been queued */
    if (mo_ok(ctx)) {
        report_step(trainer, start);
    } else {
        trainer->optimizer->step = before; /* the step itself has changed no parameter */
        name_step(trainer);
    }
    mo_tape_reset(trainer->tape); /* joins the tape's blocks of memory, so that the next step allocates none */
    return mo_ok(ctx);
}
