/* tests/models/test_head.c - what is checked on a head, its arguments, weights and result; values computed by hand;
 * every head of the library passes the checker, whose own test is test_wrong_rules.c. */
#include "tensor/objects.h"
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
    empty.fit = NULL;
    empty.apply = NULL;
    empty.held_out = NULL;
    assert_refused(ctx, &empty, 4, "head prototype_inner: it has 0 of fit, logits and residual, expected one of them");
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
        "[.., n_s, C], queries [.., n_q, d], with a row and a class at least; got [4, 3], [5, 2], "
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
    for (int i = 0; (head = mo_head_at(i)); i++)
        for (int order = 1; order <= head->order; order++) { /* weights and held_out are checked with the first */
            mo_check_result r = mo_check_head(ctx, head, order, 5);
            assert_true(mo_ok(ctx));
            assert_true(r.samples >= 2);
            failed += !r.pass;
            if (!r.pass)
                print_message("%s: %s\n", head->name, r.worst);
        }
    assert_int_equal(failed, 0);
}

TEST_OF(a_batch_of_no_episodes_has_no_logits, mo_context *ctx) {
    const mo_head *head;
    for (int i = 0; (head = mo_head_at(i)); i++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
        mo_tensor *Zs = mo_full(t, MO_F32, 3, (int64_t[]){0, 6, 4}, 1),
                  *Ys = mo_full(t, MO_F32, 3, (int64_t[]){0, 6, 2}, 1);
        mo_tensor *Zq = mo_full(t, MO_F32, 3, (int64_t[]){0, 5, 4}, 1), *parameters[MO_MAX_HEAD_PARAMETERS];
        assert_int_equal(mo_head_start(t, head, MO_F32, 4, NULL, 0, parameters), MO_OK);
        mo_tensor *logits = mo_head_apply(t, head, Zs, Ys, Zq, parameters);
        assert_int_equal(mo_context_status(ctx)->code, MO_OK);
        assert_int_equal(mo_ndim(logits), 3);
        assert_true(mo_dim(logits, 0) == 0 && mo_dim(logits, 1) == 5 && mo_dim(logits, 2) == 2);
        mo_tensor *no_class = mo_full(t, MO_F32, 2, (int64_t[]){6, 0}, 1),
                  *rows = mo_full(t, MO_F32, 2, (int64_t[]){6, 4}, 1);
        mo_head_apply(t, head, rows, no_class, rows, parameters);
        assert_failed(ctx, MO_INVALID, PARTS(head->name, "with a row and a class at least", "[6, 0]"));
    }
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
            mo_tensor *Z = drawn(t, MO_F64, 1, 2, (int64_t[]){ROWS, d}), *parameters[MO_MAX_HEAD_PARAMETERS], *W[2],
                      *b[2];
            double Y[ROWS * 3] = {0}, many_Z[SEVERAL * 20], many_Y[SEVERAL * 3] = {0};
            for (int i = 0, at = 0; i < ROWS; i++) {
                Y[i * 3 + i % 3] = 1;
                for (int copy = 0; copy < (int)weight[i]; copy++, at++) {
                    memcpy(many_Z + at * d, (const double *)mo_tensor_view(Z).data + i * d, (size_t)d * sizeof *many_Z);
                    many_Y[at * 3 + i % 3] = 1;
                }
            }
            assert_int_equal(mo_head_start(t, heads[h], MO_F64, d, NULL, 0, parameters), MO_OK);
            mo_head_linear(t, heads[h], Z, mo_from(t, MO_F64, 2, (int64_t[]){ROWS, 3}, Y),
                mo_from(t, MO_F64, 1, (int64_t[]){ROWS}, weight), parameters, &W[0], &b[0]);
            mo_head_linear(t, heads[h], mo_from(t, MO_F64, 2, (int64_t[]){SEVERAL, d}, many_Z),
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
    mo_head_linear(t, &mo_head_ridge, Z, Y, mo_full(t, MO_F64, 1, (int64_t[]){3}, 1), &lambda, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: expected weights [.., n_s]", "got [3], [4, 3]"));
    assert_true(mo_is_null(W) && mo_is_null(b));
    mo_head_linear(t, &mo_head_ridge, Z, Y, mo_full(t, MO_F64, 1, (int64_t[]){4}, -1), &lambda, &W, &b);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: a row has the weight -1, expected 0 or more"));
    mo_head_linear(t, &mo_head_prototype_cosine, Z, Y, NULL, &lambda, &W, &b);
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

/* ---- classes without support, padding, rows far from 0 ---- */

enum { BATCH = 2, SUPPORT = 12, QUERIES = 5, WIDTH = 6, CLASSES = 4 };

/* Two episodes: rows about class means and `offset`, rounded to float32, and their one-hot labels. */
typedef struct episodes {
    mo_tensor *Zs, *Ys, *Zq, *parameters[MO_MAX_HEAD_PARAMETERS];
} episodes;

static episodes draw_episodes(mo_tape *t, const mo_head *head, mo_dtype real, double offset) {
    enum { ROWS = SUPPORT + QUERIES };
    float z[BATCH * ROWS * WIDTH];
    int64_t label[BATCH * SUPPORT];
    mo_random r = mo_random_at(31, MO_PURPOSE_CHECK, 0);
    episodes e;
    for (int i = 0; i < BATCH * ROWS; i++)
        for (int j = 0; j < WIDTH; j++)
            z[i * WIDTH + j] = (float)(offset + (i % ROWS % CLASSES == j ? 2 : 0) + mo_random_normal(&r));
    for (int i = 0; i < BATCH * SUPPORT; i++)
        label[i] = i % SUPPORT % CLASSES;
    mo_tensor *Z = mo_cast(t, mo_from(t, MO_F32, 3, (int64_t[]){BATCH, ROWS, WIDTH}, z), real);
    e.Zs = mo_slice(t, Z, MO_AXIS(1), 0, SUPPORT);
    e.Zq = mo_slice(t, Z, MO_AXIS(1), SUPPORT, ROWS);
    e.Ys = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){BATCH * SUPPORT}, label), CLASSES, real);
    e.Ys = mo_reshape(t, e.Ys, 3, (int64_t[]){BATCH, SUPPORT, CLASSES});
    mo_head_start(t, head, real, WIDTH, NULL, 3, e.parameters);
    return e;
}

