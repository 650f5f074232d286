/* tensor/cpu/fast/onednn.c - products of float32 and bf16 by oneDNN, on the calling thread.
 *
 * oneDNN finds the processor's instructions by CPUID, whereas OpenBLAS goes by a list of processor models: on one that
 * it does not know, it takes kernels for SSE3. Rates on one thread of Emerald Rapids, in GFLOP/s (oneDNN 2.6.3,
 * OpenBLAS 0.3.21 for SkylakeX, and as it chooses by itself): 384 x 512 x 512 166, 140, 19; 64 x 64 x 64 146, 152, 28.
 *
 * oneDNN's products for AVX2 read operands in place. Where rows lie a multiple of 4096 bytes apart, loads and stores
 * are then taken for the same address: one thread of Zen 3, 256 x 512 x 1024 at such addresses 38, OpenBLAS 85; at
 * others both 80 to 90. OpenBLAS pads a narrow product to its tile: 384 x 5 x 768 19, oneDNN 38. So without AVX-512
 * oneDNN multiplies what is narrow, unless its rows lie so.
 *
 * The work is cut by shape alone (../gemm.c), for any number of threads, so each call must stay on its thread:
 * otherwise the order of sums would depend on how many there are. Outside a parallel region oneDNN takes as many
 * threads as OpenMP grants the caller, so the caller's grant is 1 for the time of the call.
 *
 * oneDNN 2.6's AVX-512 products keep an address of the heap in the stack pointer for a while: a signal that is handled
 * on the thread's stack then writes its frame into the heap. So the thread takes signals before and after the call. */
#include "tensor/cpu/fast/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Bytes of address space that there must be before oneDNN generates code; it takes 18 MiB. */
enum { ROOM = 32 << 20 };

/* Without AVX-512 (above): most rows or columns of a narrow product, and floats in 4096 bytes. */
enum { NARROW = 32, ALIASED = 1024 };

/* What the calling thread has again behind a call: its grant of OpenMP's threads, and its signals. */
typedef struct kept {
    int granted;
    sigset_t signals;
} kept;

/* Until leave, OpenMP grants the caller one thread (outside a parallel region), and it takes no signal but its own
 * faults. */
static kept enter(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    kept k = {.granted = omp_in_parallel() ? 1 : omp_get_max_threads()};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&others, faults[i]);
    pthread_sigmask(SIG_SETMASK, &others, &k.signals);
    if (k.granted > 1)
        omp_set_num_threads(1);
    return k;
}

static void leave(const kept *k) {
    if (k->granted > 1)
        omp_set_num_threads(k->granted);
    pthread_sigmask(SIG_SETMASK, &k->signals, NULL);
}

/* Scales C [m, n] unless beta is 0 or 1; returns the beta that is left. Without memory for a product oneDNN returns
 * when it has scaled C, but not said so. */
static float scaled(int64_t m, int64_t n, float beta, float *C, int64_t ldc) {
    if (beta == 0 || beta == 1)
        return beta;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            C[i * ldc + j] *= beta;
    return 1;
}

