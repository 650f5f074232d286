/* tools/core.h - the kernels of the BLAS library. */
#ifndef CORE_H
#define CORE_H

/* Runs the program again, once, with other kernels of OpenBLAS where those it chose are known to be the slower ones for
 * this processor. Returns where there is nothing to change. */
void choose_blas_core(char **argv);

#endif
