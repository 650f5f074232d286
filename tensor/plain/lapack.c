/* tensor/plain/lapack.c - factorizations as loop nests, for a build without LAPACK. Column-major; names and arguments
 * as in LAPACK, and only the cases that tensor/cpu/ calls: the upper triangle, Q of as many columns as reflections.
 * Compiled for each float type (tensor/cpu/real.h). Golub and Van Loan 2013, chapters 3, 4, 5 and 8. */
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

#define A_(i, j) A[(i) + (int64_t)(j)*ld]

/* A = U^T U. *info: the first leading minor that is not positive, or 0. */
void lapack_potrf(const char *uplo, const int *order, real *A, const int *leading, int *info) {
    const int64_t n = *order, ld = *leading;
    (void)uplo;
    *info = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            real sum = A_(i, j);
            for (int64_t k = 0; k < i; k++)
                sum -= A_(k, i) * A_(k, j);
            if (i == j && !(sum > 0)) {
                *info = (int)j + 1;
                return;
            }
            A_(i, j) = i == j ? (real)sqrt((double)sum) : sum / A_(i, i);
        }
}

/* Replaces U by (U^T U)^-1 = V V^T: first U by V = U^-1, then V by V V^T. */
void lapack_potri(const char *uplo, const int *order, real *A, const int *leading, int *info) {
    const int64_t n = *order, ld = *leading;
    (void)uplo;
    *info = 0;
    for (int64_t j = 0; j < n; j++) {
        A_(j, j) = 1 / A_(j, j);
        for (int64_t i = 0; i < j; i++) { /* -V[i, i..j-1] U[i..j-1, j], which still holds U there */
            real sum = 0;
            for (int64_t k = i; k < j; k++)
                sum += A_(i, k) * A_(k, j);
            A_(i, j) = -sum * A_(j, j);
        }
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) { /* the diagonal entry last: the column's other entries read it */
            real sum = 0;
            for (int64_t k = j; k < n; k++)
                sum += A_(i, k) * A_(j, k);
            A_(i, j) = sum;
        }
}

/* P A = L U with partial pivoting, pivots numbered from 1. *info: the first pivot that is zero, or 0. */
void lapack_getrf(const int *rows, const int *columns, real *A, const int *leading, int *pivot, int *info) {
    const int64_t m = *rows, n = *columns, ld = *leading;
    *info = 0;
    for (int64_t k = 0; k < min_of(m, n); k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < m; i++)
            best = fabs((double)A_(i, k)) > fabs((double)A_(best, k)) ? i : best;
        pivot[k] = (int)best + 1;
        if (A_(best, k) == 0) {
            *info = *info ? *info : (int)k + 1;
            continue;
        }
        for (int64_t j = 0; j < n && best != k; j++)
            swap(&A_(k, j), &A_(best, j));
        for (int64_t i = k + 1; i < m; i++)
            A_(i, k) /= A_(k, k);
        for (int64_t j = k + 1; j < n; j++)
            add_scaled(&A_(k + 1, j), -A_(k, j), &A_(k + 1, k), m - k - 1);
    }
}

/* C := (I - tau v v^T) C for columns first .. n - 1, v = [1, A(k+1.., k)] on the rows from k on. */
static void reflect(real *A, int64_t ld, int64_t m, int64_t n, int64_t k, int64_t first, real tau) {
    for (int64_t j = first; j < n; j++) {
        real sum = A_(k, j);
        for (int64_t i = k + 1; i < m; i++)
            sum += A_(i, k) * A_(i, j);
        A_(k, j) -= tau * sum;
        for (int64_t i = k + 1; i < m; i++)
            A_(i, j) -= tau * sum * A_(i, k);
    }
}

