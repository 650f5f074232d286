/* tensor/cpu/fast/blas_guard.h - whether BLAS may be called from several threads at once. */
#ifndef MO_CPU_BLAS_GUARD_H
#define MO_CPU_BLAS_GUARD_H

#include "tensor/inside.h"

/* Returns whether several threads may call BLAS at once: the guard works, or the library is not OpenBLAS. Costs one
 * tiny factorization. */
bool blas_guard_holds(void);

/* Makes OpenBLAS take the buffers for `threads` threads now, as far as memory allows: if memory were short later,
 * OpenBLAS would ask for it in an endless loop. Returns for how many threads there are buffers, at most `threads`. */
int blas_guard_reserve(int threads);

#endif
