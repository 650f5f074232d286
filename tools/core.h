/* tools/core.h - the kernels of the BLAS library. */
#ifndef CORE_H
#define CORE_H

/* Restarts the program, once, with other OpenBLAS kernels if the chosen ones are known to be slower on this processor.
 * Returns if nothing needs to change, or the restart fails. */
void choose_blas_core(char **argv);

/* The name of the kernels in use: "Haswell"; NULL if another library implements CBLAS. */
const char *blas_core(void);
/* The name of the kernels that OpenBLAS chose by itself; NULL if the user's environment chose them. */
const char *blas_core_of_openblas(void);

#endif
