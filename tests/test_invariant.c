/* tests/test_invariant.c - the invariant encoder: what an SVD leaves open changes no logit, gradients hold, rows that
 * do not fit are named, a run repeats and resumes bit for bit. */
#include "tests/training_run.h"

#include <dirent.h>

enum { COPIES = 3, PART = 30, NODES = COPIES * PART, ROW_DIM = 128 };

/* Copies of one random graph: every singular value of the adjacency has a multiplicity of COPIES. The attributes are
 * five groups of equal size: five equal singular values. */
static mo_graph *graph_of_copies(mo_context *ctx) {
    mo_graph *graph = mo_graph_new(ctx, "copies", "copies");
    mo_edges edges = {0};
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 1);
    int64_t label[NODES], group[NODES];
    for (int64_t i = 0; i < PART; i++)
        for (int64_t j = 0; j < i; j++)
            if (mo_random_uniform(&r) < (i % 3 == j % 3 ? 0.4 : 0.1))
                for (int64_t copy = 0; copy < COPIES; copy++)
                    mo_edges_add(ctx, &edges, copy * PART + i, copy * PART + j);
    for (int64_t i = 0; i < NODES; i++) {
        label[i] = i % 3;
        group[i] = i % 5;
    }
    mo_graph_set_edges(graph, NODES, &edges);
    mo_graph_set_classes(graph, label, NODES);
    mo_graph_set_one_hot(graph, group);
    return mo_graph_finish(graph);
}

static mo_feature_options example_features(const char *cache) {
    return (mo_feature_options){
        .form = MO_FEATURES_OF_EXAMPLES, .dim = ROW_DIM, .hops = 3, .power_iterations = 2, .seed = 7, .cache = cache};
}

static mo_pool *pool_of_copies(mo_context *ctx, const char *cache) {
    mo_feature_options features = example_features(cache);
    mo_pool *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, graph_of_copies(ctx), 0);
    if (!mo_ok(ctx))
        fail_msg("%s", mo_context_status(ctx)->message);
    return pool;
}

/* The model with every parameter moved, so that none of its parts is neutral. */
static mo_model moved_model(mo_context *ctx, mo_dtype real) {
    mo_model model = mo_invariant_create(ctx, real, NULL);
    mo_random r = mo_random_at(2, MO_PURPOSE_CHECK, 2);
    assert_non_null(model.table);
    for (int i = 0; i < mo_model_n_parameters(model); i++) {
        mo_tensor *P = mo_model_parameter(model, i);
        int64_t n = mo_numel(P);
        double x[64];
        mo_tensor *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(P), P->shape);
        mo_tensor_copy(wide, P);
        mo_tensor_read(wide, x, (size_t)n * sizeof *x);
        for (int64_t j = 0; j < n; j++)
            x[j] += 0.3 * mo_random_normal(&r);
        mo_tensor_write(wide, x, (size_t)n * sizeof *x);
        mo_tensor_copy(P, wide);
        mo_tensor_release(wide);
    }
    return model;
}

/* Logits of a few episodes of every source, one after another. */
static int64_t logits_of(mo_pool *pool, mo_model model, double *out, int64_t capacity) {
    mo_context *ctx = pool->ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_plan_options plans = {.k_min = 3, .k_max = 9, .q_min = 6, .q_max = 6, .max_classes = 8, .seed = 3};
    int64_t count = 0;
    for (uint64_t number = 0; number < 12; number++) {
        mo_episode e;
        assert_int_equal(mo_pool_draw(pool, t, number, true, &plans, &e, NULL), MO_OK);
        for (int i = 0; i < e.n_rows; i++) /* features are float32; what is read from them is compared in float64 */
            e.rows[i].tensor = mo_cast(t, e.rows[i].tensor, MO_F64);
        mo_tensor *logits = mo_contiguous(t, mo_model_logits(t, model, &e, NULL));
        int64_t n = mo_numel(logits);
        assert_true(count + n <= capacity);
        if (mo_tensor_read(logits, out + count, (size_t)n * sizeof *out) != MO_OK)
            fail_msg("%s", mo_context_status(ctx)->message);
        count += n;
        mo_tape_reset(t);
    }
    mo_tape_release(t);
    return count;
}

