/* tests/models/test_state.c - a fitted head as a list of tensors: saved, loaded and applied in parts it gives the bits
 * of the fit; held-out logits are those of fits without the rows. For every head of the library, and for heads of a
 * user's own that have only `logits` or only a `residual`. */
#include "tests/drawn.h"
#include "tests/largest_difference.h"
#include "tests/scratch.h"

enum { ROWS = 14, WIDTH = 6, CLASSES = 3, NEW = 5 };

static mo_tensor *own_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *P = mo_matmul(t, mo_transpose(t, Ys), Zs);
    return mo_mul(t, mo_matmul(t, Zq, mo_transpose(t, P)), parameters[0]);
}

static mo_tensor *own_residual(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_tensor *X = mo_append_ones(t, Zs), *R = mo_tanh(t, mo_sub(t, mo_matmul(t, X, W), Ys));
    return mo_add(t, mo_matmul(t, mo_transpose(t, X), R), mo_mul(t, W, parameters[0]));
}

static const mo_head_parameter own_parameter[] = {{.name = "lambda", .value = 0.7}};
static const mo_head by_logits = {.abi = MO_HEAD_ABI,
    .size = sizeof by_logits,
    .name = "by_logits",
    .n_parameters = 1,
    .parameters = own_parameter,
    .logits = own_logits,
    .order = 2};
static const mo_head by_residual = {.abi = MO_HEAD_ABI,
    .size = sizeof by_residual,
    .name = "by_residual",
    .n_parameters = 1,
    .parameters = own_parameter,
    .residual = own_residual,
    .symmetric = true,
    .order = 2};

/* The heads of the library, then two of a user's own; NULL after the last. */
static const mo_head *head_at(int i) {
    int n = 0;
    while (mo_head_at(n))
        n++;
    return i < n ? mo_head_at(i) : i == n ? &by_logits : i == n + 1 ? &by_residual : NULL;
}

/* Rows in three classes about means of their own, and their labels; class CLASSES has no row. */
static mo_support draw_support(mo_tape *t, mo_dtype real, int absent) {
    double y[ROWS * (CLASSES + 1)] = {0};
    mo_tensor *means = mo_scale(t, drawn(t, MO_F64, 2, 2, (int64_t[]){CLASSES + 1, WIDTH}), 2, 0);
    for (int i = 0; i < ROWS; i++)
        y[i * (CLASSES + absent) + i % CLASSES] = 1;
    mo_tensor *Y = mo_from(t, MO_F64, 2, (int64_t[]){ROWS, CLASSES + absent}, y);
    mo_tensor *of_rows = mo_matmul(t, Y, mo_slice(t, means, MO_AXIS(0), 0, CLASSES + absent));
    mo_tensor *Z = mo_add(t, drawn(t, MO_F64, 1, 2, (int64_t[]){ROWS, WIDTH}), of_rows);
    return (mo_support){.Zs = mo_cast(t, Z, real), .Ys = mo_cast(t, Y, real)};
}

static mo_tensor *part(mo_tape *t, mo_tensor *X, int64_t first, int64_t stop) {
    return mo_contiguous(t, mo_slice(t, X, MO_AXIS(0), first, stop));
}

static void assert_same_bits(const mo_head *head, mo_tensor *A, mo_tensor *B) {
    double a[NEW * (CLASSES + 1)], b[NEW * (CLASSES + 1)];
    assert_int_equal(mo_numel(A), mo_numel(B));
    assert_true(mo_read_as(A, MO_F64, a) && mo_read_as(B, MO_F64, b));
    for (int64_t i = 0; i < mo_numel(A); i++)
        if (!(a[i] == b[i]))
            fail_msg("head %s: logit %d is %.17g, and %.17g from the saved state", head->name, (int)i, a[i], b[i]);
}

