/* tests/ops/test_reduce.c - sum, mean, variance, max and logsumexp over every set of axes, against loops; with
 * empty axes. (test_values.c has ties and extreme values.) */
#include "ops/inside.h"
#include "tests/toy_ops.h"

static const int64_t cube[] = {2, 3, 4};

/* A float64 leaf [2, 3, 4] of distinct values, shuffled. */
static mo_tensor *cube_leaf(mo_context *ctx) {
    double x[24];
    for (int i = 0; i < 24; i++)
        x[i] = 0.25 * ((i * 7) % 24) - 2;
    return mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 3, cube, x));
}

/* Reduces the cube by a plain loop: out[k] for kept index k. Returns the number of kept indices. */
static int loop_reduction(const double *x, unsigned axes, char kind, double *out) {
    int n = 0, terms = 0;
    for (int k = 0; k < 24; k++)
        out[k] = kind == 'm' ? -INFINITY : 0;
    for (int i = 0; i < 24; i++) {
        int index[] = {i / 12, i / 4 % 3, i % 4}, k = 0;
        for (int a = 0; a < 3; a++)
            if (!(axes >> a & 1))
                k = k * (int)cube[a] + index[a];
        n = k + 1 > n ? k + 1 : n;
        out[k] = kind == 'm' ? fmax(out[k], x[i]) : out[k] + (kind == 'l' ? exp(x[i]) : x[i]);
    }
    terms = 24 / n;
    for (int k = 0; k < n; k++)
        out[k] = kind == 'l' ? log(out[k]) : kind == 'a' ? out[k] / terms : out[k];
    return n;
}

static void check_reduction(toy *y, mo_tensor *X, unsigned axes, mo_reduced keep, char kind,
    mo_tensor *(*op)(mo_tape *, mo_tensor *, mo_axes, mo_reduced)) {
    double x[24], expected[24];
    mo_tensor_read(X, x, sizeof x);
    mo_tensor *Y = op(y->t, X, (mo_axes){axes}, keep);
    int n = loop_reduction(x, axes, kind, expected), axis = 0;
    assert_int_equal(mo_numel(Y), n);
    for (int a = 0; a < 3; a++)
        if (!(axes >> a & 1))
            assert_int_equal(mo_dim(Y, axis++), cube[a]);
        else if (keep)
            assert_int_equal(mo_dim(Y, axis++), 1);
    assert_int_equal(mo_ndim(Y), axis);
    for (int k = 0; k < n; k++)
        if (!(fabs(at(Y, k) - expected[k]) <= 1e-12))
            fail_msg("%c over 0x%x, element %d: %g, expected %g", kind, axes, k, at(Y, k), expected[k]);
}

TEST_OF(every_set_of_axes_matches_loops, toy *y) {
    HELD(mo_tensor) *X = cube_leaf(y->ctx);
    for (unsigned axes = 0; axes < 8; axes++)
        for (int keep = 0; keep < 2; keep++) {
            check_reduction(y, X, axes, keep, 's', mo_sum);
            check_reduction(y, X, axes, keep, 'a', mo_mean);
            check_reduction(y, X, axes, keep, 'm', mo_max);
            check_reduction(y, X, axes, keep, 'l', mo_logsumexp);
        }
}

static double entry(mo_tape *t, mo_tensor *Y, int64_t i) {
    return mo_item(mo_slice(t, Y, MO_AXIS(0), i, i + 1));
}

/* Added one by one in float32, 0.1 would be off by 1e-2 here; our result is the exact sum, rounded. */
BARE_TEST(float32_sum_of_a_million_keeps_seven_digits) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 2}); /* allocated first, as its threads
                                                                                     * keep scratch memory */
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = mo_full(t, MO_F32, 2, (int64_t[]){1000, 1000}, 0.1);
    const double exact = 1e6 * (double)0.1f;
    for (int turned = 0; turned < 2; turned++, X = mo_transpose(t, X)) {
        assert_true(fabs(mo_item(mo_sum(t, X, MO_ALL, MO_DROP_AXES)) - exact) <= 1e-7 * exact);
        double column = entry(t, mo_sum(t, X, MO_AXIS(0), MO_DROP_AXES), 999);
        assert_true(fabs(column - exact / 1000) <= 2e-7 * exact / 1000);
    }
}

