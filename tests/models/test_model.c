/* tests/models/test_model.c - a user's own model, given by its table alone: it trains, is evaluated, embeds, and its
 * weights are read back; incomplete tables are refused by name. */
#include "tests/training_run.h"

enum { OWN_WIDTH = 4 };

/* Z = X_2 W, read by the ridge. */
typedef struct own_model {
    mo_tensor *W;
} own_model;

static double own_dim = PLANTED_DIM, own_hops = PLANTED_HOPS, own_smoothing = 0.1;

static int own_n_parameters(const void *model) {
    (void)model;
    return 1;
}

static mo_tensor *own_parameter(const void *model, int i) {
    (void)i;
    return ((const own_model *)model)->W;
}

static int own_settings(const void *model, mo_setting list[MO_MAX_SETTINGS]) {
    (void)model;
    list[0] = (mo_setting){.key = "hops", .number = own_hops};
    list[1] = (mo_setting){.key = "dim", .number = own_dim};
    list[2] = (mo_setting){.key = "smoothing", .number = own_smoothing};
    list[3] = (mo_setting){.key = "flavour", .word = "plain"};
    return 4;
}

static mo_tensor *own_encode(mo_tape *t, const void *model, const mo_episode *e, mo_random *r) {
    (void)r;
    mo_tensor *X = mo_slice(t, mo_episode_rows(t, e, "hops"), MO_AXIS(0), 2, 3);
    X = mo_reshape(t, X, 2, (int64_t[]){-1, PLANTED_DIM});
    mo_tensor *Z = mo_matmul(t, X, ((const own_model *)model)->W);
    return e->segment ? mo_segment_mean(t, Z, e->segment) : Z;
}

static mo_tensor *own_readout(mo_tape *t, const void *model, const mo_episode *e, mo_tensor *Zs, mo_tensor *Zq) {
    (void)model;
    mo_tensor *lambda = mo_scalar(t, MO_F32, 1);
    return mo_head_apply(t, &mo_head_ridge, Zs, mo_one_hot(t, e->support_label, e->classes, MO_F32), Zq, &lambda);
}

static void own_release(void *model) {
    mo_tensor_release(((own_model *)model)->W);
}

static const mo_model_table own_table = {.name = "own",
    .n_parameters = own_n_parameters,
    .parameter = own_parameter,
    .settings = own_settings,
    .encode = own_encode,
    .readout = own_readout,
    .release = own_release};

static mo_model make_own(mo_context *ctx, own_model *own, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, 0);
    float w[PLANTED_DIM * OWN_WIDTH];
    for (int i = 0; i < PLANTED_DIM * OWN_WIDTH; i++)
        w[i] = (float)mo_random_normal(&r);
    own->W = mo_parameter(ctx, "W", MO_F32, 2, (int64_t[]){PLANTED_DIM, OWN_WIDTH});
    mo_tensor_write(own->W, w, sizeof w);
    return (mo_model){&own_table, own};
}

static void train_own(scratch *s, mo_pool *pool, mo_model model, const char *folder) {
    mo_trainer_options o = {.steps = 6,
        .episodes_per_step = 3,
        .adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 1},
        .plan = planted_plans(1),
        .out = folder};
    mo_trainer *trainer = mo_trainer_create(model, pool, &o);
    mo_trainer_run(trainer, NULL, NULL);
    mo_trainer_finish(trainer);
    if (!mo_ok(s->ctx))
        fail_msg("%s", mo_context_status(s->ctx)->message);
    mo_trainer_release(trainer);
}

static void keep_mean(const mo_eval_row *row, void *state) {
    if (!strcmp(row->metric, "accuracy"))
        *(double *)state = row->mean;
}

/* Blocks of embeddings as they come, compared with all of them. */
typedef struct block_visit {
    mo_tensor *all;
    int64_t rows;
    int blocks, most; /* most: after as many it ends; 0: never */
} block_visit;

static bool compare_block(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state) {
    block_visit *v = state;
    size_t row = (size_t)mo_dim(Z, 1) * sizeof(float);
    (void)t;
    assert_int_equal(first, v->rows);
    assert_int_equal(examples, mo_dim(v->all, 0));
    float *x = malloc((size_t)mo_dim(Z, 0) * row);
    assert_int_equal(mo_tensor_read(Z, x, (size_t)mo_dim(Z, 0) * row), MO_OK);
    assert_memory_equal(x, (const char *)mo_tensor_view(v->all).data + (size_t)first * row, (size_t)mo_dim(Z, 0) * row);
    free(x);
    v->rows += mo_dim(Z, 0);
    return ++v->blocks != v->most;
}

