/* train/run/trainer_step.c - one optimizer step: each episode forward and backward by itself on one tape, gradients
 * added along a fixed binary tree over the episodes, clipped, AdamW, one line of the log.
 *
 * The loss is the mean over episodes. With one episode the optimizer reads the tape's gradients; with several, memory
 * holds one episode and one gradient per level of the tree. The work queued for an episode depends only on its shape
 * and its place in the step, so that it can be captured and replayed (replay.c). */
#include "tensor/given.h"
#include "train/evaluation/evaluation.h"
#include "train/run/trainer.h"

#include "autograd/tape.h"
#include "tensor/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The sums over the episodes of a step. */
typedef struct tally {
    double loss;
    int64_t wrong[MO_TASKS], asked[MO_TASKS];
    const mo_source **source; /* one per episode */
    int replayed;             /* number of replayed episodes */
} tally;

/* ---- figures of an episode, which stay on the device until the step is queued ---- */

static void fail_loss(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)position;
    (void)before;
    const mo_trainer *trainer = note->check.caller;
    mo_fail(ctx, MO_NUMERICAL, "train: step %" PRId64 ": the loss on %s:%s is %g, expected it finite",
        note->check.limit + note->ahead, trainer->source[note->check.shape[0]]->graph->name,
        mo_task_name((mo_task)note->check.shape[1]), found.real);
}

static void describe_training_step(const void *caller, mo_note *note) {
    (void)caller; /* its names are looked up when the check fails */
    note->op = "train";
}

/* Figure k of episode j: a scalar in the trainer's memory. */
static mo_tensor *step_figure(mo_trainer *trainer, int j, int k) {
    return mo_tape_window(trainer->tape, trainer->figures, 0, NULL, NULL, 2 * j + k);
}

/* Records loss and wrong rows of episode j; raises if the loss is not finite. */
static bool note_figures(
    mo_trainer *trainer, int j, mo_task task, mo_tensor *loss, mo_tensor *logits, mo_tensor *label) {
    mo_context *ctx = trainer->ctx;
    mo_tape *t = trainer->tape;
    if (!mo_ok(ctx))
        return false;
    mo_tensor_copy(step_figure(trainer, j, 0), loss);
    mo_tensor_copy(step_figure(trainer, j, 1), mo_count_wrong(t, logits, label));
    mo_check check = {.condition = MO_VALUES_FINITE,
        .values = mo_tensor_view(step_figure(trainer, j, 0)),
        .limit = trainer->step,
        .shape = {j, (int64_t)task},
        .raise = fail_loss,
        .describe = describe_training_step,
        .caller = trainer};
    return mo_check_values(ctx, &check);
}

/* Reads the figures; this is the only wait of a step, after all of it has been queued. */
static void read_step_figures(mo_trainer *trainer, tally *sum) {
    int E = trainer->options.episodes_per_step;
    double *figures = trainer->host_figures;
    if (trainer->shared ? !mo_ok(trainer->ctx)
                        : mo_tensor_read(trainer->figures, figures, 2 * (size_t)E * sizeof *figures) != MO_OK)
        return;
    for (int j = 0; j < E; j++) {
        sum->loss += figures[2 * j] / E;
        sum->wrong[trainer->task[j]] += (int64_t)figures[2 * j + 1];
        if (trainer->shared)
            sum->asked[trainer->task[j]] += trainer->shared->record[j].asked;
    }
}

static uint64_t episode_number(const mo_trainer *trainer, int j) {
    return (uint64_t)trainer->step * (uint64_t)trainer->options.episodes_per_step + (uint64_t)j;
}

static void add_gradients(mo_trainer *trainer, mo_tensor *const *sum, mo_tensor *const *more) {
    for (int i = 0; i < trainer->n && mo_ok(trainer->ctx); i++)
        mo_accumulate_in_place(trainer->tape, sum[i], more[i]);
}

/* The number of levels that the gradients of episode j carry over, as in a binary counter; -1: they start a level. */
static int step_carries(int j) {
    return j % 2 == 0 ? -1 : __builtin_ctz((unsigned)(j + 1) >> 1);
}

