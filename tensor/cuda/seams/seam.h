/* tensor/cuda/seams/seam.h - the vendor's libraries behind plain C functions: memory, streams, products,
 * factorizations.
 *
 * Thin wrappers implement it (seam_*.c); the emulated device of the tests implements the same functions. All work is
 * queued on one stream. Of the functions whose name does not say so, only seam_trim and seam_close wait.
 *
 * A function that returns text returns NULL on success and the vendor's error text otherwise; a text that begins with
 * "no memory" is ours and means that device memory is used up. Matrices are column-major, as the vendor's are; A, B, C
 * and info are device memory. Callers never pass sizes of 0. */
#ifndef MO_CUDA_SEAM_H
#define MO_CUDA_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct seam seam; /* device, stream, pool, library handles, workspace */
typedef struct seam_event seam_event;
typedef struct seam_graph seam_graph;

/* ---- seam_runtime: device, memory, stream ---- */

/* A device by its number among the devices that CUDA_VISIBLE_DEVICES leaves visible. The seam makes a stream of its own
 * on it. */
typedef struct seam_choice {
    int device;
    size_t most; /* bytes of device memory that may be in use; 0: no bound */
} seam_choice;
/* Opens the device. Returns NULL, or the reason of a failure, which may lie in the buffer `text`. */
const char *seam_open(seam **s, const seam_choice *which, char *text, size_t bytes);
void seam_close(seam *s); /* waits for queued work first */
/* Writes "NVIDIA H200, compute capability 9.0, 139.8 GiB, driver 13.0, runtime 13.0", then each other device after ";
 * cuda:1 ". Returns a reason if there is no device to compute on. */
const char *seam_describe(char *text, size_t bytes);
/* Writes "cuBLAS 13.1.0, cuSOLVER 12.0.4, cuDNN 9.19.0"; works without a device. */
void seam_libraries(char *text, size_t bytes);
int seam_count(void); /* the number of devices that this process may open */
/* Returns the first failure of queued work, or NULL, and forgets it. */
const char *seam_failure(seam *s);

/* Returns the reason to report for the failure `text` (NULL: none). If another device is current in this thread, the
 * reason says so; otherwise it is `text`. */
const char *seam_reason(seam *s, const char *text);

/* Allocates memory of the stream-ordered pool, 256-byte aligned, not cleared; NULL in a capture, or if the device or
 * the bound leaves too little. */
void *seam_allocate(seam *s, size_t bytes);
void seam_release(seam *s, void *block);
/* Writes the bytes that this process's pool holds, and the bytes that it can still hand out (its unused bytes
 * included). */
void seam_memory(seam *s, size_t *held, size_t *left);
/* Gives the libraries' workspaces and the pool's unused blocks back to the device. Waits for queued work. */
const char *seam_trim(seam *s);
/* Returns the most bytes of the pool that have been in use at once, workspaces of the libraries included, since
 * seam_open or since the last call with `restart`. */
size_t seam_peak(seam *s, bool restart);
/* Page-locked host memory, the only host memory that the copies below accept; NULL on failure. */
void *seam_pin(size_t bytes);
void seam_unpin(void *block);

/* The host memory must not change until seam_wait has returned. */
void seam_upload(seam *s, void *device, const void *pinned, size_t bytes);
void seam_download(seam *s, void *pinned, const void *device, size_t bytes);
void seam_copy(seam *s, void *to, const void *from, size_t bytes); /* from device memory to device memory */
void seam_fill(seam *s, void *device, int byte, size_t bytes);
const char *seam_wait(seam *s); /* returns when all queued work has run */

seam_event *seam_event_create(seam *s); /* NULL on failure */
void seam_event_release(seam_event *e);
void seam_event_record(seam *s, seam_event *e);
const char *seam_event_wait(seam_event *e);                                  /* the host waits */
float seam_event_milliseconds(const seam_event *from, const seam_event *to); /* the host has waited for both events */
void *seam_stream(const seam *s);                                            /* the vendor's handle of the stream */

/* Work queued between seam_capture and seam_capture_end is recorded instead of run; the graph can be queued any number
 * of times. During a capture no memory can be allocated or released. seam_capture_end reports a failure during the
 * capture, such as a library call that cannot be captured; seam_failure does not report it again. */
const char *seam_capture(seam *s);
const char *seam_capture_end(seam *s, seam_graph **graph);
/* How often the libraries' workspaces have moved: a graph made before a move cannot be used any more. */
uint64_t seam_moves(const seam *s);
void seam_graph_launch(seam *s, seam_graph *graph);
void seam_graph_release(seam_graph *graph);

typedef struct seam_grid {
    unsigned blocks[3], threads[3];
    size_t shared_bytes;
} seam_grid;

size_t seam_most_shared(
    const seam *s); /* bytes of shared memory that a block can have, a kernel's own arrays included */
/* Launches a kernel for mo_launch; `kernel` is the host address of a __global__ function. */
void seam_launch(seam *s, const void *kernel, const seam_grid *grid, void **arguments);

/* If theirs_first, work queued from here on in this stream begins once the stream `other` has done its present work;
 * otherwise new work of `other` begins once this stream's present work is done. other: the vendor's handle of a stream
 * of the device; 1: the device's default stream; 2: this thread's. */
void seam_order(seam *s, void *other, bool theirs_first);

/* ---- seam_blas ---- */

