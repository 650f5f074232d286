/* tools/core.h - the kernels of the BLAS library. */
#ifndef CORE_H
#define CORE_H

/* Runs the program again, once, with other kernels of OpenBLAS where those it chose are known to be the slower ones for
 * this processor. Returns where there is nothing to change. */
void choose_blas_core(char **argv);

/* The kernels in use: "Haswell"; NULL where another library stands behind CBLAS. */
const char *blas_core(void);
/* Those that OpenBLAS had chosen by itself; NULL where it was told by the user's environment. */
const char *blas_core_of_openblas(void);
/* Kernels that this processor can run and that could be the fastest; at most `most` names are written. Returns how many
 * there are. */
int blas_core_candidates(const char **names, int most);

#endif
