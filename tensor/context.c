/* tensor/context.c - a context: one device and its handles, counters, registry and status. */
#include "tensor/cpu/fast/blas_guard.h"
#include "tensor/cpu/fast/threads.h"
#include "tensor/cpu/tasks.h"
#include "tensor/library.h"
#include "tensor/objects.h"
#include "tensor/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024, MAX_EXPAND = 32 };

static int available_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 64 ? 64 : n;
}

/* Starts the kernels' threads. A forked process does not have the threads of its parent; kernels then use one
 * thread. */
static void start_threads(mo_context *ctx) {
    if (ctx->threads > team_most())
        ctx->threads = team_most();
    if (team_is_lost())
        ctx->threads = 1;
    int code = mo_ok(ctx) ? team_start(ctx->threads) : 0;
    if (code)
        mo_fail(ctx, MO_MEMORY,
            "context: %d threads cannot be started (%s): too little memory or a limit of threads; ask for fewer",
            ctx->threads, strerror(code));
}

static void check_options(mo_context *ctx, const mo_context_options *o) {
    if (o->threads < 0 || o->threads > MOST_THREADS) {
        mo_fail(
            ctx, MO_INVALID, "context: threads is %d, expected 0 (all) or more, at most %d", o->threads, MOST_THREADS);
        ctx->threads = 1;
    }
    if ((unsigned)o->math > MO_MATH_BF16 || (o->math == MO_MATH_TF32 && o->device != MO_CUDA))
        mo_fail(ctx, MO_UNSUPPORTED, "context: math %d, expected fp32 or bf16 (tf32 on cuda alone)", (int)o->math);
    if (o->index < 0 || o->device_memory < 0 || ((o->index || o->device_memory) && o->device != MO_CUDA))
        mo_fail(ctx, MO_INVALID, "context: device %d of %lld bytes, expected 0 or more (on cuda alone)", o->index,
            (long long)o->device_memory);
    if (o->memory < 0)
        mo_fail(ctx, MO_INVALID, "context: memory is %lld bytes, expected 0 (no bound) or more", (long long)o->memory);
}

/* Opens the device's backend; on failure the CPU's, so that the context can be used in its error state. Returns false
 * if there is no memory for the CPU's either. */
static bool open_backend(mo_context *ctx) {
    char reason[512];
    const mo_backend *backend = mo_ok(ctx) ? mo_backend_of(ctx->device, reason, sizeof reason) : &mo_backend_cpu;
    if (!backend)
        mo_fail(ctx, MO_UNSUPPORTED, "context: %s", reason);
    ctx->backend = backend ? backend : &mo_backend_cpu;
    if (ctx->backend->open(ctx))
        return true;
    if (ctx->backend == &mo_backend_cpu)
        return false;
    ctx->backend = &mo_backend_cpu;
    return ctx->backend->open(ctx);
}

mo_context *mo_context_create(const mo_context_options *options) {
    mo_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    mo_context_options o = options ? *options : (mo_context_options){0};
    ctx->device = o.device;
    ctx->math = o.math;
    ctx->index = o.index;
    ctx->memory = o.memory > 0 ? o.memory : 0;
    ctx->device_memory = o.device_memory;
    ctx->debug = o.debug;
    ctx->on_error = o.on_error;
    ctx->on_error_state = o.on_error_state;
    ctx->go_on = o.go_on;
    ctx->go_on_state = o.go_on_state;
    ctx->max_expand = o.max_expand > 0 ? o.max_expand : MAX_EXPAND;
    int processors = available_processors(), wanted = team_wanted();
    ctx->threads = o.threads > 0 ? o.threads : wanted < processors ? wanted : processors;
    ctx->null_tensor.ctx = ctx;
    check_options(ctx, &o);
    mo_usual_arithmetic(ctx, "context"); /* before the threads start: they inherit the rounding mode of this thread */
    start_threads(ctx);
    if (!open_backend(ctx)) {
        mo_context_release(ctx);
        return NULL;
    }
    ctx->empty_bytes = ctx->counters.bytes_live;
    return ctx;
}

bool mo_device_describe(mo_device device, char *text, size_t bytes) {
    char unread[1];
    if (!text) {
        text = unread;
        bytes = sizeof unread;
    }
    const mo_backend *backend = mo_backend_of(device, text, bytes);
    if (!backend)
        return false;
    const char *reason = NULL;
    if (backend->describe)
        reason = backend->describe(text, bytes);
    else
        snprintf(text, bytes, "%d processors%s", available_processors(),
            blas_guard_holds() ? "" : "; BLAS by one thread at a time: a serial OpenBLAS was loaded before libmochi");
    if (reason)
        snprintf(text, bytes, "%s: %s", backend->name, reason);
    return !reason;
}

