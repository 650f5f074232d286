/* tests/cuda_host/dense.cpp - what the vendor's libraries require of matrices. */
#include "tests/cuda_host/dense.h"

namespace cuda_host {

int require_size(std::int64_t size, const char *what) {
    if (size < 1 || size > INT32_MAX)
        violation("%s is %lld", what, (long long)size);
    return (int)size;
}

void require_vector(const void *x, std::int64_t n, std::size_t bytes, const char *what) {
    require_aligned(x, bytes, what);
    require_device(x, (std::size_t)n * bytes, what);
}

void require_matrices(const matrices &A, bool written, const char *what) {
    if (A.rows < 1 || A.columns < 1 || A.batch < 1)
        violation("%s has %lld rows, %lld columns, %lld in the batch", what, (long long)A.rows, (long long)A.columns,
            (long long)A.batch);
    if (A.ld < A.rows)
        violation("%s has the leading dimension %lld and %lld rows", what, (long long)A.ld, (long long)A.rows);
    std::int64_t each = A.ld * (A.columns - 1) + A.rows;
    if (A.stride < 0 || (A.batch > 1 && written && A.stride < each))
        violation(
            "%s has the batch stride %lld, its matrices %lld elements", what, (long long)A.stride, (long long)each);
    require_vector(A.data, A.stride * (A.batch - 1) + each, size_of(A.type), what);
}

} // namespace cuda_host
