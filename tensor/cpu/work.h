/* tensor/cpu/work.h - when a kernel uses threads, and where it finds scratch memory.
 *
 * Threads never change a bit: a kernel cuts its work into tasks by shape alone, and each sum is formed inside one task
 * or over tasks in order. The thread count only decides who computes a task. */
#ifndef MO_CPU_WORK_H
#define MO_CPU_WORK_H

#include "tensor/objects.h"

enum {
    MO_TASK = 16384,           /* elements per task of an elementwise kernel: 64 KiB of float32 */
    MO_PARALLEL_FROM = 32768,  /* with fewer elements, waking a thread costs more than it saves */
    MO_PARALLEL_FLOP = 1 << 20 /* least operations for which a product uses threads */
};

static inline int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The context's threads; 1 while other programs want the processors (fast/threads.c). */
int free_threads(const mo_context *ctx);

/* The number of threads for a kernel that touches `elements` elements. */
static inline int threads_for(const mo_context *ctx, int64_t elements) {
    return elements < MO_PARALLEL_FROM ? 1 : free_threads(ctx);
}

/* free_threads for a kernel whose threads call BLAS at the same time; 1 if BLAS cannot take that. */
int blas_threads(const mo_context *ctx);

/* Makes the library ready that multiplies matrices with entries of real_bytes (blas_gemm), before threads share the
 * work. Returns false after raising MO_MEMORY. */
bool can_multiply(mo_context *ctx, size_t real_bytes);

/* Returns whether products round their factors to bf16. */
static inline bool rounds_factors(const mo_context *ctx, size_t real_bytes) {
    return ctx->math == MO_MATH_BF16 && real_bytes == sizeof(float);
}

/* The number of rows, of n elements each, that make one task. */
static inline int64_t task_rows(int64_t n) {
    return max_of(1, MO_TASK / max_of(1, n));
}

/* Returns scratch memory of the context, 64-byte aligned, kept between calls so that a repeated step allocates nothing.
 * Valid until the next call. Returns NULL after raising MO_MEMORY. */
void *cpu_workspace(mo_context *ctx, size_t bytes);

#endif
