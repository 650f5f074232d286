/* train/episodes/prefetch.c - plans a run's episodes ahead and fetches their rows, in two slots.
 *
 * When an episode is taken, the next one is planned, and its rows in mapped files are announced to the system, which
 * reads them from the disk while the episode is computed. A CPU then gathers them like any tensor. For a GPU, once the
 * work of the episode is queued, the next one's rows are copied into page-locked memory, while the GPU computes.
 * Episodes take the slots in turn, so the host waits only for the upload of the episode before this one before it
 * copies rows of the next one. */
#include "tensor/objects.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/pool.h"

enum { SLOTS = 2 };

typedef struct slot {
    bool planned, fetched; /* fetched: the rows are ready */
    uint64_t number, version;
    const mo_source *source;
    mo_plan plan;
    mo_host_arena *host;
    mo_row_list rows;
    mo_ready_rows ready;
    mo_status failed; /* the error of planning or fetching, raised when the episode is taken */
} slot;

struct mo_prefetch {
    mo_context *ctx;
    mo_pool *pool;
    mo_family_order order;
    mo_plan_options options;
    uint64_t end;
    slot slot[SLOTS];
    int at; /* slot of the next episode to be taken */
};

mo_prefetch *mo_prefetch_create(mo_pool *pool, mo_family_order order, const mo_plan_options *options, uint64_t end) {
    mo_context *ctx = pool->ctx;
    mo_prefetch *p = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *p) : NULL;
    if (!p)
        return NULL;
    *p = (mo_prefetch){.ctx = ctx, .pool = pool, .order = order, .options = *options, .end = end};
    for (int i = 0; i < SLOTS; i++)
        p->slot[i].host = mo_host_arena_create(ctx);
    if (mo_ok(ctx))
        return p;
    mo_prefetch_release(p);
    return NULL;
}

void mo_prefetch_release(mo_prefetch *p) {
    if (!p)
        return;
    for (int i = 0; i < SLOTS; i++) {
        mo_plan_release(&p->slot[i].plan);
        mo_unpin(p->ctx, &p->slot[i].ready.buffer);
        mo_host_arena_release(p->slot[i].host);
    }
    mo_host_free(p->ctx, p, sizeof *p);
}

/* The error of a slot's work is raised when its episode is taken. */
static void hold_failure(mo_prefetch *p, slot *s) {
    s->failed = p->ctx->status;
    mo_clear_error(p->ctx);
}

static void plan_episode(mo_prefetch *p, slot *s, uint64_t number) {
    const mo_tensor *array[MO_MOST_PIECES];
    mo_plan_release(&s->plan);
    mo_host_arena_reset(s->host);
    s->planned = true;
    s->fetched = false;
    s->number = number;
    s->version = p->pool->version;
    if (mo_pool_plan(p->pool, number, p->order, &p->options, &s->source, &s->plan) == MO_OK &&
        mo_list_rows(s->host, s->source, &s->plan, &s->rows, p->ctx))
        for (int i = 0, n = mo_episode_arrays(s->source, array); i < n; i++) {
            mo_row_stack rows = mo_row_stack_of(array[i], array[i]->ndim - 2);
            mo_announce_rows(&rows, s->rows.row, s->rows.n);
        }
    hold_failure(p, s);
}

static void fetch_episode(mo_prefetch *p, slot *s) {
    const mo_tensor *array[MO_MOST_PIECES];
    if (s->fetched || s->failed.code)
        return;
    s->fetched = true;
    mo_make_ready(p->ctx, array, mo_episode_arrays(s->source, array), s->rows.row, s->rows.n, &s->ready);
    hold_failure(p, s);
}

static void plan_where_missing(mo_prefetch *p, slot *s, uint64_t number) {
    if (number < p->end && (!s->planned || s->number != number || s->version != p->pool->version))
        plan_episode(p, s, number);
}

mo_code mo_prefetch_take(
    mo_prefetch *p, mo_tape *t, uint64_t number, uint64_t next, mo_episode *e, const mo_source **source) {
    mo_context *ctx = p->ctx;
    slot *s = &p->slot[p->at];
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    plan_where_missing(p, s, number);
    fetch_episode(p, s);
    *source = s->source;
    ctx->status = s->failed;
    if (mo_ok(ctx))
        mo_episode_tensors(t, &s->plan, &s->rows, &s->ready, e);
    s->planned = false;
    p->at = (p->at + 1) % SLOTS;
    if (mo_ok(ctx))
        plan_where_missing(p, &p->slot[p->at], next);
    return mo_code_of(ctx);
}

void mo_prefetch_ahead(mo_prefetch *p) {
    slot *s = &p->slot[p->at];
    if (mo_ok(p->ctx) && s->planned)
        fetch_episode(p, s);
}
