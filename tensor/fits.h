/* tensor/fits.h - the table of kernels that fit weights: solvers of estimators, and the step of AdamW (library
 * internal).
 *
 * They are kept apart from the kernels of tensors (tensor/backend.h) and follow the same rules: one table per float
 * type, arguments are views, and a failure is reported through an output. */
#ifndef MO_FITS_H
#define MO_FITS_H

#include "tensor/backend.h"

/* The factors of one AdamW step, float64 in device memory: m = beta1 m + rest1 g, v = beta2 v + rest2 g^2,
 * p = keep p - rate m / (sqrt(v) root + epsilon). */
typedef enum mo_adamw_factor {
    MO_ADAMW_BETA1,
    MO_ADAMW_BETA2,
    MO_ADAMW_REST1,
    MO_ADAMW_REST2,
    MO_ADAMW_KEEP,
    MO_ADAMW_RATE,
    MO_ADAMW_ROOT,
    MO_ADAMW_EPSILON,
    MO_ADAMW_FACTORS
} mo_adamw_factor;

/* Conjugate gradients for H V = r, each item by itself: H = Phi^T S Phi + mu, S[Q]_i = T_i (P_i o Q_i - P_i <P_i,
 * Q_i>), mu = lambda, but 0 on a free intercept. dual: Phi is K [B, n, n]; a vector holds coordinates on the rows and,
 * below them, the intercept's. Otherwise Phi is [B, n, m]. An item ends when <r, M r> has fallen by eta^2. All views
 * are contiguous. */
typedef struct mo_logistic_cg {
    bool dual, free_intercept;
    int limit;                         /* iterations */
    mo_view Phi, P, T, lambda, r, eta; /* T [B, n, 1], lambda [B or 1, 1, 1], r [B, rows, C], eta [B or 1, 1, 1] */
    mo_view L, root, border, ridge;    /* the preconditioner M; L.data NULL: none. root and border only if dual */
    mo_view x, F, unsolved;            /* V, its logits [B, n, C], and [B, 1, 1]: 1 for items that reached the limit */
} mo_logistic_cg;

/* One pass over the rows of X [n, d], of one item: E = [X | 1] V (or X V) if V is given, else E [n, C] is given. If P
 * [n, C] and T [n, 1] are given, Q = S[E] as above, else Q = E. sum = [X | 1]^T Q (or X^T Q), [d (+ 1), C]. So V to E
 * are logits, E to sum is their adjoint, and V, P, T to sum is the product with a Hessian, without its penalty.
 * What is neither given nor wanted has data NULL; E is not wanted with P. C is at most MO_PASS_CLASSES. All views are
 * contiguous. */
enum { MO_PASS_CLASSES = 32 };

typedef struct mo_logistic_pass {
    bool free_intercept;
    mo_view X, V, P, T, E, sum;
} mo_logistic_pass;

/* Softmax regressions or Crammer-Singer machines with penalty lambda on the rows X [B, n, d] and labels Y [B, n, C] of
 * each item: W [B, d (+ 1), C] fitted on all rows, and held [B, stop[folds - 1], C], the logits of each fold (rows
 * stop[f - 1] .. stop[f] - 1) by a fit without it. unsolved [B]: 1 for items that were not solved. lambda [B or 1] > 0.
 * All views are contiguous. */
enum { MO_FOLDS_AT_ONCE = 16 };

typedef struct mo_folds_call {
    bool free_intercept;
    int folds; /* 1 to MO_FOLDS_AT_ONCE */
    const int64_t *stop;
    double tolerance, fold_tolerance; /* a regression ends at |gradient| <= tolerance |lambda W|; 0: at rounding */
    mo_view X, Y, lambda, W, held, unsolved;
} mo_folds_call;

/* The dual of the Crammer-Singer machine of each item: the alpha >= 0 with rows that sum to 1 which minimises
 * tr((Y - alpha)^T K (Y - alpha)) / (2 lambda) + <Y, alpha>. violation [B]: the largest violation of its optimality
 * conditions; below 0 if they hold. All views are contiguous. */
typedef struct mo_svm_dual {
    mo_view K, Y, lambda, alpha, violation; /* [B, n, n], [B, n, C], [B or 1, 1, 1], [B, n, C], [B] */
} mo_svm_dual;

/* The Crammer-Singer machine on the rows [X | 1] of one item, without K: W [d + 1, C], the last row the intercept, and
 * alpha [n, C] as above. violation: as above, one number. C is at most MO_PASS_CLASSES, rows of Y sum to 1. All
 * views are contiguous. */
typedef struct mo_svm_rows {
    mo_view X, Y, lambda, W, alpha, violation; /* [n, d], [n, C], [], [d + 1, C], [n, C], [] */
} mo_svm_rows;

typedef struct mo_fits {
    /* May be NULL: ops compose it then. */
    void (*logistic_cg)(mo_context *ctx, const mo_logistic_cg *g);
    void (*logistic_pass)(mo_context *ctx, const mo_logistic_pass *g);
    /* May be NULL: the op raises MO_UNSUPPORTED then. */
    void (*logistic_folds)(mo_context *ctx, const mo_folds_call *g);
    /* The Crammer-Singer machine, W [B, d, C]: free_intercept and the tolerances are ignored. */
    void (*svm_folds)(mo_context *ctx, const mo_folds_call *g);
    void (*svm_dual)(mo_context *ctx, const mo_svm_dual *g);
    /* float64 alone. May be NULL: the machine is fitted by its kernel matrix then. */
    void (*svm_rows)(mo_context *ctx, const mo_svm_rows *g);

    /* squares float64 [n]: the sum of squares of each of n gradients, each contiguous, rounded to their type. scale
     * float64 [2]: scale[0] is the norm of them all, the root of the sum of squares, added in order; scale[1] is
     * min(1, bound / (norm + 1e-6)), or 1 if bound is 0. */
    void (*gradient_norm)(
        mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale);
    /* One step of n parameters, each contiguous: updates moments m, v and parameter p in place, with the gradient g
     * times scale[1]. Changes nothing if an earlier check has failed. Loshchilov and Hutter 2019. */
    void (*adamw)(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
        const mo_view *m, const mo_view *v, const mo_view *p);
} mo_fits;

/* The fits of a float type; raises MO_UNSUPPORTED and returns NULL for other types. */
const mo_fits *mo_fits_of(mo_context *ctx, mo_dtype dtype);

#endif
