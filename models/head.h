/* models/head.h - heads: a readout fitted on the support embeddings of an episode, giving logits for its queries.
 *
 * A head is one `const mo_head`. It gives `logits`, or only a `residual` whose zero the engine finds and
 * differentiates. Its functions are graph code: gradients to embeddings, labels and parameters come from the ops.
 * Leading axes ".." are a batch of episodes of equal shapes. Several threads may call the functions at once, each with
 * a context of its own.
 *
 * Sizes: n_s support examples, n_q queries, C classes, d the width of an embedding. */
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

/* F(W), of the shape of W [.., d + 1, C]; F(W) = 0 defines the fitted W. The logits are then [Zq | 1] W. */
typedef mo_tensor *(*mo_head_residual)(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

#define MO_MAX_FOLDS 64 /* of mo_folds (ops.h), for a head */

/* Returns the logits of the queries and writes *held [.., stop[n - 1], C]: the logits of the support rows, each by a
 * fit without its own fold. A head implements it if the fits cost less together than one by one. held is defined up to
 * a constant per row, and no gradient flows through it. */
typedef mo_tensor *(*mo_head_cross_validate)(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq,
    mo_tensor *const *parameters, const mo_folds *folds, mo_tensor **held);

/* A parameter of a head. ndim 0: a hyper-parameter, a scalar tensor with the given value, within low .. high if
 * low < high. Otherwise a tensor that training learns; its initial values are drawn from U(-value, value) /
 * sqrt(shape[0]). */
typedef struct mo_head_parameter {
    const char *name;
    double value;
    double low, high;
    bool fixed; /* takes no gradient, such as a number of steps */
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
    mo_head_logits logits;     /* NULL: the head is given by its residual */
    mo_head_residual residual; /* its zero W is found by Newton-Krylov from W = 0 and differentiated by mo_implicit */
    bool symmetric;            /* dF/dW is symmetric: F is the gradient of a loss */
    bool fixed_labels;         /* no gradient flows to Ys */
    int order;                 /* the highest order of derivative that exists: 1 or 2 */
    int n_samples;             /* 0: the checker uses its own samples */
    const mo_head_sample *samples;
    mo_head_cross_validate cross_validate; /* NULL: the caller fits fold by fold */
} mo_head;

/* The heads of the library, numbered from 0; NULL after the last one. By name: NULL if no head has that name. */
MO_API const mo_head *mo_head_at(int i);
MO_API const mo_head *mo_find_head(const char *name);
/* The head that a shared object exports as `const mo_head mo_head_plugin`; path: with a slash, or a name that the
 * loader finds. The object stays loaded. Returns NULL on failure; the status names the file. */
MO_API const mo_head *mo_load_head(mo_context *ctx, const char *path);

/* Returns whether the head was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_head_validate(mo_context *ctx, const mo_head *head);
/* Writes the head's parameters at their initial values, as constants of the tape, to out[0 .. n_parameters - 1]. lambda
 * (may be NULL) replaces the value of a parameter of that name. Returns the status. */
MO_API mo_code mo_head_start(
    mo_tape *t, const mo_head *head, mo_dtype real, int64_t d, const double *lambda, uint64_t seed, mo_tensor **out);
/* The one way to call a head: checks the head, its inputs and its result. Raises MO_INVALID or MO_MISMATCH with the
 * head's name and the shapes. */
MO_API mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);

/* Checks a head by mo_check_function on its samples: the gradients to embeddings, soft labels and parameters, to 1e-6
 * at order 1 and 1e-5 at order 2; and that a batch gives the results of its episodes one by one. */
MO_API mo_check_result mo_check_head(mo_context *ctx, const mo_head *head, int order, uint64_t seed);

extern MO_API const mo_head mo_head_ridge;               /* parameters: lambda = 10 */
extern MO_API const mo_head mo_head_ridge_intercept;     /* lambda = 10; the intercept not penalised */
extern MO_API const mo_head mo_head_prototype_inner;     /* inner product with class means: the paper's prototypes */
extern MO_API const mo_head mo_head_prototype_euclidean; /* minus squared distance to class means */
/* Ridges of lambda / 30, lambda and 30 lambda, mixed by their leave-one-out evidence: lambda = 1, sharpness = 1, power
 * = 0.5, temperature = 8 */
