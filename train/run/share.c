/* train/run/share.c - several processes share a run: each has the same weights and computes some of the episodes of a
 * step. The gradients are added along the tree that one process would use (sum_tree.c), and every process takes the
 * same step with the sum: the bits do not depend on the number of processes. Devices with NCCL add up the gradients
 * themselves, as one buffer per step and in NCCL's order, unless equal bits are asked for. All ranks then have the same
 * bits, but agree with one process only to rounding. Only rank 0 writes files. */
#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

/* The state of this process. */
typedef struct shared {
    mo_ranks ranks;
    char *message; /* `bytes` of host memory to exchange a device's sums; NULL on a CPU */
    size_t bytes;
    const mo_collective *sums; /* NULL: devices cannot add up gradients */
    bool on_devices;           /* devices add up the gradients; false: messages */
    bool parted;               /* target of ranks.parted if the caller's is NULL */
} shared;

static void agree(mo_trainer *trainer, void *state) {
    const shared *s = state;
    trainer->go_on = mo_ranks_agree(trainer->ctx, &s->ranks, trainer->go_on);
}

/* ---- devices ---- */

/* Returns whether devices can add up this rank's gradients. */
static bool can_add(const mo_trainer *trainer, const shared *s) {
    bool can = !s->ranks.deterministic && s->sums;
    for (int i = 0; i < trainer->n; i++)
        can &= trainer->parameter[i]->dtype == MO_F32;
    return can;
}

/* Raises if two ranks use one device: NCCL can then hang. */
static void compare_devices(mo_context *ctx, const shared *s) {
    const mo_ranks *ranks = &s->ranks;
    unsigned char mine[MO_DEVICE_BYTES];
    s->sums->identify(ctx, mine);
    if (ranks->rank) {
        ranks->send(ranks->state, 0, mine, sizeof mine);
        return;
    }
    unsigned char(*all)[MO_DEVICE_BYTES] = calloc((size_t)ranks->size, sizeof *all);
    for (int r = 0; r < ranks->size; r++) {
        unsigned char got[MO_DEVICE_BYTES];
        if (r)
            ranks->receive(ranks->state, r, got, sizeof got);
        if (all)
            memcpy(all[r], r ? got : mine, sizeof *all);
        for (int q = 0; all && q < r; q++)
            if (!memcmp(all[q], all[r], sizeof *all))
                mo_fail(ctx, MO_INVALID,
                    "train: ranks %d and %d have the same device, expected one a rank: start no more processes on a "
                    "host than it has devices, or ask for deterministic sums, which need none of their own",
                    q, r);
    }
    if (!all)
        mo_fail(ctx, MO_MEMORY, "train: out of memory for the devices of the ranks");
    free(all);
}

/* Decides, equally on every rank, whether the devices add up the gradients, and if so connects them. */
static void join_devices(mo_trainer *trainer, shared *s) {
    mo_context *ctx = trainer->ctx;
    unsigned char name[MO_GROUP_BYTES] = {0};
    s->sums = mo_device_sums(ctx);
    if (!mo_trainer_agree(trainer, can_add(trainer, s)))
        return;
    compare_devices(ctx, s);
    if (mo_ok(ctx) && !s->ranks.rank)
        s->sums->name(ctx, name);
    if (!mo_trainer_agree(trainer, true))
        return;
    mo_ranks_broadcast(&s->ranks, name, sizeof name);
    s->sums->join(ctx, name, s->ranks.rank, s->ranks.size);
    s->on_devices = mo_trainer_agree(trainer, true);
    if (!s->on_devices)
        s->sums->leave(ctx, true);
}

/* The sum over all episodes, on every rank; NULL, with nothing left queued, if a rank has failed. */
static mo_tensor *const *add_on_devices(mo_trainer *trainer, shared *s) {
    mo_context *ctx = trainer->ctx;
    mo_tensor *const *total = mo_sum_tree_join(trainer->tree, trainer->tape, trainer->first, trainer->end);
    if (total && mo_ok(ctx)) {
        mo_tensor *whole = trainer->tree->node[0].whole;
        mo_view x = mo_tensor_view(whole);
        whole->storage->version++;
        s->sums->sum(ctx, &x);
    }
    if (mo_trainer_agree(trainer, total))
        return total;
    s->sums->leave(ctx, true); /* a rank that has queued its sum would wait for the failed one */
    s->on_devices = false;
    return NULL;
}

/* ---- the start of a run ---- */

/* Copies rank 0's values to every rank; `message` has room for the largest of the tensors. */
static void share_state(mo_trainer *trainer, const mo_ranks *ranks, mo_tensor *const *state, char *message) {
    for (int i = 0; i < trainer->n; i++) {
        if (!ranks->rank)
            mo_tensor_read(state[i], message, mo_gradient_bytes(state[i]));
        mo_ranks_broadcast(ranks, message, mo_gradient_bytes(state[i]));
        if (ranks->rank)
            mo_tensor_write(state[i], message, mo_gradient_bytes(state[i]));
    }
}

/* Copies step, weights and moments from rank 0 to every rank, once its files are written. */
static void share_start(mo_trainer *trainer, void *state) {
    shared *s = state;
    size_t bytes = mo_sum_tree_bytes(trainer->parameter, trainer->n);
    char *message = mo_host_alloc(trainer->ctx, bytes);
    if (mo_trainer_agree(trainer, true)) {
        mo_ranks_broadcast(&s->ranks, &trainer->step, sizeof trainer->step);
        trainer->optimizer->step = trainer->step;
        for (int part = 0; part < 3; part++)
            share_state(trainer, &s->ranks, mo_trainer_state(trainer, part), message);
        mo_trainer_agree(trainer, true);
    }
    mo_host_free(trainer->ctx, message, bytes);
}

