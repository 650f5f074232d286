/* tests/ops/test_logistic_folds.c - fits without each fold, computed together, equal fits computed one by one. */
#include "models/inside.h"
#include "tests/largest_difference.h"
#include "tests/rows_outside.h"
#include "tests/scratch.h"

enum { BATCH = 3, N = 44, D = 60, NARROW = 35, REPEATED = 36, C = 5, FOLDS = 3, HELD = 41 };

static const int64_t stop[FOLDS] = {15, 27, HELD}; /* the last three rows are in every fit */
static const mo_folds folds = {FOLDS, stop};
static const mo_fold_options usual = {MO_INTERCEPT_FREE, 0};

/* Draws rows around one mean per class, times `scale`. soft: labels are weights over several classes. narrow: fewer
 * columns than rows, and the rows from REPEATED on are copies with other labels, in the same fold or in another. */
static void draw(mo_tape *t, mo_dtype real, double scale, bool soft, bool narrow, mo_tensor *in[3]) {
    static double x[BATCH * N * D], y[BATCH * N * C];
    double mean[C * D];
    mo_random r = mo_random_at(7, MO_PURPOSE_CHECK, 1);
    for (int i = 0; i < C * D; i++)
        mean[i] = 0.5 * mo_random_normal(&r);
    for (int i = 0; i < BATCH * N; i++) {
        int label = i % N % C;
        for (int c = 0; c < C; c++)
            y[i * C + c] = (c == label) + (soft ? fabs(mo_random_normal(&r)) / 4 : 0);
        for (int j = 0; j < D; j++)
            x[i * D + j] =
                narrow && i % N >= REPEATED ? x[(i - 3) * D + j] : scale * (mean[label * D + j] + mo_random_normal(&r));
    }
    in[0] = mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){BATCH, N, D}, x), real);
    in[0] = mo_contiguous(t, mo_slice(t, in[0], MO_AXIS(2), 0, narrow ? NARROW : D));
    in[1] = mo_cast(t, mo_from(t, MO_F64, 3, (int64_t[]){BATCH, N, C}, y), real);
    in[2] = mo_cast(t, mo_from(t, MO_F64, 1, (int64_t[]){BATCH}, (double[]){0.3, 1, 20}), real);
}

static mo_tensor *readout(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_intercept intercept) {
    return mo_matmul(t, intercept == MO_INTERCEPT_FREE ? mo_append_ones(t, X) : X, W);
}

/* Returns the largest distance of the op's logits from those of mo_logistic, fold by fold; *size receives the largest
 * logit. */
static double distance(mo_tape *t, mo_tensor *const in[3], mo_intercept intercept, mo_tensor *out[2], double *size) {
    mo_tensor *F = readout(t, in[0], mo_logistic(t, in[0], in[1], in[2], intercept), intercept);
    double worst = largest_difference(readout(t, in[0], mo_cast(t, out[0], MO_F64), intercept), F);
    *size = mo_item(mo_max(t, mo_abs(t, F), MO_ALL, MO_DROP_AXES));
    for (int f = 0; f < FOLDS; f++) {
        int64_t first = f ? stop[f - 1] : 0;
        mo_tensor *X = rows_outside(t, in[0], first, stop[f]), *Y = rows_outside(t, in[1], first, stop[f]);
        mo_tensor *W = mo_logistic(t, X, Y, in[2], intercept);
        mo_tensor *rows = mo_slice(t, in[0], MO_AXIS(1), first, stop[f]);
        mo_tensor *held = mo_slice(t, mo_cast(t, out[1], MO_F64), MO_AXIS(1), first, stop[f]);
        worst = fmax(worst, largest_difference(mo_contiguous(t, held), readout(t, rows, W, intercept)));
    }
    return worst;
}

/* Scales from rows so small that the penalty decides, to rows that it lets separate far. There the shared inverse can
 * lose its digits: the op must then refuse, and not return a wrong result. Float32 is compared with float64. */
