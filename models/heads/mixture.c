/* models/heads/mixture.c - ridges of several experts and penalties, mixed by how well each predicts support rows that
 * were left out of its fit.
 *
 * Expert e is a kernel k_e of the same examples. With penalty r it gives the readout f_er(q) = k_e(q, S) alpha_er and
 * the leave-one-out predictions Yloo_er of the support rows (ridge_loo.c). The support has n different rows, row i w_i
 * times; n_c of its rows, copies counted, have class c:
 *     L_ic     = Yloo_ic n_c / (n_c - 1) if c is the row's own class and n_c > 1, else Yloo_ic
 *     CE_er(T) = sum_i w_i / (sum w) (cross-entropy of softmax(T L_i) with the row's label)
 *     T_er     = argmin over T = 1, 2, 4, 8, 16, 32 of n CE_er(T) + (log2(T / T_e))^2
 *     pi       = softmax_er(prior_e - sharpness n CE_er(T_er))
 *     logits   = sum_er pi_er T_er f_er
 *
 * The caller gives prior_e and T_e, the temperature of expert e that is expected before any label is seen. The shares
 * pi are a Gibbs posterior over pairs (e, r), whose likelihood is raised to the power `sharpness` (stacking by
 * leave-one-out: Wolpert 1992; the posterior: Zhang 2006). The factor n_c / (n_c - 1) in L compensates a class for the
 * row that is left out: without the factor, a ridge with a strong penalty seems to predict worse than chance from few
 * labels. The only row of a class takes no part in CE and n: a fit without it has never seen the class, so its error
 * has no meaning. With one label per class, the shares are the prior's and the temperatures are the expected ones, T_e.
 *
 * If classes differ in size, the fits weight the rows of rare classes more (mo_class_weight): a ridge with weights b_i
 * is the ridge of the rows and labels times sqrt(b_i) (ridge_loo.c). CE and n_c do not use these weights.
 *
 * T makes the softmax of the logits calibrated probabilities, so no further temperature is applied. With few labels the
 * second term decides T_er. The gradient treats T_er as a constant, and jumps where two temperatures are equally good.
 *
 * The system to solve is as wide as the support. A large support is represented by m of its rows, the centres
 * (Nystroem's approximation: Williams and Seeger 2001): with Km = L L^T of the centres and Phi = K L^-T of all rows,
 * Phi Phi^T is the kernel as far as the centres determine it, and the ridge of the rows Phi is only m wide,
 *     f(q) = k(q, centres) alpha,  alpha = L^-T (Phi^T Phi + r I)^-1 Phi^T Y.
 * Shares and temperatures are computed as above, from the centres alone.
 *
 * As a head: the experts are the kernels of the rows, 1 + <x, y> and perhaps 1 + exp(-|x - y|^2 / mean |x|^2), and the
 * given ones, with the penalties lambda / 10, lambda and 10 lambda. The kernels of the rows have the prior 1 and T_e =
 * 4, both more with the caller's trust in them. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>

static const double temperatures[] = {1, 2, 4, 8, 16, 32};
enum { TEMPERATURES = sizeof temperatures / sizeof *temperatures };

/* Returns X [.., n, C] as [.., 1, 1, n, C], to broadcast over experts and penalties [.., E, R, n, C]. */
static mo_tensor *of_each_pair(mo_tape *t, mo_tensor *X) {
    return mo_with_axis(t, mo_with_axis(t, X, MO_AXIS(-3), 1), MO_AXIS(-3), 1);
}

/* Returns L of the file comment from predictions [.., E, R, n_s, C]. With soft labels y the factor of class c is
 * 1 + y_ic / (n_c - 1). */
static mo_tensor *where_labelled(
    mo_tape *t, mo_tensor *Yloo, mo_tensor *Ys, mo_tensor *weight /* [.., n_s, 1] or NULL */) {
    mo_tensor *counted = weight ? mo_mul(t, Ys, weight) : Ys;
    mo_tensor *n_c = mo_sum(t, counted, MO_AXIS(mo_ndim(Ys) - 2), MO_KEEP_AXES);
    mo_tensor *more = mo_div_or_zero(t, Ys, mo_scale(t, n_c, 1, -1));
    return mo_mul(t, Yloo, of_each_pair(t, mo_scale(t, more, 1, 1)));
}

/* Returns 1 for each row whose class has another example, else 0: [.., n_s, 1], without a gradient. Soft labels count
 * as fractions of examples. */
