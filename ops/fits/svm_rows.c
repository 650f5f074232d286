/* ops/fits/svm_rows.c - the multiclass support vector machine of Crammer and Singer (2001) on many rows, without their
 * kernel matrix.
 *
 * X [n, d], Y [n, C] one-hot, lambda > 0 [] -> W [d + 1, C] that minimises
 *     sum_i max_c ([X_i 1] W_c + 1 - Y_ic) - <Y_i, [X_i 1] W> + lambda / 2 |W|^2,
 * and alpha [n, C] as of svm_dual.c, from the solver of tensor/fits.h. K = X X^T takes n^2 numbers and each of its
 * products n^2 C operations; the solver's take n d and n d C. No gradient flows through it. float32 or float64, and
 * computed in float64: the rounding of the logits counts 1 / sigma times in alpha, and sigma is small. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "tensor/fits.h"

#include <math.h>

/* From this number of rows on, rows that outnumber the columns twice are fitted without K, which has 128 MiB there.
 * Smaller fits keep the bits they have had. */
enum { MANY_ROWS = 4096 };

bool mo_svm_fits_rows(mo_tape *t, const mo_tensor *X, const mo_tensor *Y, const mo_tensor *lambda) {
    mo_context *ctx = mo_tape_context(t);
    int axes = mo_ndim(X);
    int64_t n = axes > 1 ? mo_dim(X, -2) : 0;
    if (!mo_ok(ctx) || n < MANY_ROWS || n <= 2 * mo_dim(X, -1) || mo_numel(X) != n * mo_dim(X, -1) ||
        mo_ndim(Y) != axes || mo_dim(Y, -2) != n || mo_dim(Y, -1) > MO_PASS_CLASSES || mo_numel(lambda) != 1)
        return false;
    const mo_fits *k = mo_fits_of(ctx, MO_F64);
    return k && k->svm_rows;
}

static mo_view matrix_of(mo_tape *t, mo_tensor *X) {
    const int64_t size[] = {mo_dim(X, -2), mo_dim(X, -1)};
    return mo_tensor_view(mo_contiguous(t, mo_cast(t, mo_reshape(t, X, 2, size), MO_F64)));
}

/* Whether the fit has converged; raises values that are not finite. */
static bool has_converged(mo_tape *t, mo_tensor *violation) {
    mo_context *ctx = mo_tape_context(t);
    double left = mo_item(violation);
    if (mo_ok(ctx) && !isfinite(left))
        mo_fail(ctx, MO_NUMERICAL, "svm_rows: the rows or lambda hold a value that is not finite");
    return !mo_ok(ctx) || left < 0;
}

bool mo_svm_row_weights(mo_tape *t, mo_tensor *const in[3], mo_tensor **W, mo_tensor **alpha) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_ok(ctx) && (!in || !W || !alpha))
        mo_fail(ctx, MO_INVALID, "svm_rows: %s is NULL", !in ? "in" : !W ? "W" : "alpha");
    if (W)
        *W = mo_null_tensor(ctx);
    if (alpha)
        *alpha = mo_null_tensor(ctx);
    if (!mo_ok(ctx))
        return true;
    mo_dtype dtype = mo_tensor_dtype(in[0]);
    int64_t n = mo_dim(in[0], -2), d = mo_dim(in[0], -1), C = mo_dim(in[1], -1);
    double penalty = mo_item(in[2]);
    if (mo_ok(ctx) && !(penalty > 0))
        mo_fail(ctx, MO_INVALID, "svm_rows: lambda %g, expected above 0", penalty);
    mo_tensor *weights = mo_tape_tensor(t, MO_F64, 2, (int64_t[]){d + 1, C});
    mo_tensor *variables = mo_tape_tensor(t, MO_F64, 2, (int64_t[]){n, C});
    mo_tensor *violation = mo_tape_tensor(t, MO_F64, 0, NULL);
    mo_svm_rows g = {.X = matrix_of(t, in[0]), .Y = matrix_of(t, in[1])};
    g.lambda = mo_tensor_view(mo_cast(t, in[2], MO_F64));
    g.W = mo_tensor_view(weights);
    g.alpha = mo_tensor_view(variables);
    g.violation = mo_tensor_view(violation);
    if (mo_ok(ctx))
        mo_fits_of(ctx, MO_F64)->svm_rows(ctx, &g);
    bool converged = has_converged(t, violation);
    *W = mo_cast(t, weights, dtype);
    *alpha = mo_cast(t, variables, dtype);
    return converged;
}
