/* tests/tensor/test_device_memory.c - a device with too little memory: features that do not fit stay on the host. Other
 * allocations fail with one line that gives the bytes asked for, held and free, after which the context still works.
 * Only the size of the emulated device can be set: skipped on other devices. */
#include "tests/device.h"
#include "tests/training_run.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { MIB = 1 << 20 };

static void set_memory(int64_t bytes) {
    plan_device("MOCHI_CUDA_HOST_MEMORY", bytes);
}

static int any_memory(void **state) {
    unsetenv("MOCHI_CUDA_HOST_MEMORY");
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    return 0;
}

static const fixtures around_each = {NULL, any_memory};

static mo_pool *wide_pool(mo_context *ctx, mo_feature_place place, notices *t) {
    mo_feature_options features = planted_features();
    features.place = place;
    features.dim = 128; /* makes the hop stack 300 KB */
    mo_pool *pool = mo_pool_create(ctx, &features, 0.2, remember, t);
    mo_pool_add(pool, planted_graph(ctx, "planted", 150, 3, 0.25, 0.03, 1), 1u << MO_TASK_NC);
    return pool;
}

TEST(features_that_do_not_fit_stay_on_the_host) {
    notices t = {""}, quiet = {""};
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    set_memory(512 * MIB);
    mo_pool *all = wide_pool(ctx, MO_FEATURES_AUTO, &quiet);
    assert_ptr_equal(mo_pool_source(all, 0)->features->arrays->ctx, ctx);
    assert_null(strstr(quiet.text, "host memory"));
    mo_pool_release(all);
    set_memory(MIB / 2);
    HELD(mo_pool) *pool = wide_pool(ctx, MO_FEATURES_AUTO, &t);
    assert_true(mo_ok(ctx));
    assert_int_equal(mo_context_device(mo_pool_source(pool, 0)->features->arrays->ctx), MO_CPU);
    assert_non_null(strstr(t.text, "features: planted:nc need 0.0"));
    assert_non_null(strstr(t.text, " GB, the device has 0.00 GB left for features: they stay in host memory\n"));
}

TEST(features_that_must_fit_name_the_bytes) {
    notices t = {""};
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    set_memory(MIB / 4);
    HELD(mo_pool) *pool = wide_pool(ctx, MO_FEATURES_ON_DEVICE, &t);
    assert_failed(ctx, MO_MEMORY, PARTS("out of memory: ", " bytes asked of cuda, ", " held, ", " free"));
    assert_int_equal(mo_pool_size(pool), 0);
    set_memory(64 * MIB);
    mo_pool_add(pool, planted_graph(ctx, "again", 60, 3, 0.25, 0.03, 1), 1u << MO_TASK_NC);
    assert_true(mo_ok(ctx));
    assert_int_equal(mo_pool_size(pool), 1);
}

/* After a failed step the weights are unchanged, and the run continues. */
TEST_OF(a_step_without_memory_names_itself_and_can_be_taken_again, scratch *s) {
    const char *first = scratch_folder(s, "first"), *second = scratch_folder(s, "second");
    run_options o = usual_run;
    o.device = MO_CUDA;
    o.steps = 3;
    run_until(&o, first, false, 3);
    training_run run = run_open(&o, second);
    mo_step_report r;
    for (int64_t step = 0; step < o.steps; step++) {
        if (step == 0) {
            set_memory(MIB);
            assert_int_equal(mo_trainer_step(run.trainer, &r), MO_MEMORY);
            assert_failed(run.ctx, MO_MEMORY,
                PARTS("train: step 0: out of memory: ", " bytes asked of cuda, ", " held, ", " free"));
            any_memory(NULL);
            mo_tape_reset(run.trainer->tape);
        }
        if (mo_trainer_step(run.trainer, &r) != MO_OK)
            fail_msg("%s", mo_context_status(run.ctx)->message);
    }
    mo_trainer_checkpoint(run.trainer);
    mo_trainer_finish(run.trainer);
    assert_run_ok(&run);
    run_close(&run);
    assert_same_bytes(run_file(first, "weights.safetensors"), run_file(second, "weights.safetensors"));
    assert_same_bytes(run_file(first, "checkpoint.safetensors"), run_file(second, "checkpoint.safetensors"));
}