extern MO_API const mo_head mo_head_ridge_mixture;
extern MO_API const mo_head mo_head_prototype_cosine;   /* scale = 10 times the cosine with class means */
extern MO_API const mo_head mo_head_prototype_centred;  /* inner product about the mean of the support */
extern MO_API const mo_head mo_head_logistic;           /* lambda = 1; the intercept not penalised */
extern MO_API const mo_head mo_head_logistic_penalised; /* lambda = 1; the intercept penalised */
extern MO_API const mo_head mo_head_svm;                /* Crammer-Singer; lambda = 1; first order */
extern MO_API const mo_head mo_head_lda;                /* shrinkage = 0.1 */
/* lr = 0.3, steps = 50, and the first layer W1 [d, 32], b1 [32], learned by training. For another width, write a table
 * with these functions and the shapes of that width. */
extern MO_API const mo_head mo_head_mlp;

/* Ridge regression with a penalised bias column (paper eq. "ridge-dual"), or an unpenalised intercept: W [.., d, C] and
 * b [.., 1, C]. MO_RIDGE_AUTO solves the dual system (n_s x n_s) if n_s is at most d + 1 (with an intercept: d), else
 * the primal. lambda: scalar tensor, 0 or more; at 0 a rank-deficient Gram matrix raises MO_NUMERICAL with the rank. */
typedef enum mo_ridge_form { MO_RIDGE_AUTO = 0, MO_RIDGE_DUAL, MO_RIDGE_PRIMAL } mo_ridge_form;
MO_API void mo_ridge_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);
MO_API void mo_ridge_fit_intercept(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **b);
/* Ridge over a grid of R penalties, with the penalised bias column: W [.., R, d + 1, C] reads [Z | 1]; row i of Yloo
 * [.., R, n_s, C] is the prediction for support row i by the fit without it. One factorization per penalty. Zs [..,
 * n_s, d], Ys [.., n_s, C], lambda [.., R] > 0, leading axes equal. */
MO_API void mo_ridge_loo_fit(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *lambda, mo_ridge_form form, mo_tensor **W, mo_tensor **Yloo);

/* How the ridges of M experts and R penalties are mixed by their leave-one-out evidence (ridge_mixture.c). gamma (may
 * be NULL): adds M experts, the same embeddings under the kernel 1 + exp(-gamma |x - y|^2); their penalties and priors
 * follow those of the first M. */
typedef struct mo_mixture {
    mo_tensor *lambda, *prior;                  /* [M, R]; [2 M, R] with gamma */
    mo_tensor *sharpness, *power, *temperature; /* scalars */
    mo_tensor *gamma;                           /* scalar */
} mo_mixture;
/* Zs [.., M, n_s, d] and Zq [.., M, n_q, d]: the embeddings of every expert; Ys [.., n_s, C] -> logits [.., n_q, C].
 * weight (may be NULL): receives the shares, which sum to 1, in the shape of lambda. */
MO_API mo_tensor *mo_ridge_mixture(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, const mo_mixture *mix, mo_tensor **weight);

/* All rows of a graph as every expert embeds them: Z [N, M (d + 1)], the experts side by side, each followed by a
 * column of ones, and gram = Z^T Z. */
typedef struct mo_population {
    mo_tensor *Z, *gram;
} mo_population;
/* Options of self-training: rounds (0 or more), each on the labels softmax(sharpness logits). */
typedef struct mo_transduction {
    int rounds;
    mo_tensor *sharpness; /* scalar */
} mo_transduction;
/* The mixture fitted on the support (int64 [n_s], row numbers of Z; labels Ys [n_s, C]), then refitted on all rows
 * under the assumption that classes are of equal size (ridge_transduce.c) -> logits [N, C] of all rows. */
MO_API mo_tensor *mo_ridge_transduce(mo_tape *t, const mo_population *all, mo_tensor *support, mo_tensor *Ys,
    const mo_mixture *mix, const mo_transduction *options);

#ifdef __cplusplus
}
#endif
#endif
