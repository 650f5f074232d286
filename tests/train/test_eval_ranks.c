/* tests/train/test_eval_ranks.c - an evaluation that several ranks share gives the rows of one process, bit for bit,
 * whoever has which problem; ranks that do not fit, and failures of one, end all of them. The ranks are threads
 * (fake_ranks.h), each with its own context. */
#include "tests/planted.h"
#include "tests/train/fake_ranks.h"
#include "train/evaluation/evaluation.h"

#include <stdio.h>

enum { MOST_CANDIDATES = 3, MOST_VALUES = 64, MOST_ROWS = 128, ROW_TEXT = 640 };

/* ---- heads ---- */

/* Fails on about half of the problems, with an error that tells them apart. */
static mo_tensor *sometimes_logits(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameter) {
    double sum = mo_item(mo_cast(t, mo_sum(t, mo_abs(t, Zs), MO_ALL, MO_DROP_AXES), MO_F64)) * 1e3;
    (void)parameter;
    if (mo_ok(mo_tape_context(t)) && (int64_t)sum % 2)
        mo_fail(mo_tape_context(t), MO_NUMERICAL, "the support sums to %.17g", sum);
    return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), Ys));
}

static const mo_head sometimes = {
    .abi = MO_HEAD_ABI, .size = sizeof(mo_head), .name = "sometimes", .order = 2, .logits = sometimes_logits};

/* A head that loses its disk, under the same name. */
static mo_tensor *lost_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameter) {
    (void)parameter;
    mo_fail(mo_tape_context(t), MO_IO, "the disk is full");
    return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), Ys));
}

static const mo_head lost = {
    .abi = MO_HEAD_ABI, .size = sizeof(mo_head), .name = "sometimes", .order = 2, .logits = lost_logits};

/* ---- a rank ---- */

typedef struct member {
    mo_context *ctx;
    mo_pool *pool;
    mo_model *model;
    mo_candidate candidate[MOST_CANDIDATES];
    int n;
    mo_eval_options options;
    mo_task task;
    mo_ranks ranks;
    int rows;
    char row[MOST_ROWS][ROW_TEXT];
    double value[MOST_ROWS][MOST_VALUES];
    char plans[1 << 15]; /* those that on_plan was shown */
    size_t written;
} member;

static void keep_row(const mo_eval_row *r, void *state) {
    member *m = state;
    assert_true(m->rows < MOST_ROWS && r->n <= MOST_VALUES);
    snprintf(m->row[m->rows], ROW_TEXT, "%s %s %s %s k %lld %s: %a %a %a, n %lld test %lld classes %lld small %lld, %s",
        r->data, r->task, r->head, r->features, (long long)r->k, r->metric, r->mean, r->ci95, r->sd, (long long)r->n,
        (long long)r->n_test, (long long)r->classes, (long long)r->small_classes, r->failure ? r->failure : "fine");
    memcpy(m->value[m->rows++], r->values, (size_t)r->n * sizeof(double));
}

static void keep_plan(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state) {
    member *m = state;
    uint64_t sum = 0;
    (void)source;
    for (int64_t i = 0; i < plan->n_support; i++)
        sum = sum * 31 + (uint64_t)(plan->support[0][i] + plan->support_label[i]);
    for (int64_t i = 0; i < plan->n_query; i++)
        sum = sum * 31 + (uint64_t)plan->query[0][i];
    m->written += (size_t)snprintf(m->plans + m->written, sizeof m->plans - m->written, "%lld %lld %llx\n",
        (long long)k, (long long)repeat, (unsigned long long)sum);
    assert_true(m->written < sizeof m->plans);
}

static void *run_member(void *state) {
    member *m = state;
    mo_evaluate(m->ctx, planted_source(m->pool, m->task), m->candidate, m->n, &m->options, keep_row, m);
    return NULL;
}

/* ---- evaluations ---- */

typedef struct trial {
    mo_task task;
    mo_protocol protocol;
    bool of_examples, calibration, shown, rare_classes;
} trial;

static const int64_t shots[] = {4, 16}, public_shot[] = {6};

static void divide(mo_graph *graph) {
    graph->division = calloc((size_t)graph->nodes, 1);
    graph->divisions = 1;
    for (int64_t i = 0; i < graph->nodes; i++)
        graph->division[i] = i < 18 ? MO_DIVISION_TRAIN : i >= graph->nodes - 60 ? MO_DIVISION_TEST : MO_DIVISION_NONE;
}