/* Returns the sum of the logits times fixed numbers, where they are finite. */
static mo_tensor *mixed_logits(mo_tape *t, mo_tensor *logits) {
    int64_t shape[3] = {mo_dim(logits, 0), mo_dim(logits, 1), mo_dim(logits, 2)};
    mo_tensor *weight = mo_cast(t, drawn(t, MO_F64, 77, 3, shape), mo_tensor_dtype(logits));
    mo_tensor *finite = mo_greater_equal(t, logits, mo_scalar(t, mo_tensor_dtype(logits), -1e30));
    mo_tensor *zero = mo_scalar(t, mo_tensor_dtype(logits), 0);
    return mo_sum(t, mo_where(t, finite, mo_mul(t, logits, weight), zero), MO_ALL, MO_DROP_AXES);
}

/* Episode 0 lacks class 3, episode 1 lacks class 1: their logits are -infinity, those of the other classes are as if
 * the labels had no such column, and gradients of both orders are finite. */
TEST_OF(a_class_without_support_never_wins, mo_context *ctx) {
    static const int64_t lost[BATCH] = {3, 1};
    const mo_head *head;
    for (int i = 0; (head = mo_head_at(i)); i++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
        episodes e = draw_episodes(t, head, MO_F64, 0);
        double y[BATCH * SUPPORT * CLASSES] = {0}, x[QUERIES * CLASSES];
        for (int b = 0; b < BATCH; b++)
            for (int k = 0; k < SUPPORT; k++)
                y[(b * SUPPORT + k) * CLASSES + (k % CLASSES == lost[b] ? 0 : k % CLASSES)] = 1;
        mo_tensor *Ys = mo_from(t, MO_F64, 3, (int64_t[]){BATCH, SUPPORT, CLASSES}, y), *bar, *second;
        mo_tensor *Zs = mo_require_grad(mo_contiguous(t, e.Zs));
        mo_tensor *logits = mo_head_apply(t, head, Zs, Ys, e.Zq, e.parameters);
        expect_ok(ctx);
        for (int64_t b = 0; b < BATCH; b++) {
            mo_axes batch = MO_AXIS(0), last = MO_AXIS(-1);
            mo_tensor *of = mo_slice(t, Ys, batch, b, b + 1), *found = mo_slice(t, logits, batch, b, b + 1);
            mo_tensor *parts[] = {mo_slice(t, of, last, 0, lost[b]), mo_slice(t, of, last, lost[b] + 1, CLASSES)};
            mo_tensor *own[] = {mo_slice(t, found, last, 0, lost[b]), mo_slice(t, found, last, lost[b] + 1, CLASSES)};
            mo_tensor *expected = mo_head_apply(t, head, mo_slice(t, Zs, batch, b, b + 1), mo_concat(t, parts, 2, last),
                mo_slice(t, e.Zq, batch, b, b + 1), e.parameters);
            expect_ok(ctx);
            if (!(largest_difference(mo_concat(t, own, 2, last), expected) < 1e-9))
                fail_msg("head %s: a class without support changes another logit", head->name);
            mo_tensor_read(mo_contiguous(t, found), x, sizeof x);
            for (int q = 0; q < QUERIES; q++)
                if (!(x[q * CLASSES + lost[b]] == -INFINITY))
                    fail_msg("head %s: class %d without support has the logit %g", head->name, (int)lost[b],
                        x[q * CLASSES + lost[b]]);
        }
        mo_tensor *loss = mixed_logits(t, logits);
        assert_int_equal(mo_grad(t, &loss, NULL, 1, &Zs, &bar, 1, head->order > 1 ? MO_CREATE_GRAPH : 0), MO_OK);
        assert_true(isfinite(mo_item(mo_sum(t, bar, MO_ALL, MO_DROP_AXES))));
        if (head->order < 2)
            continue;
        mo_tensor *square = mo_sum(t, mo_square(t, bar), MO_ALL, MO_DROP_AXES);
        assert_int_equal(mo_grad(t, &square, NULL, 1, &Zs, &second, 1, MO_ALLOW_UNUSED), MO_OK);
        assert_true(isfinite(mo_item(mo_sum(t, second, MO_ALL, MO_DROP_AXES))));
    }
}

