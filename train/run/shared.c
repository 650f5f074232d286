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
    if (!s)
        return mo_ok(trainer->ctx) && go_on;
    if (s->parted)
        return false;
    bool all = mo_ranks_agree(trainer->ctx, &s->ranks, go_on);
    s->parted = !mo_ok(trainer->ctx);
    return all;
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
    s->tree = mo_sum_tree_create(ctx, trainer->parameter, trainer->n);
    s->received = mo_host_alloc(ctx, (size_t)trainer->n * sizeof *s->received);
    for (int i = 0; i < trainer->n && mo_ok(ctx); i++) {
        const mo_tensor *P = trainer->parameter[i];
        s->received[i] = mo_tensor_create(ctx, P->dtype, P->ndim, P->shape);
    }
    for (int i = 0; i < trainer->n; i++)
        s->bytes += (size_t)mo_numel(trainer->parameter[i]) * mo_dtype_size(trainer->parameter[i]->dtype);
    s->message = mo_host_alloc(ctx, s->bytes);
    s->record = mo_host_alloc(ctx, (size_t)E * sizeof *s->record);
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
    *s = (mo_shared){.ctx = ctx, .ranks = *ranks, .n = trainer->n, .episodes = trainer->options.episodes_per_step};
    trainer->shared = s;
    char *settings = mo_json_encode(trainer->settings, JSON_COMPACT | JSON_REAL_PRECISION(17));
    s->parted = !mo_ranks_compare(ctx, ranks, "train", settings);
    free(settings);
    if (s->parted)
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
    for (int i = 0; s->received && i < trainer->n; i++)
        mo_tensor_release(s->received[i]);
    mo_host_free(ctx, s->received, (size_t)trainer->n * sizeof *s->received);
    mo_host_free(ctx, s->message, s->bytes);
    mo_host_free(ctx, s->record, (size_t)s->episodes * sizeof *s->record);
    mo_sum_tree_release(s->tree);
    mo_host_free(ctx, s, sizeof *s);
    trainer->shared = NULL;
}

/* ---- sums as messages ---- */

static void pack(mo_shared *s, mo_tensor *const *X) {
    size_t at = 0, bytes;
    for (int i = 0; X && i < s->n && mo_ok(s->ctx); i++, at += bytes) {
        bytes = (size_t)mo_numel(X[i]) * mo_dtype_size(X[i]->dtype);
        mo_tensor_read(X[i], s->message + at, bytes);
    }
}

static void unpack(mo_shared *s, mo_tensor *const *X) {
    size_t at = 0, bytes;
    for (int i = 0; i < s->n && mo_ok(s->ctx); i++, at += bytes) {
        bytes = (size_t)mo_numel(X[i]) * mo_dtype_size(X[i]->dtype);
        mo_tensor_write(X[i], s->message + at, bytes);
    }
}

/* From here on no rank leaves out a message: one that fails sends what it has, and all hear of it when they agree. */

void mo_shared_start(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    s->started = true;
    if (!mo_trainer_agree(trainer, true))
        return;
    mo_ranks_broadcast(&s->ranks, &trainer->step, sizeof trainer->step);
    trainer->optimizer->step = trainer->step;
    for (int part = 0; part < 3; part++) {
        mo_tensor *const *state = mo_trainer_state(trainer, part);
        if (!s->ranks.rank)
            pack(s, state);
        mo_ranks_broadcast(&s->ranks, s->message, s->bytes);
        if (s->ranks.rank)
            unpack(s, state);
    }
    mo_trainer_agree(trainer, true);
}

/* ---- a step ---- */

void mo_shared_join(mo_shared *s, mo_tape *t) {
    const mo_ranks *ranks = &s->ranks;
    for (int bit = 1; bit < ranks->size; bit *= 2) {
        bool down = ranks->rank & bit;
        int from = down ? ranks->rank : ranks->rank + bit, k = 0, level;
        if (from >= ranks->size)
            continue;
        int64_t end = mo_ranks_first(s->episodes, ranks->size, mo_ranks_end(ranks, from, bit));
        for (int64_t j = mo_ranks_first(s->episodes, ranks->size, from); j < end; j += (int64_t)1 << level, k++) {
            level = mo_sum_tree_level(j, end);
            if (down) {
                pack(s, k < s->tree->depth ? s->tree->node[k].sum : NULL);
                ranks->send(ranks->state, ranks->rank - bit, s->message, s->bytes);
            } else {
                ranks->receive(ranks->state, from, s->message, s->bytes);
                unpack(s, s->received);
                mo_sum_tree_push(s->tree, t, level, j >> level, s->received);
            }
        }
        if (down)
            return;
    }
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

/* The sums of all episodes, on every rank. */
static mo_tensor *const *add_by_messages(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    mo_shared_join(s, trainer->tape);
    mo_tensor *const *total = s->ranks.rank ? s->received : mo_sum_tree_join(s->tree, trainer->tape);
    if (!s->ranks.rank)
        pack(s, total);
    mo_ranks_broadcast(&s->ranks, s->message, s->bytes);
    if (s->ranks.rank)
        unpack(s, total);
    return total;
}

void mo_shared_update(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    note_records(trainer);
    if (!mo_trainer_agree(trainer, true))
        return;
    share_records(trainer);
    take_records(trainer);
    mo_tensor *const *total = s->on_devices ? mo_device_sums_add(trainer) : add_by_messages(trainer);
    if (mo_ok(trainer->ctx))
        mo_optimizer_apply(trainer->optimizer, total);
}
