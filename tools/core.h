/* tools/core.h - the kernels of the BLAS library. */
#ifndef CORE_H
#define CORE_H

/* Runs the program again, once, with the AVX-512 kernels of OpenBLAS where the processor has them and OpenBLAS did not
 * choose them. Returns where there is nothing to change. */
void choose_blas_core(char **argv);

#endif
