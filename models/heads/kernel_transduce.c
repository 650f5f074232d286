/* models/heads/kernel_transduce.c - the mixture of ridges and kernels refitted on all graphs of a set, including those
 * without a label.
 *
 * Self-training as for nodes (ridge_transduce.c), in the form whose system is as large as the number of examples N: the
 * mixture reads a Gaussian kernel too, which has no rows of finite width, and sets of graphs are small. Let K [N, N] be
 * the kernels of the experts, each times its share of the mixture, lambda the geometric mean of the mixture's
 * penalties, and w_i = n_s / N + the number of times that the support has example i. A ridge on all examples with these
 * weights minimises
 *     sum_i w_i |(K alpha)_i - P_i|^2 + lambda tr(alpha^T K alpha),   alpha = (K + lambda W^-1)^-1 P,
 * with the root of W drawn out,
 *     alpha = W^1/2 (W^1/2 K W^1/2 + lambda I)^-1 W^1/2 P.
 * From the logits of the mixture, each round is P = rows(columns(softmax(sharpness logits))), P_i = Y_i for the
 * support, logits = K alpha. One factorization serves all rounds. */
#include "models/heads/ridge_mixture.h"
#include "models/heads/transduce.h"
#include "tensor/given.h"

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
    if (!mo_given(ctx, "kernel_transduce", "the population", all) || !mo_given(ctx, "kernel_transduce", "mix", mix) ||
        !mo_given(ctx, "kernel_transduce", "options", o))
        return false;
    int64_t N = mo_ndim(all->Z) == 2 ? mo_dim(all->Z, 0) : 0, M = mo_ndim(all->gram) == 3 ? mo_dim(all->gram, 0) : 0,
            kernels = mix->gamma ? 2 : 1;
    if (!N || !M || mo_dim(all->Z, 1) % M || mo_dim(all->Z, 1) / M < 2 || mo_dim(all->gram, 1) != N ||
        mo_dim(all->gram, 2) != N || mo_ndim(support) != 1 || mo_ndim(Ys) != 2 || mo_dim(Ys, 0) != mo_dim(support, 0) ||
        mo_ndim(mix->lambda) != 2 || mo_dim(mix->lambda, 0) != kernels * M || o->rounds < 0) {
        char z[160], g[160], y[160], l[160];
        mo_fail(ctx, MO_INVALID,
            "kernel_transduce: expected Z [N, M (d + 1)], gram [M, N, N], a label for each support row, lambda [M, R] "
            "([2 M, R] with gamma), 0 rounds or more; got %s, %s, %s, %s, %d",
            mo_shape_string(all->Z, z, sizeof z), mo_shape_string(all->gram, g, sizeof g),
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
    mo_placed_labels labels = mo_place_labels(t, support, Ys, N);
    mo_tensor *K = shared_kernel(t, all->gram, mo_slice(t, share, MO_AXIS(0), 0, M));
    if (mo_dim(share, 0) > M) { /* a large support is read by the inner product alone */
        mo_tensor *more = gaussian_of_gram(t, all->gram, mix->gamma);
        K = mo_add(t, K, shared_kernel(t, more, mo_slice(t, share, MO_AXIS(0), M, 2 * M)));
    }
    double r = (double)mo_dim(support, 0) / (double)N;
    mo_tensor *root = mo_sqrt(t, mo_scale(t, labels.times, 1, r)); /* of W, [N, 1] */
    mo_tensor *lambda = mo_mean_lambda(t, mo_slice(t, mix->lambda, MO_AXIS(0), 0, mo_dim(share, 0)), share);
    mo_tensor *A = mo_mul(t, mo_mul(t, K, root), mo_transpose(t, root));
    mo_tensor *L = mo_cholesky(t, mo_add_diag(t, A, lambda));
    for (int round = 0; round < o->rounds; round++) {
        mo_tensor *P = mo_balanced_predictions(t, &labels, logits, o->sharpness);
        mo_tensor *alpha = mo_mul(t, mo_cholesky_solve(t, L, mo_mul(t, P, root)), root);
        logits = mo_matmul(t, K, alpha);
    }
    return logits;
}
