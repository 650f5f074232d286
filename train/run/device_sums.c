/* train/run/device_sums.c - gradients of ranks that have a device each, added up by the devices themselves (NCCL): one
 * sum a step, of one buffer. Its order is the library's own, so that the weights agree with those of one process to
 * rounding; all ranks have the same bits. */
#include "tensor/storage.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

/* Whether this rank's gradients can be added up so. */
static bool can_add(const mo_trainer *trainer) {
    bool can = !trainer->shared->ranks.deterministic && mo_can_sum_ranks(trainer->ctx);
    for (int i = 0; i < trainer->n; i++)
        can &= trainer->parameter[i]->dtype == MO_F32;
    return can;
}

/* Raises where two ranks have one device, which NCCL may answer with silence. */
static void compare_devices(mo_context *ctx, const mo_ranks *ranks) {
    unsigned char mine[MO_DEVICE_BYTES];
    mo_identify_device(ctx, mine);
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

void mo_device_sums_open(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    mo_shared *s = trainer->shared;
    unsigned char name[MO_GROUP_BYTES] = {0};
    bool all_can = mo_trainer_agree(trainer, can_add(trainer));
    if (!all_can)
        return;
    compare_devices(ctx, &s->ranks);
    if (!s->ranks.rank)
        mo_name_group(ctx, name);
    if (!mo_trainer_agree(trainer, true))
        return;
    mo_ranks_broadcast(&s->ranks, name, sizeof name);
    mo_join_group(ctx, name, s->ranks.rank, s->ranks.size);
    s->on_devices = mo_trainer_agree(trainer, true);
    if (!s->on_devices)
        mo_leave_group(ctx, true);
}

void mo_device_sums_close(mo_trainer *trainer) {
    mo_shared *s = trainer->shared;
    if (s->on_devices)
        mo_leave_group(trainer->ctx, !mo_ok(trainer->ctx));
    s->on_devices = false;
}

mo_tensor *const *mo_device_sums_add(mo_trainer *trainer) {
    mo_context *ctx = trainer->ctx;
    mo_shared *s = trainer->shared;
    mo_sum_tree *tree = s->tree;
    mo_tensor *const *total = mo_sum_tree_join(tree, trainer->tape);
    mo_sum_ranks(mo_sum_tree_whole(tree));
    if (mo_trainer_agree(trainer, true))
        return total;
    mo_leave_group(ctx, true); /* a rank that has queued its sum would wait for the one that failed */
    s->on_devices = false;
    return NULL;
}
