/* tests/models/test_invariant.c - the invariant encoder: gradients hold, rows that do not fit are named, a run can be
 * repeated and resumed bit for bit. */
#include "tests/models/drawn_episode.h"
#include "tests/train/eval_table.h"

/* ---- columns beyond the rank ---- */

/* Returns an episode whose last two columns in both blocks are zero, as for features of lower rank; their log singular
 * value is l. */
static mo_episode episode_of_low_rank(mo_tape *t, mo_task task, double l) {
    mo_episode e = drawn_episode(t, MO_F32, task);
    double live[] = {1, 1, 1, 0, 0}, spectrum[] = {0, -1, -3, l, l, 0, -0.5, -2, l, l};
    mo_tensor *mask = mo_cast(t, mo_from(t, MO_F64, 1, (int64_t[]){WIDTH}, live), MO_F32);
    e.rows[0].tensor = mo_mul(t, e.rows[0].tensor, mask);
    e.rows[1].tensor = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){2, WIDTH}, spectrum), MO_F32);
    return e;
}

static void set_profile(mo_model *model, float c, float square) {
    float x[4] = {c, square, c, square};
    mo_tensor *profile = mo_model_parameter(model, 1);
    assert_string_equal(mo_tensor_name(profile), "encoder.profile");
    assert_int_equal(mo_tensor_write(profile, x, sizeof x), MO_OK);
}

static void assert_finite(mo_tensor *T) {
    float x[4096];
    int64_t n = mo_numel(T);
    assert_true(n <= 4096);
    assert_int_equal(mo_tensor_read(T, x, (size_t)n * sizeof *x), MO_OK);
    for (int64_t i = 0; i < n; i++)
        assert_true(isfinite(x[i]));
}

/* For l = log(1e-6), exp(c' l^2 / 4) overflows float32 from c' = 1.9 on. */
TEST_OF(a_profile_of_any_size_leaves_loss_and_gradients_finite, scratch *s) {
    static const float size[] = {-1e6F, -1e3F, -2, 0, 2, 1e3F, 1e6F};
    enum { SIZES = sizeof size / sizeof *size };
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_tensor *parameter[24], *grad[24], *Zs, *Zq;
    int n = mo_model_n_parameters(model);
    for (int i = 0; i < n; i++)
        parameter[i] = mo_model_parameter(model, i);
    for (int i = 0; i < SIZES * SIZES * MO_TASKS; i++) {
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
        mo_episode e = episode_of_low_rank(t, (mo_task)(i % MO_TASKS), log(1e-6));
        set_profile(model, size[i / MO_TASKS % SIZES], size[i / MO_TASKS / SIZES]);
        mo_model_embed(t, model, &e, NULL, &Zs, &Zq);
        assert_finite(Zq);
        mo_tensor *loss = mo_model_loss(t, model, &e, NULL, NULL);
        assert_int_equal(mo_grad(t, &loss, NULL, 1, parameter, grad, n, 0), MO_OK);
        assert_finite(loss);
        for (int j = 0; j < n; j++)
            assert_finite(grad[j]);
    }
}

TEST_OF(what_a_profile_makes_of_zero_columns_reaches_no_embedding, scratch *s) {
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *Zs, *Z[2];
    set_profile(model, -0.5F, 3);
    for (int i = 0; i < 2; i++) {
        mo_episode e = episode_of_low_rank(t, MO_TASK_NC, i ? 0 : log(1e-6));
        mo_model_embed(t, model, &e, NULL, &Zs, &Z[i]);
        Z[i] = mo_contiguous(t, Z[i]);
        assert_finite(Z[i]);
    }
    assert_memory_equal(mo_tensor_view(Z[0]).data, mo_tensor_view(Z[1]).data, (size_t)mo_numel(Z[0]) * sizeof(float));
}

TEST_OF(rows_that_do_not_fit_are_named, scratch *s) {
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_episode e = drawn_episode(t, MO_F32, MO_TASK_NC);
    e.rows[0].name = "hops";
    assert_true(mo_is_null(mo_model_logits(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("blocks"));
    e.rows[0].name = "blocks";
    e.rows[1].tensor = drawn(t, MO_F32, 2, 2, (int64_t[]){2, WIDTH + 1});
    assert_true(mo_is_null(mo_model_logits(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("invariant: expected blocks [2, 4, n, d]", "[2, 6]"));
    mo_invariant_options bad = {.hops = 99, .smoothing = 0.1};
    assert_null(mo_invariant_create(s->ctx, MO_F32, &bad));
    assert_failed(s->ctx, MO_INVALID, PARTS("invariant: 99 hops"));
}

TEST_OF(a_pool_of_the_other_form_is_refused, scratch *s) {
    HELD(mo_pool) *nodes = planted_pool(s->ctx), *examples = pool_of_copies(s->ctx, NULL);
    HELD(mo_model) *invariant = mo_invariant_create(s->ctx, MO_F32, NULL);
    HELD(mo_model) *mochi = planted_model(s->ctx, 1);
    mo_trainer_options o = {.steps = 1, .episodes_per_step = 1, .plan = planted_plans(1), .out = s->folder};
    assert_null(mo_trainer_create(invariant, nodes, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows of nodes", "invariant reads rows of examples"));
    assert_null(mo_trainer_create(mochi, examples, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows of examples", "mochi reads rows of nodes"));
    assert_true(mo_is_null(mo_embed_all(invariant, mo_pool_source(nodes, 0), 0)));
    assert_failed(s->ctx, MO_INVALID, PARTS("does not read the rows of planted:nc"));
}

/* ---- all nodes, all graphs ---- */

static mo_code evaluate(mo_context *ctx, const mo_source *source, mo_model *model, int64_t max_rows, table *f) {
    mo_candidate c[] = {{.features = "random", .model = model, .head = &mo_head_ridge},
        {.features = "random+T", .model = model, .head = &mo_head_ridge, .transductive = true}};
    mo_eval_options o = {.protocol = MO_PROTOCOL_EPISODE,
        .n_shots = 2,
        .shots = (const int64_t[]){2, 60}, /* with 60 per class, rows are drawn repeatedly */
        .episodes = 10,
        .queries = 8,
        .seeds = 1,
        .seed = 3,
        .max_rows = max_rows};
    *f = (table){0};
    return mo_evaluate(ctx, source, c, 2, &o, keep_row, f);
}

TEST_OF(the_transductive_readout_is_a_candidate_on_nodes_and_graphs, scratch *s) {
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, NULL), *nodes = planted_pool(s->ctx);
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F32, NULL);
    HELD(mo_model) *mochi = planted_model(s->ctx, 1);
    table whole, parts;
    mo_pool_add(pool, planted_set(s->ctx, "rings", 60, 2), 0);
    assert_int_equal(mo_pool_size(pool), 3);
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        if (source->task != MO_TASK_LP) {
            assert_int_equal(evaluate(s->ctx, source, model, 0, &whole), MO_OK);
            assert_int_equal(evaluate(s->ctx, source, model, 7, &parts), MO_OK);
            assert_int_equal(whole.n, 4);
            assert_same_means(&whole, &parts);
            assert_true(whole.row[2].mean > 100.0 / 3);
        } else {
            assert_int_equal(evaluate(s->ctx, source, model, 0, &whole), MO_UNSUPPORTED);
            assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("no transductive readout of copies:lp"));
        }
    }
    assert_int_equal(evaluate(s->ctx, mo_pool_source(nodes, 0), mochi, 0, &whole), MO_UNSUPPORTED);
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("the model mochi has no transductive readout"));
}

/* ---- runs ---- */
