/* models/heads/lda.c - linear discriminant analysis with a shrunken covariance (Friedman 1989; Ledoit and Wolf 2004).
 *
 * Rows Zs and Zq are meant minus the support's mean, so that a shift of all embeddings changes nothing. n_c =
 * sum_i Ys_ic, class means M_c, residuals R = Zs - Ys M, and one covariance for all classes,
 *     S = (1 - s) R^T R / n_s + s (trace / d) I,    trace = |R|^2 / n_s,    s the shrinkage in [0, 1],
 *     logits_ic = Zq_i S^-1 M_c - M_c S^-1 M_c / 2 + log(n_c / n_s):
 * the scores of scikit-learn's LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s) on such rows; on other rows its
 * scores differ by one number for each query. With a = s trace / d and b = (1 - s) / n_s, a system of size n_s is
 * enough if n_s < d (Woodbury 1950):
 *     (b R^T R + a I)^-1 M^T = (M^T - b R^T (b R R^T + a I)^-1 R M^T) / a.
 * A row of weight w counts as w rows: weights are scaled to the sum n_s, and R_i by sqrt(w_i).
 * A class without support has M_c = 0 and the logit -infinity. Raises MO_NUMERICAL if s = 0 and the covariance has a
 * rank below d, and for every s if all residuals are 0 up to rounding, as with one row per class. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Residuals below this share of the rows are rounding. */
static const double least_share[] = {[MO_F32] = 0x1p-20, [MO_F64] = 0x1p-49};

/* Raises for the first episode whose residuals are 0, up to rounding, or hold a value that is not finite.
 * squares, total [.., 1, 1]: |R|^2 and |Zs|^2. */
static bool check_residuals(mo_tape *t, mo_tensor *R, int64_t classes, mo_tensor *squares, mo_tensor *total) {
    mo_context *ctx = mo_tape_context(t);
    int64_t B = mo_numel(squares), n_s = mo_dim(R, -2);
    double *found = mo_host_array(ctx, 2 * B, sizeof *found), *all = found + B, share = least_share[mo_tensor_dtype(R)];
    bool fine = found && mo_read_as(mo_stop_gradient(t, squares), MO_F64, found) &&
                mo_read_as(mo_stop_gradient(t, total), MO_F64, all);
    for (int64_t b = 0; b < B && fine; b++)
        if (!isfinite(found[b]))
            fine = mo_fail(ctx, MO_NUMERICAL,
                "lda: the support rows or labels of episode %" PRId64 " hold a value that is not finite, or too large",
                b);
        else if (!(found[b] > share * share * all[b]) && n_s <= classes)
            fine = mo_fail(ctx, MO_NUMERICAL,
                "lda: %" PRId64 " labelled rows of %" PRId64
                " classes have no covariance; expected two rows of a class, or another head (episode %" PRId64 ")",
                n_s, classes, b);
        else if (!(found[b] > share * share * all[b]))
            fine = mo_fail(ctx, MO_NUMERICAL,
                "lda: the support rows of each class are equal in episode %" PRId64
                ", so that there is no covariance; expected a class with two rows that differ",
                b);
    free(found);
    return fine;
}

/* Checks that S is regular: rows differ within a class, and R^T R has full rank if the shrinkage is 0. */
static bool check_spread(
    mo_tape *t, mo_tensor *R, int64_t classes, mo_tensor *squares, mo_tensor *total, mo_tensor *shrinkage) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_ok(ctx) || !check_residuals(t, R, classes, squares, total))
        return false;
    if (!mo_ok(ctx) || mo_item(shrinkage) != 0)
        return mo_ok(ctx);
    int64_t d = mo_dim(R, -1), rank = mo_rank(t, mo_gram(t, mo_transpose(t, R)));
    if (mo_ok(ctx) && rank < d)
        mo_fail(ctx, MO_NUMERICAL,
            "lda: shrinkage is 0 and the covariance has rank %" PRId64 " of %" PRId64
            "; expected a shrinkage above 0 or more rows",
            rank, d);
    return mo_ok(ctx);
}

/* Returns (b G + a I)^-1 B for the Gram matrix G of R or R^T; a [.., 1, 1]. */
static mo_tensor *lda_solve(mo_tape *t, mo_tensor *G, mo_tensor *a, mo_tensor *b, mo_tensor *B) {
    int64_t batch[MO_MAX_AXES];
    int axes = mo_ndim(a) - 2;
    for (int i = 0; i < axes; i++)
        batch[i] = mo_dim(a, i);
    return mo_solve_spd(t, mo_add_diag(t, mo_mul(t, G, b), mo_reshape(t, a, axes, batch)), B);
}

