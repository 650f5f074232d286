/* models/heads/svm.c - the multiclass support vector machine of Crammer and Singer (2001) as a readout (MetaOptNet, Lee
 * et al. 2019), differentiated on its active set.
 *
 * With Z1 = [Zs | 1], the intercept penalised like the rest, K = Z1 Z1^T and labels Y, [W; b] minimises
 *     sum_i max_c (Z1_i W_c + 1 - Y_ic) - <Y_i, Z1_i W> + lambda / 2 |W|^2,
 * and is Z1^T A / lambda with A = Y - alpha from the dual (ops/fits/svm_dual.c). Entries of alpha that are 0 stay 0
 * near a solution, so there A = A_0 + Pi v with A_0 = Y - (alpha - Pi alpha), where Pi v keeps, row by row, the entries
 * with alpha > 0 and subtracts their mean; alpha - Pi alpha is constant there. v, at the solution -alpha, solves Pi (K
 * (A_0 + Pi v) - lambda Y) + s (v - Pi v) = 0, a symmetric system. The factor s, the mean of K's diagonal, gives both
 * terms the same scale. Linearly dependent support vectors, such as equal rows, make the system singular, so it is not
 * factorized; but the weights are unique, so the adjoint of v lies in the system's range, and conjugate gradients stay
 * in this range. The gradient follows from the implicit function theorem; it reaches Zs, Ys, Zq and lambda, and has
 * only first order. At most 16,384 support rows.
 *
 * A row of weight w counts as w rows: w times its loss is the loss of w Z1_i at the margin w.
 *
 * max_iter: the most passes over K of a fit; 0: as many as fit in a few seconds (mo_svm_dual_variables). */
#include "models/heads/heads.h"

/* theta: K, lambda, Y, the mask of alpha > 0 in rows with two or more such entries, 1 / the number of these entries in
 * the row, A_0, s. */
enum { THETA_K, THETA_LAMBDA, THETA_Y, THETA_MASK, THETA_SHARE, THETA_A0, THETA_SCALE, THETA };

static mo_tensor *class_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(-1), MO_KEEP_AXES);
}

/* Returns Pi X. */
static mo_tensor *svm_onto_face(mo_tape *t, mo_tensor *X, mo_tensor *mask, mo_tensor *share) {
    mo_tensor *kept = mo_mul(t, X, mask);
    return mo_sub(t, kept, mo_mul(t, mask, mo_mul(t, share, class_sum(t, kept))));
}

static mo_tensor *optimality(mo_tape *t, mo_tensor *v, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    mo_tensor *mask = theta[THETA_MASK], *share = theta[THETA_SHARE], *in_face = svm_onto_face(t, v, mask, share);
    mo_tensor *KA = mo_matmul(t, theta[THETA_K], mo_add(t, theta[THETA_A0], in_face));
    mo_tensor *slack = mo_sub(t, KA, mo_mul(t, theta[THETA_LAMBDA], theta[THETA_Y]));
    mo_tensor *rest = mo_mul(t, theta[THETA_SCALE], mo_sub(t, v, in_face));
    return mo_add(t, svm_onto_face(t, slack, mask, share), rest);
}

/* Returns A = Y - alpha as a differentiable function: constant but for Y where alpha is 0; the other entries solve the
 * header's system. slack: Y times the row weights. */
static mo_tensor *differentiable(
    mo_tape *t, mo_tensor *K, mo_tensor *Y, mo_tensor *slack, mo_tensor *lambda, mo_tensor *alpha) {
    int rows = mo_ndim(K) - 2;
    mo_tensor *one = mo_full(t, mo_tensor_dtype(Y), 0, NULL, 1), *zero = mo_scale(t, one, 0, 0);
    mo_tensor *positive = mo_sub(t, one, mo_greater_equal(t, zero, alpha)), *count = class_sum(t, positive);
    mo_tensor *several = mo_greater_equal(t, count, mo_scale(t, one, 2, 0)), *mask = mo_mul(t, positive, several);
    mo_tensor *share = mo_div_or_zero(t, several, count), *v = svm_onto_face(t, mo_neg(t, alpha), mask, share);
    mo_tensor *A0 = mo_sub(t, Y, mo_add(t, alpha, v)), *fixed = mo_stop_gradient(t, K);
    mo_tensor *scale = mo_mean(t, mo_diagonal(t, fixed), MO_AXIS(rows), MO_KEEP_AXES);
    int64_t size[MO_MAX_AXES];
    for (int i = 0; i < rows; i++)
        size[i] = mo_dim(K, i);
    size[rows] = size[rows + 1] = 1;
    mo_tensor *theta[THETA] = {K, lambda, slack, mask, share, A0, mo_reshape(t, scale, rows + 2, size)};
    double epsilon = mo_tensor_dtype(Y) == MO_F64 ? 1e-6 : 1e-2; /* rounding error for logits as large as K */
    const mo_implicit_options options = {.batch_axes = rows, .symmetric = true, .dense_limit = -1, .residual = epsilon};
    mo_tensor *solved = mo_implicit(t, v, optimality, theta, THETA, &options);
    return mo_add(t, theta[THETA_A0], svm_onto_face(t, solved, mask, share));
}

/* With more rows, K takes more than 2 GiB in float64. */
enum { MOST_ROWS = 16384, MOST_STEPS = 16777216 };
enum { LAMBDA = 0, MAX_ITER };

