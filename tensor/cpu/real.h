/* tensor/cpu/real.h - the float type that the kernels are compiled for.
 *
 * Every kernel file is compiled twice, with MO_REAL_BITS 32 and 64. REAL(name) is the name of a symbol of this type,
 * BLAS(name) and LAPACK(name) those of the libraries. */
#ifndef MO_CPU_REAL_H
#define MO_CPU_REAL_H

#include "tensor/storage.h"

#if MO_REAL_BITS == 32
typedef float real;
#define REAL(name) name##_f32
#define BLAS(name) cblas_s##name
#define LAPACK(name) s##name##_
#elif MO_REAL_BITS == 64
typedef double real;
#define REAL(name) name##_f64
#define BLAS(name) cblas_d##name
#define LAPACK(name) d##name##_
#else
#error "MO_REAL_BITS is 32 or 64"
#endif

#endif
