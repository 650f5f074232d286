/* models/heads/ridge.c - ridge regression on one-hot labels, in closed form (paper eq. "ridge-dual"; Bertinetto et al.
 * 2019), with a penalised bias or an unpenalised intercept.
 *
 * W minimises |X W - Y|^2 + lambda |W|^2:
 *     dual    W = X^T (X X^T + lambda I)^-1 Y     an n_s x n_s system, the smaller one if n_s is at most X's width
 *     primal  W = (X^T X + lambda I)^-1 X^T Y     a system of X's width
 * Both forms give the same W and the same gradients (push-through identity). Gradients flow to Zs, Ys, Zq and lambda.
 *
 * Penalised bias: X = [Zs | 1], Y = Ys; the last row of W is the bias. Unpenalised intercept: its optimum is b =
 * mean(Ys) - mean(Zs) W, so that W is the ridge of X = Zs - mean(Zs), Y = Ys - mean(Ys) (Hastie, Tibshirani, Friedman
 * 2009, section 3.4.1). For this X, K = X X^T has K 1 = 0, and the columns of Y are orthogonal to 1. So K + 1 1^T
 * gives the same solution as K, and is regular at lambda = 0 too.
 *
 * A row of weight w counts as w rows: X_i and Y_i are scaled by s_i = sqrt(w_i), and the means are weighted. In the
 * dual form of the unpenalised intercept, s then takes the place of 1: K s = 0. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <inttypes.h>

static void check_rank(mo_tape *t, mo_tensor *K, const mo_tensor *lambda);
static bool check_fit(mo_tape *t, const char *name, const mo_tensor *Zs, const mo_tensor *Ys, const mo_tensor *lambda);

/* Returns (K + lambda I)^-1 B. */
static mo_tensor *ridge_solve(mo_tape *t, mo_tensor *K, mo_tensor *lambda, mo_tensor *B) {
    check_rank(t, K, lambda);
    return mo_solve_spd(t, mo_add_diag(t, K, lambda), B);
}

/* How K = X X^T is computed. mo_gram costs half but rounds differently from mo_matmul. The logits of `ridge` and
 * ridge_loo.c keep mo_matmul, because the shipped weights were trained with it. svm.c keeps mo_matmul too, because for
 * almost equal rows the rounding of K decides which rows become support vectors. */
typedef enum { BY_PRODUCT, BY_GRAM, BY_GRAM_CENTRED } ridge_squares;

/* Uses the caller's view Xt = X^T: with a second view of X, backward would copy a gradient before adding it. */
static mo_tensor *squares_of(mo_tape *t, mo_tensor *X, mo_tensor *Xt, ridge_squares squares) {
    return squares == BY_PRODUCT ? mo_matmul(t, X, Xt) : mo_gram(t, X);
}

/* Returns W [.., width, C]. BY_GRAM_CENTRED: the rows X are centred, so K s = 0, and s s^T is added to K. s: columns,
 * or NULL for ones. */
static mo_tensor *ridge_fit(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_ridge_form form,
    ridge_squares squares, mo_tensor *s) {
    mo_tensor *Xt = mo_transpose(t, X);
    if (form == MO_RIDGE_AUTO)
        form = mo_dim(X, -2) <= mo_dim(X, -1) ? MO_RIDGE_DUAL : MO_RIDGE_PRIMAL;
    if (form == MO_RIDGE_PRIMAL)
        return ridge_solve(t, squares_of(t, Xt, X, squares), lambda, mo_matmul(t, Xt, Y));
    mo_tensor *K = squares_of(t, X, Xt, squares);
    if (squares == BY_GRAM_CENTRED)
        K = s ? mo_add(t, K, mo_matmul(t, s, mo_transpose(t, s))) : mo_scale(t, K, 1, 1);
    return mo_matmul(t, Xt, ridge_solve(t, K, lambda, Y));
}

static mo_tensor *ridge_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *X = mo_append_ones(t, Zs), *lambda = parameters[0];
    if (!check_fit(t, "ridge", Zs, Ys, lambda))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *W = ridge_fit(t, X, Ys, lambda, MO_RIDGE_AUTO, BY_PRODUCT, NULL);
    return mo_matmul(t, mo_append_ones(t, Zq), W);
}

/* Raises MO_NUMERICAL if a scalar lambda is 0 and K lacks full rank. */
static void check_rank(mo_tape *t, mo_tensor *K, const mo_tensor *lambda) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || mo_ndim(lambda) != 0 || mo_item(lambda) != 0)
        return;
    int64_t rank = mo_rank(t, K), n = mo_dim(K, -1);
    if (mo_ok(ctx) && rank < n)
        mo_fail(ctx, MO_NUMERICAL,
            "ridge: lambda is 0 and the support's Gram matrix has rank %" PRId64 " of %" PRId64
            ", as when rows repeat; expected a lambda above 0",
            rank, n);
}

/* Checks the inputs of a fit and names the fit in the error: an error of the solve would name matrices that the caller
 * does not know. */
