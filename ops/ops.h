/* ops/ops.h - the differentiable ops, one family in each file. Every op takes the tape first and returns a tensor of
 * that tape, or the null tensor with the context's status set. "real" is float32 or float64; the real inputs of one
 * call have one dtype. Leading axes ".." are batch axes; "broadcast" follows NumPy: aligned at the last axis, sizes
 * equal or 1. Derivations, domains and errors are in the file of the family. */
#ifndef MO_OPS_H
#define MO_OPS_H

#include "autograd/autograd.h"

/* Registers every op of this folder that the context does not have yet; mo_context_create registers none. */
MO_API mo_code mo_register_ops(mo_context *ctx);

/* A set of axes: axis i is 0 .. 5, or -1 .. -6 from the end (bits 26 .. 31). An op along one axis raises an error if
 * the set has not exactly one. */
typedef struct mo_axes {
    uint32_t bits;
} mo_axes;
#define MO_AXIS(i) ((mo_axes){UINT32_C(1) << ((unsigned)(i)&31)})
#define MO_AXES(i, j) ((mo_axes){MO_AXIS(i).bits | MO_AXIS(j).bits})
#define MO_ALL ((mo_axes){UINT32_MAX})

/* ---- matmul.c, gram.c, layers/linear.c ---- */
/* A B: [.., m, k] [.., k, n] -> [.., m, n], batch axes broadcast */
MO_API mo_tensor *mo_matmul(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_gram(mo_tape *t, mo_tensor *X); /* X X^T: [.., n, d] -> [.., n, n], at half the cost */
/* X W^T + b: X [.., in], W [out, in], b [out] or NULL -> [.., out] */
MO_API mo_tensor *mo_linear(mo_tape *t, mo_tensor *X, mo_tensor *W, mo_tensor *b);

/* ---- solve.c, solve_spd.c, solve_triangular.c, cholesky.c, qr.c, eigh.c, svd.c, least_squares.c ---- */
/* X with A X = B: A [.., n, n] regular, B [.., n, m] */
MO_API mo_tensor *mo_solve(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_solve_spd(mo_tape *t, mo_tensor *A, mo_tensor *B); /* positive definite A: its lower triangle */
/* As mo_solve and mo_solve_spd, but a system without a solution is no error: its X and its gradients are NaN. */
MO_API mo_tensor *mo_solve_or_nan(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_solve_spd_or_nan(mo_tape *t, mo_tensor *A, mo_tensor *B);
/* X with T X = B or T^T X = B, as `triangle` says, for T [.., n, n] (the other triangle is ignored) and B [.., n, m] */
MO_API mo_tensor *mo_solve_triangular(mo_tape *t, mo_tensor *T, mo_tensor *B, mo_triangle triangle);
MO_API mo_tensor *mo_cholesky(mo_tape *t, mo_tensor *A); /* L with A = L L^T, lower triangle read */
/* X with L L^T X = B, L from mo_cholesky: one factor for any number of solves; differentiable in L and B */
MO_API mo_tensor *mo_cholesky_solve(mo_tape *t, mo_tensor *L, mo_tensor *B);
/* Q [.., m, n] with orthonormal columns and R [.., n, n] upper, diagonal > 0, with A = Q R; m >= n, full rank */
MO_API void mo_qr(mo_tape *t, mo_tensor *A, mo_tensor **Q, mo_tensor **R);
/* w [.., n] rising and V [.., n, n] with A V = V diag(w), A symmetric; the largest entry of a column is positive */
MO_API void mo_eigh(mo_tape *t, mo_tensor *A, mo_tensor **w, mo_tensor **V);

/* U [.., m, k], s [.., k] >= 0 falling and V [.., n, k], k = min(m, n), with A = U diag(s) V^T and orthonormal columns;
 * the largest entry of a column of U is positive */
MO_API void mo_svd(mo_tape *t, mo_tensor *A, mo_tensor **U, mo_tensor **s, mo_tensor **V);
/* A^+ B, the X of least norm that minimises |A X - B|: A [.., m, n] of any rank, B [.., m, k] -> [.., n, k]. Singular
 * values up to rcond < 1 times the largest count as 0; rcond < 0: eps min(max(m, n), 10 min(m, n)) */
MO_API mo_tensor *mo_least_squares(mo_tape *t, mo_tensor *A, mo_tensor *B, double rcond);

/* ---- logdet.c, fits/logistic.c ---- */
MO_API mo_tensor *mo_logdet(mo_tape *t, mo_tensor *A);      /* symmetric positive definite [.., n, n] -> [..] */
MO_API mo_tensor *mo_log_abs_det(mo_tape *t, mo_tensor *A); /* log |det A|, any regular A */
typedef enum mo_intercept { MO_INTERCEPT_NONE = 0, MO_INTERCEPT_FREE } mo_intercept;
/* Multinomial logistic regression: W [.., d, C] that minimises the summed cross-entropy of softmax(X W) with Y plus
 * lambda / 2 |W|^2. With a free intercept W is [.., d + 1, C], whose last row is the intercept, without penalty. X
 * [.., n, d], Y [.., n, C] one-hot or weights >= 0, lambda >= 0 scalar or [..] */
MO_API mo_tensor *mo_logistic(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *lambda, mo_intercept intercept);

/* ---- add_diag.c, append_ones.c, triangle.c, diagonal.c ---- */
MO_API mo_tensor *mo_add_diag(mo_tape *t, mo_tensor *A, mo_tensor *lambda); /* A + lambda I; lambda scalar or [..] */
MO_API mo_tensor *mo_append_ones(mo_tape *t, mo_tensor *X);                 /* [.., m, d] -> [.., m, d + 1] = [X | 1] */
MO_API mo_tensor *mo_tril(mo_tape *t, mo_tensor *X);                        /* [.., m, n], zeros above the diagonal */
MO_API mo_tensor *mo_triu(mo_tape *t, mo_tensor *X);                        /* [.., m, n], zeros below the diagonal */
MO_API mo_tensor *mo_diagonal(mo_tape *t, mo_tensor *A);                    /* [.., n, n] -> [.., n], a view */
MO_API mo_tensor *mo_diagonal_embed(mo_tape *t, mo_tensor *x);  /* [.., n] -> [.., n, n], zeros off the diagonal */
MO_API mo_tensor *mo_trace(mo_tape *t, mo_tensor *A);           /* [.., n, n] -> [..] */
MO_API mo_tensor *mo_eye(mo_tape *t, mo_dtype real, int64_t n); /* [n, n] */

/* ---- arithmetic.c, pow.c, where.c: broadcasting ---- */
MO_API mo_tensor *mo_add(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_sub(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_mul(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_div(mo_tape *t, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_div_or_zero(mo_tape *t, mo_tensor *A, mo_tensor *B); /* 0 where B is 0 */
MO_API mo_tensor *mo_scale(mo_tape *t, mo_tensor *X, double a, double b); /* a X + b, plain numbers */
MO_API mo_tensor *mo_pow(mo_tape *t, mo_tensor *X, double p);             /* X^p, p a plain number */
MO_API mo_tensor *mo_pow_entries(mo_tape *t, mo_tensor *A, mo_tensor *B); /* A^B */
/* A, or B where the condition, uint8 or real, is 0 */
MO_API mo_tensor *mo_where(mo_tape *t, mo_tensor *condition, mo_tensor *A, mo_tensor *B);
MO_API mo_tensor *mo_greater_equal(mo_tape *t, mo_tensor *A, mo_tensor *B); /* 1 or 0, as reals */
MO_API mo_tensor *mo_larger(mo_tape *t, mo_tensor *A, mo_tensor *B);        /* ties: gradient to A */
MO_API mo_tensor *mo_smaller(mo_tape *t, mo_tensor *A, mo_tensor *B);

/* ---- elementwise.c, relu.c, piecewise.c, activations.c ---- */
MO_API mo_tensor *mo_neg(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_exp(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_log(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_sqrt(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_square(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_abs(mo_tape *t, mo_tensor *X); /* gradient 0 at 0 */
MO_API mo_tensor *mo_relu(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_leaky_relu(mo_tape *t, mo_tensor *X, double a);      /* a x where x <= 0 */
MO_API mo_tensor *mo_clamp(mo_tape *t, mo_tensor *X, double a, double b); /* min(max(x, a), b) */
MO_API mo_tensor *mo_sin(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_cos(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_log1p(mo_tape *t, mo_tensor *X); /* log(1 + x), exact near 0 */
MO_API mo_tensor *mo_erf(mo_tape *t, mo_tensor *X);   /* 2 / sqrt(pi) times the integral of exp(-s^2) from 0 to x */
MO_API mo_tensor *mo_tanh(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_sigmoid(mo_tape *t, mo_tensor *X);
MO_API mo_tensor *mo_softplus(mo_tape *t, mo_tensor *X); /* log(1 + e^x) */
MO_API mo_tensor *mo_gelu(mo_tape *t, mo_tensor *X);     /* x Phi(x), the exact form */

/* ---- reduce.c, max.c, logsumexp.c: over a set of axes; an empty set gives X, or 0 for mo_var ---- */
typedef enum mo_reduced { MO_DROP_AXES = 0, MO_KEEP_AXES } mo_reduced; /* reduced axes: removed, or of size 1 */
MO_API mo_tensor *mo_sum(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced);
MO_API mo_tensor *mo_mean(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced);
/* The variance: squared distances from the mean, summed and divided by n - correction; unbiased for correction 1 */
MO_API mo_tensor *mo_var(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced, int64_t correction);
MO_API mo_tensor *mo_max(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced); /* ties: gradient to the first */
MO_API mo_tensor *mo_logsumexp(mo_tape *t, mo_tensor *X, mo_axes axes, mo_reduced reduced);
MO_API mo_tensor *mo_sum_to(mo_tape *t, mo_tensor *X, int ndim, const int64_t *shape); /* the adjoint of broadcasting */

/* ---- argmax.c, cumsum.c, top_k.c, softmax.c: along one axis ---- */
MO_API mo_tensor *mo_argmax(mo_tape *t, mo_tensor *X, mo_axes axis); /* int64 positions, the first of ties */
MO_API mo_tensor *mo_cumsum(mo_tape *t, mo_tensor *X, mo_axes axis);
MO_API mo_tensor *mo_sort(mo_tape *t, mo_tensor *X, mo_axes axis);             /* in falling order */
MO_API mo_tensor *mo_top_k(mo_tape *t, mo_tensor *X, int64_t k, mo_axes axis); /* the k largest, in falling order */
MO_API mo_tensor *mo_softmax(mo_tape *t, mo_tensor *X, mo_axes axis);
MO_API mo_tensor *mo_log_softmax(mo_tape *t, mo_tensor *X, mo_axes axis);

/* ---- softmax_cross_entropy.c, normalize.c, row_norm.c, dropout.c ---- */
/* Mean over rows of -sum_c t_c log softmax(logits)_c, t = (1 - smoothing) target + smoothing / C. logits [n, C]; target
 * int64 [n] or real [n, C] (rows that sum to 1) -> scalar */
MO_API mo_tensor *mo_softmax_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *target, double smoothing);
MO_API mo_tensor *mo_layer_norm(mo_tape *t, mo_tensor *X, double epsilon);   /* last axis, no affine, biased variance */
MO_API mo_tensor *mo_l2_normalize(mo_tape *t, mo_tensor *X, double epsilon); /* x / max(|x|, epsilon), last axis */
MO_API mo_tensor *mo_row_norm(mo_tape *t, mo_tensor *X); /* [.., d] -> [.., 1] Euclidean; gradient 0 at 0 */
/* Inverted dropout; the identity in MO_EVAL. r advances by the number of elements drawn. */
MO_API mo_tensor *mo_dropout(mo_tape *t, mo_tensor *X, double rate, mo_random *r);

/* ---- reshape.c, transpose.c, slice.c, broadcast.c: views; concat.c, one_hot.c, cast.c: copies ---- */
MO_API mo_tensor *mo_reshape(mo_tape *t, mo_tensor *X, int ndim, const int64_t *shape); /* one size may be -1 */
MO_API mo_tensor *mo_contiguous(mo_tape *t, mo_tensor *X);               /* X itself if it is contiguous */
MO_API mo_tensor *mo_transpose(mo_tape *t, mo_tensor *X);                /* the last two axes */
MO_API mo_tensor *mo_permute(mo_tape *t, mo_tensor *X, const int *axes); /* output axis i is input axis axes[i] */
MO_API mo_tensor *mo_slice(mo_tape *t, mo_tensor *X, mo_axes axis, int64_t start, int64_t stop);
MO_API mo_tensor *mo_pad(mo_tape *t, mo_tensor *X, mo_axes axis, int64_t before, int64_t after); /* zeros */
MO_API mo_tensor *mo_broadcast_to(mo_tape *t, mo_tensor *X, int ndim, const int64_t *shape);
/* X repeated n times along a new axis, which is number `axis` of the result; n = 1 only adds the axis */
MO_API mo_tensor *mo_with_axis(mo_tape *t, mo_tensor *X, mo_axes axis, int64_t n);
MO_API mo_tensor *mo_concat(mo_tape *t, mo_tensor *const *X, int n, mo_axes axis); /* X_1 .. X_n along `axis` */
MO_API mo_tensor *mo_stack(mo_tape *t, mo_tensor *const *X, int n, mo_axes axis);  /* a new axis */
MO_API mo_tensor *mo_one_hot(mo_tape *t, mo_tensor *labels, int64_t classes, mo_dtype real); /* [..] int64 */
MO_API mo_tensor *mo_cast(mo_tape *t, mo_tensor *X, mo_dtype dtype); /* gradient between real types */

/* ---- gather.c, take_along.c, segment.c, spmm.c ---- */
/* The rows of X [n, ..], real or int64, that index, int64 [m], names -> [m, ..] */
MO_API mo_tensor *mo_gather_rows(mo_tape *t, mo_tensor *X, mo_tensor *index);
MO_API mo_tensor *mo_scatter_add_rows(mo_tape *t, mo_tensor *X, mo_tensor *index, int64_t n); /* the adjoint */
MO_API mo_tensor *mo_take_along(mo_tape *t, mo_tensor *X, mo_tensor *index); /* [.., m], int64 [.., k] -> [.., k] */
MO_API mo_tensor *mo_put_along(mo_tape *t, mo_tensor *X, mo_tensor *index, int64_t m); /* the adjoint */
/* Row s: the sum or mean of rows offset[s] .. offset[s+1]-1 of X [n, ..], or 0; offset int64 [S + 1], from 0 to n */
MO_API mo_tensor *mo_segment_sum(mo_tape *t, mo_tensor *X, mo_tensor *offset);
MO_API mo_tensor *mo_segment_mean(mo_tape *t, mo_tensor *X, mo_tensor *offset);
MO_API mo_tensor *mo_segment_spread(mo_tape *t, mo_tensor *X, mo_tensor *offset, int64_t n); /* the sum's adjoint */
/* A X: A [n, m] sparse, X [m, d] -> [n, d]; A must outlive the tape */
MO_API mo_tensor *mo_spmm(mo_tape *t, const mo_csr *A, mo_tensor *X);

/* ---- composed/: the health of solves as data ---- */
/* One entry for every system of a batch: constants of the tape [..], float64 except info. |.| is the 1-norm. */
typedef struct mo_solve_health {
    mo_tensor *info;  /* int32: 0: factored; i > 0: leading minor i is not positive (spd) or pivot i is 0; -1: A is not
                       * finite; -2: A is singular to working precision */
    mo_tensor *rcond; /* 1 / (|A| |A^-1|), from an inverse in float64; 0: singular; at most A's eps if info is not 0 */
    mo_tensor *residual; /* |A X - B| / (n eps |A| |X|): below about 10 for every solve that went well */
    mo_tensor *error;    /* expected relative error of X and of gradients, eps / rcond; 1: no digit is right */
} mo_solve_health;

/* Measures how accurately X solves A X = B. X is the result of mo_solve or, if spd, of mo_solve_spd, or of their
 * _or_nan forms; leading axes broadcast as there. Costs an inverse in float64. Returns the status; the tensors are null
 * on failure. */
MO_API mo_code mo_solve_check(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *X, bool spd, mo_solve_health *health);

/* ---- composed/: losses, accuracy, segments, sparse values ---- */
/* The mean of (X - Y)^2; X and Y of one shape -> scalar */
MO_API mo_tensor *mo_mse(mo_tape *t, mo_tensor *X, mo_tensor *Y);
/* -mean [y log p + (1 - y) log(1 - p)] with p = sigmoid(logits); Y in [0, 1], real, of the logits' shape -> scalar */
MO_API mo_tensor *mo_binary_cross_entropy(mo_tape *t, mo_tensor *logits, mo_tensor *Y);
/* The share of rows whose largest logit belongs to their label: logits [.., C], labels int64 [..] -> scalar */
MO_API mo_tensor *mo_accuracy(mo_tape *t, mo_tensor *logits, mo_tensor *labels);
/* Over the segments of mo_segment_sum. mo_segment_max: the largest entries of each segment, 0 if it is empty ->
 * [S, ..]; ties: gradient to the first. mo_segment_softmax: softmax over the rows of each segment -> [n, ..]. The
 * offsets are read on the host. */
MO_API mo_tensor *mo_segment_max(mo_tape *t, mo_tensor *X, mo_tensor *offset);
MO_API mo_tensor *mo_segment_softmax(mo_tape *t, mo_tensor *X, mo_tensor *offset);
/* mo_spmm with differentiable values [nnz], in the order of A's rows, instead of A's own; takes [nnz, d] memory */
MO_API mo_tensor *mo_spmm_values(mo_tape *t, const mo_csr *A, mo_tensor *values, mo_tensor *X);

/* ---- recompute.c: memory for time ---- */

enum { MO_MAX_STATE = 256 };

/* A function of tensors as graph code. */
typedef mo_tensor *(*mo_graph_code)(mo_tape *t, mo_tensor *const *in, int n, void *state);
/* F(in[0], .., in[n-1]) by gradient checkpointing: only the result of F is kept, and backward runs F again (Griewank
 * and Walther 2000; Chen et al. 2016). Every tensor that needs a gradient belongs in `in`, n <= MO_MAX_INPUTS. F
 * depends only on `in` and its state. Every run gets a fresh copy of the state_size bytes of the state, at most
 * MO_MAX_STATE; with state_size 0 F gets the pointer `state` itself, whose target must outlive the tape's use.
 * Differentiable any number of times. */
MO_API mo_tensor *mo_recompute(
    mo_tape *t, mo_graph_code F, mo_tensor *const *in, int n, const void *state, size_t state_size);

/* ---- solvers/: solutions found by iterations, with the gradient of the implicit function theorem ---- */

/* F(x, theta) as graph code: has the shape of x and is 0 at the solution. Every tensor that needs a gradient belongs in
 * theta, n <= 12. state: the state of mo_implicit_options. */
typedef mo_tensor *(*mo_residual)(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state);

/* How a solve went, and the linear systems of its backward; for a batch, the figures of its worst system. */
typedef struct mo_solver_report {
    int iterations;
    double residual; /* |F| / max(1, |x|) */
    bool converged;
    int adjoint_iterations;  /* iterations of the last linear system */
    double adjoint_residual; /* residual of that system relative to its right-hand side; 0 if factored */
    int64_t adjoint_systems; /* number of linear systems so far; a batch counts once */
    bool missed;             /* a solve has missed its tolerance */
} mo_solver_report;

/* Options of mo_implicit, for a batch of systems that are solved together but do not depend on each other. */
typedef struct mo_implicit_options {
    int batch_axes;       /* number of leading axes of x that count systems; each has m unknowns */
    bool symmetric;       /* dF/dx is symmetric and definite: use conjugate gradients, not GMRES */
    int64_t dense_limit;  /* up to this m, forward builds and factors dF/dx once; 0: 64, < 0: never */
    mo_residual jacobian; /* gives dF/dx [.., m, m], without gradient, to be factored; NULL: m vjps of F give it */
    double tolerance;     /* relative tolerance of a linear system; 0: 1e-10 in float64, 1e-5 in float32 */
    int iterations;       /* limit of iterations for a linear system; 0: 10 m, at least 100 */
    int restart;          /* GMRES restarts after this number of iterations, at most 10000; 0: 30 */
    double residual; /* limit of |F(x_star)| / max(1, |x_star|); 0: 1e-6 in float64, 1e-3 in float32; < 0: no check */
    bool accept;     /* a missed tolerance is reported but raises no error */
    mo_solver_report *report; /* may be NULL; the caller zeroes it; it must outlive the tape's backward */
    void *state;              /* passed to residual and jacobian */
    size_t state_size;        /* bytes of state to copy, at most MO_MAX_STATE; 0: the state outlives the tape's use */
} mo_implicit_options;

/* The solution x_star [.., item ..] of F(x_star, theta) = 0, found by any means, as a function of theta: returns its
 * value, with the derivative dx = -J^-1 (dF/dtheta) dtheta, where J = dF/dx. No gradient flows to x_star itself.
 * Differentiable any number of times; iterations for linear systems are not recorded. options may be NULL. */
MO_API mo_tensor *mo_implicit(mo_tape *t, mo_tensor *x_star, mo_residual residual, mo_tensor *const *theta, int n,
    const mo_implicit_options *options);
/* The u of J u = b or, transposed, J^T u = b, with J at any (x, theta); likewise differentiable in b, x and theta. */
MO_API mo_tensor *mo_implicit_solve(mo_tape *t, mo_tensor *b, mo_tensor *x, mo_residual residual,
    mo_tensor *const *theta, int n, bool transposed, const mo_implicit_options *options);

typedef struct mo_solver_options {
    mo_implicit_options implicit; /* batch axes, state, accept, report, and how adjoint systems are solved */
    double tolerance;             /* limit of |F| / max(1, |x|); 0: 1e-10 in float64, 1e-5 in float32 */
    int iterations;               /* limit; 0: 1000 */
    int memory;                   /* number of pairs in L-BFGS, at most 32; 0: 10 */
    bool unrolled;                /* instead record and differentiate every iteration, for comparison */
} mo_solver_options;

/* Every solver takes a start x0 [.., item ..] and returns x with F(x, theta) = 0, differentiable in theta any number of
 * times: by the implicit function theorem, without recorded iterations; or, if unrolled, through the iterations, with
 * the results of line searches held fixed. mo_newton_krylov: any F, by Newton steps with backtracking, whose systems
 * are factored or, beyond implicit.dense_limit, solved by conjugate gradients or GMRES; one step if F is linear. */
MO_API mo_tensor *mo_newton_krylov(
    mo_tape *t, mo_tensor *x0, mo_residual F, mo_tensor *const *theta, int n, const mo_solver_options *options);
/* The minimiser of a smooth f(x, theta) -> [..], one value per item. mo_lbfgs: over all x; mo_projected_gradient: over
 * x >= 0 whose last axis sums to 1. */
MO_API mo_tensor *mo_lbfgs(
    mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n, const mo_solver_options *options);
MO_API mo_tensor *mo_projected_gradient(
    mo_tape *t, mo_tensor *x0, mo_residual f, mo_tensor *const *theta, int n, const mo_solver_options *options);
/* For every row of V [.., m], the nearest point of the simplex {x >= 0, sum x = 1}. */
MO_API mo_tensor *mo_simplex_project(mo_tape *t, mo_tensor *V);

#endif
