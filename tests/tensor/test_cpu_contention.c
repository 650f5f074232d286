/* tests/tensor/test_cpu_contention.c - a context is not slowed down by another thread that waits for work on its
 * processor. The test runs on one processor, so that a second thread that never rests takes half of it. */
#include "tensor/cpu/fast/threads.h"
#include "tensor/cpu/work.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/suite.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work_until_told(void *rest) {
    while (!atomic_load((_Atomic int *)rest))
        ;
    return NULL;
}

/* Works for at most `most` seconds, until `threads` threads are offered. Returns whether they were. */
static int works_until(contention *c, int threads, double most) {
    double end = seconds() + most;
    while (seconds() < end)
        if (contention_threads(c, 8) == threads)
            return 1;
    return 0;
}

static void keep_to_one_processor(void) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        skip("this process may not choose its processors");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        skip("this process may not choose its processors");
}

/* Runs the check while a second thread never rests. */
static void crowd(void (*check)(contention *c), contention *c) {
    _Atomic int rest = 0;
    pthread_t other;
    keep_to_one_processor();
    assert_int_equal(pthread_create(&other, NULL, work_until_told, &rest), 0);
    check(c);
    atomic_store(&rest, 1);
    pthread_join(other, NULL);
}

static void expect_pauses(contention *c) {
    int alone = works_until(c, 1, 30), again = works_until(c, 8, 30);
    double first = c->pause;
    int alone_again = works_until(c, 1, 30);
    double second = c->pause;
    assert_true(alone && again && alone_again);
    assert_true(first > 0 && second > 0);
}

TEST(a_thread_put_aside_works_alone_and_tries_again) {
    contention c = {0};
    crowd(expect_pauses, &c);
}

TEST(one_thread_stays_one) {
    contention c = {0};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(contention_threads(&c, 1), 1);
    assert_true(c.start == 0);
}

/* Returns the threads that kernels of a new context use. No window has been measured yet, so contention does not limit
 * them. */
static int threads_of_kernels(int threads) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    int used = free_threads(ctx);
    assert_int_equal(mo_context_threads(ctx), used);
    assert_int_equal(mo_context_release(ctx), MO_OK);
    return used;
}

/* OMP_NUM_THREADS, omp_set_num_threads and threadpoolctl all set what omp_get_max_threads gives. */
TEST(a_context_without_a_number_has_the_threads_of_openmp) {
    int processors = omp_get_num_procs();
    omp_set_num_threads(1);
    assert_int_equal(threads_of_kernels(0), 1);
    omp_set_num_threads(processors + 3);
    assert_int_equal(threads_of_kernels(0), processors);
}

TEST(more_threads_than_processors_are_not_used) {
    int processors = omp_get_num_procs();
    omp_set_num_threads(1);
    assert_int_equal(threads_of_kernels(processors + 5), processors);
    assert_int_equal(threads_of_kernels(processors), processors);
    omp_set_num_threads(processors + 3);
    assert_int_equal(threads_of_kernels(processors + 5), processors + 3);
    assert_int_equal(threads_of_kernels(1), 1);
}
