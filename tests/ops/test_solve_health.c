/* tests/ops/test_solve_with.c - the health of solves: condition numbers of LAPACK's kinds of matrices against inverses
 * in long double, policies in batches with one bad matrix, and gradients at a condition of 1e8 in float32 against
 * float64. */
#include "autograd/sample.h"
#include "tests/lapack_matrices.h"

#include <stdio.h>

static const fixtures around_each = {set_up, tear_down};

static void assert_message(fixture *f, mo_code code, const char *part) {
    const mo_status *status = mo_context_status(f->ctx);
    if (status->code != code || !strstr(status->message, part))
        fail_msg("code %d, \"%s\"; expected %d, \"%s\"", status->code, status->message, code, part);
    mo_clear_error(f->ctx);
}

static double figure(fixture *f, mo_tensor *T, int64_t i) {
    double *x = values_of(f, T), value = x[i];
    free(x);
    return value;
}

/* ---- condition numbers ---- */

/* |A^-1| by Gauss-Jordan in long double; infinite if A is singular. */
static double inverse_norm(const double *A, int n) {
    long double *W = calloc((size_t)(2 * n * n) + 1, sizeof *W);
    double *V = zeros(n, n), size;
    bool singular = false;
    for (int i = 0; i < n; i++) {
        W[i * 2 * n + n + i] = 1;
        for (int j = 0; j < n; j++)
            W[i * 2 * n + j] = A[i * n + j];
    }
    for (int k = 0; k < n; k++) {
        int row = k;
        for (int i = k + 1; i < n; i++)
            row = fabsl(W[i * 2 * n + k]) > fabsl(W[row * 2 * n + k]) ? i : row;
        long double pivot = W[row * 2 * n + k];
        singular |= pivot == 0;
        for (int j = 0; j < 2 * n; j++) {
            long double held = W[k * 2 * n + j];
            W[k * 2 * n + j] = W[row * 2 * n + j] / (pivot == 0 ? 1 : pivot);
            W[row * 2 * n + j] = row == k ? W[k * 2 * n + j] : held;
        }
        for (int i = 0; i < n; i++) {
            long double factor = W[i * 2 * n + k];
            for (int j = 0; i != k && j < 2 * n; j++)
                W[i * 2 * n + j] -= factor * W[k * 2 * n + j];
        }
    }
    for (int i = 0; i < n * n; i++)
        V[i] = (double)W[i / n * 2 * n + n + i % n];
    size = singular ? INFINITY : norm(V, n, n);
    free(W);
    free(V);
    return size;
}

typedef struct tally {
    int compared;
    double worst; /* factor between a figure and the true one */
} tally;

/* The figures of one matrix. A float64 matrix near 1 / eps has the condition number of its rounding errors. */
static void check_condition(fixture *f, kind k, bool spd, mo_dtype dtype, int n, tally *sum) {
    double *A = zeros(n, n), *B = normals(f, n, 2), size;
    (spd ? draw_spd : draw_general)(f, A, n, condition_of(k, dtype));
    if (k > OVER)
        shape_kind(A, n, k, spd, dtype);
    mo_tensor *a = matrix(f, dtype, n, n, A), *b = matrix(f, dtype, n, 2, B);
    mo_solve_health h;
    mo_solve_with(f->t, a, b, &(mo_solve_options){.policy = MO_SOLVE_NAN, .spd = spd}, &h);
    double rcond = figure(f, h.rcond, 0), word = figure(f, h.info, 0), error = figure(f, h.error, 0);
    size = norm(A, n, n);
    double expected = 1 / size / inverse_norm(A, n), off = rcond > expected ? rcond / expected : expected / rcond;
    if (is_singular(k, n)) {
        if (!(rcond == 0 && word > 0 && error == 1))
            fail_msg("%s, n = %d: rcond %g, info %g, error %g", kinds[k], n, rcond, word, error);
    } else {
        bool rounding = dtype == MO_F64 && expected < 10 * DBL_EPSILON;
        if (rounding ? !(rcond < 1000 * DBL_EPSILON) : !(off < 10))
            fail_msg("%s, n = %d, %s: rcond %g, expected %g", kinds[k], n, mo_dtype_name(dtype), rcond, expected);
        sum->worst = rounding ? sum->worst : fmax(sum->worst, off);
        if (word == 0)
            assert_true(figure(f, h.residual, 0) < threshold);
        assert_true(fabs(error - fmin(1, epsilon(dtype) / rcond)) <= 1e-12 * error);
    }
    assert_true(figure(f, h.lambda, 0) == 0);
    sum->compared++;
    free(A);
    free(B);
    mo_tape_reset(f->t);
}

