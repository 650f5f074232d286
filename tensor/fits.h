/* tensor/fits.h - the solvers of estimators, which find weights for labels (library internal).
 *
 * They are kept apart from the kernels of tensors (tensor/backend.h) and follow the same rules: arguments are views,
 * and a failure is reported through an output. */
#ifndef MO_FITS_H
#define MO_FITS_H

#include "tensor/backend.h"
#include "tensor/inside.h"

/* The outcome of one fit of a batch, stored as a number of the fit's float type. */
typedef enum mo_fit_code {
    MO_FIT_SOLVED,
    MO_FIT_UNSOLVED,   /* not converged; or, with a free intercept, a class has no rows */
    MO_FIT_INFINITE,   /* lambda is 0 and the optimum lies at infinity */
    MO_FIT_NOT_FINITE, /* a value of the rows, the labels or lambda is not finite */
} mo_fit_code;

/* Softmax regressions, one per item of a batch, with penalty lambda [B or 1, 1, 1] >= 0 on rows X [B, n, d]: W [B, m,
 * C] fits labels Y [B, n, C]; m = d, or d + 1 with a free intercept. Without Y, W solves H W = B, where H is the
 * Hessian of such a regression at the logits F [B, n, C] with row weights T [B, n, 1]; the class means of W are 0,
 * those of B [B, m, C] are ignored. few_rows: n <= d, and lambda is above 0. A fit ends when its gradient is rounding.
 * All views are contiguous.
 *
 * `kept`, if it has data, is [B or 1, mo_logistic_kept_size]: an output, or an input if `factored`. A solve uses the
 * preconditioner of a fit nearby. A fit starts from another of the same X and lambda with more of the rows: those that
 * only the other has get T = 0 here; then W is the logits [B, n, C] of all rows, to about 1e-6 of their size. */
typedef struct mo_logistic_call {
    bool few_rows, free_intercept, factored;
    mo_view X, lambda, Y, F, T, B, kept, W, code; /* code [B]: mo_fit_code */
} mo_logistic_call;

/* The variables of the fit, the inverse of its preconditioner, X X^T of few rows, and n + 1 + C numbers. */
static inline int64_t mo_logistic_kept_size(int64_t n, int64_t d, int64_t C, bool few_rows, bool free_intercept) {
    int64_t k = few_rows ? n : d + free_intercept;
    return C * k + k * k + (few_rows ? n * n : 0) + n + 1 + C;
}

/* The dual of the Crammer-Singer machine of each item. alpha >= 0, with rows that sum to 1, minimises tr((Y - alpha)^T
 * K (Y - alpha)) / (2 lambda) + <m Y, alpha>, where m is the margin of each row. violation [B]: the largest violation
 * of the optimality conditions; below 0 if they hold. A fit ends after about most_steps passes over the kernel of its
 * rows. All views are contiguous. */
typedef struct mo_svm_call {
    int64_t most_steps;
    mo_view K, Y, lambda, alpha, violation; /* [B, n, n], [B, n, C], [B or 1, 1, 1], [B, n, C], [B] */
    mo_view margin;                         /* [B, n]; data NULL: margins of 1 */
    mo_view start;                          /* [B, n, C]: where alpha starts; data NULL: at Y */
} mo_svm_call;

/* The solvers for one float type; they run on the CPU. */
typedef struct mo_fits {
    void (*logistic)(mo_context *ctx, const mo_logistic_call *g);
    void (*svm)(mo_context *ctx, const mo_svm_call *g);
    bool (*readout)(mo_context *ctx, const mo_readout *r); /* mo_readout_run */
} mo_fits;

/* Call the CPU's solver; if ctx is on another device, on copies of the views (tensor/fits.c). */
void mo_fit_logistic(mo_context *ctx, const mo_logistic_call *g);
void mo_fit_svm(mo_context *ctx, const mo_svm_call *g);

#endif
