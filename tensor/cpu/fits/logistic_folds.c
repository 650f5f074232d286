/* tensor/cpu/fits/logistic_folds.c - softmax regression on a support, and on it without each of its folds
 * (tensor/fits.h).
 *
 * A fit minimises
 *     sum_i m_i (T_i lse(F_i) - <Y_i, F_i>) + lambda / 2 |W|^2,   F = X W + b,   m_i = 0 where held out, else 1,
 * by Newton's method; conjugate gradients solve its equation (logistic_fit.c): each of their steps costs a product and
 * a pass over rows, and no exponential. With at most as many rows as columns, every fit works on coordinates of the
 * weights in the span of all rows, W = X^T a (logistic_dual.c), else on weights (logistic_primal.c).
 *
 * The preconditioner is the Hessian that a curvature w_i, the same for all classes, would give each row: T_i sum_c P_ic
 * (1 - P_ic) / C. At a solution few rows are undecided (Cora's hop rows, 64 a class: half of w below 0.005, a tenth
 * above 0.024), so the curvatures are taken when the fit of all rows is close enough to show these rows. The folds then
 * start at the solution of that fit, side by side, with the same preconditioner: the gradient of a fold consists of its
 * held-out rows alone (setting their coordinates to 0 instead would change the logits of all other rows). In the
 * example the fit takes 23 steps before the curvatures are taken and 22 after, and a fold takes 20. */
#include "tensor/cpu/fits/logistic_dual.h"
#include "tensor/cpu/fits/logistic_primal.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/matrices.h"

/* Fits by weights; if there are more threads than items, threads work inside an item. */
static void run_primal(mo_context *ctx, const mo_folds_call *g) {
    logistic_primal sizes;
    int64_t batch = g->X.shape[0], each = logistic_primal_layout(&sizes, g, 1, NULL);
    int all = blas_threads(ctx), threads = batch > 1 ? all : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        logistic_primal p;
        logistic_primal_layout(&p, g, threads > 1 ? 1 : all, scratch + each * workspace_of(b, batch, threads));
        ((real *)g->unsolved.data)[b] = logistic_primal_run(&p, g, b) ? 0 : 1;
    }
}

static void run_dual(mo_context *ctx, const mo_folds_call *g) {
    logistic_dual sizes;
    int64_t batch = g->X.shape[0], each = logistic_dual_layout(&sizes, g, NULL);
    int threads = batch > 1 ? blas_threads(ctx) : 1;
    real *scratch = cpu_workspace(ctx, (size_t)(each * workspace_count(batch, threads)) * sizeof(real));
    if (!scratch)
        return;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic)
    for (int64_t b = 0; b < batch; b++) {
        logistic_dual s;
        logistic_dual_layout(&s, g, scratch + each * workspace_of(b, batch, threads));
        ((real *)g->unsolved.data)[b] = logistic_dual_run(&s, g, b) ? 0 : 1;
    }
}

void REAL(logistic_folds_cpu)(mo_context *ctx, const mo_folds_call *g) {
    if (g->X.shape[1] > g->X.shape[2])
        run_primal(ctx, g);
    else
        run_dual(ctx, g);
}