TEST(condition_numbers_are_right_within_a_factor_of_ten) {
    static const int orders[] = {1, 2, 3, 5, 10, 50};
    tally sum = {0};
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < 6 * 4; i++)
            if (!(i & 1) || (k != UPPER && k != LOWER))
                check_condition(*state, (kind)k, i & 1, i & 2 ? MO_F64 : MO_F32, orders[i / 4], &sum);
    print_message("%d matrices, off by a factor of %.6f at most\n", sum.compared, sum.worst);
    assert_true(sum.compared > 200);
}

/* I + e_1 v^T with v = (0, 1, .., 1) and its transpose: their norms, and those of their inverses, are 2 by columns and
 * n by rows. */
TEST(condition_numbers_are_those_of_columns) {
    enum { N_WIDE = 50 };
    fixture *f = *state;
    for (int turned = 0; turned < 2; turned++) {
        double *A = zeros(N_WIDE, N_WIDE), expected = turned ? 1.0 / N_WIDE / N_WIDE : 0.25;
        for (int i = 0; i < N_WIDE; i++)
            A[i * N_WIDE + i] = A[turned ? i * N_WIDE : i] = 1;
        mo_solve_health h;
        mo_solve_with(f->t, matrix(f, MO_F64, N_WIDE, N_WIDE, A), mo_full(f->t, MO_F64, 2, (int64_t[]){N_WIDE, 1}, 1),
            &(mo_solve_options){.policy = MO_SOLVE_NAN}, &h);
        double rcond = figure(f, h.rcond, 0);
        if (!(fabs(rcond - expected) < 1e-12))
            fail_msg("turned %d: rcond %g, expected %g", turned, rcond, expected);
        free(A);
    }
}

/* ---- batches ---- */

enum { N = 4, M = 2, BATCH = 3 };

static const int64_t matrices[] = {BATCH, N, N}, sides[] = {BATCH, N, M};

/* Matrices of condition 10; item 1 is singular: its second row and column are its first, or (spd) zero. */
typedef struct batch {
    double A[BATCH * N * N], B[BATCH * N * M];
    mo_tensor *xs[2];
} batch;

static batch draw_batch(fixture *f, mo_dtype dtype, bool spd) {
    batch b = {0};
    for (int i = 0; i < BATCH; i++) {
        double *A = b.A + i * N * N;
        (spd ? draw_spd : draw_general)(f, A, N, 10);
        for (int j = 0; j < N && i == 1; j++)
            A[1 * N + j] = spd ? 0 : A[j];
        for (int j = 0; j < N && i == 1 && spd; j++)
            A[j * N + 1] = 0;
    }
    for (int i = 0; i < BATCH * N * M; i++)
        b.B[i] = mo_random_normal(&f->r);
    b.xs[0] = mo_require_grad(tensor_of(f, dtype, 3, matrices, b.A));
    b.xs[1] = mo_require_grad(tensor_of(f, dtype, 3, sides, b.B));
    return b;
}

static void assert_same_items(fixture *f, mo_tensor *X, mo_tensor *Y, bool bad_too) {
    double *x = values_of(f, X), *y = values_of(f, Y);
    int64_t each = mo_numel(X) / BATCH;
    for (int i = 0; i < BATCH; i++)
        if ((i != 1 || bad_too) && memcmp(x + i * each, y + i * each, (size_t)each * sizeof *x))
            fail_msg("item %d has other bits", i);
    free(x);
    free(y);
}

