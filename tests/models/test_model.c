/* tests/models/test_model.c - a user's encoder with settings of its own and its own use of episodes, under the
 * library's head: it trains, is evaluated, embeds, and its weights can be read back. */
#include "tests/training_run.h"

enum { OWN_WIDTH = 4 };

/* Z = X_2 W. */
static mo_tensor *own_encode(mo_tape *t, const mo_encoding *x) {
    mo_tensor *X = mo_slice(t, mo_episode_rows(t, x->episode, "hops"), MO_AXIS(0), 2, 3);
    X = mo_reshape(t, X, 2, (int64_t[]){-1, PLANTED_DIM});
    return mo_scale(t, mo_matmul(t, X, x->parameters[0]), *(const double *)x->encoder->state, 0);
}

typedef struct own_options {
    int hops, dim, flavour;
} own_options;
static const own_options options = {PLANTED_HOPS, PLANTED_DIM, 1};
static const mo_field own_fields[] = {
    {MO_FIELD_INT, "hops", .at = offsetof(own_options, hops)},
    {MO_FIELD_INT, "dim", .at = offsetof(own_options, dim)},
    {MO_FIELD_CHOICE, "flavour", .at = offsetof(own_options, flavour), .choices = "sweet|plain"},
    {MO_FIELDS_END},
};

static const mo_encoder_parameter parameters[] = {
    {.name = "W", .spread = 1, .ndim = 2, .shape = {MO_ENCODER_DIM, OWN_WIDTH}}};
static double scale = 2;
static int released;

static void own_release(void *state) {
    assert_ptr_equal(state, &scale);
    released++;
}

static const mo_encoder own = {.abi = MO_ENCODER_ABI,
    .size = sizeof(mo_encoder),
    .name = "own",
    .n_parameters = 1,
    .parameters = parameters,
    .encode = own_encode,
    .fields = own_fields,
    .options = &options,
    .state = &scale,
    .release = own_release};

static mo_model *make_own(mo_context *ctx, uint64_t seed) {
    mo_readout_options ridge = {.lambda = 1, .smoothing = 0.1};
    return mo_encoder_create(ctx, MO_F32, &own, (mo_encoder_rows){PLANTED_HOPS, PLANTED_DIM}, &ridge, seed);
}

static void train_own(scratch *s, mo_pool *pool, mo_model *model, const char *folder) {
    mo_trainer_options o = planted_steps(6, 3, 1e-2, folder);
    HELD(mo_trainer) *trainer = mo_trainer_create(model, pool, &o);
    mo_trainer_run(trainer, NULL, NULL);
    mo_trainer_finish(trainer);
    expect_ok(s->ctx);
}

static void keep_mean(const mo_eval_row *row, void *state) {
    if (!strcmp(row->metric, "accuracy"))
        *(double *)state = row->mean;
}

/* A visitor of blocks of embeddings: compares each block with the whole matrix. */
typedef struct block_visit {
    mo_tensor *all;
    int64_t rows;
    int blocks, most; /* most: number of blocks after which the visit ends; 0: never */
} block_visit;

static bool compare_block(mo_tape *t, mo_tensor *Z, int64_t first, int64_t examples, void *state) {
    block_visit *v = state;
    assert_int_equal(first, v->rows);
    assert_int_equal(examples, mo_dim(v->all, 0));
    assert_equal_bits(Z, mo_slice(t, v->all, MO_AXIS(0), first, first + mo_dim(Z, 0)));
    v->rows += mo_dim(Z, 0);
    return ++v->blocks != v->most;
}