TEST_OF(a_linear_fit_gives_an_absent_class_the_bias_minus_infinity, mo_context *ctx) {
    const mo_head *head;
    for (int i = 0; (head = mo_head_at(i)); i++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        episodes e = draw_episodes(t, head, MO_F64, 0);
        mo_tensor *none = mo_scale(t, mo_slice(t, e.Ys, MO_AXIS(-1), 0, 1), 0, 0), *W, *b, *W_more, *b_more;
        mo_tensor *more = mo_concat(t, (mo_tensor *[]){e.Ys, none}, 2, MO_AXIS(-1));
        if (head->apply)
            continue;
        mo_head_linear(t, head, e.Zs, e.Ys, NULL, e.parameters, &W, &b);
        mo_head_linear(t, head, e.Zs, more, NULL, e.parameters, &W_more, &b_more);
        expect_ok(ctx);
        assert_true(largest_difference(W, mo_slice(t, W_more, MO_AXIS(-1), 0, CLASSES)) < 1e-9);
        assert_true(largest_difference(b, mo_slice(t, b_more, MO_AXIS(-1), 0, CLASSES)) < 1e-9);
        assert_true(mo_item(mo_max(t, mo_slice(t, b_more, MO_AXIS(-1), CLASSES, CLASSES + 1), MO_ALL, MO_DROP_AXES)) ==
                    -INFINITY);
    }
}

/* The second episode has 8 rows; its other rows hold NaN and 7, and have the weight 0, or no weight but zeros as
 * labels. */
TEST_OF(a_row_of_weight_0_changes_nothing, mo_context *ctx) {
    enum { OWN = 8 };
    const mo_head *head;
    for (int i = 0; (head = mo_head_at(i)); i++)
        for (int marked = 0; marked < 2; marked++) {
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
            episodes e = draw_episodes(t, head, MO_F64, 0);
            double w[BATCH * SUPPORT], junk[BATCH * SUPPORT];
            for (int k = 0; k < BATCH * SUPPORT; k++) {
                w[k] = k < SUPPORT + OWN;
                junk[k] = w[k] != 0 ? 0 : k % 2 ? NAN : 7;
            }
            mo_tensor *weight = mo_from(t, MO_F64, 2, (int64_t[]){BATCH, SUPPORT}, w), *bar;
            mo_tensor *column = mo_with_axis(t, weight, MO_AXIS(-1), 1);
            mo_tensor *noise = mo_from(t, MO_F64, 3, (int64_t[]){BATCH, SUPPORT, 1}, junk);
            mo_tensor *Zs = mo_require_grad(mo_contiguous(t, mo_add(t, e.Zs, noise)));
            mo_tensor *Ys = marked ? mo_mul(t, e.Ys, column) : e.Ys;
            mo_support support = {.Zs = Zs, .Ys = Ys, .weight = marked ? NULL : weight};
            mo_state state;
            assert_int_equal(mo_head_fit(t, head, &support, e.parameters, &state), MO_OK);
            mo_tensor *logits = mo_state_apply(t, &state, e.Zq, NULL);
            mo_tensor *own[3], *all[] = {e.Zs, e.Ys, e.Zq};
            for (int k = 0; k < 3; k++) {
                own[k] = mo_slice(t, all[k], MO_AXIS(0), 1, 2);
                own[k] = k < 2 ? mo_slice(t, own[k], MO_AXIS(1), 0, OWN) : own[k];
            }
            mo_tensor *expected = mo_head_apply(t, head, own[0], own[1], own[2], e.parameters);
            expect_ok(ctx);
            if (!(largest_difference(mo_slice(t, logits, MO_AXIS(0), 1, 2), expected) < 1e-9))
                fail_msg("head %s: padding changes a logit", head->name);
            mo_tensor *loss = mixed_logits(t, logits);
            assert_int_equal(mo_grad(t, &loss, NULL, 1, &Zs, &bar, 1, 0), MO_OK);
            assert_true(isfinite(mo_item(mo_sum(t, bar, MO_ALL, MO_DROP_AXES))));
            mo_tensor *of_padding = mo_slice(t, mo_slice(t, bar, MO_AXIS(0), 1, 2), MO_AXIS(1), OWN, SUPPORT);
            assert_true(mo_item(mo_max(t, mo_abs(t, of_padding), MO_ALL, MO_DROP_AXES)) == 0);
        }
}