int mo_device_count(mo_device device) {
    char reason[512];
    const mo_backend *backend = mo_backend_of(device, reason, sizeof reason);
    return !backend ? 0 : backend->devices ? backend->devices() : 1;
}

bool mo_device_libraries(mo_device device, char *text, size_t bytes) {
    char reason[512];
    const mo_backend *backend = mo_backend_of(device, reason, sizeof reason);
    if (!backend || !backend->libraries)
        return false;
    backend->libraries(text, bytes);
    return true;
}

mo_code mo_context_release(mo_context *ctx) {
    if (!ctx)
        return MO_OK;
    if (mo_context_in_use(ctx))
        return MO_STATE;
    if (ctx->backend->close)
        ctx->backend->close(ctx);
    if (ctx->engine)
        ctx->free_engine(ctx->engine);
    mo_free_all_buried(ctx);
    mo_free_released_csr(ctx);
    free(ctx);
    return MO_OK;
}

int mo_context_threads(const mo_context *ctx) {
    return !ctx ? 0 : team_is_lost() ? 1 : ctx->threads;
}

mo_device mo_context_device(const mo_context *ctx) {
    return ctx ? ctx->device : MO_CPU;
}

mo_code mo_context_wait(mo_context *ctx) {
    if (ctx && ctx->backend->wait)
        ctx->backend->wait(ctx);
    return mo_code_of(ctx);
}

mo_code mo_context_trim(mo_context *ctx) {
    if (mo_ok(ctx))
        ctx->backend->trim(ctx);
    return mo_code_of(ctx);
}

/* Seconds between two calls of go_on. */
static const double PATIENCE = 0.05;

bool mo_goes_on(mo_context *ctx) {
    bool stopped = __atomic_load_n(&ctx->stopped, __ATOMIC_RELAXED);
    if (!ctx->go_on || stopped || works_for_another())
        return !stopped;
    double now = mo_clock(CLOCK_MONOTONIC);
    if (now < ctx->ask_at)
        return true;
    ctx->ask_at = INFINITY; /* ops of go_on itself do not ask */
    if (!ctx->go_on(ctx, ctx->go_on_state) || !mo_ok(ctx)) {
        mo_fail(ctx, MO_STATE, "stopped: go_on returned false");
        stopped = true;
        __atomic_store_n(&ctx->stopped, true, __ATOMIC_RELAXED);
    }
    ctx->ask_at = now + PATIENCE;
    return !stopped;
}

void *mo_context_stream(mo_context *ctx) {
    return ctx && ctx->backend->stream ? ctx->backend->stream(ctx) : NULL;
}

mo_code mo_context_order(mo_context *ctx, void *stream, bool theirs_first) {
    if (ctx && ctx->backend->order)
        ctx->backend->order(ctx, stream, theirs_first);
    return mo_code_of(ctx);
}

mo_counters mo_context_counters(const mo_context *ctx) {
    if (!ctx)
        return (mo_counters){0};
    mo_counters c = ctx->counters;
    c.device_peak = ctx->backend->peak ? (int64_t)ctx->backend->peak(ctx, false) : 0;
    return c;
}

void mo_context_reset_peaks(mo_context *ctx) {
    if (!ctx)
        return;
    ctx->counters.bytes_peak = ctx->counters.bytes_live;
    ctx->counters.tape_peak = ctx->counters.tape_live;
    if (ctx->backend->peak)
        ctx->backend->peak(ctx, true);
}

const mo_kernels *mo_kernels_of(mo_context *ctx, mo_dtype dtype) {
    if (dtype == MO_F32)
        return ctx->backend->f32;
    if (dtype == MO_F64)
        return ctx->backend->f64;
    mo_fail(ctx, MO_UNSUPPORTED, "no kernels for %s: cast to float32 or float64", mo_dtype_name(dtype));
    return NULL;
}

bool mo_has_room(const mo_context *ctx, size_t bytes) {
    return !ctx || !ctx->memory || (double)ctx->host_held + (double)bytes <= (double)ctx->memory;
}

bool mo_within_bound(mo_context *ctx, size_t bytes) {
    if (mo_has_room(ctx, bytes))
        return true;
    const double mib = 1 << 20;
    return mo_fail(ctx, MO_MEMORY,
        "out of memory: %.1fM asked, %.1fM held, %.1fM allowed: raise --memory (memory of the context's options)",
        (double)bytes / mib, (double)ctx->host_held / mib, (double)ctx->memory / mib);
}

