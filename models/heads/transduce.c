/* models/heads/transduce.c - an expert of a mixture refitted on all nodes of a graph, or all graphs of a set, including
 * those without a label.
 *
 * Self-training (Scudder 1965): predictions for all N rows become their labels, and a ridge is fitted again on the
 * support and, at the weight n_s / N per row, on all rows. Alone, self-training drifts to few classes. Assuming classes
 * of equal size prevents this: the columns of the predictions P [N, C] are scaled to equal sums, then the rows to sum 1
 * (one step of Sinkhorn and Knopp 1967). Let Z be the rows [z | 1] of one expert, and r = n_s / N. The logits are F + c
 * Z W, where the other experts' part F is not refitted. Each round computes from the logits
 *     P = rows(columns(softmax(sharpness logits))),  P_i = Y_i for the support,
 *     W = (Zs^T Zs + r Z^T Z + lambda I)^-1 (Zs^T Ys + r Z^T P).
 * One factorization of size d + 1 serves all rounds. Besides Z, memory holds only arrays [N, C]. */
#include "models/heads/heads.h"
#include "tensor/library.h"

/* The support's labels placed among all N rows. times [N, 1]: how often the support has the row; Y [N, C]: the row's
 * label, or 0; mine [N, 1]: 1 for rows in the support, else 0. */
typedef struct placed_labels {
    mo_tensor *times, *Y, *mine;
} placed_labels;

/* support: row numbers [n_s], with labels Ys [n_s, C]; a repeated row must have the same label each time. */
static placed_labels place_labels(mo_tape *t, mo_tensor *support, mo_tensor *Ys, int64_t N) {
    mo_tensor *sum = mo_scatter_add_rows(t, Ys, support, N), *times = mo_sum(t, sum, MO_AXIS(1), MO_KEEP_AXES);
    return (placed_labels){.times = times,
        .Y = mo_div_or_zero(t, sum, times),
        .mine = mo_greater_equal(t, times, mo_scalar(t, mo_tensor_dtype(times), 0.5))};
}

/* Returns the predictions P of a round, from the logits [N, C]. */
static mo_tensor *balanced_predictions(
    mo_tape *t, const placed_labels *labels, mo_tensor *logits, mo_tensor *sharpness) {
    mo_tensor *P = mo_softmax(t, mo_mul(t, logits, sharpness), MO_AXIS(-1));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(0), MO_KEEP_AXES));
    P = mo_div_or_zero(t, P, mo_sum(t, P, MO_AXIS(1), MO_KEEP_AXES));
    return mo_where(t, labels->mine, labels->Y, P);
}

/* The tensors that all rounds share. */
typedef struct system {
    mo_tensor *Z, *Zt; /* [N, D] */
    mo_tensor *L;      /* Cholesky factor of Zs^T Zs + r Z^T Z + lambda I */
    mo_tensor *Zs_Ys;  /* [D, C] */
    placed_labels labels;
    double r;
} system;

/* Returns c W. */
static mo_tensor *refit(mo_tape *t, const system *s, mo_tensor *P, const mo_refitted *readout) {
    mo_tensor *B = mo_add(t, s->Zs_Ys, mo_scale(t, mo_matmul(t, s->Zt, P), s->r, 0));
    return mo_mul(t, mo_cholesky_solve(t, s->L, B), readout->scale);
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
    const mo_refitted *readout, const mo_transduction *o, mo_tensor **W) {
    mo_context *ctx = mo_tape_context(t);
    if (W)
        *W = mo_null_tensor(ctx);
    if (!ridge_transduce_check(ctx, all, support, Ys, readout, o))
        return mo_null_tensor(ctx);
    system s = {.Z = all->Z, .Zt = mo_transpose(t, all->Z)};
    s.r = (double)mo_dim(support, 0) / (double)mo_dim(all->Z, 0);
    s.labels = place_labels(t, support, Ys, mo_dim(all->Z, 0));
    mo_tensor *Zst = mo_transpose(t, mo_gather_rows(t, all->Z, support)), *logits = readout->logits;
    mo_tensor *G = mo_add(t, mo_gram(t, Zst), mo_scale(t, all->gram, s.r, 0));
    s.L = mo_cholesky(t, mo_add_diag(t, G, readout->lambda));
    s.Zs_Ys = mo_matmul(t, Zst, Ys);
    for (int round = 0; round < o->rounds; round++) {
        mo_tensor *own = refit(t, &s, balanced_predictions(t, &s.labels, logits, o->sharpness), readout);
        logits = mo_add(t, readout->fixed, mo_matmul(t, s.Z, own));
        if (W)
            *W = own;
    }
    return logits;
}

/* The logits [n, C] of all experts but the first, and that of the first, from the kernels K [E, n, m]. */
static mo_tensor *split_logits(mo_tape *t, const mo_state *state, mo_tensor *K, mo_tensor **first) {
    mo_axes experts = MO_AXIS(0);
    mo_tensor *logits = mo_matmul(t, K, mo_state_get(t, state, "alpha"));
    *first = mo_sum(t, mo_slice(t, logits, experts, 0, 1), experts, MO_DROP_AXES);
    return mo_sub(t, mo_sum(t, logits, experts, MO_DROP_AXES), *first);
}

mo_tensor *mo_state_transduce(
    mo_tape *t, mo_state *state, mo_tensor *K, const mo_population *all, mo_tensor *support, mo_tensor *Ys) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    if (!mo_state_find(state, "share")) {
        mo_fail(ctx, MO_UNSUPPORTED, "head %s: its state has no experts to refit", state->head->name);
        return mo_null_tensor(ctx);
    }
    mo_axes experts = MO_AXIS(0);
    mo_tensor *own, *W, *fixed = split_logits(t, state, K, &own);
    mo_tensor *share = mo_slice(t, mo_state_get(t, state, "share"), experts, 0, 1);
    mo_tensor *factor = mo_slice(t, mo_state_get(t, state, "factor"), experts, 0, 1);
    mo_tensor *log_lambda = mo_log(t, mo_state_get(t, state, "lambda"));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_tensor *mean = mo_div_or_zero(t, mo_sum(t, mo_mul(t, share, log_lambda), MO_ALL, MO_DROP_AXES),
        mo_sum(t, share, MO_ALL, MO_DROP_AXES)); /* the expert's penalty: the mean of log lambda, weighted by share */
    const mo_refitted readout = {.logits = mo_add(t, fixed, own),
        .fixed = fixed,
        .scale = mo_sum(t, factor, MO_ALL, MO_DROP_AXES),
        .lambda = mo_exp(t, mean)};
    const mo_transduction o = {.rounds = 5, .sharpness = mo_scalar(t, mo_tensor_dtype(fixed), 1)};
    mo_tensor *logits = mo_ridge_transduce(t, all, support, Ys, &readout, &o, &W);
    mo_state_put(state, "refitted", W);
    return logits;
}

mo_tensor *mo_state_apply_transduced(mo_tape *t, const mo_state *state, mo_tensor *K, mo_tensor *Z) {
    mo_tensor *own, *fixed = split_logits(t, state, K, &own);
    return mo_add(t, fixed, mo_matmul(t, Z, mo_state_get(t, state, "refitted")));
}
