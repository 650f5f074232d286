/* tests/ops/test_composed.c - the functions of ops/composed/ against loops, against central differences to order two,
 * and on wrong inputs. */
#include "ops/inside.h"
#include "tests/drawn.h"
#include "tests/toy_ops.h"

static double *host(const mo_tensor *T) {
    double *x = test_memory((size_t)mo_numel(T) * sizeof *x + 1);
    assert_int_equal(mo_tensor_read(T, x, (size_t)mo_numel(T) * sizeof *x), MO_OK);
    return x;
}

static void assert_near(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-13 * fmax(1, fabs(expected))))
        fail_msg("%.17g, expected %.17g", got, expected);
}

static void assert_derivatives(toy *y, mo_function f, void *state, mo_tensor *const *in, int n) {
    mo_check_result r = mo_check_function(y->ctx, f, state, in, n, 1, 2, 1e-5, 3);
    expect_pass(r);
}

enum { ROWS = 5, CLASSES = 3, NUMBERS = ROWS * CLASSES };

static const int64_t table[] = {ROWS, CLASSES};

/* Returns a leaf of the test, as the checkers need: they have tapes of their own. */
static mo_tensor *own_leaf(toy *y, uint64_t stream, int ndim, const int64_t *shape) {
    return toy_own(y, mo_require_grad(mo_tensor_clone(y->ctx, drawn(y->t, MO_F64, stream, ndim, shape))));
}

/* ---- losses ---- */

static void mse_code(mo_tape *t, mo_tensor *const *in, int n, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_mse(t, in[0], in[1]);
}

static void binary_code(mo_tape *t, mo_tensor *const *in, int n, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_binary_cross_entropy(t, in[0], in[1]);
}

TEST_OF(losses_are_their_formulas, toy *y) {
    mo_tensor *in[] = {own_leaf(y, 1, 2, table), own_leaf(y, 2, 2, table)};
    double *z = host(in[0]), *v = host(in[1]), squares = 0, cross = 0;
    for (int i = 0; i < NUMBERS; i++) {
        double p = 1 / (1 + exp(-z[i]));
        squares += (z[i] - v[i]) * (z[i] - v[i]) / NUMBERS;
        cross -= (v[i] * log(p) + (1 - v[i]) * log(1 - p)) / NUMBERS;
    }
    assert_near(mo_item(mo_mse(y->t, in[0], in[1])), squares);
    assert_near(mo_item(mo_binary_cross_entropy(y->t, in[0], in[1])), cross);
    assert_derivatives(y, mse_code, NULL, in, 2);
    assert_derivatives(y, binary_code, NULL, in, 2);
}

/* For a large logit z a right answer costs e^-|z|, not 0, and a wrong one |z|, to all digits of either type. */
TEST_OF(binary_cross_entropy_of_large_logits_is_exact, toy *y) {
    const double logits[] = {30, 300, 1e4};
    for (int i = 0; i < 3; i++)
        for (int type = 0; type < 2; type++)
            for (int sign = -1; sign <= 1; sign += 2) {
                mo_dtype real = type ? MO_F64 : MO_F32;
                mo_tensor *z = mo_scalar(y->t, real, sign * logits[i]);
                double one = mo_item(mo_binary_cross_entropy(y->t, z, mo_scalar(y->t, real, 1)));
                double zero = mo_item(mo_binary_cross_entropy(y->t, z, mo_scalar(y->t, real, 0)));
                double right = sign > 0 ? one : zero, wrong = sign > 0 ? zero : one, small = exp(-logits[i]);
                if (type == 0 && small < 1e-37) /* below the range of float32 */
                    small = 0;
                assert_true(fabs(right - small) <= 1e-6 * small);
                assert_true(fabs(wrong - logits[i] - small) <= (type ? 1e-15 : 1e-7) * logits[i]);
            }
}

/* ---- accuracy ---- */

