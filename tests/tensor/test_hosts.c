/* tests/tensor/test_hosts.c - a host program with its own threads, OpenMP regions and BLAS calls: its results and the
 * library's are the same as if each ran alone. */
#include "ops/ops.h"
#include "tests/scratch.h"

#include <cblas.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { SIZE = 96, ROUNDS = 12, REGION = 4, FORKS = 100 };

/* Computes products, a factorization and random numbers, whose bits can be compared. */
static void compute(mo_context *ctx, double result[SIZE]) {
    static const int64_t shape[2] = {SIZE, SIZE};
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 0);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD_MEMORY double *values = malloc(SIZE * SIZE * sizeof *values);
    for (int i = 0; i < SIZE * SIZE; i++)
        values[i] = mo_random_normal(&r);
    mo_tensor *X = mo_from(t, MO_F64, 2, shape, values);
    mo_tensor *K = mo_add_diag(t, mo_matmul(t, X, mo_transpose(t, X)), mo_scalar(t, MO_F64, 1));
    mo_tensor *B = mo_slice(t, X, MO_AXIS(1), 0, 1);
    mo_tensor *A = mo_reshape(t, mo_solve_spd(t, K, B), 1, (int64_t[]){SIZE});
    if (mo_ok(ctx))
        mo_tensor_read(A, result, SIZE * sizeof *result);
}

static int host_products_wrong(void) {
    enum { N = 150 };
    double *A = malloc(3 * N * N * sizeof *A), *B = A + N * N, *C = B + N * N;
    int wrong = 0;
    for (int i = 0; i < N * N; i++) {
        A[i] = 1 + i % 3;
        B[i] = i / N == i % N ? 2 : 0;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, A, N, B, N, 0, C, N);
    for (int i = 0; i < N * N; i++)
        wrong += C[i] != 2 * A[i];
    free(A);
    return wrong;
}

typedef struct host {
    atomic_bool ends;
    int products, wrong;
} host;

static void *multiply_until_the_end(void *state) {
    host *h = state;
    do {
        h->wrong += host_products_wrong();
        h->products++;
    } while (!h->ends);
    return NULL;
}

void dpotrf_(const char *uplo, const int *n, double *A, const int *lda, int *info);

/* Factors matrices of one number: almost all of the time is spent where BLAS gives out its buffers. */
static void *factor_until_the_end(void *state) {
    host *h = state;
    int n = 1, info = 0;
    while (!h->ends) {
        double A = 4;
        dpotrf_("U", &n, &A, &n, &info);
        h->wrong += info != 0 || A != 2;
    }
    return NULL;
}

TEST_OF(a_fork_while_other_threads_are_in_blas, scratch *s) {
    (void)s;
    host h[2] = {{.products = 0}};
    pthread_t thread[2];
    int hung = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, factor_until_the_end, &h[i]), 0);
    for (int i = 0; i < FORKS; i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            double found[SIZE] = {0};
            signal(SIGALRM, SIG_DFL);
            alarm(10);
            mo_context *own = mo_context_create(&(mo_context_options){.threads = 1});
            compute(own, found);
            _exit(!own || !mo_ok(own));
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        assert_true(hung || status == 0);
        if (hung > 2)
            break;
    }
    for (int i = 0; i < 2; i++) {
        h[i].ends = true;
        pthread_join(thread[i], NULL);
        assert_int_equal(h[i].wrong, 0);
    }
    assert_int_equal(hung, 0);
}

TEST_OF(a_host_with_its_own_blas, scratch *s) {
    double alone[SIZE], beside[SIZE];
    host h = {.products = 0};
    pthread_t thread;
    compute(s->ctx, alone);
    assert_int_equal(pthread_create(&thread, NULL, multiply_until_the_end, &h), 0);
    for (int i = 0; i < ROUNDS; i++) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1 + i % 3});
        compute(ctx, beside);
        assert_true(mo_ok(ctx));
        assert_int_equal(mo_context_release(ctx), MO_OK);
        assert_memory_equal(beside, alone, sizeof alone);
    }
    h.ends = true;
    pthread_join(thread, NULL);
    assert_int_equal(h.wrong, 0);
    assert_true(h.products > 0);
    print_message("%d rounds beside %d products of the host\n", ROUNDS, h.products);
}

/* Each thread of the host's own parallel region makes a context. */
TEST_OF(a_host_with_its_own_openmp, scratch *s) {
    double alone[SIZE], within[REGION][SIZE];
    int failed = 0, met = 0;
    compute(s->ctx, alone);
    for (int round = 0; round < ROUNDS; round++) {
        memset(within, 0, sizeof within);
#pragma omp parallel for num_threads(REGION) schedule(static, 1) reduction(+ : failed, met)
        for (int i = 0; i < REGION; i++) {
            mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 2});
            compute(ctx, within[i]);
            failed += !mo_ok(ctx) || mo_context_release(ctx) != MO_OK;
            met++;
        }
        for (int i = 0; i < REGION; i++)
            assert_memory_equal(within[i], alone, sizeof alone);
    }
    assert_int_equal(failed, 0);
    assert_int_equal(met, ROUNDS * REGION);
    assert_int_equal(host_products_wrong(), 0);
    print_message("%d contexts in %d regions of the host\n", met, ROUNDS);
}
