/* tensor/cpu/fast/blas_core.h - which kernels OpenBLAS uses. */
#ifndef MO_CPU_BLAS_CORE_H
#define MO_CPU_BLAS_CORE_H

/* The name of OpenBLAS's kernels, "Haswell"; NULL if another library implements CBLAS. */
const char *blas_core(void);
/* The name of the kernels that OpenBLAS or the environment chose before this library was loaded; NULL as above. */
const char *blas_core_before(void);

#endif
