/* tests/ops/test_svm_folds.c - Crammer-Singer machines without each fold, fitted together, equal machines fitted one by
 * one. */
#include "models/inside.h"
#include "tests/largest_difference.h"
#include "tests/rows_outside.h"
#include "tests/scratch.h"

enum { BATCH = 3, N = 30, D = 40, C = 4, FOLDS = 3 };

static const int64_t stop[FOLDS] = {9, 16, 26}; /* the last four rows are in every fit */
static const mo_folds folds = {FOLDS, stop};

/* Kinds of rows. copies: of other rows, with the same label or another, within a fold and across folds; soft: labels
 * are shares of several classes; lacking: only one fold has a class; narrow: fewer columns than rows. */
typedef struct kind {
    bool copies, soft, lacking, narrow;
} kind;

/* Returns the row that row i copies: an earlier row of its fold, with the same or another label; a row of another fold;
 * a row after the last fold; -1: no copy. */
static int source(int i) {
    return i == 5 || i == 6 ? 1 : i == 12 ? 10 : i == 20 ? 3 : i == 28 ? 27 : i == 29 ? 0 : -1;
}

static void draw(mo_tape *t, mo_dtype real, kind k, mo_tensor *in[3]) {
    static double x[BATCH * N * D], y[BATCH * N * C];
    double mean[C * D];
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 1);
    for (int i = 0; i < C * D; i++)
        mean[i] = 0.5 * mo_random_normal(&r);
    for (int i = 0; i < BATCH * N; i++) {
        int row = i % N, from = k.copies ? source(row) : -1, label = row % C;
        if (from >= 0 && row < 10)
            label = from % C;
        if (k.lacking && label == 0 && row >= stop[0])
            label = 1;
        for (int c = 0; c < C; c++)
            y[i * C + c] = k.soft ? 0.1 + 0.6 * (c == label) : c == label;
        for (int j = 0; j < D; j++)
            x[i * D + j] = from >= 0 ? x[(i - row + from) * D + j] : mean[row % C * D + j] + mo_random_normal(&r);
    }
    in[0] = mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){BATCH, N, D}, x), real);
    in[0] = mo_contiguous(t, mo_slice(t, in[0], MO_AXIS(2), 0, k.narrow ? 6 : D));
    in[1] = mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){BATCH, N, C}, y), real);
    in[2] = mo_cast(t, mo_scalar(t, MO_F64, k.soft ? 20 : 0.7), real);
}

/* Fits the machines with K = X X^T. */
static bool apply_folds(mo_tape *t, mo_tensor *const in[3], mo_tensor *out[2]) {
    mo_tensor *K = mo_matmul(t, in[0], mo_transpose(t, in[0]));
    return mo_svm_folds(t, (mo_tensor *[]){K, in[1], in[2]}, &folds, 0, out);
}

/* Returns the largest distance of the logits of the fits together from the head's, fit by fold; *size receives the
 * largest logit. */
static double distance(mo_tape *t, mo_tensor *const in[3], mo_tensor *all, mo_tensor *held, double *size) {
    mo_tensor *parameters[] = {in[2], mo_scalar(t, mo_tensor_dtype(in[2]), 0)};
    mo_tensor *F = mo_head_apply(t, &mo_head_svm, in[0], in[1], in[0], parameters);
    double worst = largest_difference(mo_cast(t, all, MO_F64), F);
    *size = mo_item(mo_max(t, mo_abs(t, F), MO_ALL, MO_DROP_AXES));
    for (int f = 0; f < FOLDS; f++) {
        int64_t first = f ? stop[f - 1] : 0;
        mo_tensor *rows = mo_slice(t, in[0], MO_AXIS(1), first, stop[f]);
        mo_tensor *X = rows_outside(t, in[0], first, stop[f]), *Y = rows_outside(t, in[1], first, stop[f]);
        mo_tensor *one = mo_head_svm.logits(t, X, Y, rows, parameters); /* a fold may hold all rows of a class */
        mo_tensor *mine = mo_slice(t, mo_cast(t, held, MO_F64), MO_AXIS(1), first, stop[f]);
        worst = fmax(worst, largest_difference(mo_contiguous(t, mine), one));
    }
    return worst;
}

/* Float32 is compared with float64: near the optimum alpha moves far for a small gain, so differences exceed
 * rounding. */
TEST_OF(folds_together_are_folds_one_by_one, mo_context *ctx) {
    for (int how = 0; how < 32; how++) {
        const kind k = {how & 1, how & 2, how & 4, how & 8};
        mo_dtype real = how & 16 ? MO_F32 : MO_F64;
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        mo_tensor *in[3], *wide[3], *held = NULL;
        draw(t, real, k, in);
        for (int i = 0; i < 3; i++)
            wide[i] = mo_cast(t, in[i], MO_F64);
        mo_tensor *all = mo_head_svm.cross_validate(
            t, in[0], in[1], in[0], (mo_tensor *[]){in[2], mo_scalar(t, MO_F64, 0)}, &folds, &held);
        double size = 0, worst = mo_ok(ctx) ? distance(t, wide, all, held, &size) : NAN;
        if (!(worst <= (real == MO_F64 ? 1e-9 : 1e-3) * fmax(size, 1)))
            fail_msg("case %d: off by %g of %g; %s", how, worst, size, mo_context_status(ctx)->message);
    }
}

/* If each item has its own penalty, a batch equals its items fitted alone. */
TEST_OF(every_item_has_its_penalty, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *in[3], *out[2], *alone[2];
    draw(t, MO_F64, (kind){.copies = true}, in);
    in[2] = mo_from(t, MO_F64, 1, (int64_t[]){BATCH}, (double[]){0.1, 3, 50});
    assert_true(apply_folds(t, in, out));
    for (int64_t b = 0; b < BATCH; b++) {
        mo_tensor *item[3];
        for (int i = 0; i < 3; i++)
            item[i] = mo_slice(t, in[i], MO_AXIS(0), b, b + 1);
        assert_true(apply_folds(t, item, alone));
        for (int i = 0; i < 2; i++)
            assert_true(largest_difference(mo_contiguous(t, mo_slice(t, out[i], MO_AXIS(0), b, b + 1)), alone[i]) == 0);
    }
}

/* Rows of zeros: alpha never moves, and that is the solution. */
TEST_OF(rows_of_zeros_have_logits_of_zero, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *in[3], *out[2];
    draw(t, MO_F64, (kind){0}, in);
    in[0] = mo_scale(t, in[0], 0, 0);
    assert_true(apply_folds(t, in, out));
    assert_true(largest_difference(out[0], in[1]) == 0);
    assert_true(mo_item(mo_max(t, mo_abs(t, out[1]), MO_ALL, MO_DROP_AXES)) == 0);
}

/* Without a penalty it returns false. A NaN is an error, and not an endless loop. */
TEST_OF(what_it_cannot_do_is_said, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *in[3], *out[2];
    draw(t, MO_F64, (kind){0}, in);
    mo_tensor *none[] = {in[0], in[1], mo_scale(t, in[2], 0, 0)};
    assert_false(apply_folds(t, none, out));
    assert_true(mo_ok(ctx) && mo_is_null(out[0]) && mo_is_null(out[1]));

    const double wrong[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        mo_tensor *broken[] = {mo_scale(t, in[0], wrong[i], 0), in[1], in[2]};
        assert_true(apply_folds(t, broken, out));
        assert_failed(ctx, MO_NUMERICAL, PARTS("svm_folds: the rows or lambda hold a value that is not finite"));
    }
}