/* A = Q R by reflections: R in the upper triangle, the vectors v of the reflections below it. */
void lapack_geqrf(const int *rows, const int *columns, real *A, const int *leading, real *tau, real *work,
    const int *length, int *info) {
    const int64_t m = *rows, n = *columns, ld = *leading;
    (void)work, (void)length;
    *info = 0;
    for (int64_t k = 0; k < min_of(m, n); k++) {
        double tail = 0, head = (double)A_(k, k);
        for (int64_t i = k + 1; i < m; i++)
            tail = hypot(tail, (double)A_(i, k));
        double beta = tail == 0 ? head : -copysign(hypot(head, tail), head);
        tau[k] = tail == 0 ? 0 : (real)((beta - head) / beta);
        for (int64_t i = k + 1; i < m && tail > 0; i++)
            A_(i, k) = (real)((double)A_(i, k) / (head - beta));
        reflect(A, ld, m, n, k, k + 1, tau[k]);
        A_(k, k) = (real)beta;
    }
}

/* Replaces the reflections by the first n columns of Q. */
void lapack_orgqr(const int *rows, const int *columns, const int *reflections, real *A, const int *leading,
    const real *tau, real *work, const int *length, int *info) {
    const int64_t m = *rows, n = *columns, ld = *leading;
    (void)reflections, (void)work, (void)length;
    *info = 0;
    for (int64_t k = n - 1; k >= 0; k--) {
        reflect(A, ld, m, n, k, k + 1, tau[k]);
        for (int64_t i = 0; i < m; i++)
            A_(i, k) = i < k ? 0 : i == k ? 1 - tau[k] : -tau[k] * A_(i, k);
    }
}

/* ---- A = V diag(w) V^T by Jacobi's rotations ---- */

/* Turns the rows p and q, of n entries `step` apart, by the angle whose cosine and sine are c and s. */
static void rotate(real *p, real *q, int64_t n, int64_t step, double c, double s) {
    for (int64_t i = 0; i < n; i++) {
        double x = (double)p[i * step], y = (double)q[i * step];
        p[i * step] = (real)(c * x - s * y);
        q[i * step] = (real)(s * x + c * y);
    }
}

/* Applies the rotation that makes S_pq zero (Golub and Van Loan 8.5.2) to S, and to the eigenvectors in the columns of
 * A. */
static void annihilate(real *S, real *A, int64_t ld, int64_t n, int64_t p, int64_t q) {
    double a = (double)S[p * n + q], half = ((double)S[q * n + q] - (double)S[p * n + p]) / (2 * a);
    double tangent = copysign(1, half) / (fabs(half) + hypot(1, half));
    double c = 1 / hypot(1, tangent), s = c * tangent;
    rotate(S + p * n, S + q * n, n, 1, c, s);
    rotate(S + p, S + q, n, n, c, s);
    rotate(&A_(0, p), &A_(0, q), n, 1, c, s);
    S[p * n + q] = S[q * n + p] = 0;
}

/* w ascending; column i of A becomes the eigenvector of w[i], whose sign may differ from LAPACK's. */
void lapack_syevd(const char *job, const char *uplo, const int *order, real *A, const int *leading, real *w, real *work,
    const int *length, int *iwork, const int *ilength, int *info) {
    enum { MOST_SWEEPS = 60 };
    const int64_t n = *order, ld = *leading;
    real *S = work;
    double size = 0;
    (void)job, (void)uplo, (void)length, (void)iwork, (void)ilength;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            S[i * n + j] = S[j * n + i] = A_(i, j);
            size = hypot(size, (double)A_(i, j));
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            A_(i, j) = i == j;
    bool turned = true;
    for (int sweep = 0; turned && sweep < MOST_SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                if (fabs((double)S[p * n + q]) > EPSILON / 8 * size) {
                    annihilate(S, A, ld, n, p, q);
                    turned = true;
                }
    }
    *info = turned;
    for (int64_t i = 0; i < n; i++)
        w[i] = S[i * n + i];
    for (int64_t i = 0; i < n; i++) { /* sorts the eigenvalues, ascending, and the columns with them */
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            least = w[j] < w[least] ? j : least;
        if (least != i) {
            swap(&w[i], &w[least]);
            for (int64_t k = 0; k < n; k++)
                swap(&A_(k, i), &A_(k, least));
        }
    }
}

