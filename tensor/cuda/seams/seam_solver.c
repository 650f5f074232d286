/* tensor/cuda/seams/seam_solver.c - factorizations of cuSOLVER, through its 64-bit interface where that has the
 * routine. */
#include "tensor/cuda/seams/seam_device.h"

#include <limits.h>
#include <stdlib.h>

#define FIRST_WITH_SYEV_BATCHED 11701 /* cuSOLVER 11.7.1, in the toolkit 12.6, update 2 */

static const char *text_of(cusolverStatus_t code) {
    switch (code) {
    case CUSOLVER_STATUS_SUCCESS:
        return NULL;
    case CUSOLVER_STATUS_ALLOC_FAILED:
        return "cuSOLVER: out of memory";
    case CUSOLVER_STATUS_INVALID_VALUE:
        return "cuSOLVER: invalid value";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
        return "cuSOLVER: execution failed";
    case CUSOLVER_STATUS_NOT_INITIALIZED:
        return "cuSOLVER: not initialized";
    default:
        return "cuSOLVER: failed";
    }
}

const char *seam_open_solver(seam *s) {
    cusolverStatus_t code = cusolverDnCreate(&s->solver);
    code = code ? code : cusolverDnCreateParams(&s->parameters);
    return text_of(code ? code : cusolverDnSetStream(s->solver, s->stream));
}

void seam_close_solver(seam *s) {
    if (s->parameters)
        cusolverDnDestroyParams(s->parameters);
    if (s->solver)
        cusolverDnDestroy(s->solver);
}

static cudaDataType type_of(seam_type type) {
    return type == SEAM_F64 ? CUDA_R_64F : CUDA_R_32F;
}

static cublasFillMode_t side_of(bool lower) {
    return lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

/* Makes s->workspace and s->host_workspace large enough for a call. Returns NULL, or why that failed. Waits for the
 * stream before it replaces the host workspace, which queued work may still read. */
static const char *find_workspaces(seam *s, size_t device, size_t host) {
    if (s->capturing && host) /* a replay would read what later calls have written there */
        return "cuSOLVER works in host memory here, which no graph can keep";
    if (host > s->host_bytes) {
        cudaStreamSynchronize(s->stream);
        free(s->host_workspace);
        s->host_workspace = malloc(host);
        s->host_bytes = s->host_workspace ? host : 0;
    }
    bool found = seam_workspace(s, device) && (s->host_workspace || !host);
    return found ? NULL : "no memory for the workspace of cuSOLVER";
}

const char *seam_potrf(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, int32_t *info) {
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code =
        cusolverDnXpotrf_bufferSize(s->solver, s->parameters, side_of(lower), n, t, A, lda, t, &device, &host);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXpotrf(s->solver, s->parameters, side_of(lower), n, t, A, lda, t, s->workspace,
                              device, s->host_workspace, host, info));
}

const char *seam_potrf_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *const *A, int64_t lda, int32_t *info, int64_t batch) {
    cusolverStatus_t code = CUSOLVER_STATUS_SUCCESS;
    for (int64_t first = 0; first < batch && !code; first += INT_MAX) { /* the library counts matrices by an int */
        int count = (int)(batch - first < INT_MAX ? batch - first : INT_MAX);
        if (type == SEAM_F64)
            code = cusolverDnDpotrfBatched(
                s->solver, side_of(lower), (int)n, (double **)(A + first), (int)lda, info + first, count);
        else
            code = cusolverDnSpotrfBatched(
                s->solver, side_of(lower), (int)n, (float **)(A + first), (int)lda, info + first, count);
    }
    return text_of(code);
}

const char *seam_getrf(seam *s, seam_type type, int64_t n, void *A, int64_t lda, int64_t *pivot, int32_t *info) {
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code = cusolverDnXgetrf_bufferSize(s->solver, s->parameters, n, n, t, A, lda, t, &device, &host);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXgetrf(s->solver, s->parameters, n, n, t, A, lda, pivot, t, s->workspace, device,
                              s->host_workspace, host, info));
}

const char *seam_syevd(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info) {
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code = cusolverDnXsyevd_bufferSize(
        s->solver, s->parameters, CUSOLVER_EIG_MODE_VECTOR, side_of(lower), n, t, A, lda, t, w, t, &device, &host);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXsyevd(s->solver, s->parameters, CUSOLVER_EIG_MODE_VECTOR, side_of(lower), n, t, A,
                              lda, t, w, t, s->workspace, device, s->host_workspace, host, info));
}

bool seam_has_syevd_batched(void) {
    return CUSOLVER_VERSION >= FIRST_WITH_SYEV_BATCHED;
}

const char *seam_syevd_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info, int64_t batch) {
#if CUSOLVER_VERSION >= FIRST_WITH_SYEV_BATCHED
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code = cusolverDnXsyevBatched_bufferSize(s->solver, s->parameters, CUSOLVER_EIG_MODE_VECTOR,
        side_of(lower), n, t, A, lda, t, w, t, &device, &host, batch);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXsyevBatched(s->solver, s->parameters, CUSOLVER_EIG_MODE_VECTOR, side_of(lower), n,
                              t, A, lda, t, w, t, s->workspace, device, s->host_workspace, host, info, batch));
#else
    (void)s, (void)type, (void)lower, (void)n, (void)A, (void)lda, (void)w, (void)info, (void)batch;
    return "cuSOLVER has no batches of eigenproblems before 11.7.1";
#endif
}

const char *seam_geqrf(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *tau, int32_t *info) {
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code =
        cusolverDnXgeqrf_bufferSize(s->solver, s->parameters, m, n, t, A, lda, t, tau, t, &device, &host);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXgeqrf(s->solver, s->parameters, m, n, t, A, lda, t, tau, t, s->workspace, device,
                              s->host_workspace, host, info));
}

const char *seam_orgqr(
    seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, const void *tau, int32_t *info) {
    int rows = (int)m, columns = (int)n, ld = (int)lda, length = 0;
    cusolverStatus_t code = type == SEAM_F64
                                ? cusolverDnDorgqr_bufferSize(s->solver, rows, columns, columns, A, ld, tau, &length)
                                : cusolverDnSorgqr_bufferSize(s->solver, rows, columns, columns, A, ld, tau, &length);
    size_t element = type == SEAM_F64 ? sizeof(double) : sizeof(float);
    const char *reason = code ? NULL : find_workspaces(s, (size_t)length * element, 0);
    if (reason)
        return reason;
    if (code == CUSOLVER_STATUS_SUCCESS)
        code = type == SEAM_F64
                   ? cusolverDnDorgqr(s->solver, rows, columns, columns, A, ld, tau, s->workspace, length, info)
                   : cusolverDnSorgqr(s->solver, rows, columns, columns, A, ld, tau, s->workspace, length, info);
    return text_of(code);
}

const char *seam_gesvd(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *values, void *VT,
    int64_t ldvt, int32_t *info) {
    size_t device = 0, host = 0;
    cudaDataType t = type_of(type);
    cusolverStatus_t code = cusolverDnXgesvd_bufferSize(
        s->solver, s->parameters, 'O', 'S', m, n, t, A, lda, t, values, t, NULL, lda, t, VT, ldvt, t, &device, &host);
    const char *reason = code ? NULL : find_workspaces(s, device, host);
    if (reason)
        return reason;
    return text_of(code ? code
                        : cusolverDnXgesvd(s->solver, s->parameters, 'O', 'S', m, n, t, A, lda, t, values, t, NULL, lda,
                              t, VT, ldvt, t, s->workspace, device, s->host_workspace, host, info));
}