static mo_tensor *has_others(mo_tape *t, mo_tensor *Ys, mo_tensor *weight) {
    mo_tensor *once = weight ? mo_mul(t, Ys, mo_clamp(t, weight, 0, 1)) : Ys;
    mo_tensor *examples = mo_sum(t, once, MO_AXIS(mo_ndim(Ys) - 2), MO_KEEP_AXES); /* of each class */
    mo_tensor *own = mo_sum(t, mo_mul(t, Ys, examples), MO_AXIS(mo_ndim(Ys) - 1), MO_KEEP_AXES);
    return mo_greater_equal(t, own, mo_scalar(t, mo_tensor_dtype(Ys), 1.5));
}

/* Labels times n w_i / sum w, so that a sum over the rows is n times the weighted mean. Rows that take no part in CE
 * have w_i = 0. */
static mo_tensor *counted_labels(mo_tape *t, mo_tensor *Ys, mo_tensor *weight) {
    mo_tensor *others = has_others(t, Ys, weight);
    if (!weight)
        return mo_mul(t, Ys, others);
    weight = mo_mul(t, weight, others);
    mo_axes rows = MO_AXIS(mo_ndim(weight) - 2);
    mo_tensor *n = mo_sum(t, mo_clamp(t, weight, 0, 1), rows, MO_KEEP_AXES);
    mo_tensor *scale = mo_div_or_zero(t, n, mo_sum(t, weight, rows, MO_KEEP_AXES));
    return mo_mul(t, Ys, mo_mul(t, weight, scale));
}

/* Returns n CE [.., E, R] at the scaled predictions TL [.., E, R, n_s, C]; labels [.., n_s, C]: counted_labels. */
static mo_tensor *cross_entropy(mo_tape *t, mo_tensor *TL, mo_tensor *labels) {
    int last = mo_ndim(TL) - 1;
    mo_tensor *of_label = mo_mul(t, mo_log_softmax(t, TL, MO_AXIS(-1)), of_each_pair(t, labels));
    return mo_neg(t, mo_sum(t, of_label, MO_AXES(last, last - 1), MO_DROP_AXES));
}

/* Returns T [.., E, R], chosen from the predictions L without a gradient. doublings [E]: log2 T_e. */
static mo_tensor *best_temperature(mo_tape *t, mo_tensor *L, mo_tensor *labels, mo_tensor *doublings) {
    mo_tensor *score[TEMPERATURES];
    L = mo_stop_gradient(t, L);
    labels = mo_stop_gradient(t, labels);
    doublings = mo_with_axis(t, mo_stop_gradient(t, doublings), MO_AXIS(-1), 1);
    for (int i = 0; i < TEMPERATURES; i++) {
        mo_tensor *cost = cross_entropy(t, mo_scale(t, L, temperatures[i], 0), labels);
        mo_tensor *unlikely = mo_square(t, mo_scale(t, doublings, 1, -log2(temperatures[i])));
        score[i] = mo_with_axis(t, mo_neg(t, mo_add(t, cost, unlikely)), MO_AXIS(-1), 1);
    }
    mo_tensor *at = mo_argmax(t, mo_concat(t, score, TEMPERATURES, MO_AXIS(-1)), MO_AXIS(-1));
    int64_t shape[MO_MAX_AXES], n = mo_numel(at);
    for (int i = 0; i < mo_ndim(at); i++)
        shape[i] = mo_dim(at, i);
    mo_tensor *table = mo_from(t, MO_F64, 2, (int64_t[]){TEMPERATURES, 1}, temperatures);
    mo_tensor *T = mo_gather_rows(t, table, mo_reshape(t, at, 1, &n));
    return mo_cast(t, mo_reshape(t, T, mo_ndim(at), shape), mo_tensor_dtype(L));
}

/* Multiplies the matrix of each expert and penalty in X by its number in x [.., E, R]. */
static mo_tensor *times_matrix(mo_tape *t, mo_tensor *X, mo_tensor *x) {
    return mo_mul(t, X, mo_with_axis(t, mo_with_axis(t, x, MO_AXIS(-1), 1), MO_AXIS(-1), 1));
}

/* Mixes the weights X [.., E, R, p, C] of all experts and penalties into `learned` [.., E, p, C], by their
 * leave-one-out predictions Yloo [.., E, R, n_s, C] of the labels Ys [.., n_s, C]. Does not read mix->lambda. */
static mo_mixed_experts mix_experts(
    mo_tape *t, mo_tensor *X, mo_tensor *Yloo, mo_tensor *Ys, const mo_expert_mixture *mix) {
    mo_context *ctx = mo_tape_context(t);
    mo_mixed_experts none = {mo_null_tensor(ctx), mo_null_tensor(ctx), mo_null_tensor(ctx)}, m;
    if (!mo_ok(ctx))
        return none;
    mo_tensor *weight = mix->weight ? mo_with_axis(t, mix->weight, MO_AXIS(-1), 1) : NULL;
    mo_tensor *labels = counted_labels(t, Ys, weight), *L = where_labelled(t, Yloo, Ys, weight);
    mo_tensor *T = mo_ok(ctx) ? best_temperature(t, L, labels, mix->doublings) : NULL;
    if (!mo_ok(ctx))
        return none;
    mo_tensor *evidence = mo_mul(t, cross_entropy(t, times_matrix(t, L, T), labels), mix->sharpness);
    m.share = mo_softmax_of_pairs(t, mo_sub(t, mo_with_axis(t, mix->prior, MO_AXIS(-1), 1), evidence));
    m.factor = mo_mul(t, m.share, T);
    m.learned = mo_sum(t, times_matrix(t, X, m.factor), MO_AXIS(mo_ndim(X) - 3), MO_DROP_AXES);
    return mo_ok(ctx) ? m : none;
}