/* Adds the gradients of episode j, which lie on the tape, to the tree: sums of equal size are joined. */
static void add_to_tree(mo_trainer *trainer, int j) {
    mo_tensor ***sum = trainer->sum;
    if (step_carries(j) < 0) {
        for (int i = 0; i < trainer->n && mo_ok(trainer->ctx); i++)
            mo_tensor_copy(sum[0][i], trainer->grad[i]);
        return;
    }
    add_gradients(trainer, sum[0], trainer->grad);
    for (int level = 1; level <= step_carries(j); level++)
        add_gradients(trainer, sum[level], sum[level - 1]);
}

/* Stores the sum that episode j has completed at a free level. */
static void place_sum(mo_trainer *trainer, int j) {
    mo_tensor ***sum = trainer->sum;
    int level = step_carries(j) + 1;
    if (level == 0)
        return;
    mo_tensor **free_level = sum[level];
    sum[level] = sum[level - 1];
    sum[level - 1] = free_level;
}

/* The gradients of a finished step, where they lie until the next one. */
static mo_tensor *const *step_gradient(const mo_trainer *trainer) {
    int E = trainer->options.episodes_per_step, highest = 0;
    if (E == 1)
        return trainer->grad;
    while (E >> (highest + 1))
        highest++;
    return trainer->sum[highest];
}

/* The sum over all E episodes: joins the occupied levels from the lowest. */
static mo_tensor *const *join_tree(mo_trainer *trainer) {
    mo_tensor *const *total = NULL;
    for (int level = 0; level < trainer->levels; level++) {
        if (!(trainer->options.episodes_per_step >> level & 1))
            continue;
        if (total)
            add_gradients(trainer, trainer->sum[level], total);
        total = trainer->sum[level];
    }
    return total;
}

/* Queues loss, figures and gradients of episode j. A single episode is the step; of several, each is added to the tree.
 */
static void queue_episode(void *state, int j, const mo_episode *e) {
    mo_trainer *trainer = state;
    mo_tape *t = trainer->tape;
    int E = trainer->options.episodes_per_step;
    mo_random dropout = mo_random_at(trainer->options.plan.seed, MO_PURPOSE_DROPOUT, episode_number(trainer, j));
    mo_tensor *logits, *loss = mo_model_loss(t, trainer->model, e, &dropout, &logits);
    if (!note_figures(trainer, j, e->task, loss, logits, e->query_label))
        return;
    if (E > 1)
        loss = mo_scale(t, loss, 1.0 / E, 0);
    if (trainer->options.solves)
        mo_note_solves(trainer);
    if (trainer->shared) {
        mo_shared_gradients(trainer, j, loss);
        return;
    }
    mo_grad(t, &loss, NULL, 1, trainer->parameter, trainer->grad, trainer->n, 0);
    if (E > 1)
        add_to_tree(trainer, j);
    else
        mo_optimizer_apply(trainer->optimizer, trainer->grad);
}

static void queue_update(void *state, int place, const mo_episode *e) {
    mo_trainer *trainer = state;
    (void)place;
    (void)e;
    mo_optimizer_apply(trainer->optimizer, join_tree(trainer));
}

/* Queues work, or the replay of its capture. */
static bool do_work(mo_trainer *trainer, int place, const mo_episode *e, mo_replay_work work) {
    if (trainer->replay)
        return mo_replay_do(trainer->replay, trainer->tape, trainer->step, place, e, work, trainer);
    work(trainer, place, e);
    return false;
}

