/* tests/models/test_row_blocks.c - encoding in blocks of rows: the loss and the gradients equal those without blocks,
 * also with dropout, and need only the memory of one block. */
#include "tests/models/drawn_episode.h"

enum { DIM = 6, ROWS = 23, GRAPHS = 5, MAX_PARAMETERS = 64 };

static mo_tensor *integers(mo_tape *t, int64_t n, const int64_t *value) {
    return mo_from(t, MO_I64, 1, &n, value);
}

/* Moves the episode's rows into a larger array of a graph's rows, in another order, and sets their index. */
static void put_index(mo_tape *t, mo_named *hops) {
    int64_t index[4 * ROWS];
    mo_tensor *X = hops->tensor;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < ROWS; i++)
            index[k * ROWS + i] = k * (ROWS + 2) + (i * 7 + 1) % ROWS + 2;
    hops->index = mo_from(t, MO_I64, 2, (int64_t[]){4, ROWS}, index);
    hops->tensor = mo_full(t, mo_tensor_dtype(X), 3, (int64_t[]){4, ROWS + 2, DIM}, NAN);
    for (int i = 0; i < ROWS; i++)
        mo_tensor_copy(
            mo_slice(t, hops->tensor, MO_AXIS(1), index[i], index[i] + 1), mo_slice(t, X, MO_AXIS(1), i, i + 1));
}

/* Returns an episode of nodes; in graph episodes one graph is empty, and one is larger than several blocks. */
static mo_episode node_rows(mo_tape *t, mo_dtype real, mo_task task) {
    mo_episode e = {.task = task, .classes = 2, .n_rows = 1};
    bool graphs = task == MO_TASK_GC;
    e.rows[0] = (mo_named){"hops", drawn(t, real, 1, 3, (int64_t[]){4, ROWS, DIM}), NULL};
    for (int end = 0; end < (task == MO_TASK_LP ? 2 : 1); end++) {
        e.support[end] = integers(t, 3, graphs ? (int64_t[]){0, 1, 3} : (int64_t[]){0, 21 - end, 7});
        e.query[end] = integers(t, 2, graphs ? (int64_t[]){4, 2} : (int64_t[]){12, 3 + end});
    }
    e.support_label = integers(t, 3, (int64_t[]){0, 1, 0});
    e.query_label = integers(t, 2, (int64_t[]){1, 0});
    if (graphs)
        e.segment = integers(t, GRAPHS + 1, (int64_t[]){0, 2, 3, 3, 19, ROWS});
    return e;
}

static mo_episode episode_of(mo_tape *t, mo_model *m, mo_dtype real, mo_task task) {
    return m->encoder.of_examples ? drawn_episode(t, real, task) : node_rows(t, real, task);
}

static mo_model *gamlp(mo_context *ctx, mo_dtype real, int layers, int hops, double dropout) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = DIM;
    o.encoder.layers = layers;
    o.encoder.hops = hops;
    o.encoder.dropout = dropout;
    return mo_mochi_create(ctx, real, &o, 1);
}

/* The loss, then all gradients; and the position of the random stream at the end. */
typedef struct result {
    double value[4096];
    int n;
    uint64_t position;
} result;

static void evaluate(
    mo_context *ctx, mo_model *m, mo_dtype real, mo_task task, int64_t max_rows, bool indexed, result *r) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *P[MAX_PARAMETERS], *G[MAX_PARAMETERS];
    mo_random random = mo_random_at(1, MO_PURPOSE_DROPOUT, 4);
    mo_episode e = episode_of(t, m, real, task);
    e.max_rows = max_rows;
    if (indexed)
        put_index(t, &e.rows[0]);
    int n = mo_model_n_parameters(m);
    for (int i = 0; i < n; i++)
        P[i] = mo_model_parameter(m, i);
    mo_tensor *loss = mo_model_loss(t, m, &e, &random, NULL);
    mo_grad(t, &loss, NULL, 1, P, G, n, 0);
    expect_ok(ctx);
    *r = (result){.value = {mo_item(loss)}, .n = 1, .position = random.index};
    for (int i = 0; i < n; i++) {
        mo_tensor *g = mo_cast(t, G[i], MO_F64);
        assert_true(r->n + mo_numel(g) <= 4096);
        mo_tensor_read(mo_contiguous(t, g), r->value + r->n, (size_t)mo_numel(g) * sizeof(double));
        r->n += (int)mo_numel(g);
    }
}