/* Returns lambda [R] broadcast to [.., R], where K is [.., E, n, n] and ".." its leading axes without E. */
static mo_tensor *of_every_problem(mo_tape *t, mo_tensor *lambda, const mo_tensor *K) {
    int64_t shape[MO_MAX_AXES];
    int ndim = mo_ndim(K) - 1;
    for (int i = 0; i < ndim - 1; i++)
        shape[i] = mo_dim(K, i);
    shape[ndim - 1] = mo_dim(lambda, 0);
    return mo_broadcast_to(t, lambda, ndim, shape);
}

static bool kernel_mixture_check(
    mo_context *ctx, const mo_tensor *K, const mo_tensor *Ys, const mo_expert_mixture *mix) {
    if (!mo_ok(ctx) || !mo_given(ctx, "mixture", "mix", mix))
        return false;
    int ndim = mo_ndim(K);
    bool fits = ndim >= 3 && mo_dim(K, -1) == mo_dim(K, -2) && mo_ndim(Ys) == ndim - 1 &&
                mo_dim(Ys, -2) == mo_dim(K, -1) && mo_ndim(mix->lambda) == 1 && mo_ndim(mix->prior) == 1 &&
                mo_dim(mix->prior, 0) == mo_dim(K, -3) && mo_ndim(mix->doublings) == 1 &&
                mo_dim(mix->doublings, 0) == mo_dim(K, -3);
    fits = fits && (!mix->weight || (mo_ndim(mix->weight) == ndim - 2 && mo_dim(mix->weight, -1) == mo_dim(K, -1)));
    for (int i = 0; fits && i < ndim - 3; i++)
        fits = mo_dim(K, i) == mo_dim(Ys, i) && (!mix->weight || mo_dim(K, i) == mo_dim(mix->weight, i));
    if (!fits) {
        char k[160], y[160], w[160], l[160], p[160], d[160];
        mo_fail(ctx, MO_INVALID,
            "mixture: expected K [.., E, n_s, n_s], Ys [.., n_s, C], weight [.., n_s], lambda [R], prior [E], "
            "doublings [E]; got %s, %s, %s, %s, %s, %s",
            mo_shape_string(K, k, sizeof k), mo_shape_string(Ys, y, sizeof y),
            mix->weight ? mo_shape_string(mix->weight, w, sizeof w) : "none", mo_shape_string(mix->lambda, l, sizeof l),
            mo_shape_string(mix->prior, p, sizeof p), mo_shape_string(mix->doublings, d, sizeof d));
    }
    return fits;
}

/* How much each row counts in a fit, [.., n_s]; NULL: 1 each. */
static mo_tensor *fit_weight(mo_tape *t, const mo_expert_mixture *mix) {
    if (mix->weight && mix->class_weight)
        return mo_mul(t, mix->weight, mix->class_weight);
    return mix->weight ? mix->weight : mix->class_weight;
}

mo_mixed_experts mo_kernel_mixture(
    mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix, mo_inverted_mixture *all) {
    mo_context *ctx = mo_tape_context(t);
    if (all)
        *all = (mo_inverted_mixture){mo_null_tensor(ctx), mo_null_tensor(ctx)};
    if (!kernel_mixture_check(ctx, K, Ys, mix))
        return (mo_mixed_experts){mo_null_tensor(ctx), mo_null_tensor(ctx), mo_null_tensor(ctx)};
    int64_t E = mo_dim(K, -3);
    mo_tensor *weight = fit_weight(t, mix), *G, *alpha, *Yloo;
    mo_tensor *root = weight ? mo_root_columns(t, mo_with_axis(t, weight, MO_AXIS(-2), E)) : NULL;
    mo_tensor *Y = mo_with_axis(t, Ys, MO_AXIS(-3), E);
    if (root)
        mo_scale_rows(t, root, &K, &Y);
    mo_kernel_inverse(t, K, Y, of_every_problem(t, mix->lambda, K), &G, &alpha);
    if (all)
        *all = (mo_inverted_mixture){G, alpha};
    mo_leave_one_out_of(t, G, Y, root, &alpha, &Yloo);
    return mix_experts(t, alpha, Yloo, Ys, mix);
}

