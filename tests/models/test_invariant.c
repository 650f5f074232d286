/* tests/models/test_invariant.c - the invariant encoder: gradients hold with the rows of every part, an encoder without
 * parts equals its first version, rows that do not fit are named, and no logit depends on which of several valid SVDs
 * is used. */
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
    assert_failed(s->ctx, MO_INVALID, PARTS("invariant: hops is 99"));
}

TEST_OF(a_pool_of_the_other_form_is_refused, scratch *s) {
    HELD(mo_pool) *nodes = planted_pool(s->ctx), *examples = pool_of_copies(s->ctx, NULL);
    HELD(mo_model) *invariant = mo_invariant_create(s->ctx, MO_F32, NULL);
    HELD(mo_model) *mochi = planted_model(s->ctx, 1);
    mo_trainer_options o = planted_steps(1, 1, 1e-3, s->folder);
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

/* ---- optional rows ---- */

/* Adds the rows of every part that the task has. */
static void add_parts(mo_tape *t, mo_episode *e) {
    static const char *const names[MO_TASKS][3] = {
        [MO_TASK_LP] = {"walks", "matches"}, [MO_TASK_GC] = {"statistics", "subtrees", "waves"}};
    int64_t n = SUPPORT + QUERIES;
    for (int i = 0; i < 3 && names[e->task][i]; i++)
        e->rows[e->n_rows++] = (mo_named){names[e->task][i],
            mo_l2_normalize(t, drawn(t, MO_F64, 4 + (uint64_t)i, 2, (int64_t[]){n, 2 + i}), 1e-9), NULL};
    if (e->task == MO_TASK_NC)
        e->rows[e->n_rows++] = (mo_named){"diffused", drawn(t, MO_F64, 7, 4, (int64_t[]){2, 2, n, WIDTH}), NULL};
}

static mo_episode episode_with_parts(mo_tape *t, mo_task task) {
    mo_episode e = drawn_episode(t, MO_F64, task);
    add_parts(t, &e);
    return e;
}

/* ---- gradients ---- */

TEST_OF(gradients_hold_with_the_rows_of_every_part, scratch *s) {
    HELD(mo_model) *model = moved_model(s->ctx, MO_F64);
    mo_tensor *in[24];
    int n = mo_model_n_parameters(model);
    for (int i = 0; i < n; i++)
        in[i] = mo_model_parameter(model, i);
    for (int task = 0; task < MO_TASKS; task++) {
        problem p = {model, (mo_task)task, add_parts};
        mo_check_result r = mo_check_function(s->ctx, loss_function, &p, in, n, 1, 2, 1e-5, 4);
        if (!r.pass)
            fail_msg("%s: %s", mo_task_name((mo_task)task), r.worst);
    }
}

/* ---- forms ---- */

static void read_embeddings(mo_tape *t, mo_model *model, const mo_episode *e, double *out, int64_t *width) {
    mo_tensor *Z = mo_contiguous(t, mo_model_encode(t, model, e, NULL));
    assert_true(mo_numel(Z) <= 4096);
    *width = mo_dim(Z, -1);
    assert_int_equal(mo_tensor_read(Z, out, (size_t)mo_numel(Z) * sizeof *out), MO_OK);
}

/* An episode that lacks the rows of every part is encoded, from its blocks and extras. */
TEST_OF(rows_that_an_episode_lacks_are_left_out, scratch *s) {
    static double with[4096], without[4096];
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F64, NULL);
    assert_int_equal(mo_model_n_parameters(model), 5);
    for (int task = 0; task < MO_TASKS; task++) {
        int64_t width[2], sides = task == MO_TASK_LP ? 1 : 2;
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        mo_episode all = episode_with_parts(t, (mo_task)task), few = drawn_episode(t, MO_F64, (mo_task)task);
        read_embeddings(t, model, &all, with, &width[0]);
        read_embeddings(t, model, &few, without, &width[1]);
        assert_int_equal(width[1], sides * (2 * WIDTH + EXTRAS));
        assert_true(task == MO_TASK_NC ? width[0] == width[1] : width[0] > width[1]);
        assert_memory_not_equal(with, without, (size_t)width[1] * sizeof *with);
    }
}

