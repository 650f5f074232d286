/* tests/models/test_headed.c - an encoder under a head other than its own: gradients hold, embeddings are the
 * encoder's, logits are the head's applied to them, and weights can be read back. */
#include "tests/models/drawn_episode.h"

enum { EMBEDDED = 2 * WIDTH + EXTRAS /* for nodes and graphs twice as wide, as the initial row stands beside it */ };

/* A head: inner products with the sums of the classes in a learned projection. */
static mo_tensor *projected(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *P = mo_matmul(t, mo_transpose(t, Ys), mo_matmul(t, Zs, parameters[1]));
    return mo_mul(t, mo_matmul(t, mo_matmul(t, Zq, parameters[1]), mo_transpose(t, P)), parameters[0]);
}

static const mo_head_parameter parameters[] = {
    {.name = "scale", .value = 0.5},
    {.name = "projection", .value = 1, .ndim = 2, .shape = {MO_HEAD_DIM, 3}},
};
static const mo_head projection = {.abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "projected",
    .n_parameters = 2,
    .parameters = parameters,
    .logits = projected,
    .order = 2};

/* Returns an encoder with moved parameters under the head `projected`. */
static mo_model *headed_model(mo_context *ctx, mo_temperature temperature) {
    mo_readout_options o = {.head = &projection,
        .temperature = temperature,
        .smoothing = 0.1,
        .width = {2 * EMBEDDED, EMBEDDED, 2 * EMBEDDED}};
    mo_model *model = mo_model_under_head(moved_model(ctx, MO_F64), &o, 1);
    assert_non_null(model);
    return model;
}

/* The tolerance is 1e-5, as for the invariant model itself. */
TEST_OF(gradients_hold_in_encoder_head_and_temperature, scratch *s) {
    for (int i = 0; i < 2 * MO_TASKS; i++) {
        HELD(mo_model) *model = headed_model(s->ctx, (mo_temperature)(i % 2));
        problem p = {model, (mo_task)(i / 2), NULL};
        mo_tensor *in[16];
        int n = mo_model_n_parameters(p.model);
        assert_int_equal(n, 5 + 1 + MO_TASKS);
        for (int j = 0; j < n; j++)
            in[j] = mo_model_parameter(p.model, j);
        assert_string_equal(mo_tensor_name(in[5]), "log_temp");
        assert_string_equal(mo_tensor_name(in[7]), "head.lp.projection");
        expect_pass(mo_check_function(s->ctx, loss_function, &p, in, n, 1, 2, 1e-5, 4));
    }
}

/* The logits are the head's, applied to the rows that mo_embed_all gives. */
TEST_OF(a_head_reads_the_rows_that_embed_gives, scratch *s) {
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, NULL);
    mo_readout_options o = {.head = &mo_head_logistic, .smoothing = 0.1};
    HELD(mo_model) *plain = moved_model(s->ctx, MO_F32),
                   *headed = mo_model_under_head(moved_model(s->ctx, MO_F32), &o, 0);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_plan_options plans = {.k_min = 4, .k_max = 4, .q_min = 5, .q_max = 5, .max_classes = 8, .seed = 2};
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        HELD(mo_tensor) *Z = mo_embed_all(plain, source, 0), *Y = mo_embed_all(headed, source, 0);
        assert_int_equal(mo_dim(Z, 1), mo_embedding_width(headed, source));
        assert_memory_equal(mo_tensor_view(Z).data, mo_tensor_view(Y).data, (size_t)mo_numel(Z) * sizeof(float));
        HELD(mo_plan) plan;
        mo_episode e;
        mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
        assert_int_equal(mo_plan_draw(source->graph, source->links, source->task, 0, &plans, &plan), MO_OK);
        assert_int_equal(mo_episode_build(t, source, &plan, &e), MO_OK);
        bool links = source->task == MO_TASK_LP;
        mo_tensor *Zs = mo_gather_rows(
                      t, Z, mo_from(t, MO_I64, 1, &plan.n_support, links ? plan.support_pair : plan.support[0])),
                  *Zq = mo_gather_rows(
                      t, Z, mo_from(t, MO_I64, 1, &plan.n_query, links ? plan.query_pair : plan.query[0]));
        mo_head_start(t, o.head, MO_F32, mo_dim(Z, 1), NULL, 0, parameter);
        mo_tensor *expected =
            mo_head_apply(t, o.head, Zs, mo_one_hot(t, e.support_label, e.classes, MO_F32), Zq, parameter);
        mo_tensor *apart = mo_sub(t, mo_model_logits(t, headed, &e, NULL), expected);
        double most = mo_item(mo_max(t, mo_abs(t, apart), MO_ALL, MO_DROP_AXES));
        assert_true(mo_ok(s->ctx) && most < 1e-4); /* Newton's last step, in float32 */
    }
}

/* ---- weights ---- */

static mo_model *under_mlp(mo_context *ctx, const mo_pool *pool) {
    mo_readout_options o = {.head = &mo_head_mlp, .smoothing = 0.1};
    mo_model *encoder = mo_invariant_create(ctx, MO_F32, NULL);
    for (int i = 0; i < mo_pool_size(pool); i++)
        o.width[mo_pool_source(pool, i)->task] = mo_embedding_width(encoder, mo_pool_source(pool, i));
    return mo_model_under_head(encoder, &o, 1);
}

TEST_OF(weights_come_back_with_what_the_head_has_learned, scratch *s) {
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, NULL);
    HELD(mo_model) *model = under_mlp(s->ctx, pool);
    const char *folder = scratch_folder(s, "headed");
    const char *path = scratch_path(s, "headed/weights.safetensors");
    mo_trainer_options o = planted_steps(3, 2, 1e-2, folder);
    HELD(mo_trainer) *trainer = mo_trainer_create(model, pool, &o);
    mo_trainer_run(trainer, NULL, NULL);
    assert_int_equal(mo_trainer_finish(trainer), MO_OK);
    HELD(mo_weights) *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_string_equal(w->kind, "invariant");
    assert_string_equal(w->head, "mlp");
    HELD(mo_model) *again = mo_weights_model(w),
                   *untrained = mo_weights_model_as(w, &(mo_model_choice){.untrained = true}),
                   *other = mo_weights_model_as(w, &(mo_model_choice){.head = &mo_head_svm});
    assert_same_parameters(model, again);
    assert_int_equal(mo_model_n_parameters(untrained), mo_model_n_parameters(model));
    assert_int_equal(mo_model_n_parameters(other), 6); /* five of the encoder and log_temp */
    assert_memory_equal(mo_tensor_view(mo_model_parameter(other, 0)).data,
        mo_tensor_view(mo_model_parameter(model, 0)).data, 16 * sizeof(float));
}

TEST_OF(options_out_of_their_domain_are_named, scratch *s) {
    mo_readout_options o = {.smoothing = 2};
    assert_null(mo_model_under_head(mo_invariant_create(s->ctx, MO_F32, NULL), &o, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("head ridge: smoothing is 2"));
    o = (mo_readout_options){.head = &mo_head_svm, .width = {0, -1, 0}};
    assert_null(mo_model_under_head(mo_invariant_create(s->ctx, MO_F32, NULL), &o, 0));
    assert_failed(s->ctx, MO_INVALID, PARTS("head svm: width_lp is -1"));
}
