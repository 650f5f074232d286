/* models/invariant_readout.c - the readout of the invariant encoder: a mixture of kernels (heads/mixture.c), of which
 * nothing is learned but the encoder's rows.
 *
 * The expert T has the kernel 1 + <x, y> of those rows; of links and graphs there is also Tg, the same rows under the
 * Gaussian kernel 1 + exp(-|x - y|^2 / mean |x|^2). Further experts are the kernels that an episode of nodes or graphs
 * brings; of an inductive episode there are no others. */
#include "models/heads/heads.h"
#include "models/invariant.h"

#include <math.h>
#include <string.h>

static const double lambda_grid[] = {0.03, 0.3, 3}, evidence_sharpness = 0.3;
static const double own_prior = 1,
                    usual_doublings = 2; /* the prior of T and Tg, 0 of the episode's kernels; log2 T_e */

int mo_own_experts(mo_task task, bool inductive, const char *const **name) {
    static const char *const names[] = {"T", "Tg"};
    if (name)
        *name = names;
    return inductive ? 0 : task == MO_TASK_NC ? 1 : 2;
}

/* The episode's kernels of that name, or NULL. */
static mo_tensor *further_kernels(mo_tape *t, const mo_model *m, const mo_episode *e, const char *name) {
    for (int i = 0; i < e->n_rows; i++)
        if (!strcmp(e->rows[i].name, name))
            return mo_cast(t, e->rows[i].tensor, m->real);
    return NULL;
}

/* 1 + exp(-|x - y|^2) from K of 1 + <x, y>: rows have unit length, so |x - y|^2 = 2 - 2 <x, y> = 4 - 2 K. */
static mo_tensor *gaussian_of(mo_tape *t, mo_tensor *K) {
    return mo_scale(t, mo_exp(t, mo_scale(t, K, 2, -4)), 1, 1);
}

/* T's kernel K [n, m] and those made of it, before the episode's: [E, n, m]. */
static mo_tensor *all_kernels(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *K, const char *name) {
    mo_tensor *part[3], *more = further_kernels(t, m, e, name);
    int n = 0, own = mo_own_experts(e->task, e->inductive, NULL);
    if (own > 0)
        part[n++] = mo_with_axis(t, K, MO_AXIS(0), 1);
    if (own > 1)
        part[n++] = mo_with_axis(t, gaussian_of(t, K), MO_AXIS(0), 1);
    if (more)
        part[n++] = more;
    if (n == 0)
        mo_fail(m->ctx, MO_INVALID, "invariant: an inductive episode without kernels, expected some");
    return n > 1 ? mo_concat(t, part, n, MO_AXIS(0)) : n ? part[0] : mo_null_tensor(m->ctx);
}

static mo_tensor *own_kernel(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    return mo_scale(t, mo_matmul(t, X, mo_transpose(t, Y)), 1, 1);
}

/* The rows of X [n_s, d] that stand for the support. */
static mo_tensor *reference_rows(mo_tape *t, const mo_episode *e, mo_tensor *X) {
    return e->centres ? mo_gather_rows(t, X, e->centres) : X;
}

/* Rows `at` of every matrix of K [E, n, m]. */
static mo_tensor *rows_of_each(mo_tape *t, mo_tensor *K, mo_tensor *at) {
    static const int swapped[] = {1, 0, 2};
    int64_t E = mo_dim(K, 0), n = mo_dim(K, 1), m = mo_dim(K, 2);
    mo_tensor *rows = mo_reshape(t, mo_contiguous(t, mo_permute(t, K, swapped)), 2, (int64_t[]){n, E * m});
    rows = mo_reshape(t, mo_gather_rows(t, rows, at), 3, (int64_t[]){mo_numel(at), E, m});
    return mo_contiguous(t, mo_permute(t, rows, swapped));
}

static mo_tensor *gathered_weights(mo_tape *t, mo_tensor *weight, mo_tensor *at) {
    int64_t n = mo_numel(at);
    return mo_reshape(t, mo_gather_rows(t, mo_with_axis(t, weight, MO_AXIS(1), 1), at), 1, &n);
}

/* What is known of T before a label is seen. It pays where neighbours are of one class, and there their attributes are
 * alike too, but for graphs such as friendships, whose attributes say nothing of the class asked for. Two standard
 * deviations or more are as good as sure. Where T is right its logits are too even from few labels. */
static double trust_in_own(const mo_episode *e) {
    return fmin(fmax(e->assortativity, 0), 2);
}

static mo_expert_mixture kernel_mixture(mo_tape *t, const mo_model *m, const mo_episode *e, int64_t E) {
    double prior[MO_MAX_EXPERTS] = {0}, doublings[MO_MAX_EXPERTS];
    int64_t R = sizeof lambda_grid / sizeof *lambda_grid;
    int own = mo_own_experts(e->task, e->inductive, NULL);
    if (mo_ok(m->ctx) && E > MO_MAX_EXPERTS)
        mo_fail(m->ctx, MO_INVALID, "invariant: %lld kernels of an episode, expected at most %d", (long long)(E - own),
            MO_MAX_EXPERTS - own);
    if (!mo_ok(m->ctx))
        return (mo_expert_mixture){0};
    for (int i = 0; i < E; i++) {
        prior[i] = i < own ? own_prior + trust_in_own(e) : 0;
        doublings[i] = usual_doublings + (i < own ? trust_in_own(e) : 0);
    }
    return (mo_expert_mixture){.lambda = mo_cast(t, mo_from(t, MO_F64, 1, &R, lambda_grid), m->real),
        .prior = mo_cast(t, mo_from(t, MO_F64, 1, &E, prior), m->real),
        .doublings = mo_cast(t, mo_from(t, MO_F64, 1, &E, doublings), m->real),
        .sharpness = mo_scalar(t, m->real, evidence_sharpness),
        .weight = e->support_weight ? mo_cast(t, e->support_weight, m->real) : NULL,
        .class_weight = e->class_weight ? mo_cast(t, e->class_weight, m->real) : NULL};
}

