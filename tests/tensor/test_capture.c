/* tests/tensor/test_capture.c - a step that is captured and replayed equals the step itself, bit for bit: new inputs,
 * rates and dropout masks, and errors that name their step. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tests/device.h"
#include "tests/scratch.h"
#include "train/inside.h"

enum { POINTS = 16, SUPPORT = 6, WIDTH = 8, STEPS = 12, WARM = 2, EPISODES = 3 };

typedef struct training {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *W, *X, *y, *loss; /* X, y: inputs of the step; loss: its result */
    mo_optimizer *adamw;
    mo_capture *capture;
    int captured; /* the number of the captured step */
} training;

static int training_create(void **state) {
    training *s = calloc(1, sizeof *s);
    float w[WIDTH * WIDTH];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    s->ctx = device_context(MO_CUDA);
    s->t = mo_tape_create(s->ctx, MO_RECORD);
    s->W = mo_parameter(s->ctx, "W", MO_F32, 2, (int64_t[]){WIDTH, WIDTH});
    s->X = mo_tensor_create(s->ctx, MO_F32, 2, (int64_t[]){POINTS, WIDTH});
    s->y = mo_tensor_create(s->ctx, MO_I64, 1, (int64_t[]){POINTS});
    s->loss = mo_tensor_create(s->ctx, MO_F32, 0, NULL);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        w[i] = (float)mo_random_normal(&r);
    mo_tensor_write(s->W, w, sizeof w);
    s->adamw = mo_adamw_create(s->ctx, &s->W, 1, &(mo_adamw_options){1e-2, 0, 0.9, 0.999, 1e-8, 0.01, 1});
    *state = s;
    return 0;
}

static int training_release(void **state) {
    training *s = *state;
    mo_capture_release(s->capture);
    mo_tape_release(s->t);
    mo_optimizer_release(s->adamw);
    mo_tensor *const own[] = {s->W, s->X, s->y, s->loss};
    for (int i = 0; i < 4; i++)
        mo_tensor_release(own[i]);
    mo_context_release(s->ctx);
    free(s);
    return 0;
}

static const fixtures around_each = {training_create, training_release};

/* Writes the inputs and the learning rate of a step; spoiled: added to one entry of X. */
static void prepare(training *s, int step, float spoiled) {
    float x[POINTS * WIDTH];
    int64_t y[POINTS];
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, (uint64_t)step);
    for (int i = 0; i < POINTS * WIDTH; i++)
        x[i] = (float)mo_random_normal(&r);
    for (int i = 0; i < POINTS; i++)
        y[i] = x[i * WIDTH] > 0;
    x[5] += spoiled;
    mo_tensor_write(s->X, x, sizeof x);
    mo_tensor_write(s->y, y, sizeof y);
    mo_optimizer_advance(s->adamw, mo_cosine(1e-2, 0, step, STEPS));
}

/* Records a step: dropout, a ridge readout, its gradient through the solve, AdamW. */
static void take_step(training *s, int step) {
    mo_tape *t = s->t;
    mo_random dropout = mo_random_at(2, MO_PURPOSE_DROPOUT, (uint64_t)(step * EPISODES));
    mo_tensor *Z = mo_linear_relu(t, mo_dropout(t, s->X, 0.25, &dropout), s->W, NULL), *A, *b, *g;
    mo_tensor *Ys = mo_one_hot(t, mo_slice(t, s->y, MO_AXIS(0), 0, SUPPORT), 2, MO_F32);
    mo_ridge_fit(t, mo_slice(t, Z, MO_AXIS(0), 0, SUPPORT), Ys, mo_scalar(t, MO_F32, 1), MO_RIDGE_AUTO, &A, &b);
    mo_tensor *logits = mo_add(t, mo_matmul(t, mo_slice(t, Z, MO_AXIS(0), SUPPORT, POINTS), A), b);
    mo_tensor *loss =
        mo_softmax_cross_entropy(t, logits, mo_contiguous(t, mo_slice(t, s->y, MO_AXIS(0), SUPPORT, POINTS)), 0.1);
    mo_grad(t, &loss, NULL, 1, &s->W, &g, 1, 0);
    mo_tensor_copy(s->loss, loss);
    mo_optimizer_apply(s->adamw, &g);
    mo_tape_reset(t);
}

static void capture(training *s, int step) {
    assert_int_equal(mo_capture_begin(s->ctx, EPISODES), MO_OK);
    take_step(s, step);
    s->capture = mo_capture_end(s->ctx);
    if (!s->capture)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    s->captured = step;
}

/* Takes the first steps and captures the next one. */
static void warm_up(training *s) {
    for (int step = 0; step < WARM; step++) {
        prepare(s, step, 0);
        take_step(s, step);
    }
    prepare(s, WARM, 0);
    capture(s, WARM);
}

/* The loss and the weights after a step. */
typedef struct trace {
    float loss, W[WIDTH * WIDTH];
} trace;

static void read_trace(training *s, trace *at) {
    assert_int_equal(mo_tensor_read(s->loss, &at->loss, sizeof at->loss), MO_OK);
    assert_int_equal(mo_tensor_read(s->W, at->W, sizeof at->W), MO_OK);
}

TEST_OF(replayed_steps_have_the_bits_of_steps_taken_one_by_one, training *s) {
    static trace taken[STEPS], replayed[STEPS];
    void *other;
    training_create(&other);
    for (int step = 0; step < STEPS; step++) {
        prepare(other, step, 0);
        take_step(other, step);
        read_trace(other, &taken[step]);
        prepare(s, step, 0);
        if (step == WARM)
            capture(s, step);
        if (step < WARM)
            take_step(s, step);
        else
            assert_true(mo_capture_replay(s->capture, step - s->captured));
        read_trace(s, &replayed[step]);
    }
    assert_memory_equal(taken, replayed, sizeof taken);
    assert_true(replayed[STEPS - 1].loss != replayed[STEPS - 2].loss);
    training_release(&other);
}

