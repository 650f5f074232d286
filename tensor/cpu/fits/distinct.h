/* tensor/cpu/fits/distinct.h - finding the rows of a matrix that are bitwise copies of one another. */
#ifndef MO_CPU_DISTINCT_H
#define MO_CPU_DISTINCT_H

#include "tensor/cpu/real.h"

#define distinct_layout REAL(distinct_layout)
#define distinct_number REAL(distinct_number)

/* of[i]: the number of row i; first[k]: the first row with number k; table: a hash table of numbers. */
typedef struct distinct {
    int32_t *of, *first, *table;
    int64_t slots; /* a power of two, at least twice the rows */
} distinct;

/* Returns the scratch size, in reals, for `rows` rows; lays the arrays out in `scratch` unless it is NULL. */
int64_t distinct_layout(distinct *t, int64_t rows, real *scratch);
/* Numbers the rows from .. to - 1 of X [.., d]: rows with the same bits get the same number, and new numbers are given
 * from `count` on in order of first appearance. Returns the next free number. */
int64_t distinct_number(const distinct *t, const real *X, int64_t d, int64_t from, int64_t to, int64_t count);

#endif