static void assert_bad_item_is_nan(fixture *f, mo_tensor *X) {
    double *x = values_of(f, X);
    int64_t each = mo_numel(X) / BATCH;
    for (int64_t i = 0; i < mo_numel(X); i++)
        assert_true((bool)isnan(x[i]) == (i / each == 1));
    free(x);
}

static void gradients_of(fixture *f, mo_tensor *X, batch *b, mo_tensor *grads[2]) {
    mo_tensor *loss = mo_sum(f->t, mo_square(f->t, X), MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(f->t, &loss, NULL, 1, b->xs, grads, 2, 0), MO_OK);
}

static void for_each_form(fixture *f, void (*run)(fixture *f, mo_dtype dtype, bool spd)) {
    for (int i = 0; i < 4; i++) {
        run(f, i & 1 ? MO_F64 : MO_F32, i & 2);
        mo_tape_reset(f->t);
    }
}

static void run_error(fixture *f, mo_dtype dtype, bool spd) {
    batch b = draw_batch(f, dtype, spd);
    mo_solve_health h;
    assert_true(mo_is_null(mo_solve_with(f->t, b.xs[0], b.xs[1], &(mo_solve_options){.spd = spd}, &h)));
    assert_true(mo_is_null(h.rcond));
    assert_message(f, MO_NUMERICAL, "matrix 1 of 3 ");
    const mo_solve_options strict = {.spd = spd, .least_rcond = 1e-3};
    mo_solve_with(f->t, b.xs[0], b.xs[1], &strict, NULL);
    assert_message(f, MO_NUMERICAL, "solve_with: matrix 1 of 3 ");
}

static void run_nan(fixture *f, mo_dtype dtype, bool spd) {
    batch b = draw_batch(f, dtype, spd);
    mo_solve_health h;
    mo_tensor *grads[2], *expected[2];
    for (int strict = 0; strict < 2; strict++) {
        const mo_solve_options o = {.policy = MO_SOLVE_NAN, .spd = spd, .least_rcond = strict ? 1e-3 : 0};
        mo_tensor *X = mo_solve_with(f->t, b.xs[0], b.xs[1], &o, &h);
        mo_tensor *Y = (spd ? mo_solve_spd_or_nan : mo_solve_or_nan)(f->t, b.xs[0], b.xs[1]);
        assert_false(mo_needs_grad(h.rcond) || mo_needs_grad(h.residual) || mo_needs_grad(h.error));
        assert_bad_item_is_nan(f, X);
        assert_same_items(f, X, Y, false);
        gradients_of(f, X, &b, grads);
        gradients_of(f, Y, &b, expected);
        for (int i = 0; i < 2; i++)
            assert_same_items(f, grads[i], expected[i], false);
        assert_bad_item_is_nan(f, grads[0]);
        for (int i = 0; i < BATCH; i++) {
            assert_true((figure(f, h.info, i) != 0) == (i == 1));
            assert_true(i == 1 ? figure(f, h.rcond, i) < 1e-6 : figure(f, h.rcond, i) > 0.005);
        }
    }
}

/* X and its gradients are those of a solve with A + lambda I. */
static void run_shift(fixture *f, mo_dtype dtype, bool spd) {
    batch b = draw_batch(f, dtype, spd);
    mo_solve_health h;
    mo_tensor *grads[2], *expected[2];
    for (int strict = 0; strict < 2; strict++) {
        const mo_solve_options o = {.policy = MO_SOLVE_SHIFT, .spd = spd, .least_rcond = strict ? 1e-4 : 0};
        mo_tensor *X = mo_solve_with(f->t, b.xs[0], b.xs[1], &o, &h);
        double size = norm(b.A + N * N, N, N), lambda = figure(f, h.lambda, 1), least = strict ? 1e-4 : 0;
        assert_true(figure(f, h.lambda, 0) == 0 && figure(f, h.lambda, 2) == 0);
        assert_true(lambda >= 0.99 * epsilon(dtype) * size && lambda <= 1.01e-2 * size);
        assert_true(
            figure(f, h.info, 1) == 0 && figure(f, h.rcond, 1) >= least && figure(f, h.residual, 1) < threshold);
        assert_true(!strict || lambda < 0.1 * size); /* the smallest that helps, up to a factor of ten */
        mo_tensor *A = mo_add_diag(f->t, b.xs[0], mo_cast(f->t, h.lambda, dtype));
        mo_tensor *Y = (spd ? mo_solve_spd : mo_solve)(f->t, A, b.xs[1]);
        assert_same_items(f, X, Y, true);
        gradients_of(f, X, &b, grads);
        gradients_of(f, Y, &b, expected);
        for (int i = 0; i < 2; i++)
            assert_same_items(f, grads[i], expected[i], true);
    }
    mo_solve_options tight = {.policy = MO_SOLVE_SHIFT, .spd = spd, .least_rcond = 1e-2, .largest_shift = 1e-4};
    mo_solve_with(f->t, b.xs[0], b.xs[1], &tight, &h);
    assert_message(f, MO_NUMERICAL, "expected one of at most ");
}

