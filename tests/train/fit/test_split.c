/* tests/train/fit/test_split.c - a user's own split, the outcomes of heads on it, and confusion matrices. */
#include "tests/labelled_rows.h"

/* Rows 0 .. 7 with the labels 5, none, 9, 9, 5, none, 7, 5. */
static mo_embeddings *eight_rows(scratch *s) {
    return embeddings_of(
        s->ctx, MO_F64, 8, 1, (double[]){0, 9, 4, 5, 1, 9, 8, 4.4}, (int64_t[]){5, -1, 9, 9, 5, -2, 7, 5});
}

typedef struct seen {
    const mo_embeddings *E;
    mo_confusion confusion;
    mo_summary pair;
    double first[64];
    int rows;
} seen;

/* Checks the head of nearest class means on the split: prototypes 0 for class 5 and 4.5 for class 9. */
static void on_split_row(const mo_eval_row *row, void *state) {
    seen *x = state;
    assert_true(row->split);
    assert_int_equal(row->n, 2);
    assert_true(fabs(row->mean - 50) <= 1e-9);
    double interval[2];
    mo_wilson(0.5, 2, interval);
    assert_true(fabs(row->ci95 - 50 * (interval[1] - interval[0])) <= 1e-9);
    assert_memory_equal(row->values, ((double[]){100, 0}), 16);
    assert_memory_equal(row->predicted, ((int64_t[]){0, 2}), 16); /* class numbers of 5, 7, 9 */
    assert_int_equal(mo_confusion_count(x->E, row, &x->confusion), MO_OK);
}

TEST_OF(the_outcomes_of_a_split_are_those_of_its_rows, scratch *s) {
    const char *train = scratch_write(s, "train.txt", "0\n2\n3\n", 6),
               *test = scratch_write(s, "test.txt", "4\n7\n", 4);
    HELD(mo_embeddings) *E = eight_rows(s);
    seen x = {.E = E};
    HELD(mo_plan) split;
    assert_int_equal(mo_split_read(x.E, train, test, &split), MO_OK);
    mo_eval_options options = usual_problems(1);
    options.split = &split;
    const mo_head *const heads[] = {&mo_head_prototype_euclidean};
    assert_int_equal(evaluate_heads(x.E, heads, 1, NULL, MO_SCALING_NONE, &options, on_split_row, &x), MO_OK);
    assert_int_equal(x.confusion.classes, 3);
    assert_memory_equal(x.confusion.count, ((int64_t[]){1, 0, 1, 0, 0, 0, 0, 0, 0}), 72);
    mo_class_figures five = mo_confusion_class(&x.confusion, 0), seven = mo_confusion_class(&x.confusion, 1);
    assert_true(five.n == 2 && five.predicted == 1 && five.precision == 1 && five.recall == 0.5);
    assert_true(fabs(five.f1 - 2.0 / 3) <= 1e-12);
    assert_true(seven.n == 0 && isnan(seven.precision) && isnan(seven.recall) && isnan(seven.f1));
    mo_confusion_release(&x.confusion);
}

/* For episodes: compares counts with the share of right predictions, and paired differences with the definition of
 * their interval. */
static void on_episode_row(const mo_eval_row *row, void *state) {
    seen *x = state;
    mo_confusion c;
    int64_t right = 0, all = 0;
    double sum = 0;
    assert_int_equal(mo_confusion_count(x->E, row, &c), MO_OK);
    for (int i = 0; i < C * C; i++) {
        right += i / C == i % C ? c.count[i] : 0;
        all += c.count[i];
    }
    assert_int_equal(all, 40 * 5 * C);
    assert_true(fabs(row->mean - 100.0 * (double)right / (double)all) <= 1e-9);
    assert_int_equal(row->n, 40);
    for (int64_t e = 0; e < 40; e++)
        sum += row->values[e] / 40;
    assert_true(fabs(row->mean - sum) <= 1e-9);
    if (x->rows++ == 0)
        memcpy(x->first, row->values, 40 * sizeof *row->values);
    else
        x->pair = mo_summarize_pairs(x->first, row->values, 40);
    mo_confusion_release(&c);
}

TEST_OF(heads_are_compared_episode_by_episode, scratch *s) {
    HELD(mo_embeddings) *E = make(s, MO_F64, 1.5);
    seen x = {.E = E};
    mo_eval_options options = usual_problems(40);
    options.seed = 3;
    const mo_head *const heads[] = {&mo_head_ridge, &mo_head_prototype_inner};
    assert_int_equal(evaluate_heads(x.E, heads, 2, NULL, MO_SCALING_NONE, &options, on_episode_row, &x), MO_OK);
    assert_int_equal(x.pair.n, 40);
    assert_true(x.pair.ci95 > 0 && isfinite(x.pair.mean));
}

TEST(the_worst_pairs_come_first) {
    int64_t count[16] = {9, 1, 0, 4, 2, 9, 0, 0, 4, 0, 9, 3, 0, 0, 5, 9}, pair[8];
    const mo_confusion c = {4, count};
    assert_int_equal(mo_confusion_worst(&c, 4, pair), 4);
    assert_memory_equal(pair, ((int64_t[]){3, 2, 0, 3, 2, 0, 2, 3}), sizeof pair);
    int64_t all[32];
    assert_int_equal(mo_confusion_worst(&c, 16, all), 6);
    assert_memory_equal(all + 8, ((int64_t[]){1, 0, 0, 1}), 32);
    assert_int_equal(mo_confusion_worst(&c, 1, all), 1);
    assert_memory_equal(all, pair, 16);
}