/* Added to the diagonal of the centres' kernel, because float32 does not resolve its smallest eigenvalues. It is far
 * below the smallest penalty. */
static const double centre_ridge = 1e-3;

/* alpha [.., E, m, C] of the ridges of all rows by their centres, summed over penalties with `factor` [.., E, R]. */
static mo_tensor *centre_weights(mo_tape *t, mo_tensor *K, mo_tensor *Km, mo_tensor *Ys, mo_tensor *row_weight,
    mo_tensor *lambda, mo_tensor *factor) {
    int64_t E = mo_dim(Km, -3), R = mo_dim(lambda, 0);
    mo_tensor *L = mo_cholesky(t, mo_add_diag(t, Km, mo_scalar(t, mo_tensor_dtype(Km), centre_ridge)));
    if (row_weight) {
        mo_tensor *root = mo_root_columns(t, row_weight);
        K = mo_mul(t, K, mo_with_axis(t, root, MO_AXIS(-3), 1));
        Ys = mo_mul(t, Ys, root);
    }
    mo_tensor *Phi_t = mo_solve_triangular(t, L, mo_transpose(t, K), MO_LOWER);
    mo_tensor *A = mo_with_axis(t, mo_gram(t, Phi_t), MO_AXIS(-3), R);
    mo_tensor *B = mo_matmul(t, Phi_t, mo_with_axis(t, Ys, MO_AXIS(-3), E));
    A = mo_add_diag(t, A, of_every_problem(t, lambda, Km));
    mo_tensor *w = mo_solve_spd(t, A, mo_with_axis(t, B, MO_AXIS(-3), R));
    w = mo_sum(t, times_matrix(t, w, factor), MO_AXIS(mo_ndim(w) - 3), MO_DROP_AXES);
    return mo_solve_triangular(t, L, w, MO_LOWER_TRANSPOSED);
}

mo_mixed_experts mo_centred_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Km, mo_tensor *Ys, mo_tensor *Ym,
    mo_tensor *class_weight, const mo_expert_mixture *mix) {
    mo_mixed_experts fit = mo_kernel_mixture(t, Km, Ym, mix, NULL);
    if (mo_ok(mo_tape_context(t)))
        fit.learned = centre_weights(t, K, Km, Ys, class_weight, mix->lambda, fit.factor);
    return fit;
}

/* ---- without some rows ----
 *
 * Given G = (K + r I)^-1 and alpha = G Y for all rows, the inverse of a block matrix gives the fit without the rows J
 * (for one row this is the leave-one-out formula of ridge_loo.c):
 *     f(J) = Y_J - G_JJ^-1 alpha_J,
 *     G'_ii = G_ii - G_iJ G_JJ^-1 G_Ji,  alpha' = alpha - G_J G_JJ^-1 alpha_J,  Yloo'_i = Y_i - alpha'_i / G'_ii,
 * which takes products with h = |J| columns instead of a factorization. With class weights b_i, rows and labels are
 * multiplied by sqrt(b_i), and f and Yloo are divided by sqrt(b_i) at the end; the b_i are not recomputed without J. */

/* Rows row[0 .. h - 1] of every matrix of X [E, R, n, c]: [E, R, h, c]. */
static mo_tensor *rows_of_pairs(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t h) {
    int64_t E = mo_dim(X, 0), R = mo_dim(X, 1), n = mo_dim(X, 2), c = mo_dim(X, 3), count = E * R * h;
    int64_t *at = mo_host_array(mo_tape_context(t), count, sizeof *at);
    for (int64_t i = 0; at && i < count; i++)
        at[i] = i / h * n + row[i % h];
    mo_tensor *index = at ? mo_from(t, MO_I64, 1, &count, at) : mo_null_tensor(mo_tape_context(t));
    mo_tensor *flat = mo_reshape(t, mo_contiguous(t, X), 2, (int64_t[]){E * R * n, c});
    free(at);
    return mo_reshape(t, mo_gather_rows(t, flat, index), 4, (int64_t[]){E, R, h, c});
}

