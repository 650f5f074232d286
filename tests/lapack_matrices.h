/* tests/lapack_matrices.h - LAPACK's kinds of test matrices (Anderson et al. 1999, LAPACK Working Note 41), drawn on
 * the host.
 *
 * A matrix is D, diagonal and graded from 1 down to 1 / condition, times products of reflections on both sides. Other
 * kinds are diagonal, triangular, scaled near underflow or overflow, or have columns of zeros. */
#ifndef MO_TESTS_LAPACK_MATRICES_H
#define MO_TESTS_LAPACK_MATRICES_H

#include "tests/host_matrices.h"

typedef enum kind {
    WELL, /* condition 2 */
    HALF, /* condition 0.1 / sqrt(eps) */
    EDGE, /* condition 0.1 / eps: a solve can refuse it */
    OVER, /* condition 1 / eps: a solve can refuse it */
    DIAGONAL,
    UPPER,
    LOWER,
    TINY,       /* condition 2; the largest entries are near a quarter of (smallest normal number) / eps */
    VAST,       /* the reciprocal */
    ZERO_FIRST, /* first column zero (in a symmetric matrix the first row too): singular */
    ZERO_LAST,
    ZERO_HALF, /* the last n / 2 columns are zero */
    KINDS
} kind;

static const char *const kinds[KINDS] = {"condition 2", "condition 0.1 / sqrt(eps)", "condition 0.1 / eps",
    "condition 1 / eps", "diagonal", "upper triangle", "lower triangle", "tiny", "vast", "first column zero",
    "last column zero", "half of the columns zero"};
static inline double condition_of(kind k, mo_dtype dtype) {
    const double levels[] = {2, 0.1 / sqrt(epsilon(dtype)), 0.1 / epsilon(dtype), 1 / epsilon(dtype)};
    return k <= OVER ? levels[k] : 2;
}

static inline bool is_singular(kind k, int n) {
    return n > 0 && (k == ZERO_FIRST || k == ZERO_LAST || (k == ZERO_HALF && n > 1));
}

/* Sets A := H A, or A H if `right`, with H = I - 2 u u^T / u^T u. */
static inline void reflect(double *A, int n, const double *u, bool right) {
    double length = 0, *w = zeros(n, 1);
    for (int i = 0; i < n; i++)
        length += u[i] * u[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[right ? i : j] += A[i * n + j] * u[right ? j : i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] -= 2 / length * (right ? w[i] * u[j] : u[i] * w[j]);
}

/* diag(1 .. 1/condition), falling geometrically. */
static inline void draw_graded(double *A, int n, double condition) {
    for (int i = 0; i < n; i++)
        A[i * n + i] = n > 1 ? pow(condition, -(double)i / (n - 1)) : 1;
}

static inline void draw_general(fixture *f, double *A, int n, double condition) {
    draw_graded(A, n, condition);
    for (int k = 0; k < 4; k++) {
        double *u = normals(f, n, 1);
        reflect(A, n, u, k & 1);
    }
}

static inline void draw_spd(fixture *f, double *A, int n, double condition) {
    draw_graded(A, n, condition);
    for (int k = 0; k < 2; k++) {
        double *u = normals(f, n, 1);
        reflect(A, n, u, false);
        reflect(A, n, u, true);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            A[j * n + i] = A[i * n + j];
}

/* Rows of a well-conditioned triangle, each scaled; the grades in shuffled order. */
static inline void draw_lower(fixture *f, double *A, int n, double condition) {
    int64_t *order = test_memory((size_t)n * sizeof *order + 1);
    for (int i = 0; i < n; i++)
        order[i] = i;
    mo_random_shuffle(&f->r, order, n);
    for (int i = 0; i < n; i++) {
        double scale = n > 1 ? pow(condition, -(double)order[i] / (n - 1)) : 1;
        for (int j = 0; j < i; j++)
            A[i * n + j] = scale * mo_random_normal(&f->r) / n;
        A[i * n + i] = scale * (mo_random_normal(&f->r) > 0 ? 1 : -1);
    }
}

static inline double scale_of(kind k, mo_dtype dtype) {
    double small = 0.25 * (dtype == MO_F64 ? DBL_MIN : (double)FLT_MIN) / epsilon(dtype);
    return k == TINY ? small : k == VAST ? 1 / small : 1;
}

/* Turns a matrix of condition 2 into one of kind k; a symmetric matrix stays symmetric, a triangle a triangle. */
static inline void shape_kind(double *A, int n, kind k, bool symmetric, mo_dtype dtype) {
    int first = k == ZERO_LAST ? n - 1 : k == ZERO_HALF ? n - n / 2 : 0, last = k == ZERO_FIRST ? 1 : n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double *a = &A[i * n + j];
            bool zero = (k == DIAGONAL && i != j) || (k == UPPER && i > j) || (k == LOWER && i < j);
            if (k >= ZERO_FIRST)
                zero = (j >= first && j < last) || (symmetric && i >= first && i < last);
            *a = zero ? 0 : *a * scale_of(k, dtype);
            if ((k == UPPER || k == LOWER) && i == j)
                *a += *a < 0 ? -1 : 1; /* without this the triangle could have a far larger condition than 2 */
        }
}

#endif
