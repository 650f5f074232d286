/* models/head.h - heads: a readout fitted on the support embeddings of an episode, giving logits for its queries.
 *
 * A head is one `const mo_head`. It has three parts: `fit` makes a state, a list of named tensors, from the support;
 * `apply` makes the logits of any rows from the state; `held_out`, for a head that has a closed form or can start from
 * a fit, makes the logits of support rows by fits without them. The library does the rest for all heads alike: padding,
 * classes without a row, rows far from 0, and states that are kept, saved and applied block by block. Two ways to give
 * a head without `fit`: `logits`, one function from support and queries to logits (its state is the support), and
 * `residual`, whose zero the library finds and differentiates. All are graph code: gradients to embeddings, labels and
 * parameters come from the ops. Leading axes ".." are a batch of episodes of equal shapes. Several threads may call the
 * functions at once, each with a context of its own.
 *
 * Sizes: n_s = support examples, n_q = queries, C = classes, d = width of an embedding. */
#ifndef MO_HEAD_H
#define MO_HEAD_H

#include "ops/ops.h"

#define MO_HEAD_ABI 10
#define MO_MAX_HEAD_PARAMETERS 8
#define MO_HEAD_DIM (-1) /* as an axis of a parameter's shape: d */
enum { MO_STATE_TENSORS = 24, MO_STATE_NAME = 24 };

/* ---- what a head reads, and its state ---- */

/* The kernels that a head of kernels makes of the rows: 1 + <x, y>; also 1 + exp(-|x - y|^2), for rows of unit length;
 * or none. */
typedef enum mo_row_kernels { MO_ROWS_LINEAR = 0, MO_ROWS_GAUSSIAN, MO_ROWS_UNUSED } mo_row_kernels;

/* The support of an episode. A row of weight w counts as w equal rows, and all of them are left out together by a head
 * that leaves support rows out of a fit. A row of weight 0 counts as none; its embedding and its labels are 0. */
typedef struct mo_support {
    mo_tensor *Zs, *Ys;      /* [.., n_s, d]; [.., n_s, C]: one-hot, or rows that sum to 1 */
    mo_tensor *weight;       /* [.., n_s], 0 or more; NULL: ones. Gradients exist only for weights above 0 */
    bool complete;           /* every class has a support row and no row is padding: no value is read to see it */
    bool held_out;           /* the state is also made for mo_state_held_out; episodes without leading axes */
    bool targets;            /* Ys are C real targets of each row, for a head with `targets`: no row is padding */
    mo_row_kernels of_rows;  /* the remaining members are read by a head of kernels alone (mo_head.kernels) */
    mo_tensor *kernels;      /* [E, n_s, m]: further kernels between the support and the rows that represent it */
    mo_tensor *centres;      /* int64 [m]: the support rows that represent a large support; NULL: all rows, m = n_s */
    mo_tensor *class_weight; /* [n_s]: how much each row counts in the fit, more in small classes; NULL: 1 each */
    int trusted;             /* the first `trusted` of `kernels` are trusted like those of the rows */
    int columns;             /* for targets: the last `columns` of `kernels` are trusted more than the others */
    double trust;        /* how much more the kernels of the rows are believed than the others before labels are seen */
    double kernel_prior; /* of classes: the same for `kernels` that are not trusted, in nats */
} mo_support;

/* A fitted head: tensors by name. As mo_head_fit makes it, they lie on the tape; mo_state_clone makes one that is
 * owned. Linear heads have "W" [.., d + 1, C] alone, with logits [Zq | 1] W. */
typedef struct mo_state {
    const struct mo_head *head; /* borrowed */
    int64_t d, classes;
    int axes;      /* of a support's rows: 2 without leading axes */
    mo_dtype real; /* of the computation: that of the first tensor that `fit` puts */
    int n;
    char name[MO_STATE_TENSORS][MO_STATE_NAME];
    mo_tensor *tensor[MO_STATE_TENSORS];
} mo_state;

