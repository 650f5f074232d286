/* tensor/cpu/triangle.h - triangular systems of one matrix. */
#ifndef MO_CPU_TRIANGLE_H
#define MO_CPU_TRIANGLE_H

#include "tensor/cpu/real.h"

/* op(T) X = B with T [n, n] contiguous. */
typedef struct triangle {
    const real *T;
    int64_t n;
    bool lower, transposed, unit; /* the triangle; op transposes; a diagonal of ones that is not stored */
} triangle;

#define solve_triangle REAL(solve_triangle)

/* B := op(T)^-1 B for m columns, rows of B ld apart. */
void solve_triangle(const triangle *t, real *B, int64_t m, int64_t ld);

#endif
