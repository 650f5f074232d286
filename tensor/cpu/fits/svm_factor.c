/* tensor/cpu/fits/svm_factor.c - a Cholesky factor of the Newton steps' matrix (svm_newton.c).
 *
 * H = lambda I + X^T S X / sigma in blocks of two classes: a row with m entries above 0 adds x x^T (1 - 1 / m) to the
 * block of each of these entries, and -x x^T / m to that of each pair. Most rows have two. Near the solution their
 * number is close to the order of H, so that conjugate gradients take thousands of products; a factor costs as much as
 * a few hundred of them, and is a good preconditioner for the later steps, in which few rows change. */
#include "tensor/cpu/fits/svm_rows.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

#include <math.h>
#include <string.h>

/* Packs up to SVM_BLOCK of the rows of both classes from `*first` on, times the roots of their weights. */
static int64_t pack_rows(const svm_rows *s, int64_t c, int64_t e, int64_t *first, real *packed) {
    int64_t C = s->C, d = s->d, count = 0;
    for (; *first < s->faces && count < SVM_BLOCK; ++*first) {
        const real *share = s->share + *first * C, *X = s->face_X + *first * d;
        if (!(share[c] > 0 && share[e] > 0))
            continue;
        real root = (real)sqrt((double)(c == e ? 1 - share[c] : share[c]) / (double)s->sigma),
             *to = packed + count++ * (d + 1);
        for (int64_t j = 0; j < d; j++)
            to[j] = root * X[j];
        to[d] = root;
    }
    return count;
}

/* Block [c, e] of H, e <= c, both triangles; its column of blocks is H's columns e (d + 1) on. */
static void form_block(const svm_rows *s, int64_t c, int64_t e, real *packed) {
    int64_t D = s->d + 1, N = s->N;
    real *H = s->H + c * D * N + e * D;
    for (int64_t j = 0; j < D; j++)
        memset(H + j * N, 0, (size_t)D * sizeof(real));
    for (int64_t first = 0; first < s->faces;) {
        int64_t rows = pack_rows(s, c, e, &first, packed);
        blas_syrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)D, (blasint)rows, c == e ? 1 : -1, packed, (blasint)D,
            1, H, (blasint)N);
    }
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k < j && c != e; k++)
            H[k * N + j] = H[j * N + k];
        if (c == e)
            H[j * N + j] += s->lambda;
    }
}

bool svm_factor(svm_rows *s) {
    int64_t C = s->C, blocks = C * (C + 1) / 2, each = SVM_BLOCK * (s->d + 1);
    int threads = blas_threads(s->ctx) > SVM_PACKERS ? SVM_PACKERS : blas_threads(s->ctx);
    int32_t info = 0;
    s->factored = false;
    if (s->faces > s->most_faces) /* they are not copied */
        return false;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t c = 0;
        while ((c + 1) * (c + 2) / 2 <= b)
            c++;
        form_block(s, c, b - c * (c + 1) / 2, s->packed + (threads > 1 ? omp_get_thread_num() : 0) * each);
    }
    const mo_view H = {.data = s->H, .ndim = 2, .shape = {s->N, s->N}, .stride = {s->N, 1}};
    REAL(potrf_cpu)(s->ctx, &H, &(mo_view){.data = &info});
    return s->factored = s->may_factor = info == 0;
}

void svm_precondition(const svm_rows *s, const real *r, real *z) {
    int64_t D = s->d + 1, C = s->C;
    if (!s->factored) {
        memcpy(z, r, (size_t)s->N * sizeof(real));
        return;
    }
    real *x = s->packed;
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            x[c * D + j] = r[j * C + c];
    blas_trsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)s->N, s->H, (blasint)s->N, x, 1);
    blas_trsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (blasint)s->N, s->H, (blasint)s->N, x, 1);
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            z[j * C + c] = x[c * D + j];
}