/* ---- a step ---- */

/* Gives every rank the records of all episodes. */
static void share_records(mo_trainer *trainer, const mo_ranks *ranks) {
    mo_episode_record *record = trainer->record;
    int E = trainer->options.episodes_per_step, W = ranks->size;
    if (ranks->rank)
        ranks->send(ranks->state, 0, record + trainer->first, (size_t)(trainer->end - trainer->first) * sizeof *record);
    for (int r = 1; !ranks->rank && r < W; r++) {
        int first = mo_ranks_first(E, W, r), end = mo_ranks_first(E, W, r + 1);
        ranks->receive(ranks->state, r, record + first, (size_t)(end - first) * sizeof *record);
    }
    mo_ranks_broadcast(ranks, record, (size_t)E * sizeof *record);
}

/* Exchanges figures and gradients of the episodes. */
static void share_sums(mo_trainer *trainer, void *state) {
    shared *s = state;
    int E = trainer->options.episodes_per_step;
    if (!s->on_devices && !*s->ranks.parted)
        trainer->gradient = mo_sum_tree_share(trainer->tree, trainer->tape, &s->ranks, E, s->message);
    mo_read_figures(trainer);
    if (!mo_trainer_agree(trainer, true))
        return;
    share_records(trainer, &s->ranks);
    if (s->on_devices)
        trainer->gradient = add_on_devices(trainer, s);
}

static void leave(mo_trainer *trainer, void *state) {
    shared *s = state;
    if (s->on_devices)
        s->sums->leave(trainer->ctx, !mo_ok(trainer->ctx));
    mo_host_free(trainer->ctx, s->message, s->bytes);
    mo_host_free(trainer->ctx, s, sizeof *s);
}

/* ---- joining ---- */

static const mo_watcher several_processes = {.on = {
                                                 [MO_STARTS] = share_start,
                                                 [MO_SUMMED] = share_sums,
                                                 [MO_AGREES] = agree,
                                                 [MO_RELEASED] = leave,
                                             }};

static void check_shared(mo_trainer *trainer, const mo_ranks *ranks) {
    const mo_trainer_options *o = &trainer->options;
    if (ranks->size > o->episodes_per_step)
        mo_fail(trainer->ctx, MO_INVALID, "train: %d processes share a step of %d episodes, expected %d to %d episodes",
            ranks->size, o->episodes_per_step, ranks->size, (1 << MO_TREE_LEVELS) - 1);
    else if (o->replay)
        mo_fail(trainer->ctx, MO_INVALID, "train: replay is asked for on %d processes, expected one", ranks->size);
}

/* Assigns this rank its episodes of each step. */
static void take_part(mo_trainer *trainer, shared *s) {
    mo_context *ctx = trainer->ctx;
    int E = trainer->options.episodes_per_step;
    trainer->first = mo_ranks_first(E, s->ranks.size, s->ranks.rank);
    trainer->end = mo_ranks_first(E, s->ranks.size, s->ranks.rank + 1);
    mo_sum_tree_reserve(trainer->tree);
    s->bytes = mo_sum_tree_bytes(trainer->parameter, trainer->n);
    if (mo_context_device(ctx) != MO_CPU)
        s->message = mo_host_alloc(ctx, s->bytes);
}

/* Sets the member of run.json that lists the run's processes and their hosts. */
static void note_processes(mo_trainer *trainer, const shared *s) {
    json_t *hosts = json_array();
    bool whole = true;
    for (int r = 0; r < s->ranks.size && s->ranks.host; r++)
        whole &= !json_array_append_new(hosts, json_string(s->ranks.host[r]));
    trainer->processes = json_pack(
        "{s:i, s:s, s:o}", "size", s->ranks.size, "sums", s->on_devices ? "devices" : "messages", "hosts", hosts);
    if (!whole || !trainer->processes)
        mo_fail(trainer->ctx, MO_MEMORY, "train: out of memory for the names of the processes");
}

mo_code mo_trainer_share(mo_trainer *trainer, const mo_ranks *ranks) {
    if (!trainer || !ranks || ranks->size < 2)
        return trainer ? mo_code_of(trainer->ctx) : MO_INVALID;
    mo_context *ctx = trainer->ctx;
    shared *s = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *s) : NULL;
    if (!mo_ranks_agree(ctx, ranks, true)) {
        mo_host_free(ctx, s, sizeof *s);
        return mo_code_of(ctx);
    }
    *s = (shared){.ranks = *ranks};
    s->ranks.parted = ranks->parted ? ranks->parted : &s->parted;
    if (ranks->rank)
        mo_unwatch(trainer, &mo_run_files);
    mo_watch(trainer, &several_processes, s);
    char *settings = mo_json_encode(trainer->settings, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool same = mo_ranks_compare(ctx, &s->ranks, settings);
    free(settings);
    if (!same)
        return mo_code_of(ctx);
    check_shared(trainer, ranks);
    if (mo_ok(ctx))
        take_part(trainer, s);
    if (mo_trainer_agree(trainer, true))
        join_devices(trainer, s);
    if (mo_ok(ctx))
        note_processes(trainer, s);
    return mo_code_of(ctx);
}
