/* tests/tensor/test_team.c - a context starts its threads once: no kernel ends or starts one, even if it has few
 * matrices to distribute, and none asks OpenMP for what OpenMP needs memory for. */

#include "autograd/autograd.h"
#include "ops/ops.h"
#include "tensor/inside.h"

#include <dirent.h>

#include "tests/openmp_memory.h"

enum { THREADS = 4, MOST = 256, SIZE = 48 };

/* Lists the numbers of this process's threads, which the system gives in ascending order. Returns how many there
 * are. */
static int list_threads(long *thread) {
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    if (!tasks)
        skip("no /proc/self/task");
    for (struct dirent *e; (e = readdir(tasks)) && n < MOST;)
        if (e->d_name[0] != '.')
            thread[n++] = atol(e->d_name);
    closedir(tasks);
    return n;
}

/* Returns matrices [batch, SIZE, SIZE]: normal random numbers, plus SIZE on the diagonal. */
static mo_tensor *draw(mo_tape *t, int64_t batch) {
    static double values[2 * THREADS * SIZE * SIZE];
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, batch);
    for (int64_t i = 0; i < batch * SIZE * SIZE; i++)
        values[i] = mo_random_normal(&r) + (i / SIZE % SIZE == i % SIZE ? SIZE : 0);
    return mo_from(t, MO_F64, 3, (int64_t[]){batch, SIZE, SIZE}, values);
}

/* Runs the kernels that distribute the matrices of a batch over threads. */
static void factor_and_fit(mo_tape *t, int64_t batch) {
    mo_tensor *A = draw(t, batch), *w, *V, *Q, *R;
    mo_tensor *Y = mo_softmax(t, A, MO_AXIS(-1)), *lambda = mo_full(t, MO_F64, 0, NULL, 0.5);
    mo_solve(t, A, A);
    mo_qr(t, A, &Q, &R);
    mo_eigh(t, mo_add(t, A, mo_transpose(t, A)), &w, &V);
    mo_logistic(t, A, Y, lambda, MO_INTERCEPT_NONE);
    mo_tape_reset(t);
}

TEST(no_kernel_ends_a_thread) {
    static long before[MOST], after[MOST];
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = THREADS});
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    int n = list_threads(before);
    assert_true(n >= mo_context_threads(ctx));
    for (int64_t batch = 1; batch <= 2 * THREADS; batch++)
        factor_and_fit(t, batch);
    assert_int_equal(mo_context_status(ctx)->code, MO_OK);
    assert_int_equal(list_threads(after), n);
    assert_memory_equal(after, before, (size_t)n * sizeof *after);
    mo_tape_release(t);
    assert_int_equal(mo_context_release(ctx), MO_OK);
}

#ifdef OPENMP_IS_COUNTED
/* Kernels on few and on many elements, so that some use one thread and some all. */
static void run_kernels(mo_tape *t) {
    const int64_t many = 100000;
    mo_tensor *x = mo_full(t, MO_F32, 1, &many, 0.25), *rows = mo_reshape(t, x, 2, (int64_t[]){1000, 100});
    mo_tensor *picked = mo_gather_rows(t, rows, mo_argmax(t, mo_transpose(t, rows), MO_AXIS(-1)));
    mo_item(mo_sum(t, mo_softmax(t, mo_matmul(t, mo_transpose(t, rows), rows), MO_AXIS(-1)), MO_ALL, MO_DROP_AXES));
    mo_item(mo_sum(t, mo_layer_norm(t, picked, 1e-5), MO_ALL, MO_DROP_AXES));
    for (int64_t batch = 1; batch <= 2 * THREADS; batch++)
        factor_and_fit(t, batch);
}

TEST(kernels_leave_openmp_no_allocation_to_fail) {
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = threads});
        mo_tape *t = mo_tape_create(ctx, MO_EVAL);
        run_kernels(t); /* all threads work once: their team is kept, and this thread's settings, which onednn.c sets */
        watch_openmp();
        run_kernels(t);
        expect_nothing_asked();
        assert_int_equal(mo_context_status(ctx)->code, MO_OK);
        mo_tape_release(t);
        assert_int_equal(mo_context_release(ctx), MO_OK);
    }
}
#endif
