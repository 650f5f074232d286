/* tests/cuda_host/dense.h - column-major matrices on the device, checked as the vendor's libraries require. */
#ifndef CUDA_HOST_DENSE_H
#define CUDA_HOST_DENSE_H

#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/memory.h"
#include "tests/cuda_host/seam.h"
#include "tests/cuda_host/violation.h"

#include <cstdint>

namespace cuda_host {

inline std::size_t size_of(seam_type type) {
    return type == SEAM_F64 ? 8 : type == SEAM_F32 ? 4 : 2;
}

/* Matrices [rows, columns]; matrix i < batch is at data + i stride. Strides are in elements. */
struct matrices {
    const void *data;
    seam_type type;
    std::int64_t rows, columns, ld, stride, batch;
};

/* Reports a violation if a size is below 1, the leading dimension is too small, the memory is not the device's or not
 * aligned, or matrices to be written overlap. */
void require_matrices(const matrices &A, bool written, const char *what);
/* Reports a violation unless 1 <= size <= INT32_MAX. */
int require_size(std::int64_t size, const char *what);
/* Reports a violation unless x has n elements of `bytes` bytes each in device memory. */
void require_vector(const void *x, std::int64_t n, std::size_t bytes, const char *what);

/* Calls f with a null pointer of the type: [](auto *A) { ... }. */
template <typename F> void with_type(seam_type type, F f) {
    if (type == SEAM_F64)
        f(static_cast<double *>(nullptr));
    else if (type == SEAM_F32)
        f(static_cast<float *>(nullptr));
    else
        violation("a type that this function does not take");
}

/* Enqueues f on the stream of s, to be called by with_type. */
template <typename F> void enqueue_typed(seam *s, seam_type type, F f) {
    stream_enqueue(stream_of(s), [=] { with_type(type, f); });
}

} // namespace cuda_host

#endif
