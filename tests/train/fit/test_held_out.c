/* tests/train/fit/test_held_out.c - logits of held-out rows equal those of explicit refits. */
#include "tests/labelled_rows.h"
#include "train/fit/fit_parts.h"

static const mo_fit_options defaults = {.n_shots = 1, .shots = (int64_t[]){4}, .episodes = 7, .queries = 5, .ways = 64};

static mo_fitting fitting(const mo_embeddings *E, const mo_head *head, mo_tape *t) {
    return (mo_fitting){.ctx = mo_tensor_context(E->Z), .t = t, .Z = E->Z, .head = head, .classes = C, .tuned = -1};
}

/* Writes the logits of support row `at` of episode e, fitted on the rows for which `keep` is true. */
static void refit(const mo_fitting *f, const mo_draws *d, int64_t e, const bool *keep, int64_t at, double *logits) {
    int64_t row[N], label[N], n = 0;
    for (int64_t i = 0; i < d->n_support; i++)
        if (keep[i]) {
            row[n] = d->support[e * d->n_support + i];
            label[n++] = d->support_label[e * d->n_support + i];
        }
    mo_fit_problem one = {n, 1, row, label, d->support + e * d->n_support + at};
    assert_true(mo_fit_logits(f, &one, NAN, logits));
}

static mo_fit_problem support_of(const mo_draws *d, int64_t e) {
    return (mo_fit_problem){d->n_support, 0, d->support + e * d->n_support, d->support_label + e * d->n_support, NULL};
}

/* Leave-one-out: every row by a fit on the n_s - 1 others. Cross-validation: by a fit on the rows outside its fold,
 * which is the row's place in its class modulo the number of folds (k = 4: its place). */
TEST_OF(held_out_rows_are_those_of_explicit_refits, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_fitting f = fitting(E, &mo_head_ridge, t);
    HELD(mo_draws) d;
    mo_draws_create(E, 4, &defaults, &d);
    double held[2][4 * C * C], expected[C];
    for (int64_t e = 2; e < 5; e++) {
        mo_fit_problem p = support_of(&d, e);
        assert_true(mo_leave_one_out(&f, &p, &(double){NAN}, 1, held[0]));
        assert_true(mo_cross_validate(&f, &p, 4, false, &(double){NAN}, 1, held[1], NULL));
        for (int64_t i = 0; i < d.n_support; i++) {
            bool others[4 * C], outside[4 * C];
            int place[C] = {0}, fold[4 * C];
            for (int64_t j = 0; j < d.n_support; j++)
                fold[j] = place[p.support_label[j]]++;
            for (int64_t j = 0; j < d.n_support; j++) {
                others[j] = j != i;
                outside[j] = fold[j] != fold[i];
            }
            for (int how = 0; how < 2; how++) {
                refit(&f, &d, e, how ? outside : others, i, expected);
                for (int c = 0; c < C; c++)
                    assert_true(fabs(held[how][i * C + c] - expected[c]) <= 1e-9);
            }
        }
    }
}

/* 20 rows per class and k + q = 40, so rows repeat: a copy in the fit would give the held-out row's label away, since
 * with a tiny penalty a fit repeats its labels exactly. */
TEST_OF(copies_of_a_held_out_row_are_never_fitted, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 30);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_fitting f = fitting(E, &mo_head_ridge, t);
    mo_fit_options options = defaults;
    options.queries = 34;
    f.lambda = &(double){1e-9};
    HELD(mo_draws) d;
    mo_draws_create(E, 6, &options, &d);
    assert_int_equal(d.small_classes, C);
    int copies = 0;
    for (int64_t e = 0; e < d.episodes; e++) {
        double held[6 * C * C];
        mo_fit_problem b = support_of(&d, e);
        assert_true(mo_cross_validate(&f, &b, 6, true, &(double){NAN}, 1, held, NULL));
        for (int64_t i = 0; i < d.n_support; i++) {
            bool copied = false, alone = true;
            for (int64_t j = 0; j < d.n_support; j++) {
                bool same = b.support[i] == b.support[j];
                copied |= j != i && same;
                alone &= same || b.support_label[i] != b.support_label[j];
            }
            copies += copied && !alone;
            /* a row that is alone in its class is never held out */
            assert_true(alone ? isnan(held[i * C]) : fabs(held[i * C + b.support_label[i]] - 1) > 1e-3);
        }
    }
    assert_true(copies > 0);
}
