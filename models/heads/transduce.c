/* models/heads/transduce.c - the mixture of ridges refitted on all rows of a graph, including those without a label;
 * and the mixture of ridges and kernels on all graphs of a set.
 *
 * Self-training (Scudder 1965): predictions for all N rows become their labels, and a ridge is fitted again on the
 * support and, at the weight n_s / N per row, on all rows. By itself it drifts to few classes; the assumption that the
 * classes are of equal size prevents that: the columns of the predictions P [N, C] are scaled to equal sums, then the
 * rows to 1 (one step of Sinkhorn and Knopp 1967). Let Z be the rows [z | 1] of one expert, and r = n_s / N. The logits
 * of the readout are F + c Z W, of which the other experts' part F stays; from them, each round is
 *     P = rows(columns(softmax(sharpness logits))),  P_i = Y_i for the support,
 *     W = (Zs^T Zs + r Z^T Z + lambda I)^-1 (Zs^T Ys + r Z^T P).
 * One factorization serves all rounds. Its size is that of the embedding; besides Z, memory holds only [N, C] arrays.
 */
#include "models/heads/heads.h"
#include "tensor/given.h"

/* Of N rows: how often each is in the support [N, 1], its label [N, C], 0 elsewhere, and 1 where it is there [N, 1]. */
typedef struct placed_labels {
    mo_tensor *times, *Y, *mine;
} placed_labels;

/* support: row numbers [n_s], Ys [n_s, C]; a row drawn twice has one label. */
static placed_labels place_labels(mo_tape *t, mo_tensor *support, mo_tensor *Ys, int64_t N) {
    mo_tensor *sum = mo_scatter_add_rows(t, Ys, support, N), *times = mo_sum(t, sum, MO_AXIS(1), MO_KEEP_AXES);
    return (placed_labels){.times = times,
        .Y = mo_div_or_zero(t, sum, times),
        .mine = mo_greater_equal(t, times, mo_scalar(t, mo_tensor_dtype(times), 0.5))};
}

/* softmax(sharpness logits) [N, C], its columns scaled to equal sums, then its rows to 1, with the support's labels. */
static mo_tensor *balanced_predictions(
    mo_tape *t, const placed_labels *labels, mo_tensor *logits, mo_tensor *sharpness) {
    mo_tensor *P = mo_softmax(t, mo_mul(t, logits, sharpness), MO_AXIS(-1));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(0), MO_KEEP_AXES));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(1), MO_KEEP_AXES));
    return mo_where(t, labels->mine, labels->Y, P);
}

/* Geometric mean of the penalties, weighed by their shares, of the same shape: a scalar. */
static mo_tensor *mean_lambda(mo_tape *t, mo_tensor *lambda, mo_tensor *share) {
    return mo_exp(t, mo_sum(t, mo_mul(t, share, mo_log(t, lambda)), MO_ALL, MO_DROP_AXES));
}

/* A with its rows and columns multiplied by root [n, 1]. */
static mo_tensor *scaled(mo_tape *t, mo_tensor *A, mo_tensor *root) {
    return mo_mul(t, mo_mul(t, A, root), mo_transpose(t, root));
}

/* ---- nodes ---- */

/* The tensors that all rounds share. */
typedef struct system {
    mo_tensor *Z, *Zt; /* [N, D] */
    mo_tensor *L;      /* the Cholesky factor of the system */
    mo_tensor *Zs_Ys;  /* [D, C] */
    placed_labels labels;
    double r;
} system;

static mo_tensor *refit(mo_tape *t, const system *s, mo_tensor *P, const mo_refitted *readout) {
    mo_tensor *B = mo_add(t, s->Zs_Ys, mo_scale(t, mo_matmul(t, s->Zt, P), s->r, 0));
    mo_tensor *W = mo_mul(t, mo_cholesky_solve(t, s->L, B), readout->scale);
    return mo_add(t, readout->fixed, mo_matmul(t, s->Z, W));
}