/* Returns S^-1 M^T [.., d, C]. total: |Zs|^2. */
static mo_tensor *whitened_means(mo_tape *t, mo_tensor *R, mo_tensor *M, mo_tensor *total, mo_tensor *shrinkage) {
    int64_t n_s = mo_dim(R, -2), d = mo_dim(R, -1);
    mo_axes last_two = MO_AXES(-1, -2);
    mo_tensor *squares = mo_sum(t, mo_square(t, R), last_two, MO_KEEP_AXES);
    if (!check_spread(t, R, mo_dim(M, -2), squares, total, shrinkage))
        return mo_null_tensor(mo_tape_context(t));
    mo_tensor *a = mo_mul(t, mo_scale(t, squares, 1 / ((double)n_s * (double)d), 0), shrinkage);
    mo_tensor *b = mo_scale(t, shrinkage, -1 / (double)n_s, 1 / (double)n_s);
    mo_tensor *Rt = mo_transpose(t, R), *Mt = mo_transpose(t, M);
    if (n_s >= d)
        return lda_solve(t, mo_gram(t, Rt), a, b, Mt);
    mo_tensor *inner = lda_solve(t, mo_gram(t, R), a, b, mo_matmul(t, R, Mt));
    return mo_div(t, mo_sub(t, Mt, mo_mul(t, mo_matmul(t, Rt, inner), b)), a);
}

static void lda_fit(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_tensor *Zs = s->Zs, *Ys = s->Ys, *weight = s->weight;
    mo_axes last = MO_AXIS(-1);
    mo_tensor *w = weight ? mo_div(t, weight, mo_mean(t, weight, last, MO_KEEP_AXES)) : NULL;
    mo_tensor *own = w ? mo_with_axis(t, w, MO_AXIS(-1), 1) : NULL;
    mo_tensor *Yt = mo_transpose(t, own ? mo_mul(t, Ys, own) : Ys),
              *count = mo_sum(t, Yt, last, MO_KEEP_AXES); /* [.., C, 1] */
    mo_tensor *z = mo_mean_of_rows(t, Zs, own);
    Zs = mo_sub(t, Zs, z);
    mo_tensor *M = mo_div_or_zero(t, mo_matmul(t, Yt, Zs), count);
    mo_tensor *R = mo_sub(t, Zs, mo_matmul(t, Ys, M));
    mo_tensor *total = mo_sum(t, mo_square(t, mo_stop_gradient(t, Zs)), MO_AXES(-1, -2), MO_KEEP_AXES);
    mo_tensor *W = whitened_means(t, own ? mo_mul(t, R, mo_root_columns(t, w)) : R, M, total, parameters[0]);
    mo_tensor *quadratic = mo_sum(t, mo_mul(t, M, mo_transpose(t, W)), last, MO_KEEP_AXES);
    /* -infinity is chosen, as the derivative of the logarithm at 0 has no value */
    mo_dtype real = mo_tensor_dtype(Zs);
    mo_tensor *prior =
        mo_log(t, mo_scale(t, mo_where(t, count, count, mo_scalar(t, real, 1)), 1 / (double)mo_dim(Zs, -2), 0));
    prior = mo_where(t, count, prior, mo_scalar(t, real, -INFINITY));
    mo_tensor *b = mo_transpose(t, mo_sub(t, prior, mo_scale(t, quadratic, 0.5, 0)));
    b = mo_sub(t, b, mo_matmul(t, z, W));
    mo_state_put(state, "W", mo_join_weights(t, W, b));
}

static const mo_head_parameter parameters[] = {{.name = "shrinkage", .value = 0.1, .low = 0, .high = 1}};

static const mo_head_sample samples[] = {
    {.support = 8, .queries = 4, .dim = 12, .classes = 3},
    {.support = 14, .queries = 4, .dim = 4, .classes = 3},
    {.support = 7, .queries = 3, .dim = 5, .classes = 2, .batch = 3},
    {.support = 5, .queries = 3, .dim = 7, .classes = 2, .batch = 2},
};

const mo_head mo_head_lda = {
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "lda",
    .n_parameters = 1,
    .parameters = parameters,
    .fit = lda_fit,
    .order = 2,
    .n_samples = 4,
    .samples = samples,
    .offset = MO_OFFSET_FREE,
    .separate_classes = true,
};