TEST(a_bad_matrix_is_named) {
    for_each_form(*state, run_error);
}

TEST(a_bad_matrix_gives_nan_in_its_own_place) {
    for_each_form(*state, run_nan);
}

TEST(a_bad_matrix_is_solved_with_the_shift_that_helps) {
    for_each_form(*state, run_shift);
}

static void run_not_finite(fixture *f, mo_dtype dtype, bool spd) {
    batch b = draw_batch(f, dtype, spd);
    b.A[2 * N * N] = NAN;
    mo_tensor *A = tensor_of(f, dtype, 3, matrices, b.A);
    mo_solve_health h;
    mo_solve_with(f->t, A, b.xs[1], &(mo_solve_options){.policy = MO_SOLVE_NAN, .spd = spd}, &h);
    assert_true(figure(f, h.info, 2) == -1 && figure(f, h.rcond, 2) == 0 && figure(f, h.error, 2) == 1);
    assert_true(figure(f, h.info, 0) == 0 && figure(f, h.rcond, 0) > 0.005);
    b.A[N * N + 1 + N] += 1; /* the second matrix is regular now */
    A = tensor_of(f, dtype, 3, matrices, b.A);
    mo_solve_with(f->t, A, b.xs[1], &(mo_solve_options){.policy = MO_SOLVE_SHIFT, .spd = spd}, &h);
    assert_message(f, MO_NUMERICAL, "matrix 2 of 3 holds a value that is not finite");
    mo_solve_with(f->t, A, b.xs[1], &(mo_solve_options){.policy = MO_SOLVE_REFINE, .spd = spd}, &h);
    assert_message(f, MO_NUMERICAL, "matrix 2 of 3 holds a value that is not finite");
}

TEST(what_is_not_finite_is_told_apart) {
    for_each_form(*state, run_not_finite);
}

/* ---- no failure: the bits of the plain solve ---- */

static void run_plain(fixture *f, mo_dtype dtype, bool spd) {
    double A[N * N] = {0}, *B = normals(f, N, M);
    (spd ? draw_spd : draw_general)(f, A, N, 10);
    mo_tensor *a = mo_require_grad(matrix(f, dtype, N, N, A)), *b = matrix(f, dtype, N, M, B);
    double *y = values_of(f, (spd ? mo_solve_spd : mo_solve)(f->t, a, b));
    for (int k = 0; k < 8; k++) {
        mo_solve_options o = {.policy = (mo_solve_policy)(k / 2), .spd = spd};
        mo_solve_health h;
        double *x = values_of(f, mo_solve_with(f->t, a, b, &o, k & 1 ? &h : NULL));
        for (int i = 0; i < N * M; i++)
            assert_true(o.policy == MO_SOLVE_REFINE ? fabs(x[i] - y[i]) < 100 * epsilon(dtype) * fmax(1, fabs(y[i]))
                                                    : x[i] == y[i]);
        if (k & 1)
            assert_true(figure(f, h.lambda, 0) == 0 && mo_solve_warning(&h, 0, NULL, 0) == 0);
        free(x);
    }
    free(y);
    free(B);
}

TEST(matrices_that_do_not_fail_give_the_same_bits) {
    for_each_form(*state, run_plain);
}

/* ---- a condition of 1e8 in float32 ---- */