/* ---- another valid SVD: the cached basis times an orthogonal matrix for each group of equal singular values ---- */

/* Columns first .. first + g - 1 of B [n, d] times a random orthogonal matrix. */
static void rotate_columns(mo_tape *t, float *B, int64_t n, int64_t d, int64_t first, int64_t g, mo_random *r) {
    double *x = calloc((size_t)(g * g), sizeof *x), *q = calloc((size_t)(g * g), sizeof *q);
    mo_tensor *Q, *R;
    for (int64_t i = 0; i < g * g; i++)
        x[i] = mo_random_normal(r);
    mo_qr(t, mo_from(t, MO_F64, 2, (int64_t[]){g, g}, x), &Q, &R);
    assert_int_equal(mo_tensor_read(Q, q, (size_t)(g * g) * sizeof *q), MO_OK);
    double sign = mo_random_uniform(r) < 0.5 ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < g; j++) {
            x[j] = 0;
            for (int64_t k = 0; k < g; k++)
                x[j] += B[i * d + first + k] * q[k * g + j];
        }
        for (int64_t j = 0; j < g; j++)
            B[i * d + first + j] = (float)(sign * x[j]);
    }
    mo_tape_reset(t);
    free(x);
    free(q);
}

/* Singular values whose logarithms differ by less than `equal` form a group. Returns how many columns were in groups of
 * more than one. */
static int64_t rotate_file(mo_context *ctx, const char *path, double equal) {
    mo_arrays *kept = mo_safetensors_read(ctx, path);
    assert_non_null(kept);
    mo_tensor *basis = mo_arrays_find(kept, "basis"), *spectrum = mo_arrays_find(kept, "spectrum");
    int64_t n = mo_dim(basis, 1), d = mo_dim(basis, 2), shared = 0;
    float *B = mo_tensor_view(basis).data, *l = mo_tensor_view(spectrum).data;
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 9);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int b = 0; b < 2; b++)
        for (int64_t first = 0, stop; first < d; first = stop) {
            for (stop = first + 1; stop < d && fabs(l[b * d + stop] - l[b * d + stop - 1]) < equal; stop++)
                ;
            rotate_columns(t, B + b * n * d, n, d, first, stop - first, &r);
            shared += stop - first > 1 && l[b * d + first] > -10 ? stop - first : 0;
        }
    mo_tape_release(t);
    free(kept->metadata);
    kept->metadata = NULL;
    assert_int_equal(mo_safetensors_write(kept, NULL, path), MO_OK);
    mo_arrays_release(kept);
    return shared;
}

/* The largest change of a logit when the cached bases are rotated inside groups of such singular values. */
static double largest_change(scratch *s, double equal) {
    enum { MOST = 8192 };
    static double before[MOST], after[MOST];
    char folder[300], path[600];
    snprintf(folder, sizeof folder, "%s/bases", s->folder);
    mo_model model = moved_model(s->ctx, MO_F64);
    mo_pool *pool = pool_of_copies(s->ctx, folder);
    int64_t n = logits_of(pool, model, before, MOST), most = 0;
    mo_pool_release(pool);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strstr(entry->d_name, ".safetensors")) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            int64_t shared = rotate_file(s->ctx, path, equal);
            assert_true(shared >= 5); /* the graph that lacks links has lost the symmetry of its copies, but not this */
            most = shared > most ? shared : most;
        }
    closedir(listing);
    assert_true(most > 40);
    pool = pool_of_copies(s->ctx, folder);
    for (int i = 0; i < mo_pool_size(pool); i++)
        assert_true(mo_pool_source(pool, i)->features->from_cache);
    assert_int_equal(logits_of(pool, model, after, MOST), n);
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(after[i] - before[i]));
        largest = fmax(largest, fabs(before[i]));
    }
    assert_true(largest > 1); /* logits that say something */
    mo_pool_release(pool);
    mo_model_release(model);
    remove_run(folder);
    return worst;
}

static void another_valid_svd_changes_no_logit(void **state) {
    double change = largest_change(*state, 1e-5);
    if (change > 1e-5)
        fail_msg("a logit moved by %g", change);
}

