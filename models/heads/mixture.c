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
 * As a head: one expert, 1 + <x, y>, with the penalties lambda / 10, lambda and 10 lambda, and T_e = 4. */
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

mo_mixed_experts mo_kernel_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix) {
    mo_context *ctx = mo_tape_context(t);
    if (!kernel_mixture_check(ctx, K, Ys, mix))
        return (mo_mixed_experts){mo_null_tensor(ctx), mo_null_tensor(ctx), mo_null_tensor(ctx)};
    int64_t E = mo_dim(K, -3);
    mo_tensor *weight = fit_weight(t, mix);
    weight = weight ? mo_with_axis(t, weight, MO_AXIS(-2), E) : NULL;
    mo_tensor *Y = mo_with_axis(t, Ys, MO_AXIS(-3), E), *alpha, *Yloo;
    mo_kernel_loo_fit(t, K, Y, weight, of_every_problem(t, mix->lambda, K), &alpha, &Yloo);
    return mix_experts(t, alpha, Yloo, Ys, mix);
}

/* Added to the diagonal of the centres' kernel, because float32 does not resolve its smallest eigenvalues. It is far
 * below the smallest penalty. */
static const double centre_ridge = 1e-3;

mo_mixed_experts mo_centred_mixture(mo_tape *t, mo_tensor *K, mo_tensor *Km, mo_tensor *Ys, mo_tensor *Ym,
    mo_tensor *class_weight, const mo_expert_mixture *mix) {
    mo_context *ctx = mo_tape_context(t);
    mo_mixed_experts fit = mo_kernel_mixture(t, Km, Ym, mix);
    if (!mo_ok(ctx))
        return fit;
    int64_t E = mo_dim(Km, -3), R = mo_dim(mix->lambda, 0);
    mo_tensor *L = mo_cholesky(t, mo_add_diag(t, Km, mo_scalar(t, mo_tensor_dtype(Km), centre_ridge)));
    if (class_weight) {
        mo_tensor *root = mo_root_columns(t, class_weight);
        K = mo_mul(t, K, mo_with_axis(t, root, MO_AXIS(-3), 1));
        Ys = mo_mul(t, Ys, root);
    }
    mo_tensor *Phi_t = mo_solve_triangular(t, L, mo_transpose(t, K), MO_LOWER);
    mo_tensor *A = mo_with_axis(t, mo_gram(t, Phi_t), MO_AXIS(-3), R);
    mo_tensor *B = mo_matmul(t, Phi_t, mo_with_axis(t, Ys, MO_AXIS(-3), E));
    A = mo_add_diag(t, A, of_every_problem(t, mix->lambda, Km));
    mo_tensor *w = mo_solve_spd(t, A, mo_with_axis(t, B, MO_AXIS(-3), R));
    w = mo_sum(t, times_matrix(t, w, fit.factor), MO_AXIS(mo_ndim(w) - 3), MO_DROP_AXES);
    fit.learned = mo_solve_triangular(t, L, w, MO_LOWER_TRANSPOSED);
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

mo_inverted_mixture mo_kernel_mixture_invert(mo_tape *t, mo_tensor *K, mo_tensor *Ys, const mo_expert_mixture *mix) {
    mo_context *ctx = mo_tape_context(t);
    mo_inverted_mixture all = {mo_null_tensor(ctx), mo_null_tensor(ctx)};
    if (!kernel_mixture_check(ctx, K, Ys, mix))
        return all;
    if (mix->class_weight)
        mo_scale_rows(t, mo_root_columns(t, mix->class_weight), &K, &Ys);
    mo_kernel_inverse(
        t, K, mo_with_axis(t, Ys, MO_AXIS(-3), mo_dim(K, -3)), of_every_problem(t, mix->lambda, K), &all.G, &all.alpha);
    return all;
}

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

/* Weights [n]: 0 for the rows row[0 .. h - 1], else 1. */
static mo_tensor *weights_without(mo_tape *t, int64_t n, const int64_t *row, int64_t h, mo_dtype real) {
    double *weight = mo_host_array(mo_tape_context(t), n, sizeof *weight);
    for (int64_t i = 0; weight && i < n; i++)
        weight[i] = 1;
    for (int64_t i = 0; weight && i < h; i++)
        weight[row[i]] = 0;
    mo_tensor *w = weight ? mo_cast(t, mo_from(t, MO_F64, 1, &n, weight), real) : mo_null_tensor(mo_tape_context(t));
    free(weight);
    return w;
}

mo_tensor *mo_kernel_mixture_without(mo_tape *t, const mo_inverted_mixture *all, mo_tensor *Ys,
    const mo_expert_mixture *mix, const int64_t *row, int64_t h, mo_tensor **each) {
    mo_context *ctx = mo_tape_context(t);
    if (each)
        *each = mo_null_tensor(ctx);
    if (!mo_ok(ctx) || h < 1)
        return mo_null_tensor(ctx);
    int64_t n = mo_dim(all->G, 2), C = mo_dim(Ys, -1);
    mo_dtype real = mo_tensor_dtype(Ys);
    mo_expert_mixture others = *mix;
    mo_tensor *G_Jt = rows_of_pairs(t, all->G, row, h), *G_JJ = rows_of_pairs(t, mo_transpose(t, G_Jt), row, h);
    mo_tensor *alpha_J = rows_of_pairs(t, all->alpha, row, h);
    mo_tensor *X = mo_solve_spd(t, G_JJ, mo_concat(t, (mo_tensor *[]){alpha_J, G_Jt}, 2, MO_AXIS(-1)));
    mo_tensor *B = mo_slice(t, X, MO_AXIS(-1), 0, C), *H = mo_slice(t, X, MO_AXIS(-1), C, C + n);
    mo_tensor *lost = mo_sum(t, mo_mul(t, G_Jt, H), MO_AXIS(2), MO_DROP_AXES); /* G_ii - G'_ii, [E, R, n] */
    others.weight = weights_without(t, n, row, h, real);
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
    if (each)
        *each = own;
    mo_mixed_experts fit = mix_experts(t, own, Yloo, Ys, &others);
    return mo_sum(t, fit.learned, MO_AXIS(0), MO_DROP_AXES);
}

/* ---- as a head of rows ---- */

static mo_tensor *mixture_weighted(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *Zq, mo_tensor *const *parameters) {
    static const double ratio[] = {0.1, 1, 10};
    mo_dtype real = mo_tensor_dtype(Zs);
    mo_tensor *grid = mo_cast(t, mo_from(t, MO_F64, 1, (int64_t[]){3}, ratio), real), *W, *Yloo;
    mo_expert_mixture mix = {.lambda = mo_mul(t, grid, parameters[0]),
        .prior = mo_full(t, real, 1, (int64_t[]){1}, 0),
        .doublings = mo_full(t, real, 1, (int64_t[]){1}, 2),
        .sharpness = parameters[1],
        .weight = weight};
    mo_ridge_loo_fit(t, Zs, Ys, weight, of_every_problem(t, mix.lambda, Zs), MO_RIDGE_AUTO, &W, &Yloo);
    if (!mo_ok(mo_tape_context(t)))
        return mo_null_tensor(mo_tape_context(t));
    mo_axes expert = MO_AXIS(mo_ndim(W) - 3);
    mo_mixed_experts mixed = mix_experts(t, mo_with_axis(t, W, expert, 1), mo_with_axis(t, Yloo, expert, 1), Ys, &mix);
    return mo_matmul(t, mo_append_ones(t, Zq), mo_sum(t, mixed.learned, expert, MO_DROP_AXES));
}

static mo_tensor *mixture_logits(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mixture_weighted(t, Zs, Ys, NULL, Zq, parameters);
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
    .logits = mixture_logits,
    .order = 2,
    .weighted = mixture_weighted,
    .offset = MO_OFFSET_WIDE,
};
