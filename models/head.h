/* models/head.h - heads: a readout fitted on the support embeddings of an episode, giving logits for its queries.
 *
 * A head is one `const mo_head`. It gives `logits`, or only a `residual` whose zero the engine finds and
 * differentiates. Its functions are graph code: gradients to embeddings, labels and parameters come from the ops.
 * Leading axes ".." are a batch of episodes of equal shapes. Several threads may be in them at once, each with a
 * context of its own. */
#ifndef MO_HEAD_H
#define MO_HEAD_H

#include "ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MO_HEAD_ABI 3
#define MO_MAX_HEAD_PARAMETERS 8
#define MO_HEAD_DIM (-1) /* in the shape of a parameter: d */

/* Logits of the queries: Zs [.., n_s, d], Ys [.., n_s, C] (one-hot, or rows that sum to 1), Zq [.., n_q, d] ->
 * [.., n_q, C]. parameters: the head's tensors in the order of its table. All leading axes equal. */
typedef mo_tensor *(*mo_head_logits)(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);

/* F(W) of the shape of W [.., d + 1, C]: zero where W fits the support. The logits are then [Zq | 1] W. */
typedef mo_tensor *(*mo_head_residual)(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

#define MO_MAX_FOLDS 64

/* Folds of the support: fold f is its rows stop[f - 1] .. stop[f] - 1, the first from row 0, none empty; rows behind
 * the last fold are in every fit. */
typedef struct mo_folds {
    int n;               /* 1 to MO_MAX_FOLDS */
    const int64_t *stop; /* [n] */
} mo_folds;

/* Logits as above, and in *held [.., stop[n - 1], C] those of support rows, each by a fit without its fold, where all
 * these fits together cost less than one by one. Up to a constant a row. For looking at: nobody differentiates them. */
typedef mo_tensor *(*mo_head_cross_validate)(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

/* A hyper-parameter: a scalar tensor (ndim 0), within low .. high where low < high. Or a tensor that training learns,
 * drawn at first from U(-value, value) / sqrt(shape[0]); zeros where value is 0. */
typedef struct mo_head_parameter {
    const char *name;
    double value;
    double low, high;
    bool fixed; /* takes no gradient: a number of steps */
    int ndim;
    int64_t shape[2]; /* MO_HEAD_DIM: d */
} mo_head_parameter;

/* Sizes that a head is checked on; batch 0: no leading axis. */
typedef struct mo_head_sample {
    int64_t support, queries, dim, classes, batch;
} mo_head_sample;

typedef struct mo_head {
    int abi;     /* MO_HEAD_ABI */
    size_t size; /* sizeof(mo_head) of the program that made it */
    const char *name;
    int n_parameters;
    const mo_head_parameter *parameters;
    mo_head_logits logits;     /* or NULL, and: */
    mo_head_residual residual; /* found by Newton-Krylov from W = 0, differentiated by mo_implicit */
    bool symmetric;            /* dF/dW is symmetric: F is the gradient of a loss */
    bool fixed_labels;         /* no gradient to Ys */
    int order;                 /* derivatives that exist: 2, or 1 */
    int n_samples;             /* 0: the checker's own */
    const mo_head_sample *samples;
    mo_head_cross_validate cross_validate; /* or NULL: fold by fold */
} mo_head;

/* The heads that come with the library, numbered from 0; NULL behind the last, and for a name that none has. */
MO_API const mo_head *mo_head_at(int i);
MO_API const mo_head *mo_find_head(const char *name);
/* The head that a shared object exports as `const mo_head mo_head_plugin`; path: with a slash, or a name the loader
 * finds. It stays loaded. NULL on failure, with the status naming the file. */
MO_API const mo_head *mo_load_head(mo_context *ctx, const char *path);

/* Whether the head was built for this library and is complete; raises MO_INVALID, naming what is not. */
MO_API bool mo_head_check(mo_context *ctx, const mo_head *head);
/* The head's parameters at their first values, as constants of the tape: out[0 .. n_parameters - 1]. lambda (or
 * NULL) is the value of a parameter of that name. Returns the status. */
MO_API mo_code mo_head_start(
    mo_tape *t, const mo_head *head, mo_dtype real, int64_t d, const double *lambda, uint64_t seed, mo_tensor **out);
/* The one way to call a head: checks the head, what it is given and what it returns. Raises MO_INVALID or MO_MISMATCH
 * with the head's name and the shapes. */
MO_API mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);

/* Checks a head by mo_check_function on its samples: the gradients to embeddings, labels (soft ones) and parameters,
 * to 1e-6 at order 1 and 1e-5 at order 2; and that a batch gives what its episodes give one by one. */
MO_API mo_check_result mo_check_head(mo_context *ctx, const mo_head *head, int order, uint64_t seed);

extern MO_API const mo_head mo_head_ridge;               /* parameters: lambda = 10 */
extern MO_API const mo_head mo_head_ridge_intercept;     /* the same, the intercept not penalised */
extern MO_API const mo_head mo_head_prototype;           /* inner product with class means */
extern MO_API const mo_head mo_head_prototype_euclidean; /* minus squared distance to class means */
/* Ridges of lambda / 30, lambda and 30 lambda, mixed by their leave-one-out evidence: lambda = 1, sharpness = 1, power
 * = 0.5, temperature = 8 */
extern MO_API const mo_head mo_head_ridge_mixture;
extern MO_API const mo_head mo_head_prototype_cosine;   /* scale = 10 times the cosine with class means */
extern MO_API const mo_head mo_head_prototype_centred;  /* inner product about the mean of the support */
extern MO_API const mo_head mo_head_logistic;           /* lambda = 1; the intercept not penalised */
extern MO_API const mo_head mo_head_logistic_penalised; /* the same, the intercept penalised */
extern MO_API const mo_head mo_head_svm;                /* Crammer-Singer; lambda = 1; first order */
extern MO_API const mo_head mo_head_lda;                /* shrinkage = 0.1 */
/* lr = 0.3, steps = 50, and the first layer W1 [d, 32], b1 [32], learned by training. A head of another width has this
 * one's logits and another table. */
extern MO_API const mo_head mo_head_mlp;

/* Ridge regression with a penalised bias column (paper eq. "ridge-dual"), or an unpenalised intercept: W [.., d, C] and
 * b [.., 1, C]. The dual system (n_s x n_s) where n_s is at most d + 1 (d), else the primal; mo_ridge_form fixes the
 * choice. lambda: scalar tensor, 0 or more; at 0 a Gram matrix of lower rank raises MO_NUMERICAL, naming the rank. */
typedef enum mo_ridge_form { MO_RIDGE_AUTO = 0, MO_RIDGE_DUAL, MO_RIDGE_PRIMAL } mo_ridge_form;
MO_API void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);
MO_API void mo_ridge_fit_intercept(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);
/* Ridge over a grid of penalties, bias column as above: W [.., R, d + 1, C] reads [Z | 1]; Yloo [.., R, n_s, C] is what
 * the fit without a support row predicts for it. One factorization a penalty. Zs [.., n_s, d], Ys [.., n_s, C], lambda
 * [.., R] > 0, leading axes equal. */
