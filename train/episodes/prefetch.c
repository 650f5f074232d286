/* train/episodes/prefetch.c - planning and fetching episodes ahead, in four slots: while the device computes on one, a
 * thread gathers the rows of the next ones into page-locked memory. With two slots each episode would have to be
 * fetched while the one before it is computed; with four, large and small episodes average out.
 *
 * The i-th taken episode uses slot i mod 4. Once its work is queued, its slot is planned for episode i + 4; before
 * that, the host waits only for the upload of episode i (which precedes that work), so that no row is overwritten
 * during its upload. Episodes with resident rows need no fetching; they are planned ahead as well. */
#include "tensor/platform.h"
#include "tensor/storage.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { SLOTS = 4, ALIGNMENT = 256 };

/* ---- the thread: runs orders in turn, has no context and raises no errors ---- */

/* Rows of one array to fetch. */
typedef struct row_piece {
    mo_row_stack stack;
    const int64_t *row;
    int64_t n;
    char *out;
} row_piece;

/* One order to the thread, which reads the pieces and writes to their buffers until the order is done. */
typedef struct row_order {
    row_piece piece[MO_MOST_PIECES];
    int n;
    bool done;
    char failure[512]; /* error message of one line; "" after success */
    struct row_order *next;
} row_order;

typedef struct row_reader {
    mo_context *ctx; /* for use by the caller's thread alone */
    pthread_t thread;
    bool started, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    row_order *first; /* the next order */
} row_reader;

static void do_order(row_order *o) {
    o->failure[0] = 0;
    for (int i = 0; i < o->n && !o->failure[0]; i++) {
        const row_piece *p = &o->piece[i];
        mo_fetch_rows_into(&p->stack, p->row, p->n, p->out, o->failure, sizeof o->failure);
    }
}

static void *read_rows(void *state) {
    row_reader *r = state;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        row_order *o = r->first;
        if (!o) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        do_order(o);
        pthread_mutex_lock(&r->lock);
        o->done = true;
        r->first = o->next;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* The thread blocks all signals: the program's own threads handle them. */
static bool start_reader_thread(row_reader *r) {
    sigset_t all;
    pthread_attr_t attributes;
    if (r->started)
        return true;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    int failure = pthread_create(&r->thread, &attributes, read_rows, r);
    pthread_attr_destroy(&attributes);
    if (failure)
        mo_fail(r->ctx, MO_IO, "train: no thread to read rows: %s", strerror(failure));
    else
        r->started = true;
    return !failure;
}

/* Returns NULL on failure. The first order starts the thread. */
static row_reader *row_reader_create(mo_context *ctx) {
    row_reader *r = mo_host_alloc(ctx, sizeof *r);
    if (!r)
        return NULL;
    r->ctx = ctx;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    return r;
}

/* Waits for the running order and drops the queued ones. */
static void row_reader_release(row_reader *r) {
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (r->started)
        pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    mo_host_free(r->ctx, r, sizeof *r);
}

/* Queues an order, which must live until the reader is released; raises if no thread can be started. */
static mo_code row_reader_order(row_reader *r, row_order *order) {
    if (!mo_ok(r->ctx) || !start_reader_thread(r))
        return mo_context_status(r->ctx)->code;
    pthread_mutex_lock(&r->lock);
    row_order **last = &r->first;
    while (*last)
        last = &(*last)->next;
    order->done = false;
    order->next = NULL;
    *last = order;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return MO_OK;
}

/* Waits for the order and raises its failure. */
static mo_code row_reader_wait(row_reader *r, const row_order *order) {
    pthread_mutex_lock(&r->lock);
    while (!order->done)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (mo_ok(r->ctx) && order->failure[0])
        mo_fail(r->ctx, MO_IO, "%s", order->failure);
    return mo_context_status(r->ctx)->code;
}

/* ---- the slots ---- */

typedef struct slot {
    bool planned, ordered; /* ordered: the thread can be working on this slot */
    uint64_t number, version;
    const mo_source *source;
    mo_plan plan;
    mo_host_arena *host;
    mo_row_list rows;
    mo_pinned buffer;
    mo_fetched fetched;
    row_order order;
    mo_status failed; /* the error of planning, raised when the episode is taken */
} slot;

struct mo_prefetch {
    mo_context *ctx;
    mo_pool *pool;
    mo_family_order order;
    mo_plan_options options;
    uint64_t end;
    uint64_t stride, first, count; /* of each `stride` episodes, first .. first + count - 1 are taken */
    row_reader *reader;
    slot slot[SLOTS];
};

mo_prefetch *mo_prefetch_create(mo_pool *pool, mo_family_order order, const mo_plan_options *options, uint64_t end) {
    mo_context *ctx = pool->ctx;
    mo_prefetch *p = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *p) : NULL;
    if (!p)
        return NULL;
    *p = (mo_prefetch){
        .ctx = ctx, .pool = pool, .order = order, .options = *options, .end = end, .stride = 1, .count = 1};
    p->reader = row_reader_create(ctx);
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
    row_reader_release(p->reader);
    for (int i = 0; i < SLOTS; i++) {
        mo_plan_release(&p->slot[i].plan);
        mo_unpin(p->ctx, &p->slot[i].buffer);
        mo_host_arena_release(p->slot[i].host);
    }
    mo_host_free(p->ctx, p, sizeof *p);
}

