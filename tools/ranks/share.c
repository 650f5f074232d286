/* tools/ranks/share.c - several processes share a run: each has the same weights and computes some of the episodes of a
 * step, and every process takes the same step with the sum of all gradients. One process adds them in the order of the
 * episodes. So do several: a rank keeps the gradients of its episodes, adds them one by one to the sum of the ranks
 * before it, and sends this to the next rank; the bits do not depend on the number of processes. On a
 * device too: the gradients are read into host memory, where the message needs them anyway. Only rank 0 writes files.
 */
#include "tensor/files/number_text.h"
#include "tensor/objects.h"
#include "tools/ranks/ranks.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { PART_ALIGNMENT = 256 };

struct ranks_share {
    mo_context *ctx;
    ranks_group ranks;
    int n, own, kept;         /* parameters; this rank's episodes of a step; those whose gradients have come */
    size_t bytes, count;      /* of the gradients of all parameters, padded: bytes, and float32 numbers */
    float *sum, *gradients;   /* [count]; [own, count]: of this rank's episodes */
    mo_tensor *whole, **part; /* the sum on the device, and its n parts */
    bool parted;              /* target of ranks.parted if the caller's is NULL */
};

/* ---- gradients in one buffer ---- */

/* Bytes of one parameter's part, padded with zeros so that the next part is aligned like an allocation. */
static size_t part_bytes(const mo_tensor *P) {
    return (mo_gradient_bytes(P) + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
}

size_t ranks_gradient_bytes(const mo_trainer *trainer) {
    size_t bytes = 0;
    for (int i = 0; i < trainer->n; i++)
        bytes += part_bytes(trainer->parameter[i]);
    return bytes;
}

/* Returns false on failure. */
static bool make_buffers(const mo_trainer *trainer, ranks_share *s) {
    mo_context *ctx = s->ctx;
    size_t at = 0;
    s->bytes = ranks_gradient_bytes(trainer);
    s->count = s->bytes / sizeof *s->sum;
    s->sum = mo_host_alloc(ctx, s->bytes);
    s->gradients = mo_host_alloc(ctx, (size_t)s->own * s->bytes);
    s->whole = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){(int64_t)s->count});
    s->part = mo_host_alloc(ctx, (size_t)s->n * sizeof *s->part);
    for (int i = 0; s->part && i < s->n && mo_ok(ctx); i++, at += part_bytes(trainer->parameter[i - 1])) {
        const mo_tensor *P = trainer->parameter[i];
        if (P->dtype != MO_F32)
            mo_fail(ctx, MO_UNSUPPORTED, "train: several processes share a model of %s, expected float32",
                mo_dtype_name(P->dtype));
        mo_storage_retain(s->whole->storage);
        s->part[i] = mo_tensor_onto(ctx, s->whole->storage, P->dtype, P->ndim, P->shape);
        if (mo_ok(ctx))
            s->part[i]->offset = (int64_t)(at / sizeof(float));
    }
    return mo_ok(ctx);
}

static void keep_gradients(ranks_share *s, mo_tensor *const *gradient) {
    char *to = (char *)(s->gradients + (size_t)s->kept * s->count);
    for (int i = 0; i < s->n && mo_ok(s->ctx); i++) {
        mo_tensor_read(gradient[i], to, mo_gradient_bytes(gradient[i]));
        to += part_bytes(gradient[i]);
    }
    s->kept++;
}

/* Adds the gradients in the order of the episodes, from rank to rank. A rank that has failed sends arbitrary numbers:
 * all ranks learn of its failure when they agree. */
static void add_in_order(ranks_share *s) {
    const ranks_group *r = &s->ranks;
    int first = r->rank ? 0 : 1, last = r->size - 1;
    if (r->rank)
        r->receive(r->state, r->rank - 1, s->sum, s->bytes);
    else
        memcpy(s->sum, s->gradients, s->bytes);
    for (int j = first; j < s->own; j++)
        for (size_t i = 0; i < s->count; i++)
            s->sum[i] += s->gradients[(size_t)j * s->count + i];
    r->send(r->state, r->rank == last ? 0 : r->rank + 1, s->sum, s->bytes);
    if (!r->rank)
        r->receive(r->state, last, s->sum, s->bytes);
    ranks_broadcast(r, s->sum, s->bytes);
}

/* ---- the hooks ---- */

static bool go_on(mo_trainer *trainer, void *state, bool more) {
    const ranks_share *s = state;
    return ranks_agree(trainer->ctx, &s->ranks, more);
}

/* Gives every rank the records of all episodes. */
static void share_records(mo_trainer *trainer, const ranks_group *ranks) {
    mo_episode_record *record = trainer->record;
    int E = trainer->options.episodes_per_step, W = ranks->size;
    if (ranks->rank)
        ranks->send(ranks->state, 0, record + trainer->first, (size_t)(trainer->end - trainer->first) * sizeof *record);
    for (int r = 1; !ranks->rank && r < W; r++) {
        int first = ranks_first(E, W, r), end = ranks_first(E, W, r + 1);
        ranks->receive(ranks->state, r, record + first, (size_t)(end - first) * sizeof *record);
    }
    ranks_broadcast(ranks, record, (size_t)E * sizeof *record);
}