/* The user's encoder works on nodes, links and graphs; the library knows nothing else about it. */
TEST_OF(an_encoder_of_ones_own_is_all_that_is_known, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    mo_model *model = make_own(s->ctx, 1), *read = make_own(s->ctx, 2);
    const char *folder = scratch_folder(s, "own");
    const char *path = scratch_path(s, "own/weights.safetensors");
    train_own(s, pool, model, folder);
    for (int i = 0; i < mo_pool_size(pool); i++) {
        const mo_source *source = mo_pool_source(pool, i);
        mo_candidate c = {.features = "trained", .model = model};
        mo_eval_options o = {.n_shots = 1, .shots = (const int64_t[]){2}, .seeds = 2};
        double mean = 100;
        assert_int_equal(mo_evaluate(s->ctx, source, &c, 1, &o, keep_mean, &mean), MO_OK);
        assert_true(mean > 30);
        HELD(mo_tensor) *Z = mo_embed_all(model, source, 0), *blocks = mo_embed_all(model, source, 7);
        assert_int_equal(mo_dim(Z, 1), OWN_WIDTH);
        assert_int_equal(mo_embedding_width(model, source), OWN_WIDTH);
        assert_int_equal(mo_dim(blocks, 0), mo_dim(Z, 0));
        block_visit visit = {.all = blocks};
        assert_int_equal(mo_embed_each(model, source, 7, compare_block, &visit), MO_OK);
        assert_int_equal(visit.rows, mo_dim(Z, 0));
        assert_true(visit.blocks > 1);
        visit = (block_visit){.all = blocks, .most = 1};
        assert_int_equal(mo_embed_each(model, source, 7, compare_block, &visit), MO_OK);
        assert_int_equal(visit.blocks, 1); /* the visitor ended the visit */
    }
    mo_weights *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_string_equal(w->kind, "own");
    assert_non_null(strstr(w->arrays->metadata, "\"flavour\":\"plain\""));
    assert_int_equal(w->features.form, MO_ROWS_PER_NODE);
    assert_int_equal(mo_model_load(read, w->arrays), MO_OK);
    assert_same_parameters(model, read);
    assert_null(mo_weights_model(w));
    assert_failed(s->ctx, MO_UNSUPPORTED, PARTS("they are of the model own, which is not one of the library's"));
    mo_weights_release(w);
    mo_model_release(model);
    mo_model_release(read);
    assert_int_equal(released, 2);
}

/* Weights files and run.json keep an encoder's options and its head's, as texts and as values. */
TEST_OF(a_model_describes_itself, scratch *s) {
    mo_readout_options mlp = {.head = &mo_head_mlp, .width = {OWN_WIDTH, OWN_WIDTH, OWN_WIDTH}};
    HELD(mo_model) *m = mo_encoder_create(s->ctx, MO_F32, &own, (mo_encoder_rows){PLANTED_HOPS, PLANTED_DIM}, &mlp, 1);
    for (int as_text = 0; as_text < 2; as_text++) {
        json_t *object = json_object(), *width;
        assert_true(mo_model_describe(m, object, as_text));
        assert_string_equal(json_string_value(json_object_get(object, "kind")), "own");
        assert_string_equal(json_string_value(json_object_get(object, "flavour")), "plain");
        assert_string_equal(json_string_value(json_object_get(object, "head")), "mlp");
        width = json_object_get(object, "width_gc");
        assert_int_equal(as_text ? atoi(json_string_value(width)) : json_integer_value(width), OWN_WIDTH);
        json_decref(object);
    }
}

/* If creation fails, the encoder's state is released, whether its rows or its readout were wrong. */
TEST_OF(a_failure_releases_the_state, scratch *s) {
    mo_readout_options wrong = {.smoothing = 2}, right = {.smoothing = 0.1};
    released = 0;
    assert_null(mo_encoder_create(s->ctx, MO_F32, &own, (mo_encoder_rows){-1, PLANTED_DIM}, &right, 1));
    assert_failed(s->ctx, MO_INVALID, PARTS("encoder own: -1 hops"));
    assert_int_equal(released, 1);
    assert_null(mo_encoder_create(s->ctx, MO_F32, &own, (mo_encoder_rows){PLANTED_HOPS, PLANTED_DIM}, &wrong, 1));
    assert_failed(s->ctx, MO_INVALID, PARTS("smoothing is 2"));
    assert_int_equal(released, 2);
}

TEST_OF(an_episode_of_no_task_is_refused, scratch *s) {
    mo_readout_options mlp = {.head = &mo_head_mlp, .width = {OWN_WIDTH, OWN_WIDTH, OWN_WIDTH}};
    HELD(mo_model) *m = mo_encoder_create(s->ctx, MO_F32, &own, (mo_encoder_rows){PLANTED_HOPS, PLANTED_DIM}, &mlp, 1);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    float values[OWN_WIDTH] = {0};
    mo_tensor *Z = mo_from(t, MO_F32, 2, (int64_t[]){1, OWN_WIDTH}, values);
    const int tasks[] = {MO_TASKS, -1};
    for (int i = 0; i < 2; i++) {
        mo_episode e = {.task = (mo_task)tasks[i], .classes = 1};
        assert_true(mo_is_null(mo_model_readout(t, m, &e, Z, Z, NULL)));
        assert_failed(s->ctx, MO_INVALID, PARTS("an episode of task", "expected 0 to 2"));
    }
}

TEST_OF(no_model_is_named, scratch *s) {
    HELD(mo_pool) *pool = planted_pool(s->ctx);
    mo_trainer_options o = {.steps = 1, .episodes_per_step = 1, .plan = planted_plans(1), .out = s->folder};
    assert_null(mo_trainer_create(NULL, pool, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("the model"));
    assert_true(mo_is_null(mo_embed_all(NULL, mo_pool_source(pool, 0), 0)));
    assert_failed(s->ctx, MO_INVALID, PARTS("the model"));
}
