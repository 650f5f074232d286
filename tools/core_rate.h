/* tools/core_rate.h - the rate of a matrix product, and of one by each set of OpenBLAS kernels. */
#ifndef CORE_RATE_H
#define CORE_RATE_H

#include "tools/inside.h"

/* GFLOP/s of the fastest of `runs` products of two n x n matrices; NaN if the context failed. */
double measure_product(mo_context *ctx, int64_t n, mo_dtype dtype, int runs);
/* GFLOP/s of a float64 product in a child process that uses these kernels; NaN if it failed, or if the BLAS library
 * chose other kernels. */
double measure_core(const char *core, int threads);

#endif
