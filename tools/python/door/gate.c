/* tools/python/door/gate.c - how Python enters the library: one thread at a time in a context, and no errors left in
 * it.
 *
 * A generated function gate_X calls X between gate_enter and gate_leave. A second thread is refused, and so is a forked
 * process. An error is taken out of the context before the gate opens again, so that the thread that made it finds it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct door_gate {
    mo_context *ctx;
    _Atomic(uintptr_t) owner; /* the thread inside; 0: none */
    int depth;                /* its calls, one inside the other */
    unsigned forks;           /* of the process that made the gate */
} door_gate;

typedef enum door_failure { DOOR_FINE = 0, DOOR_ERROR, DOOR_BUSY, DOOR_FORKED } door_failure;

static _Atomic unsigned door_forks;
/* Of this thread's last call. */
static _Thread_local door_failure door_last;
static _Thread_local mo_status door_last_status;

static void door_forked(void) {
    atomic_fetch_add(&door_forks, 1);
}

static void door_open(void) {
    pthread_atfork(NULL, NULL, door_forked);
}

static door_gate *door_gate_create(mo_context *ctx) {
    door_gate *g = calloc(1, sizeof *g);
    if (g) {
        g->ctx = ctx;
        g->forks = atomic_load(&door_forks);
    }
    return g;
}

static void door_gate_free(door_gate *g) {
    free(g);
}

static bool gate_enter(door_gate *g) {
    uintptr_t self = (uintptr_t)pthread_self(), nobody = 0;
    door_last = DOOR_FINE;
    if (g->forks != atomic_load_explicit(&door_forks, memory_order_relaxed)) {
        door_last = DOOR_FORKED;
        return false;
    }
    if (atomic_load_explicit(&g->owner, memory_order_relaxed) != self &&
        !atomic_compare_exchange_strong(&g->owner, &nobody, self)) {
        door_last = DOOR_BUSY;
        return false;
    }
    g->depth++;
    return true;
}

/* Returns whether the call went well. */
static bool gate_leave(door_gate *g) {
    const mo_status *s = mo_context_status(g->ctx);
    door_last = DOOR_FINE; /* whatever happened in calls inside this one, which the library or Python has dealt with */
    if (s->code != MO_OK) {
        door_last = DOOR_ERROR;
        door_last_status = *s;
        mo_clear_error(g->ctx);
    }
    if (--g->depth == 0)
        atomic_store_explicit(&g->owner, 0, memory_order_release);
    return door_last == DOOR_FINE;
}

/* Whether no thread is inside, this one included, and the process is the gate's own. */
static bool door_idle(door_gate *g) {
    return atomic_load(&g->owner) == 0 && g->forks == atomic_load(&door_forks);
}

static bool door_is_forked(door_gate *g) {
    return g->forks != atomic_load(&door_forks);
}

/* How this thread's last call ended, and then the error. */
static door_failure door_failed(void) {
    return door_last;
}

/* For what runs between a call and the question how it ended: a finalizer puts back what it found. */
static void door_put_failure(door_failure failure) {
    door_last = failure;
}

static const mo_status *door_error(void) {
    return &door_last_status;
}

/* The error of a function of Python that the library has called. */
static void door_raise(mo_context *ctx, mo_code code, const char *message) {
    mo_fail(ctx, code, "%s", message);
}

static const char *door_version(void) {
    return MO_VERSION;
}
