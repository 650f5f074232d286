/* tests/cuda_host/seam_sparse.cpp - the twin of tensor/cuda/seams/seam_sparse.c: products of sparse rows. */
#include "tests/cuda_host/dense.h"
#include "tests/cuda_host/seam.h"

using namespace cuda_host;

struct seam_sparse {
    seam_csr of;
    void *buffer;   /* the library's buffer */
    std::int64_t d; /* the width for which the buffer was made */
};

static void require_sparse(const void *x, std::int64_t n, std::size_t bytes, const char *what) {
    require_aligned(x, 16, what);
    require_device(x, (std::size_t)n * bytes, what);
}

seam_sparse *seam_sparse_create(seam *s, const seam_csr *A) {
    if (planned_failure("seam_sparse_create") || is_capturing(stream_of(s)))
        return nullptr;
    require_size(A->nnz, "sparse: entries");
    require_size(A->columns, "sparse: columns");
    require_sparse(A->row_pointer, require_size(A->rows, "sparse: rows") + 1, sizeof(int32_t), "sparse: row pointers");
    require_sparse(A->column, A->nnz, sizeof(int32_t), "sparse: columns");
    require_sparse(A->values, A->nnz, size_of(A->type), "sparse: values");
    return new seam_sparse{*A, nullptr, -1};
}

void seam_sparse_release(seam *s, seam_sparse *A) {
    if (A->buffer)
        seam_release(s, A->buffer);
    delete A;
}

template <typename real>
static void multiply(const seam_csr &A, const real *X, std::int64_t ldx, real *Y, std::int64_t ldy, std::int64_t d) {
    const real *value = static_cast<const real *>(A.values);
    if (A.row_pointer[0] != 0 || A.row_pointer[A.rows] != A.nnz)
        violation("sparse: row pointers from %d to %d, %lld entries", A.row_pointer[0], A.row_pointer[A.rows],
            (long long)A.nnz);
    for (std::int64_t i = 0; i < A.rows; i++)
        for (std::int64_t j = 0; j < d; j++) {
            real sum = 0;
            for (std::int32_t k = A.row_pointer[i]; k < A.row_pointer[i + 1]; k++) {
                if (A.column[k] < 0 || A.column[k] >= A.columns)
                    violation("sparse: column %d of %lld", A.column[k], (long long)A.columns);
                sum += value[k] * X[A.column[k] * ldx + j];
            }
            Y[i * ldy + j] = sum;
        }
}

/* A row-major matrix is checked as columns of length d. */
static void require_dense(const seam_dense &X, seam_type type, std::int64_t rows, bool written, const char *what) {
    require_aligned(X.data, 16, what);
    require_matrices({X.data, type, X.columns, rows, X.ld, 0, 1}, written, what);
}

bool seam_sparse_multiply(seam *s, seam_sparse *A, const seam_dense *X, const seam_dense *Y) {
    if (planned_failure("seam_sparse_multiply"))
        return false;
    require_dense(*X, A->of.type, A->of.columns, false, "sparse: X");
    require_dense(*Y, A->of.type, A->of.rows, true, "sparse: Y");
    if (X->columns != Y->columns || X->columns < 2)
        violation("sparse: X has %lld columns, Y %lld", (long long)X->columns, (long long)Y->columns);
    if (A->d != X->columns && is_capturing(stream_of(s)))
        return false;
    if (A->d != X->columns) {
        if (A->buffer)
            seam_release(s, A->buffer);
        A->buffer = seam_allocate(s, (std::size_t)A->of.rows);
        A->d = X->columns;
    }
    stream_enqueue(stream_of(s), [A = A->of, buffer = A->buffer, X = *X, Y = *Y] {
        require_device(buffer, (std::size_t)A.rows, "sparse: buffer");
        with_type(A.type, [&](auto *of) {
            using real = std::remove_pointer_t<decltype(of)>;
            multiply(A, static_cast<const real *>(X.data), X.ld, static_cast<real *>(Y.data), Y.ld, X.columns);
        });
    });
    return A->buffer;
}