/* ---- the functions of a head. parameters: the head's tensors in the order of its table ---- */

/* Puts the tensors of the fitted head into the state (mo_state_put). */
typedef void (*mo_head_fit_state)(mo_tape *t, const mo_support *support, mo_tensor *const *parameters, mo_state *state);
/* Logits [.., n_q, C] of rows Zq [.., n_q, d]. kernels [E, n_q, m]: as those of the support, or NULL. */
typedef mo_tensor *(*mo_head_apply_state)(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels);
/* Logits [groups, h, C] of the support rows row[groups, h]; those of each group by a fit without the group's rows. The
 * state also has the support's "Zs", "Ys" and, if there are weights, "weight". */
typedef mo_tensor *(*mo_head_held_out_rows)(
    mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h);

/* Zs [.., n_s, d], Ys [.., n_s, C], Zq [.., n_q, d] -> logits [.., n_q, C], fit and apply in one. */
typedef mo_tensor *(*mo_head_logits)(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);
/* F(W), of the shape of W [.., d + 1, C]; F(W) = 0 defines the fitted W. The logits are then [Zq | 1] W. */
typedef mo_tensor *(*mo_head_residual)(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

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
 * adding one vector to all rows changes no logit, so the head gets rows minus the support's mean. MEANS: as FREE, for a
 * head that needs sums of rows alone: many float32 rows are left as they are unless the first of an episode lie far
 * from 0. WIDE: float32 rows are computed in float64. ANGLE: directions alone count; float32 rows whose directions
 * rounding makes equal are refused. */
typedef enum mo_head_offset {
    MO_OFFSET_KEPT = 0,
    MO_OFFSET_FREE,
    MO_OFFSET_WIDE,
    MO_OFFSET_ANGLE,
    MO_OFFSET_MEANS
} mo_head_offset;

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
    mo_head_fit_state fit;          /* NULL: the head is given by `logits` or `residual`, and takes no weights */
    mo_head_apply_state apply;      /* NULL, with a fit: the head is linear */
    mo_head_held_out_rows held_out; /* NULL: the caller fits without the rows, from nothing */
    mo_head_logits logits;
    mo_head_residual residual; /* F; Newton-Krylov from W = 0 finds F(W) = 0, mo_implicit differentiates */
    bool symmetric;            /* dF/dW is symmetric: F is the gradient of a loss */
    bool fixed_labels;         /* no gradient flows to Ys */
    int order;                 /* the highest order of derivative that exists: 1 or 2 */
    int n_samples;             /* 0: the checker uses its own samples */
    const mo_head_sample *samples;
    mo_head_offset offset;
    bool separate_classes; /* a class without a support row changes no logit of another. false: such classes are left
                            * out of the fit, and episodes of a batch that lack unlike classes are fitted one by one */
    bool leave_one_out;    /* held_out of every row alone costs about one fit */
    bool leaves_out;  /* the fit leaves support rows out of fits of its own, so copies of a row come as one row with a
                       * weight; false: copies may come as rows like any */
    bool targets;     /* its fit reads real targets too, and its logits are then predictions of these */
    bool kernels;     /* a head of kernels: it reads those of mo_support, and its softmax(logits) need no temperature */
    const void *data; /* for the head's functions, which find it by state->head */
} mo_head;

/* mo_find_head returns the library's head of this name, such as "ridge" or "logistic" (`mochi readouts --head` lists
 * them), or NULL. mo_load_head returns the head that a shared object exports as `const mo_head mo_head_plugin`; a path
 * without a slash is a file in the current folder; the object stays loaded. mo_load_head returns NULL on failure, and
 * the status names the file. */
MO_API const mo_head *mo_find_head(const char *name);
MO_API const mo_head *mo_load_head(mo_context *ctx, const char *path);
/* Writes the head's parameters at their initial values, as constants of the tape, to out[0 .. n_parameters - 1]. lambda
 * (may be NULL) replaces the value of a parameter of that name. Returns the status. */
