/* tests/tensor/test_short_waits.c - while short waits are held, a thread that waits for another sleeps; no bit depends
 * on it. */
#include "autograd/autograd.h"
#include "ops/ops.h"
#include "tensor/clock.h"
#include "tensor/cpu/fast/short_waits.h"
#include "tensor/inside.h"

#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { SIZE = 200, TRIES = 10 };

/* The processor time that the first thread of two burns until the second one has slept for 20 ms. */
static double burnt_in_a_wait(void) {
    double before = mo_clock(CLOCK_THREAD_CPUTIME_ID);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return mo_clock(CLOCK_THREAD_CPUTIME_ID) - before;
}

/* The least of several: an interrupt adds to one. */
static double least_burnt(void) {
    double least = burnt_in_a_wait(); /* starts the threads */
    for (int i = 0; i < TRIES; i++) {
        double burnt = burnt_in_a_wait();
        least = burnt < least ? burnt : least;
    }
    return least;
}

static short_waits *begin_or_skip(void) {
    short_waits *waits = short_waits_begin(2);
#ifdef __clang__
    assert_null(waits);
    skip();
#endif
    assert_non_null(waits);
    return waits;
}

static void a_waiting_thread_sleeps_while_they_are_held(void **state) {
    (void)state;
    double before = least_burnt();
    short_waits *waits = begin_or_skip();
    double held = least_burnt();
    short_waits_end(waits);
    double after = least_burnt();
    assert_true(held < 1e-3); /* 100 turns of a loop */
    if (omp_get_num_procs() == 1 || getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        skip(); /* how long threads spin otherwise is not OpenMP's own choice */
    assert_true(before > 4 * held && after > 4 * held);
}

static void two_holders_end_apart(void **state) {
    (void)state;
    short_waits *first = begin_or_skip(), *second = begin_or_skip();
    short_waits_end(first);
    double held = least_burnt();
    short_waits_end(second);
    short_waits_end(NULL);
    assert_true(held < 1e-3);
}

/* A product, a factorization and a sum by that number of threads. */
static void compute(int threads, double result[SIZE]) {
    static double values[SIZE * SIZE];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < SIZE * SIZE; i++)
        values[i] = mo_random_normal(&r);
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = mo_from(t, MO_F64, 2, (int64_t[]){SIZE, SIZE}, values);
    mo_tensor *K = mo_add_diag(t, mo_matmul(t, X, mo_transpose(t, X)), mo_scalar(t, MO_F64, 1));
    mo_tensor *A = mo_reshape(t, mo_solve_spd(t, K, mo_slice(t, X, 1, 0, 1)), 1, (int64_t[]){SIZE});
    mo_tensor_read(A, result, SIZE * sizeof *result);
    assert_int_equal(mo_context_status(ctx)->code, MO_OK);
    mo_tape_release(t);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}

static void results_have_the_same_bits(void **state) {
    (void)state;
    double spinning[SIZE], asleep[SIZE];
    compute(1, spinning);
    short_waits *waits = begin_or_skip();
    for (int threads = 1; threads <= 4; threads++) {
        compute(threads, asleep);
        assert_memory_equal(asleep, spinning, sizeof spinning);
    }
    short_waits_end(waits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_thread_sleeps_while_they_are_held),
        cmocka_unit_test(two_holders_end_apart),
        cmocka_unit_test(results_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