TEST_OF(maximum_of_not_a_number_is_one, toy *y) {
    mo_tape *t = y->t;
    for (int i = 0; i < 300; i += 37) {
        float x[300] = {0};
        x[i] = NAN;
        mo_tensor *X = mo_from(t, MO_F32, 2, (int64_t[]){3, 100}, x), *columns = mo_max(t, X, MO_AXIS(0), MO_DROP_AXES);
        assert_true(isnan(mo_item(mo_max(t, X, MO_ALL, MO_DROP_AXES))));
        assert_true(isnan(entry(t, columns, i % 100)) && entry(t, columns, (i + 1) % 100) == 0);
    }
}

TEST_OF(negative_axes_count_from_the_end, toy *y) {
    HELD(mo_tensor) *X = cube_leaf(y->ctx);
    mo_tensor *(*const ops[])(mo_tape *, mo_tensor *, mo_axes, mo_reduced) = {mo_sum, mo_mean, mo_max, mo_logsumexp};
    for (int o = 0; o < 4; o++)
        for (int a = 0; a < 3; a++)
            for (int keep = 0; keep < 2; keep++) {
                int with = (a + 1) % 3;
                mo_tensor *A = ops[o](y->t, X, MO_AXES(a, with), keep ? MO_KEEP_AXES : MO_DROP_AXES);
                mo_tensor *B = ops[o](y->t, X, MO_AXES(a - 3, with), keep ? MO_KEEP_AXES : MO_DROP_AXES);
                assert_int_equal(mo_ndim(A), mo_ndim(B));
                for (int i = 0; i < mo_ndim(A); i++)
                    assert_int_equal(mo_dim(A, i), mo_dim(B, i));
                for (int64_t i = 0; i < mo_numel(A); i++)
                    assert_true(at(A, i) == at(B, i));
            }
    mo_sum(y->t, X, MO_AXIS(-4), MO_DROP_AXES);
    assert_failed(
        y->ctx, MO_INVALID, PARTS("sum: axes 0x10000000, expected bits below 3, or MO_AXIS(-3) to MO_AXIS(-1)"));
    mo_logsumexp(y->t, X, MO_AXIS(-4), MO_DROP_AXES);
    assert_failed(y->ctx, MO_INVALID, PARTS("logsumexp: axes 0x10000000", "or MO_AXIS(-3) to MO_AXIS(-1)"));
}

TEST_OF(no_axes_leave_the_tensor_and_several_are_refused_by_ops_of_one, toy *y) {
    HELD(mo_tensor) *X = cube_leaf(y->ctx);
    mo_tensor *same = mo_sum(y->t, X, (mo_axes){0}, MO_DROP_AXES);
    assert_int_equal(mo_numel(same), 24);
    for (int64_t i = 0; i < 24; i++)
        assert_true(at(same, i) == at(X, i));
    mo_softmax(y->t, X, MO_AXES(0, 1));
    assert_failed(y->ctx, MO_INVALID, PARTS("softmax: expected one axis", "found the set 0x3"));
    mo_slice(y->t, X, MO_ALL, 0, 1);
    assert_failed(y->ctx, MO_INVALID, PARTS("slice: expected one axis"));
    mo_stack(y->t, &X, 1, (mo_axes){0});
    assert_failed(y->ctx, MO_INVALID, PARTS("stack: expected one axis"));
}

TEST_OF(reductions_of_nothing_are_zero_or_an_error, toy *y) {
    mo_tensor *X = mo_tape_tensor(y->t, MO_F64, 2, (int64_t[]){2, 0});
    mo_tensor *S = mo_sum(y->t, X, MO_AXIS(1), MO_DROP_AXES);
    assert_values(S, 0, 0);
    assert_int_equal(mo_numel(mo_mean(y->t, X, MO_AXIS(0), MO_DROP_AXES)), 0);
    assert_int_equal(mo_numel(mo_max(y->t, X, MO_AXIS(0), MO_DROP_AXES)), 0);
    mo_mean(y->t, X, MO_AXIS(1), MO_DROP_AXES);
    assert_failed(y->ctx, MO_INVALID, PARTS("mean: over no elements; got [2, 0]"));
    mo_max(y->t, X, MO_AXIS(2), MO_DROP_AXES);
    assert_failed(
        y->ctx, MO_INVALID, PARTS("max: axes 0x4, expected bits below 2, or MO_AXIS(-2) to MO_AXIS(-1); got [2, 0]"));
}

