/* tests/cuda_host/seam_dnn.cpp - the twin of tensor/cuda/seams/seam_dnn.c: softmax of rows and its adjoint. Sums are in
 * the type of the rows, from the last value to the first. */
#include "tests/cuda_host/dense.h"

#include <cmath>

using namespace cuda_host;

template <typename real> static void softmax(const seam_rows &r, const real *x, real *y) {
    for (std::int64_t i = 0; i < r.rows; i++, x += r.n, y += r.n) {
        real largest = x[0], sum = 0;
        for (std::int64_t j = 1; j < r.n; j++)
            largest = std::fmax(largest, x[j]);
        for (std::int64_t j = r.n - 1; j >= 0; j--)
            sum += std::exp(x[j] - largest);
        for (std::int64_t j = 0; j < r.n; j++)
            y[j] = r.log ? (x[j] - largest) - std::log(sum) : std::exp(x[j] - largest) / sum;
    }
}

template <typename real>
static void softmax_adjoint(const seam_rows &r, const real *y, const real *y_bar, real *x_bar) {
    for (std::int64_t i = 0; i < r.rows; i++, y += r.n, y_bar += r.n, x_bar += r.n) {
        real sum = 0;
        for (std::int64_t j = r.n - 1; j >= 0; j--)
            sum += r.log ? y_bar[j] : y[j] * y_bar[j];
        for (std::int64_t j = 0; j < r.n; j++)
            x_bar[j] = r.log ? y_bar[j] - std::exp(y[j]) * sum : y[j] * (y_bar[j] - sum);
    }
}

static void require_rows(const seam_rows &r, const void *x, const char *what) {
    require_size(r.n, "softmax: n");
    if (r.rows < 1)
        violation("softmax: %lld rows", (long long)r.rows);
    require_aligned(x, 16, what);
    require_device(x, (std::size_t)(r.rows * r.n) * size_of(r.type), what);
}

bool seam_softmax(seam *s, const seam_rows *r, const void *x, void *y) {
    if (planned_failure("seam_softmax"))
        return false;
    require_rows(*r, x, "softmax: x");
    require_rows(*r, y, "softmax: y");
    enqueue_typed(s, r->type, [r = *r, x, y](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        softmax(r, static_cast<const real *>(x), static_cast<real *>(y));
    });
    return true;
}

bool seam_softmax_adjoint(seam *s, const seam_rows *r, const void *y, const void *y_bar, void *x_bar) {
    if (planned_failure("seam_softmax"))
        return false;
    require_rows(*r, y, "softmax's adjoint: y");
    require_rows(*r, y_bar, "softmax's adjoint: y_bar");
    require_rows(*r, x_bar, "softmax's adjoint: x_bar");
    enqueue_typed(s, r->type, [r = *r, y, y_bar, x_bar](auto *of) {
        using real = std::remove_pointer_t<decltype(of)>;
        softmax_adjoint(r, static_cast<const real *>(y), static_cast<const real *>(y_bar), static_cast<real *>(x_bar));
    });
    return true;
}