static mo_tensor *labels_of(mo_tape *t, const mo_model *m, const mo_episode *e) {
    return mo_one_hot(t, e->support_label, e->classes, m->real);
}

/* alpha [E, m, C] of every expert, with K [n_s, m] the kernel of T of the support with the m rows that stand for it. */
static mo_mixed_experts learn_mixture(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *K) {
    mo_tensor *all = all_kernels(t, m, e, K, "kernels"), *Ys = labels_of(t, m, e);
    mo_expert_mixture mix = kernel_mixture(t, m, e, mo_dim(all, 0));
    if (!mo_ok(m->ctx))
        return (mo_mixed_experts){mo_null_tensor(m->ctx), mo_null_tensor(m->ctx), mo_null_tensor(m->ctx)};
    if (!e->centres)
        return mo_kernel_mixture(t, all, Ys, &mix);
    mo_tensor *class_weight = mix.class_weight;
    if (mix.weight)
        mix.weight = gathered_weights(t, mix.weight, e->centres);
    if (class_weight)
        mix.class_weight = gathered_weights(t, class_weight, e->centres);
    return mo_centred_mixture(
        t, all, rows_of_each(t, all, e->centres), Ys, mo_gather_rows(t, Ys, e->centres), class_weight, &mix);
}

/* ---- without some rows of the support ---- */

static void invert(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *inverted[2]) {
    mo_tensor *all = all_kernels(t, m, e, own_kernel(t, Zs, Zs), "kernels");
    mo_expert_mixture mix = kernel_mixture(t, m, e, mo_dim(all, 0));
    mo_inverted_mixture fit = mo_kernel_mixture_invert(t, all, labels_of(t, m, e), &mix);
    inverted[0] = fit.G;
    inverted[1] = fit.alpha;
}

static mo_tensor *without(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *const inverted[2],
    const int64_t *row, int64_t h, mo_tensor **each) {
    const mo_inverted_mixture all = {inverted[0], inverted[1]};
    mo_expert_mixture mix = kernel_mixture(t, m, e, mo_dim(all.G, 0));
    return mo_kernel_mixture_without(t, &all, labels_of(t, m, e), &mix, row, h, each);
}

/* ---- logits ---- */

/* Logits [E, n, C] of each expert, from T's kernel K [n, m] of n rows and those that stand for the support. */
static mo_tensor *apply_mixture(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *K, mo_tensor *alpha) {
    return mo_matmul(t, all_kernels(t, m, e, K, "query kernels"), alpha);
}

/* T is fitted again on the predictions for all examples (heads/transduce.c); the other experts' part of the logits
 * stays. The episode's queries are all examples. */
static mo_tensor *transduce(mo_tape *t, const mo_model *m, const mo_episode *e, const mo_population *all) {
    mo_tensor *Zs = mo_gather_rows(t, all->Z, e->support[0]), *Zst = mo_transpose(t, reference_rows(t, e, Zs));
    mo_mixed_experts fit = learn_mixture(t, m, e, mo_matmul(t, Zs, Zst)); /* the column of ones is the kernel's 1 */
    mo_tensor *logits = apply_mixture(t, m, e, mo_matmul(t, all->Z, Zst), fit.learned);
    if (!mo_ok(m->ctx))
        return mo_null_tensor(m->ctx);
    int64_t R = mo_dim(fit.share, 1);
    mo_axes experts = MO_AXIS(0);
    mo_tensor *own = mo_sum(t, mo_slice(t, logits, experts, 0, 1), experts, MO_DROP_AXES);
    logits = mo_sum(t, logits, experts, MO_DROP_AXES);
    mo_tensor *share = mo_slice(t, fit.share, experts, 0, 1), *factor = mo_slice(t, fit.factor, experts, 0, 1);
    mo_tensor *log_lambda = mo_log(t, mo_cast(t, mo_from(t, MO_F64, 1, &R, lambda_grid), m->real));
    mo_tensor *mean = mo_div_or_zero(t, mo_sum(t, mo_mul(t, share, log_lambda), MO_ALL, MO_DROP_AXES),
        mo_sum(t, share, MO_ALL, MO_DROP_AXES)); /* T's penalty: the geometric mean, weighed by their shares */
    mo_refitted readout = {.logits = logits,
        .fixed = mo_sub(t, logits, own),
        .scale = mo_sum(t, factor, MO_ALL, MO_DROP_AXES),
        .lambda = mo_exp(t, mean)};
    mo_transduction o = {.rounds = 5, .sharpness = mo_scalar(t, m->real, 1)};
    mo_tensor *Ys = labels_of(t, m, e);
    return mo_ridge_transduce(t, all, e->support[0], Ys, &readout, &o);
}

/* ---- the table ---- */

static mo_tensor *learn(mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor **share) {
    mo_mixed_experts fit = learn_mixture(t, m, e, own_kernel(t, Zs, reference_rows(t, e, Zs)));
    *share = fit.share;
    return fit.learned;
}

static mo_tensor *apply(
    mo_tape *t, const mo_model *m, const mo_episode *e, mo_tensor *Zs, mo_tensor *alpha, mo_tensor *Zq) {
    mo_tensor *K = own_kernel(t, Zq, reference_rows(t, e, Zs));
    return mo_sum(t, apply_mixture(t, m, e, K, alpha), MO_AXIS(0), MO_DROP_AXES);
}

const mo_own_readout mo_invariant_readout = {
    .learn = learn, .apply = apply, .transduce = transduce, .invert = invert, .without = without};
