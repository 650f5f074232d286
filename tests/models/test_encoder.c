/* tests/models/test_encoder.c - users' encoders: what is checked on them, their initial values, every family of tasks,
 * whole and in blocks, and their derivatives. */
#include "tests/copies.h"

/* Z = (sum_k a_k X_k) W + b, an encoder that reads the hops X_k of nodes. */
static mo_tensor *encode(mo_tape *t, const mo_encoding *x) {
    mo_tensor *const *parameter = x->parameters;
    assert_null(x->episode->support_label); /* the library passes no labels to an encoder */
    if (x->n > x->max_rows)
        return mo_in_blocks(t, x);
    mo_tensor *X = mo_episode_rows(t, x->episode, "hops");
    mo_tensor *a = mo_reshape(t, parameter[0], 3, (int64_t[]){-1, 1, 1});
    mo_tensor *Z = mo_matmul(t, mo_sum(t, mo_mul(t, X, a), MO_AXIS(0), MO_DROP_AXES), parameter[1]);
    return mo_add(t, Z, parameter[2]);
}

/* Returns the scaled attributes of hop 0, with the extras beside them. */
static mo_tensor *encode_examples(mo_tape *t, const mo_encoding *x) {
    if (x->n > x->max_rows)
        return mo_in_blocks(t, x);
    mo_tensor *H = mo_episode_rows(t, x->episode, "blocks"), *extras = mo_episode_rows(t, x->episode, "extras");
    mo_tensor *X = mo_slice(t, mo_slice(t, H, MO_AXIS(0), 1, 2), MO_AXIS(1), 0, 1);
    X = mo_mul(t, mo_reshape(t, X, 2, (int64_t[]){mo_dim(H, 2), mo_dim(H, 3)}), x->parameters[0]);
    return mo_concat(t, (mo_tensor *[]){X, extras}, 2, MO_AXIS(1));
}

static const mo_encoder_parameter parameters[] = {
    {.name = "hop", .start = 0.25, .ndim = 1, .shape = {MO_ENCODER_BLOCKS}},
    {.name = "layer", .spread = 2, .ndim = 2, .shape = {MO_ENCODER_DIM, 9}},
    {.name = "bias", .ndim = 1, .shape = {9}},
};
static const mo_encoder_parameter scales[] = {{.name = "scale", .start = 1, .ndim = 1, .shape = {1}}};

static const mo_encoder of_nodes = {.abi = MO_ENCODER_ABI,
    .size = sizeof(mo_encoder),
    .name = "outside",
    .n_parameters = 3,
    .parameters = parameters,
    .encode = encode};
static const mo_encoder of_examples = {.abi = MO_ENCODER_ABI,
    .size = sizeof(mo_encoder),
    .name = "outside_examples",
    .of_examples = true,
    .n_parameters = 1,
    .parameters = scales,
    .encode = encode_examples};

TEST_OF(first_values_are_those_of_the_table, scratch *s) {
    mo_readout_options o = {.smoothing = 0.1};
    HELD(mo_model) *m = mo_encoder_create(s->ctx, MO_F64, &of_nodes, (mo_encoder_rows){3, 16}, &o, 5);
    assert_non_null(m);
    assert_string_equal(m->encoder.name, "outside");
    assert_int_equal(mo_model_n_parameters(m), 4);
    mo_tensor *hop = mo_model_parameter(m, 0), *layer = mo_model_parameter(m, 1);
    double h[4], w[16 * 9], most = 0;
    assert_string_equal(mo_tensor_name(layer), "encoder.layer");
    assert_int_equal(mo_numel(hop), 4);
    mo_tensor_read(hop, h, sizeof h);
    mo_tensor_read(layer, w, sizeof w);
    for (int i = 0; i < 4; i++)
        assert_true(h[i] == 0.25);
    for (int i = 0; i < 16 * 9; i++)
        most = fmax(most, fabs(w[i]));
    assert_true(most <= 2.0 / 3 && most > 0.6); /* they are drawn from U(-2, 2) / sqrt(9) */
    assert_true(mo_model_setting(m, "hops") == 3 && mo_model_setting(m, "dim") == 16);
}

TEST_OF(derivatives_hold, scratch *s) {
    expect_pass(mo_check_encoder(s->ctx, &of_nodes, 2, 1));
    expect_pass(mo_check_encoder(s->ctx, &of_examples, 2, 1));
}

TEST_OF(what_an_encoder_lacks_is_named, scratch *s) {
    const mo_encoder wide = {.abi = MO_ENCODER_ABI,
        .size = sizeof wide,
        .name = "wide",
        .of_examples = true,
        .n_parameters = 3,
        .parameters = parameters,
        .encode = encode_examples};
    assert_false(mo_encoder_validate(s->ctx, &wide));
    assert_failed(s->ctx, MO_INVALID, PARTS("parameter layer is as wide as rows of examples"));
    mo_encoder_parameter twice[] = {parameters[0], parameters[0]}, axes[] = {{.name = "x", .ndim = 4}};
    static const char *const parts[] = {"abi 9", "it has no name", "expected another name", "it has no encode",
        "both named hop", "has 4 axes", "37 parameters"};
    mo_encoder bad[] = {of_nodes, of_nodes, of_nodes, of_nodes, of_nodes, of_nodes, of_nodes};
    bad[0].abi = 9;
    bad[1].name = "";
    bad[2].name = "mochi";
    bad[3].encode = NULL;
    bad[4].parameters = twice;
    bad[4].n_parameters = 2;
    bad[5].parameters = axes;
    bad[5].n_parameters = 1;
    bad[6].n_parameters = MO_MAX_ENCODER_PARAMETERS + 1;
    for (int i = 0; i < 7; i++) {
        assert_false(mo_encoder_validate(s->ctx, &bad[i]));
        assert_failed(s->ctx, MO_INVALID, PARTS("encoder", parts[i]));
    }
}
