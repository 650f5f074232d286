/* tests/ops/test_values.c - values and gradients that a reader can check by hand: functions at the edges of their
 * domains, at kinks, ties, infinities and NaN, and for special axes and shapes. The suites of registered ops check the
 * rest.
 *
 * A row is a function of one or two inputs with its expected values and, for the cotangent `bar`, its gradients. Every
 * row runs in float64 and float32. */
#include "ops/inside.h"
#include "tests/toy_ops.h"

enum { MOST = 8 };

typedef mo_tensor *(*function)(mo_tape *t, mo_tensor *X);
typedef mo_tensor *(*function_of_two)(mo_tape *t, mo_tensor *A, mo_tensor *B);

typedef struct row {
    const char *what;
    function f;
    function_of_two g;
    int64_t shape[2][2]; /* of each input: [n], or [m, n] */
    double in[2][MOST];
    int n; /* number of elements of the result */
    double out[MOST];
    double bar[MOST]; /* zeros: ones */
    double grad[2][MOST];
} row;

static mo_tensor *clamped(mo_tape *t, mo_tensor *X) {
    return mo_clamp(t, X, -1, 2);
}

static mo_tensor *leaky(mo_tape *t, mo_tensor *X) {
    return mo_leaky_relu(t, X, 0.25);
}

static mo_tensor *to_the_0(mo_tape *t, mo_tensor *X) {
    return mo_pow(t, X, 0);
}

static mo_tensor *to_the_1(mo_tape *t, mo_tensor *X) {
    return mo_pow(t, X, 1);
}

static mo_tensor *to_the_2(mo_tape *t, mo_tensor *X) {
    return mo_pow(t, X, 2);
}

static mo_tensor *to_the_3(mo_tape *t, mo_tensor *X) {
    return mo_pow(t, X, 3);
}

static mo_tensor *root(mo_tape *t, mo_tensor *X) {
    return mo_pow(t, X, 0.5);
}

static mo_tensor *softmax(mo_tape *t, mo_tensor *X) {
    return mo_softmax(t, X, MO_AXIS(-1));
}

static mo_tensor *logsumexp(mo_tape *t, mo_tensor *X) {
    return mo_logsumexp(t, X, MO_AXIS(-1), MO_DROP_AXES);
}

static mo_tensor *max_along(mo_tape *t, mo_tensor *X) {
    return mo_max(t, X, MO_AXIS(-1), MO_DROP_AXES);
}

static mo_tensor *max_down(mo_tape *t, mo_tensor *X) {
    return mo_max(t, X, MO_AXIS(0), MO_DROP_AXES);
}

static mo_tensor *max_of_all(mo_tape *t, mo_tensor *X) {
    return mo_max(t, X, MO_ALL, MO_DROP_AXES);
}

static mo_tensor *log_softmax(mo_tape *t, mo_tensor *X) {
    return mo_log_softmax(t, X, MO_AXIS(-1));
}

/* The loss of rows of two logits whose classes are 0, 1 and 1. */
static mo_tensor *cross_entropy(mo_tape *t, mo_tensor *X) {
    return mo_softmax_cross_entropy(t, X, mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 1}), 0.1);
}

static mo_tensor *layer_norm(mo_tape *t, mo_tensor *X) {
    return mo_layer_norm(t, X, 1e-4);
}

static mo_tensor *unit_rows(mo_tape *t, mo_tensor *X) {
    return mo_l2_normalize(t, X, 1e-6);
}

static mo_tensor *sorted(mo_tape *t, mo_tensor *X) {
    return mo_sort(t, X, MO_AXIS(-1));
}

static mo_tensor *two_largest(mo_tape *t, mo_tensor *X) {
    return mo_top_k(t, X, 2, MO_AXIS(0));
}

static mo_tensor *sums_down(mo_tape *t, mo_tensor *X) {
    return mo_cumsum(t, X, MO_AXIS(0));
}