static mo_tensor *shifted_logits(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)parameters;
    return mo_matmul(t, Zq, mo_matmul(t, mo_transpose(t, Zs), Ys));
}

TEST_OF(an_episode_of_padding_alone_is_named, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    episodes e = draw_episodes(t, &mo_head_ridge, MO_F64, 0);
    double w[BATCH * SUPPORT] = {1, 1, 1};
    mo_tensor *weight = mo_from(t, MO_F64, 2, (int64_t[]){BATCH, SUPPORT}, w);
    const mo_support support = {.Zs = e.Zs, .Ys = e.Ys, .weight = weight};
    mo_state state;
    mo_head_fit(t, &mo_head_ridge, &support, e.parameters, &state);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: episode 1 has no support row"));
    const mo_head own = {.abi = MO_HEAD_ABI, .size = sizeof own, .name = "own", .logits = shifted_logits, .order = 2};
    mo_head_fit(t, &own, &support, NULL, &state);
    assert_int_equal(state.n, 0);
    assert_failed(ctx, MO_UNSUPPORTED, PARTS("head own: it takes no weights of rows"));
}

/* Returns the gradient by Zs of mixed logits, of which a number for each query is left out: it is the largest part of
 * the logits of rows far from 0. */
static mo_tensor *gradient_at(mo_context *ctx, mo_tape *t, const mo_head *head, mo_dtype real, double offset) {
    episodes e = draw_episodes(t, head, real, offset);
    mo_tensor *Zs = mo_require_grad(mo_contiguous(t, e.Zs)), *bar = NULL;
    mo_tensor *P =
        mo_softmax(t, mo_scale(t, mo_head_apply(t, head, Zs, e.Ys, e.Zq, e.parameters), 0.1, 0), MO_AXIS(-1));
    mo_tensor *loss = mixed_logits(t, P);
    mo_grad(t, &loss, NULL, 1, &Zs, &bar, 1, 0);
    if (!mo_ok(ctx))
        fail_msg("head %s at %g: %s", head->name, offset, mo_context_status(ctx)->message);
    return bar;
}

/* float32 gradients of rows of mean 100, 1000 and 10,000 and deviation 1 are compared with float64. Left out: inner
 * products, whose differences are lost in the logits themselves; and at the largest offsets three heads where the
 * rounding of the logits' adjoints alone, which are float32, is amplified above the bound. */
TEST_OF(rows_far_from_zero_have_gradients_in_float32, mo_context *ctx) {
    static const double offsets[] = {0, 100, 1e3, 1e4};
    const mo_head *head;
    for (int i = 0; (head = mo_head_at(i)); i++)
        for (int k = 0; k < 4; k++) {
            bool rounded = head == &mo_head_logistic_penalised || head == &mo_head_prototype_cosine;
            if (head == &mo_head_prototype_inner || (rounded && k > 1) || (head == &mo_head_svm && k > 2))
                continue;
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
            mo_tensor *found = mo_cast(t, gradient_at(ctx, t, head, MO_F32, offsets[k]), MO_F64);
            mo_tensor *expected = gradient_at(ctx, t, head, MO_F64, offsets[k]);
            double size = mo_item(mo_max(t, mo_abs(t, expected), MO_ALL, MO_DROP_AXES));
            double apart = largest_difference(mo_contiguous(t, found), expected);
            if (!(apart <= 1e-3 * size))
                fail_msg("head %s at %g: gradients are off by %g of %g", head->name, offsets[k], apart, size);
        }
}

