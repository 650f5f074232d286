/* tools/bench/core_rate.h - measures the speed of a set of OpenBLAS kernels. */
#ifndef CORE_RATE_H
#define CORE_RATE_H

/* GFLOP/s of a float32 product in a child process that uses these kernels; NaN if it failed, or if the BLAS library
 * chose other kernels. */
double measure_core(const char *core, int threads);

#endif