static bool has(dnnl_cpu_isa_t isa) {
    return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

/* Whether oneDNN multiplies faster than OpenBLAS. For k = 0 it leaves C as it is. */
static bool is_faster(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
    bool narrow = (m <= NARROW || n <= NARROW) && lda % ALIASED != 0 && ldb % ALIASED != 0 && ldc % ALIASED != 0;
    return k > 0 && (narrow || has(dnnl_cpu_isa_avx512_core));
}

void sgemm_onednn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B, blasint m, blasint n,
    blasint k, float alpha, const float *A, blasint lda, const float *B, blasint ldb, float beta, float *C,
    blasint ldc) {
    dnnl_status_t status = dnnl_invalid_arguments;
    if (is_faster(m, n, k, lda, ldb, ldc)) {
        kept before = enter();
        beta = scaled(m, n, beta, C, ldc);
        status = dnnl_sgemm(op_A == CblasNoTrans ? 'N' : 'T', op_B == CblasNoTrans ? 'N' : 'T', m, n, k, alpha, A, lda,
            B, ldb, beta, C, ldc);
        leave(&before);
    }
    if (status != dnnl_success) /* or it found no memory for its packed operands: OpenBLAS has its own */
        cblas_sgemm(order, op_A, op_B, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

/* oneDNN has this function, and tests it, but declares it in no header: a build finds out (MO_ONEDNN_BF16). Its public
 * way, a primitive for each shape, is as fast (80 GFLOP/s at 384 x 512 x 512 where float32 has 166, one thread of
 * Emerald Rapids without AMX), takes 0.3 ms to make, and ends the process if memory is short then. */
#ifdef MO_ONEDNN_BF16
dnnl_status_t dnnl_gemm_bf16bf16f32(char op_A, char op_B, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
    const uint16_t *A, dnnl_dim_t lda, const uint16_t *B, dnnl_dim_t ldb, float beta, float *C, dnnl_dim_t ldc);

static dnnl_status_t multiply_bf16(bool transposed_A, bool transposed_B, int64_t m, int64_t n, int64_t k, float alpha,
    const uint16_t *A, int64_t lda, const uint16_t *B, int64_t ldb, float beta, float *C, int64_t ldc) {
    return dnnl_gemm_bf16bf16f32(
        transposed_A ? 'T' : 'N', transposed_B ? 'T' : 'N', m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

/* Intel's processors multiply bf16 by vectors (AVX512-BF16) half as fast as float32, and by tiles (AMX) several times
 * as fast; AMD's do it by vectors at twice the rate. */
bool onednn_has_bf16(void) {
    return has(__builtin_cpu_is("intel") ? dnnl_cpu_isa_avx512_core_amx : dnnl_cpu_isa_avx512_core_bf16);
}
#else
static dnnl_status_t multiply_bf16(bool transposed_A, bool transposed_B, int64_t m, int64_t n, int64_t k, float alpha,
    const uint16_t *A, int64_t lda, const uint16_t *B, int64_t ldb, float beta, float *C, int64_t ldc) {
    return dnnl_unimplemented;
}

bool onednn_has_bf16(void) {
    return false;
}
#endif

static float float_of(uint16_t x) {
    const uint32_t word = (uint32_t)x << 16;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

void bf16_gemm_onednn(bool transposed_A, bool transposed_B, int64_t m, int64_t n, int64_t k, float alpha,
    const uint16_t *A, int64_t lda, const uint16_t *B, int64_t ldb, float beta, float *C, int64_t ldc) {
    beta = scaled(m, n, beta, C, ldc);
    kept before = enter();
    dnnl_status_t status = multiply_bf16(transposed_A, transposed_B, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    leave(&before);
    for (int64_t i = 0; i < m && status != dnnl_success; i++) /* it found no memory */
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += float_of(A[transposed_A ? l * lda + i : i * lda + l]) *
                       float_of(B[transposed_B ? j * ldb + l : l * ldb + j]);
            C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : C[i * ldc + j]);
        }
}

const char *onednn_kernels(void) {
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } known[] = {{dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"}, {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"}, {dnnl_cpu_isa_avx2, "avx2"}, {dnnl_cpu_isa_sse41, "sse41"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has(known[i].isa))
            return known[i].name;
    return "plain";
}

/* OpenMP keeps a thread's settings from the first time that they are set, in memory without which it ends the process:
 * so this happens here, where the memory has just been there. */
static bool keep_settings(void) {
    static _Thread_local bool known;
    void *room = known ? NULL : malloc(1024);
    if (!known && !room)
        return false;
    free(room);
    if (!known)
        omp_set_num_threads(omp_get_max_threads());
    known = true;
    return true;
}

bool onednn_start(void) {
    static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
    static atomic_bool started;
    const float ones[] = {1, 1, 1, 1};
    const uint16_t narrow_ones[] = {0x3f80, 0x3f80, 0x3f80, 0x3f80};
    float C[4];
    if (!keep_settings())
        return false;
    if (started)
        return true;
    pthread_mutex_lock(&starting);
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool fine = room != MAP_FAILED && munmap(room, ROOM) == 0;
    for (int i = 0; i < 4 && fine && !started; i++)
        sgemm_onednn(CblasRowMajor, i & 1 ? CblasTrans : CblasNoTrans, i & 2 ? CblasTrans : CblasNoTrans, 2, 2, 2, 1,
            ones, 2, ones, 2, 0, C, 2);
    if (fine && !started && onednn_has_bf16())
        bf16_gemm_onednn(false, false, 2, 2, 2, 1, narrow_ones, 2, narrow_ones, 2, 0, C, 2);
    started = started || fine;
    pthread_mutex_unlock(&starting);
    return started;
}