static bool ridge_transduce_check(mo_context *ctx, const mo_population *all, const mo_tensor *support,
    const mo_tensor *Ys, const mo_refitted *readout, const mo_transduction *o) {
    static const char name[] = "ridge_transduce";
    if (!mo_ok(ctx) || !mo_given(ctx, name, "the population", all) || !mo_given(ctx, name, "the readout", readout) ||
        !mo_given(ctx, name, "options", o))
        return false;
    const mo_tensor *Z = all->Z, *G = all->gram, *L = readout->logits, *F = readout->fixed;
    bool fits = mo_ndim(Z) == 2 && mo_ndim(G) == 2 && mo_dim(G, 0) == mo_dim(Z, 1) && mo_dim(G, 1) == mo_dim(Z, 1) &&
                mo_ndim(support) == 1 && mo_ndim(Ys) == 2 && mo_dim(Ys, 0) == mo_dim(support, 0) && mo_ndim(L) == 2 &&
                mo_dim(L, 0) == mo_dim(Z, 0) && mo_dim(L, 1) == mo_dim(Ys, 1) && mo_ndim(F) == 2 &&
                mo_dim(F, 0) == mo_dim(Z, 0) && mo_dim(F, 1) == mo_dim(Ys, 1) && o->rounds >= 0;
    if (!fits) {
        char z[160], g[160], y[160], l[160], f[160];
        mo_fail(ctx, MO_INVALID,
            "%s: expected Z [N, d + 1], gram of that width, a label for each support row, logits and fixed [N, C], 0 "
            "rounds or more; got %s, %s, %s, %s, %s, %d",
            name, mo_shape_string(Z, z, sizeof z), mo_shape_string(G, g, sizeof g), mo_shape_string(Ys, y, sizeof y),
            mo_shape_string(L, l, sizeof l), mo_shape_string(F, f, sizeof f), o->rounds);
    }
    return fits;
}

mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_refitted *readout, const mo_transduction *o) {
    mo_context *ctx = mo_tape_context(t);
    if (!ridge_transduce_check(ctx, all, support, Ys, readout, o))
        return mo_null_tensor(ctx);
    system s = {.Z = all->Z, .Zt = mo_transpose(t, all->Z)};
    s.r = (double)mo_dim(support, 0) / (double)mo_dim(all->Z, 0);
    s.labels = place_labels(t, support, Ys, mo_dim(all->Z, 0));
    mo_tensor *Zst = mo_transpose(t, mo_gather_rows(t, all->Z, support)), *logits = readout->logits;
    mo_tensor *G = mo_add(t, mo_gram(t, Zst), mo_scale(t, all->gram, s.r, 0));
    s.L = mo_cholesky(t, mo_add_diag(t, G, readout->lambda));
    s.Zs_Ys = mo_matmul(t, Zst, Ys);
    for (int round = 0; round < o->rounds; round++)
        logits = refit(t, &s, balanced_predictions(t, &s.labels, logits, o->sharpness), readout);
    return logits;
}

/* ---- graphs ----
 *
 * Self-training as for nodes, in the form whose system is as large as the number of examples N: the
 * mixture reads a Gaussian kernel too, which has no rows of finite width, and sets of graphs are small. Let K [N, N] be
 * the kernels of the experts, each times its share of the mixture, lambda the geometric mean of the mixture's
 * penalties, and w_i = n_s / N + the number of times that the support has example i. A ridge on all examples with these
 * weights minimises
 *     sum_i w_i |(K alpha)_i - P_i|^2 + lambda tr(alpha^T K alpha),   alpha = (K + lambda W^-1)^-1 P,
 * with the root of W drawn out,
 *     alpha = W^1/2 (W^1/2 K W^1/2 + lambda I)^-1 W^1/2 P.
 * From the logits of the mixture, each round is P = rows(columns(softmax(sharpness logits))), P_i = Y_i for the
 * support, logits = K alpha. One factorization serves all rounds. */

/* Of all examples, the experts' rows [M, N, d] without the column of ones. */
static mo_tensor *rows_of_experts(mo_tape *t, mo_tensor *Z, int64_t M) {
    int64_t N = mo_dim(Z, 0), w = mo_dim(Z, 1) / M;
    mo_tensor *rows = mo_permute(t, mo_reshape(t, Z, 3, (int64_t[]){N, M, w}), (const int[]){1, 0, 2});
    return mo_contiguous(t, mo_slice(t, rows, MO_AXIS(2), 0, w - 1));
}

/* 1 + exp(-gamma |x - y|^2) from G [M, N, N] of 1 + <x, y>: the ones cancel in |x - y|^2 = G_xx + G_yy - 2 G_xy. */
static mo_tensor *gaussian_of_gram(mo_tape *t, mo_tensor *G, mo_tensor *gamma) {
    mo_tensor *square = mo_with_axis(t, mo_diagonal(t, G), MO_AXIS(2), 1);
    mo_tensor *distance = mo_add(t, mo_add(t, mo_scale(t, G, -2, 0), square), mo_transpose(t, square));
    return mo_scale(t, mo_exp(t, mo_neg(t, mo_mul(t, distance, gamma))), 1, 1);
}

