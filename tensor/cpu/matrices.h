/* tensor/cpu/matrices.h - batches of matrices, and the LAPACK routines that take them.
 *
 * LAPACK is column-major: it reads a row-major matrix as its transpose, so that a lower triangle here is LAPACK's
 * "upper". */
#ifndef MO_CPU_MATRICES_H
#define MO_CPU_MATRICES_H

#include "tensor/cpu/lane_sum.h"
#include "tensor/cpu/tasks.h"

#include <cblas.h>

void lapack_potrf(const char *uplo, const int *n, real *A, const int *lda, int *info);
void lapack_potri(const char *uplo, const int *n, real *A, const int *lda, int *info);
void lapack_getrf(const int *m, const int *n, real *A, const int *lda, int *pivot, int *info);
void lapack_syevd(const char *job, const char *uplo, const int *n, real *A, const int *lda, real *w, real *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void lapack_geqrf(
    const int *m, const int *n, real *A, const int *lda, real *tau, real *work, const int *lwork, int *info);
void lapack_orgqr(const int *m, const int *n, const int *k, real *A, const int *lda, const real *tau, real *work,
    const int *lwork, int *info);
void lapack_gesdd(const char *job, const int *m, const int *n, real *A, const int *lda, real *s, real *U,
    const int *ldu, real *VT, const int *ldvt, real *work, const int *lwork, int *iwork, int *info);

/* ---- small matrices, side by side (fast/) ---- */

enum {
    MATRIX_LANES = 16,                /* matrices that are factored side by side */
    SYSTEM_LANES = 64 / sizeof(real), /* systems that are solved side by side: a cache line */
    SMALL_MATRIX = 32,                /* up to this order plain loops beat LAPACK */
    SMALL_COLUMNS = 16,               /* the most right-hand sides of systems side by side; else loops run along them */
    FEW_MATRICES = 4                  /* fewer matrices than this leave too many lanes idle */
};

#define potrf_small REAL(potrf_small)
#define trsm_small REAL(trsm_small)

/* Factors count <= MATRIX_LANES matrices of order n <= SMALL_MATRIX; info as for potrf in tensor/backend.h. */
void potrf_small(real *A, int64_t count, int64_t n, int32_t *info);

/* n rounded up to whole vectors of 64 bytes. */
static inline int64_t padded(int64_t n) {
    return (n + LANE_SUM - 1) / LANE_SUM * LANE_SUM;
}

/* <x, y>, summed in double. */
static inline double dot(const real *x, const real *y, int64_t n) {
    lane_sum sum = {0};
    int64_t i = 0;
    for (; i + LANE_SUM <= n; i += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += (double)x[i + j] * (double)y[i + j];
    for (; i < n; i++)
        sum.lane[0] += (double)x[i] * (double)y[i];
    return lane_sum_total(&sum);
}

/* y += a x */
static inline void add_scaled(real *restrict y, real a, const real *restrict x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* p = z + b p: the next direction of conjugate gradients. */
static inline void next_direction(real *restrict p, real b, const real *restrict z, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        p[i] = z[i] + b * p[i];
}

static inline void swap(real *a, real *b) {
    real spare = *a;
    *a = *b;
    *b = spare;
}

/* The number of workspaces for a batch: one per thread or, if there are fewer items than threads, one per item.
 * Workspaces per item are numbered by item, because a team always has all of the context's threads
 * (tensor/cpu/fast/threads.c), and any thread may take an item. */
static inline int64_t workspace_count(int64_t items, int threads) {
    return max_of(1, min_of(items, threads));
}

/* The number of the workspace for an item that `thread` works on. */
static inline int64_t workspace_of(int64_t item, int64_t items, int threads, int thread) {
    return items < threads ? item : thread;
}

/* The number of threads for a batch of matrices that cost `multiplications` each. */
static inline int matrix_threads(const mo_context *ctx, int64_t batch, double multiplications) {
    return batch > 1 && (double)batch * multiplications > MO_PARALLEL_FLOP / 8 ? blas_threads(ctx) : 1;
}

/* Entry b along the first axis of a contiguous v, or the only entry of v if all items of the batch share it; NULL if v
 * has no data. */
static inline const real *entry_of(const mo_view *v, int64_t b) {
    return v->data ? (const real *)v->data + (v->shape[0] == 1 ? 0 : b * entry_length(v)) : NULL;
}

/* The offset in T of the matrix that belongs to matrix b of B; leading axes of T may be broadcast (stride 0). */
static inline int64_t batch_offset(const mo_view *B, const mo_view *T, int64_t b) {
    int64_t offset = 0;
    for (int i = B->ndim - 3; i > 0; i--) {
        offset += b % B->shape[i] * T->stride[i];
        b /= B->shape[i];
    }
    return B->ndim > 2 ? offset + b * T->stride[0] : 0;
}

static inline bool all_finite(const real *x, int64_t n) {
    real sum = 0; /* x - x is 0 except for Inf and NaN */
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

/* The system op(T) X = B, with T [n, n] contiguous. */
typedef struct triangle {
    const real *T;
    int64_t n;
    bool lower, transposed, unit; /* T is lower; op(T) = T^T; T has ones on its diagonal, not stored */
} triangle;

#define solve_triangle REAL(solve_triangle)

/* B := op(T)^-1 B for m columns, rows of B ld apart. */
void solve_triangle(const triangle *t, real *B, int64_t m, int64_t ld);
/* SYSTEM_LANES systems of the batches T and B (fewer at its end), from number `first` on, in place of B; t->T is not
 * read. n <= SMALL_MATRIX, and at most SMALL_COLUMNS columns. */
void trsm_small(const triangle *t, const mo_view *T, const mo_view *B, int64_t first);

#endif
