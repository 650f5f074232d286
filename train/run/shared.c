/* train/run/shared.c - a run that several processes share: each has the same weights and takes some of the episodes of
 * a step. Their gradients are joined along the tree of one process (sum_tree.c), and every process takes the same step
 * with the sum: the bits do not depend on the number of processes. Devices that can add up the gradients themselves do
 * so, unless equal bits are asked for (device_sums.c). Rank 0 alone reads and writes files. */
#include "train/run/shared.h"

#include "tensor/files/number_text.h"
#include "tensor/given.h"
#include "tensor/storage.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

bool mo_trainer_leads(const mo_trainer *trainer) {
    return !trainer->shared || !trainer->shared->ranks.rank;
}

bool mo_trainer_agree(mo_trainer *trainer, bool go_on) {
    mo_shared *s = trainer->shared;
    return s ? mo_ranks_agree(trainer->ctx, &s->ranks, go_on) : mo_ok(trainer->ctx) && go_on;
}

/* ---- joining ---- */

static void check_shared(mo_trainer *trainer, const mo_ranks *ranks) {
    const mo_trainer_options *o = &trainer->options;
    if (ranks->size > o->episodes_per_step)
        mo_fail(trainer->ctx, MO_INVALID, "train: %d processes share a step of %d episodes, expected %d to %d episodes",
            ranks->size, o->episodes_per_step, ranks->size, (1 << MO_TREE_LEVELS) - 1);
    else if (o->digest || o->solves || o->replay)
        mo_fail(trainer->ctx, MO_INVALID, "train: %s is asked for on %d processes, expected one",
            o->digest   ? "digest"
            : o->solves ? "solves"
                        : "replay",
            ranks->size);
}

static void create_shared(mo_trainer *trainer, mo_shared *s) {
    mo_context *ctx = trainer->ctx;
    int E = s->episodes;
    s->first = mo_ranks_first(E, s->ranks.size, s->ranks.rank);
    s->end = mo_ranks_first(E, s->ranks.size, s->ranks.rank + 1);
    s->record = mo_host_alloc(ctx, (size_t)E * sizeof *s->record);
    s->tree = mo_sum_tree_create(ctx, trainer->parameter, trainer->n);
    s->bytes = mo_sum_tree_bytes(trainer->parameter, trainer->n);
    if (mo_context_device(ctx) != MO_CPU)
        s->message = mo_host_alloc(ctx, s->bytes);
    mo_prefetch_share(trainer->episodes, (uint64_t)E, (uint64_t)s->first, (uint64_t)(s->end - s->first));
}

mo_code mo_trainer_share(mo_trainer *trainer, const mo_ranks *ranks) {
    if (!trainer || !ranks || ranks->size < 2)
        return trainer ? mo_code_of(trainer->ctx) : MO_INVALID;
    mo_context *ctx = trainer->ctx;
    mo_shared *s = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *s) : NULL;
    if (!mo_ranks_agree(ctx, ranks, true)) {
        mo_host_free(ctx, s, sizeof *s);
        return mo_code_of(ctx);
    }
    *s = (mo_shared){.ctx = ctx, .ranks = *ranks, .episodes = trainer->options.episodes_per_step};
    s->ranks.parted = ranks->parted ? ranks->parted : &s->parted;
    trainer->shared = s;
    char *settings = mo_json_encode(trainer->settings, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool same = mo_ranks_compare(ctx, &s->ranks, "train", settings);
    free(settings);
    if (!same)
        return mo_code_of(ctx);
    check_shared(trainer, ranks);
    if (mo_ok(ctx))
        create_shared(trainer, s);
    if (mo_trainer_agree(trainer, true))
        mo_device_sums_open(trainer);
    return mo_code_of(ctx);
}

void mo_shared_release(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    mo_shared *s = trainer->shared;
    if (!s)
        return;
    mo_device_sums_close(trainer);
    mo_host_free(ctx, s->record, (size_t)s->episodes * sizeof *s->record);
    mo_sum_tree_release(s->tree);
    mo_host_free(ctx, s->message, s->bytes);
    mo_host_free(ctx, s, sizeof *s);
    trainer->shared = NULL;
}

/* ---- the start of a run ---- */