/* A node's embedding is [z | z_0] / sqrt 2: the trained row, then the row of an untrained model. */
TEST_OF(the_initial_row_stands_beside_the_trained_one, scratch *s) {
    static double moved[4096], first[4096];
    int64_t width[2];
    HELD(mo_model) *trained = moved_model(s->ctx, MO_F64), *untrained = mo_invariant_create(s->ctx, MO_F64, NULL);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_episode e = episode_with_parts(t, MO_TASK_NC);
    read_embeddings(t, trained, &e, moved, &width[0]);
    read_embeddings(t, untrained, &e, first, &width[1]);
    assert_int_equal(width[0], width[1]);
    int64_t half = width[0] / 2;
    for (int64_t i = 0; i < SUPPORT + QUERIES; i++) {
        double length = 0;
        for (int64_t j = 0; j < width[0]; j++)
            length += moved[i * width[0] + j] * moved[i * width[0] + j];
        assert_true(fabs(length - 1) < 1e-9);
        double apart = 0;
        for (int64_t j = 0; j < half; j++) {
            const double *row = moved + i * width[0], *of_untrained = first + i * width[0];
            assert_true(fabs(row[half + j] - of_untrained[j]) < 1e-12);
            assert_true(fabs(row[half + j] - of_untrained[half + j]) < 1e-12);
            apart = fmax(apart, fabs(row[j] - row[half + j]));
        }
        assert_true(apart > 1e-3);
    }
}