/* |X - Y| / |Y|, Frobenius. */
static double relative_error(fixture *f, mo_tensor *X, mo_tensor *Y) {
    double *x = values_of(f, X), *y = values_of(f, Y), error = 0, size = 0;
    for (int64_t i = 0; i < mo_numel(X); i++) {
        error += (x[i] - y[i]) * (x[i] - y[i]);
        size += y[i] * y[i];
    }
    free(x);
    free(y);
    return sqrt(error / size);
}

/* Errors of X and of the gradients of <G, X> under a policy, in float32, against float64 on the same numbers. */
static void errors_under(
    fixture *f, mo_solve_policy policy, bool spd, mo_tensor *const in[3], double errors[3], mo_solve_health *h) {
    mo_tensor *results[2][3];
    for (int wide = 0; wide < 2; wide++) {
        mo_tensor *xs[2], *G = mo_cast(f->t, in[2], wide ? MO_F64 : MO_F32);
        for (int i = 0; i < 2; i++)
            xs[i] = mo_require_grad(mo_stop_gradient(f->t, mo_cast(f->t, in[i], wide ? MO_F64 : MO_F32)));
        const mo_solve_options o = {.policy = policy, .spd = spd};
        mo_tensor *X = wide ? (spd ? mo_solve_spd : mo_solve)(f->t, xs[0], xs[1])
                       : h  ? mo_solve_with(f->t, xs[0], xs[1], &o, h)
                            : mo_solve_with(f->t, xs[0], xs[1], &o, NULL);
        results[wide][0] = X;
        assert_int_equal(mo_grad(f->t, &X, &G, 1, xs, results[wide] + 1, 2, MO_RETAIN), MO_OK);
    }
    for (int i = 0; i < 3; i++)
        errors[i] = relative_error(f, results[0][i], results[1][i]);
}

static void run_ill_conditioned(fixture *f, int n, int m, bool spd, double worst[3], int *solved) {
    double *A = zeros(n, n), *B = normals(f, n, m), *G = normals(f, n, m), errors[3];
    (spd ? draw_spd : draw_general)(f, A, n, 1e8);
    if (spd) /* rounding to float32 moves the smallest eigenvalue by as much as it is */
        for (int i = 0; i < n; i++)
            A[i * n + i] += 2e-7;
    mo_tensor *in[] = {matrix(f, MO_F32, n, n, A), matrix(f, MO_F32, n, m, B), matrix(f, MO_F32, n, m, G)};
    mo_solve_health h;
    char text[200];
    errors_under(f, MO_SOLVE_REFINE, spd, in, errors, &h);
    for (int i = 0; i < 3; i++) {
        if (!(errors[i] < 1e-4))
            fail_msg("n = %d, spd %d: error %d is %g", n, spd, i, errors[i]);
        worst[i] = fmax(worst[i], errors[i]);
    }
    assert_true(mo_solve_warning(&h, 1e-4, text, sizeof text) == 0 && !text[0]);
    assert_true(figure(f, h.rcond, 0) < 1e-6 && figure(f, h.residual, 0) < threshold);
    mo_solve_with(f->t, in[0], in[1], &(mo_solve_options){.policy = MO_SOLVE_NAN, .spd = spd}, &h);
    assert_int_equal(mo_solve_warning(&h, 0, text, sizeof text), 1);
    assert_non_null(strstr(text, "1 of 1 systems: errors above 0.01 in X and in its gradients; matrix 0 has the"));
    if (figure(f, h.info, 0) == 0) {
        errors_under(f, MO_SOLVE_ERROR, spd, in, errors, NULL);
        assert_true(errors[0] > 1e-4 && errors[2] > 1e-4 && errors[1] < 10 * figure(f, h.error, 0));
        ++*solved;
    }
    free(A);
    free(B);
    free(G);
    mo_tape_reset(f->t);
}