TEST_OF(accuracy_counts_rows, toy *y) {
    double z[] = {1, 2, 2, 5, 1, 0, 0, 1, 0, 0, 0, 0}; /* the largest entries have index 1 (the first of equal ones), 0,
                                                        * 1, 0 */
    HELD(mo_tensor) *L = mo_require_grad(mo_tensor_create_from(y->ctx, MO_F64, 2, (int64_t[]){4, 3}, z));
    mo_tensor *right = mo_from(y->t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){1, 0, 2, 2});
    mo_tensor *share = mo_accuracy(y->t, L, right);
    assert_true(mo_item(share) == 0.5 && !mo_needs_grad(share));
    mo_tensor *batch = mo_reshape(y->t, L, 3, (int64_t[]){2, 2, 3});
    assert_true(mo_item(mo_accuracy(y->t, batch, mo_reshape(y->t, right, 2, (int64_t[]){2, 2}))) == 0.5);
    mo_accuracy(y->t, L, mo_full(y->t, MO_I64, 1, (int64_t[]){4}, 3));
    assert_failed(y->ctx, MO_INVALID, PARTS("3", "expected 0 to 2"));
}

/* ---- segments ---- */

enum { LINES = 17, WIDTH = 2, RUNS = 6 };

static const int64_t offsets[RUNS + 1] = {0, 1, 1, 6, 8, 17, 17}; /* segments 1 and 5 are empty */

static void segments_code(mo_tape *t, mo_tensor *const *in, int n, mo_tensor **out, int n_out, void *state) {
    mo_tensor *(*const *f)(mo_tape *, mo_tensor *, mo_tensor *) = state;
    out[0] = mo_square(t, (*f)(t, in[0], mo_from(t, MO_I64, 1, (int64_t[]){RUNS + 1}, offsets)));
}

static void check_segments(const double *x, const double *max, const double *soft, int s, int c) {
    double largest = 0, sum = 0;
    for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) {
        largest = i == offsets[s] ? x[i * WIDTH + c] : fmax(largest, x[i * WIDTH + c]);
        sum += exp(x[i * WIDTH + c]);
    }
    assert_true(max[s * WIDTH + c] == largest);
    for (int64_t i = offsets[s]; i < offsets[s + 1]; i++)
        assert_near(soft[i * WIDTH + c], exp(x[i * WIDTH + c]) / sum);
}

TEST_OF(segments_equal_loops, toy *y) {
    mo_tensor *X = own_leaf(y, 6, 2, (int64_t[]){LINES, WIDTH});
    mo_tensor *offset = mo_from(y->t, MO_I64, 1, (int64_t[]){RUNS + 1}, offsets);
    double *x = host(X), *max = host(mo_segment_max(y->t, X, offset)),
           *soft = host(mo_segment_softmax(y->t, X, offset));
    for (int s = 0; s < RUNS; s++)
        for (int c = 0; c < WIDTH; c++)
            check_segments(x, max, soft, s, c);
    mo_tensor *(*const functions[])(mo_tape *, mo_tensor *, mo_tensor *) = {mo_segment_max, mo_segment_softmax};
    for (int i = 0; i < 2; i++)
        assert_derivatives(y, segments_code, (void *)(uintptr_t)&functions[i], &X, 1);
}

TEST_OF(segments_at_their_limits, toy *y) {
    mo_tape *t = y->t;
    const double x[] = {3, 5, 5, 1e4, -1e4, NAN};
    mo_tensor *X = mo_require_grad(mo_from(t, MO_F64, 1, (int64_t[]){6}, x)), *g;
    mo_tensor *M = mo_segment_max(t, X, mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 3, 5, 6}));
    assert_true(at(M, 0) == 5 && at(M, 1) == 1e4 && isnan(at(M, 2)));
    assert_int_equal(mo_grad(t, &M, NULL, 1, &X, &g, 1, 0), MO_OK);
    const double first[] = {0, 1, 0, 1, 0, 1}; /* of equal maxima the first gets the gradient */
    for (int i = 0; i < 6; i++)
        assert_true(at(g, i) == first[i]);
    mo_tensor *pair = mo_from(t, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 3, 5});
    mo_tensor *P = mo_segment_softmax(t, mo_slice(t, X, MO_AXIS(0), 0, 5), pair);
    assert_true(at(P, 3) == 1 && at(P, 4) == 0);
    mo_tensor *none = mo_full(t, MO_F64, 2, (int64_t[]){0, 2}, 0);
    mo_tensor *empty = mo_full(t, MO_I64, 1, (int64_t[]){3}, 0);
    M = mo_segment_max(t, none, empty);
    assert_true(mo_dim(M, 0) == 2 && at(M, 0) == 0 && at(M, 3) == 0);
    assert_int_equal(mo_numel(mo_segment_softmax(t, none, empty)), 0);
    assert_int_equal(mo_dim(mo_segment_max(t, none, mo_full(t, MO_I64, 1, (int64_t[]){1}, 0)), 0), 0);
    assert_true(mo_ok(y->ctx));
}