/* Returns the largest difference between two results, relative to the largest entry of a gradient. */
static double distance(const result *a, const result *b) {
    double most = 0, size = 0;
    assert_int_equal(a->n, b->n);
    assert_true(a->position == b->position);
    for (int i = 0; i < a->n; i++) {
        most = worst_of(most, fabs(a->value[i] - b->value[i]));
        size = fmax(size, i ? fabs(a->value[i]) : 0);
    }
    return most / size;
}

/* Blocks sum in another order: a few roundings, which show most in the small gradients of graph episodes. */
static void expect_same(mo_context *ctx, mo_model *m, mo_dtype real, const char *name) {
    double allowed = real == MO_F64 ? 1e-12 : 1e-4, worst = 0;
    for (int task = 0; task < MO_TASKS; task++) {
        result whole, blocks;
        evaluate(ctx, m, real, (mo_task)task, 0, false, &whole);
        for (int64_t max_rows = 1; max_rows <= ROWS + 1; max_rows += max_rows < 4 ? 1 : 3) {
            evaluate(ctx, m, real, (mo_task)task, max_rows, false, &blocks);
            double d = distance(&whole, &blocks);
            worst = fmax(worst, d);
            if (!(d <= allowed))
                fail_msg("%s, %s, %lld rows: off by %g", name, mo_task_name((mo_task)task), (long long)max_rows, d);
        }
    }
    print_message("%s, %s: off by %.1e at most\n", name, mo_dtype_name(real), worst);
    mo_model_release(m);
}

TEST_OF(loss_and_gradients_are_those_of_the_whole, scratch *s) {
    for (mo_dtype real = MO_F32; real <= MO_F64; real++) {
        expect_same(s->ctx, gamlp(s->ctx, real, 2, 3, 0), real, "2 layers");
        expect_same(s->ctx, gamlp(s->ctx, real, 3, 3, 0), real, "3 layers");
        expect_same(s->ctx, gamlp(s->ctx, real, 3, 3, 0.4), real, "dropout");
        expect_same(s->ctx, mo_invariant_create(s->ctx, real, NULL), real, "invariant");
    }
}

TEST_OF(rows_by_their_index_are_the_same_rows, scratch *s) {
    HELD(mo_model) *m = gamlp(s->ctx, MO_F32, 3, 3, 0.4);
    for (int task = 0; task < MO_TASKS; task++)
        for (int64_t max_rows = 0; max_rows <= 10; max_rows += 5) {
            result plain, indexed;
            evaluate(s->ctx, m, MO_F32, (mo_task)task, max_rows, false, &plain);
            evaluate(s->ctx, m, MO_F32, (mo_task)task, max_rows, true, &indexed);
            assert_memory_equal(plain.value, indexed.value, (size_t)plain.n * sizeof(double));
        }
}

/* With the most hops that an encoder can have, all parameters are inputs of one op. */
TEST_OF(the_largest_encoder_has_room, scratch *s) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = DIM;
    o.encoder.hops = 12;
    HELD(mo_model) *m = mo_mochi_create(s->ctx, MO_F64, &o, 1);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    mo_episode e = node_rows(t, MO_F64, MO_TASK_GC);
    e.rows[0].tensor = drawn(t, MO_F64, 1, 3, (int64_t[]){13, ROWS, DIM});
    e.max_rows = 4;
    assert_int_equal(mo_backward(t, mo_model_loss(t, m, &e, NULL, NULL)), MO_OK);
}

