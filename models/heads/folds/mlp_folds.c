/* models/heads/folds/mlp_folds.c - the fits of mlp.c to a support, and to it without each of its folds, side by side.
 *
 * Z are the rows about the mean of all rows. A fit has weights w: 1 / its number of rows, or 0 for held-out rows, so
 * that its own rows are X = (Z - 1 w^T Z) / s, s^2 their mean square. With S = X W1 + b1, units H = softplus(S) - log
 * 2, logits F = H W2 + b2 and residuals R = w (softmax(F) - Y), a step of gradient descent on the mean cross-entropy is
 *     W2 <- W2 - lr H^T R,   b2 <- b2 - lr R^T 1,   D = (R W2^T) sigmoid(S),   S <- S - lr (X X^T D + 1 1^T D).
 *
 * S is kept for all rows: held-out rows have no residuals, and their final S gives their logits under the fit. All fits
 * share K = Z Z^T: with u = K w and D scaled by lr / s^2,
 *     lr X X^T D = K D - u 1^T D - 1 (u^T D - w^T u 1^T D),
 *
 * one product of K with the D of all fits. The D lie [B, fits, h, n], so that K is the operand that BLAS packs, once.
 * The gradients are written out, not recorded: no gradient flows through the logits of held-out rows. */
#include "models/heads/folds/folds.h"

#include <math.h>

/* P fits, the fit of all rows first. The fields that change from step to step come first. */
typedef struct stack {
    mo_tensor *S, *W2, *b2, *sum_D,
        *sum_b;            /* [B, P, h, n], [B, P, h, C], [B, P, 1, C]; sums of D [B, P, h, n], of D 1 */
    mo_tensor *K, *w, *s2; /* [B, n, n], [P, n, 1], [B, P, 1, 1] */
    mo_tensor *u, *wu, *V; /* [B, P, n, 1], w^T u, [u | 1]^T [B, P, 2, n] */
    mo_tensor *Y, *T;      /* labels [B, P, n, C] times w lr / s^2, and their row sums */
} stack;

enum { CHANGING = 5 };

static mo_tensor *reshape(mo_tape *t, mo_tensor *X, int64_t a, int64_t b, int64_t c, int64_t d) {
    return mo_reshape(t, X, 4, (int64_t[]){a, b, c, d});
}

/* w of every fit. */
static mo_tensor *weights(mo_tape *t, mo_dtype real, int64_t n, const mo_folds *folds) {
    mo_tensor *w[MO_MAX_FOLDS + 1] = {mo_full(t, real, 3, (int64_t[]){1, n, 1}, 1 / (double)n)};
    for (int f = 0; f < folds->n; f++) {
        int64_t start = mo_fold_start(folds, f), rows = folds->stop[f] - start;
        double share = n > rows ? 1 / (double)(n - rows) : 0;
        mo_tensor *out = mo_full(t, real, 3, (int64_t[]){1, rows, 1}, share);
        w[f + 1] = mo_scale(t, mo_pad(t, out, MO_AXIS(1), start, n - folds->stop[f]), -1, share);
    }
    return mo_concat(t, w, folds->n + 1, MO_AXIS(0));
}

