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
 * dual form of the unpenalised intercept, s then takes the place of 1: K s = 0.
 *
 * Held out. The residuals of a fit are (I - H) Y with H = X (X^T X + lambda I)^-1 X^T, and the fit without the rows J
 * predicts Y_J - (I - H)_JJ^-1 ((I - H) Y)_J (Allen 1974). A factor of I - H cancels:
 *     dual    I - H = lambda G,  G = (K + lambda I)^-1         primal  I - H = I - X (X^T X + lambda I)^-1 X^T
 * With an unpenalised intercept H has the further term s s^T / |s|^2. In the dual form then G = (K + s s^T + lambda
 * I)^-1 - s s^T / (|s|^2 (|s|^2 + lambda)), of which the first part is solved with as above, and G s = 0. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <stdlib.h>

static void check_rank(mo_tape *t, mo_tensor *K, const mo_tensor *lambda);
static bool check_fit(mo_tape *t, const char *name, const mo_tensor *Zs, const mo_tensor *Ys, const mo_tensor *lambda);

/* Returns (K + lambda I)^-1 B. */
static mo_tensor *ridge_solve(mo_tape *t, mo_tensor *K, mo_tensor *lambda, mo_tensor *B) {
    check_rank(t, K, lambda);
    return mo_solve_spd(t, mo_add_diag(t, K, lambda), B);
}

/* How K = X X^T is computed. mo_gram costs half but rounds differently from mo_matmul. `ridge` and
 * ridge_loo.c keep mo_matmul, because the shipped weights were trained with it. svm.c keeps mo_matmul too, because for
 * almost equal rows the rounding of K decides which rows become support vectors. */
typedef enum { BY_PRODUCT, BY_GRAM_CENTRED } ridge_squares;

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

/* The fit by an inverse, for held_out. s: the columns to which X and Y are orthogonal, or NULL. State: "inverse" G and
 * "dual" G Y, or, in the primal form, "inverse" (X^T X + lambda I)^-1, "rows" X, "residual" Y - X W and, if given,
 * "unit" s / |s|. Returns W. */
static mo_tensor *inverted_fit(
    mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_tensor *s, mo_state *state) {
    mo_tensor *Xt = mo_transpose(t, X), *squared = s ? mo_sum(t, mo_square(t, s), MO_ALL, MO_DROP_AXES) : NULL;
    bool dual = mo_dim(X, -2) <= mo_dim(X, -1);
    mo_tensor *K = dual ? mo_matmul(t, X, Xt) : mo_matmul(t, Xt, X), *G, *alpha;
    mo_tensor *outer = s && dual ? mo_matmul(t, s, mo_transpose(t, s)) : NULL;
    K = outer ? mo_add(t, K, outer) : K;
    check_rank(t, K, lambda);
    mo_kernel_inverse(t, K, dual ? Y : mo_matmul(t, Xt, Y), mo_reshape(t, lambda, 1, (int64_t[]){1}), &G, &alpha);
    G = mo_reshape(t, mo_contiguous(t, G), 2, (int64_t[]){mo_dim(K, 0), mo_dim(K, 0)});
    alpha = mo_reshape(t, mo_contiguous(t, alpha), 2, (int64_t[]){mo_dim(K, 0), mo_dim(Y, 1)});
    if (outer)
        G = mo_sub(t, G, mo_div(t, outer, mo_mul(t, squared, mo_add(t, squared, lambda))));
    mo_state_put(state, "inverse", G);
    if (dual) {
        mo_state_put(state, "dual", alpha);
        return mo_matmul(t, Xt, alpha);
    }
    mo_state_put(state, "rows", X);
    mo_state_put(state, "residual", mo_sub(t, Y, mo_matmul(t, X, alpha)));
    if (s)
        mo_state_put(state, "unit", mo_div(t, s, mo_sqrt(t, squared)));
    return alpha;
}

static void ridge_fit_state(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *root = s->weight ? mo_root_columns(t, s->weight) : NULL, *X = mo_append_ones(t, s->Zs), *Y = s->Ys;
    if (!check_fit(t, "ridge", s->Zs, s->Ys, parameters[0]))
        return;
    X = root ? mo_mul(t, X, root) : X;
    Y = root ? mo_mul(t, Y, root) : Y;
    mo_tensor *W = s->held_out && mo_ndim(X) == 2 ? inverted_fit(t, X, Y, parameters[0], NULL, state)
                                                  : ridge_fit(t, X, Y, parameters[0], MO_RIDGE_AUTO, BY_PRODUCT, NULL);
    mo_state_put(state, "W", W);
}