mo_tensor *mo_kernel_mixture_without(mo_tape *t, const mo_inverted_mixture *all, mo_tensor *Ys,
    const mo_expert_mixture *mix, const int64_t *row, int64_t h) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || h < 1)
        return mo_null_tensor(ctx);
    int64_t n = mo_dim(all->G, 2), C = mo_dim(Ys, -1);
    mo_expert_mixture others = *mix;
    mo_tensor *G_Jt = rows_of_pairs(t, all->G, row, h), *G_JJ = rows_of_pairs(t, mo_transpose(t, G_Jt), row, h);
    mo_tensor *alpha_J = rows_of_pairs(t, all->alpha, row, h);
    mo_tensor *X = mo_solve_spd(t, G_JJ, mo_concat(t, (mo_tensor *[]){alpha_J, G_Jt}, 2, MO_AXIS(-1)));
    mo_tensor *B = mo_slice(t, X, MO_AXIS(-1), 0, C), *H = mo_slice(t, X, MO_AXIS(-1), C, C + n);
    mo_tensor *lost = mo_sum(t, mo_mul(t, G_Jt, H), MO_AXIS(2), MO_DROP_AXES); /* G_ii - G'_ii, [E, R, n] */
    others.weight = mo_reshape(t, mo_rows_outside(t, Ys, row, 1, h), 1, &n);
    mo_tensor *G_ii = mo_mul(t, mo_sub(t, mo_diagonal(t, all->G), lost), others.weight); /* 0 in J */
    mo_tensor *alpha = mo_sub(t, all->alpha, mo_matmul(t, mo_transpose(t, G_Jt), B));
    mo_tensor *Y = of_each_pair(t, Ys), *Y_J = rows_of_pairs(t, Y, row, h);
    mo_tensor *error = mo_div_or_zero(t, alpha, mo_with_axis(t, G_ii, MO_AXIS(-1), 1));
    if (mix->class_weight) {
        mo_tensor *root = of_each_pair(t, mo_root_columns(t, mix->class_weight));
        error = mo_div(t, error, root);
        B = mo_div(t, B, rows_of_pairs(t, root, row, h));
    }
    mo_tensor *Yloo = mo_sub(t, Y, error), *own = mo_sub(t, Y_J, B);
    mo_mixed_experts fit = mix_experts(t, own, Yloo, Ys, &others);
    return mo_sum(t, fit.learned, MO_AXIS(0), MO_DROP_AXES);
}

/* ---- as a head of kernels ---- */

/* trusted_prior: the prior of the kernels of the rows, to which the caller's trust is added (other experts: 0).
 * usual_doublings: log2 of the temperature expected of any expert; for the kernels of the rows the trust is added. */
static const double trusted_prior = 1, usual_doublings = 2;
/* Of targets: multiplies the sharpness, as errors of rows that share the fits tell less than independent ones. Of the
 * factors 0.3 to 1.5, those up to 1 differ by 0.01 in mean R2 over five sets; above 1, 16 targets choose too sharply.
 */
static const double blunted = 0.5;

mo_tensor *mo_join_kernels(mo_tape *t, mo_tensor *K, int own, mo_tensor *given) {
    mo_tensor *part[3];
    int n = 0;
    if (own > 0)
        part[n++] = mo_with_axis(t, K, MO_AXIS(0), 1);
    if (own > 1) { /* rows have unit length, so |x - y|^2 = 2 - 2 <x, y> = 4 - 2 K */
        mo_tensor *gaussian = mo_scale(t, mo_exp(t, mo_scale(t, K, 2, -4)), 1, 1);
        part[n++] = mo_with_axis(t, gaussian, MO_AXIS(0), 1);
    }
    if (given)
        part[n++] = given;
    if (n == 0)
        mo_fail(mo_tape_context(t), MO_INVALID, "mixture: expected kernels, found none and rows that are not read");
    return n > 1 ? mo_concat(t, part, n, MO_AXIS(0)) : n ? part[0] : mo_null_tensor(mo_tape_context(t));
}

/* The number of kernels that are made of the rows. */
static int kernels_of_rows(mo_row_kernels of_rows) {
    return of_rows == MO_ROWS_UNUSED ? 0 : of_rows == MO_ROWS_GAUSSIAN ? 2 : 1;
}

