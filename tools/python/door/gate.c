/* tools/python/door/gate.c - lets Python call the library: one thread at a time per context, and no error stays in the
 * context.
 *
 * A generated function gate_X calls X between gate_enter and gate_leave. A second thread or a forked process is
 * refused. Before the gate opens again, the error is moved out of the context, so that the thread that caused it gets
 * it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct door_gate {
    mo_context *ctx;
    _Atomic(uintptr_t) owner; /* the thread inside; 0: none */
    int depth;                /* number of nested calls */
    unsigned forks;           /* door_forks when the gate was made */
} door_gate;

typedef enum door_failure { DOOR_FINE = 0, DOOR_ERROR, DOOR_BUSY, DOOR_FORKED } door_failure;

static _Atomic unsigned door_forks;
/* Result of this thread's last call. */
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

/* Returns whether the call succeeded. */
static bool gate_leave(door_gate *g) {
    const mo_status *s = mo_context_status(g->ctx);
    door_last = DOOR_FINE; /* errors of nested calls have been handled by the library or by Python */
    if (s->code != MO_OK) {
        door_last = DOOR_ERROR;
        door_last_status = *s;
        mo_clear_error(g->ctx);
    }
    if (--g->depth == 0)
        atomic_store_explicit(&g->owner, 0, memory_order_release);
    return door_last == DOOR_FINE;
}

/* Whether no thread is inside, including this one, and the process is the one that made the gate. */
static bool door_idle(door_gate *g) {
    return atomic_load(&g->owner) == 0 && g->forks == atomic_load(&door_forks);
}

static bool door_is_forked(door_gate *g) {
    return g->forks != atomic_load(&door_forks);
}

/* The result of this thread's last call, and its error. */
static door_failure door_failed(void) {
    return door_last;
}

/* Sets this thread's result. A finalizer that makes calls can run between a call and the query of its result; it then
 * restores this result. */
static void door_put_failure(door_failure failure) {
    door_last = failure;
}

static const mo_status *door_error(void) {
    return &door_last_status;
}

/* Records an error of a Python function that the library called. */
static void door_raise(mo_context *ctx, mo_code code, const char *message) {
    mo_fail(ctx, code, "%s", message);
}

/* Makes constants of the tape from n arrays of one dtype, of which those with needs[i] require a gradient. each:
 * address, number of axes and sizes of every array, one array after the other. */
static void door_copy_in(
    door_gate *gate, mo_tape *t, mo_dtype dtype, int n, const int64_t *each, const bool *needs, mo_tensor **out) {
    if (!gate_enter(gate))
        return;
    for (int i = 0; i < n; i++, each += 2 + each[1]) {
        out[i] = mo_from(t, dtype, (int)each[1], each + 2, (const void *)(uintptr_t)each[0]);
        if (needs[i])
            mo_require_grad(out[i]);
    }
    gate_leave(gate);
}

/* Writes the gradients of y in n tensors to `out` and their values to the addresses `to`; bar: y's adjoint, described
 * as in door_copy_in. */
static void door_pull(door_gate *gate, mo_tape *t, mo_tensor *y, const int64_t *bar, mo_tensor *const *xs, int n,
    mo_tensor **out, const int64_t *to) {
    if (!gate_enter(gate))
        return;
    mo_tensor *y_bar = mo_from(t, mo_tensor_dtype(y), (int)bar[1], bar + 2, (const void *)(uintptr_t)bar[0]);
    bool done = mo_grad(t, &y, &y_bar, 1, xs, out, n, MO_RETAIN | MO_ALLOW_UNUSED) == MO_OK;
    for (int i = 0; done && i < n; i++) {
        size_t bytes = (size_t)mo_numel(out[i]) * mo_dtype_size(mo_tensor_dtype(out[i]));
        done = mo_tensor_read(out[i], (void *)(uintptr_t)to[i], bytes) == MO_OK;
    }
    gate_leave(gate);
}

static const char *door_version(void) {
    return MO_VERSION;
}