static mo_tensor *sums_along(mo_tape *t, mo_tensor *X) {
    return mo_cumsum(t, X, MO_AXIS(-1));
}

static mo_tensor *real_condition(mo_tape *t, mo_tensor *C, mo_tensor *A) {
    return mo_where(t, C, A, mo_scalar(t, mo_tensor_dtype(A), 2));
}

/* Returns A where the mask (1, 0, 255) is not 0, else B. */
static mo_tensor *masked(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_where(t, mo_from(t, MO_U8, 1, (int64_t[]){3}, (uint8_t[]){1, 0, 255}), A, B);
}

#define INF INFINITY

static const row rows[] = {
    {"div", NULL, mo_div, {{2}, {2}}, {{1, 6}, {0, 2}}, 2, {INF, 3}, {0}, {{INF, 0.5}, {-INF, -1.5}}},
    {"div_or_zero", NULL, mo_div_or_zero, {{2}, {2}}, {{1, 6}, {0, 2}}, 2, {0, 3}, {0}, {{0, 0.5}, {0, -1.5}}},
    {"a column by a row", NULL, mo_mul, {{3, 1}, {2}}, {{1, 2, 3}, {10, 20}}, 6, {10, 20, 20, 40, 30, 60}, {0},
        {{30, 30, 30}, {6, 6}}},
    {"relu", mo_relu, NULL, {{3}}, {{0, -4, 2}}, 3, {0, 0, 2}, {0}, {{0, 0, 1}}},
    {"sqrt", mo_sqrt, NULL, {{2}}, {{0, -4}}, 2, {0, NAN}, {0}, {{INF, NAN}}},
    {"log", mo_log, NULL, {{2}}, {{0, -4}}, 2, {-INF, NAN}, {0}, {{INF, -0.25}}},
    {"abs", mo_abs, NULL, {{3}}, {{0, -3, NAN}}, 3, {0, 3, NAN}, {0}, {{0, -1, NAN}}},
    {"leaky_relu", leaky, NULL, {{4}}, {{0, -4, 4, NAN}}, 4, {0, -1, 4, NAN}, {0}, {{0.25, 0.25, 1, 0.25}}},
    {"clamp", clamped, NULL, {{5}}, {{-1, 2, 2.5, -1.5, NAN}}, 5, {-1, 2, 2, -1, NAN}, {0}, {{1, 1, 0, 0, 0}}},
    {"sigmoid", mo_sigmoid, NULL, {{4}}, {{1e4, -1e4, 0.5, NAN}}, 4, {1, 0, 0.62245933120185456, NAN}, {0},
        {{0, 0, 0.23500371220159449, NAN}}},
    {"softplus", mo_softplus, NULL, {{4}}, {{1e4, -1e4, 0.5, NAN}}, 4, {1e4, 0, 0.97407698418010668, NAN}, {0},
        {{1, 0, 0.62245933120185456, NAN}}},
    {"sin", mo_sin, NULL, {{3}}, {{0, 0.5, NAN}}, 3, {0, 0.47942553860420301, NAN}, {0},
        {{1, 0.87758256189037276, NAN}}},
    {"cos", mo_cos, NULL, {{3}}, {{0, 0.5, NAN}}, 3, {1, 0.87758256189037276, NAN}, {0},
        {{0, -0.47942553860420301, NAN}}},
    {"log1p", mo_log1p, NULL, {{3}}, {{0, 1e-9, -1}}, 3, {0, 9.999999995e-10, -INF}, {0}, {{1, 0.999999999, INF}}},
    {"erf", mo_erf, NULL, {{4}}, {{1e4, -1e4, 0.5, NAN}}, 4, {1, -1, 0.52049987781304652, NAN}, {0},
        {{0, 0, 0.87878257893544476, NAN}}},
    {"tanh", mo_tanh, NULL, {{4}}, {{1e4, -1e4, 0.5, NAN}}, 4, {1, -1, 0.46211715726000976, NAN}, {0},
        {{0, 0, 0.78644773296592741, NAN}}},
    {"gelu", mo_gelu, NULL, {{5}}, {{1e4, -1e4, 1, -0.5, NAN}}, 5,
        {1e4, 0, 0.84134474606854295, -0.15426876936299344, NAN}, {0},
        {{1, 0, 1.0833154705876864, 0.13250487534383716, NAN}}},
    {"x^0", to_the_0, NULL, {{1}}, {{0}}, 1, {1}, {0}, {{0}}},
    {"x^1", to_the_1, NULL, {{1}}, {{0}}, 1, {0}, {0}, {{1}}},
    {"x^2", to_the_2, NULL, {{1}}, {{0}}, 1, {0}, {0}, {{0}}},
    {"x^3", to_the_3, NULL, {{1}}, {{0}}, 1, {0}, {0}, {{0}}},
    {"x^0.5", root, NULL, {{1}}, {{0}}, 1, {0}, {0}, {{INF}}},
    {"A^B", NULL, mo_pow_entries, {{4}, {4}}, {{0, 0, 0, 2}, {0, 1, 2, 0}}, 4, {1, 0, 0, 1}, {0},
        {{0, 1, 0, 0}, {0, 0, 0, 0.69314718055994531}}},
    {"what is not taken does not pass", NULL, masked, {{3}, {3}}, {{1, NAN, 3}, {INF, 5, NAN}}, 3, {1, 5, 3},
        {NAN, 7, INF}, {{NAN, 0, INF}, {0, 7, 0}}},
    {"a condition of reals holds unless 0", NULL, real_condition, {{4}, {1}}, {{0, -0.0, -2, NAN}, {1}}, 4,
        {2, 2, 1, 1}, {0}, {{0, 0, 0, 0}, {2}}},
    {"larger, ties to the first", NULL, mo_larger, {{3}, {3}}, {{1, 2, 3}, {3, 2, 1}}, 3, {3, 2, 3}, {0},
        {{0, 1, 1}, {1, 0, 0}}},
    {"smaller, ties to the first", NULL, mo_smaller, {{3}, {3}}, {{1, 2, 3}, {3, 2, 1}}, 3, {1, 2, 1}, {0},
        {{1, 1, 0}, {0, 0, 1}}},
    {"larger, to the NaN", NULL, mo_larger, {{3}, {3}}, {{NAN, 1, NAN}, {1, NAN, NAN}}, 3, {NAN, NAN, NAN}, {0},
        {{1, 0, 1}, {0, 1, 0}}},
    {"smaller, to the NaN", NULL, mo_smaller, {{3}, {3}}, {{NAN, 1, NAN}, {1, NAN, NAN}}, 3, {NAN, NAN, NAN}, {0},
        {{1, 0, 1}, {0, 1, 0}}},
    {"softmax of large entries", softmax, NULL, {{3}}, {{1e4, 9999, -1e4}}, 3,
        {0.73105857863000487, 0.2689414213699951, 0}, {1, 0, 0}, {{0.19661193324148185, -0.19661193324148185, 0}}},
    {"softmax of masked entries", softmax, NULL, {{3}}, {{-INF, 2, -INF}}, 3, {0, 1, 0}, {0}, {{0, 0, 0}}},
    {"logsumexp of large entries", logsumexp, NULL, {{2, 2}}, {{1e4, 0, -2e4, -1e4}}, 2, {1e4, -1e4}, {0},
        {{1, 0, 0, 1}}},
    {"logsumexp of infinite entries", logsumexp, NULL, {{4, 2}}, {{INF, 1, INF, INF, -INF, 2, NAN, 0}}, 4,
        {INF, INF, 2, NAN}, {0}, {{NAN, 0, NAN, NAN, 0, 1, NAN, NAN}}},
    {"logsumexp of masked entries", logsumexp, NULL, {{2}}, {{-INF, -INF}}, 1, {-INF}, {0}, {{NAN, NAN}}},
    {"max, to the first of ties, along rows", max_along, NULL, {{2, 4}}, {{1, 5, 5, 5, 5, 2, 3, 5}}, 2, {5, 5}, {0},
        {{0, 1, 0, 0, 1, 0, 0, 0}}},
    {"max, to the first of ties, down columns", max_down, NULL, {{2, 4}}, {{1, 5, 5, 3, 5, 2, 5, 3}}, 4, {5, 5, 5, 3},
        {0}, {{0, 1, 1, 1, 1, 0, 0, 0}}},
    {"max, to the first of ties, over all", max_of_all, NULL, {{2, 4}}, {{1, 5, 5, 5, 5, 2, 3, 5}}, 1, {5}, {0},
        {{0, 1, 0, 0, 0, 0, 0, 0}}},
    {"log_softmax of large entries", log_softmax, NULL, {{3}}, {{1e4, 9999, -1e4}}, 3,
        {-0.31326168751822286, -1.3132616875182228, -20000.313261687518}, {1, 0, 0},
        {{0.2689414213699951, -0.2689414213699951, 0}}},
    {"softmax_cross_entropy", cross_entropy, NULL, {{3, 2}}, {{1e4, 9999, 0, 0, -1e4, 9999}}, 1, {333.66880295602635},
        {3}, {{-0.2189414213699951, 0.2189414213699951, 0.45, -0.45, -0.05, 0.05}}},
    {"layer_norm far from zero", layer_norm, NULL, {{2}}, {{1001, 1003}}, 2,
        {-0.99995000374968752, 0.99995000374968752}, {1, 1}, {{0, 0}}},
    {"l2_normalize of squares beyond float32", unit_rows, NULL, {{2}}, {{3e25, 4e25}}, 2, {0.6, 0.8}, {0}, {{0, 0}}},
    {"layer_norm of a constant row", layer_norm, NULL, {{2}}, {{7, 7}}, 2, {0, 0}, {1, 3}, {{-100, 100}}},
    {"layer_norm", layer_norm, NULL, {{2}}, {{1, 3}}, 2, {-0.99995000374968752, 0.99995000374968752}, {1, 1}, {{0, 0}}},
    {"l2_normalize", unit_rows, NULL, {{3, 2}}, {{3, 4, 0, 0, 3e-7, 4e-7}}, 6, {0.6, 0.8, 0, 0, 0.3, 0.4}, {0},
        {{(1 - 0.6 * 1.4) / 5, (1 - 0.8 * 1.4) / 5, 1e6, 1e6, 1e6, 1e6}}},
    {"row_norm", mo_row_norm, NULL, {{2, 2}}, {{3, 4, 0, 0}}, 2, {5, 0}, {0}, {{0.6, 0.8, 0, 0}}},
    {"sort: ties in order, NaN first", sorted, NULL, {{2, 4}}, {{1, 3, 3, 2, -1, NAN, 0, -2}}, 8,
        {3, 3, 2, 1, NAN, 0, -1, -2}, {1, 2, 3, 4, 5, 6, 7, 8}, {{4, 1, 2, 3, 7, 5, 6, 8}}},
    {"top_k down columns", two_largest, NULL, {{3, 2}}, {{1, 6, 5, 2, 3, 4}}, 4, {5, 6, 3, 4}, {1, 2, 3, 4},
        {{0, 2, 1, 0, 3, 4}}},
    {"cumsum down columns", sums_down, NULL, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}, 6, {1, 2, 3, 5, 7, 9}, {0},
        {{2, 2, 2, 1, 1, 1}}},
    {"cumsum along rows", sums_along, NULL, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}, 6, {1, 3, 6, 4, 9, 15}, {0},
        {{3, 2, 1, 3, 2, 1}}},
    {"trace", mo_trace, NULL, {{2, 2}}, {{1, 2, 3, 4}}, 1, {5}, {10}, {{10, 0, 0, 10}}},
    {"tril leaves NaN outside", mo_tril, NULL, {{2, 3}}, {{1, NAN, NAN, 2, 3, NAN}}, 6, {1, 0, 0, 2, 3, 0}, {0},
        {{1, 0, 0, 1, 1, 0}}},
    {"triu leaves NaN outside", mo_triu, NULL, {{2, 3}}, {{1, 2, 3, NAN, 4, 5}}, 6, {1, 2, 3, 0, 4, 5}, {0},
        {{1, 1, 1, 0, 1, 1}}},
};