/* Exchanges figures and gradients of the episodes once all have come. */
static mo_tensor *const *sum(mo_trainer *trainer, void *state, mo_tensor *const *gradient) {
    ranks_share *s = state;
    if (gradient) {
        keep_gradients(s, gradient);
        return NULL;
    }
    s->kept = 0;
    if (!*s->ranks.parted)
        add_in_order(s);
    mo_read_figures(trainer);
    if (!mo_trainer_agree(trainer, true))
        return NULL;
    share_records(trainer, &s->ranks);
    mo_tensor_write(s->whole, s->sum, s->bytes);
    return s->part;
}

/* ---- the start of a run ---- */

/* Copies step, weights and moments from rank 0 to every rank. */
static void share_start(mo_trainer *trainer, ranks_share *s) {
    ranks_broadcast(&s->ranks, &trainer->step, sizeof trainer->step);
    trainer->optimizer->step = trainer->step;
    for (int part = 0; part < 3; part++)
        for (int i = 0; i < s->n; i++) {
            mo_tensor *X = mo_trainer_state(trainer, part)[i];
            size_t bytes = mo_gradient_bytes(X);
            if (!s->ranks.rank)
                mo_tensor_read(X, s->sum, bytes);
            ranks_broadcast(&s->ranks, s->sum, bytes);
            if (s->ranks.rank)
                mo_tensor_write(X, s->sum, bytes);
        }
    mo_trainer_agree(trainer, true);
}

static void check_shared(mo_trainer *trainer, const ranks_group *ranks) {
    const mo_trainer_options *o = &trainer->options;
    if (ranks->size > o->episodes_per_step)
        mo_fail(trainer->ctx, MO_INVALID, "train: %d processes share a step of %d episodes, expected %d to %d episodes",
            ranks->size, o->episodes_per_step, ranks->size, MO_MOST_EPISODES);
    else if (o->replay)
        mo_fail(trainer->ctx, MO_INVALID, "train: replay is asked for on %d processes, expected one", ranks->size);
}

/* Sets the member of run.json on the run's processes. */
static void note_processes(mo_trainer *trainer, const ranks_share *s) {
    trainer->beside = json_pack("{s:{s:i}}", "ranks", "size", s->ranks.size);
    if (!trainer->beside)
        mo_fail(trainer->ctx, MO_MEMORY, "train: out of memory for the number of processes");
}

/* Compares the ranks, and assigns this rank its episodes. Returns whether no rank has failed. */
static bool prepare(mo_trainer *trainer, ranks_share *s) {
    int E = trainer->options.episodes_per_step, rank = s->ranks.rank, size = s->ranks.size;
    int first = ranks_first(E, size, rank), end = ranks_first(E, size, rank + 1);
    mo_trainer_hook(trainer, &(mo_trainer_hooks){sum, go_on, s}, first, end, rank == 0);
    char *settings = mo_json_encode(trainer->settings, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool same = ranks_compare(s->ctx, &s->ranks, settings);
    free(settings);
    if (!same)
        return false;
    s->own = end - first;
    check_shared(trainer, &s->ranks);
    if (mo_ok(s->ctx))
        make_buffers(trainer, s);
    if (mo_ok(s->ctx))
        note_processes(trainer, s);
    return mo_trainer_agree(trainer, true);
}

mo_code ranks_join(mo_trainer *trainer, const ranks_group *ranks, bool resume, ranks_share **share) {
    mo_context *ctx = trainer->ctx;
    ranks_share *s = *share = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *s) : NULL;
    if (s)
        *s = (ranks_share){.ctx = ctx, .ranks = *ranks, .n = trainer->n};
    if (!ranks_agree(ctx, ranks, true))
        return mo_code_of(ctx);
    s->ranks.parted = ranks->parted ? ranks->parted : &s->parted;
    if (!prepare(trainer, s))
        return mo_code_of(ctx);
    if (resume)
        mo_trainer_resume(trainer);
    else
        mo_trainer_start(trainer);
    if (mo_trainer_agree(trainer, true))
        share_start(trainer, s);
    return mo_code_of(ctx);
}

void ranks_leave(ranks_share *s) {
    if (!s)
        return;
    for (int i = 0; s->part && i < s->n; i++)
        mo_tensor_release(s->part[i]);
    mo_tensor_release(s->whole);
    mo_host_free(s->ctx, s->part, (size_t)s->n * sizeof *s->part);
    mo_host_free(s->ctx, s->gradients, (size_t)s->own * s->bytes);
    mo_host_free(s->ctx, s->sum, s->bytes);
    mo_host_free(s->ctx, s, sizeof *s);
}