void mo_prefetch_share(mo_prefetch *p, uint64_t stride, uint64_t first, uint64_t count) {
    if (!p || !count)
        return;
    p->stride = stride;
    p->first = first;
    p->count = count;
}

/* prefetch_place: the index, from 0, of episode `number` among the taken episodes; prefetch_number: the inverse. */
static uint64_t prefetch_place(const mo_prefetch *p, uint64_t number) {
    return number / p->stride * p->count + number % p->stride - p->first;
}

static uint64_t prefetch_number(const mo_prefetch *p, uint64_t place) {
    return place / p->count * p->stride + p->first + place % p->count;
}

/* Empties a slot, whatever the state of its order. */
static void prefetch_clear(mo_prefetch *p, slot *s) {
    mo_status before = p->ctx->status;
    if (s->ordered)
        row_reader_wait(p->reader, &s->order);
    p->ctx->status = before;
    mo_plan_release(&s->plan);
    mo_host_arena_reset(s->host);
    s->planned = s->ordered = false;
    s->failed = (mo_status){0};
}

/* Makes room for `bytes` bytes; grows by at least half of the old room. */
static bool prefetch_reserve(mo_prefetch *p, slot *s, size_t bytes) {
    size_t more = s->buffer.bytes + s->buffer.bytes / 2;
    if (bytes <= s->buffer.bytes)
        return true;
    mo_unpin(p->ctx, &s->buffer);
    return mo_pin(p->ctx, bytes > more ? bytes : more, &s->buffer);
}

/* Gives the thread an order for the rows that are not in memory. */
static void order_rows(mo_prefetch *p, slot *s) {
    mo_fetched *f = &s->fetched;
    size_t bytes = 0;
    *f = (mo_fetched){.buffer = &s->buffer};
    s->order.n = f->n = mo_episode_arrays(p->ctx, s->source, f->array);
    for (int i = 0; i < f->n; i++) {
        mo_row_stack stack = mo_row_stack_of(f->array[i], f->array[i]->ndim - 2);
        s->order.piece[i] = (row_piece){.stack = stack, .row = s->rows.row, .n = s->rows.n};
        f->offset[i] = bytes;
        bytes += (size_t)(stack.outer * s->rows.n) * stack.width;
        bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (!f->n || !prefetch_reserve(p, s, bytes))
        return;
    for (int i = 0; i < f->n; i++)
        s->order.piece[i].out = (char *)s->buffer.data + f->offset[i];
    s->ordered = row_reader_order(p->reader, &s->order) == MO_OK;
}

static void prefetch_plan(mo_prefetch *p, slot *s, uint64_t number) {
    mo_context *ctx = p->ctx;
    prefetch_clear(p, s);
    s->planned = true;
    s->number = number;
    s->version = p->pool->version;
    if (mo_sent(ctx, &s->buffer) == MO_OK &&
        mo_pool_plan(p->pool, number, p->order, &p->options, &s->source, &s->plan) == MO_OK &&
        mo_list_rows(s->host, s->source, &s->plan, &s->rows, ctx))
        order_rows(p, s);
    s->failed = ctx->status;
    mo_clear_error(ctx);
}

static void plan_where_missing(mo_prefetch *p, uint64_t place) {
    slot *s = &p->slot[place % SLOTS];
    uint64_t number = prefetch_number(p, place);
    if (number < p->end && (!s->planned || s->number != number || s->version != p->pool->version))
        prefetch_plan(p, s, number);
}

mo_code mo_prefetch_take(mo_prefetch *p, mo_tape *t, uint64_t number, mo_episode *e, const mo_source **source) {
    mo_context *ctx = p->ctx;
    uint64_t place = prefetch_place(p, number);
    slot *s = &p->slot[place % SLOTS];
    if (!mo_ok(ctx))
        return mo_context_status(ctx)->code;
    for (uint64_t i = 0; i < SLOTS; i++)
        plan_where_missing(p, place + i);
    *source = s->source;
    ctx->status = s->failed;
    if (s->ordered)
        row_reader_wait(p->reader, &s->order);
    if (mo_ok(ctx))
        mo_episode_tensors(t, &s->plan, &s->rows, s->fetched.n ? &s->fetched : NULL, e);
    s->planned = s->ordered = false;
    return mo_context_status(ctx)->code;
}

void mo_prefetch_ahead(mo_prefetch *p, uint64_t number) {
    uint64_t place = prefetch_place(p, number) + SLOTS, later = prefetch_number(p, place);
    if (mo_ok(p->ctx) && later < p->end)
        prefetch_plan(p, &p->slot[place % SLOTS], later);
}