/* Classes of three nodes, some of which have none to learn from or to ask about: the size of the problems of a split
 * differs from seed to seed. */
static void add_rare_classes(mo_graph *graph) {
    for (int i = 0; i < 12; i++)
        graph->label[100 + i] = 3 + i / 3;
    graph->classes = 7;
}

static void add_candidates(member *m, const trial *x) {
    m->model = x->of_examples ? mo_invariant_create(m->ctx, MO_F32, NULL) : planted_model(m->ctx, 1);
    m->candidate[m->n++] =
        (mo_candidate){.features = "trained", .model = m->model, .head = x->of_examples ? NULL : &mo_head_ridge};
    m->candidate[m->n++] = (mo_candidate){.features = "hop", .hop = 2, .head = &sometimes, .lambda = 1};
    if (x->task == MO_TASK_LP && !x->of_examples)
        m->candidate[m->n++] = (mo_candidate){.features = "dot", .hop = 1, .head = &mo_head_ridge, .dot = true};
}

static void open_member(member *m, const trial *x) {
    mo_feature_options features = planted_features();
    bool public = x->protocol == MO_PROTOCOL_PUBLIC;
    features.form = x->of_examples ? MO_FEATURES_OF_EXAMPLES : MO_FEATURES_OF_NODES;
    *m = (member){.ctx = mo_context_create(&(mo_context_options){.threads = 1}), .task = x->task};
    m->pool = planted_pool_of(m->ctx, &features);
    add_candidates(m, x);
    if (public)
        divide(planted_source(m->pool, x->task)->graph);
    if (x->rare_classes)
        add_rare_classes(planted_source(m->pool, x->task)->graph);
    m->options = (mo_eval_options){.protocol = x->protocol,
        .n_shots = public ? 1 : 2,
        .shots = public ? public_shot : shots,
        .episodes = 11,
        .queries = 6,
        .seeds = 3,
        .seed = 5,
        .max_rows = 64,
        .calibration = x->calibration,
        .on_plan = x->shown ? keep_plan : NULL,
        .state = m};
}

static void close_member(member *m) {
    mo_model_release(m->model);
    mo_pool_release(m->pool);
    m->ctx->backend->close(m->ctx);
    assert_int_equal(mo_context_counters(m->ctx).bytes_live, 0);
    mo_context_release(m->ctx);
}

/* The ranks of one evaluation: m[0 .. size - 1]. */
static member *open_members(fake_world *world, int size, const trial *x) {
    member *m = calloc((size_t)size, sizeof *m);
    fake_world_open(world);
    for (int r = 0; r < size; r++) {
        open_member(&m[r], x);
        m[r].ranks = fake_ranks(world, r, size);
        m[r].options.ranks = &m[r].ranks;
    }
    return m;
}

static void close_members(member *m, int size) {
    for (int r = 0; r < size; r++)
        close_member(&m[r]);
    free(m);
}

static int compared, failed_cells;

static void expect_rows_of_one(const member *one, const member *m, int size) {
    if (!mo_ok(m[0].ctx))
        fail_msg("%s", mo_context_status(m[0].ctx)->message);
    assert_int_equal(m[0].rows, one->rows);
    for (int i = 0; i < one->rows; i++) {
        assert_string_equal(m[0].row[i], one->row[i]);
        assert_memory_equal(m[0].value[i], one->value[i], sizeof one->value[i]);
        compared++;
    }
    assert_string_equal(m[0].plans, one->plans);
    for (int r = 1; r < size; r++) {
        assert_true(mo_ok(m[r].ctx));
        assert_int_equal(m[r].rows, 0);
        assert_int_equal(m[r].written, 0);
    }
}

static void expect_same(const trial *x) {
    static fake_world world;
    static const int sizes[] = {1, 2, 3, 8}; /* 8: more than the repeats, and than the problems of a split */
    member *one = calloc(1, sizeof *one);
    open_member(one, x);
    run_member(one);
    if (!mo_ok(one->ctx))
        fail_msg("%s", mo_context_status(one->ctx)->message);
    assert_true(one->rows > 0 && (one->written > 0) == x->shown);
    for (int i = 0; i < one->rows; i++)
        failed_cells += strstr(one->row[i], "the support sums to") != NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        member *m = open_members(&world, sizes[i], x);
        fake_world_run(&world, sizes[i], run_member, m, sizeof *m);
        expect_rows_of_one(one, m, sizes[i]);
        close_members(m, sizes[i]);
    }
    close_member(one);
    free(one);
}