/* Z [B, n, d], Y [B, n, C]; W1 [d, h], b1 [h]. */
static void mlp_folds_begin(mo_tape *t, mo_tensor *Z, mo_tensor *Y, mo_tensor *const *parameters, stack *x) {
    mo_tensor *W1 = parameters[MO_MLP_W1], *lr = parameters[MO_MLP_LR], *w = x->w;
    int64_t B = mo_dim(Z, 0), n = mo_dim(Z, 1), d = mo_dim(Z, 2), h = mo_dim(W1, 1), C = mo_dim(Y, 2), P = mo_dim(w, 0);
    mo_dtype real = mo_tensor_dtype(Z);
    x->K = mo_gram(t, Z);
    x->u = mo_matmul(t, reshape(t, x->K, B, 1, n, n), w);
    x->wu = mo_matmul(t, mo_transpose(t, x->u), w);
    mo_tensor *norms = mo_matmul(t, reshape(t, mo_diagonal(t, x->K), B, 1, 1, n), w);
    x->s2 = mo_scale(t, mo_sub(t, norms, x->wu), 1 / (double)d, 1e-12);
    mo_tensor *one = mo_full(t, real, 4, (int64_t[]){B, P, 1, n}, 1), *scale = mo_div(t, lr, x->s2);
    x->V = mo_concat(t, (mo_tensor *[]){mo_transpose(t, x->u), one}, 2, MO_AXIS(2));
    x->Y = mo_mul(t, mo_mul(t, reshape(t, Y, B, 1, n, C), w), scale);
    x->T = mo_sum(t, x->Y, MO_AXIS(3), MO_KEEP_AXES);
    mo_tensor *A = reshape(t, mo_matmul(t, mo_transpose(t, W1), mo_transpose(t, Z)), B, 1, h, n);
    A = mo_div(t, mo_sub(t, A, mo_matmul(t, A, w)), mo_sqrt(t, x->s2));
    x->S = mo_add(t, A, mo_reshape(t, parameters[MO_MLP_B1], 2, (int64_t[]){h, 1}));
    x->W2 = mo_full(t, real, 4, (int64_t[]){B, P, h, C}, 0);
    x->b2 = mo_full(t, real, 4, (int64_t[]){B, P, 1, C}, 0);
    x->sum_D = mo_full(t, real, 4, (int64_t[]){B, 1, h, n}, 0);
    x->sum_b = mo_full(t, real, 4, (int64_t[]){B, 1, h, 1}, 0);
}

/* Logits [.., n, C] of the units softplus(S) [.., n, h]; the output bias contains the shift by log 2. */
static mo_tensor *mlp_folds_output(mo_tape *t, mo_tensor *units, mo_tensor *W2, mo_tensor *b2) {
    mo_tensor *sums = mo_sum(t, W2, MO_AXIS(mo_ndim(W2) - 2), MO_KEEP_AXES);
    return mo_add(t, mo_matmul(t, units, W2), mo_sub(t, b2, mo_scale(t, sums, log(2), 0)));
}

static void mlp_folds_step(mo_tape *t, stack *x) {
    int64_t B = mo_dim(x->S, 0), P = mo_dim(x->S, 1), h = mo_dim(x->S, 2), n = mo_dim(x->S, 3);
    mo_tensor *units = mo_softplus(t, x->S), *F = mlp_folds_output(t, mo_transpose(t, units), x->W2, x->b2);
    mo_tensor *R = mo_sub(t, mo_mul(t, mo_softmax(t, F, MO_AXIS(-1)), x->T), x->Y),
              *r = mo_sum(t, R, MO_AXIS(2), MO_KEEP_AXES);
    mo_tensor *D = mo_mul(t, mo_matmul(t, x->W2, mo_transpose(t, R)), mo_sigmoid(t, x->S));
    mo_tensor *b = mo_sum(t, D, MO_AXIS(3), MO_KEEP_AXES), *lr_b = mo_mul(t, x->s2, b);
    mo_tensor *W2_bar = mo_sub(t, mo_matmul(t, units, R), mo_scale(t, r, log(2), 0));
    mo_tensor *about = mo_sub(t, mo_sub(t, mo_matmul(t, D, x->u), mo_mul(t, b, x->wu)), lr_b);
    mo_tensor *KD = mo_matmul(t, mo_reshape(t, D, 3, (int64_t[]){B, P * h, n}), x->K);
    mo_tensor *shift = mo_matmul(t, mo_concat(t, (mo_tensor *[]){b, about}, 2, MO_AXIS(3)), x->V);
    x->S = mo_add(t, x->S, mo_sub(t, shift, reshape(t, KD, B, P, h, n)));
    x->W2 = mo_sub(t, x->W2, mo_mul(t, x->s2, W2_bar));
    x->b2 = mo_sub(t, x->b2, mo_mul(t, x->s2, r));
    x->sum_D = mo_add(t, x->sum_D, mo_slice(t, D, MO_AXIS(1), 0, 1));
    x->sum_b = mo_add(t, x->sum_b, mo_slice(t, lr_b, MO_AXIS(1), 0, 1));
}