/* Returns all kernels [E, n, m]: `own` ones made of the rows X [n, d] and Y [m, d], then the given ones. */
static mo_tensor *all_kernels(mo_tape *t, mo_tensor *X, mo_tensor *Y, int own, mo_tensor *given) {
    return mo_join_kernels(t, own ? mo_scale(t, mo_matmul(t, X, mo_transpose(t, Y)), 1, 1) : NULL, own, given);
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

/* The penalties lambda / 10, lambda and 10 lambda; for targets, which can be smoother and noisier than classes, also
 * lambda / 100 and 100 lambda. */
static mo_tensor *penalties(mo_tape *t, mo_tensor *lambda, mo_dtype real, bool targets) {
    static const double ratio[] = {0.1, 1, 10, 0.01, 100};
    mo_tensor *grid = mo_from(t, MO_F64, 1, (int64_t[]){targets ? 5 : 3}, ratio);
    grid = mo_cast(t, grid, mo_tensor_dtype(lambda));
    return mo_cast(t, mo_mul(t, grid, lambda), real);
}

static mo_expert_mixture mixture_of(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, int64_t E, int own) {
    double prior[MO_MAX_EXPERTS] = {0}, doublings[MO_MAX_EXPERTS];
    mo_dtype real = mo_tensor_dtype(s->Ys);
    if (E > MO_MAX_EXPERTS)
        mo_fail(
            mo_tape_context(t), MO_INVALID, "mixture: %lld kernels, expected at most %d", (long long)E, MO_MAX_EXPERTS);
    if (!mo_ok(mo_tape_context(t)))
        return (mo_expert_mixture){0};
    for (int i = 0; i < E; i++) {
        bool trusted = s->targets ? i >= E - s->columns - 1 : i < own; /* of targets the mean kernel is the last */
        prior[i] = trusted ? trusted_prior : 0;
        if (!s->targets)
            prior[i] += trusted ? s->trust : s->kernel_prior;
        doublings[i] = usual_doublings + (i < own ? s->trust : 0);
    }
    return (mo_expert_mixture){.lambda = penalties(t, parameters[0], real, s->targets),
        .prior = mo_cast(t, mo_from(t, MO_F64, 1, &E, prior), real),
        .doublings = mo_cast(t, mo_from(t, MO_F64, 1, &E, doublings), real),
        .sharpness = mo_cast(t, parameters[1], real),
        .weight = s->weight,
        .class_weight = s->class_weight ? mo_cast(t, s->class_weight, real) : NULL};
}

/* The mixture of a large support, whose centres give shares and temperatures. */
static mo_mixed_experts fit_centres(mo_tape *t, const mo_support *s, mo_tensor *K, mo_expert_mixture mix) {
    mo_tensor *class_weight = mix.class_weight;
    if (mix.weight)
        mix.weight = gathered_weights(t, mix.weight, s->centres);
    if (class_weight)
        mix.class_weight = gathered_weights(t, class_weight, s->centres);
    return mo_centred_mixture(
        t, K, rows_of_each(t, K, s->centres), s->Ys, mo_gather_rows(t, s->Ys, s->centres), class_weight, &mix);
}

/* State of targets: "alpha" [E, m, C], "share", "mean" and "scale" [1, C] of the targets, "known", "unit" and "noise"
 * (mo_target_mixture, for mo_mixture_spread), and the predictions "left out" [m, C] of the rows that represent the
 * support, with their standard deviations "left spread" [m, C], in units of the targets. */
static void fit_targets(mo_tape *t, const mo_support *s, mo_tensor *K, mo_expert_mixture mix, mo_state *state) {
    mo_tensor *Ys = s->Ys, *Km = K, *weight = mix.weight, *mean, *scale = mo_target_moments(t, Ys, weight, &mean);
    mo_target_mixture m = {0};
    mix.sharpness = mo_scale(t, mix.sharpness, blunted, 0);
    Ys = mo_div_or_zero(t, mo_sub(t, Ys, mean), scale);
    if (s->centres) {
        Km = rows_of_each(t, K, s->centres);
        mix.weight = weight ? gathered_weights(t, weight, s->centres) : NULL;
    }
    mo_mix_targets(t, Km, s->centres ? mo_gather_rows(t, Ys, s->centres) : Ys, &mix, &m);
    if (!mo_ok(mo_tape_context(t)))
        return;
    if (s->centres)
        m.learned = centre_weights(t, K, Km, Ys, weight, mix.lambda, m.share);
    mo_tensor *spread = mo_sqrt(t, mo_with_axis(t, m.left_spread, MO_AXIS(-1), 1));
    mo_state_put(state, "alpha", m.learned);
    mo_state_put(state, "share", m.share);
    mo_state_put(state, "mean", mean);
    mo_state_put(state, "scale", scale);
    mo_state_put(state, "known", m.known);
    mo_state_put(state, "unit", m.unit);
    mo_state_put(state, "noise", m.noise);
    mo_state_put(state, "left out", mo_add(t, mo_mul(t, m.left_out, scale), mean));
    mo_state_put(state, "left spread", mo_mul(t, spread, scale));
}

/* State: "alpha" [E, m, C], "rows" [m, d] that represent the support, unless no kernel is made of rows, "share",
 * "factor" and "lambda" (mo_mixed_experts); to hold rows out, the inverses and what mix_experts reads. */
static void fit_kernels(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *rows = s->centres ? mo_gather_rows(t, s->Zs, s->centres) : s->Zs;
    int own = kernels_of_rows(s->of_rows);
    mo_tensor *K = all_kernels(t, s->Zs, rows, own, s->kernels ? mo_cast(t, s->kernels, mo_tensor_dtype(s->Ys)) : NULL);
    mo_inverted_mixture all;
    K = s->targets ? mo_with_mean_kernel(t, K) : K;
    if (!mo_ok(mo_tape_context(t)))
        return;
    mo_expert_mixture mix = mixture_of(t, s, parameters, mo_dim(K, 0), own + s->trusted);
    if (!mo_ok(mo_tape_context(t)))
        return;
    if (s->targets) {
        fit_targets(t, s, K, mix, state);
        if (own)
            mo_state_put(state, "rows", rows);
        return;
    }
    bool holds = s->held_out && !s->centres && !s->weight;
    mo_mixed_experts fit =
        s->centres ? fit_centres(t, s, K, mix) : mo_kernel_mixture(t, K, s->Ys, &mix, holds ? &all : NULL);
    mo_state_put(state, "alpha", fit.learned);
    if (own)
        mo_state_put(state, "rows", rows);
    mo_state_put(state, "share", fit.share);
    mo_state_put(state, "factor", fit.factor);
    mo_state_put(state, "lambda", mix.lambda);
    if (!holds)
        return;
    mo_state_put(state, "inverse", all.G);
    mo_state_put(state, "dual", all.alpha);
    mo_state_put(state, "prior", mix.prior);
    mo_state_put(state, "doublings", mix.doublings);
    mo_state_put(state, "sharpness", mix.sharpness);
    if (mix.class_weight)
        mo_state_put(state, "class_weight", mix.class_weight);
}

/* Without further kernels the one expert is a ridge of rows, whose form is the smaller one, and the head is linear. */
static void fit_rows(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_expert_mixture mix = mixture_of(t, s, parameters, 1, 1);
    mo_tensor *W, *Yloo;
    if (!mo_ok(mo_tape_context(t)))
        return;
    mo_ridge_loo_fit(t, s->Zs, s->Ys, s->weight, of_every_problem(t, mix.lambda, s->Zs), MO_RIDGE_AUTO, &W, &Yloo);
    if (!mo_ok(mo_tape_context(t)))
        return;
    mo_axes expert = MO_AXIS(mo_ndim(W) - 3);
    mo_mixed_experts fit = mix_experts(t, mo_with_axis(t, W, expert, 1), mo_with_axis(t, Yloo, expert, 1), s->Ys, &mix);
    if (!mo_ok(mo_tape_context(t)))
        return;
    mo_state_put(state, "W", mo_sum(t, fit.learned, expert, MO_DROP_AXES));
    mo_state_put(state, "share", fit.share);
}

static void mixture_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    if (s->targets && mo_ndim(s->Zs) != 2)
        mo_fail(mo_tape_context(t), MO_UNSUPPORTED, "mixture: real targets of a batch, expected one episode");
    bool of_rows =
        !s->targets && !s->kernels && s->of_rows == MO_ROWS_LINEAR && !s->centres && !s->class_weight && !s->held_out;
    (of_rows ? fit_rows : fit_kernels)(t, s, parameters, state);
}