TEST_OF(replays_ask_for_no_memory, training *s) {
    warm_up(s);
    mo_counters before = mo_context_counters(s->ctx);
    for (int step = WARM; step < STEPS; step++) {
        assert_true(mo_capture_replay(s->capture, step - WARM));
        prepare(s, step + 1, 0);
    }
    mo_counters after = mo_context_counters(s->ctx);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.bytes_peak, before.bytes_peak);
    assert_int_equal(mo_context_wait(s->ctx), MO_OK);
}

TEST_OF(a_check_that_fails_in_a_replay_names_its_step, training *s) {
    trace before, after;
    warm_up(s);
    for (int step = WARM; step < 7; step++) {
        mo_capture_replay(s->capture, step - WARM);
        read_trace(s, &before);
        prepare(s, step + 1, step == 6 ? NAN : 0);
    }
    mo_capture_replay(s->capture, 7 - WARM);
    assert_int_equal(mo_context_wait(s->ctx), MO_NUMERICAL);
    const char *message = mo_context_status(s->ctx)->message;
    if (!strstr(message, "step 8") && !strstr(message, "solve_spd")) /* or the optimizer, which counts steps from 1 */
        fail_msg("%s", message);
    mo_clear_error(s->ctx);
    assert_int_equal(mo_tensor_read(s->W, after.W, sizeof after.W), MO_OK);
    assert_memory_equal(before.W, after.W, sizeof after.W);
    prepare(s, 8, 0);
    assert_true(mo_capture_replay(s->capture, 8 - WARM));
    read_trace(s, &after);
    assert_true(isfinite(after.loss));
}

/* A gradient that is not finite, without a solve: only the optimizer checks it. */
TEST_OF(the_optimizer_names_the_step_of_a_replay, training *s) {
    float g[WIDTH * WIDTH] = {1};
    HELD(mo_tensor) *G = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){WIDTH, WIDTH}, g);
    mo_optimizer_step(s->adamw, &G, 1e-3, NULL);
    mo_optimizer_step(s->adamw, &G, 1e-3, NULL);
    mo_optimizer_advance(s->adamw, 1e-3);
    mo_capture_begin(s->ctx, 0);
    mo_optimizer_apply(s->adamw, &G);
    s->capture = mo_capture_end(s->ctx);
    for (int ahead = 0; ahead < 5; ahead++) {
        assert_true(mo_capture_replay(s->capture, ahead));
        mo_optimizer_advance(s->adamw, 1e-3);
    }
    g[0] = INFINITY;
    mo_tensor_write(G, g, sizeof g);
    mo_capture_replay(s->capture, 5);
    mo_context_wait(s->ctx);
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("adamw: step 8: the norm of the gradient is inf in W"));
}

TEST_OF(a_capture_whose_memory_moved_is_not_replayed, training *s) {
    mo_tensor *other = mo_tensor_create(s->ctx, MO_F32, 1, (int64_t[]){10});
    warm_up(s);
    mo_tensor_release(other);
    assert_false(mo_capture_replay(s->capture, 0));
    assert_true(mo_ok(s->ctx));
    mo_capture_release(s->capture);
    capture(s, WARM);
    assert_true(mo_capture_replay(s->capture, 0));
}

static void read_inside(training *s) {
    mo_item(s->loss);
}

static void wait_inside(training *s) {
    mo_context_wait(s->ctx);
}

static void allocate_inside(training *s) {
    mo_full(s->t, MO_F32, 1, (int64_t[]){1 << 22}, 1);
}

static void release_inside(training *s) {
    mo_tensor_release(s->loss);
    s->loss = NULL;
}

static void upload_inside(training *s) {
    static char block[(1 << 20) + 1];
    mo_from(s->t, MO_U8, 1, (int64_t[]){sizeof block}, block);
}

static void begin_inside(training *s) {
    mo_capture_begin(s->ctx, 1);
}

BARE_TEST(what_a_capture_cannot_hold_is_refused) {
    static const struct {
        void (*call)(training *s);
        const char *part;
    } cases[] = {{read_inside, "a value was read"}, {wait_inside, "it was waited for"},
        {allocate_inside, "memory was asked for"}, {release_inside, "memory was given back"},
        {upload_inside, "more than 1 MiB was uploaded"}, {begin_inside, "one has begun already"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *fresh;
        training_create(&fresh);
        training *s = fresh;
        mo_full(s->t, MO_U8, 1, (int64_t[]){1 << 21}, 1); /* leaves room in the arena for the upload */
        mo_tape_reset(s->t);
        assert_int_equal(mo_capture_begin(s->ctx, 1), MO_OK);
        cases[i].call(s);
        assert_null(mo_capture_end(s->ctx));
        assert_failed(s->ctx, MO_STATE, PARTS("capture:", cases[i].part));
        float w[WIDTH * WIDTH]; /* the context still works */
        assert_int_equal(mo_tensor_read(s->W, w, sizeof w), MO_OK);
        training_release(&fresh);
    }
}

TEST_OF(a_capture_needs_a_beginning_and_a_device, training *s) {
    mo_context *cpu = mo_context_create(NULL);
    mo_capture_begin(cpu, 1);
    assert_failed(cpu, MO_UNSUPPORTED, PARTS("capture: the device cpu does its work at once"));
    mo_context_release(cpu);
    assert_null(mo_capture_end(s->ctx));
    assert_failed(s->ctx, MO_STATE, PARTS("capture: none has begun"));
    mo_capture_begin(s->ctx, -1);
    assert_failed(s->ctx, MO_INVALID, PARTS("-1 streams a step"));
}
