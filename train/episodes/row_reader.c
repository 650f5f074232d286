/* train/episodes/row_reader.c - the thread that fetches rows. It takes orders in turn, knows no context and raises no
 * errors: a failure is stored in its order, and mo_row_reader_wait raises it. */
#include "train/episodes/row_reader.h"

#include "tensor/storage.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct mo_row_reader {
    mo_context *ctx; /* used by the caller's thread alone */
    pthread_t thread;
    bool started, stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    mo_row_order *first; /* the next order */
};

static void do_order(mo_row_order *o) {
    o->failure[0] = 0;
    for (int i = 0; i < o->n && !o->failure[0]; i++) {
        const mo_row_piece *p = &o->piece[i];
        mo_fetch_rows_into(&p->stack, p->row, p->n, p->out, o->failure, sizeof o->failure);
    }
}

static void *read_rows(void *state) {
    mo_row_reader *r = state;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        mo_row_order *o = r->first;
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

/* The thread blocks all signals: they are for the program's own threads. */
static bool start_reader_thread(mo_row_reader *r) {
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

mo_row_reader *mo_row_reader_create(mo_context *ctx) {
    mo_row_reader *r = mo_host_alloc(ctx, sizeof *r);
    if (!r)
        return NULL;
    r->ctx = ctx;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    return r;
}

void mo_row_reader_release(mo_row_reader *r) {
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

mo_code mo_row_reader_order(mo_row_reader *r, mo_row_order *order) {
    if (!mo_ok(r->ctx) || !start_reader_thread(r))
        return mo_context_status(r->ctx)->code;
    pthread_mutex_lock(&r->lock);
    mo_row_order **last = &r->first;
    while (*last)
        last = &(*last)->next;
    order->done = false;
    order->next = NULL;
    *last = order;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return MO_OK;
}

mo_code mo_row_reader_wait(mo_row_reader *r, const mo_row_order *order) {
    pthread_mutex_lock(&r->lock);
    while (!order->done)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (mo_ok(r->ctx) && order->failure[0])
        mo_fail(r->ctx, MO_IO, "%s", order->failure);
    return mo_context_status(r->ctx)->code;
}