MO_API void mo_ridge_loo_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **Yloo);

/* How the ridges of M experts and R penalties are mixed by their leave-one-out evidence (ridge_mixture.c). gamma (may
 * be NULL): all experts once more, with the kernel 1 + exp(-gamma |x - y|^2) for the inner product; penalties and
 * priors of those follow the others'. */
typedef struct mo_mixture {
    mo_tensor *lambda, *prior;                  /* [M, R], with gamma [2 M, R] */
    mo_tensor *sharpness, *power, *temperature; /* scalars */
    mo_tensor *gamma;                           /* scalar */
} mo_mixture;
/* Zs [.., M, n_s, d] and Zq [.., M, n_q, d]: the embeddings of every expert; Ys [.., n_s, C] -> logits [.., n_q, C].
 * weight (may be NULL): the shares, as lambda, which sum to 1. */
MO_API mo_tensor *mo_ridge_mixture(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, const mo_mixture *mix, mo_tensor **weight);

/* All rows of a graph as every expert embeds them: Z [N, M (d + 1)], the experts side by side, a 1 behind the rows of
 * each, and gram = Z^T Z. */
typedef struct mo_population {
    mo_tensor *Z, *gram;
} mo_population;
/* Rounds of self-training, 0 or more, on softmax(sharpness logits). */
typedef struct mo_transduction {
    int rounds;
    mo_tensor *sharpness; /* scalar */
} mo_transduction;
/* The mixture fitted on the support (int64 [n_s], rows of Z; labels Ys [n_s, C]), then refitted on all rows under the
 * assumption that classes are of equal size (ridge_transduce.c) -> logits [N, C] of all rows. */
MO_API mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *options);

#ifdef __cplusplus
}
#endif
#endif
