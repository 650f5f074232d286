/* tests/train/test_held_out.c - logits of held-out rows equal those of explicit refits. */
#include "tests/labelled_rows.h"
#include "train/evaluation/evaluation.h"

static mo_reader reader_of(const mo_embeddings *E, const mo_head *head, mo_tape *t) {
    return (mo_reader){
        .ctx = mo_tensor_context(E->Z), .t = t, .source = E->source, .candidate = {.head = head}, .rows = E->Z};
}

static void draw(const mo_embeddings *E, int64_t k, int64_t q, uint64_t number, mo_plan *plan) {
    const mo_plan_options o = {.k_min = k, .k_max = k, .q_min = q, .q_max = q, .max_classes = 64};
    assert_int_equal(mo_plan_draw(E->graph, NULL, MO_TASK_NC, number, &o, plan), MO_OK);
}

/* Writes the logits of support row `at`, fitted on the rows for which `keep` is true. */
static void refit(const mo_reader *r, const mo_plan *p, const bool *keep, int64_t at, double *logits) {
    int64_t row[N], label[N], n = 0;
    for (int64_t i = 0; i < p->n_support; i++)
        if (keep[i]) {
            row[n] = p->support[0][i];
            label[n++] = p->support_label[i];
        }
    const mo_plan one = {.task = MO_TASK_NC,
        .classes = p->classes,
        .n_support = n,
        .n_query = 1,
        .support = {row},
        .support_label = label,
        .query = {p->support[0] + at}};
    assert_true(mo_reader_logits(r, &one, NAN, logits, NULL));
}

/* Leave-one-out: every row by a fit on the n_s - 1 others. Cross-validation: by a fit on the rows outside its fold,
 * which is the row's place in its class modulo the number of folds (k = 4: its place). */
TEST_OF(held_out_rows_are_those_of_explicit_refits, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_reader r = reader_of(E, &mo_head_ridge, t);
    double held[2][4 * C * C], expected[C];
    for (uint64_t e = 2; e < 5; e++) {
        HELD(mo_plan) p = {0};
        draw(E, 4, 5, e, &p);
        assert_true(mo_leave_one_out(&r, &p, &(double){NAN}, 1, held[0]));
        assert_true(mo_cross_validate(&r, &p, &(double){NAN}, 1, held[1], NULL));
        for (int64_t i = 0; i < p.n_support; i++) {
            bool others[4 * C], outside[4 * C];
            int place[C] = {0}, fold[4 * C];
            for (int64_t j = 0; j < p.n_support; j++)
                fold[j] = place[p.support_label[j]]++;
            for (int64_t j = 0; j < p.n_support; j++) {
                others[j] = j != i;
                outside[j] = fold[j] != fold[i];
            }
            for (int how = 0; how < 2; how++) {
                refit(&r, &p, how ? outside : others, i, expected);
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
    mo_reader r = reader_of(E, &mo_head_ridge, t);
    r.candidate.value = 1e-9;
    r.candidate.fixed = true;
    int copies = 0;
    for (uint64_t e = 0; e < 7; e++) {
        HELD(mo_plan) b = {0};
        double held[6 * C * C];
        draw(E, 6, 34, e, &b);
        assert_int_equal(b.small_classes, C);
        assert_true(mo_cross_validate(&r, &b, &(double){NAN}, 1, held, NULL));
        for (int64_t i = 0; i < b.n_support; i++) {
            bool copied = false, alone = true;
            for (int64_t j = 0; j < b.n_support; j++) {
                bool same = b.support[0][i] == b.support[0][j];
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