static void expect(toy *y, const row *r, const char *of, const mo_tensor *T, int n, const double *expected) {
    bool wide = mo_tensor_dtype(T) == MO_F64;
    mo_tensor *W = mo_cast(y->t, (mo_tensor *)T, MO_F64);
    double tolerance = wide ? 2e-15 : 3e-7;
    if (mo_numel(W) != n)
        fail_msg("%s, %s: %d elements, expected %d", r->what, of, (int)mo_numel(W), n);
    for (int i = 0; i < n; i++) {
        double got = at(W, i), e = expected[i];
        if (!(got == e || (isnan(got) && isnan(e)) || fabs(got - e) <= tolerance * fmax(1, fabs(e))))
            fail_msg("%s, %s %d, %s: %.17g, expected %.17g", r->what, of, i, wide ? "float64" : "float32", got, e);
    }
}

static mo_tensor *real_from(toy *y, mo_dtype real, const int64_t *shape, const double *x) {
    mo_tensor *X = mo_from(y->t, MO_F64, shape[1] ? 2 : 1, shape, x);
    return mo_stop_gradient(y->t, mo_cast(y->t, X, real));
}

TEST_OF(rows_give_their_values_and_gradients, toy *y) {
    for (size_t k = 0; k < 2 * sizeof rows / sizeof *rows; k++) {
        const row *r = &rows[k / 2];
        mo_dtype real = k % 2 ? MO_F64 : MO_F32;
        mo_tensor *in[2], *grad[2];
        int inputs = r->f ? 1 : 2;
        bool ones = true;
        for (int i = 0; i < inputs; i++)
            in[i] = mo_require_grad(real_from(y, real, r->shape[i], r->in[i]));
        mo_tensor *Y = r->f ? r->f(y->t, in[0]) : r->g(y->t, in[0], in[1]);
        for (int i = 0; i < r->n; i++)
            ones &= r->bar[i] == 0;
        mo_tensor *flat = mo_reshape(y->t, mo_contiguous(y->t, Y), 1, (int64_t[]){-1});
        mo_tensor *bar = ones ? NULL : real_from(y, real, (int64_t[]){r->n, 0}, r->bar);
        mo_grad(y->t, &flat, &bar, 1, in, grad, inputs, MO_RETAIN);
        assert_string_equal(mo_context_status(y->ctx)->message, "");
        expect(y, r, "element", Y, r->n, r->out);
        for (int i = 0; i < inputs; i++)
            expect(y, r, i ? "second gradient" : "gradient", grad[i], (int)mo_numel(in[i]), r->grad[i]);
        mo_tape_reset(y->t);
    }
}