/* The kernels [E, n_q, m] of a fit, between queries and the rows of its state. */
static mo_tensor *query_kernels(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels) {
    mo_tensor *rows = mo_state_find(state, "rows"), *alpha = mo_state_find(state, "alpha");
    int64_t E = mo_dim(alpha, 0), given = kernels ? mo_dim(kernels, 0) : 0;
    bool targets = mo_state_find(state, "scale");
    int64_t own = E - given - (targets && E > 1);
    if (own < 0 || own > 2 || (own > 0 && !rows)) {
        mo_fail(mo_tape_context(t), MO_INVALID,
            "mixture: %lld kernels of queries, expected those of a fit of %lld experts", (long long)given,
            (long long)E);
        return mo_null_tensor(mo_tape_context(t));
    }
    mo_tensor *K = all_kernels(t, Zq, rows, (int)own, kernels);
    return targets ? mo_with_mean_kernel(t, K) : K;
}

static mo_tensor *mixture_apply(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels) {
    mo_tensor *W = mo_state_find(state, "W");
    if (W)
        return mo_matmul(t, mo_append_ones(t, Zq), W);
    mo_tensor *alpha = mo_state_get(t, state, "alpha");
    if (!mo_ok(mo_tape_context(t)))
        return alpha;
    mo_tensor *K = query_kernels(t, state, Zq, kernels), *scale = mo_state_find(state, "scale");
    mo_tensor *logits = mo_sum(t, mo_matmul(t, K, alpha), MO_AXIS(0), MO_DROP_AXES);
    return scale ? mo_add(t, mo_mul(t, logits, scale), mo_state_get(t, state, "mean")) : logits;
}

