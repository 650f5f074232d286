/* tests/tensor/test_device_failures.c - an emulated device that has no memory for allocation k, stops at its k-th
 * operation, or breaks a capture at a library call. Each gives a one-line error; if the device still works, the run
 * reaches the same weights. Skipped on other devices. */
#include "ops/inside.h"
#include "tests/device.h"
#include "tests/training_run.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { STEPS = 3 };

static run_options short_run(void) {
    run_options o = usual_run;
    o.device = MO_CUDA;
    o.steps = STEPS;
    o.checkpoint_every = STEPS;
    return o;
}

static int plain_device(void **state) {
    unsetenv("MOCHI_CUDA_HOST_ALLOCATION");
    unsetenv("MOCHI_CUDA_HOST_STOP");
    return 0;
}

static const fixtures around_each = {NULL, plain_device};

static void assert_one_line(const mo_context *ctx, const char *what, int64_t k) {
    const char *message = mo_context_status(ctx)->message;
    if (!*message || strchr(message, '\n'))
        fail_msg("%s %lld: expected one line, found \"%s\"", what, (long long)k, message);
}

/* Makes a context while allocation k fails; if the context failed, checks that its error is one line. */
static mo_context *context_without(int64_t k) {
    plan_device("MOCHI_CUDA_HOST_ALLOCATION", k);
    mo_context *ctx = mo_context_create(&(mo_context_options){.device = MO_CUDA});
    if (!mo_ok(ctx))
        assert_one_line(ctx, "allocation", k);
    return ctx;
}

/* Computes factorizations and solves, which allocate device memory for scratch. */
static mo_code compute(mo_context *ctx, double *out) {
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *A = t ? mo_full(t, MO_F64, 3, (int64_t[]){3, 40, 40}, 0.01) : NULL;
    mo_tensor *X = mo_solve_spd(t, mo_add_diag(t, A, mo_scalar(t, MO_F64, 1)), A);
    mo_tensor *w = NULL, *V = NULL, *Q = NULL, *R = NULL;
    mo_eigh(t, mo_add_diag(t, A, mo_scalar(t, MO_F64, 2)), &w, &V);
    mo_qr(t, mo_add_diag(t, A, mo_scalar(t, MO_F64, 3)), &Q, &R);
    mo_tensor *S = mo_solve(t, mo_add_diag(t, A, mo_scalar(t, MO_F64, 4)), A);
    mo_tensor *B =
        t ? mo_full(t, MO_F64, 2, (int64_t[]){300, 300}, 0.01) : NULL; /* needs more scratch than the others */
    mo_tensor *Y = mo_solve(t, mo_add_diag(t, B, mo_scalar(t, MO_F64, 5)), B);
    mo_tensor *solved = mo_add(t, mo_sum(t, mo_add(t, X, S), MO_ALL, MO_DROP_AXES), mo_sum(t, Y, MO_ALL, MO_DROP_AXES));
    mo_tensor *sum =
        mo_add(t, solved, mo_add(t, mo_sum(t, w, MO_ALL, MO_DROP_AXES), mo_sum(t, R, MO_ALL, MO_DROP_AXES)));
    *out = mo_item(sum);
    mo_tape_release(t);
    return mo_context_status(ctx)->code;
}

TEST(every_allocation_may_fail) {
    double expected = 0, found = 0;
    mo_context *ctx = device_context(MO_CUDA);
    assert_int_equal(compute(ctx, &expected), MO_OK);
    mo_context_release(ctx);
    int64_t k = 0, failed = 0;
    for (bool all = false; !all; k++) {
        ctx = context_without(k + 1);
        if (mo_ok(ctx)) {
            mo_code code = compute(ctx, &found);
            all = code == MO_OK;
            if (!all) {
                assert_int_equal(code, MO_MEMORY);
                assert_one_line(ctx, "allocation", k + 1);
                mo_clear_error(ctx);
                plain_device(NULL);
                assert_int_equal(compute(ctx, &found), MO_OK); /* the context works on */
            }
            assert_true(found == expected);
        }
        failed += !all;
        mo_context_release(ctx);
    }
    print_message("%lld allocations, each failed once\n", (long long)failed);
    assert_true(failed >= 8);
}

/* After the stop every wait fails, whatever is called; nothing hangs or crashes. */
TEST(an_error_that_comes_late_stays) {
    double out;
    int64_t k = 1;
    for (bool all = false; !all; k++) {
        HELD(mo_context) *ctx = device_context(MO_CUDA);
        plan_device("MOCHI_CUDA_HOST_STOP", k);
        mo_code code = compute(ctx, &out);
        all = code == MO_OK;
        for (int again = 0; again < 2 && !all; again++) {
            assert_one_line(ctx, "stop", k);
            assert_non_null(strstr(mo_context_status(ctx)->message, "cuda"));
            mo_clear_error(ctx);
            assert_int_not_equal(compute(ctx, &out), MO_OK);
        }
        mo_clear_error(ctx);
        plain_device(NULL);
    }
    print_message("stopped at each of %lld pieces of work\n", (long long)k - 2); /* stopping at k - 1 stopped nothing:
                                                                                  * there are k - 2 operations */
    assert_true(k > 40);
}

TEST_OF(a_step_of_a_stopped_device_names_itself, scratch *s) {
    run_options o = short_run();
    training_run run = run_open(&o, scratch_folder(s, "stopped"));
    mo_step_report r;
    assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    plan_device("MOCHI_CUDA_HOST_STOP", 30);
    assert_int_not_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    assert_failed(run.ctx, MO_IO, PARTS("train: step 1: cuda: the device stopped: an illegal memory access"));
    assert_int_not_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    mo_clear_error(run.ctx);
    plain_device(NULL);
    run_close(&run);
}

/* Each library call in turn cannot be captured: its step is run directly, and the weights are those of a run without
 * replay. */
BARE_TEST(a_capture_that_a_library_breaks_falls_back) {
    static const char *const calls[] = {"seam_multiply", "seam_potrf", "seam_trsm", "quietly,seam_multiply"};
    scratch *s = *state;
    const char *plain = scratch_folder(s, "plain");
    mo_feature_options features = planted_features();
    features.form = MO_ROWS_PER_EXAMPLE;
    run_options o = short_run();
    o.features = &features;
    o.steps = 2 * STEPS;
    o.checkpoint_every = o.steps;
    o.shots = 3;
    setenv("MOCHI_CUDA_LIBRARIES", "always", 1); /* our kernels call no library */
    run_until(&o, plain, false, o.steps);
    o.replay = true;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *broken = scratch_folder(s, "broken");
        setenv("MOCHI_CUDA_HOST_BREAK", calls[i], 1);
        run_until(&o, broken, false, o.steps);
        unsetenv("MOCHI_CUDA_HOST_BREAK");
        assert_same_weights(plain, broken);
    }
    unsetenv("MOCHI_CUDA_LIBRARIES");
}

int main(void) {
    need_emulated_device();
    return run_suite();
}
