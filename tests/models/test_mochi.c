/* tests/models/test_mochi.c - the encoder and the whole model: names, shapes, equal paths, errors. */

#include <math.h>

#include "tests/scratch.h"

enum { DIM = 6, ROWS = 9 };

static mo_mochi_options small(int layers) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = DIM;
    o.encoder.layers = layers;
    return o;
}

static mo_tensor *rows(mo_tape *t, int64_t n) {
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    HELD_MEMORY double *x = malloc((size_t)(4 * n * DIM) * sizeof *x);
    for (int64_t i = 0; i < 4 * n * DIM; i++)
        x[i] = mo_random_normal(&r);
    mo_tensor *T = mo_from(t, MO_F64, 3, (int64_t[]){4, n, DIM}, x);
    return T;
}

static mo_episode node_episode(mo_tape *t) {
    mo_episode e = {.task = MO_TASK_NC, .classes = 2, .n_rows = 1, .rows = {{"hops", rows(t, ROWS), NULL}}};
    e.support[0] = mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 1, 2, 3});
    e.query[0] = mo_from(t, MO_I64, 1, (int64_t[]){5}, (int64_t[]){4, 5, 6, 7, 8});
    e.support_label = mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 1, 0, 1});
    e.query_label = mo_from(t, MO_I64, 1, (int64_t[]){5}, (int64_t[]){0, 1, 0, 1, 1});
    return e;
}

TEST_OF(parameters_bear_the_released_names_and_bounds, mo_context *ctx) {
    mo_mochi_options o = small(3);
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
    assert_int_equal(mo_model_n_parameters(m), 2 * (4 + 2 + 3) + 1);
    static const char *const names[] = {"encoder.input_proj.0.weight", "encoder.input_proj.0.bias"};
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 0)), names[0]);
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 1)), names[1]);
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 8)), "encoder.att_mlp.0.weight");
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 16)), "encoder.out_mlp.6.weight");
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 18)), "log_temp");
    mo_tensor *W = mo_model_parameter(m, 8);
    assert_int_equal(mo_dim(W, 1), 2 * DIM);
    double x[2 * DIM * DIM], most = 0;
    mo_tensor_read(W, x, sizeof x);
    for (int i = 0; i < 2 * DIM * DIM; i++)
        most = fmax(most, fabs(x[i]));
    assert_true(most <= 1 / sqrt(2 * DIM) && most > 0.8 / sqrt(2 * DIM));
    assert_true(mo_item(mo_model_parameter(m, 18)) == 0);
}

TEST_OF(mean_before_the_last_layer_equals_mean_after_it, mo_context *ctx) {
    for (int layers = 2; layers <= 3; layers++) {
        mo_mochi_options o = small(layers);
        HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_episode e = {.n_rows = 1, .rows = {{"hops", rows(t, ROWS), NULL}}};
        mo_tensor *offset = mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 2, 3, ROWS});
        mo_tensor *Z = mo_model_encode(t, m, &e, NULL);
        e.segment = offset;
        mo_tensor *pooled = mo_model_encode(t, m, &e, NULL);
        double a[3 * DIM], b[3 * DIM];
        mo_tensor_read(mo_segment_mean(t, Z, offset), a, sizeof a);
        mo_tensor_read(pooled, b, sizeof b);
        assert_true(mo_ok(ctx));
        for (int i = 0; i < 3 * DIM; i++)
            assert_true(fabs(a[i] - b[i]) < 1e-12);
    }
}

TEST_OF(loading_names_what_is_missing_and_changes_nothing, mo_context *ctx) {
    mo_mochi_options o = small(2);
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
    HELD(mo_arrays) *arrays = mo_arrays_create(ctx);
    mo_arrays_take(arrays, "encoder.input_proj.0.weight", mo_tensor_create(ctx, MO_F32, 2, (int64_t[]){DIM, DIM}));
    assert_int_equal(mo_model_load(m, arrays), MO_FORMAT);
    assert_told(ctx, MO_FORMAT, "weights: encoder.input_proj.0.bias is absent, expected [6]");
    double x[DIM * DIM], sum = 0;
    mo_tensor_read(mo_model_parameter(m, 0), x, sizeof x);
    for (int i = 0; i < DIM * DIM; i++)
        sum += fabs(x[i]);
    assert_true(sum > 0);
}

TEST_OF(wrong_options_and_rows_are_named, mo_context *ctx) {
    mo_mochi_options o = small(4);
    assert_null(mo_mochi_create(ctx, MO_F64, &o, 1));
    assert_told(ctx, MO_INVALID, "gamlp: layers is 4, expected 2 or 3");
    o = small(3);
    o.lambda = -1;
    assert_null(mo_mochi_create(ctx, MO_F64, &o, 1));
    assert_told(ctx, MO_INVALID, "head ridge: lambda is -1, expected more than 0");
    o = small(3);
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_episode e = node_episode(t);
    e.rows[0].name = "spectrum";
    assert_true(mo_is_null(mo_model_logits(t, m, &e, NULL)));
    assert_non_null(strstr(mo_context_status(ctx)->message, "no rows named \"hops\""));
    mo_clear_error(ctx);
    e.rows[0] = (mo_named){"hops", mo_full(t, MO_F64, 3, (int64_t[]){4, 3, DIM + 1}, 0), NULL};
    assert_true(mo_is_null(mo_model_encode(t, m, &e, NULL)));
    assert_told(ctx, MO_INVALID, "gamlp: hop rows [4, 3, 7], expected [4, N, 6]");
    mo_tensor *index[] = {mo_full(t, MO_I64, 2, (int64_t[]){3, 2}, 0), mo_full(t, MO_I64, 1, (int64_t[]){4}, 0)};
    for (int i = 0; i < 2; i++) {
        e.rows[0] = (mo_named){"hops", mo_full(t, MO_F64, 3, (int64_t[]){4, 3, DIM}, 0), index[i]};
        assert_true(mo_is_null(mo_model_encode(t, m, &e, NULL)));
        assert_failed(ctx, MO_INVALID, PARTS("episode: rows [4, 3, 6] with an index [", "expected [K, n, d]"));
    }
}
