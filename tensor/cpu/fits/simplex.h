/* tensor/cpu/fits/simplex.h - the projection onto a simplex. */
#ifndef MO_CPU_SIMPLEX_H
#define MO_CPU_SIMPLEX_H

#include "tensor/cpu/real.h"

#include <math.h>

/* The threshold t with sum max(x - t, 0) = size (Michelot 1986); the set of x above it shrinks from pass to pass. */
static inline real simplex_threshold(const real *x, int64_t n, real size) {
    double threshold = -INFINITY;
    for (int64_t above = n, before = n + 1; above > 0 && above < before;) {
        double sum = -(double)size;
        int64_t count = 0;
        for (int64_t c = 0; c < n; c++)
            if ((double)x[c] > threshold) {
                sum += (double)x[c];
                count++;
            }
        if (count == 0)
            break;
        before = threshold == -INFINITY ? n + 1 : above;
        above = count;
        threshold = sum / (double)count;
    }
    return (real)threshold;
}

#endif