/* Blocks row[g] x row[g] of A [n, n]: [groups, h, h]. */
static mo_tensor *diagonal_blocks(mo_tape *t, mo_tensor *A, const int64_t *row, int64_t groups, int64_t h) {
    int64_t n = mo_dim(A, 0), count = groups * h * h;
    int64_t *at = mo_host_array(mo_tape_context(t), count, sizeof *at);
    for (int64_t i = 0; at && i < count; i++)
        at[i] = row[i / h] * n + row[i / (h * h) * h + i % h];
    mo_tensor *index = at ? mo_from(t, MO_I64, 1, &count, at) : mo_null_tensor(mo_tape_context(t));
    free(at);
    mo_tensor *flat = mo_reshape(t, mo_contiguous(t, A), 2, (int64_t[]){n * n, 1});
    return mo_reshape(t, mo_gather_rows(t, flat, index), 3, (int64_t[]){groups, h, h});
}

static mo_tensor *ridge_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    mo_tensor *inverse = mo_state_get(t, state, "inverse"), *dual = mo_state_find(state, "dual");
    mo_tensor *weight = mo_state_find(state, "weight"), *Y = mo_state_get(t, state, "Ys");
    mo_tensor *root = weight ? mo_root_columns(t, weight) : NULL, *rest, *residual;
    Y = mo_rows_of_groups(t, root ? mo_mul(t, Y, root) : Y, row, groups, h);
    if (mo_is_null(inverse) || mo_is_null(Y))
        return mo_null_tensor(mo_tape_context(t));
    residual = mo_rows_of_groups(t, dual ? dual : mo_state_get(t, state, "residual"), row, groups, h);
    if (dual)
        rest = diagonal_blocks(t, inverse, row, groups, h);
    else {
        mo_tensor *X = mo_rows_of_groups(t, mo_state_get(t, state, "rows"), row, groups, h);
        mo_tensor *H = mo_matmul(t, mo_matmul(t, X, inverse), mo_transpose(t, X)), *unit = mo_state_find(state, "unit");
        if (unit) {
            unit = mo_rows_of_groups(t, unit, row, groups, h);
            H = mo_add(t, H, mo_matmul(t, unit, mo_transpose(t, unit)));
        }
        rest = mo_add_diag(t, mo_neg(t, H), mo_scalar(t, mo_tensor_dtype(H), 1));
    }
    mo_tensor *logits = mo_sub(t, Y, h == 1 ? mo_div(t, residual, rest) : mo_solve_spd(t, rest, residual));
    return root ? mo_div_or_zero(t, logits, mo_rows_of_groups(t, root, row, groups, h)) : logits;
}

static void intercept_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    if (!check_fit(t, "ridge_intercept", s->Zs, s->Ys, parameters[0]))
        return;
    mo_tensor *w = mo_mean_weights(t, s->weight), *root = s->weight ? mo_root_columns(t, s->weight) : NULL, *W;
    mo_tensor *z = mo_mean_of_rows(t, s->Zs, w), *y = mo_mean_of_rows(t, s->Ys, w);
    mo_tensor *X = mo_sub(t, s->Zs, z), *Y = mo_sub(t, s->Ys, y);
    X = root ? mo_mul(t, X, root) : X;
    Y = root ? mo_mul(t, Y, root) : Y;
    if (s->held_out && mo_ndim(X) == 2) {
        mo_tensor *one = mo_scalar(t, mo_tensor_dtype(X), 1);
        one = mo_broadcast_to(t, one, 2, (int64_t[]){mo_dim(X, 0), 1});
        W = inverted_fit(t, X, Y, parameters[0], root ? root : one, state);
    } else
        W = ridge_fit(t, X, Y, parameters[0], MO_RIDGE_AUTO, BY_GRAM_CENTRED, root);
    mo_state_put(state, "W", mo_join_weights(t, W, mo_sub(t, y, mo_matmul(t, z, W))));
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
    .fit = ridge_fit_state,
    .held_out = ridge_held_out,
    .leave_one_out = true,
    .targets = true,
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
    .fit = intercept_fit,
    .held_out = ridge_held_out,
    .leave_one_out = true,
    .targets = true,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_FREE,
    .separate_classes = true,
};