TEST_OF(rows_of_parts_that_do_not_fit_are_named, scratch *s) {
    HELD(mo_model) *model = mo_invariant_create(s->ctx, MO_F64, NULL);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_episode e = episode_with_parts(t, MO_TASK_NC);
    e.rows[3].tensor = drawn(t, MO_F64, 7, 4, (int64_t[]){2, 3, SUPPORT + QUERIES, WIDTH});
    assert_true(mo_is_null(mo_model_encode(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("expected diffused [2, 2, n, d]", "[2, 3, 10, 5]"));
    e = episode_with_parts(t, MO_TASK_GC);
    e.rows[4].tensor = drawn(t, MO_F64, 7, 2, (int64_t[]){SUPPORT, 3});
    assert_true(mo_is_null(mo_model_encode(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("expected subtrees [n, p]", "[6, 3]"));
}

/* ---- another valid SVD: the cached basis times an orthogonal matrix for each group of equal singular values ---- */

enum { ROTATED = 8 };

/* Multiplies columns first .. stop - 1 of X [.., n, w] by a random orthogonal matrix of the stream. */
static void rotate(mo_tape *t, mo_tensor *X, int64_t first, int64_t stop, uint64_t stream) {
    int64_t g = stop - first;
    mo_tensor *Q, *R, *columns = mo_slice(t, X, MO_AXIS(mo_ndim(X) - 1), first, stop);
    mo_qr(t, drawn(t, MO_F64, stream, 2, (int64_t[]){g, g}), &Q, &R);
    mo_tensor *turned = mo_matmul(t, mo_cast(t, columns, MO_F64), mo_scale(t, Q, stream % 2 ? -1 : 1, 0));
    mo_tensor_copy(columns, turned);
}

/* Rotates the columns of each group in a cached file. Singular values whose logarithms differ by less than `equal` form
 * a group. Returns the number of columns in groups of two or more. */
static int64_t rotate_file(mo_context *ctx, const char *path, double equal) {
    HELD(mo_arrays) *kept = mo_safetensors_read(ctx, path);
    assert_non_null(kept);
    mo_tensor *basis = mo_arrays_find(kept, "basis"), *spectrum = mo_arrays_find(kept, "spectrum");
    int64_t d = mo_dim(basis, 2), shared = 0;
    const float *l = mo_tensor_view(spectrum).data;
    uint64_t stream = 0;
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    for (int b = 0; b < 2; b++)
        for (int64_t first = 0, stop; first < d; first = stop) {
            for (stop = first + 1; stop < d && fabs(l[b * d + stop] - l[b * d + stop - 1]) < equal; stop++)
                ;
            rotate(t, mo_slice(t, basis, MO_AXIS(0), b, b + 1), first, stop, stream++);
            shared += stop - first > 1 && l[b * d + first] > -10 ? stop - first : 0;
        }
    expect_ok(ctx);
    assert_int_equal(mo_safetensors_write(kept, kept->metadata, path), MO_OK);
    return shared;
}

/* Returns the largest change of a logit when the cached bases are rotated within the groups of rotate_file. */
static double largest_change(scratch *s, double equal) {
    static double before[MOST], after[MOST];
    char path[600];
    const char *folder = scratch_folder(s, "bases");
    HELD(mo_model) *model = moved_model(s->ctx, MO_F64);
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, folder);
    int64_t n = logits_of(pool, model, before), most = 0;
    mo_pool_release(pool);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strstr(entry->d_name, ".safetensors")) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            int64_t shared = rotate_file(s->ctx, path, equal);
            assert_true(shared >= 5); /* holding out links breaks the symmetry of the copies, but not the five equal
                                       * values of the attributes */
            most = shared > most ? shared : most;
        }
    closedir(listing);
    assert_true(most > 40);
    pool = pool_of_copies(s->ctx, folder);
    for (int i = 0; i < mo_pool_size(pool); i++)
        assert_true(mo_pool_source(pool, i)->features->from_cache);
    assert_int_equal(logits_of(pool, model, after), n);
    return change_of(before, after, n);
}

TEST_OF(another_valid_svd_changes_no_logit, scratch *s) {
    double change = largest_change(s, 1e-5);
    if (change > 1e-5)
        fail_msg("a logit moved by %g", change);
}

/* Shows that the test above can fail: rotations that mix unequal singular values do change logits. */
TEST_OF(a_rotation_between_unequal_singular_values_changes_logits, scratch *s) {
    assert_true(largest_change(s, 0.5) > 1e-3);
}

static double change_of_logits(scratch *s, const char *part) {
    static double before[MOST], after[MOST];
    mo_feature_options o = example_features(NULL);
    HELD(mo_pool) *pool = mo_pool_create(s->ctx, &o, 0.2, NULL, NULL);
    mo_pool_add(pool, planted_set(s->ctx, "rings", 60, 2), 0);
    expect_ok(s->ctx);
    HELD(mo_model) *model = moved_model(s->ctx, MO_F64);
    const mo_source *source = mo_pool_source(pool, 0);
    int64_t n = logits_of(pool, model, before);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *X = mo_arrays_find(source->features->arrays, part);
    if (mo_ndim(X) == 4) /* the coordinates of a block are counts, not a basis */
        X = mo_reshape(t, mo_slice(t, mo_slice(t, X, MO_AXIS(0), 0, 1), MO_AXIS(1), 0, 1), 2,
            (int64_t[]){mo_dim(X, 2), mo_dim(X, 3)});
    rotate(t, X, 0, ROTATED, 11);
    expect_ok(s->ctx);
    assert_int_equal(logits_of(pool, model, after), n);
    return change_of(before, after, n);
}

/* `blocks` shows that the test can fail: its rotation is none that an SVD allows, so logits must change. */
TEST(a_rotation_of_the_subtrees_changes_no_logit) {
    double subtrees = change_of_logits(*state, "subtrees"), blocks = change_of_logits(*state, "blocks");
    if (!(subtrees < 1e-5 && blocks > 1e-3))
        fail_msg("a logit moved by %g, and by %g", subtrees, blocks);
}
