/* tests/models/test_encoder.c - users' encoders: what is checked on them, their initial values, every family of tasks,
 * whole and in blocks, and their derivatives. */
#include "tests/copies.h"

static const fixtures around_all = {scratch_create, planted_release};

/* Z = (sum_k a_k X_k) W + b, an encoder that reads the hops X_k of nodes. */
static mo_tensor *encode(mo_tape *t, mo_tensor *const *parameter, const mo_episode *e) {
    assert_null(e->support_label); /* the library passes no labels to an encoder */
    mo_tensor *X = mo_episode_rows(t, e, "hops");
    mo_tensor *a = mo_reshape(t, parameter[0], 3, (int64_t[]){-1, 1, 1});
    mo_tensor *Z = mo_matmul(t, mo_sum(t, mo_mul(t, X, a), MO_AXIS(0), MO_DROP_AXES), parameter[1]);
    return mo_add(t, Z, parameter[2]);
}

/* Returns the scaled attributes of hop 0, with the extras beside them. */
static mo_tensor *encode_examples(mo_tape *t, mo_tensor *const *parameter, const mo_episode *e) {
    mo_tensor *H = mo_episode_rows(t, e, "blocks"), *extras = mo_episode_rows(t, e, "extras");
    mo_tensor *X = mo_slice(t, mo_slice(t, H, MO_AXIS(0), 1, 2), MO_AXIS(1), 0, 1);
    X = mo_mul(t, mo_reshape(t, X, 2, (int64_t[]){mo_dim(H, 2), mo_dim(H, 3)}), parameter[0]);
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

TEST(first_values_are_those_of_the_table) {
    scratch *s = *state;
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

TEST(derivatives_hold) {
    scratch *s = *state;
    mo_check_result a = mo_check_encoder(s->ctx, &of_nodes, 2, 1), b = mo_check_encoder(s->ctx, &of_examples, 2, 1);
    if (!a.pass || !b.pass)
        fail_msg("%s; %s", a.worst, b.worst);
}

/* In blocks, sums have another order: float32 logits agree to 1e-5 of the largest. */
TEST(every_family_is_read_at_once_and_in_blocks) {
    scratch *s = *state;
    mo_pool *pools[2] = {planted_pool(s->ctx), pool_of_copies(s->ctx, NULL)};
    mo_readout_options o = {.head = &mo_head_ridge, .lambda = 1, .smoothing = 0.1};
    mo_plan_options plans = {.k_min = 4, .k_max = 4, .q_min = 5, .q_max = 5, .max_classes = 8, .seed = 2};
    for (int p = 0; p < 2; p++) {
        mo_encoder_rows rows = {3, p ? ROW_DIM : PLANTED_DIM};
        mo_model *m = mo_encoder_create(s->ctx, MO_F32, p ? &of_examples : &of_nodes, rows, &o, 1);
        mo_tape *t = mo_tape_create(s->ctx, MO_RECORD);
        for (uint64_t i = 0; i < 6; i++) {
            mo_episode e;
            const mo_source *source;
            mo_tape_reset(t);
            assert_int_equal(mo_pool_draw(pools[p], t, i, MO_FAMILY_IN_TURN, &plans, &e, &source), MO_OK);
            mo_tensor *whole = mo_model_logits(t, m, &e, NULL), *W = mo_model_parameter(m, 0), *grad[2];
            mo_tensor *loss = mo_model_loss(t, m, &e, NULL, NULL);
            assert_int_equal(mo_grad(t, &loss, NULL, 1, &W, &grad[0], 1, 0), MO_OK);
            e.max_rows = 3;
            mo_tensor *blocks = mo_model_logits(t, m, &e, NULL), *apart = mo_sub(t, whole, blocks);
            loss = mo_model_loss(t, m, &e, NULL, NULL);
            assert_int_equal(mo_grad(t, &loss, NULL, 1, &W, &grad[1], 1, 0), MO_OK);
            double scale = mo_item(mo_max(t, mo_abs(t, whole), MO_ALL, MO_DROP_AXES)),
                   slope = mo_item(mo_max(t, mo_abs(t, grad[0]), MO_ALL, MO_DROP_AXES));
            assert_true(mo_item(mo_max(t, mo_abs(t, apart), MO_ALL, MO_DROP_AXES)) <= 1e-5 * fmax(1, scale));
            assert_true(
                mo_item(mo_max(t, mo_abs(t, mo_sub(t, grad[0], grad[1])), MO_ALL, MO_DROP_AXES)) <= 1e-4 * slope);
        }
        mo_tape_release(t);
        mo_model_release(m);
        mo_pool_release(pools[p]);
    }
}

TEST(what_an_encoder_lacks_is_named) {
    scratch *s = *state;
    mo_encoder e = of_nodes;
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
    const struct {
        int field;
        const char *part;
    } bad[] = {{0, "abi 9"}, {1, "it has no name"}, {2, "expected another name"}, {3, "it has no encode"},
        {4, "both named hop"}, {5, "has 4 axes"}, {6, "37 parameters"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e = of_nodes;
        switch (bad[i].field) {
        case 0:
            e.abi = 9;
            break;
        case 1:
            e.name = "";
            break;
        case 2:
            e.name = "mochi";
            break;
        case 3:
            e.encode = NULL;
            break;
        case 4:
            e.parameters = twice, e.n_parameters = 2;
            break;
        case 5:
            e.parameters = axes, e.n_parameters = 1;
            break;
        default:
            e.n_parameters = MO_MAX_ENCODER_PARAMETERS + 1;
        }
        assert_false(mo_encoder_validate(s->ctx, &e));
        assert_failed(s->ctx, MO_INVALID, PARTS("encoder", bad[i].part));
    }
}
