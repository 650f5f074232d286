/* tests/train/test_problems.c - problems on embeddings, and the figures of heads. */
#include "tests/labelled_rows.h"

typedef struct seen {
    int n;
    mo_eval_row row[8];
    double accuracy, nll, brier;
    const mo_embeddings *E;
} seen;

static void fit(const mo_embeddings *E, const mo_head *head, const double *lambda, const mo_eval_options *o,
    mo_eval_visit visit, void *state) {
    assert_int_equal(evaluate_heads(E, &head, 1, lambda, MO_SCALING_NONE, o, visit, state), MO_OK);
}

static void on_row(const mo_eval_row *row, void *state) {
    seen *x = state;
    x->row[x->n++] = *row;
}

/* Computes the figures of inner products with the class means, on plans of the rows. */
static void on_prototype_row(const mo_eval_row *row, void *state) {
    seen *x = state;
    mo_calibration c = {0};
    double z[N * D];
    const mo_plan_options o = {.k_min = 4, .k_max = 4, .q_min = 5, .q_max = 5, .max_classes = 64};
    mo_tensor_read(x->E->Z, z, sizeof z);
    for (int64_t e = 0; e < row->n_plans; e++) {
        HELD(mo_plan) p = {0};
        double P[C][D] = {{0}};
        assert_int_equal(mo_plan_draw(x->E->graph, NULL, MO_TASK_NC, (uint64_t)e, &o, &p), MO_OK);
        assert_memory_equal(row->plans[e].query[0], p.query[0], (size_t)p.n_query * sizeof(int64_t));
        for (int64_t i = 0; i < p.n_support; i++)
            for (int k = 0; k < D; k++)
                P[p.support_label[i]][k] += z[p.support[0][i] * D + k] / (double)p.k;
        for (int64_t i = 0; i < p.n_query; i++) {
            double logits[C] = {0};
            for (int k = 0; k < C * D; k++)
                logits[k / D] += P[k / D][k % D] * z[p.query[0][i] * D + k % D];
            mo_calibration_add(&c, logits, &p.query_label[i], 1, C, 1);
        }
    }
    x->accuracy = 100 * (double)c.right / (double)c.n;
    x->nll = c.nll / (double)c.n;
    x->brier = c.brier / (double)c.n;
    x->row[x->n++] = *row;
}

TEST_OF(figures_are_those_of_the_definitions, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1);
    seen x = {.E = E};
    const mo_eval_options options = usual_problems(7);
    fit(E, &mo_head_prototype_inner, NULL, &options, on_prototype_row, &x);
    assert_int_equal(x.n, 1);
    assert_true(fabs(x.row[0].mean - x.accuracy) <= 1e-10);
    assert_true(fabs(x.row[0].nll - x.nll) <= 1e-12);
    assert_true(fabs(x.row[0].brier - x.brier) <= 1e-12);
}

TEST_OF(tuning_beats_a_penalty_that_is_far_off, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1.5);
    mo_eval_options options = usual_problems(7);
    seen x = {0};
    options.episodes = 40;
    options.shots = (int64_t[]){8};
    fit(E, &mo_head_ridge, &(double){1e-6}, &options, on_row, &x);
    options.tune = true;
    fit(E, &mo_head_ridge, NULL, &options, on_row, &x);
    assert_int_equal(x.n, 2);
    assert_true(x.row[1].mean > x.row[0].mean);
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
    mo_eval_options options = usual_problems(7);
    seen x = {0};
    options.episodes = 20;
    options.shots = (int64_t[]){64};
    fit(E, &mo_head_mixture, NULL, &options, on_row, &x);
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
    mo_eval_options options = usual_problems(7);
    options.tune = true;
    fit(E, &head, NULL, &options, on_row, &tuned);
    double z[N * D], scale = 0, mean[D] = {0};
    mo_tensor_read(E->Z, z, sizeof z);
    for (int i = 0; i < N * D; i++)
        mean[i % D] += z[i] / N;
    for (int i = 0; i < N * D; i++) /* the sum of the columns' variances */
        scale += (z[i] - mean[i % D]) * (z[i] - mean[i % D]) / N;
    scale *= 100;
    options.tune = false;
    fit(E, &head, &scale, &options, on_row, &strongest);
    assert_true(fabs(tuned.row[0].nll - strongest.row[0].nll) <= 1e-12);
}

/* The rows of a sweep, and how often tuning chose each value. */
typedef struct swept {
    mo_eval_row own, row[16];
    int n;
    int64_t chosen;
} swept;

static void on_swept_row(const mo_eval_row *row, void *state) {
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
    mo_eval_options options = usual_problems(7);
    swept x = {0}, plain = {0}, fixed = {0}, untuned = {0};
    options.tune = true;
    fit(E, &mo_head_ridge, NULL, &options, on_swept_row, &plain);
    options.sweep = true;
    fit(E, &mo_head_ridge, NULL, &options, on_swept_row, &x);
    assert_int_equal(plain.n, 0);
    assert_int_equal(x.n, 13);
    assert_int_equal(x.chosen, options.episodes);
    assert_true(x.own.nll == plain.own.nll && x.own.mean == plain.own.mean);
    options.tune = options.sweep = false;
    for (int i = 0; i < x.n; i++) {
        assert_true(x.row[i].value > 0 && (i == 0 || x.row[i].value > x.row[i - 1].value));
        assert_true(x.row[i].held_nll > 0);
        fit(E, &mo_head_ridge, &x.row[i].value, &options, on_swept_row, &fixed);
        assert_true(fixed.own.nll == x.row[i].nll && fixed.own.mean == x.row[i].mean);
        assert_true(fixed.own.ece_temperature == x.row[i].ece_temperature);
    }
    options.sweep = true;
    fit(E, &mo_head_prototype_inner, NULL, &options, on_swept_row, &untuned);
    fit(E, &mo_head_lda, NULL, &options, on_swept_row, &untuned);
    assert_int_equal(untuned.n, 8); /* prototypes have no parameter to sweep */
    assert_int_equal(untuned.chosen, -8);
}
