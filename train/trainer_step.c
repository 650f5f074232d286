/* train/trainer_step.c - one optimizer step: each episode forward and backward by itself on one tape, gradients added
 * along a fixed binary tree over the episodes, clipped, AdamW, one line of the log.
 *
 * The loss is the mean over episodes. With one episode the optimizer reads the tape's gradients; with several, memory
 * holds one episode and one gradient a level of the tree. */
#include "train/trainer.h"

#include "autograd/tape.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

/* What the episodes of a step add up to. */
typedef struct tally {
    double loss;
    int64_t right[MO_TASKS], asked[MO_TASKS];
    const mo_source **source; /* of each episode */
} tally;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Loss and gradients of one episode, left on the tape. */
static void run_episode(mo_trainer *trainer, int j, tally *sum) {
    mo_context *ctx = trainer->ctx;
    mo_tape *t = trainer->tape;
    int E = trainer->options.episodes_per_step;
    uint64_t number = (uint64_t)trainer->step * (uint64_t)E + (uint64_t)j, seed = trainer->options.plan.seed;
    mo_random dropout = mo_random_at(seed, MO_PURPOSE_DROPOUT, number);
    mo_episode e;
    mo_tensor *logits;
    mo_tape_reset(t);
    if (mo_pool_draw(trainer->pool, t, number, E > 1, &trainer->options.plan, &e, &sum->source[j]) != MO_OK)
        return;
    mo_tensor *loss = mo_model_loss(t, trainer->model, &e, &dropout, &logits);
    int64_t right = mo_count_right(t, logits, e.query_label);
    double value = mo_item(loss);
    if (mo_ok(ctx) && !isfinite(value))
        mo_fail(ctx, MO_NUMERICAL, "train: step %" PRId64 ": the loss on %s:%s is %g, expected it finite",
            trainer->step, sum->source[j]->graph->name, mo_task_name(e.task), value);
    if (!mo_ok(ctx))
        return;
    sum->loss += value / E;
    sum->right[e.task] += right;
    sum->asked[e.task] += mo_numel(e.query_label);
    if (E > 1)
        loss = mo_scale(t, loss, 1.0 / E, 0);
    mo_grad(t, &loss, NULL, 1, trainer->parameter, trainer->grad, trainer->n, 0);
}

static void add_gradients(mo_trainer *trainer, mo_tensor *const *sum, mo_tensor *const *more) {
    for (int i = 0; i < trainer->n && mo_ok(trainer->ctx); i++)
        mo_accumulate_in_place(trainer->tape, sum[i], more[i]);
}

/* Adds the gradients of episode j, which lie on the tape: equal sums join, as a binary counter carries. */
static void add_to_tree(mo_trainer *trainer, int j) {
    mo_tensor ***sum = trainer->sum;
    if (j % 2 == 0) {
        for (int i = 0; i < trainer->n && mo_ok(trainer->ctx); i++)
            mo_tensor_copy(sum[0][i], trainer->grad[i]);
        return;
    }
    add_gradients(trainer, sum[0], trainer->grad);
    int level = 1;
    for (; j >> level & 1; level++)
        add_gradients(trainer, sum[level], sum[level - 1]);
    mo_tensor **free_level = sum[level];
    sum[level] = sum[level - 1];
    sum[level - 1] = free_level;
}

/* The sum over all E episodes: the levels that are occupied, from the lowest. */
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

static void fill_report(const mo_trainer *trainer, const tally *sum, mo_step_report *r) {
    const mo_trainer_options *o = &trainer->options;
    r->step = trainer->step;
    r->steps = o->steps;
    r->loss = sum->loss;
    r->lr = mo_cosine(o->adamw.lr, o->adamw.lr_min, trainer->step, o->steps);
    for (int task = 0; task < MO_TASKS; task++)
        r->accuracy[task] = sum->asked[task] ? (double)sum->right[task] / (double)sum->asked[task] : NAN;
}

mo_code mo_trainer_step(mo_trainer *trainer, mo_step_report *report) {
    mo_context *ctx = trainer->ctx;
    int E = trainer->options.episodes_per_step;
    double start = seconds();
    if (mo_ok(ctx) && trainer->step >= trainer->options.steps)
        mo_fail(ctx, MO_STATE, "train: all %" PRId64 " steps have been taken", trainer->options.steps);
    if (mo_trainer_start(trainer) != MO_OK)
        return mo_context_status(ctx)->code;
    tally sum = {.source = trainer->source};
    for (int j = 0; j < E && mo_ok(ctx); j++) {
        run_episode(trainer, j, &sum);
        if (E > 1 && mo_ok(ctx))
            add_to_tree(trainer, j);
    }
    mo_step_report r = {0};
    fill_report(trainer, &sum, &r);
    if (mo_ok(ctx))
        mo_optimizer_step(trainer->optimizer, E > 1 ? join_tree(trainer) : trainer->grad, r.lr, &r.gradient_norm);
    mo_tape_reset(trainer->tape); /* joins what the first step grew, so that the second finds room */
    if (!mo_ok(ctx))
        return mo_context_status(ctx)->code;
    trainer->step++;
    r.seconds = seconds() - start;
    mo_log_step(ctx, trainer->log, &r, trainer->source, E);
    if (report)
        *report = r;
    return mo_context_status(ctx)->code;
}
