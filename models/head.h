/* models/head.h - heads: a readout fitted on the support embeddings of an episode, giving logits for its queries.
 *
 * A head is one `const mo_head`. It provides `logits`, a `linear` fit, or only a `residual`, whose zero the library
 * finds and differentiates. Its functions are graph code: gradients to embeddings, labels and parameters come from the
 * ops. Leading axes ".." are a batch of episodes of equal shapes. Several threads may call the functions at once, each
 * with a context of its own.
 *
 * Sizes: n_s = support examples, n_q = queries, C = classes, d = width of an embedding. */
#ifndef MO_HEAD_H
#define MO_HEAD_H

#include "ops/ops.h"

#define MO_HEAD_ABI 8
#define MO_MAX_HEAD_PARAMETERS 8
#define MO_HEAD_DIM (-1) /* as an axis of a parameter's shape: d */

/* Logits of the queries: Zs [.., n_s, d], Ys [.., n_s, C] (one-hot, or rows that sum to 1), Zq [.., n_q, d] ->
 * [.., n_q, C]. parameters: the head's tensors in the order of its table. All leading axes equal. */
typedef mo_tensor *(*mo_head_logits)(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);

/* F(W), of the shape of W [.., d + 1, C]; F(W) = 0 defines the fitted W. The logits are then [Zq | 1] W. */
typedef mo_tensor *(*mo_head_residual)(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

/* Like mo_head_logits, for rows with weights [.., n_s], 0 or more: a row of weight w counts as w equal rows, and a head
 * that leaves support rows out of a fit leaves all of them out together. A row of weight 0 counts as none; its
 * embedding and its labels are 0. */
typedef mo_tensor *(*mo_head_weighted)(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight, mo_tensor *Zq, mo_tensor *const *parameters);

/* The fit of a head that is linear in the queries: *W [.., d, C] and *b [.., 1, C], both differentiable, with logits =
 * Zq W + b. weight [.., n_s], 0 or more: a row of weight w counts as w equal rows; NULL: ones. Gradients to weights
 * exist only for weights above 0. */
typedef void (*mo_head_linear)(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b);

/* A parameter of a head. ndim 0: a hyper-parameter, a scalar tensor with the initial value `value`, within low .. high
 * if low < high. Otherwise a tensor that training learns; its initial values are drawn from U(-value, value) /
 * sqrt(shape[0]). */
typedef struct mo_head_parameter {
    const char *name;
    double value;
    double low, high;
    bool fixed; /* takes no gradient; for example a number of steps */
    int ndim;
    int64_t shape[2]; /* MO_HEAD_DIM: d */
} mo_head_parameter;

/* What the library does with rows that lie far from 0, compared with the distances between them. KEPT: nothing. FREE:
 * adding one vector to all rows changes no logit, so the head gets rows minus the support's mean. WIDE: float32 rows
 * are computed in float64. ANGLE: directions alone count; float32 rows whose directions rounding makes equal are
 * refused. */
typedef enum mo_head_offset { MO_OFFSET_KEPT = 0, MO_OFFSET_FREE, MO_OFFSET_WIDE, MO_OFFSET_ANGLE } mo_head_offset;

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
    mo_head_logits logits;     /* NULL: the head is given by `linear` or `residual` */
    mo_head_linear linear;     /* NULL: the logits are not linear in the queries, or W comes from `residual` */
    mo_head_residual residual; /* F; Newton-Krylov from W = 0 finds F(W) = 0, mo_implicit differentiates. NULL: none */
    bool symmetric;            /* dF/dW is symmetric: F is the gradient of a loss */
    bool fixed_labels;         /* no gradient flows to Ys */
    int order;                 /* the highest order of derivative that exists: 1 or 2 */
    int n_samples;             /* 0: the checker uses its own samples */
    const mo_head_sample *samples;
    mo_head_weighted weighted; /* NULL: row weights reach the head by `linear`, or not at all */
    mo_head_offset offset;
    bool separate_classes; /* a class without a support row changes no logit of another. false: such classes are left
                            * out of the fit, and episodes of a batch that lack unlike classes are fitted one by one */
} mo_head;

/* mo_find_head returns the library's head of this name, such as "ridge" or "logistic" (`mochi fit --head` lists them),
 * or NULL. mo_load_head returns the head that a shared object exports as `const mo_head mo_head_plugin`; a path without
 * a slash is a file in the current folder; the object stays loaded. mo_load_head returns NULL on failure, and the
 * status names the file. */
MO_API const mo_head *mo_find_head(const char *name);
MO_API const mo_head *mo_load_head(mo_context *ctx, const char *path);
/* Writes the head's parameters at their initial values, as constants of the tape, to out[0 .. n_parameters - 1]. lambda
 * (may be NULL) replaces the value of a parameter of that name. Returns the status. */
MO_API mo_code mo_head_start(
    mo_tape *t, const mo_head *head, mo_dtype real, int64_t d, const double *lambda, uint64_t seed, mo_tensor **out);
/* Computes a head's logits, by its `logits`, `linear` or `residual`. Checks the head, its inputs and its result: raises
 * MO_INVALID or MO_MISMATCH with the head's name and the shapes. Every row counts as a separate example, even if rows
 * are equal. parameters: as many as the table has (mo_head_start writes them).
 * The logit of a class without a support row is -infinity, and no gradient flows through it; the gradients by labels of
 * such a class have no meaning. A row of zeros as labels is padding: it counts as a row of weight 0. */
MO_API mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);
/* mo_head_apply with row weights [.., n_s] of the rows' dtype, 0 or more (NULL: ones): a row of weight w counts as w
 * equal rows, and a row of weight 0 changes nothing, whatever its embedding and labels are, so that supports of unlike
 * sizes can be padded to one shape. Gradients exist only for weights above 0. Raises MO_UNSUPPORTED for a head that has
 * neither `weighted` nor `linear`, and MO_INVALID for an episode without a weight above 0. */
MO_API mo_tensor *mo_head_apply_rows(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters);
/* Fits a linear head and returns the status; arguments as in mo_head_linear, padding and classes without a support row
 * as in mo_head_apply: such a class has b = -infinity. Raises MO_UNSUPPORTED for a head that is not linear, and for row
 * weights with a head that has only a residual; MO_INVALID for wrong shapes or a weight below 0. After an error *W and
 * *b are null. */
MO_API mo_code mo_head_fit(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b);
/* Checks a head by mo_check_function on its samples: the gradients to embeddings, soft labels and parameters, to 1e-6;
 * at order 2 also their derivatives, to 1e-5; that a batch gives the same logits as its episodes one by one; and that
 * the derivative of a residual is symmetric if `symmetric` says so. If no sample is a batch, the first sample is
 * checked also as a batch. Checks `weighted` too, `linear` with row weights, and what `offset` and
 * `separate_classes` say. */
MO_API mo_check_result mo_check_head(mo_context *ctx, const mo_head *head, int order, uint64_t seed);

#endif
