/* tensor/fits.h - the solvers of estimators, which find weights for labels (library internal).
 *
 * They are kept apart from the kernels of tensors (tensor/backend.h) and follow the same rules: arguments are views,
 * and a failure is reported through an output. */
#ifndef MO_FITS_H
#define MO_FITS_H

#include "tensor/backend.h"

/* The outcome of one fit of a batch, stored as a number of the fit's float type. */
typedef enum mo_fit_code {
    MO_FIT_SOLVED,
    MO_FIT_UNSOLVED,   /* not converged; or, with a free intercept, a class has no rows */
    MO_FIT_INFINITE,   /* lambda is 0 and the optimum lies at infinity */
    MO_FIT_NOT_FINITE, /* a value of the rows, the labels or lambda is not finite */
} mo_fit_code;

enum { MO_FOLDS_AT_ONCE = 16 };

/* Softmax regressions, one per item of a batch, with penalty lambda [B or 1, 1, 1] >= 0 on rows X [B, n, d] and labels
 * Y [B, n, C]. W [B, m, C] is the fit on all rows; m = d, or d + 1 with a free intercept. held [B, stop[folds - 1], C]
 * are the logits of the rows of each fold (stop[f - 1] .. stop[f] - 1) by a fit without that fold. The dual needs
 * lambda above 0, and is made for few rows. A fit ends when its gradient, in the norm of its preconditioner, is at most
 * `tolerance` (for a fit without a fold, 10 `tolerance`) times the terms that cancel in it; tolerance 0: at rounding.
 * If `saved` has data, the preconditioner is returned there: [B, n + 1 + k k] with k = n in the dual, else m. All views
 * are contiguous. */
typedef struct mo_logistic_call {
    bool dual, free_intercept;
    int folds; /* 0 to MO_FOLDS_AT_ONCE */
    const int64_t *stop;
    double tolerance;
    mo_view X, Y, lambda, W, held, code, saved; /* code [B]: mo_fit_code */
} mo_logistic_call;

/* U [B, m, C] with H U = B, where H is the Hessian of a softmax regression as above, at the logits F [B, n, C] with row
 * weights T [B, n, 1]. The class means of U are 0, the class means of B are ignored. If `factored`, `saved` is an
 * input, from a fit nearby; otherwise it is an output. */
typedef struct mo_logistic_solve_call {
    bool dual, free_intercept, factored;
    mo_view X, F, T, lambda, B, saved, U, code;
} mo_logistic_solve_call;

/* The dual of the Crammer-Singer machine of each item. alpha >= 0, with rows that sum to 1, minimises tr((Y - alpha)^T
 * K (Y - alpha)) / (2 lambda) + <m Y, alpha>, where m is the margin of each row. held [B, stop[folds - 1], C] are the
 * logits of the rows of each fold by the machine without that fold. violation [B]: the largest violation of the
 * optimality conditions; below 0 if they hold. Each fit ends after about most_steps passes over the kernel of its rows.
 * All views are contiguous. */
typedef struct mo_svm_call {
    int folds; /* 0 to MO_FOLDS_AT_ONCE */
    const int64_t *stop;
    int64_t most_steps;
    mo_view K, Y, lambda, alpha, held, violation; /* [B, n, n], [B, n, C], [B or 1, 1, 1], [B, n, C], held as above,
                                                   * [B] */
    mo_view margin;                               /* [B, n]; data NULL: margins of 1 */
} mo_svm_call;

/* The solvers for one float type; they run on the CPU. */
typedef struct mo_fits {
    void (*logistic)(mo_context *ctx, const mo_logistic_call *g);
    void (*logistic_solve)(mo_context *ctx, const mo_logistic_solve_call *g);
    void (*svm)(mo_context *ctx, const mo_svm_call *g);
} mo_fits;

/* Call the CPU's solver; if ctx is on another device, on copies of the views (tensor/fits.c). */
void mo_fit_logistic(mo_context *ctx, const mo_logistic_call *g);
void mo_fit_logistic_solve(mo_context *ctx, const mo_logistic_solve_call *g);
void mo_fit_svm(mo_context *ctx, const mo_svm_call *g);

#endif