/* ---- sparse products ---- */

static void sparse_code(mo_tape *t, mo_tensor *const *in, int n, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_spmm_values(t, state, in[0], in[1]);
}

TEST_OF(sparse_products_have_gradients_of_the_values, toy *y) {
    const int64_t rows[] = {0, 2, 2, 5, 6};
    const int32_t columns[] = {2, 0, 1, 0, 1, 2}; /* one row is empty, and one names a column twice */
    mo_tensor *in[] = {own_leaf(y, 8, 1, (int64_t[]){6}), own_leaf(y, 9, 2, (int64_t[]){3, 4})};
    double *v = host(in[0]);
    HELD(mo_csr) *A = mo_csr_create(y->ctx, 4, 3, rows, columns, MO_F64, v);
    HELD(mo_csr) *bare = mo_csr_create(y->ctx, 4, 3, rows, columns, MO_F64, NULL);
    double *got = host(mo_spmm_values(y->t, bare, in[0], in[1])), *expected = host(mo_spmm(y->t, A, in[1]));
    for (int i = 0; i < 16; i++)
        assert_near(got[i], expected[i]);
    assert_derivatives(y, sparse_code, bare, in, 2);
}

/* ---- wrong inputs ---- */

TEST_OF(wrong_inputs_are_named, toy *y) {
    mo_tape *t = y->t;
    mo_tensor *M = mo_full(t, MO_F64, 2, (int64_t[]){2, 3}, 1), *v = mo_full(t, MO_F64, 1, (int64_t[]){3}, 1);
    mo_tensor *n = mo_null_tensor(y->ctx), *one = mo_full(t, MO_I64, 1, (int64_t[]){2}, 1);
    mo_mse(t, M, v);
    assert_failed(
        y->ctx, MO_INVALID, PARTS("mse: expected one shape and one real dtype; got [2, 3] float64, [3] float64"));
    mo_mse(t, n, v);
    assert_failed(y->ctx, MO_INVALID, PARTS("mse: input 0 is null"));
    mo_binary_cross_entropy(t, v, mo_full(t, MO_I64, 1, (int64_t[]){3}, 1));
    assert_failed(y->ctx, MO_INVALID, PARTS("binary_cross_entropy: expected one shape", "[3] int64"));
    mo_accuracy(t, M, v);
    assert_failed(y->ctx, MO_INVALID, PARTS("accuracy: expected logits [.., C] and int64 labels [..]; got [2, 3]"));
    mo_accuracy(t, M, NULL);
    assert_failed(y->ctx, MO_INVALID, PARTS("accuracy: input 1 is null"));
    mo_segment_max(t, M, v);
    assert_failed(y->ctx, MO_INVALID, PARTS("segment_max: expected real rows [n, ..] and int64 offsets"));
    mo_segment_max(t, M, one);
    assert_failed(y->ctx, MO_INVALID, PARTS("segment_max: offset 0 is 1, expected offsets that rise from 0 to 2"));
    mo_segment_max(t, M, mo_from(t, MO_I64, 1, (int64_t[]){4}, (int64_t[]){0, 2, 1, 2}));
    assert_failed(y->ctx, MO_INVALID, PARTS("segment_max: offset 2 is 1"));
    mo_segment_softmax(t, M, n);
    assert_failed(y->ctx, MO_INVALID, PARTS("segment_softmax: input 1 is null"));
    HELD(mo_csr) *A = mo_csr_create(y->ctx, 1, 2, (int64_t[]){0, 2}, (int32_t[]){0, 1}, MO_F64, NULL);
    mo_spmm_values(t, A, v, M);
    assert_failed(
        y->ctx, MO_INVALID, PARTS("spmm_values: a sparse matrix [1, 2] of 2 entries", "got [3] float64, [2, 3]"));
    mo_spmm_values(t, NULL, v, M);
    assert_failed(y->ctx, MO_INVALID, PARTS("spmm_values: the sparse matrix is null"));
}
