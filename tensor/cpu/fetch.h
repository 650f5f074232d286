/* tensor/cpu/fetch.h - prefetching rows whose addresses follow no pattern that the processor could guess. */
#ifndef MO_CPU_FETCH_H
#define MO_CPU_FETCH_H

#include "tensor/cpu/real.h"

/* Asks for a row of d elements some time before it is read. It goes into the second-level cache: the few line buffers
 * of the first level would be the bottleneck (measured 1.7 times slower). */
static inline void fetch_row(const real *row, int64_t d) {
    for (int64_t byte = 0; byte < d * (int64_t)sizeof(real); byte += 64)
        __builtin_prefetch((const char *)row + byte, 0, 2);
}

#endif