/* What no SVD would return does: the test above can fail. */
static void a_rotation_between_unequal_singular_values_changes_logits(void **state) {
    assert_true(largest_change(*state, 0.5) > 1e-3);
}

/* ---- gradients and rows ---- */

enum { SUPPORT = 6, QUERIES = 4, WIDTH = 5, EXTRAS = 3 };

static mo_tensor *draw(mo_tape *t, mo_dtype real, int ndim, const int64_t *shape, uint64_t stream) {
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, stream);
    double x[1024];
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    for (int64_t i = 0; i < n; i++)
        x[i] = mo_random_normal(&r);
    return mo_cast(t, mo_from(t, MO_F64, ndim, shape, x), real);
}

static mo_episode drawn_episode(mo_tape *t, mo_dtype real, mo_task task) {
    static const int64_t labels[] = {0, 1, 0, 1, 1, 0};
    mo_episode e = {.task = task, .classes = 2, .n_rows = 3};
    int64_t n = SUPPORT + QUERIES;
    e.rows[0] = (mo_named){"blocks", draw(t, real, 4, (int64_t[]){2, 4, n, WIDTH}, 1)};
    e.rows[1] = (mo_named){"spectrum", draw(t, real, 2, (int64_t[]){2, WIDTH}, 2)};
    e.rows[2] = (mo_named){"extras", draw(t, real, 2, (int64_t[]){n, EXTRAS}, 3)};
    e.support_label = mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, labels);
    e.query_label = mo_from(t, MO_I64, 1, (int64_t[]){QUERIES}, labels);
    return e;
}

typedef struct problem {
    mo_model model;
    mo_task task;
} problem;

static void loss_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)in; /* the model's own parameters */
    (void)n_in;
    (void)n_out;
    const problem *p = state;
    mo_episode e = drawn_episode(t, MO_F64, p->task);
    out[0] = mo_model_loss(t, p->model, &e, NULL, NULL);
}

static void gradients_of_every_parameter_hold_to_order_two(void **state) {
    scratch *s = *state;
    mo_model model = moved_model(s->ctx, MO_F64);
    mo_tensor *in[16];
    int n = mo_model_n_parameters(model), numbers = 0;
    for (int i = 0; i < n; i++) {
        in[i] = mo_model_parameter(model, i);
        numbers += (int)mo_numel(in[i]);
    }
    assert_int_equal(numbers, 71);
    for (int task = 0; task < MO_TASKS; task++)
        for (int order = 1; order <= 2; order++) {
            problem p = {model, (mo_task)task};
            mo_check_result r = mo_check_function(s->ctx, loss_function, &p, in, n, 1, order, 1e-5, 4);
            if (!r.pass)
                print_message("%s\n", r.worst);
            assert_true(r.pass);
        }
    mo_model_release(model);
}