TEST(refined_gradients_are_right_where_float32_has_none) {
    static const int orders[] = {4, 10, 33, 70};
    double worst[3] = {0};
    int solved = 0;
    for (int i = 0; i < 16; i++)
        run_ill_conditioned(*state, orders[i / 4], i & 1 ? 5 : 1, i & 2, worst, &solved);
    print_message("condition 1e8: errors %.1e of X, %.1e of A_bar, %.1e of B_bar; float32 alone solves %d of 16\n",
        worst[0], worst[1], worst[2], solved);
    assert_true(solved > 2);
}

/* One factor forward and backward where float32's is good enough, a second one where it is not. */
TEST(the_float32_factor_is_kept_where_its_steps_shrink) {
    static const double conditions[] = {1e2, 1e4, 1e11};
    fixture *f = *state;
    for (int i = 0; i < 6; i++) {
        bool spd = i & 1;
        double A[10 * 10] = {0}, *B = normals(f, 10, 2);
        (spd ? draw_spd : draw_general)(f, A, 10, conditions[i / 2]);
        for (int k = 0; k < 10 && i == 5; k++)
            A[k * 11] += 2e-7; /* still positive definite in float32 */
        mo_tensor *xs[] = {matrix(f, MO_F32, 10, 10, A), matrix(f, MO_F32, 10, 2, B)}, *grads[2];
        mo_require_grad(xs[0]);
        mo_require_grad(xs[1]);
        int64_t before = mo_context_counters(f->ctx).factorizations;
        mo_tensor *X =
            mo_solve_with(f->t, xs[0], xs[1], &(mo_solve_options){.policy = MO_SOLVE_REFINE, .spd = spd}, NULL);
        assert_int_equal(mo_grad(f->t, &X, NULL, 1, xs, grads, 2, 0), MO_OK);
        int64_t factors = mo_context_counters(f->ctx).factorizations - before;
        if (i < 4 ? factors != 1 : factors < 1 || factors > 2 + (i == 5))
            fail_msg("condition %g, spd %d: %d factors", conditions[i / 2], spd, (int)factors);
        free(B);
        mo_tape_reset(f->t);
    }
}

/* The warning names the worst of a batch. */
TEST(the_warning_names_the_worst) {
    fixture *f = *state;
    double A[3 * 4] = {1, 0, 0, 1, 1, 0, 0, 1e-6, 1, 0, 0, 1e-4}, B[6] = {1, 1, 1, 1, 1, 1};
    mo_solve_health h;
    char text[200], small[20];
    mo_tensor *a = tensor_of(f, MO_F32, 3, (int64_t[]){3, 2, 2}, A),
              *b = tensor_of(f, MO_F32, 3, (int64_t[]){3, 2, 1}, B);
    mo_solve_with(f->t, a, b, NULL, &h);
    assert_int_equal(mo_solve_warning(&h, 0, text, sizeof text), 1);
    assert_string_equal(text,
        "solve_with: 1 of 3 systems: errors above 0.01 in X and in its gradients; matrix 1 has the "
        "reciprocal condition 1e-06, an error of up to 0.12");
    assert_int_equal(mo_solve_warning(&h, 1e-4, small, sizeof small), 2);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_int_equal(mo_solve_warning(&h, 0.5, text, sizeof text), 0);
    assert_string_equal(text, "");
}

/* ---- derivatives ---- */

static void solve_code(mo_tape *t, mo_tensor *const *in, int n, mo_tensor **out, int n_out, void *state) {
    (void)n, (void)n_out;
    mo_solve_options *o = state;
    mo_tensor *A = o->spd ? mo_add(t, in[0], mo_transpose(t, in[0])) : in[0];
    mo_solve_health h;
    out[0] = mo_solve_with(t, A, in[1], o, &h);
}