/* On nodes, links and graphs. */
static void a_table_of_ones_own_is_all_that_is_known(void **state) {
    scratch *s = *state;
    char folder[300], path[400];
    mo_pool *pool = planted_pool(s->ctx);
    own_model own, again;
    mo_model model = make_own(s->ctx, &own, 1), read = make_own(s->ctx, &again, 2);
    snprintf(folder, sizeof folder, "%s/own", s->folder);
    snprintf(path, sizeof path, "%s/weights.safetensors", folder);
    train_own(s, pool, model, folder);
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        mo_candidate c = {.features = "trained", .model = model};
        mo_eval_options o = {.n_shots = 1, .shots = (const int64_t[]){2}, .seeds = 2};
        double mean = 100;
        assert_int_equal(mo_evaluate(s->ctx, source, &c, 1, &o, keep_mean, &mean), MO_OK);
        assert_true(mean > 30);
        mo_tensor *Z = mo_embed_all(model, source, 0), *blocks = mo_embed_all(model, source, 7);
        assert_int_equal(mo_dim(Z, 1), OWN_WIDTH);
        assert_int_equal(mo_embedding_width(model, source), OWN_WIDTH);
        assert_int_equal(mo_dim(blocks, 0), mo_dim(Z, 0));
        block_visit visit = {.all = blocks};
        assert_int_equal(mo_embed_each(model, source, 7, compare_block, &visit), MO_OK);
        assert_int_equal(visit.rows, mo_dim(Z, 0));
        assert_true(visit.blocks > 1);
        visit = (block_visit){.all = blocks, .most = 1};
        assert_int_equal(mo_embed_each(model, source, 7, compare_block, &visit), MO_OK);
        assert_int_equal(visit.blocks, 1); /* ended by its visit */
        mo_tensor_release(Z);
        mo_tensor_release(blocks);
    }
    mo_weights *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_string_equal(w->kind, "own");
    assert_int_equal(w->features.form, MO_FEATURES_OF_NODES);
    assert_int_equal(mo_model_load(read, w->arrays), MO_OK);
    assert_memory_equal(
        mo_tensor_view(own.W).data, mo_tensor_view(again.W).data, PLANTED_DIM * OWN_WIDTH * sizeof(float));
    assert_null(mo_weights_model(w).table);
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("they are of the model own, which is not one of the library's"));
    mo_weights_release(w);
    mo_model_release(model);
    mo_model_release(read);
    mo_pool_release(pool);
    folder_remove(folder);
}

static void expect_refused(scratch *s, mo_pool *pool, mo_model model, const char *part) {
    mo_trainer_options o = {.steps = 1, .episodes_per_step = 1, .plan = planted_plans(1), .out = s->folder};
    assert_null(mo_trainer_create(model, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS(part));
    mo_tensor *Z = mo_embed_all(model, mo_pool_source(pool, 0), 0);
    assert_true(mo_is_null(Z));
    assert_failed(s->ctx, MO_INVALID, PARTS(part));
}

static void what_a_table_lacks_is_named(void **state) {
    scratch *s = *state;
    mo_pool *pool = planted_pool(s->ctx);
    own_model own;
    mo_model model = make_own(s->ctx, &own, 1);
    mo_model_table table = own_table;
    expect_refused(s, pool, (mo_model){NULL, &own}, "table");
    table.encode = NULL;
    expect_refused(s, pool, (mo_model){&table, &own}, "model own: its table lacks encode");
    table = own_table;
    table.readout = NULL;
    expect_refused(s, pool, (mo_model){&table, &own}, "model own: its table lacks readout");
    own_hops = NAN;
    expect_refused(s, pool, model, "model own: setting hops is nan");
    own_hops = PLANTED_HOPS;
    own_dim = 0;
    expect_refused(s, pool, model, "model own: setting dim is 0");
    own_dim = PLANTED_DIM;
    own_smoothing = 1;
    expect_refused(s, pool, model, "model own: setting smoothing is 1");
    own_smoothing = 0.1;
    mo_model_release(model);
    mo_pool_release(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_of_ones_own_is_all_that_is_known),
        cmocka_unit_test(what_a_table_lacks_is_named),
    };
    return cmocka_run_group_tests_name("model", tests, scratch_create, planted_release);
}