TEST(any_number_of_ranks_gives_the_rows_of_one) {
    (void)state;
    for (int task = 0; task < MO_TASKS; task++)
        for (int protocol = 0; protocol < 2; protocol++)
            for (int form = 0; form < 2; form++) {
                bool shown = (task + protocol) % 2;
                expect_same(&(trial){.task = (mo_task)task,
                    .protocol = (mo_protocol)protocol,
                    .of_examples = form,
                    .calibration = !shown,
                    .shown = shown});
            }
    expect_same(&(trial){.task = MO_TASK_NC, .protocol = MO_PROTOCOL_PUBLIC, .shown = true});
    expect_same(&(trial){.task = MO_TASK_NC, .rare_classes = true});
    assert_true(failed_cells > 8);
    print_message("%d rows of 3 protocols on 1, 2, 3 and 8 ranks, %d cells without a figure\n", compared, failed_cells);
}

/* ---- what ends all ranks ---- */

static const trial nodes = {.task = MO_TASK_NC}, links = {.task = MO_TASK_LP};

/* Runs the ranks: each ends with that error, and the first one's message names the rank that failed. */
static void expect_refused(member *m, fake_world *world, int size, int failed, mo_code code, const char *part) {
    char name[32];
    fake_world_run(world, size, run_member, m, sizeof *m);
    for (int r = 0; r < size; r++) {
        const mo_status *status = mo_context_status(m[r].ctx);
        assert_int_equal(status->code, code);
        if (!strstr(status->message, part))
            fail_msg("rank %d: expected '%s', found '%s'", r, part, status->message);
        assert_int_equal(m[r].rows, 0);
    }
    snprintf(name, sizeof name, "rank %d of %d: ", failed, size);
    assert_int_equal(strstr(mo_context_status(m[0].ctx)->message, name) != NULL, failed > 0);
    close_members(m, size);
}

TEST(ranks_that_differ_are_refused) {
    static fake_world world;
    member *m = open_members(&world, 3, &nodes);
    (void)state;
    mo_model_release(m[1].model);
    m[1].candidate[0].model = m[1].model = planted_model(m[1].ctx, 2);
    expect_refused(m, &world, 3, 1, MO_INVALID, "evaluate: expected candidates.0.model.parameters = ");
    m = open_members(&world, 2, &links);
    m[1].options.seeds = 4;
    expect_refused(m, &world, 2, 1, MO_INVALID, "evaluate: expected seeds = 3, as rank 0 has it, found 4");
    m = open_members(&world, 3, &nodes);
    m[2].candidate[1].hop = 1;
    expect_refused(m, &world, 3, 2, MO_INVALID, "expected candidates.1.hop = 2");
    m = open_members(&world, 2, &nodes);
    m[1].ranks.program = "another build";
    expect_refused(m, &world, 2, 1, MO_INVALID, "expected program = \"fake\"");
    m = open_members(&world, 2, &nodes);
    planted_source(m[1].pool, MO_TASK_NC)->graph->hash[0]++;
    expect_refused(m, &world, 2, 1, MO_INVALID, "expected data.hash = ");
    m = open_members(&world, 2, &(trial){.task = MO_TASK_NC, .protocol = MO_PROTOCOL_PUBLIC});
    planted_source(m[1].pool, MO_TASK_NC)->graph->division[20] = MO_DIVISION_TEST;
    expect_refused(m, &world, 2, 1, MO_INVALID, "expected data.division = ");
}

TEST(a_failure_of_one_rank_ends_all) {
    static fake_world world;
    (void)state;
    for (int failed = 0; failed < 3; failed++) {
        member *m = open_members(&world, 3, failed ? &nodes : &links);
        m[failed].candidate[1].head = &lost;
        expect_refused(m, &world, 3, failed, MO_IO, "the disk is full");
        m = open_members(&world, 3, &nodes);
        mo_fail(m[failed].ctx, MO_IO, "the file is gone"); /* before it begins */
        expect_refused(m, &world, 3, failed, MO_IO, "the file is gone");
        m = open_members(&world, 3, &nodes);
        m[failed].candidate[1].head = NULL;
        expect_refused(m, &world, 3, failed, MO_INVALID, "candidate 1 has neither a model nor a head");
    }
    member *m = open_members(&world, 2, &nodes);
    m[0].options.seeds = m[1].options.seeds = 0;
    expect_refused(m, &world, 2, 0, MO_INVALID, "evaluate: seeds is 0");
}