static bool check_fit(mo_tape *t, const char *name, const mo_tensor *Zs, const mo_tensor *Ys, const mo_tensor *lambda) {
    mo_context *ctx = mo_tape_context(t);
    char zs[160], ys[160];
    int n = mo_ndim(Zs);
    if (mo_ok(ctx) && (mo_is_null(Zs) || mo_is_null(Ys) || mo_is_null(lambda)))
        mo_fail(ctx, MO_INVALID, "%s: %s is null", name, mo_is_null(Zs) ? "Zs" : mo_is_null(Ys) ? "Ys" : "lambda");
    bool same = n >= 2 && mo_ndim(Ys) == n;
    for (int i = 0; same && i < n - 1; i++)
        same = mo_dim(Zs, i) == mo_dim(Ys, i);
    if (mo_ok(ctx) && !same)
        mo_fail(ctx, MO_INVALID, "%s: expected Zs [.., n_s, d] and Ys [.., n_s, C]; got %s, %s", name,
            mo_shape_string(Zs, zs, sizeof zs), mo_shape_string(Ys, ys, sizeof ys));
    if (mo_ok(ctx) && (mo_tensor_dtype(Zs) != mo_tensor_dtype(Ys) || mo_tensor_dtype(Zs) != mo_tensor_dtype(lambda)))
        mo_fail(ctx, MO_MISMATCH, "%s: Zs is %s, Ys %s, lambda %s, expected one real dtype", name,
            mo_dtype_name(mo_tensor_dtype(Zs)), mo_dtype_name(mo_tensor_dtype(Ys)),
            mo_dtype_name(mo_tensor_dtype(lambda)));
    return mo_ok(ctx);
}

/* Runs check_fit for a fit that writes W and b; first sets *W and *b to the null tensor. */
static bool may_fit(mo_tape *t, const char *name, const mo_tensor *Zs, const mo_tensor *Ys, const mo_tensor *lambda,
    mo_tensor **W, mo_tensor **b) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, name, "W", W) || !mo_given(ctx, name, "b", b))
        return false;
    *W = *b = mo_null_tensor(ctx);
    return check_fit(t, name, Zs, Ys, lambda);
}

void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b) {
    if (!may_fit(t, "ridge_fit", Zs, Ys, lambda, W, b))
        return;
    mo_divide_weights(t, ridge_fit(t, mo_append_ones(t, Zs), Ys, lambda, form, BY_PRODUCT, NULL), W, b);
}

static void ridge_linear(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *const *parameters,
    mo_tensor **W, mo_tensor **b) {
    mo_tensor *s = weight ? mo_root_columns(t, weight) : NULL, *X = mo_append_ones(t, Zs);
    mo_tensor *Y = s ? mo_mul(t, Ys, s) : Ys;
    mo_divide_weights(t, ridge_fit(t, s ? mo_mul(t, X, s) : X, Y, parameters[0], MO_RIDGE_AUTO, BY_GRAM, NULL), W, b);
}

static void fit_about_means(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda,
    mo_ridge_form form, mo_tensor **W, mo_tensor **b) {
    mo_axes rows = MO_AXIS(-2);
    mo_tensor *w =
        weight ? mo_with_axis(t, mo_div(t, weight, mo_mean(t, weight, MO_AXIS(-1), MO_KEEP_AXES)), MO_AXIS(-1), 1)
               : NULL;
    mo_tensor *z = mo_mean(t, w ? mo_mul(t, Zs, w) : Zs, rows, MO_KEEP_AXES);
    mo_tensor *y = mo_mean(t, w ? mo_mul(t, Ys, w) : Ys, rows, MO_KEEP_AXES);
    mo_tensor *X = mo_sub(t, Zs, z), *Y = mo_sub(t, Ys, y);
    mo_tensor *s = weight ? mo_root_columns(t, weight) : NULL;
    *W = ridge_fit(t, s ? mo_mul(t, X, s) : X, s ? mo_mul(t, Y, s) : Y, lambda, form, BY_GRAM_CENTRED, s);
    *b = mo_sub(t, y, mo_matmul(t, z, *W));
}

static void linear_intercept(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *const *parameters,
    mo_tensor **W, mo_tensor **b) {
    if (may_fit(t, "ridge_intercept", Zs, Ys, parameters[0], W, b))
        fit_about_means(t, Zs, Ys, weight, parameters[0], MO_RIDGE_AUTO, W, b);
}

static const mo_head_parameter parameters[] = {{.name = "lambda", .value = 10, .low = 0, .high = 1e300}};

static const mo_head_sample samples[] = {
    {.support = 6, .queries = 4, .dim = 9, .classes = 3},
    {.support = 12, .queries = 4, .dim = 3, .classes = 3},
    {.support = 5, .queries = 3, .dim = 4, .classes = 2, .batch = 3},
    {.support = 1, .queries = 3, .dim = 2, .classes = 1},
};

const mo_head mo_head_ridge = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "ridge",
    .n_parameters = 1,
    .parameters = parameters,
    .logits = ridge_logits,
    .linear = ridge_linear,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_WIDE,
    .separate_classes = true,
};

const mo_head mo_head_ridge_intercept = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "ridge_intercept",
    .n_parameters = 1,
    .parameters = parameters,
    .linear = linear_intercept,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_FREE,
    .separate_classes = true,
};