/* Values far below 1 keep their relative precision. */
TEST_OF(small_values_keep_their_precision, toy *y) {
    assert_true(fabs(mo_item(mo_sigmoid(y->t, mo_scalar(y->t, MO_F64, -40))) / exp(-40) - 1) <= 1e-15);
    assert_true(fabs(mo_item(mo_gelu(y->t, mo_scalar(y->t, MO_F64, -10))) / -7.6198530241605e-23 - 1) <= 1e-12);
}

/* gelu to order four: order three is (x^3 - 4 x) phi(x), and since it is made of ops, order four follows. */
TEST_OF(gelu_has_no_last_order, toy *y) {
    double x = 0.7, phi = exp(-0.5 * x * x) / sqrt(2 * acos(-1.0));
    double expected[] = {(2 - x * x) * phi, (x * x * x - 4 * x) * phi, (-x * x * x * x + 7 * x * x - 4) * phi};
    mo_tensor *X = mo_require_grad(mo_full(y->t, MO_F64, 1, (int64_t[]){1}, x)), *Y = mo_gelu(y->t, X), *grad;
    mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, MO_CREATE_GRAPH);
    for (int order = 2; order <= 4; order++) {
        Y = grad;
        assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &grad, 1, MO_CREATE_GRAPH), MO_OK);
        assert_true(fabs(mo_item(grad) - expected[order - 2]) <= 1e-14);
    }
}