static void rows_that_do_not_fit_are_named(void **state) {
    scratch *s = *state;
    mo_model model = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_tape *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_episode e = drawn_episode(t, MO_F32, MO_TASK_NC);
    e.rows[0].name = "hops";
    assert_true(mo_is_null(mo_model_logits(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("blocks"));
    e.rows[0].name = "blocks";
    e.rows[1].tensor = draw(t, MO_F32, 2, (int64_t[]){2, WIDTH + 1}, 2);
    assert_true(mo_is_null(mo_model_logits(t, model, &e, NULL)));
    assert_failed(s->ctx, MO_INVALID, PARTS("invariant: expected blocks [2, 4, n, d]", "[2, 6]"));
    mo_tape_release(t);
    mo_model_release(model);
    mo_invariant_options bad = {.hops = 99, .smoothing = 0.1};
    assert_null(mo_invariant_create(s->ctx, MO_F32, &bad).table);
    assert_failed(s->ctx, MO_INVALID, PARTS("invariant: 99 hops"));
}

static void a_pool_of_the_other_form_is_refused(void **state) {
    scratch *s = *state;
    mo_pool *nodes = planted_pool(s->ctx), *examples = pool_of_copies(s->ctx, NULL);
    mo_model invariant = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_mochi *mochi = planted_model(s->ctx, 1);
    mo_trainer_options o = {.steps = 1, .episodes_per_step = 1, .plan = planted_plans(1), .out = s->folder};
    assert_null(mo_trainer_create(invariant, nodes, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows of nodes", "invariant reads rows of examples"));
    assert_null(mo_trainer_create(mo_mochi_model(mochi), examples, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows of examples", "mochi reads rows of nodes"));
    assert_true(mo_is_null(mo_embed_all(invariant, mo_pool_source(nodes, 0), 0)));
    assert_failed(s->ctx, MO_INVALID, PARTS("does not read the rows of planted:nc"));
    mo_model_release(invariant);
    mo_mochi_release(mochi);
    mo_pool_release(nodes);
    mo_pool_release(examples);
}

/* ---- runs ---- */

/* Trains from the start or from the checkpoint to `steps` of 6. */
static void run_steps(scratch *s, const char *folder, bool resume, int64_t steps) {
    mo_pool *pool = pool_of_copies(s->ctx, NULL);
    mo_model model = mo_invariant_create(s->ctx, MO_F32, NULL);
    mo_trainer_options o = {.steps = 6,
        .episodes_per_step = 3,
        .adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
        .plan = {.k_min = 2, .k_max = 8, .q_min = 4, .q_max = 4, .max_classes = 8, .seed = 5, .log_uniform = true},
        .out = folder,
        .settings = "{\"recipe\":\"best\"}"};
    o.plan.k_times[MO_TASK_LP] = 2;
    mo_trainer *trainer = mo_trainer_create(model, pool, &o);
    if (resume)
        mo_trainer_resume(trainer);
    mo_trainer_run(trainer, stop_at, &steps);
    if (steps == o.steps)
        mo_trainer_finish(trainer);
    if (!mo_ok(s->ctx))
        fail_msg("%s", mo_context_status(s->ctx)->message);
    mo_trainer_release(trainer);
    mo_model_release(model);
    mo_pool_release(pool);
}

static void a_resumed_run_ends_with_the_same_bytes_and_reads_back(void **state) {
    scratch *s = *state;
    char whole[300], halves[300], path[400];
    snprintf(whole, sizeof whole, "%s/whole", s->folder);
    snprintf(halves, sizeof halves, "%s/halves", s->folder);
    run_steps(s, whole, false, 6);
    run_steps(s, halves, false, 3);
    run_steps(s, halves, true, 6);
    assert_same_bytes(run_file(whole, "weights.safetensors"), run_file(halves, "weights.safetensors"));
    assert_same_bytes(run_log(whole), run_log(halves));
    snprintf(path, sizeof path, "%s/weights.safetensors", whole);
    mo_weights *w = mo_weights_read(s->ctx, path);
    assert_non_null(w);
    assert_string_equal(w->recipe, "best");
    assert_int_equal(w->features.form, MO_FEATURES_OF_EXAMPLES);
    assert_int_equal(w->features.dim, ROW_DIM);
    mo_model model = mo_weights_model(w);
    assert_string_equal(model.table->name, "invariant");
    mo_pool *pool = pool_of_copies(s->ctx, NULL);
    mo_tensor *all = mo_embed_all(model, mo_pool_source(pool, 0), 0),
              *parts = mo_embed_all(model, mo_pool_source(pool, 0), 7);
    assert_int_equal(mo_dim(all, 0), NODES);
    assert_int_equal(mo_dim(all, 1), 2 * (2 * ROW_DIM + 1));
    size_t bytes = (size_t)mo_numel(all) * sizeof(float);
    assert_memory_equal(mo_tensor_view(all).data, mo_tensor_view(parts).data, bytes);
    mo_tensor_release(all);
    mo_tensor_release(parts);
    mo_pool_release(pool);
    mo_model_release(model);
    mo_weights_release(w);
    remove_run(whole);
    remove_run(halves);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_valid_svd_changes_no_logit),
        cmocka_unit_test(a_rotation_between_unequal_singular_values_changes_logits),
        cmocka_unit_test(gradients_of_every_parameter_hold_to_order_two),
        cmocka_unit_test(rows_that_do_not_fit_are_named),
        cmocka_unit_test(a_pool_of_the_other_form_is_refused),
        cmocka_unit_test(a_resumed_run_ends_with_the_same_bytes_and_reads_back),
    };
    return cmocka_run_group_tests_name("invariant", tests, scratch_create, planted_release);
}