TEST(derivatives_of_every_policy_hold_to_order_two) {
    fixture *f = *state;
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    for (int k = 0; k < 8; k++) {
        mo_solve_options o = {.policy = (mo_solve_policy)(k / 2), .spd = k & 1, .least_rcond = 1e-8};
        const mo_sample_input draws[] = {
            {o.spd ? MO_DRAW_SPD : MO_DRAW_GENERAL, 3, {2, 4, 4}, 0}, {.ndim = 3, .shape = {2, 4, 2}}};
        mo_tensor *in[2];
        for (int i = 0; i < 2; i++)
            in[i] = mo_require_grad(mo_sample_tensor(f->ctx, &draws[i], MO_F64, &r));
        for (int order = 0; order <= 2; order += 2) {
            double tolerance = order == 0 ? 1e-10 : 1e-5;
            mo_check_result c = mo_check_function(f->ctx, solve_code, &o, in, 2, 1, order, tolerance, 3);
            if (!c.pass)
                fail_msg("policy %d, spd %d, order %d: %s", (int)o.policy, o.spd, order, c.worst);
        }
        for (int i = 0; i < 2; i++)
            mo_tensor_release(in[i]);
    }
}

/* ---- edges and wrong calls ---- */

static void run_edges(fixture *f, mo_dtype dtype, bool spd) {
    static const int64_t A[][3] = {{2, 0, 0}, {0, 3, 3}, {2, 3, 3}}, B[][3] = {{2, 0, 4}, {0, 3, 2}, {2, 3, 0}};
    for (int i = 0; i < 12; i++) {
        mo_solve_options o = {.policy = (mo_solve_policy)(i / 3), .spd = spd, .least_rcond = 1e-6};
        mo_tensor *I = mo_broadcast_to(f->t, mo_eye(f->t, dtype, A[i % 3][2]), 3, A[i % 3]);
        mo_tensor *X, *b = mo_full(f->t, dtype, 3, B[i % 3], 1);
        mo_solve_health h;
        X = mo_solve_with(f->t, I, b, &o, &h);
        assert_string_equal(mo_context_status(f->ctx)->message, "");
        assert_true(mo_dim(X, 2) == B[i % 3][2] && mo_ndim(h.rcond) == 1 && mo_dim(h.error, 0) == A[i % 3][0]);
        assert_int_equal(mo_solve_warning(&h, 0, NULL, 0), 0);
        for (int j = 0; j < A[i % 3][0]; j++)
            assert_true(figure(f, h.rcond, j) == 1 && figure(f, h.residual, j) == 0);
    }
}

TEST(systems_without_entries_are_healthy) {
    for_each_form(*state, run_edges);
}

TEST(wrong_calls_are_named) {
    fixture *f = *state;
    mo_tape *t = f->t;
    mo_tensor *I = mo_eye(t, MO_F64, 3), *b = mo_full(t, MO_F64, 2, (int64_t[]){3, 1}, 1);
    mo_tensor *rows = mo_full(t, MO_F64, 2, (int64_t[]){2, 1}, 1), *narrow = mo_cast(t, b, MO_F32);
    mo_solve_health h;
    mo_solve_with(t, I, rows, NULL, &h);
    assert_message(
        f, MO_INVALID, "solve_with: expected A [.., n, n] and B [.., n, m] with leading axes that broadcast");
    mo_solve_with(t, b, I, NULL, NULL);
    assert_message(f, MO_INVALID, "got [3, 1] float64, [3, 3] float64");
    mo_solve_with(t, I, narrow, NULL, &h);
    assert_message(f, MO_MISMATCH, "got [3, 3] float64, [3, 1] float32");
    mo_solve_with(t, I, NULL, NULL, &h);
    assert_message(f, MO_INVALID, "solve_with: input 1 is null");
    assert_true(mo_is_null(h.info) && mo_is_null(h.lambda));
    mo_solve_with(t, I, b, &(mo_solve_options){.policy = (mo_solve_policy)7}, &h);
    assert_message(f, MO_INVALID, "solve_with: policy 7, expected 0 to 3");
    mo_solve_with(t, I, b, &(mo_solve_options){.least_rcond = 2}, &h);
    assert_message(f, MO_INVALID, "solve_with: least_rcond 2, expected 0 to 1");
    mo_solve_with(t, I, b, &(mo_solve_options){.shift = -1}, &h);
    assert_message(f, MO_INVALID, "solve_with: shifts from -1 to 0.01, expected rising numbers above 0");
    mo_solve_with(t, I, b, &(mo_solve_options){.shift = 1, .largest_shift = 0.5}, &h);
    assert_message(f, MO_INVALID, "solve_with: shifts from 1 to 0.5");
}
