/* tests/openmp_workers.h - a host with its own regions of OpenMP, compiled with -ffast-math: the threads that it leaves
 * flush subnormal numbers to zero, and are the library's too. */
#ifndef OPENMP_WORKERS_H
#define OPENMP_WORKERS_H

#include <omp.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FLUSHES = 0x8040 };

/* Sets the flags in every thread of OpenMP but the calling one; returns how many had `before`. */
static inline int set_in_workers(int threads, unsigned before, unsigned flags) {
    int had = 0;
#pragma omp parallel num_threads(threads) reduction(+ : had)
    if (omp_get_thread_num() > 0) {
        unsigned control = _mm_getcsr();
        had += (control & FLUSHES) == before;
        _mm_setcsr((control & ~(unsigned)FLUSHES) | flags);
    }
    return had;
}
#endif

#endif