/* sum_m share_m K_m of [M, N, N], by shares [M, R]. */
static mo_tensor *shared_kernel(mo_tape *t, mo_tensor *K, mo_tensor *share) {
    mo_tensor *of_expert = mo_with_axis(t, mo_sum(t, share, MO_AXIS(1), MO_KEEP_AXES), MO_AXIS(2), 1);
    return mo_sum(t, mo_mul(t, K, of_expert), MO_AXIS(0), MO_DROP_AXES);
}

static bool kernel_transduce_check(mo_context *ctx, const mo_population *all, const mo_tensor *support,
    const mo_tensor *Ys, const mo_mixture *mix, const mo_transduction *o) {
    static const char name[] = "kernel_transduce";
    if (!mo_given(ctx, name, "the population", all) || !mo_given(ctx, name, "mix", mix) ||
        !mo_given(ctx, name, "options", o))
        return false;
    int64_t N = mo_ndim(all->Z) == 2 ? mo_dim(all->Z, 0) : 0, M = mo_ndim(all->gram) == 3 ? mo_dim(all->gram, 0) : 0,
            kernels = mix->gamma ? 2 : 1;
    if (!N || !M || mo_dim(all->Z, 1) % M || mo_dim(all->Z, 1) / M < 2 || mo_dim(all->gram, 1) != N ||
        mo_dim(all->gram, 2) != N || mo_ndim(support) != 1 || mo_ndim(Ys) != 2 || mo_dim(Ys, 0) != mo_dim(support, 0) ||
        mo_ndim(mix->lambda) != 2 || mo_dim(mix->lambda, 0) != kernels * M || o->rounds < 0) {
        char z[160], g[160], y[160], l[160];
        mo_fail(ctx, MO_INVALID,
            "%s: expected Z [N, M (d + 1)], gram [M, N, N], a label for each support row, lambda [M, R] ([2 M, R] with "
            "gamma), 0 rounds or more; got %s, %s, %s, %s, %d",
            name, mo_shape_string(all->Z, z, sizeof z), mo_shape_string(all->gram, g, sizeof g),
            mo_shape_string(Ys, y, sizeof y), mo_shape_string(mix->lambda, l, sizeof l), o->rounds);
    }
    return mo_ok(ctx);
}

mo_tensor *mo_kernel_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *o) {
    mo_context *ctx = mo_tape_context(t);
    if (!kernel_transduce_check(ctx, all, support, Ys, mix, o))
        return mo_null_tensor(ctx);
    int64_t M = mo_dim(all->gram, 0), N = mo_dim(all->Z, 0);
    mo_tensor *Zq = rows_of_experts(t, all->Z, M), *Zs = rows_of_experts(t, mo_gather_rows(t, all->Z, support), M);
    mo_tensor *share, *logits = mo_ridge_mixture(t, Zs, Ys, Zq, mix, &share);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    placed_labels labels = place_labels(t, support, Ys, N);
    mo_tensor *K = shared_kernel(t, all->gram, mo_slice(t, share, MO_AXIS(0), 0, M));
    if (mo_dim(share, 0) > M) { /* a large support is read by the inner product alone */
        mo_tensor *more = gaussian_of_gram(t, all->gram, mix->gamma);
        K = mo_add(t, K, shared_kernel(t, more, mo_slice(t, share, MO_AXIS(0), M, 2 * M)));
    }
    double r = (double)mo_dim(support, 0) / (double)N;
    mo_tensor *root = mo_sqrt(t, mo_scale(t, labels.times, 1, r)); /* of W, [N, 1] */
    mo_tensor *lambda = mean_lambda(t, mo_slice(t, mix->lambda, MO_AXIS(0), 0, mo_dim(share, 0)), share);
    mo_tensor *L = mo_cholesky(t, mo_add_diag(t, scaled(t, K, root), lambda));
    for (int round = 0; round < o->rounds; round++) {
        mo_tensor *P = balanced_predictions(t, &labels, logits, o->sharpness);
        mo_tensor *alpha = mo_mul(t, mo_cholesky_solve(t, L, mo_mul(t, P, root)), root);
        logits = mo_matmul(t, K, alpha);
    }
    return logits;
}
