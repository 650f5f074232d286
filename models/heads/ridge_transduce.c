/* models/heads/ridge_transduce.c - the mixture of ridges refitted on all rows of a graph, including those without a
 * label.
 *
 * Self-training (Scudder 1965): predictions for all N rows become their labels, and a ridge is fitted again on the
 * support and, at the weight n_s / N per row, on all rows. By itself it drifts to few classes; the assumption that the
 * classes are of equal size prevents that: the columns of the predictions P [N, C] are scaled to equal sums, then the
 * rows to 1 (one step of Sinkhorn and Knopp 1967). Let Z be the experts' rows [Z_m | 1] side by side, each times the
 * root of its share of the mixture, lambda the geometric mean of the mixture's penalties, and r = n_s / N. From the
 * logits of the mixture, each round is P = rows(columns(softmax(sharpness logits))),  P_i = Y_i for the support, logits
 * = Z (Zs^T Zs + r Z^T Z + lambda I)^-1 (Zs^T Ys + r Z^T P) One factorization serves all rounds. Z itself is never
 * scaled or copied: the roots go into the system, whose size is that of the embedding; besides Z, memory holds only [N,
 * C] arrays. */
#include "models/heads/ridge_mixture.h"
#include "models/heads/transduce.h"
#include "tensor/given.h"

/* The tensors that all rounds share. */
typedef struct system {
    mo_tensor *Z, *Zt; /* [N, D], D = M (d + 1) */
    mo_tensor *root;   /* [D, 1]: the root of the share of each column's expert */
    mo_tensor *L;      /* the Cholesky factor of the system */
    mo_tensor *Zs_Ys;  /* [D, C] */
    mo_placed_labels labels;
    double r;
} system;

/* [D, 1]: entry m of x [M, 1] for the d + 1 columns of expert m. */
static mo_tensor *of_columns(mo_tape *t, mo_tensor *x, int64_t D) {
    int64_t M = mo_dim(x, 0);
    return mo_reshape(t, mo_contiguous(t, mo_broadcast_to(t, x, 2, (int64_t[]){M, D / M})), 2, (int64_t[]){D, 1});
}

/* A with its rows and columns multiplied by root. */
static mo_tensor *ridge_transduce_scaled(mo_tape *t, mo_tensor *A, mo_tensor *root) {
    return mo_mul(t, mo_mul(t, A, root), mo_transpose(t, root));
}

static void make_system(mo_tape *t, system *s, mo_tensor *gram, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda) {
    mo_tensor *Zst = mo_transpose(t, Zs);
    mo_tensor *G = mo_add(t, mo_gram(t, Zst), mo_scale(t, gram, s->r, 0));
    s->L = mo_cholesky(t, mo_add_diag(t, ridge_transduce_scaled(t, G, s->root), lambda));
    s->Zs_Ys = mo_matmul(t, Zst, Ys);
}

static mo_tensor *refit(mo_tape *t, const system *s, mo_tensor *P) {
    mo_tensor *B = mo_add(t, s->Zs_Ys, mo_scale(t, mo_matmul(t, s->Zt, P), s->r, 0));
    mo_tensor *X = mo_cholesky_solve(t, s->L, mo_mul(t, B, s->root));
    return mo_matmul(t, s->Z, mo_mul(t, X, s->root));
}

static bool ridge_transduce_check(mo_context *ctx, const mo_population *all, const mo_tensor *support,
    const mo_tensor *Ys, const mo_mixture *mix, const mo_transduction *o) {
    if (!mo_given(ctx, "ridge_transduce", "the population", all) || !mo_given(ctx, "ridge_transduce", "mix", mix) ||
        !mo_given(ctx, "ridge_transduce", "options", o))
        return false;
    int64_t D = mo_ndim(all->Z) == 2 ? mo_dim(all->Z, 1) : 0,
            M = mo_ndim(mix->lambda) == 2 ? mo_dim(mix->lambda, 0) : 0;
    if (!D || !M || D % M || D / M < 2 || mo_ndim(all->gram) != 2 || mo_dim(all->gram, 0) != D ||
        mo_dim(all->gram, 1) != D || mo_ndim(support) != 1 || mo_ndim(Ys) != 2 || mo_dim(Ys, 0) != mo_dim(support, 0) ||
        o->rounds < 0) {
        char z[160], g[160], y[160], l[160];
        mo_fail(ctx, MO_INVALID,
            "ridge_transduce: expected Z [N, M (d + 1)], gram of that width, a label for each support row, lambda [M, "
            "R], no gamma, 0 rounds or more; got %s, %s, %s, %s, %d",
            mo_shape_string(all->Z, z, sizeof z), mo_shape_string(all->gram, g, sizeof g),
            mo_shape_string(Ys, y, sizeof y), mo_shape_string(mix->lambda, l, sizeof l), o->rounds);
    }
    return mo_ok(ctx);
}

/* The mixture on the support alone: logits of all rows, and the share of each expert and penalty. */
static mo_tensor *inductive(
    mo_tape *t, const system *s, mo_tensor *Zs, mo_tensor *Ys, const mo_mixture *mix, mo_tensor **share) {
    int64_t M = mo_dim(mix->lambda, 0), D = mo_dim(Zs, 1), d = D / M - 1;
    mo_tensor *experts = mo_reshape(t, Zs, 3, (int64_t[]){mo_dim(Zs, 0), M, d + 1});
    experts = mo_slice(t, mo_permute(t, experts, (const int[]){1, 0, 2}), MO_AXIS(2), 0, d);
    mo_mixed fit = mo_ridge_mixture_fit(t, mo_contiguous(t, experts), Ys, mix);
    *share = fit.share;
    return mo_matmul(t, s->Z, mo_reshape(t, fit.W, 2, (int64_t[]){D, mo_dim(Ys, 1)}));
}

mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *o) {
    mo_context *ctx = mo_tape_context(t);
    if (!ridge_transduce_check(ctx, all, support, Ys, mix, o))
        return mo_null_tensor(ctx);
    system s = {.Z = all->Z, .Zt = mo_transpose(t, all->Z)};
    s.r = (double)mo_dim(support, 0) / (double)mo_dim(all->Z, 0);
    mo_tensor *Zs = mo_gather_rows(t, all->Z, support), *share;
    mo_tensor *logits = inductive(t, &s, Zs, Ys, mix, &share);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    s.root = of_columns(t, mo_sqrt(t, mo_sum(t, share, MO_AXIS(1), MO_KEEP_AXES)), mo_dim(Zs, 1));
    s.labels = mo_place_labels(t, support, Ys, mo_dim(all->Z, 0));
    make_system(t, &s, all->gram, Zs, Ys, mo_mean_lambda(t, mix->lambda, share));
    for (int round = 0; round < o->rounds; round++)
        logits = refit(t, &s, mo_balanced_predictions(t, &s.labels, logits, o->sharpness));
    return logits;
}