static void run_episode(mo_trainer *trainer, int j, tally *sum) {
    mo_episode e;
    mo_tape_reset(trainer->tape);
    if (mo_prefetch_take(trainer->episodes, trainer->tape, episode_number(trainer, j), &e, &sum->source[j]) != MO_OK)
        return;
    mo_run_digest_episode(trainer->digest, j, sum->source[j], &e);
    e.max_rows = trainer->options.max_rows;
    trainer->task[j] = e.task;
    if (trainer->shared)
        trainer->shared->record[j].asked = mo_numel(e.query_label);
    else
        sum->asked[e.task] += mo_numel(e.query_label);
    sum->replayed += do_work(trainer, j, &e, queue_episode);
    if (trainer->options.episodes_per_step > 1 && !trainer->shared)
        place_sum(trainer, j);
    mo_prefetch_ahead(trainer->episodes, episode_number(trainer, j)); /* the device is busy now */
}

/* Queues a whole step at a learning rate. */
static void queue_step(mo_trainer *trainer, double lr, tally *sum) {
    mo_shared *shared = trainer->shared;
    int E = trainer->options.episodes_per_step, end = shared ? shared->end : E;
    memcpy(trainer->sum, trainer->level, sizeof trainer->sum);
    if (shared)
        mo_shared_begin(trainer);
    mo_optimizer_advance(trainer->optimizer, lr);
    for (int j = shared ? shared->first : 0; j < end && mo_ok(trainer->ctx); j++)
        run_episode(trainer, j, sum);
    if (shared)
        mo_shared_update(trainer);
    else if (E > 1 && mo_ok(trainer->ctx))
        do_work(trainer, E, NULL, queue_update);
}

static void fill_report(const mo_trainer *trainer, const tally *sum, mo_step_report *r) {
    const mo_trainer_options *o = &trainer->options;
    r->step = trainer->step;
    r->steps = o->steps;
    r->loss = sum->loss;
    r->replayed = sum->replayed;
    for (int task = 0; task < MO_TASKS; task++)
        r->accuracy[task] =
            sum->asked[task] ? (double)(sum->asked[task] - sum->wrong[task]) / (double)sum->asked[task] : NAN;
}

/* Adds the step to the message of a failed op, if it is missing. */
static void name_step(const mo_trainer *trainer) {
    mo_status *status = &trainer->ctx->status;
    char text[sizeof status->message];
    if (strstr(status->message, "step "))
        return;
    snprintf(text, sizeof text, "train: step %" PRId64 ": %.900s", trainer->step, status->message);
    memcpy(status->message, text, sizeof text);
}

mo_code mo_trainer_step(mo_trainer *trainer, mo_step_report *report) {
    if (!trainer)
        return MO_INVALID;
    mo_context *ctx = trainer->ctx;
    double start = mo_clock(CLOCK_MONOTONIC);
    if (mo_ok(ctx) && trainer->step >= trainer->options.steps)
        mo_fail(ctx, MO_STATE, "train: all %" PRId64 " steps have been taken", trainer->options.steps);
    if (mo_trainer_start(trainer) != MO_OK)
        return mo_context_status(ctx)->code;
    tally sum = {.source = trainer->source};
    const mo_adamw_options *adamw = &trainer->options.adamw;
    mo_step_report r = {.lr = mo_cosine(adamw->lr, adamw->lr_min, trainer->step, trainer->options.steps)};
    int64_t before = trainer->optimizer->step;
    trainer->solves = (mo_solve_figures){0};
    queue_step(trainer, r.lr, &sum);
    mo_optimizer_norm(trainer->optimizer, &r.gradient_norm);
    read_step_figures(trainer, &sum);
    fill_report(trainer, &sum, &r);
    bool taken = mo_ok(ctx);
    mo_run_digest_step(trainer->digest, trainer, step_gradient(trainer));
    mo_tape_reset(trainer->tape); /* joins the slabs of the first step, so that the second allocates nothing */
    if (!taken) {
        if (trainer->optimizer->step > before)
            mo_optimizer_withdraw(trainer->optimizer);
        name_step(trainer);
        return mo_context_status(ctx)->code;
    }
    trainer->step++;
    r.seconds = mo_clock(CLOCK_MONOTONIC) - start;
    if (mo_trainer_leads(trainer))
        mo_log_step(trainer, &r);
    if (report)
        *report = r;
    return mo_context_status(ctx)->code;
}
