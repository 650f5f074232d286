/* tools/bench/core_rate.h - how fast a set of kernels of OpenBLAS is. */
#ifndef CORE_RATE_H
#define CORE_RATE_H

/* GFLOP/s of a float32 product in a child process that takes these kernels; NaN where that failed, or where the BLAS
 * library took others. */
double measure_core(const char *core, int threads);

#endif