/* The one-pass formula E x^2 - (E x)^2 would have no digit left. */
TEST_OF(variance_is_exact_about_a_large_mean, toy *y) {
    double x[] = {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 6};
    float single[] = {16777216 + 2, 16777216 + 4, 16777216 + 6, 16777216 + 12};
    mo_tensor *X = mo_from(y->t, MO_F64, 2, (int64_t[]){2, 2}, x),
              *S = mo_from(y->t, MO_F32, 1, (int64_t[]){4}, single);
    assert_true(mo_item(mo_var(y->t, X, MO_ALL, MO_DROP_AXES, 0)) == 3.5);
    assert_true(fabs(mo_item(mo_var(y->t, X, MO_ALL, MO_DROP_AXES, 1)) - 14.0 / 3) < 1e-15);
    assert_true(mo_item(mo_var(y->t, S, MO_ALL, MO_KEEP_AXES, 0)) == 14);
    assert_values(mo_var(y->t, X, MO_AXIS(1), MO_DROP_AXES, 0), 0.25, 2.25);
    mo_var(y->t, X, MO_AXIS(1), MO_DROP_AXES, 2);
    assert_failed(y->ctx, MO_INVALID, PARTS("var: correction 2, expected 0 or more and less than the 2 elements"));
}

TEST_OF(sum_to_undoes_broadcasting, toy *y) {
    double x[24];
    for (int i = 0; i < 24; i++)
        x[i] = i;
    mo_tensor *X = mo_from(y->t, MO_F64, 3, cube, x);
    assert_ptr_equal(mo_sum_to(y->t, X, 3, cube), X);
    mo_tensor *row = mo_sum_to(y->t, X, 1, (int64_t[]){4}), *column = mo_sum_to(y->t, X, 2, (int64_t[]){3, 1});
    assert_int_equal(mo_ndim(row), 1);
    assert_int_equal(mo_ndim(column), 2);
    assert_true(at(row, 1) == 1 + 5 + 9 + 13 + 17 + 21);
    assert_true(at(column, 1) == 4 + 5 + 6 + 7 + 16 + 17 + 18 + 19);
    assert_true(mo_item(mo_sum_to(y->t, X, 0, NULL)) == 276);
    mo_tensor *ones = mo_full(y->t, MO_F64, 3, (int64_t[]){1, 1, 4}, 2);
    assert_true(at(mo_sum_to(y->t, ones, 1, (int64_t[]){4}), 3) == 2);
    mo_sum_to(y->t, X, 2, (int64_t[]){3, 2});
    assert_failed(y->ctx, MO_INVALID, PARTS("sum_to: [2, 3, 4], expected a shape that [3, 2] broadcasts to"));
    mo_sum_to(y->t, row, 2, (int64_t[]){1, 4});
    assert_failed(y->ctx, MO_INVALID, PARTS("sum_to: [4]"));
}

TEST_OF(argmax_finds_the_first_largest_along_any_axis, toy *y) {
    HELD(mo_tensor) *X = cube_leaf(y->ctx);
    double x[24];
    mo_tensor_read(X, x, sizeof x);
    for (int axis = -3; axis < 3; axis++) {
        int a = axis < 0 ? axis + 3 : axis, inner = a == 2 ? 1 : a == 1 ? 4 : 12, m = (int)cube[a];
        int64_t place[24];
        mo_tensor *index = mo_argmax(y->t, X, MO_AXIS(axis));
        assert_int_equal(mo_numel(index), 24 / m);
        assert_int_equal(mo_ndim(index), 2);
        assert_int_equal(mo_dim(index, 0), cube[a == 0]);
        mo_tensor_read(index, place, (size_t)(24 / m) * sizeof *place);
        for (int k = 0; k < 24 / m; k++) {
            const double *line = x + k / inner * inner * m + k % inner;
            for (int i = 0; i < m; i++)
                assert_true(i == place[k] || line[i * inner] < line[place[k] * inner]);
        }
    }
    mo_tensor *ties = mo_from(y->t, MO_F64, 2, (int64_t[]){2, 3}, (double[]){1, 4, 4, 5, 5, 5});
    assert_true(mo_item(mo_slice(y->t, mo_argmax(y->t, ties, MO_AXIS(1)), MO_AXIS(0), 0, 1)) == 1);
    assert_true(mo_item(mo_slice(y->t, mo_argmax(y->t, ties, MO_AXIS(1)), MO_AXIS(0), 1, 2)) == 0);
    mo_argmax(y->t, X, MO_AXIS(3));
    assert_failed(y->ctx, MO_INVALID, PARTS("argmax: axes 0x8, expected bits below 3"));
}
