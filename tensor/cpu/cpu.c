/* tensor/cpu/cpu.c - the CPU backend: memory, and the tables of its kernels. */
#include "tensor/cpu/fast/blas_core.h"
#include "tensor/cpu/fast/blas_guard.h"
#include "tensor/cpu/fast/onednn.h"
#include "tensor/cpu/fast/threads.h"
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/processor.h"
#include "tensor/cpu/tasks.h"
#include "tensor/platform.h"

#include <stdlib.h>
#include <string.h>

extern const mo_kernels kernels_cpu_f32, kernels_cpu_f64;

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20 };

/* The CPU backend's state in a context. */
typedef struct cpu_state {
    void *scratch; /* scratch memory of the kernels */
    size_t bytes;
    bool serial_blas; /* BLAS is not safe to call from several threads */
    contention contention;
} cpu_state;

/* Returns whether the processor can run the kernels; raises if not. */
static bool can_run(mo_context *ctx) {
    const char *lacked = processor_lacks(kernels_need);
    char name[64];
    if (!lacked)
        return true;
    processor_name(name, sizeof name);
    mo_fail(ctx, MO_UNSUPPORTED,
        "context: %s lacks %s, which this build uses: build with -Dcpu=native on it, or -Dcpu=x86-64 for any", name,
        lacked);
    return false;
}

static bool cpu_open(mo_context *ctx) {
#if defined(__x86_64__)
    blas_core_before(); /* so that a program which links libmochi.a has blas_core.c, whose constructor chooses the
                           kernels */
#endif
    cpu_state *state = mo_host_alloc(ctx, sizeof *state);
    if (!state)
        return false;
    int buffers = can_run(ctx) ? blas_guard_reserve(ctx->threads) : 1;
    if (!buffers)
        mo_fail(ctx, MO_MEMORY, "context: out of memory: BLAS needs a buffer of 128 MiB of addresses (ulimit -v)");
    *state = (cpu_state){.serial_blas = buffers && !blas_guard_holds()};
    ctx->threads = (int)min_of(ctx->threads, max_of(1, buffers)); /* so that every thread in BLAS has a buffer */
    ctx->backend_state = state;
    return true;
}

int free_threads(const mo_context *ctx) {
    cpu_state *state = ctx->backend_state;
    return contention_threads(&state->contention, mo_context_threads(ctx));
}

int blas_threads(const mo_context *ctx) {
    const cpu_state *state = ctx->backend_state;
    return state->serial_blas ? 1 : free_threads(ctx);
}

bool can_multiply(mo_context *ctx, size_t real_bytes) {
    if (real_bytes != sizeof(float) || onednn_start())
        return true;
    mo_fail(ctx, MO_MEMORY, "context: out of memory: oneDNN needs 32 MiB of addresses for its code (ulimit -v)");
    return false;
}

bool mo_context_blas_is_safe(const mo_context *ctx) {
    const cpu_state *state = ctx && ctx->backend == &mo_backend_cpu ? ctx->backend_state : NULL;
    return !state || !state->serial_blas;
}

static size_t round_up(size_t bytes, size_t alignment) {
    return bytes ? (bytes + alignment - 1) / alignment * alignment : alignment;
}

/* Maps a large block by itself, because malloc would keep it for similar blocks after it is freed. Huge pages save most
 * of its page faults and TLB misses. */
static void *map_block(size_t bytes) {
    size_t all = bytes + HUGE_PAGE;
    char *at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    char *block = (char *)round_up((size_t)at, HUGE_PAGE);
    size_t before = (size_t)(block - at);
    if (before)
        munmap(at, before);
    if (before < HUGE_PAGE)
        munmap(block + bytes, HUGE_PAGE - before);
    madvise(block, bytes, MADV_HUGEPAGE); /* only a hint: if it fails, the block has small pages */
    return block;
}

static void *cpu_alloc(mo_context *ctx, size_t bytes) {
    (void)ctx;
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE)
        return NULL;
    return bytes >= HUGE_FROM ? map_block(round_up(bytes, HUGE_PAGE))
                              : aligned_alloc(ALIGNMENT, round_up(bytes, ALIGNMENT));
}

static void cpu_free(mo_context *ctx, void *block, size_t bytes) {
    (void)ctx;
    if (block && bytes >= HUGE_FROM)
        munmap(block, round_up(bytes, HUGE_PAGE));
    else
        free(block);
}

static void cpu_trim(mo_context *ctx) {
    cpu_state *state = ctx->backend_state;
    mo_device_free(ctx, state->scratch, state->bytes);
    state->scratch = NULL;
    state->bytes = 0;
}

static void cpu_close(mo_context *ctx) {
    if (!ctx->backend_state)
        return;
    cpu_trim(ctx);
    mo_host_free(ctx, ctx->backend_state, sizeof(cpu_state));
    ctx->backend_state = NULL;
}

void *cpu_workspace(mo_context *ctx, size_t bytes) {
    cpu_state *state = ctx->backend_state;
    if (state->scratch && bytes <= state->bytes)
        return state->scratch;
    mo_device_free(ctx, state->scratch, state->bytes);
    state->scratch = mo_device_alloc(ctx, bytes);
    state->bytes = state->scratch ? bytes : 0;
    return state->scratch;
}

static void cpu_upload(mo_context *ctx, void *device, const void *host, size_t bytes) {
    (void)ctx;
    if (bytes)
        memcpy(device, host, bytes);
}

static void cpu_download(mo_context *ctx, void *host, const void *device, size_t bytes) {
    cpu_upload(ctx, host, device, bytes);
}

typedef struct stretch {
    char *start;
    int64_t bytes;
} stretch;

enum { PIECE = 1 << 20 };

static void zero_pieces(const void *of, task_range some) {
    const stretch *s = of;
    int64_t from = some.first * PIECE;
    memset(s->start + from, 0, (size_t)(min_of(s->bytes, some.end * PIECE) - from));
}

static void cpu_zero(mo_context *ctx, void *device, size_t bytes) {
    int threads = bytes < 2 * PIECE ? 1 : free_threads(ctx);
    const stretch s = {.start = device, .bytes = (int64_t)bytes};
    run_tasks(threads, (s.bytes + PIECE - 1) / PIECE, 0, zero_pieces, &s);
}

const mo_backend mo_backend_cpu = {
    .size = sizeof(mo_backend),
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .trim = cpu_trim,
    .upload = cpu_upload,
    .download = cpu_download,
    .zero = cpu_zero,
    .copy = copy_cpu,
    .fill = fill_cpu,
    .f32 = &kernels_cpu_f32,
    .f64 = &kernels_cpu_f64,
};