TEST(page_locked_memory_that_is_not_there_is_one_line) {
    static const char *const missing[] = {"seam_pin", "seam_event_create"};
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    int64_t live = mo_context_counters(ctx).bytes_live;
    for (int i = 0; i < 2; i++) {
        mo_pinned p;
        setenv("MOCHI_CUDA_HOST_FAIL", missing[i], 1);
        assert_false(mo_pin(ctx, 1000, &p));
        unsetenv("MOCHI_CUDA_HOST_FAIL");
        assert_failed(ctx, MO_MEMORY, PARTS("out of memory: 1000 bytes of page-locked host memory"));
        assert_int_equal(mo_context_counters(ctx).bytes_live, live);
    }
}

/* What the pool keeps, scratch and workspaces go back; tensors stay, and later work asks for scratch again. */
TEST(a_trim_gives_back_what_no_tensor_uses) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_tensor) *X = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){2 * MIB});
    size_t bytes = (size_t)2 * MIB * sizeof(float), held[2], left;
    float *host = test_memory(bytes); /* more than the page-locked memory of a fresh context */
    mo_tensor_fill(X, 1);
    assert_int_equal(mo_tensor_read(X, host, bytes), MO_OK);
    for (int round = 0; round < 2; round++) {
        mo_tape *t = mo_tape_create(ctx, 0);
        assert_true(mo_item(mo_sum(t, X, MO_ALL, MO_DROP_AXES)) == 2 * MIB); /* in scratch */
        mo_tape_release(t);
        mo_device_memory(ctx, &held[0], &left);
        assert_int_equal(mo_context_trim(ctx), MO_OK);
        mo_device_memory(ctx, &held[1], &left);
        assert_true(held[0] >= bytes + MIB && held[1] < bytes + MIB / 4);
    }
    mo_capture_begin(ctx, 0);
    assert_int_equal(mo_context_trim(ctx), MO_STATE);
    assert_failed(ctx, MO_STATE, PARTS("capture: memory was given back"));
    setenv("MOCHI_CUDA_HOST_FAIL", "seam_wait", 1);
    assert_int_equal(mo_context_trim(ctx), MO_IO);
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    mo_clear_error(ctx);
}

/* mo_send copies when the device gets there, not before; after that the memory can be written again. */
BARE_TEST(sent_memory_may_be_written_again) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_tensor) *X = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){4}),
                    *Y = mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){4});
    mo_pinned p;
    float x[4];
    assert_true(mo_pin(ctx, 1024, &p));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            ((float *)p.data)[8 + i] = (float)(round * 10 + i);
        assert_int_equal(mo_send(round % 2 ? Y : X, &p, 8 * sizeof *x), MO_OK);
        assert_int_equal(mo_sent(ctx, &p), MO_OK);
    }
    mo_tensor_read(X, x, sizeof x);
    assert_true(x[0] == 20 && x[3] == 23);
    mo_tensor_read(Y, x, sizeof x);
    assert_true(x[0] == 10 && x[3] == 13);
    assert_int_equal(mo_send(X, &p, 1020), MO_INVALID);
    assert_failed(ctx, MO_INVALID, PARTS("send: 16 bytes from 1020 on, expected them in 1024"));
    mo_capture_begin(ctx, 1);
    mo_send(X, &p, 0);
    assert_failed(ctx, MO_STATE, PARTS("capture: page-locked memory was sent"));
    mo_send(X, &p, 0);
    mo_unpin(ctx, &p); /* waits until the bytes are sent */
}

int main(void) {
    need_emulated_device();
    return run_suite();
}
