/* tensor/cpu/distinct.h - which rows of a matrix are copies of one another. */
#ifndef MO_CPU_DISTINCT_H
#define MO_CPU_DISTINCT_H

#include "tensor/cpu/real.h"

#define distinct_place REAL(distinct_place)
#define distinct_number REAL(distinct_number)

/* Numbers of rows; each number's first row; a table of numbers by what rows hash to. */
typedef struct distinct {
    int32_t *of, *first, *table;
    int64_t slots; /* a power of two, at least twice the rows */
} distinct;

/* Lays out room for so many rows in `scratch` (NULL: none is given out): how much there is of it. */
int64_t distinct_place(distinct *t, int64_t rows, real *scratch);
/* Numbers the rows from .. to - 1 of X [.., d], those with the same bits alike, from `count` on in the order of their
 * first ones. The next number. */
int64_t distinct_number(const distinct *t, const real *X, int64_t d, int64_t from, int64_t to, int64_t count);

#endif
