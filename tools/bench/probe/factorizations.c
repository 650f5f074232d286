/* tools/bench/probe/factorizations.c - tests whether a CUDA graph can record cuSOLVER's Cholesky and cuBLAS's
 * triangular solves, as the vendor does not say; and which triangle and routine are faster. */
#include "tools/bench/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>

/* A X = B. The probe factors A in place, again and again, so each factor must be positive definite too: A [n, n] is 12
 * on its diagonal and nearly 0 elsewhere. */
typedef struct system_of {
    int64_t n, columns;
    float *A, *B;
    float **pointer; /* address of A, in device memory */
    int32_t *info;
    bool lower, left;
} system_of;

static const char *factor(seam *s, const void *of) {
    const system_of *a = of;
    return seam_potrf(s, SEAM_F32, a->lower, a->n, a->A, a->n, a->info);
}

static const char *factor_batch_of_one(seam *s, const void *of) {
    const system_of *a = of;
    return seam_potrf_batched(s, SEAM_F32, a->lower, a->n, (void *const *)a->pointer, a->n, a->info, 1);
}

static const char *solve(seam *s, const void *of) {
    const system_of *a = of;
    seam_triangle t = {.type = SEAM_F32, .left = a->left, .lower = a->left, .ldt = a->n};
    t.m = a->left ? a->n : a->columns;
    t.n = a->left ? a->columns : a->n;
    t.ldb = t.m;
    return seam_trsm(s, &t, a->A, a->B);
}

static system_of make_system(const probe *p, int64_t n, int64_t columns) {
    system_of a = {.n = n, .columns = columns};
    size_t bytes = (size_t)(n * n) * sizeof(float);
    float *values = malloc(bytes);
    if (!values)
        probe_stop("memory", NULL);
    for (int64_t i = 0; i < n * n; i++)
        values[i] = i / n == i % n ? 12 : 1e-4F;
    a.A = probe_memory(p, bytes);
    a.pointer = probe_memory(p, sizeof a.A);
    a.info = probe_memory(p, sizeof *a.info);
    a.B = probe_values(p, n * columns, 1);
    probe_send(p, a.A, values, bytes);
    probe_send(p, a.pointer, &a.A, sizeof a.A);
    free(values);
    return a;
}

static void release_system(const probe *p, system_of *a) {
    seam_release(p->s, a->A);
    seam_release(p->s, a->B);
    seam_release(p->s, a->pointer);
    seam_release(p->s, a->info);
}

static void ask(const probe *p, system_of *a) {
    char what[64];
    probe_diagonal walk = {a->A, a->n, a->info};
    snprintf(what, sizeof what, "%lld dependent loads", (long long)a->n);
    probe_measure(p, what, probe_walk, &walk);
    for (int lower = 0; lower < 2; lower++) {
        a->lower = lower;
        const char *side = lower ? "lower" : "upper";
        snprintf(what, sizeof what, "potrf %lld %s", (long long)a->n, side);
        probe_measure(p, what, factor, a);
        snprintf(what, sizeof what, "potrf of a batch of one, %lld %s", (long long)a->n, side);
        probe_measure(p, what, factor_batch_of_one, a);
    }
    for (int left = 0; left < 2; left++) {
        a->left = left;
        snprintf(what, sizeof what, left ? "trsm left %lld x %lld" : "trsm right %lld x %lld", (long long)a->n,
            (long long)a->columns);
        probe_measure(p, what, solve, a);
    }
}

/* Times the backend's own kernel, which factors and solves at once, and then the kernel of its adjoint. */
static void ask_own(const probe *p, int64_t n, int64_t m) {
    char what[64];
    system_of a = make_system(p, n, m);
    probe_system s = {n, m, a.A, probe_memory(p, (size_t)(n * n) * sizeof(float)), a.B,
        probe_memory(p, (size_t)(n * m) * sizeof(float)), a.info, false};
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        s.adjoint = adjoint;
        snprintf(what, sizeof what, "spd%s %lld x %lld", adjoint ? " adjoint" : "", (long long)n, (long long)m);
        probe_measure(p, what, probe_spd, &s);
    }
    release_system(p, &a);
    seam_release(p->s, s.L);
    seam_release(p->s, s.X);
}

/* The systems of gc_dd, lp, gc_enzymes, nc15 and nc64. */
void probe_factorizations(const probe *p) {
    static const int64_t sizes[][2] = {{40, 2}, {64, 2}, {120, 6}, {300, 15}, {513, 64}}, small[2] = {9, 2};
    size_t count = p->dry ? 1 : sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++) {
        const int64_t *size = p->dry ? small : sizes[i];
        ask_own(p, size[0], size[1]);
        system_of a = make_system(p, size[0], size[1]);
        ask(p, &a);
        release_system(p, &a);
    }
}