/* Rank 0's values, on every rank; `message` has room for the largest of the tensors. */
static void share_state(mo_trainer *trainer, mo_tensor *const *state, char *message) {
    const mo_ranks *ranks = &trainer->shared->ranks;
    for (int i = 0; i < trainer->n; i++) {
        if (!ranks->rank)
            mo_tensor_read(state[i], message, mo_gradient_bytes(state[i]));
        mo_ranks_broadcast(ranks, message, mo_gradient_bytes(state[i]));
        if (ranks->rank)
            mo_tensor_write(state[i], message, mo_gradient_bytes(state[i]));
    }
}

void mo_shared_start(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    size_t bytes = 0;
    s->started = true;
    for (int i = 0; i < trainer->n; i++)
        bytes = mo_gradient_bytes(trainer->parameter[i]) > bytes ? mo_gradient_bytes(trainer->parameter[i]) : bytes;
    char *message = mo_host_alloc(trainer->ctx, bytes);
    if (mo_trainer_agree(trainer, true)) {
        mo_ranks_broadcast(&s->ranks, &trainer->step, sizeof trainer->step);
        trainer->optimizer->step = trainer->step;
        for (int part = 0; part < 3; part++)
            share_state(trainer, mo_trainer_state(trainer, part), message);
        mo_trainer_agree(trainer, true);
    }
    mo_host_free(trainer->ctx, message, bytes);
}

/* ---- a step ---- */

void mo_shared_begin(mo_trainer *trainer) {
    trainer->shared->tree->depth = 0;
}

void mo_shared_gradients(mo_trainer *trainer, int j, mo_tensor *loss) {
    mo_grad(trainer->tape, &loss, NULL, 1, trainer->parameter, trainer->grad, trainer->n, 0);
    mo_sum_tree_push(trainer->shared->tree, trainer->tape, 0, j, trainer->grad);
}

/* The records of all episodes, on every rank. */
static void share_records(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    const mo_ranks *ranks = &s->ranks;
    int E = s->episodes, end = s->end;
    for (int bit = 1; bit < ranks->size; bit *= 2) {
        if (ranks->rank & bit) {
            ranks->send(
                ranks->state, ranks->rank - bit, s->record + s->first, (size_t)(end - s->first) * sizeof *s->record);
            break;
        }
        if (ranks->rank + bit >= ranks->size)
            continue;
        int more = mo_ranks_first(E, ranks->size, mo_ranks_end(ranks, ranks->rank + bit, bit));
        ranks->receive(ranks->state, ranks->rank + bit, s->record + end, (size_t)(more - end) * sizeof *s->record);
        end = more;
    }
    mo_ranks_broadcast(ranks, s->record, (size_t)E * sizeof *s->record);
}

static void note_records(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    double *figures = trainer->host_figures;
    size_t E = (size_t)trainer->options.episodes_per_step;
    if (!mo_ok(trainer->ctx) || mo_tensor_read(trainer->figures, figures, 2 * E * sizeof *figures) != MO_OK)
        return;
    for (int j = s->first; j < s->end; j++) {
        s->record[j].loss = figures[2 * j];
        s->record[j].wrong = figures[2 * j + 1];
        s->record[j].source = trainer->source[j] - trainer->pool->source;
    }
}

static void take_records(mo_trainer *trainer) {
    const mo_shared *s = trainer->shared;
    for (int j = 0; j < s->episodes; j++) {
        trainer->host_figures[2 * j] = s->record[j].loss;
        trainer->host_figures[2 * j + 1] = s->record[j].wrong;
        trainer->source[j] = trainer->pool->source + s->record[j].source;
        trainer->task[j] = trainer->source[j]->task;
    }
}

void mo_shared_update(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    mo_tensor *const *total = NULL;
    if (!s->on_devices && !*s->ranks.parted)
        total = mo_sum_tree_share(s->tree, trainer->tape, &s->ranks, s->episodes, s->message);
    note_records(trainer);
    if (!mo_trainer_agree(trainer, true))
        return;
    share_records(trainer);
    take_records(trainer);
    if (s->on_devices)
        total = mo_device_sums_add(trainer);
    if (mo_ok(trainer->ctx))
        mo_optimizer_apply(trainer->optimizer, total);
}
