/* tests/train/fit/test_fit.c - episodes on embeddings, and the figures of heads. */
#include "tests/labelled_rows.h"
#include "train/fit/fit_parts.h"

static const mo_fit_options defaults = {.n_shots = 1, .shots = (int64_t[]){4}, .episodes = 7, .queries = 5, .ways = 64};

TEST_OF(draws_are_plans_of_the_rows, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F32, 1);
    HELD(mo_draws) d;
    const mo_plan_options o = {.k_min = 4, .k_max = 4, .q_min = 5, .q_max = 5, .max_classes = 64};
    assert_int_equal(mo_draws_create(E, 4, &defaults, &d), MO_OK);
    for (int64_t e = 0; e < d.episodes; e++) {
        HELD(mo_plan) plan;
        size_t support = (size_t)(4 * C) * sizeof(int64_t), query = (size_t)(5 * C) * sizeof(int64_t);
        assert_int_equal(mo_plan_draw(E->graph, NULL, MO_TASK_NC, (uint64_t)e, &o, &plan), MO_OK);
        assert_true(d.n_support == plan.n_support && d.n_query == plan.n_query);
        assert_memory_equal(d.support + e * d.n_support, plan.support[0], support);
        assert_memory_equal(d.support_label + e * d.n_support, plan.support_label, support);
        assert_memory_equal(d.query + e * d.n_query, plan.query[0], query);
        assert_memory_equal(d.query_label + e * d.n_query, plan.query_label, query);
    }
}

typedef struct seen {
    int n;
    mo_fit_row row[8];
    double accuracy, nll, brier;
} seen;

static void on_row(const mo_fit_row *row, void *state) {
    seen *x = state;
    x->row[x->n++] = *row;
}

/* Computes the figures of inner products with the class means. */
static void on_prototype_row(const mo_fit_row *row, void *state) {
    seen *x = state;
    const mo_draws *d = row->draws;
    mo_embeddings *E = (mo_embeddings *)x->row[7].draws; /* the test passes E in an unused field */
    mo_calibration c = {0};
    double z[N * D];
    mo_tensor_read(E->Z, z, sizeof z);
    for (int64_t e = 0; e < d->episodes; e++) {
        double P[C][D] = {{0}};
        for (int64_t i = 0; i < d->n_support; i++)
            for (int k = 0; k < D; k++)
                P[d->support_label[e * d->n_support + i]][k] +=
                    z[d->support[e * d->n_support + i] * D + k] / (double)d->k;
        for (int64_t i = e * d->n_query; i < (e + 1) * d->n_query; i++) {
            double logits[C] = {0};
            for (int k = 0; k < C * D; k++)
                logits[k / D] += P[k / D][k % D] * z[d->query[i] * D + k % D];
            mo_calibration_add(&c, logits, &d->query_label[i], 1, C, 1);
        }
    }
    x->accuracy = 100 * (double)c.right / (double)c.n;
    x->nll = c.nll / (double)c.n;
    x->brier = c.brier / (double)c.n;
    x->row[x->n++] = *row;
}

TEST_OF(figures_are_those_of_the_definitions, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1);
    seen x = {0};
    x.row[7].draws = (void *)E;
    assert_int_equal(
        mo_fit(E, (const mo_head *[]){&mo_head_prototype_inner}, 1, &defaults, on_prototype_row, &x), MO_OK);
    assert_int_equal(x.n, 1);
    assert_true(fabs(x.row[0].accuracy - x.accuracy) <= 1e-10);
    assert_true(fabs(x.row[0].nll - x.nll) <= 1e-12);
    assert_true(fabs(x.row[0].brier - x.brier) <= 1e-12);
    int64_t queries = 0;
    for (int part = 0; part < MO_NORM_PARTS; part++)
        queries += x.row[0].by_norm[part].n;
    assert_int_equal(queries, 7 * 5 * C);
}

TEST_OF(tuning_beats_a_penalty_that_is_far_off, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1.5);
    mo_fit_options options = defaults;
    seen x = {0};
    options.episodes = 40;
    options.shots = (int64_t[]){8};
    options.lambda = &(double){1e-6};
    mo_fit(E, (const mo_head *[]){&mo_head_ridge}, 1, &options, on_row, &x);
    options.tune = true;
    mo_fit(E, (const mo_head *[]){&mo_head_ridge}, 1, &options, on_row, &x);
    assert_int_equal(x.n, 2);
    assert_true(x.row[1].accuracy > x.row[0].accuracy);
}

/* 20 rows of noise per class in 64 dimensions, of which 64 are asked for: the mixture must not take copies for evidence
 * that it has learned. */