/* ---- A = U diag(s) V^T by rotations of pairs of columns (Golub and Van Loan 8.6.3) ---- */

static double column_product(const real *x, const real *y, int64_t m) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* Makes columns p and q of A orthogonal, and turns rows p and q of VT with them; returns whether they were not. */
static bool orthogonalize(real *A, int64_t ld, int64_t m, real *VT, int64_t ldvt, int64_t n, int64_t p, int64_t q) {
    double a = column_product(&A_(0, p), &A_(0, p), m), b = column_product(&A_(0, q), &A_(0, q), m);
    double c = column_product(&A_(0, p), &A_(0, q), m), half = (b - a) / (2 * c);
    if (!(fabs(c) > EPSILON * sqrt(a) * sqrt(b)))
        return false;
    double tangent = copysign(1, half) / (fabs(half) + hypot(1, half)), cosine = 1 / hypot(1, tangent);
    rotate(&A_(0, p), &A_(0, q), m, 1, cosine, cosine * tangent);
    rotate(VT + p, VT + q, n, ldvt, cosine, cosine * tangent);
    return true;
}

/* Makes column k a unit vector orthogonal to the columns before it: what is left of a unit vector, twice. */
static void complete(real *A, int64_t ld, int64_t m, int64_t k) {
    double size = 0;
    for (int64_t unit = 0; unit < m && size < 0.5 / (double)m; unit++) {
        for (int64_t i = 0; i < m; i++)
            A_(i, k) = i == unit;
        for (int64_t j = 0; j < 2 * k; j++)
            add_scaled(&A_(0, k), -(real)column_product(&A_(0, j % k), &A_(0, k), m), &A_(0, j % k), m);
        size = column_product(&A_(0, k), &A_(0, k), m);
    }
    for (int64_t i = 0; i < m; i++)
        A_(i, k) = (real)((double)A_(i, k) / sqrt(size));
}

/* Job "O" for m >= n: U, in the place of A, s falling, and VT. A is scaled, so that no square over- or underflows. */
void lapack_gesdd(const char *job, const int *rows, const int *columns, real *A, const int *leading, real *s, real *U,
    const int *ldu, real *VT, const int *leading_v, real *work, const int *length, int *iwork, int *info) {
    enum { MOST_SWEEPS = 60 };
    const int64_t m = *rows, n = *columns, ld = *leading, ldvt = *leading_v;
    double largest = 0;
    (void)job, (void)U, (void)ldu, (void)work, (void)length, (void)iwork;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            largest = fmax(largest, fabs((double)A_(i, j)));
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m && largest > 0; i++)
            A_(i, j) = (real)((double)A_(i, j) / largest);
        for (int64_t i = 0; i < n; i++)
            VT[i + j * ldvt] = i == j;
    }
    bool turned = true;
    for (int sweep = 0; turned && sweep < MOST_SWEEPS; sweep++) {
        turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++)
                turned |= orthogonalize(A, ld, m, VT, ldvt, n, p, q);
    }
    *info = turned;
    for (int64_t j = 0; j < n; j++)
        s[j] = (real)sqrt(column_product(&A_(0, j), &A_(0, j), m));
    for (int64_t j = 0; j < n; j++) {
        int64_t most = j;
        for (int64_t k = j + 1; k < n; k++)
            most = s[k] > s[most] ? k : most;
        if (most != j) {
            swap(&s[j], &s[most]);
            for (int64_t i = 0; i < m; i++)
                swap(&A_(i, j), &A_(i, most));
            for (int64_t i = 0; i < n; i++)
                swap(&VT[j + i * ldvt], &VT[most + i * ldvt]);
        }
        if (!(s[j] > 0))
            complete(A, ld, m, j);
        for (int64_t i = 0; i < m && s[j] > 0; i++)
            A_(i, j) /= s[j];
        s[j] = (real)((double)s[j] * largest);
    }
}
