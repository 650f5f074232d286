/* train/episodes/prefetch.c - plans a run's episodes ahead and fetches their rows, in two slots.
 *
 * When an episode is taken, the next one is planned, and its rows in mapped files are announced to the system, which
 * reads them from the disk while the episode is computed. A CPU then gathers them like any tensor. For a GPU, once the
 * work of the episode is queued, the next one's rows are copied into page-locked memory, while the GPU computes.
 * Episodes take the slots in turn, so the host waits only for the upload of the episode before this one before it
 * copies rows of the next one. */
#include "tensor/objects.h"
#include "tensor/platform.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/pool.h"

enum { SLOTS = 2, ALIGNMENT = 256 };

typedef struct slot {
    bool planned, ready; /* ready: the rows are in the buffer */
    uint64_t number, version;
    const mo_source *source;
    mo_plan plan;
    mo_host_arena *host;
    mo_row_list rows;
    mo_pinned buffer;
    mo_row_stack stack[MO_MOST_PIECES]; /* the arrays from which rows are fetched */
    mo_fetched fetched;
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
        mo_unpin(p->ctx, &p->slot[i].buffer);
        mo_host_arena_release(p->slot[i].host);
    }
    mo_host_free(p->ctx, p, sizeof *p);
}

/* Makes room for `bytes` bytes; grows by at least half of the old room. */
static bool prefetch_reserve(mo_prefetch *p, slot *s, size_t bytes) {
    size_t more = s->buffer.bytes + s->buffer.bytes / 2;
    if (bytes <= s->buffer.bytes)
        return true;
    mo_unpin(p->ctx, &s->buffer);
    return mo_pin(p->ctx, bytes > more ? bytes : more, &s->buffer);
}

static void plan_episode(mo_prefetch *p, slot *s, uint64_t number) {
    mo_context *ctx = p->ctx;
    mo_fetched *f = &s->fetched;
    mo_plan_release(&s->plan);
    mo_host_arena_reset(s->host);
    s->planned = true;
    s->ready = false;
    s->number = number;
    s->version = p->pool->version;
    *f = (mo_fetched){.buffer = &s->buffer};
    if (mo_pool_plan(p->pool, number, p->order, &p->options, &s->source, &s->plan) == MO_OK &&
        mo_list_rows(s->host, s->source, &s->plan, &s->rows, ctx)) {
        const mo_tensor *array[MO_MOST_PIECES];
        for (int i = 0, n = mo_episode_arrays(s->source, array); i < n; i++) {
            mo_row_stack rows = mo_row_stack_of(array[i], array[i]->ndim - 2);
            mo_announce_rows(&rows, s->rows.row, s->rows.n);
            if (!mo_rows_resident(ctx, array[i])) {
                s->stack[f->n] = rows;
                f->array[f->n++] = array[i];
            }
        }
    }
    s->failed = ctx->status;
    mo_clear_error(ctx);
}

/* Copies the rows of the slot's episode into its buffer, once the upload of the episode before has read the buffer. */
static void fetch_episode(mo_prefetch *p, slot *s) {
    mo_fetched *f = &s->fetched;
    size_t bytes = 0;
    if (s->ready || s->failed.code)
        return;
    s->ready = true;
    for (int i = 0; i < f->n; i++) {
        f->offset[i] = bytes;
        bytes += (size_t)(s->stack[i].outer * s->rows.n) * s->stack[i].width;
        bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (f->n && mo_sent(p->ctx, &s->buffer) == MO_OK && prefetch_reserve(p, s, bytes))
        for (int i = 0; i < f->n; i++)
            mo_read_rows(&s->stack[i], s->rows.row, s->rows.n, (char *)s->buffer.data + f->offset[i]);
    s->failed = p->ctx->status;
    mo_clear_error(p->ctx);
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
        return mo_context_status(ctx)->code;
    plan_where_missing(p, s, number);
    fetch_episode(p, s);
    *source = s->source;
    ctx->status = s->failed;
    if (mo_ok(ctx))
        mo_episode_tensors(t, &s->plan, &s->rows, &s->fetched, e);
    s->planned = false;
    p->at = (p->at + 1) % SLOTS;
    if (mo_ok(ctx))
        plan_where_missing(p, &p->slot[p->at], next);
    return mo_context_status(ctx)->code;
}

void mo_prefetch_ahead(mo_prefetch *p) {
    slot *s = &p->slot[p->at];
    if (mo_ok(p->ctx) && s->planned)
        fetch_episode(p, s);
}