TEST_OF(copies_are_no_evidence_for_the_mixture, scratch *s) {
    enum { WIDE = 64 };
    static double z[N * WIDE];
    int64_t y[N];
    mo_random r = mo_random_at(9, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < N * WIDE; i++)
        z[i] = mo_random_normal(&r) / 8;
    for (int i = 0; i < N; i++)
        y[i] = i % C;
    HELD(mo_embeddings) *E = embeddings_of(s->ctx, MO_F32, N, WIDE, z, y);
    mo_fit_options options = defaults;
    seen x = {0};
    options.episodes = 20;
    options.shots = (int64_t[]){64};
    mo_fit(E, (const mo_head *[]){&mo_head_mixture}, 1, &options, on_row, &x);
    assert_true(mo_ok(s->ctx));
    assert_true(x.row[0].nll < log(C) + 0.2); /* memorised copies would give 4.3 more */
}

static mo_tensor *divided(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_div(t, mo_matmul(t, Zq, mo_transpose(t, mo_matmul(t, mo_transpose(t, Ys), Zs))), parameters[0]);
}

/* If the penalty only scales a head's logits, all penalties have the same held-out loss at their temperatures: rounding
 * must not choose between them. */
TEST(of_equal_penalties_the_strongest_is_taken) {
    static const mo_head_parameter lambda[] = {{.name = "lambda", .value = 1}};
    const mo_head head = {.abi = MO_HEAD_ABI,
        .size = sizeof(mo_head),
        .name = "divided",
        .n_parameters = 1,
        .parameters = lambda,
        .logits = divided,
        .order = 2};
    HELD(mo_embeddings) *E = make(*state, MO_F64, 1);
    seen tuned = {0}, strongest = {0};
    mo_fit_options options = defaults;
    options.tune = true;
    assert_int_equal(mo_fit(E, (const mo_head *[]){&head}, 1, &options, on_row, &tuned), MO_OK);
    double z[N * D], scale = 0, mean[D] = {0};
    mo_tensor_read(E->Z, z, sizeof z);
    for (int i = 0; i < N * D; i++)
        mean[i % D] += z[i] / N;
    for (int i = 0; i < N * D; i++) /* the sum of the columns' variances */
        scale += (z[i] - mean[i % D]) * (z[i] - mean[i % D]) / N;
    scale *= 100;
    options.tune = false;
    options.lambda = &scale;
    assert_int_equal(mo_fit(E, (const mo_head *[]){&head}, 1, &options, on_row, &strongest), MO_OK);
    assert_true(fabs(tuned.row[0].nll - strongest.row[0].nll) <= 1e-12);
}

/* The rows of a sweep, and how often tuning chose each value. */
typedef struct swept {
    mo_fit_row own, row[16];
    int n;
    int64_t chosen;
} swept;

static void on_swept_row(const mo_fit_row *row, void *state) {
    swept *x = state;
    if (!row->swept) {
        x->own = *row;
        return;
    }
    assert_true(isnan(x->own.value) && !x->own.swept);
    x->chosen += row->chosen;
    x->row[x->n++] = *row;
}

/* A sweep's row equals the row of a fit with that lambda; how often tuning chose each value adds up to the episodes. */
TEST_OF(a_sweep_has_the_figures_of_each_value, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1.5);
    mo_fit_options options = defaults;
    swept x = {0}, plain = {0}, fixed = {0}, untuned = {0};
    options.tune = true;
    assert_int_equal(mo_fit(E, (const mo_head *[]){&mo_head_ridge}, 1, &options, on_swept_row, &plain), MO_OK);
    options.sweep = true;
    assert_int_equal(mo_fit(E, (const mo_head *[]){&mo_head_ridge}, 1, &options, on_swept_row, &x), MO_OK);
    assert_int_equal(plain.n, 0);
    assert_int_equal(x.n, 13);
    assert_int_equal(x.chosen, defaults.episodes);
    assert_true(x.own.nll == plain.own.nll && x.own.accuracy == plain.own.accuracy);
    options.tune = options.sweep = false;
    for (int i = 0; i < x.n; i++) {
        assert_true(x.row[i].value > 0 && (i == 0 || x.row[i].value > x.row[i - 1].value));
        assert_true(x.row[i].held_nll > 0);
        options.lambda = &x.row[i].value;
        assert_int_equal(mo_fit(E, (const mo_head *[]){&mo_head_ridge}, 1, &options, on_swept_row, &fixed), MO_OK);
        assert_true(fixed.own.nll == x.row[i].nll && fixed.own.accuracy == x.row[i].accuracy);
        assert_true(fixed.own.ece_temperature == x.row[i].ece_temperature);
    }
    options.lambda = NULL;
    options.sweep = true;
    mo_fit(E, (const mo_head *[]){&mo_head_prototype_inner, &mo_head_lda}, 2, &options, on_swept_row, &untuned);
    assert_int_equal(untuned.n, 8); /* prototypes have no parameter to sweep */
    assert_int_equal(untuned.chosen, -8);
}
