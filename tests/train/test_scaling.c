/* tests/train/test_scaling.c - rows scaled by their support, against rows scaled by the test. */
#include "tests/labelled_rows.h"

enum { LEARNED = 24 };

static double z[N * D]; /* column 2 is constant in the first LEARNED rows */

static int64_t y[N];

static void draw_rows(void) {
    for (int i = 0; i < N; i++)
        y[i] = i % C;
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < N * D; i++)
        z[i] = i % D == 2 && i < LEARNED * D ? 3 : (i % D == i / D % C ? 2 : 0) + 5 * (i % D) + mo_random_normal(&r);
}

/* Scales x by the definitions, with means and deviations of the first LEARNED rows. */
static void scale_by_hand(mo_scaling scaling, double *x) {
    for (int k = 0; k < D; k++) {
        double mean = 0, square = 0;
        for (int i = 0; i < LEARNED; i++)
            mean += z[i * D + k] / LEARNED;
        for (int i = 0; i < LEARNED; i++)
            square += pow(z[i * D + k] - mean, 2) / LEARNED;
        for (int i = 0; i < N; i++)
            x[i * D + k] = scaling == MO_SCALING_NORMALISE ? z[i * D + k]
                           : scaling == MO_SCALING_CENTRE  ? z[i * D + k] - mean
                           : k == 2                        ? 0
                                                           : (z[i * D + k] - mean) / sqrt(square);
    }
    for (int i = 0; scaling == MO_SCALING_NORMALISE && i < N; i++) {
        double square = 0;
        for (int k = 0; k < D; k++)
            square += z[i * D + k] * z[i * D + k];
        for (int k = 0; k < D; k++)
            x[i * D + k] /= sqrt(square);
    }
}

static void on_row(const mo_eval_row *row, void *state) {
    mo_eval_row **at = state;
    *(*at)++ = *row;
}

/* Fits heads on a split that learns from the first LEARNED rows. lambda: a fixed penalty. */
static void fit_rows(scratch *s, const double *rows, mo_scaling scaling, mo_eval_row *result) {
    static const mo_head *const heads[] = {&mo_head_ridge, &mo_head_logistic, &mo_head_prototype_inner};
    HELD(mo_embeddings) *E = embeddings_of(s->ctx, MO_F64, N, D, rows, y);
    HELD(mo_plan) split;
    assert_int_equal(mo_split_read(E, write_first(s, LEARNED), NULL, &split), MO_OK);
    mo_eval_options options = usual_problems(1);
    options.split = &split;
    assert_int_equal(evaluate_heads(E, heads, 3, &(double){0.7}, scaling, &options, on_row, &result), MO_OK);
}

TEST_OF(rows_are_scaled_as_by_hand, scratch *s) {
    double x[N * D];
    mo_eval_row plain[3], found[3], expected[3];
    draw_rows();
    fit_rows(s, z, MO_SCALING_NONE, plain);
    for (mo_scaling scaling = MO_SCALING_CENTRE; scaling < MO_SCALINGS; scaling++) {
        scale_by_hand(scaling, x);
        fit_rows(s, x, MO_SCALING_NONE, expected);
        fit_rows(s, z, scaling, found);
        for (int h = 0; h < 3; h++) {
            assert_true(fabs(found[h].nll - expected[h].nll) <= 1e-9 * expected[h].nll);
            assert_true(fabs(found[h].mean - expected[h].mean) <= 1e-9);
            assert_true(fabs(found[h].nll - plain[h].nll) > 1e-6 || h == 1); /* h = 1, logistic, has an intercept that
                                                                              * absorbs the mean */
        }
    }
}

TEST_OF(unknown_scalings_are_refused, scratch *s) {
    draw_rows();
    HELD(mo_embeddings) *E = embeddings_of(s->ctx, MO_F64, N, D, z, y);
    mo_eval_row row, *at = &row;
    const mo_eval_options options = usual_problems(1);
    assert_int_equal(
        evaluate_heads(E, (const mo_head *[]){&mo_head_ridge}, 1, NULL, MO_SCALINGS, &options, on_row, &at),
        MO_INVALID);
    assert_failed(s->ctx, MO_INVALID, PARTS("scaling is 4, expected 0 to 3"));
}
