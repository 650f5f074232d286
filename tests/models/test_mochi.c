/* tests/models/test_mochi.c - the whole model: names, first values, loading, errors. tests/golden has its values. */
#include "tests/scratch.h"

enum { DIM = 6 };

static mo_mochi_options small(int layers) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = DIM;
    o.encoder.layers = layers;
    return o;
}

TEST_OF(first_values_have_the_released_bounds, mo_context *ctx) {
    mo_mochi_options o = small(3);
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
    assert_int_equal(mo_model_n_parameters(m), 2 * (4 + 2 + 3) + 1);
    assert_string_equal(mo_tensor_name(mo_model_parameter(m, 8)), "encoder.att_mlp.0.weight");
    mo_tensor *W = mo_model_parameter(m, 8);
    assert_int_equal(mo_dim(W, 1), 2 * DIM);
    double x[2 * DIM * DIM], most = 0;
    mo_tensor_read(W, x, sizeof x);
    for (int i = 0; i < 2 * DIM * DIM; i++)
        most = fmax(most, fabs(x[i]));
    assert_true(most <= 1 / sqrt(2 * DIM) && most > 0.8 / sqrt(2 * DIM));
    assert_true(mo_item(mo_model_parameter(m, 18)) == 0);
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
    assert_told(ctx, MO_INVALID, "head ridge: lambda is -1, expected above 0, or 0 for the head's own");
    o = small(3);
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F64, &o, 1);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = mo_full(t, MO_F64, 3, (int64_t[]){4, 3, DIM}, 0);
    mo_episode e = {.classes = 2, .n_rows = 1, .rows = {{"spectrum", X, NULL}}};
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
