/* tools/python/binding/gate.c - lets Python call the library: one thread at a time per context, and no error stays in
 * the context.
 *
 * A generated function gate_X calls X between gate_enter and gate_leave. A second thread or a forked process is
 * refused. Before the gate opens again, the error is moved out of the context, so that the thread that caused it gets
 * it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct binding_gate {
    mo_context *ctx;
    _Atomic(uintptr_t) owner; /* the thread inside; 0: none */
    int depth;                /* number of nested calls */
    unsigned forks;           /* binding_forks when the gate was made */
} binding_gate;

typedef enum binding_failure { BINDING_FINE = 0, BINDING_ERROR, BINDING_BUSY, BINDING_FORKED } binding_failure;

static _Atomic unsigned binding_forks;
/* Result of this thread's last call. */
static _Thread_local binding_failure binding_last;
static _Thread_local mo_status binding_last_status;

static void binding_forked(void) {
    atomic_fetch_add(&binding_forks, 1);
}

static void binding_open(void) {
    pthread_atfork(NULL, NULL, binding_forked);
}

static binding_gate *binding_gate_create(mo_context *ctx) {
    binding_gate *g = calloc(1, sizeof *g);
    if (g) {
        g->ctx = ctx;
        g->forks = atomic_load(&binding_forks);
    }
    return g;
}

static void binding_gate_free(binding_gate *g) {
    free(g);
}

static bool gate_enter(binding_gate *g) {
    uintptr_t self = (uintptr_t)pthread_self(), nobody = 0;
    binding_last = BINDING_FINE;
    if (g->forks != atomic_load_explicit(&binding_forks, memory_order_relaxed)) {
        binding_last = BINDING_FORKED;
        return false;
    }
    if (atomic_load_explicit(&g->owner, memory_order_relaxed) != self &&
        !atomic_compare_exchange_strong(&g->owner, &nobody, self)) {
        binding_last = BINDING_BUSY;
        return false;
    }
    g->depth++;
    return true;
}

/* Returns whether the call succeeded. */
static bool gate_leave(binding_gate *g) {
    const mo_status *s = mo_context_status(g->ctx);
    binding_last = BINDING_FINE; /* errors of nested calls have been handled by the library or by Python */
    if (s->code != MO_OK) {
        binding_last = BINDING_ERROR;
        binding_last_status = *s;
        mo_clear_error(g->ctx);
    }
    if (--g->depth == 0)
        atomic_store_explicit(&g->owner, 0, memory_order_release);
    return binding_last == BINDING_FINE;
}

/* Whether no thread is inside, including this one, and the process is the one that made the gate. */
static bool binding_idle(binding_gate *g) {
    return atomic_load(&g->owner) == 0 && g->forks == atomic_load(&binding_forks);
}

static bool binding_is_forked(binding_gate *g) {
    return g->forks != atomic_load(&binding_forks);
}

/* The result of this thread's last call, and its error. */
static binding_failure binding_failed(void) {
    return binding_last;
}

/* Sets this thread's result. A finalizer that makes calls can run between a call and the query of its result; it then
 * restores this result. */
static void binding_put_failure(binding_failure failure) {
    binding_last = failure;
}

static const mo_status *binding_error(void) {
    return &binding_last_status;
}

/* Records an error of a Python function that the library called. */
static void binding_raise(mo_context *ctx, mo_code code, const char *message) {
    mo_fail(ctx, code, "%s", message);
}

/* Makes constants of the tape from n arrays of one dtype, of which those with needs[i] require a gradient. each:
 * address, number of axes and sizes of every array, one array after the other. */
static void binding_copy_in(
    binding_gate *gate, mo_tape *t, mo_dtype dtype, int n, const int64_t *each, const bool *needs, mo_tensor **out) {
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
 * as in binding_copy_in. */
static void binding_pull(binding_gate *gate, mo_tape *t, mo_tensor *y, const int64_t *bar, mo_tensor *const *xs, int n,
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

static const char *binding_version(void) {
    return MO_VERSION;
}