TEST_OF(a_negative_number_of_rows_is_an_error, scratch *s) {
    mo_model *model[2] = {gamlp(s->ctx, MO_F64, 3, 3, 0), mo_invariant_create(s->ctx, MO_F64, NULL)};
    for (int i = 0; i < 2; i++) {
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
        mo_episode e = episode_of(t, model[i], MO_F64, MO_TASK_NC);
        e.max_rows = -1;
        assert_true(mo_is_null(mo_model_loss(t, model[i], &e, NULL, NULL)));
        assert_failed(s->ctx, MO_INVALID, PARTS("encode: max_rows is -1, expected 0 (all) or more"));
        mo_model_release(model[i]);
    }
}

TEST_OF(offsets_that_do_not_fit_are_an_error, scratch *s) {
    HELD(mo_model) *m = gamlp(s->ctx, MO_F64, 3, 3, 0);
    for (int i = 0; i < 3; i++) {
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
        mo_episode e = node_rows(t, MO_F64, MO_TASK_GC);
        e.max_rows = 4;
        int64_t offset[GRAPHS + 1] = {i == 2, 2, 3, 3, 19, ROWS + (i == 0) - (i == 1)};
        e.segment = integers(t, GRAPHS + 1, offset);
        assert_true(mo_is_null(mo_model_loss(t, m, &e, NULL, NULL)));
        assert_failed(s->ctx, MO_INVALID, PARTS("segment_mean: ", "offset"));
    }
}

/* ---- memory ---- */

/* Returns the peak of bytes in a training step on graphs, less its episode and the parameters' gradients. */
static int64_t step_bytes(mo_context *ctx, mo_model *m, int64_t rows, int64_t max_rows) {
    enum { N = 40 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *P[MAX_PARAMETERS], *G[MAX_PARAMETERS];
    int64_t offset[N + 1], label[N], number[N];
    for (int64_t i = 0; i <= N; i++)
        offset[i] = i * rows / N;
    for (int64_t i = 0; i < N; i++) {
        label[i] = i % 2;
        number[i] = i;
    }
    mo_episode e = {.task = MO_TASK_GC, .classes = 2, .n_rows = 1, .max_rows = max_rows};
    e.rows[0] = (mo_named){"hops", mo_full(t, MO_F32, 3, (int64_t[]){4, rows, 64}, 0.5), NULL};
    e.segment = integers(t, N + 1, offset);
    e.support[0] = integers(t, N / 2, number);
    e.query[0] = integers(t, N / 2, number + N / 2);
    e.support_label = e.query_label = integers(t, N / 2, label);
    int n = mo_model_n_parameters(m);
    for (int i = 0; i < n; i++)
        P[i] = mo_model_parameter(m, i);
    mo_context_reset_peaks(ctx);
    int64_t before = mo_context_counters(ctx).tape_live;
    mo_tensor *loss = mo_model_loss(t, m, &e, NULL, NULL);
    assert_int_equal(mo_grad(t, &loss, NULL, 1, P, G, n, 0), MO_OK);
    return mo_context_counters(ctx).tape_peak - before;
}

/* An episode with as many rows as D&D's, but narrower. */
TEST_OF(memory_is_that_of_one_block, mo_context *ctx) {
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = 64;
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F32, &o, 1);
    int64_t whole = step_bytes(ctx, m, 16000, 0), block = step_bytes(ctx, m, 1000, 0);
    int64_t blocks = step_bytes(ctx, m, 16000, 1000), rows = 16000 * 64 * (int64_t)sizeof(float);
    print_message("16000 rows: %.1f MB; in blocks of 1000: %.1f MB; 1000 rows alone: %.1f MB\n", 1e-6 * (double)whole,
        1e-6 * (double)blocks, 1e-6 * (double)block);
    assert_true(whole > 10 * block);
    /* two sets of parameter gradients: the sum so far, and one block's */
    int64_t gradients = 12 * 64 * 64 * (int64_t)sizeof(float);
    /* and the embeddings of all rows, as blocks and joined */
    assert_true(blocks <= block + 2 * rows + 2 * gradients);
}
