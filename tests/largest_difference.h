/* tests/largest_difference.h - the largest difference between two tensors; infinite if one has a NaN. */
#ifndef LARGEST_DIFFERENCE_H
#define LARGEST_DIFFERENCE_H

#include "tests/scratch.h"
#include "tests/worst_of.h"

static inline double largest_difference(mo_tensor *A, mo_tensor *B) {
    int64_t n = mo_numel(A);
    assert_int_equal(n, mo_numel(B));
    double *a = test_memory((size_t)n * sizeof *a), *b = test_memory((size_t)n * sizeof *b), worst = 0;
    assert_int_equal(mo_tensor_read(A, a, (size_t)n * sizeof *a), MO_OK);
    assert_int_equal(mo_tensor_read(B, b, (size_t)n * sizeof *b), MO_OK);
    for (int64_t i = 0; i < n; i++)
        worst = worst_of(worst, fabs(a[i] - b[i]));
    return worst;
}

#endif
