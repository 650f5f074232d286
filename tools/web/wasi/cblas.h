/* tools/web/wasi/cblas.h - the routines of tensor/plain/, declared as a BLAS's header does. */
#ifndef CBLAS_H
#define CBLAS_H

typedef int blasint;
typedef enum CBLAS_ORDER { CblasRowMajor = 101 } CBLAS_ORDER;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans } CBLAS_TRANSPOSE;
typedef enum CBLAS_UPLO { CblasUpper = 121, CblasLower } CBLAS_UPLO;
typedef enum CBLAS_DIAG { CblasNonUnit = 131, CblasUnit } CBLAS_DIAG;
typedef enum CBLAS_SIDE { CblasLeft = 141, CblasRight } CBLAS_SIDE;

void cblas_sgemm(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint, blasint, float,
    const float *, blasint, const float *, blasint, float, float *, blasint);
void cblas_dgemm(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint, blasint, double,
    const double *, blasint, const double *, blasint, double, double *, blasint);
void cblas_sgemv(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, blasint, blasint, float, const float *, blasint, const float *,
    blasint, float, float *, blasint);
void cblas_dgemv(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, blasint, blasint, double, const double *, blasint,
    const double *, blasint, double, double *, blasint);
void cblas_ssymm(enum CBLAS_ORDER, enum CBLAS_SIDE, enum CBLAS_UPLO, blasint, blasint, float, const float *, blasint,
    const float *, blasint, float, float *, blasint);
void cblas_dsymm(enum CBLAS_ORDER, enum CBLAS_SIDE, enum CBLAS_UPLO, blasint, blasint, double, const double *, blasint,
    const double *, blasint, double, double *, blasint);
void cblas_ssymv(enum CBLAS_ORDER, enum CBLAS_UPLO, blasint, float, const float *, blasint, const float *, blasint,
    float, float *, blasint);
void cblas_dsymv(enum CBLAS_ORDER, enum CBLAS_UPLO, blasint, double, const double *, blasint, const double *, blasint,
    double, double *, blasint);
void cblas_ssyrk(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, blasint, blasint, float, const float *,
    blasint, float, float *, blasint);
void cblas_dsyrk(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, blasint, blasint, double, const double *,
    blasint, double, double *, blasint);
void cblas_strsm(enum CBLAS_ORDER, enum CBLAS_SIDE, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, blasint,
    blasint, float, const float *, blasint, float *, blasint);
void cblas_dtrsm(enum CBLAS_ORDER, enum CBLAS_SIDE, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, blasint,
    blasint, double, const double *, blasint, double *, blasint);
void cblas_strsv(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, blasint, const float *,
    blasint, float *, blasint);
void cblas_dtrsv(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, blasint, const double *,
    blasint, double *, blasint);

#endif