TEST_OF(a_saved_state_gives_the_bits_of_the_fit, scratch *s) {
    const mo_head *head;
    int checked = 0;
    for (int i = 0; (head = head_at(i)); i++)
        for (int how = 0; how < 6; how++, checked++) {
            mo_dtype real = how % 2 ? MO_F64 : MO_F32;
            HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
            mo_support support = draw_support(t, real, how / 2 % 2);
            if (how >= 4) /* far from 0: some heads compute in float64 */
                support.Zs = mo_scale(t, support.Zs, 1, 100);
            mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS],
                *rows = mo_cast(t, drawn(t, MO_F64, 3, 2, (int64_t[]){NEW, WIDTH}), real);
            mo_state fitted, loaded;
            assert_int_equal(mo_head_start(t, head, real, WIDTH, NULL, 1, parameter), MO_OK);
            assert_int_equal(mo_head_fit(t, head, &support, parameter, &fitted), MO_OK);
            mo_tensor *logits = mo_state_apply(t, &fitted, rows, NULL);
            assert_same_bits(head, logits, mo_head_apply(t, head, support.Zs, support.Ys, rows, parameter));

            HELD(mo_arrays) *arrays = mo_arrays_create(s->ctx);
            const char *path = scratch_path(s, "state.safetensors");
            assert_int_equal(mo_state_save(&fitted, arrays), MO_OK);
            assert_int_equal(mo_safetensors_write(arrays, "{}", path), MO_OK);
            HELD(mo_arrays) *read = mo_safetensors_read(s->ctx, path);
            assert_int_equal(mo_state_load(s->ctx, head, read, &loaded), MO_OK);
            mo_tensor *again = mo_state_apply(t, &loaded, rows, NULL);
            assert_same_bits(head, logits, again);
            mo_tensor *in_parts[] = {mo_state_apply(t, &loaded, part(t, rows, 0, 2), NULL),
                mo_state_apply(t, &loaded, part(t, rows, 2, NEW), NULL)};
            double scale = real == MO_F32 ? 1e-4 : 1e-10;
            mo_tensor *whole = mo_concat(t, in_parts, 2, MO_AXIS(0));
            mo_tensor *own = mo_slice(t, whole, MO_AXIS(1), 0, CLASSES);
            assert_true(
                largest_difference(mo_cast(t, mo_contiguous(t, own), MO_F64),
                    mo_cast(t, mo_contiguous(t, mo_slice(t, logits, MO_AXIS(1), 0, CLASSES)), MO_F64)) <= 100 * scale);
            mo_state_release(&loaded);
        }
    assert_int_equal(checked, 6 * 14);
}

/* Groups of one row and of two, in the dual form of a ridge and in the primal one (WIDTH + 1 below ROWS, or above). */
TEST_OF(held_out_logits_are_those_of_fits_without_the_rows, mo_context *ctx) {
    static const int64_t alone[] = {0, 1, 5, 13}, pairs[] = {0, 1, 7, 5};
    const mo_head *head;
    int closed = 0;
    for (int i = 0; (head = head_at(i)); i++)
        for (int how = 0; how < 8; how++) {
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            mo_support support = draw_support(t, MO_F64, how & 4 ? 1 : 0);
            int64_t h = how & 1 ? 2 : 1, groups = 4 / h;
            if (how & 2)
                support.Zs = mo_concat(t,
                    (mo_tensor *[]){
                        support.Zs, mo_scale(t, support.Zs, 0.5, 0), drawn(t, MO_F64, 9, 2, (int64_t[]){ROWS, WIDTH})},
                    3, MO_AXIS(1));
            mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
            mo_state state;
            support.held_out = true;
            mo_head_start(t, head, MO_F64, mo_dim(support.Zs, 1), NULL, 1, parameter);
            assert_int_equal(mo_head_fit(t, head, &support, parameter, &state), MO_OK);
            mo_tensor *refit = mo_head_refit(t, head, &support, parameter, h == 1 ? alone : pairs, groups, h);
            expect_ok(ctx);
            assert_int_equal(mo_dim(refit, 0), groups);
            if (!head->held_out) {
                assert_true(mo_is_null(mo_state_held_out(t, &state, alone, groups, h)));
                assert_failed(ctx, MO_UNSUPPORTED, PARTS("no closed form"));
                continue;
            }
            mo_tensor *held = mo_state_held_out(t, &state, h == 1 ? alone : pairs, groups, h);
            expect_ok(ctx);
            mo_tensor *own[2] = {held, refit};
            for (int k = 0; k < 2; k++)
                own[k] = mo_contiguous(t, mo_slice(t, own[k], MO_AXIS(2), 0, CLASSES));
            double most = strncmp(head->name, "logistic", 8) ? 1e-8 : 1e-5; /* its refits end before rounding */
            if (!(largest_difference(own[0], own[1]) < most))
                fail_msg("head %s, case %d: held-out logits are not those of fits without the rows", head->name, how);
            closed++;
        }
    assert_true(closed >= 6 * 8);
}

