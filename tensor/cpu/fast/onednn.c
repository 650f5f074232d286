/* tensor/cpu/fast/onednn.c - float32 products by oneDNN, on the calling thread.
 *
 * oneDNN finds the processor's instructions by CPUID, whereas OpenBLAS goes by a list of processor models: on one that
 * it does not know, it takes kernels for SSE3. Rates on one thread of Emerald Rapids, in GFLOP/s (oneDNN 2.6.3,
 * OpenBLAS 0.3.21 for SkylakeX, and as it chooses by itself): 384 x 512 x 512 166, 140, 19; 64 x 64 x 64 146, 152, 28.
 *
 * The work is cut by shape alone (product.c), for any number of threads, so each call must stay on its thread:
 * otherwise the order of sums would depend on how many there are. Outside a parallel region oneDNN takes as many
 * threads as OpenMP grants the caller, so the caller's grant is 1 for the time of the call. */
#include "tensor/cpu/fast/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* Bytes of address space that there must be before oneDNN generates code; it takes 18 MiB. */
enum { ROOM = 32 << 20 };

static char letter(enum CBLAS_TRANSPOSE op) {
    return op == CblasNoTrans ? 'N' : 'T';
}

void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc) {
    dnnl_status_t status = dnnl_invalid_arguments;
    if (k > 0) { /* for k = 0 oneDNN leaves C as it is */
        int granted = omp_in_parallel() ? 1 : omp_get_max_threads();
        if (granted > 1)
            omp_set_num_threads(1);
        status = dnnl_sgemm(letter(op_A), letter(op_B), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        if (granted > 1)
            omp_set_num_threads(granted);
    }
    if (status != dnnl_success) /* it found no memory for its packed operands: OpenBLAS has its own */
        cblas_sgemm(order, op_A, op_B, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

bool onednn_start(void) {
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    static atomic_bool started;
    float ones[] = {1, 1, 1, 1}, C[4];
    if (started)
        return true;
    pthread_mutex_lock(&starting);
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool fine = room != MAP_FAILED && munmap(room, ROOM) == 0;
    for (int i = 0; i < 4 && fine && !started; i++)
        sgemm_onednn(CblasRowMajor, i & 1 ? CblasTrans : CblasNoTrans, i & 2 ? CblasTrans : CblasNoTrans, 2, 2, 2, 1,
            ones, 2, ones, 2, 0, C, 2);
    started = started || fine;
    pthread_mutex_unlock(&starting);
    return started;
}