/* Second derivatives at points where the first has a special case: of B A^(B - 1) in B at B = 0, which is 1 / A, and of
 * |x| at 0. */
TEST_OF(second_derivatives_at_special_points, toy *y) {
    mo_tensor *A = mo_require_grad(mo_full(y->t, MO_F64, 1, (int64_t[]){1}, 2)),
              *B = mo_require_grad(mo_full(y->t, MO_F64, 1, (int64_t[]){1}, 0)), *g, *second;
    mo_tensor *Y = mo_pow_entries(y->t, A, B);
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &A, &g, 1, MO_CREATE_GRAPH), MO_OK);
    assert_int_equal(mo_grad(y->t, &g, NULL, 1, &B, &second, 1, 0), MO_OK);
    assert_true(fabs(mo_item(second) - 0.5) < 1e-15);
    mo_tensor *X = mo_require_grad(mo_full(y->t, MO_F64, 2, (int64_t[]){1, 2}, 0));
    Y = mo_row_norm(y->t, X);
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &g, 1, MO_CREATE_GRAPH), MO_OK);
    assert_int_equal(mo_grad(y->t, &g, NULL, 1, &X, &second, 1, 0), MO_OK);
    assert_values(second, 0, 0);
}

TEST_OF(casts_carry_gradients_between_real_types_only, toy *y) {
    mo_tensor *X = toy_leaf(y, 1.0 / 3, 2.75), *g;
    assert_ptr_equal(mo_cast(y->t, X, MO_F64), X);
    mo_tensor *single = mo_cast(y->t, X, MO_F32), *whole = mo_cast(y->t, X, MO_I64), *Y = mo_mul(y->t, single, single);
    assert_true(at(mo_cast(y->t, single, MO_F64), 0) == (double)(1.0f / 3));
    assert_int_equal(mo_grad(y->t, &Y, NULL, 1, &X, &g, 1, MO_RETAIN), MO_OK);
    assert_true(at(g, 0) == (double)(2 * (1.0f / 3)) && at(g, 1) == 5.5);
    assert_false(mo_needs_grad(whole));
    for (mo_dtype d = 0; d < MO_DTYPES; d++) /* integer types round toward 0 */
        assert_true(at(mo_cast(y->t, mo_cast(y->t, X, d), MO_F64), 1) == (mo_dtype_is_real(d) || d > MO_U8 ? 2.75 : 2));
}

