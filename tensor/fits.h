/* tensor/fits.h - the solvers of estimators, which find weights for labels (library internal).
 *
 * They are kept apart from the kernels of tensors (tensor/backend.h) and follow the same rules: arguments are views,
 * and a failure is reported through an output. */
#ifndef MO_FITS_H
#define MO_FITS_H

#include "tensor/backend.h"

/* The outcome of an item, stored as a number of its float type. */
typedef enum mo_fit_code {
    MO_FIT_SOLVED,
    MO_FIT_UNSOLVED,   /* not converged; with a free intercept, also a class without rows */
    MO_FIT_INFINITE,   /* without a penalty, its optimum is at infinity */
    MO_FIT_NOT_FINITE, /* a value of the rows, the labels or lambda is not finite */
} mo_fit_code;

enum { MO_FOLDS_AT_ONCE = 16 };

/* Softmax regressions with penalty lambda on the rows X [B, n, d] and labels Y [B, n, C] of each item: W [B, m, C],
 * m = d or, with a free intercept below, d + 1, fitted on all rows, and held [B, stop[folds - 1], C], the logits of
 * each fold (rows stop[f - 1] .. stop[f] - 1) by a fit without that fold. lambda [B or 1, 1, 1] >= 0. The dual needs
 * lambda above 0, and is made for n <= d. A fit ends when its gradient, in the norm of its preconditioner, is at most
 * `tolerance` times the terms that cancel in it, ten times that for a fit without a fold; tolerance 0: at rounding. If
 * factor has data, the preconditioner is kept: D [B, n + 1], factor [B, k, k] with k = m or, in the dual, n (+ 1 with
 * an intercept). All views are contiguous. */
typedef struct mo_logistic_call {
    bool dual, free_intercept;
    int folds; /* 0 to MO_FOLDS_AT_ONCE */
    const int64_t *stop;
    double tolerance;
    mo_view X, Y, lambda, W, held, code, D, factor; /* code [B]: mo_fit_code */
} mo_logistic_call;

/* U [B, m, C] with H U = B, where H is the Hessian of such a regression at the logits F [B, n, C] with row weights T
 * [B, n, 1]; U has class means of 0, and the class means of B are ignored. If `factored`, D and factor come from a
 * nearby fit; else they are computed and returned. */
typedef struct mo_logistic_solve_call {
    bool dual, free_intercept, factored;
    mo_view X, F, T, lambda, B, D, factor, U, code;
} mo_logistic_solve_call;

/* The dual of the Crammer-Singer machine of each item: the alpha >= 0 with rows that sum to 1 which minimises
 * tr((Y - alpha)^T K (Y - alpha)) / (2 lambda) + <m Y, alpha>, m the margins of the rows, and held
 * [B, stop[folds - 1], C], the logits of each fold by the machine without that fold. violation [B]: the largest
 * violation of the optimality conditions; below 0 if they hold. All views are contiguous. */
typedef struct mo_svm_call {
    int folds; /* 0 to MO_FOLDS_AT_ONCE */
    const int64_t *stop;
    mo_view K, Y, lambda, alpha, held, violation; /* [B, n, n], [B, n, C], [B or 1, 1, 1], [B, n, C], .., [B] */
    mo_view margin;                               /* [B, n]; without data: ones */
} mo_svm_call;

/* The solvers of one float type, which the processor runs. */
typedef struct mo_fits {
    void (*logistic)(mo_context *ctx, const mo_logistic_call *g);
    void (*logistic_solve)(mo_context *ctx, const mo_logistic_solve_call *g);
    void (*svm)(mo_context *ctx, const mo_svm_call *g);
} mo_fits;

/* Run the processor's solver; for another device, on copies of the views (tensor/fits.c). */
void mo_fit_logistic(mo_context *ctx, const mo_logistic_call *g);
void mo_fit_logistic_solve(mo_context *ctx, const mo_logistic_solve_call *g);
void mo_fit_svm(mo_context *ctx, const mo_svm_call *g);

#endif