TEST_OF(folds_together_are_folds_one_by_one, mo_context *ctx) {
    static const double scales[] = {1e-4, 0.1, 1, 3, 30};
    for (int i = 0; i < 5; i++)
        for (int how = 0; how < 16; how++) {
            mo_intercept intercept = how & 1 ? MO_INTERCEPT_FREE : MO_INTERCEPT_NONE;
            mo_dtype real = how & 4 ? MO_F32 : MO_F64;
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            mo_tensor *in[3], *wide[3], *out[2];
            draw(t, real, scales[i], how & 2, how & 8, in);
            for (int k = 0; k < 3; k++)
                wide[k] = mo_cast(t, in[k], MO_F64);
            bool left = !mo_logistic_folds(t, in, &folds, &(mo_fold_options){intercept, 0}, out);
            bool moderate = i == 1 || i == 2;
            double size = 0, worst = left ? NAN : distance(t, wide, intercept, out, &size);
            if (!mo_ok(ctx) || !((left && !moderate) || worst <= (real == MO_F64 ? 1e-8 : 1e-3) * fmax(size, 1)))
                fail_msg("scale %g, case %d: off by %g of %g; %s", scales[i], how, worst, size,
                    mo_context_status(ctx)->message);
        }
}

/* Without a penalty, with a class that only one fold has, or with a NaN, the op returns false and does not loop
 * forever. */
TEST_OF(what_it_cannot_do_is_said, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *in[3], *out[2];
    draw(t, MO_F64, 1, false, false, in);
    mo_tensor *none[] = {in[0], in[1], mo_scale(t, in[2], 0, 0)};
    assert_false(mo_logistic_folds(t, none, &folds, &usual, out));
    assert_true(mo_ok(ctx) && mo_is_null(out[0]) && mo_is_null(out[1]));

    for (int64_t columns = 3; columns <= D; columns += D - 3) {
        mo_tensor *rows = mo_slice(t, mo_slice(t, in[0], MO_AXIS(1), 0, 5), MO_AXIS(2), 0, columns);
        mo_tensor *lacking[] = {rows, mo_slice(t, in[1], MO_AXIS(1), 0, 5), in[2]};
        assert_false(mo_logistic_folds(t, lacking, &(mo_folds){1, (int64_t[]){1}}, &usual, out));
        assert_true(mo_ok(ctx) && mo_is_null(out[0]) && mo_is_null(out[1]));
    }

    mo_tensor *broken[] = {mo_scale(t, in[0], NAN, 0), in[1], in[2]};
    assert_false(mo_logistic_folds(t, broken, &folds, &usual, out));
    assert_true(mo_ok(ctx));
}

/* Two groups of three equal rows, for which many fits do not converge in coordinates on the rows. The logits must be
 * those of one row per class with three times the weight, less the weight of the fold. */
TEST_OF(equal_rows_have_their_fits, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    const mo_head *head = mo_find_head("logistic");
    int left = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 2);
        double x[2 * 8];
        for (int i = 0; i < 2 * 8; i++)
            x[i] = mo_random_normal(&r);
        mo_tensor *two = mo_from(t, MO_F64, 2, (int64_t[]){2, 8}, x), *eye = mo_eye(t, MO_F64, 2), *held, *out[2];
        mo_tensor *lambda = mo_scalar(t, MO_F64, 0.7), *X = mo_concat(t, (mo_tensor *[]){two, two, two}, 3, MO_AXIS(0));
        mo_tensor *in[] = {X, mo_concat(t, (mo_tensor *[]){eye, eye, eye}, 3, MO_AXIS(0)), lambda};
        mo_folds pairs = {3, (int64_t[]){2, 4, 6}};
        left += !mo_logistic_folds(t, in, &pairs, &usual, out);
        mo_tensor *all = head->cross_validate(t, in[0], in[1], two, &lambda, &pairs, &held);
        mo_tensor *W = mo_logistic(t, two, mo_scale(t, eye, 3, 0), lambda, MO_INTERCEPT_FREE);
        mo_tensor *V = mo_logistic(t, two, mo_scale(t, eye, 2, 0), lambda, MO_INTERCEPT_FREE);
        if (!mo_ok(ctx))
            fail_msg("seed %llu: %s", (unsigned long long)seed, mo_context_status(ctx)->message);
        assert_true(largest_difference(all, readout(t, two, W, MO_INTERCEPT_FREE)) < 1e-6);
        assert_true(largest_difference(held, readout(t, X, V, MO_INTERCEPT_FREE)) < 1e-6);
        mo_tape_reset(t);
    }
    print_message("%d of 60 were left to logistic\n", left);
}
