/* tensor/context.c - a context: one device and its handles, counters, registry and status. */
#include "tensor/storage.h"

#include <sched.h>
#include <stdlib.h>

static int available_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 64 ? 64 : n;
}

mo_context *mo_context_create(const mo_context_options *options) {
    mo_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    mo_context_options o = options ? *options : (mo_context_options){0};
    ctx->device = o.device;
    ctx->threads = o.threads > 0 ? o.threads : available_processors();
    ctx->null_tensor.ctx = ctx;
    ctx->backend = &mo_backend_cpu;
    if (o.threads < 0)
        mo_fail(ctx, MO_INVALID, "context: threads is %d, expected 0 (all) or more", o.threads);
    if (o.device != MO_CPU)
        mo_fail(ctx, MO_UNSUPPORTED, "context: this build has no device %d, only the cpu", (int)o.device);
    if (ctx->backend->open)
        ctx->backend->open(ctx);
    return ctx;
}

void mo_context_release(mo_context *ctx) {
    if (!ctx)
        return;
    if (ctx->backend->close)
        ctx->backend->close(ctx);
    free(ctx->ops);
    free(ctx->profile);
    free(ctx);
}

int mo_context_threads(const mo_context *ctx) {
    return ctx->threads;
}

mo_device mo_context_device(const mo_context *ctx) {
    return ctx->device;
}

mo_counters mo_context_counters(const mo_context *ctx) {
    return ctx->counters;
}

void mo_context_reset_peaks(mo_context *ctx) {
    ctx->counters.bytes_peak = ctx->counters.bytes_live;
    ctx->counters.tape_peak = ctx->counters.tape_live;
}

const mo_kernels *mo_kernels_of(mo_context *ctx, mo_dtype dtype) {
    if (dtype == MO_F32)
        return ctx->backend->f32;
    if (dtype == MO_F64)
        return ctx->backend->f64;
    mo_fail(ctx, MO_UNSUPPORTED, "no kernels for %s: cast to float32 or float64", mo_dtype_name(dtype));
    return NULL;
}

static void count_allocation(mo_context *ctx, size_t bytes) {
    ctx->counters.allocations++;
    ctx->counters.bytes_live += (int64_t)bytes;
    if (ctx->counters.bytes_live > ctx->counters.bytes_peak)
        ctx->counters.bytes_peak = ctx->counters.bytes_live;
}

void *mo_host_alloc(mo_context *ctx, size_t bytes) {
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes of host memory", bytes);
        return NULL;
    }
    count_allocation(ctx, bytes);
    return block;
}

void mo_host_free(mo_context *ctx, void *block, size_t bytes) {
    if (!block)
        return;
    ctx->counters.bytes_live -= (int64_t)bytes;
    free(block);
}

void *mo_device_alloc(mo_context *ctx, size_t bytes) {
    void *block = ctx->backend->alloc(ctx, bytes ? bytes : 1);
    if (!block) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes on %s", bytes, ctx->backend->name);
        return NULL;
    }
    count_allocation(ctx, bytes);
    return block;
}

void mo_device_free(mo_context *ctx, void *block, size_t bytes) {
    if (!block)
        return;
    ctx->counters.bytes_live -= (int64_t)bytes;
    ctx->backend->free(ctx, block, bytes ? bytes : 1);
}
