/* tensor/cuda/seams/seam_device.h - the struct that holds the vendor's handles, shared by all seam_*.c. */
#ifndef MO_CUDA_SEAM_DEVICE_H
#define MO_CUDA_SEAM_DEVICE_H

#include "tensor/cuda/seams/seam.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

struct seam_plans; /* seam_blas.c: a plan for each shape of product */
struct seam_dnn;   /* seam_dnn.c: cuDNN, opened at its first use */

struct seam {
    int device;
    cudaStream_t stream;
    cudaMemPool_t pool;
    size_t most;         /* bytes of the pool that may be in use; 0: no bound */
    cudaError_t failure; /* the first failure of queued work */
    cudaError_t before;  /* the value of `failure` when the capture began */
    bool capturing;
    char foreign[128]; /* text of the error that the calling thread has another current device */
    uint64_t moves;    /* how often the libraries' workspaces have moved */
    void *workspace;   /* device memory for the libraries, grown on demand */
    size_t workspace_bytes;
    void *host_workspace; /* host memory for the libraries */
    size_t host_bytes;
    cublasHandle_t blas;
    void *blas_workspace; /* shared by cuBLAS and cuBLASLt, whose work runs in the stream's order */
    cublasLtHandle_t blas_lt;
    struct seam_plans *plans;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
    struct seam_dnn *dnn; /* NULL: not installed, or not opened yet */
    bool looked_for_dnn;
};

/* Remembers a failure that cannot be returned to a caller. Clears the runtime's last error, because libraries check it
 * after their launches and would report it as theirs. */
void seam_note(seam *s, cudaError_t code);
/* Returns device memory of at least `bytes` bytes, valid until the next call; NULL if there is no memory. */
void *seam_workspace(seam *s, size_t bytes);

const char *seam_open_blas(seam *s);
void seam_close_blas(seam *s);
const char *seam_open_solver(seam *s);
void seam_close_solver(seam *s);
void seam_close_dnn(seam *s);
/* Writes ", cuDNN 9.19.0". */
void seam_describe_dnn(char *text, size_t bytes);

typedef struct seam_function {
    const char *name;
    void *slot; /* address of the function pointer, which seam_library_open sets */
} seam_function;

/* Opens the library `name`, as the loader finds it, and sets the function pointers. The library stays loaded after its
 * handle is closed, because its kernels, threads and libraries can still be in use. Returns the handle; NULL if the
 * library is not installed or lacks a function. */
void *seam_library_open(const char *name, const seam_function *functions, size_t n);
/* Ignores NULL. */
void seam_library_close(void *object);

#endif
