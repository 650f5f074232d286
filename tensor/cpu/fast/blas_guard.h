/* tensor/cpu/fast/blas_guard.h - whether BLAS may be called from several threads at once. */
#ifndef MO_CPU_BLAS_GUARD_H
#define MO_CPU_BLAS_GUARD_H

#include "tensor/inside.h"

/* Returns whether such calls are safe: the guard is in place, or the library is not OpenBLAS. Costs one tiny
 * factorization. */
bool blas_guard_holds(void);

/* Makes OpenBLAS take the buffers of that many threads now, as far as memory allows: without memory, OpenBLAS would ask
 * for it in an endless loop. Returns the number of threads that have one, at most the given one. */
int blas_guard_reserve(int threads);

#endif