/* The logits of Q [B, n_q, d], queries about the mean, by the fit of all rows. */
static mo_tensor *query_logits(mo_tape *t, const stack *x, mo_tensor *Z, mo_tensor *Q, mo_tensor *const *parameters) {
    int64_t B = mo_dim(x->S, 0), h = mo_dim(x->S, 2), n = mo_dim(x->S, 3), C = mo_dim(x->W2, 3);
    mo_tensor *s = mo_reshape(t, mo_sqrt(t, mo_slice(t, x->s2, MO_AXIS(1), 0, 1)), 3, (int64_t[]){B, 1, 1});
    mo_tensor *D = mo_reshape(t, x->sum_D, 3, (int64_t[]){B, h, n});
    mo_tensor *b1 = mo_sub(t, parameters[MO_MLP_B1], mo_reshape(t, x->sum_b, 3, (int64_t[]){B, 1, h}));
    mo_tensor *moved = mo_matmul(t, mo_transpose(t, Z), mo_transpose(t, D));
    mo_tensor *W1 = mo_sub(t, mo_div(t, parameters[MO_MLP_W1], s), moved);
    mo_tensor *W2 = mo_reshape(t, mo_slice(t, x->W2, MO_AXIS(1), 0, 1), 3, (int64_t[]){B, h, C});
    mo_tensor *b2 = mo_reshape(t, mo_slice(t, x->b2, MO_AXIS(1), 0, 1), 3, (int64_t[]){B, 1, C});
    return mlp_folds_output(t, mo_softplus(t, mo_add(t, mo_matmul(t, Q, W1), b1)), W2, b2);
}

/* [B, held, C] */
static mo_tensor *held_logits(mo_tape *t, const stack *x, const mo_folds *folds) {
    mo_tensor *rows[MO_MAX_FOLDS], *F = mlp_folds_output(t, mo_transpose(t, mo_softplus(t, x->S)), x->W2, x->b2);
    for (int f = 0; f < folds->n; f++)
        rows[f] = mo_fold_rows(t, mo_slice(t, F, MO_AXIS(1), f + 1, f + 2), folds, f);
    return mo_fold_concat(t, rows, folds);
}

/* X [.., rows, columns] with its leading axes as one. */
static mo_tensor *flat(mo_tape *t, mo_tensor *X) {
    int64_t rows = mo_dim(X, -2), columns = mo_dim(X, -1), B = 1;
    for (int i = 0; i < mo_ndim(X) - 2; i++)
        B *= mo_dim(X, i);
    return mo_reshape(t, mo_contiguous(t, X), 3, (int64_t[]){B, rows, columns});
}

/* [.., rows, columns] with the leading axes of `as`. */
static mo_tensor *unflat(mo_tape *t, mo_tensor *X, const mo_tensor *as) {
    int64_t shape[MO_MAX_AXES];
    int ndim = mo_ndim(as);
    for (int i = 0; i < ndim - 2; i++)
        shape[i] = mo_dim(as, i);
    shape[ndim - 2] = mo_dim(X, -2);
    shape[ndim - 1] = mo_dim(X, -1);
    return mo_reshape(t, X, ndim, shape);
}

mo_tensor *mo_mlp_fit_folds(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters,
    int64_t steps, const mo_folds *folds, mo_tensor **held) {
    mo_tensor *mean = mo_mean(t, Zs, MO_AXIS(-2), MO_KEEP_AXES), *fixed[MO_MLP_PARAMETERS];
    mo_tensor *Z = flat(t, mo_stop_gradient(t, mo_sub(t, Zs, mean)));
    mo_tensor *Q = flat(t, mo_stop_gradient(t, mo_sub(t, Zq, mean)));
    for (int i = 0; i < MO_MLP_PARAMETERS; i++)
        fixed[i] = mo_stop_gradient(t, parameters[i]);
    stack x = {.w = weights(t, mo_tensor_dtype(Zs), mo_dim(Zs, -2), folds)};
    mlp_folds_begin(t, Z, flat(t, mo_stop_gradient(t, Ys)), fixed, &x);
    mo_scope scope = mo_scope_open(t);
    for (int64_t i = 0; i < steps && mo_ok(mo_tape_context(t)); i++) {
        mlp_folds_step(t, &x);
        mo_tensor *kept[CHANGING] = {x.S, x.W2, x.b2, x.sum_D, x.sum_b};
        mo_scope_close(t, &scope, kept, CHANGING);
    }
    *held = unflat(t, held_logits(t, &x, folds), Zs);
    return unflat(t, query_logits(t, &x, Z, Q, fixed), Zs);
}