static void count_allocation(mo_context *ctx, size_t bytes, bool of_host) {
    ctx->counters.allocations++;
    ctx->host_held += of_host ? (int64_t)bytes : 0;
    ctx->counters.bytes_live += (int64_t)bytes;
    if (ctx->counters.bytes_live > ctx->counters.bytes_peak)
        ctx->counters.bytes_peak = ctx->counters.bytes_live;
}

void *mo_host_alloc(mo_context *ctx, size_t bytes) {
    if (!mo_within_bound(ctx, bytes))
        return NULL;
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes of host memory", bytes);
        return NULL;
    }
    count_allocation(ctx, bytes, true);
    return block;
}

static void count_free(mo_context *ctx, size_t bytes, bool of_host) {
    ctx->counters.bytes_live -= (int64_t)bytes;
    ctx->host_held -= of_host ? (int64_t)bytes : 0;
}

void mo_host_uncount(mo_context *ctx, size_t bytes) {
    count_free(ctx, bytes, true);
}

void mo_host_free(mo_context *ctx, void *block, size_t bytes) {
    if (!block)
        return;
    count_free(ctx, bytes, true);
    free(block);
}

static void fail_device_memory(mo_context *ctx, size_t bytes) {
    size_t held = 0, left = 0;
    if (!ctx->backend->memory) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes on %s", bytes, ctx->backend->name);
        return;
    }
    ctx->backend->memory(ctx, &held, &left);
    mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes asked of %s, %zu held, %zu free", bytes, ctx->backend->name, held,
        left);
}

void *mo_device_alloc(mo_context *ctx, size_t bytes) {
    bool of_host = ctx->backend == &mo_backend_cpu;
    if (of_host && !mo_within_bound(ctx, bytes))
        return NULL;
    void *block = ctx->backend->alloc(ctx, bytes ? bytes : 1);
    if (!block) {
        fail_device_memory(ctx, bytes);
        return NULL;
    }
    count_allocation(ctx, bytes, of_host);
    return block;
}

void mo_device_free(mo_context *ctx, void *block, size_t bytes) {
    if (!block)
        return;
    count_free(ctx, bytes, ctx->backend == &mo_backend_cpu);
    ctx->backend->free(ctx, block, bytes ? bytes : 1);
}

mo_tensor *mo_tensor_reserve(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    int64_t bound = ctx->memory;
    ctx->memory = 0;
    mo_tensor *T = mo_tensor_uninitialized(ctx, dtype, ndim, shape);
    ctx->memory = bound;
    if (mo_ok(ctx) && ctx->backend == &mo_backend_cpu) {
        T->storage->uncounted = true;
        ctx->host_held -= (int64_t)T->storage->bytes;
    }
    return T;
}

bool mo_tensor_count(const mo_tensor *T) {
    mo_storage *S = T->storage;
    if (!S || !S->uncounted || !mo_within_bound(T->ctx, S->bytes))
        return mo_ok(T->ctx);
    S->uncounted = false;
    T->ctx->host_held += (int64_t)S->bytes;
    return true;
}

bool mo_device_memory(mo_context *ctx, size_t *held, size_t *left) {
    if (!ctx->backend->memory)
        return false;
    ctx->backend->memory(ctx, held, left);
    return true;
}

/* A device that copies at once does not need page-locked memory. */
bool mo_pin(mo_context *ctx, size_t bytes, mo_pinned *p) {
    *p = (mo_pinned){0};
    if (!ctx->backend->pin) {
        *p = (mo_pinned){.data = mo_host_alloc(ctx, bytes), .bytes = bytes};
        return p->data != NULL;
    }
    if (!mo_within_bound(ctx, bytes))
        return false;
    if (!ctx->backend->pin(ctx, bytes, p)) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes of page-locked host memory", bytes);
        return false;
    }
    count_allocation(ctx, bytes, true);
    return true;
}

void mo_unpin(mo_context *ctx, mo_pinned *p) {
    if (!p->data)
        return;
    if (ctx->backend->unpin) {
        ctx->backend->unpin(ctx, p);
        count_free(ctx, p->bytes, true);
    } else {
        mo_host_free(ctx, p->data, p->bytes);
    }
    *p = (mo_pinned){0};
}

mo_code mo_sent(mo_context *ctx, const mo_pinned *p) {
    if (p->data && ctx->backend->sent)
        ctx->backend->sent(ctx, p);
    return ctx->status.code;
}
