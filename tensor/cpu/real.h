/* tensor/cpu/real.h - the float type that the kernels are compiled for.
 *
 * Every kernel file is compiled twice, with MO_REAL_BITS 32 and 64. REAL(name) is name_f32 or name_f64; blas_gemm and
 * the like are the libraries' routines for this type. */
#ifndef MO_CPU_REAL_H
#define MO_CPU_REAL_H

#include "tensor/objects.h"

#include <float.h>

#if MO_REAL_BITS == 32
typedef float real;
#define REAL(name) name##_f32
#define EPSILON ((double)FLT_EPSILON)
#ifdef MO_ONEDNN /* meson.build: where oneDNN is */
#include "tensor/cpu/fast/onednn.h"
#define blas_gemm sgemm_onednn
#else
#define blas_gemm cblas_sgemm
#endif
#define blas_gemv cblas_sgemv
#define blas_symm cblas_ssymm
#define blas_symv cblas_ssymv
#define blas_syrk cblas_ssyrk
#define blas_trsm cblas_strsm
#define blas_trsv cblas_strsv
#define lapack_potrf spotrf_
#define lapack_potri spotri_
#define lapack_getrf sgetrf_
#define lapack_syevd ssyevd_
#define lapack_geqrf sgeqrf_
#define lapack_orgqr sorgqr_
#define lapack_gesdd sgesdd_
#elif MO_REAL_BITS == 64
typedef double real;
#define REAL(name) name##_f64
#define EPSILON DBL_EPSILON
#define blas_gemm cblas_dgemm
#define blas_gemv cblas_dgemv
#define blas_symm cblas_dsymm
#define blas_symv cblas_dsymv
#define blas_syrk cblas_dsyrk
#define blas_trsm cblas_dtrsm
#define blas_trsv cblas_dtrsv
#define lapack_potrf dpotrf_
#define lapack_potri dpotri_
#define lapack_getrf dgetrf_
#define lapack_syevd dsyevd_
#define lapack_geqrf dgeqrf_
#define lapack_orgqr dorgqr_
#define lapack_gesdd dgesdd_
#else
#error "MO_REAL_BITS is 32 or 64"
#endif

/* Prefetches a row of d elements, for rows whose addresses follow no pattern. It goes into the second-level cache: the
 * few line buffers of the first level would be the bottleneck (measured 1.7 times slower). */
static inline void fetch_row(const real *row, int64_t d) {
    for (int64_t byte = 0; byte < d * (int64_t)sizeof(real); byte += 64)
        __builtin_prefetch((const char *)row + byte, 0, 2);
}

#endif
