/* tests/models/test_head.c - what is checked on a head, its arguments, weights and result; values computed by hand;
 * every head of the library passes the checker, whose own test is test_wrong_rules.c. */
#include "tensor/storage.h"
#include "tests/drawn.h"
#include "tests/largest_difference.h"
#include "tests/rows_outside.h"

/* Applies the head to n_s = n_q = 4, d = 3, C = 2, and expects an error with this message. */
static void assert_refused(mo_context *ctx, const mo_head *head, int64_t n_q, const char *message) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Zs = mo_full(t, MO_F64, 2, (int64_t[]){4, 3}, 1), *Ys = mo_full(t, MO_F64, 2, (int64_t[]){4, 2}, 0.5);
    mo_tensor *Zq = mo_full(t, MO_F64, 2, (int64_t[]){n_q, 3}, 1);
    assert_true(mo_is_null(mo_head_apply(t, head, Zs, Ys, Zq, NULL)));
    assert_told(ctx, MO_INVALID, message);
}

TEST_OF(a_head_of_another_build_is_refused, mo_context *ctx) {
    mo_head old = mo_head_prototype_inner, small = mo_head_prototype_inner, empty = mo_head_prototype_inner;
    char message[160];
    old.abi = 1;
    snprintf(message, sizeof message, "head: abi 1 and size %zu, expected %d and %zu: rebuild it against this library",
        sizeof old, MO_HEAD_ABI, sizeof old);
    assert_refused(ctx, &old, 4, message);
    small.size = 8;
    snprintf(message, sizeof message, "head: abi %d and size 8, expected %d and %zu: rebuild it against this library",
        MO_HEAD_ABI, MO_HEAD_ABI, sizeof old);
    assert_refused(ctx, &small, 4, message);
    empty.logits = NULL;
    assert_refused(ctx, &empty, 4, "head prototype_inner: it has neither logits nor a linear fit nor a residual");
    mo_head untold = mo_head_prototype_inner;
    untold.n_samples = 3;
    assert_refused(ctx, &untold, 4, "head prototype_inner: 3 samples without a table of them");
}

TEST_OF(rows_and_labels_of_different_length_are_refused, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){4, 3}, 1), *Ys = mo_full(t, MO_F64, 2, (int64_t[]){5, 2}, 1);
    assert_true(mo_is_null(mo_head_apply(t, &mo_head_prototype_inner, Z, Ys, Z, NULL)));
    assert_told(ctx, MO_INVALID,
        "head prototype_inner: expected support [.., n_s, d], labels "
        "[.., n_s, C], queries [.., n_q, d]; got [4, 3], [5, 2], "
        "[4, 3]");
    for (int k = 0; k < 2; k++) { /* labels (k = 0) or queries (k = 1) of another batch size */
        mo_tensor *in[3];
        for (int i = 0; i < 3; i++)
            in[i] = mo_full(t, MO_F64, 3, (int64_t[]){i == 1 + k ? 3 : 2, 4, 3}, 1);
        assert_true(mo_is_null(mo_head_apply(t, &mo_head_prototype_inner, in[0], in[1], in[2], NULL)));
        assert_failed(ctx, MO_INVALID, PARTS("head prototype_inner: expected support [.., n_s, d]"));
    }
}

TEST_OF(every_head_passes_the_checker, mo_context *ctx) {
    const mo_head *head;
    int failed = 0;
    for (int i = 0; (head = mo_head_at(i)); i++) {
        mo_check_result r = mo_check_head(ctx, head, head->order, 5);
        assert_true(mo_ok(ctx));
        assert_true(r.samples >= 2);
        failed += !r.pass;
        if (!r.pass)
            print_message("%s: %s\n", head->name, r.worst);
    }
    assert_int_equal(failed, 0);
}

TEST(heads_are_found_by_name) {
    assert_ptr_equal(mo_find_head("ridge"), &mo_head_ridge);
    assert_ptr_equal(mo_find_head("prototype_inner"), &mo_head_prototype_inner);
    assert_null(mo_find_head("Ridge"));
}

/* ---- linear heads and prototypes; tests/golden has the ridge and its gradients ---- */

