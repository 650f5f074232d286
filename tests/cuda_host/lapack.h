/* tests/cuda_host/lapack.h - BLAS and LAPACK (column-major) with one name for both float types. */
#ifndef CUDA_HOST_LAPACK_H
#define CUDA_HOST_LAPACK_H

#include <cblas.h>

extern "C" {
void spotf2_(const char *uplo, const int *n, float *A, const int *lda, int *info);
void ssyevd_(const char *job, const char *uplo, const int *n, float *A, const int *lda, float *w, float *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void sgeqrf_(
    const int *m, const int *n, float *A, const int *lda, float *tau, float *work, const int *lwork, int *info);
void sorgqr_(const int *m, const int *n, const int *k, float *A, const int *lda, const float *tau, float *work,
    const int *lwork, int *info);
void sgesdd_(const char *job, const int *m, const int *n, float *A, const int *lda, float *s, float *U, const int *ldu,
    float *VT, const int *ldvt, float *work, const int *lwork, int *iwork, int *info);
void dpotf2_(const char *uplo, const int *n, double *A, const int *lda, int *info);
void dsyevd_(const char *job, const char *uplo, const int *n, double *A, const int *lda, double *w, double *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void dgeqrf_(
    const int *m, const int *n, double *A, const int *lda, double *tau, double *work, const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *A, const int *lda, const double *tau, double *work,
    const int *lwork, int *info);
void dgesdd_(const char *job, const int *m, const int *n, double *A, const int *lda, double *s, double *U,
    const int *ldu, double *VT, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);
}

namespace cuda_host {

/* The routines of one float type. */
template <typename real> struct lapack;

template <> struct lapack<float> {
    static constexpr auto gemm = cblas_sgemm;
    static constexpr auto trsm = cblas_strsm;
    static constexpr auto potf2 = spotf2_;
    static constexpr auto syevd = ssyevd_;
    static constexpr auto geqrf = sgeqrf_;
    static constexpr auto orgqr = sorgqr_;
    static constexpr auto gesdd = sgesdd_;
};

template <> struct lapack<double> {
    static constexpr auto gemm = cblas_dgemm;
    static constexpr auto trsm = cblas_dtrsm;
    static constexpr auto potf2 = dpotf2_;
    static constexpr auto syevd = dsyevd_;
    static constexpr auto geqrf = dgeqrf_;
    static constexpr auto orgqr = dorgqr_;
    static constexpr auto gesdd = dgesdd_;
};

} // namespace cuda_host

#endif