/* 20 million ones: added in float32, the sum would stop at 2^24. */
TEST_OF(running_sums_are_formed_in_double, toy *y) {
    int64_t n = 20000000;
    mo_tensor *Y = mo_cumsum(y->t, mo_full(y->t, MO_F32, 1, &n, 1), MO_AXIS(0));
    assert_true(mo_item(mo_slice(y->t, Y, MO_AXIS(0), n - 1, n)) == (double)n);
}

TEST_OF(the_identity_has_ones_on_its_diagonal_alone, toy *y) {
    mo_tensor *I = mo_cast(y->t, mo_eye(y->t, MO_F32, 3), MO_F64);
    for (int i = 0; i < 9; i++)
        assert_true(at(I, i) == (i % 4 == 0));
    assert_int_equal(mo_numel(mo_eye(y->t, MO_F64, 0)), 0);
}

/* Errors beyond an op's shape rule: options out of range, and functions made of ops. */
TEST_OF(errors_say_expected_and_got, toy *y) {
    mo_tape *t = y->t;
    mo_tensor *X = mo_full(t, MO_F64, 2, (int64_t[]){3, 2}, 1), *A = mo_full(t, MO_F64, 3, (int64_t[]){2, 2, 2}, 1);
    const double wrong[] = {-1e-9, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        mo_layer_norm(t, X, wrong[i]);
        assert_failed(y->ctx, MO_INVALID, PARTS("layer_norm: epsilon", "expected 0 or more"));
        mo_l2_normalize(t, X, wrong[i]);
        assert_failed(y->ctx, MO_INVALID, PARTS("l2_normalize: epsilon", "got [3, 2] float64"));
    }
    mo_clamp(t, X, NAN, 1);
    assert_failed(y->ctx, MO_INVALID, PARTS("clamp: bounds nan and 1, expected a rising pair"));
    mo_top_k(t, X, -1, MO_AXIS(0));
    assert_failed(y->ctx, MO_INVALID, PARTS("top_k: the -1 largest, expected 0 or more"));
    mo_reshape(t, X, 2, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("reshape: the shape is NULL"));
    mo_broadcast_to(t, X, 2, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("broadcast_to: the shape is NULL"));
    mo_sum_to(t, X, 1, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("sum_to: the shape is NULL"));
    mo_sum_to(t, NULL, 0, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("sum_to: the input is NULL"));
    mo_permute(t, X, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("permute: the list of axes is NULL"));
    mo_stack(t, NULL, 2, MO_AXIS(0));
    assert_failed(y->ctx, MO_INVALID, PARTS("stack: the list of inputs is NULL"));
    mo_dropout(t, X, 0.5, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("dropout: the random position is NULL"));
    mo_sort(t, X, MO_AXIS(2));
    assert_failed(y->ctx, MO_INVALID, PARTS("sort: axis 2 is not one of [3, 2]"));
    mo_cumsum(t, X, MO_AXIS(-3));
    assert_failed(y->ctx, MO_INVALID, PARTS("cumsum: axis -3 is not one of [3, 2]"));
    mo_trace(t, X);
    assert_failed(y->ctx, MO_INVALID, PARTS("diagonal: expected square matrices [.., n, n]; got [3, 2] float64"));
    /* a batch is computed as one product, but the error has the shapes as given */
    mo_matmul(t, A, mo_full(t, MO_F64, 2, (int64_t[]){3, 4}, 1));
    assert_failed(
        y->ctx, MO_INVALID, PARTS("matmul: inner sizes 2 and 3, expected equal; got [2, 2, 2] float64, [3, 4]"));
    mo_matmul(t, A, mo_full(t, MO_F32, 2, (int64_t[]){2, 4}, 1));
    assert_failed(y->ctx, MO_MISMATCH, PARTS("matmul: inputs 0 and 1 differ in dtype; got [2, 2, 2] float64"));
}

/* Sorting and long sums keep scratch memory in the context, so `empty` is counted after them. */
static int create(void **state) {
    if (toy_create(state) != 0)
        return -1;
    toy *y = *state;
    int64_t before = mo_context_counters(y->ctx).bytes_live;
    mo_tape *t = mo_tape_create(y->ctx, MO_EVAL);
    mo_sort(t, mo_full(t, MO_F64, 1, (int64_t[]){64}, 0), MO_AXIS(0));
    mo_tape_release(t);
    y->empty += mo_context_counters(y->ctx).bytes_live - before;
    return mo_ok(y->ctx) ? 0 : -1;
}

static const fixtures around_each = {create, toy_release};