TEST_OF(ridge_names_itself_where_its_labels_do_not_fit, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *Zs = mo_full(t, MO_F32, 2, (int64_t[]){6, 9}, 1), *Ys = mo_full(t, MO_F32, 2, (int64_t[]){5, 3}, 1);
    mo_tensor *lambda = mo_scalar(t, MO_F32, 1), *row = mo_full(t, MO_F32, 1, (int64_t[]){6}, 1), *W, *b;
    mo_ridge_fit(t, Zs, Ys, lambda, MO_RIDGE_AUTO, &W, &b);
    assert_failed(
        ctx, MO_INVALID, PARTS("ridge_fit: expected Zs [.., n_s, d] and Ys [.., n_s, C]; got [6, 9], [5, 3]"));
    assert_true(mo_is_null(W) && mo_is_null(b));
    mo_ridge_fit(t, row, row, lambda, MO_RIDGE_AUTO, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("ridge_fit: expected Zs [.., n_s, d]", "got [6], [6]"));
    mo_ridge_fit(t, Zs, mo_full(t, MO_F64, 2, (int64_t[]){6, 3}, 1), lambda, MO_RIDGE_AUTO, &W, &b);
    assert_failed(ctx, MO_MISMATCH, PARTS("ridge_fit: Zs is float32, Ys float64, lambda float32"));
    mo_ridge_fit(t, Zs, NULL, lambda, MO_RIDGE_AUTO, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("ridge_fit: Ys is null"));
}

/* A row of weight 2 counts as two rows, a row of weight 0 as none: tested on W and b of every linear head. */
TEST_OF(a_weight_of_a_row_counts_equal_rows, mo_context *ctx) {
    static const mo_head *const heads[] = {&mo_head_ridge, &mo_head_ridge_intercept, &mo_head_logistic,
        &mo_head_logistic_penalised, &mo_head_svm, &mo_head_lda};
    enum { ROWS = 9, SEVERAL = 12 };
    const double weight[ROWS] = {2, 1, 3, 1, 1, 0, 1, 2, 1}; /* sum SEVERAL */
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (int64_t d = 4; d <= 20; d += 16) {
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            mo_tensor *Z = drawn(t, MO_F64, 1, 2, (int64_t[]){ROWS, d}), *parameters[MO_MAX_HEAD_PARAMETERS], *W[2], *b[2];
            double Y[ROWS * 3] = {0}, many_Z[SEVERAL * 20], many_Y[SEVERAL * 3] = {0};
            for (int i = 0, at = 0; i < ROWS; i++) {
                Y[i * 3 + i % 3] = 1;
                for (int copy = 0; copy < (int)weight[i]; copy++, at++) {
                    memcpy(many_Z + at * d, (const double *)mo_tensor_view(Z).data + i * d, (size_t)d * sizeof *many_Z);
                    many_Y[at * 3 + i % 3] = 1;
                }
            }
            assert_int_equal(mo_head_start(t, heads[h], MO_F64, d, NULL, 0, parameters), MO_OK);
            mo_head_fit(t, heads[h], Z, mo_from(t, MO_F64, 2, (int64_t[]){ROWS, 3}, Y),
                mo_from(t, MO_F64, 1, (int64_t[]){ROWS}, weight), parameters, &W[0], &b[0]);
            mo_head_fit(t, heads[h], mo_from(t, MO_F64, 2, (int64_t[]){SEVERAL, d}, many_Z),
                mo_from(t, MO_F64, 2, (int64_t[]){SEVERAL, 3}, many_Y), NULL, parameters, &W[1], &b[1]);
            assert_true(mo_ok(ctx));
            assert_true(largest_difference(W[0], W[1]) < 1e-7);
            assert_true(largest_difference(b[0], b[1]) < 1e-7);
        }
}

TEST_OF(weights_that_do_not_fit_are_named, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){4, 3}, 1), *Y = mo_full(t, MO_F64, 2, (int64_t[]){4, 2}, 0.5);
    mo_tensor *lambda = mo_scalar(t, MO_F64, 1), *W, *b;
    mo_head_fit(t, &mo_head_ridge, Z, Y, mo_full(t, MO_F64, 1, (int64_t[]){3}, 1), &lambda, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: expected weights [.., n_s]", "got [3], [4, 3]"));
    assert_true(mo_is_null(W) && mo_is_null(b));
    mo_head_fit(t, &mo_head_ridge, Z, Y, mo_full(t, MO_F64, 1, (int64_t[]){4}, -1), &lambda, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: a row has the weight -1, expected 0 or more"));
    mo_head_fit(t, &mo_head_prototype_cosine, Z, Y, NULL, &lambda, &W, &b);
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("head prototype_cosine: its logits are not linear in the queries"));
}