static bool has_few_rows(mo_tape *t, mo_tensor *Zs) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && mo_dim(Zs, -2) > MOST_ROWS)
        mo_fail(ctx, MO_UNSUPPORTED,
            "svm: %lld rows, expected at most %d, as it holds their kernel matrix; for more take scikit-learn's "
            "LinearSVC",
            (long long)mo_dim(Zs, -2), MOST_ROWS);
    return mo_ok(ctx);
}

/* Returns the number of passes over the kernel that a fit may take, 0 for the op's own; -1 after an error. */
static int64_t most_steps(mo_tape *t, mo_tensor *parameter) {
    double most = mo_item(parameter);
    if (mo_ok(mo_tape_context(t)) && !(most >= 0 && most <= MOST_STEPS))
        mo_fail(mo_tape_context(t), MO_INVALID, "svm: max_iter %g, expected 0 to %d", most, MOST_STEPS);
    return mo_ok(mo_tape_context(t)) ? (int64_t)most : -1;
}

/* The support of a fit: in float64 if float32 is too narrow. */
typedef struct machine {
    mo_tensor *Z1, *K, *Ys, *lambda, *weight; /* Z1 = [Zs | 1] times the row weights */
} machine;

static machine machine_of(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda) {
    mo_tensor *in[] = {Zs, Ys, lambda, weight};
    if (mo_fit_needs_float64(t, Zs, lambda))
        for (int i = 0; i < 4 && in[i]; i++)
            in[i] = mo_cast(t, in[i], MO_F64);
    machine m = {.Z1 = mo_append_ones(t, in[0]), .Ys = in[1], .lambda = in[2], .weight = in[3]};
    m.Z1 = m.weight ? mo_mul(t, m.Z1, mo_with_axis(t, m.weight, MO_AXIS(-1), 1)) : m.Z1;
    return m;
}

/* The weights stay in float64 if float32 is too narrow for the fit: it is too narrow for logits then. */
static void svm_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    int64_t most = most_steps(t, parameters[MAX_ITER]);
    if (!has_few_rows(t, s->Zs) || most < 0)
        return;
    machine m = machine_of(t, s->Zs, s->Ys, s->weight, parameters[LAMBDA]);
    mo_tensor *Z1t = mo_transpose(t, m.Z1), *K = mo_matmul(t, m.Z1, Z1t), *A; /* no mo_gram: see ridge.c */
    mo_tensor *alpha = mo_svm_dual_variables(t, K, m.Ys, m.lambda, m.weight, most, NULL);
    if (mo_needs_grad(K) || mo_needs_grad(m.lambda) || mo_needs_grad(m.Ys) || (m.weight && mo_needs_grad(m.weight)))
        A = differentiable(t, K, m.Ys, mo_weighted_labels(t, m.Ys, m.weight), m.lambda, alpha);
    else
        A = mo_sub(t, m.Ys, alpha);
    mo_state_put(state, "W", mo_div(t, mo_matmul(t, Z1t, A), m.lambda));
    if (s->held_out) {
        mo_state_put(state, "K", K);
        mo_state_put(state, "alpha", alpha);
        mo_state_put(state, "lambda", parameters[LAMBDA]);
        mo_state_put(state, "max_iter", parameters[MAX_ITER]);
    }
}

/* Refits that start at the alpha of all rows. */
static mo_tensor *svm_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h) {
    mo_tensor *K = mo_state_get(t, state, "K"), *alpha = mo_state_get(t, state, "alpha");
    machine m = machine_of(t, mo_state_get(t, state, "Zs"), mo_state_get(t, state, "Ys"),
        mo_state_find(state, "weight"), mo_state_get(t, state, "lambda"));
    int64_t most = most_steps(t, mo_state_get(t, state, "max_iter"));
    if (!mo_ok(mo_tape_context(t)))
        return K;
    mo_tensor *Y = mo_mul(t, m.Ys, mo_rows_outside(t, m.Ys, row, groups, h)), *weight = m.weight;
    K = mo_with_axis(t, K, MO_AXIS(0), groups);
    alpha = mo_svm_dual_variables(t, K, Y, m.lambda, weight ? mo_with_axis(t, weight, MO_AXIS(0), groups) : NULL, most,
        mo_with_axis(t, alpha, MO_AXIS(0), groups));
    mo_tensor *F = mo_matmul(t, K, mo_sub(t, Y, alpha));
    F = weight ? mo_div_or_zero(t, F, mo_with_axis(t, weight, MO_AXIS(-1), 1)) : F;
    return mo_rows_of_each(t, mo_div(t, F, m.lambda), row, groups, h);
}

static const mo_head_parameter parameters[] = {
    [LAMBDA] = {.name = "lambda", .value = 1, .low = 1e-12, .high = 1e12},
    [MAX_ITER] = {.name = "max_iter", .value = 0, .low = 0, .high = MOST_STEPS, .fixed = true},
};

static const mo_head_sample samples[] = {
    {.support = 6, .queries = 4, .dim = 9, .classes = 3},
    {.support = 12, .queries = 4, .dim = 3, .classes = 3},
    {.support = 5, .queries = 3, .dim = 4, .classes = 2, .batch = 3},
    {.support = 1, .queries = 3, .dim = 2, .classes = 1},
};

const mo_head mo_head_svm = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "svm",
    .n_parameters = 2,
    .parameters = parameters,
    .fit = svm_fit,
    .held_out = svm_held_out,
    .order = 1,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_WIDE,
};
