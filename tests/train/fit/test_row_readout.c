/* tests/train/fit/test_row_readout.c - a saved readout predicts what the same head predicts on a split. */
#include "tests/labelled_rows.h"

typedef struct seen {
    int64_t predicted[N], n;
    double accuracy;
    mo_eval_choice choice;
} seen;

static void on_row(const mo_eval_row *row, void *state) {
    seen *x = state;
    x->n = row->n;
    memcpy(x->predicted, row->predicted, (size_t)x->n * sizeof *x->predicted);
    x->accuracy = row->mean;
    x->choice = *row->choice;
}

TEST_OF(predictions_are_those_of_the_split, scratch *s) {
    static const mo_head *const heads[] = {&mo_head_ridge, &mo_head_logistic, &mo_head_prototype_inner, &mo_head_lda};
    enum { LEARNED = 30 };
    HELD(mo_embeddings) *E = make(s, MO_F64, 1.5);
    HELD(mo_plan) split;
    double z[N * D];
    assert_int_equal(mo_split_read(E, write_first(s, LEARNED), NULL, &split), MO_OK);
    mo_tensor_read(E->Z, z, sizeof z);
    HELD(mo_tensor) *rest = mo_tensor_create_from(s->ctx, MO_F64, 2, (int64_t[]){N - LEARNED, D}, z + LEARNED * D);
    for (int h = 0; h < 4; h++)
        for (int tuned = 0; tuned < 2; tuned++) {
            const mo_candidate c = {.features = "rows", .head = heads[h], .scaling = MO_SCALING_STANDARDISE};
            mo_eval_options options = usual_problems(1);
            options.split = &split;
            options.tune = tuned;
            seen x = {0};
            mo_row_readout r;
            double p[N * C];
            assert_int_equal(mo_evaluate(s->ctx, E->source, &c, 1, &options, on_row, &x), MO_OK);
            assert_int_equal(x.n, N - LEARNED);
            assert_int_equal(mo_row_readout_fit(E, &c, &split, tuned, &r), MO_OK);
            assert_int_equal(r.held_out, LEARNED);
            assert_int_equal(r.right, x.choice.right);
            assert_true(isnan(r.value) ? isnan(x.choice.value) : r.value == x.choice.value);
            assert_true(isnan(r.value) == (!tuned || h == 2));
            assert_true(r.temperature == x.choice.temperature);
            assert_string_equal(r.name[2], "10");
            assert_int_equal(mo_row_readout_probabilities(&r, rest, p), MO_OK);
            for (int i = 0; i < N - LEARNED; i++) {
                double sum = 0;
                for (int c = 0; c < C; c++)
                    sum += p[i * C + c];
                assert_true(fabs(sum - 1) <= 1e-12);
                assert_int_equal(mo_first_largest(p + i * C, C), x.predicted[i]);
            }
            mo_row_readout_release(&r);
        }
}