TEST_OF(prototypes_give_the_values_worked_by_hand, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double zs[] = {1, 0, 3, 0, 0, 2}, ys[] = {1, 0, 1, 0, 0, 1}, zq[] = {1, 1}, x[2];
    mo_tensor *Zs = mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, zs), *Ys = mo_from(t, MO_F64, 2, (int64_t[]){3, 2}, ys);
    mo_tensor *Zq = mo_from(t, MO_F64, 2, (int64_t[]){1, 2}, zq);
    assert_int_equal(mo_tensor_read(mo_head_apply(t, &mo_head_prototype_inner, Zs, Ys, Zq, NULL), x, sizeof x),
        MO_OK); /* prototypes P = (2, 0), (0, 2) */
    assert_true(x[0] == 2 && x[1] == 2);
    double shifted[] = {2, 1};
    Zq = mo_from(t, MO_F64, 2, (int64_t[]){1, 2}, shifted);
    assert_int_equal(
        mo_tensor_read(mo_head_apply(t, &mo_head_prototype_euclidean, Zs, Ys, Zq, NULL), x, sizeof x), MO_OK);
    assert_true(fabs(x[0] + 1) < 1e-12 && fabs(x[1] + 5) < 1e-12);
}

/* Returns logits without their mean over classes, as held-out logits are defined up to a constant per row. */
static mo_tensor *centred(mo_tape *t, mo_tensor *logits) {
    return mo_sub(t, logits, mo_mean(t, logits, MO_AXIS(1), MO_KEEP_AXES));
}

/* The folds have 20 rows together; the last two rows are in every fit. */
static void check_held_rows(mo_context *ctx, const mo_head *head, int n_folds) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    int64_t stop[20];
    mo_folds folds = {.n = n_folds, .stop = stop};
    for (int f = 0; f < n_folds; f++)
        stop[f] = 20 * (f + 1) / n_folds;
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS], *held;
    mo_tensor *Z = drawn(t, MO_F64, 9, 2, (int64_t[]){22, 4}), *Q = drawn(t, MO_F64, 10, 2, (int64_t[]){5, 4});
    int64_t label[22];
    for (int i = 0; i < 22; i++)
        label[i] = i % 3;
    mo_tensor *Y = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){22}, label), 3, MO_F64);
    mo_head_start(t, head, MO_F64, 4, NULL, 1, parameters);
    mo_tensor *logits = head->cross_validate(t, Z, Y, Q, parameters, &folds, &held);
    expect_ok(ctx);
    assert_true(largest_difference(logits, mo_head_apply(t, head, Z, Y, Q, parameters)) < 1e-7);
    for (int f = 0, first = 0; f < folds.n; first = (int)stop[f++]) {
        int64_t last = stop[f];
        mo_tensor *rest = rows_outside(t, Z, first, last), *of_rest = rows_outside(t, Y, first, last);
        mo_tensor *rows = mo_slice(t, Z, MO_AXIS(0), first, last), *found = mo_slice(t, held, MO_AXIS(0), first, last);
        mo_tensor *expected = mo_head_apply(t, head, rest, of_rest, rows, parameters);
        if (!(largest_difference(centred(t, found), centred(t, expected)) < 1e-6))
            fail_msg("head %s, fold %d: held-out logits are not those of a fit without the fold", head->name, f);
    }
}

TEST_OF(held_out_logits_are_those_of_fits_without_the_fold, mo_context *ctx) {
    const mo_head *head;
    int checked = 0;
    for (int i = 0; (head = mo_head_at(i)); i++)
        if (head->cross_validate) {
            check_held_rows(ctx, head, 3);
            check_held_rows(ctx, head, 20); /* more than MO_FOLDS_AT_ONCE: some heads fit them one by one */
            checked++;
        }
    assert_true(checked >= 7);
}

static void assert_numerical(mo_context *ctx, const mo_head *head, int64_t n_s, double parameter, const char *part) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    double z[] = {1, 2, 3, 1, 2, 3, 0, 1, 5, 2, 2, 2}, y[] = {1, 0, 0, 1, 1, 0, 0, 1}; /* rows 0 and 1 are equal */
    mo_tensor *Zs = mo_from(t, MO_F64, 2, (int64_t[]){n_s, 3}, z), *Ys = mo_from(t, MO_F64, 2, (int64_t[]){n_s, 2}, y);
    mo_tensor *value = mo_scalar(t, MO_F64, parameter);
    assert_true(mo_is_null(mo_head_apply(t, head, Zs, Ys, Zs, &value)));
    assert_failed(ctx, MO_NUMERICAL, PARTS(part));
}

TEST_OF(singular_systems_are_refused_with_their_rank, mo_context *ctx) {
    assert_numerical(ctx, &mo_head_ridge, 4, 0, "ridge: lambda is 0 and the support's Gram matrix has rank 3 of 4");
    assert_numerical(ctx, &mo_head_ridge_intercept, 4, 0, "rank 2 of 3");
    assert_numerical(ctx, &mo_head_lda, 4, 0, "lda: shrinkage is 0 and the covariance has rank 2 of 3");
    assert_numerical(ctx, &mo_head_lda, 1, 0.5,
        "lda: 1 labelled rows of 2 classes have no covariance; expected two rows of a class");
}
