/* tests/models/test_mlp.c - the head "mlp": what it can fit, its symmetries, its memory on the tape, and its learned
 * parameters. */
#include "tests/scratch.h"

enum { LR = 0, STEPS, W1, B1 };

typedef struct rings {
    mo_tensor *Z, *Y, *parameter[MO_MAX_HEAD_PARAMETERS];
} rings;

/* Makes points that alternate between two rings around the origin, of radius 1 and 3: no linear readout can separate
 * these classes. steps: those of the head; 0: its own number. */
static rings make_rings(mo_tape *t, double steps) {
    double z[2 * 24], y[2 * 24];
    for (int i = 0; i < 24; i++) {
        double angle = 0.7 * i, radius = i % 2 ? 3 : 1;
        z[2 * i] = radius * cos(angle);
        z[2 * i + 1] = radius * sin(angle);
        y[2 * i] = i % 2;
        y[2 * i + 1] = 1 - i % 2;
    }
    rings r = {mo_from(t, MO_F64, 2, (int64_t[]){24, 2}, z), mo_from(t, MO_F64, 2, (int64_t[]){24, 2}, y), {NULL}};
    mo_head_start(t, &mo_head_mlp, MO_F64, 2, NULL, 0, r.parameter);
    if (steps != 0)
        r.parameter[STEPS] = mo_scalar(t, MO_F64, steps);
    return r;
}

/* Returns the number of rows whose largest logit is their label's. */
static int count_right(mo_tensor *logits, mo_tensor *Y) {
    double l[48], y[48];
    int right = 0;
    assert_int_equal(mo_tensor_read(logits, l, sizeof l), MO_OK);
    assert_int_equal(mo_tensor_read(Y, y, sizeof y), MO_OK);
    for (int i = 0; i < 24; i++)
        right += (l[2 * i] > l[2 * i + 1]) == (y[2 * i] > y[2 * i + 1]);
    return right;
}

TEST_OF(it_tells_rings_apart_where_ridge_cannot, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    rings r = make_rings(t, 400);
    assert_int_equal(count_right(mo_head_apply(t, &mo_head_mlp, r.Z, r.Y, r.Z, r.parameter), r.Y), 24);
    mo_tensor *lambda = mo_scalar(t, MO_F64, 1);
    assert_true(count_right(mo_head_apply(t, &mo_head_ridge, r.Z, r.Y, r.Z, &lambda), r.Y) < 20);
}

TEST_OF(it_treats_classes_alike, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    rings r = make_rings(t, 0);
    mo_tensor *first = mo_slice(t, r.Y, MO_AXIS(1), 0, 1), *second = mo_slice(t, r.Y, MO_AXIS(1), 1, 2);
    mo_tensor *swapped = mo_concat(t, (mo_tensor *[]){second, first}, 2, MO_AXIS(1));
    mo_tensor *a = mo_head_apply(t, &mo_head_mlp, r.Z, r.Y, r.Z, r.parameter);
    mo_tensor *b = mo_head_apply(t, &mo_head_mlp, r.Z, swapped, r.Z, r.parameter);
    mo_tensor *gap = mo_sub(t, mo_slice(t, a, MO_AXIS(1), 0, 1), mo_slice(t, b, MO_AXIS(1), 1, 2));
    assert_true(mo_item(mo_max(t, mo_abs(t, gap), MO_ALL, MO_DROP_AXES)) < 1e-12);
}

/* Fits with this many steps and writes 24 x 2 logits. Returns the peak of bytes on a new tape. */
static int64_t run(mo_context *ctx, bool recorded, double steps, double logits[48]) {
    HELD(mo_tape) *t = mo_tape_create(ctx, recorded ? MO_RECORD : MO_EVAL);
    rings r = make_rings(t, steps);
    if (recorded)
        mo_require_grad(r.parameter[LR]);
    mo_tensor *out = mo_head_apply(t, &mo_head_mlp, r.Z, r.Y, r.Z, r.parameter);
    assert_int_equal(mo_tensor_read(out, logits, 48 * sizeof *logits), MO_OK);
    assert_int_equal(mo_tape_mode(t), recorded ? MO_RECORD : MO_EVAL);
    return mo_context_counters(ctx).bytes_live;
}

TEST_OF(recorded_or_not_it_gives_the_same_bits, mo_context *ctx) {
    double a[48], b[48];
    run(ctx, true, 30, a);
    run(ctx, false, 30, b);
    assert_memory_equal(a, b, sizeof a);
}

TEST_OF(without_gradients_memory_does_not_grow_with_steps, mo_context *ctx) {
    double logits[48];
    assert_int_equal(run(ctx, false, 10, logits), run(ctx, false, 300, logits));
    assert_true(run(ctx, true, 300, logits) > 2 * run(ctx, false, 300, logits)); /* if recorded, memory grows */
}

/* With each row twice the problem is the same, but there are more rows than columns, and the steps are taken on the
 * weights themselves. */
TEST_OF(steps_on_rows_and_on_weights_agree, mo_context *ctx) {
    enum { N = 5, D = 6, C = 2 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double z[N * D], y[N * C] = {0}, logits[2][N * C];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < N * D; i++)
        z[i] = mo_random_normal(&r);
    for (int i = 0; i < N; i++)
        y[i * C + i % C] = 1;
    mo_tensor *Z = mo_from(t, MO_F64, 2, (int64_t[]){N, D}, z), *Y = mo_from(t, MO_F64, 2, (int64_t[]){N, C}, y);
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_head_start(t, &mo_head_mlp, MO_F64, D, NULL, 0, parameter);
    for (int twice = 0; twice < 2; twice++) {
        mo_tensor *Zs = twice ? mo_concat(t, (mo_tensor *[]){Z, Z}, 2, MO_AXIS(0)) : Z;
        mo_tensor *Ys = twice ? mo_concat(t, (mo_tensor *[]){Y, Y}, 2, MO_AXIS(0)) : Y;
        mo_tensor *L = mo_head_apply(t, &mo_head_mlp, Zs, Ys, Z, parameter);
        assert_int_equal(mo_tensor_read(L, logits[twice], sizeof logits[twice]), MO_OK);
    }
    for (int i = 0; i < N * C; i++)
        assert_true(fabs(logits[0][i] - logits[1][i]) <= 1e-11);
}

TEST_OF(steps_that_are_no_number_of_them_are_refused, mo_context *ctx) {
    static const double bad[] = {-1, 0.5, 1e7, NAN};
    for (int i = 0; i < 4; i++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        rings r = make_rings(t, bad[i]);
        assert_true(mo_is_null(mo_head_apply(t, &mo_head_mlp, r.Z, r.Y, r.Z, r.parameter)));
        assert_failed(ctx, MO_INVALID, PARTS("steps, expected a whole number from 0 to 1000000"));
    }
}