MO_API mo_code mo_head_start(
    mo_tape *t, const mo_head *head, mo_dtype real, int64_t d, const double *lambda, uint64_t seed, mo_tensor **out);
/* Fits a head and gives its logits of the queries. Checks the head, its inputs and its result: raises
 * MO_INVALID or MO_MISMATCH with the head's name and the shapes. Every row counts as a separate example, even if rows
 * are equal. parameters: as many as the table has (mo_head_start writes them).
 * The logit of a class without a support row is -infinity, and no gradient flows through it; the gradients by labels of
 * such a class have no meaning. A row of zeros as labels is padding: it counts as a row of weight 0. */
MO_API mo_tensor *mo_head_apply(
    mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters);
/* Fits the head and returns the status. Checks and treats the support as mo_head_apply does. Raises MO_UNSUPPORTED for
 * weights with a head that has no `fit`, and for episodes of a batch that lack unlike classes, if the head fits classes
 * together. A row of weight 0 changes nothing, whatever its embedding and labels are, so that supports of unlike sizes
 * can be padded to one shape. After an error the state is empty. */
MO_API mo_code mo_head_fit(
    mo_tape *t, const mo_head *head, const mo_support *support, mo_tensor *const *parameters, mo_state *state);
/* Logits [.., n_q, C] of rows Zq, with -infinity for a class without a support row. kernels: as mo_head_apply_state. */
MO_API mo_tensor *mo_state_apply(mo_tape *t, const mo_state *state, mo_tensor *Zq, mo_tensor *kernels);
/* Logits [groups, h, C] of support rows row[groups, h] by fits without each group's rows: by the head's closed form or,
 * for logistic and svm, by refits that start from the fit of all rows (logistic: to about 1e-6 of the logits' size).
 * Raises MO_UNSUPPORTED if the head has none, MO_STATE if the state was not fitted with `held_out`. */
MO_API mo_tensor *mo_state_held_out(mo_tape *t, const mo_state *state, const int64_t *row, int64_t groups, int64_t h);
/* The same by a new fit per group on the rows outside it, for any head and any number of rows of kernels but centres.
 */
MO_API mo_tensor *mo_head_refit(mo_tape *t, const mo_head *head, const mo_support *support,
    mo_tensor *const *parameters, const int64_t *row, int64_t groups, int64_t h);
/* W [.., d, C] and b [.., 1, C] of a linear head on these rows, with logits = Zq W + b; weight (NULL: ones) as in
 * mo_support. A class without a support row has b = -infinity. Raises MO_UNSUPPORTED for a head that is not linear.
 * Returns the status. After an error *W and *b are null. */
MO_API mo_code mo_head_linear(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *const *parameters, mo_tensor **W, mo_tensor **b);
/* mo_state_put adds a tensor. mo_state_find returns one by its name, or NULL. mo_state_get raises MO_FORMAT if there is
 * none, and returns the null tensor. */
MO_API void mo_state_put(mo_state *state, const char *name, mo_tensor *T);
MO_API mo_tensor *mo_state_find(const mo_state *state, const char *name);
MO_API mo_tensor *mo_state_get(mo_tape *t, const mo_state *state, const char *name);
/* Copies a state off the tape; release the copy, even on failure. Returns the status. */
MO_API mo_code mo_state_clone(mo_context *ctx, const mo_state *state, mo_state *copy);
MO_API void mo_state_release(mo_state *state);
/* Checks a head by mo_check_function on its samples: the gradients to embeddings, soft labels and parameters, to 1e-6;
 * at order 2 also their derivatives, to 1e-5; that a batch gives the same logits as its episodes one by one; and that
 * the derivative of a residual is symmetric if `symmetric` says so. If no sample is a batch, the first sample is
 * checked also as a batch. Checks a fit with row weights too, what `offset` and `separate_classes` say; with order 1,
 * that a row of weight 2 is as two rows, and that held_out gives the logits of fits without the rows. */
MO_API mo_check_result mo_check_head(mo_context *ctx, const mo_head *head, int order, uint64_t seed);

#endif