mo_tensor *mo_mixture_spread(
    mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels, mo_tensor *diagonal) {
    mo_tensor *known = mo_state_get(t, state, "known"), *unit = mo_state_get(t, state, "unit");
    mo_tensor *noise = mo_state_get(t, state, "noise"), *scale = mo_state_get(t, state, "scale");
    if (!mo_ok(mo_tape_context(t)))
        return noise;
    mo_dtype real = mo_tensor_dtype(known);
    Zq = mo_cast(t, Zq, real);
    mo_tensor *K = query_kernels(t, state, Zq, kernels ? mo_cast(t, kernels, real) : NULL), *part[3];
    int64_t own = mo_dim(known, 0) - (mo_dim(known, 0) > 1) - (kernels ? mo_dim(kernels, 0) : 0), n = 0;
    mo_tensor *squares = mo_with_axis(t, mo_sum(t, mo_square(t, Zq), MO_AXIS(-1), MO_DROP_AXES), MO_AXIS(0), 1);
    if (own > 0)
        part[n++] = mo_scale(t, squares, 1, 1);
    if (own > 1)
        part[n++] = mo_scale(t, squares, 0, 2);
    if (kernels)
        part[n++] = mo_cast(t, diagonal, real);
    mo_tensor *D = mo_with_mean_kernel(t, n > 1 ? mo_concat(t, part, (int)n, MO_AXIS(0)) : part[0]); /* [E, n_q] */
    mo_tensor *taken = mo_sum(t, mo_mul(t, mo_matmul(t, K, known), K), MO_AXIS(-1), MO_DROP_AXES);
    D = mo_sub(t, mo_mul(t, D, mo_with_axis(t, unit, MO_AXIS(-1), 1)), taken);
    D = mo_add(t, mo_sum(t, D, MO_AXIS(0), MO_DROP_AXES), noise);
    return mo_mul(t, mo_with_axis(t, mo_sqrt(t, mo_clamp(t, D, 0, INFINITY)), MO_AXIS(-1), 1), scale);
}

static mo_inverted_mixture inverted_of(mo_tape *t, const mo_state *state) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && !mo_state_find(state, "inverse"))
        mo_fail(ctx, MO_UNSUPPORTED, "mixture: rows are held out of a support without centres and repeated rows");
    return (mo_inverted_mixture){mo_state_get(t, state, "inverse"), mo_state_get(t, state, "dual")};
}

static mo_tensor *mixture_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    const mo_inverted_mixture all = inverted_of(t, state);
    const mo_expert_mixture mix = {.prior = mo_state_get(t, state, "prior"),
        .doublings = mo_state_get(t, state, "doublings"),
        .sharpness = mo_state_get(t, state, "sharpness"),
        .class_weight = mo_state_find(state, "class_weight")};
    mo_tensor *Ys = mo_state_get(t, state, "Ys"), *logits = NULL;
    for (int64_t g = 0; g < groups && mo_ok(mo_tape_context(t)); g++) {
        mo_tensor *own = mo_kernel_mixture_without(t, &all, Ys, &mix, row + g * h, h);
        own = mo_with_axis(t, own, MO_AXIS(0), 1);
        logits = logits ? mo_concat(t, (mo_tensor *[]){logits, own}, 2, MO_AXIS(0)) : own;
    }
    return mo_ok(mo_tape_context(t)) ? logits : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_expert_without(mo_tape *t, const mo_state *state, int64_t e, int64_t r, const int64_t *row, int64_t h) {
    const mo_inverted_mixture all = inverted_of(t, state);
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *in[] = {all.G, all.alpha};
    for (int i = 0; i < 2; i++)
        in[i] = mo_slice(t, mo_slice(t, in[i], MO_AXIS(0), e, e + 1), MO_AXIS(1), r, r + 1);
    mo_tensor *G_Jt = rows_of_pairs(t, in[0], row, h), *G_JJ = rows_of_pairs(t, mo_transpose(t, G_Jt), row, h);
    mo_tensor *B = mo_solve_spd(t, G_JJ, rows_of_pairs(t, in[1], row, h));
    mo_tensor *Y = rows_of_pairs(t, of_each_pair(t, mo_state_get(t, state, "Ys")), row, h);
    mo_tensor *class_weight = mo_state_find(state, "class_weight");
    if (class_weight)
        B = mo_div(t, B, rows_of_pairs(t, of_each_pair(t, mo_root_columns(t, class_weight)), row, h));
    return mo_reshape(t, mo_sub(t, Y, B), 2, (int64_t[]){h, mo_dim(Y, 3)});
}

static const mo_head_parameter parameters[] = {
    {.name = "lambda", .value = 0.3, .low = 1e-12, .high = 1e12},
    {.name = "sharpness", .value = 0.3},
};

const mo_head mo_head_mixture = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "mixture",
    .n_parameters = 2,
    .parameters = parameters,
    .fit = mixture_fit,
    .apply = mixture_apply,
    .held_out = mixture_held_out,
    .order = 2,
    .offset = MO_OFFSET_WIDE,
    .leaves_out = true,
    .targets = true,
    .kernels = true,
};
