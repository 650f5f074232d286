/* tests/tensor/test_onednn.c - float32 products by oneDNN: where it finds no memory, and what it leaves to its host. */
#include "tensor/cpu/fast/onednn.h"
#include "tests/scratch.h"
#include "tests/suite.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

static bool short_of_memory;
static int refused;

void *__libc_memalign(size_t alignment, size_t bytes);
int posix_memalign(void **memory, size_t alignment, size_t bytes);

/* oneDNN asks the C library's function of this name for the memory of its packed operands. */
__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    refused += short_of_memory;
    *memory = short_of_memory ? NULL : __libc_memalign(alignment, bytes);
    return *memory ? 0 : ENOMEM;
}

enum { NARROW = 30 /* rows that oneDNN multiplies on any processor */, WIDE = 70, N = 90, K = 300 };
static float A[WIDE * K], B[K * N], C[WIDE * N];

/* C = 2 op(A) op(B) of whole numbers, whose sums are exact in any order; then the same by 3 A B - 0.5 C. */
static void check_product(int M, enum CBLAS_TRANSPOSE op_A, enum CBLAS_TRANSPOSE op_B) {
    for (int i = 0; i < M * K; i++)
        A[i] = (float)(i * 7 % 13 - 6);
    for (int i = 0; i < K * N; i++)
        B[i] = (float)(i * 5 % 11 - 5);
    for (int i = 0; i < M * N; i++)
        C[i] = NAN;
    bool turned_A = op_A == CblasTrans, turned_B = op_B == CblasTrans;
    sgemm_onednn(CblasRowMajor, op_A, op_B, M, N, K, 2, A, turned_A ? M : K, B, turned_B ? K : N, 0, C, N);
    sgemm_onednn(CblasRowMajor, op_A, op_B, M, N, K, 3, A, turned_A ? M : K, B, turned_B ? K : N, -0.5f, C, N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < K; l++)
                sum += 2.0 * (double)A[turned_A ? l * M + i : i * K + l] * (double)B[turned_B ? j * K + l : l * N + j];
            if ((double)C[i * N + j] != sum)
                fail_msg("entry (%d, %d) is %g, expected %g", i, j, (double)C[i * N + j], sum);
        }
}

/* The same of bf16, which these whole numbers are. */
static void check_bf16(int M, bool turned_A, bool turned_B) {
    static uint16_t narrow_A[WIDE * K], narrow_B[K * N];
    static float D[WIDE * N];
    uint32_t word;
    check_product(M, turned_A ? CblasTrans : CblasNoTrans, turned_B ? CblasTrans : CblasNoTrans);
    for (int i = 0; i < M * K; i++)
        narrow_A[i] = (uint16_t)(memcpy(&word, &A[i], 4), word >> 16);
    for (int i = 0; i < K * N; i++)
        narrow_B[i] = (uint16_t)(memcpy(&word, &B[i], 4), word >> 16);
    memcpy(D, C, sizeof D);
    bf16_gemm_onednn(
        turned_A, turned_B, M, N, K, 3, narrow_A, turned_A ? M : K, narrow_B, turned_B ? K : N, -0.5f, D, N);
    for (int i = 0; i < M * N; i++)
        if (D[i] != C[i]) /* 3 A B - 0.5 (2 A B) */
            fail_msg("entry %d of bf16 is %g, expected %g", i, (double)D[i], (double)C[i]);
}

static volatile sig_atomic_t handled, strayed;
static char *lowest, *highest; /* of this thread's stack */

static void look_at_stack(int number) {
    char here;
    (void)number;
    handled++;
    strayed += (uintptr_t)&here < (uintptr_t)lowest || (uintptr_t)&here > (uintptr_t)highest;
}

/* The AVX-512 products of oneDNN 2.6 keep an address of the heap in the stack pointer. */
TEST(a_signal_is_handled_on_the_threads_stack) {
    pthread_attr_t attributes;
    size_t bytes;
    void *stack;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &stack, &bytes), 0);
    pthread_attr_destroy(&attributes);
    lowest = stack;
    highest = lowest + bytes;
    struct sigaction look = {.sa_handler = look_at_stack, .sa_flags = SA_RESTART}, before;
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    assert_int_equal(sigaction(SIGALRM, &look, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (int i = 0; i < 100000 && handled < 2000; i++)
        sgemm_onednn(CblasRowMajor, CblasNoTrans, CblasNoTrans, WIDE, N, K, 1, A, K, B, N, 0, C, N);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    print_message("%d signals during products\n", (int)handled);
    assert_true(handled > 100);
    assert_int_equal(strayed, 0);
}

TEST(without_room_for_code_it_does_not_start) {
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    bool fine = onednn_start();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_false(fine);
    assert_true(onednn_start());
}

/* The first makes oneDNN generate its code for bf16, which onednn_start does only where it is of use. */
TEST(products_of_bf16_are_those_of_float32) {
    assert_true(onednn_start());
    for (int way = 0; way < 4; way++)
        for (int M = NARROW; M <= WIDE; M += WIDE - NARROW)
            check_bf16(M, way & 1, way & 2);
}

TEST(a_product_without_memory_is_computed) {
    assert_true(onednn_start());
    for (int way = 0; way < 4; way++) {
        short_of_memory = true;
        for (int M = NARROW; M <= WIDE; M += WIDE - NARROW)
            check_bf16(M, way & 1, way & 2); /* and the product of float32 */
        short_of_memory = false;
    }
    print_message("%d requests for memory refused\n", refused);
    assert_true(refused > 0);
}

TEST(the_threads_that_the_host_has_set_stay) {
    omp_set_num_threads(3);
    check_product(NARROW, CblasNoTrans, CblasNoTrans);
    assert_int_equal(omp_get_max_threads(), 3);
}

TEST(no_terms_scale_what_was_there) {
    C[0] = 4;
    sgemm_onednn(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 0, 1, A, 1, B, 1, 0.5f, C, 1);
    assert_true(C[0] == 2);
}

int main(void) {
    return run_suite();
}