TEST_OF(cosines_that_float32_cannot_tell_apart_are_refused, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    episodes e = draw_episodes(t, &mo_head_prototype_cosine, MO_F32, 1e4);
    mo_head_apply(t, &mo_head_prototype_cosine, e.Zs, e.Ys, e.Zq, e.parameters);
    assert_failed(ctx, MO_NUMERICAL, PARTS("head prototype_cosine: the rows lie so far from 0", "centre the rows"));
}

static mo_tensor *mixing_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_scale(t, shifted_logits(t, Zs, Ys, Zq, parameters), (double)mo_dim(Ys, -1), 0);
}

TEST_OF(a_head_that_claims_too_much_is_found, mo_context *ctx) {
    mo_head free = {.abi = MO_HEAD_ABI, .size = sizeof free, .name = "free", .logits = shifted_logits, .order = 2};
    mo_head separate = free;
    assert_true(mo_check_head(ctx, &free, 1, 5).pass);
    free.offset = MO_OFFSET_FREE;
    assert_false(mo_check_head(ctx, &free, 1, 5).pass);
    separate.logits = mixing_logits;
    assert_true(mo_check_head(ctx, &separate, 1, 5).pass);
    separate.separate_classes = true;
    mo_check_result r = mo_check_head(ctx, &separate, 1, 5);
    assert_false(r.pass);
    assert_non_null(strstr(r.worst, "set .separate_classes = false"));
}

static void wrong_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    (void)parameters;
    if (mo_dim(s->Zs, -2) != 3) /* else it puts nothing */
        mo_state_put(state, "W", mo_scalar(t, MO_F32, 1));
}

TEST_OF(results_of_a_linear_fit_are_checked, mo_context *ctx) {
    const mo_head own = {.abi = MO_HEAD_ABI, .size = sizeof own, .name = "own", .fit = wrong_fit, .order = 1};
    for (int64_t n = 3; n <= 4; n++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *Z = mo_full(t, MO_F64, 2, (int64_t[]){n, 3}, 1), *Y = mo_full(t, MO_F64, 2, (int64_t[]){n, 2}, 0.5);
        const char *part = n == 3 ? "gave W no tensor" : "gave W []";
        mo_tensor *W, *b;
        assert_int_equal(mo_head_linear(t, &own, Z, Y, NULL, NULL, &W, &b), MO_INVALID);
        assert_true(mo_is_null(W) && mo_is_null(b));
        assert_failed(ctx, MO_INVALID, PARTS("head own: its linear fit", part));
        assert_true(mo_is_null(mo_head_apply(t, &own, Z, Y, Z, NULL)));
        assert_failed(ctx, MO_INVALID, PARTS("head own: its linear fit", part));
    }
}

TEST_OF(a_start_that_has_no_room_is_refused, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *out[MO_MAX_HEAD_PARAMETERS];
    assert_int_not_equal(mo_head_start(t, &mo_head_mlp, MO_F64, (int64_t)1 << 56, NULL, 1, out), MO_OK);
    mo_clear_error(ctx);
    assert_int_not_equal(mo_head_start(t, &mo_head_mlp, MO_F64, (int64_t)1 << 59, NULL, 1, out), MO_OK);
    mo_clear_error(ctx);
    assert_int_equal(mo_head_start(t, &mo_head_ridge, MO_F64, 3, NULL, 1, NULL), MO_INVALID);
    mo_clear_error(ctx);
}

/* The second of two episodes has a NaN, or one class mean for all rows of a class. */
TEST_OF(lda_says_which_episode_has_no_covariance_and_why, mo_context *ctx) {
    for (int nan = 0; nan < 2; nan++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        episodes e = draw_episodes(t, &mo_head_lda, MO_F64, 0.1);
        double z[SUPPORT * WIDTH];
        for (int i = 0; i < SUPPORT * WIDTH; i++)
            z[i] = nan && i == 4 ? NAN : 0.1 + 0.7 * (i / WIDTH % CLASSES) + i % WIDTH / 3.0;
        mo_tensor *rows[] = {
            mo_slice(t, e.Zs, MO_AXIS(0), 0, 1), mo_from(t, MO_F64, 3, (int64_t[]){1, SUPPORT, WIDTH}, z)};
        mo_head_apply(t, &mo_head_lda, mo_concat(t, rows, 2, MO_AXIS(0)), e.Ys, e.Zq, e.parameters);
        assert_failed(ctx, MO_NUMERICAL,
            PARTS(
                "lda: the support rows", nan ? "episode 1 hold a value that is not finite" : "are equal in episode 1"));
    }
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