typedef enum seam_type { SEAM_F32, SEAM_F64, SEAM_BF16 } seam_type;
typedef enum seam_math { SEAM_FULL, SEAM_TF32 } seam_math; /* arithmetic of float32 products */

/* C = epilogue(alpha op(A) op(B) + beta C), C [m, n], op(A) [m, k], op(B) [k, n], for each matrix of the batch; strides
 * in elements (0 repeats a matrix). With an epilogue, beta is 0. There are two epilogues:
 * - forward: bias [m] is added to each column, then relu clips at 0.
 * - sums [n] receives the columns of op(B), summed over k.
 * A batch can have only bias, with or without relu, or sums. The bias or sums of two neighbouring matrices are
 * stride_vector elements apart.
 * BF16: A, B, lda, ldb and the batch's strides are multiples of 16 bytes, as tensor cores load them. */
typedef struct seam_gemm {
    seam_type input, output; /* types of A and B; of C, bias, alpha and beta. Input BF16 has output F32 */
    seam_math math;
    bool transposed_a, transposed_b;
    int64_t m, n, k;
    const void *A, *B;
    void *C;
    int64_t lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c, batch;
    double alpha, beta;
    const void *bias; /* NULL: none */
    bool relu;
    void *sums;            /* NULL: none */
    int64_t stride_vector; /* elements between the bias or sums of neighbouring matrices */
} seam_gemm;
static inline bool seam_has_epilogue(const seam_gemm *g) {
    return g->bias || g->relu || g->sums;
}
const char *seam_multiply(seam *s, const seam_gemm *g);
/* Returns whether the library has g's epilogue for a product of this shape, type and alignment; never if C is
 * float64. */
bool seam_epilogue(seam *s, const seam_gemm *g);

/* T in op(T) X = B (left) or X op(T) = B. */
typedef struct seam_triangle {
    seam_type type;
    bool left, lower, transposed, unit;
    int64_t m, n; /* B [m, n]; T [m, m] if left, else [n, n] */
    int64_t ldt, ldb;
} seam_triangle;
/* Overwrites B with the solution X, for each system of a batch; T and B: device arrays of `batch` device pointers. */
const char *seam_trsm_batched(seam *s, const seam_triangle *t, const void *const *T, void *const *B, int64_t batch);
/* seam_trsm_batched for one system; T and B: device memory. */
const char *seam_trsm(seam *s, const seam_triangle *t, const void *T, void *B);
/* P A = L U in place for each matrix of a batch; A: device array of device pointers; pivot int32 [batch, n], rows
 * counted from 1; info int32 [batch] as LAPACK's. */
const char *seam_getrf_batched(
    seam *s, seam_type type, int64_t n, void *const *A, int64_t lda, int32_t *pivot, int32_t *info, int64_t batch);

/* ---- seam_solver ---- */

/* A = L L^T (lower) or U^T U in place, where only that triangle of A is read and written. info: int32, as LAPACK's. */
const char *seam_potrf(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, int32_t *info);
/* seam_potrf for each matrix of a batch; A: device array of device pointers; info: int32 [batch]. */
const char *seam_potrf_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *const *A, int64_t lda, int32_t *info, int64_t batch);
/* P A = L U in place; pivot int64 [n], rows counted from 1. */
const char *seam_getrf(seam *s, seam_type type, int64_t n, void *A, int64_t lda, int64_t *pivot, int32_t *info);
/* One matrix: writes its eigenvalues, rising, to w and its eigenvectors to the columns of A; reads the lower or upper
 * triangle of A. */
const char *seam_syevd(seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info);
/* seam_syevd for `batch` matrices, n lda elements apart, in one call; w [batch, n], info int32 [batch]. */
const char *seam_syevd_batched(
    seam *s, seam_type type, bool lower, int64_t n, void *A, int64_t lda, void *w, int32_t *info, int64_t batch);
/* Whether the library has a batched syevd: cuSOLVER from 11.7.1 on. */
bool seam_has_syevd_batched(void);
/* A [m, n] = Q R, m >= n: writes R to the upper triangle, the reflections below it, and tau [n]. */
const char *seam_geqrf(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *tau, int32_t *info);
/* Replaces the reflections of seam_geqrf by the first n columns of Q. */
const char *seam_orgqr(
    seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, const void *tau, int32_t *info);
/* A [m, n] = U diag(s) V^T, m >= n: U takes the place of A; s [n], falling; VT [n, n]. info as LAPACK's. */
const char *seam_gesvd(seam *s, seam_type type, int64_t m, int64_t n, void *A, int64_t lda, void *values, void *VT,
    int64_t ldvt, int32_t *info);

/* ---- seam_dnn: work that our kernels can do too. The functions return false, and queue nothing, if the library is
 * missing or refuses ---- */

/* Contiguous rows of n; the address of the first is a multiple of 16 bytes. */
typedef struct seam_rows {
    seam_type type;
    bool log; /* the logarithm of softmax */
    int64_t rows, n;
} seam_rows;
bool seam_softmax(seam *s, const seam_rows *r, const void *x, void *y);
/* Computes x_bar from y_bar and from y, which is softmax(x) or its logarithm. */
bool seam_softmax_adjoint(seam *s, const seam_rows *r, const void *y, const void *y_bar, void *x_bar);

#ifdef __cplusplus
}
#endif
#endif