/* Five folds of 60 rows with fewer columns than rows, and with more: refits that start from the fit of all rows take at
 * most 0.9 of the steps of refits from nothing, in the mean. */
TEST_OF(refits_start_from_the_fit_of_all_rows, mo_context *ctx) {
    enum { N = 60, FOLDS = 5 };
    static const mo_head *const heads[] = {&mo_head_logistic, &mo_head_logistic_penalised, &mo_head_svm};
    double y[N * CLASSES] = {0};
    for (int i = 0; i < N; i++)
        y[i * CLASSES + i % CLASSES] = 1;
    for (int k = 0; k < 6; k++) {
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        int64_t width = k % 2 ? 100 : 10;
        mo_tensor *Y = mo_from(t, MO_F64, 2, (int64_t[]){N, CLASSES}, y);
        mo_tensor *means = mo_matmul(t, Y, drawn(t, MO_F64, 2, 2, (int64_t[]){CLASSES, width}));
        mo_support support = {
            .Zs = mo_add(t, drawn(t, MO_F64, 1, 2, (int64_t[]){N, width}), mo_scale(t, means, 0.5, 0)),
            .Ys = Y,
            .held_out = true};
        mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS], *logits[2];
        mo_state state;
        mo_head_start(t, heads[k / 2], MO_F64, width, &(double){1}, 1, parameter);
        assert_int_equal(mo_head_fit(t, heads[k / 2], &support, parameter, &state), MO_OK);
        int64_t steps[2] = {0};
        for (int fold = 0; fold < FOLDS; fold++)
            for (int how = 0; how < 2; how++) {
                int64_t row[N / FOLDS], before = mo_context_counters(ctx).fit_steps;
                for (int i = 0; i < N / FOLDS; i++)
                    row[i] = CLASSES * FOLDS * (i / CLASSES) + CLASSES * fold + i % CLASSES;
                logits[how] = how ? mo_head_refit(t, heads[k / 2], &support, parameter, row, 1, N / FOLDS)
                                  : mo_state_held_out(t, &state, row, 1, N / FOLDS);
                steps[how] += mo_context_counters(ctx).fit_steps - before;
                expect_ok(ctx);
            }
        assert_true(largest_difference(logits[0], logits[1]) < 1e-5);
        if (!(steps[0] <= 9 * steps[1] / 10))
            fail_msg("head %s, width %d: %d steps, %d from nothing", heads[k / 2]->name, (int)width, (int)steps[0],
                (int)steps[1]);
    }
}

TEST_OF(a_state_that_does_not_fit_is_refused, mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_support support = draw_support(t, MO_F64, 0);
    mo_tensor *lambda = mo_scalar(t, MO_F64, 1);
    mo_state state;
    assert_int_equal(mo_head_fit(t, &mo_head_ridge, &support, &lambda, &state), MO_OK);
    mo_state_apply(t, &state, mo_full(t, MO_F64, 2, (int64_t[]){2, WIDTH + 1}, 1), NULL);
    assert_failed(ctx, MO_INVALID, PARTS("head ridge: expected real rows of 2 axes and width 6", "[2, 7]"));
    mo_state_held_out(t, &state, (int64_t[]){0}, 1, 1);
    assert_failed(ctx, MO_STATE, PARTS("was not fitted to hold rows out"));
    support.held_out = true;
    mo_head_fit(t, &mo_head_ridge, &support, &lambda, &state);
    mo_state_held_out(t, &state, (int64_t[]){ROWS}, 1, 1);
    assert_failed(ctx, MO_INVALID, PARTS("row 14 of a support of 14 rows"));
    HELD(mo_arrays) *none = mo_arrays_create(ctx);
    assert_int_equal(mo_state_load(ctx, &mo_head_ridge, none, &state), MO_FORMAT);
    mo_clear_error(ctx);
    state = (mo_state){.head = &mo_head_prototype_inner, .d = WIDTH, .classes = CLASSES, .axes = 2, .real = MO_F64};
    mo_state_put(&state, "sums", lambda);
    mo_state_apply(t, &state, support.Zs, NULL);
    assert_failed(ctx, MO_FORMAT, PARTS("head prototype_inner: its state has no counts"));
}
