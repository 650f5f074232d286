/* autograd/autograd.h - the tape, gradients, gradients of gradients and the checker of both.
 *
 * Define by run: an op executes when it is called. In mode MO_RECORD it also leaves a node if an input needs a
 * gradient. The tape owns an arena: mo_tape_reset frees everything made on the tape at once. vjps (vector-Jacobian
 * products) are written with ops, so backward itself can be recorded and differentiated. The engine calls only one op
 * of its own, the sum of contributions to a gradient. */
#ifndef MO_AUTOGRAD_H
#define MO_AUTOGRAD_H

#include "tensor/tensor.h"

typedef struct mo_tape mo_tape;
typedef struct mo_op mo_op;

typedef enum mo_mode { MO_RECORD = 0, MO_EVAL } mo_mode;

/* ---- tape ---- */

MO_API mo_tape *mo_tape_create(mo_context *ctx, mo_mode mode); /* to be released before the context */
/* Frees every tensor, node and gradient made on the tape; keeps its memory for the next use. Never clears an error.
 * Until the reset after this one (in a context with .debug, for good), reading a freed tensor or passing it to an op
 * raises MO_STATE. Both calls raise MO_STATE, and free nothing, in a function that runs on the tape (a forward, a vjp,
 * a residual); if that was left by a jump or a C++ exception, mo_tape_reset makes the tape usable again. */
MO_API void mo_tape_reset(mo_tape *t);
MO_API void mo_tape_release(mo_tape *t);
MO_API void mo_tape_set_mode(mo_tape *t, mo_mode mode);
MO_API mo_context *mo_tape_context(const mo_tape *t); /* NULL if t is NULL */
/* Until the next such call, errors of the context name this line; an error about a tensor names the line that made it.
 * file must outlive the context; NULL: no line. Returns t: mo_add(MO_HERE(t), A, B) names its line. */
MO_API mo_tape *mo_tape_at(mo_tape *t, const char *file, int line);
#define MO_HERE(t) mo_tape_at((t), __FILE__, __LINE__)
/* Anomaly mode, off at first: an op whose result holds a NaN or an infinity raises MO_NUMERICAL, which names op, pass,
 * rule, output, index and value, and says whether an input held one. It costs one more read of every result. */
MO_API void mo_tape_set_anomaly(mo_tape *t, bool on);

/* Draws the recorded graph as a file for graphviz (dot -Tsvg): shapes, small values, sections, gradients, and which
 * values backward has freed. Before mo_backward the file shows the gradients of the newest scalar in every value,
 * afterwards those of the leaves. The tape does not change. Works in the error state too, and keeps the error. */
MO_API mo_code mo_tape_dot(mo_tape *t, const char *path);
/* These four make tensors of the tape: uninitialised, a scalar, filled with value, copied from row-major host memory.
 * The tensors have no gradient; to differentiate with respect to one, make it a leaf by mo_require_grad. */
MO_API mo_tensor *mo_tape_tensor(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape);
MO_API mo_tensor *mo_scalar(mo_tape *t, mo_dtype dtype, double value);
MO_API mo_tensor *mo_full(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, double value);
MO_API mo_tensor *mo_from(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, const void *host);
/* Returns a view of X that is a constant: no gradient flows through it. */
MO_API mo_tensor *mo_stop_gradient(mo_tape *t, mo_tensor *X);
/* Keeps a tape's tensor readable after backward, which otherwise releases the values it has consumed. Returns X. */
MO_API mo_tensor *mo_keep(mo_tensor *X);

/* A position on the tape and the tape's mode there, so that a loop can free what each iteration made. Scopes nest. */
typedef struct mo_scope {
    const mo_tape *tape; /* NULL: opened on a NULL or released tape */
    uint64_t reset;      /* the number of the tape's resets before */
    mo_mode mode;
    bool recording;
    int64_t tensors, nodes, slots;
    void *block;
    size_t used;
} mo_scope;

MO_API mo_scope mo_scope_open(mo_tape *t);
/* Frees every tensor and node made on the tape since the scope was opened, except the n tensors in keep, which become
 * constants, and restores the mode. A loop that closes one scope many times uses constant memory. Raises MO_STATE for a
 * scope of another tape, of before the last reset, or of outside the function that is running on the tape. */
MO_API void mo_scope_close(mo_tape *t, const mo_scope *scope, mo_tensor *const *keep, int n);

/* ---- leaves ---- */

/* Returns a named, zeroed leaf that needs a gradient and outlives tapes. Release with mo_tensor_release. */
MO_API mo_tensor *mo_parameter(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape);
MO_API const char *mo_tensor_name(const mo_tensor *X); /* "" if it has none */
/* Declares that a leaf (a tensor of no tape) or a fresh constant of a tape needs a gradient. Returns X. */
MO_API mo_tensor *mo_require_grad(mo_tensor *X);
/* Returns a leaf's gradient, summed by mo_backward since mo_zero_grad; borrowed; NULL if backward did not reach it. */
MO_API mo_tensor *mo_grad_of(const mo_tensor *leaf);
MO_API void mo_zero_grad(mo_tensor *leaf);

/* ---- gradients ---- */

typedef enum mo_grad_flags {
    MO_CREATE_GRAPH = 1, /* record the ops of backward, to differentiate the gradients; implies MO_RETAIN */
    MO_RETAIN = 2,       /* keep saved tensors: backward can run again over the same nodes */
    MO_ALLOW_UNUSED = 4  /* zeros instead of an error if no output depends on a tensor that needs a gradient */
} mo_grad_flags;

/* Adds the gradient of the scalar loss to every leaf that needs one. Saved tensors, gradients and intermediate values
 * are released as soon as they are consumed (except those marked by mo_keep). */
MO_API mo_code mo_backward(mo_tape *t, mo_tensor *loss);
/* grads[j] = sum_i <gs[i], d ys[i] / d xs[j]>: tensors of the tape, zero if no path leads from xs[j] to a y. gs may be
 * NULL (all ones) or hold NULLs; flags: mo_grad_flags. If no y depends on anything that needs a gradient (the ys are
 * data, or gradients taken without MO_CREATE_GRAPH), mo_grad raises MO_INVALID unless MO_ALLOW_UNUSED is given. The
 * vjps of nodes that do not depend on xs do not run. */
MO_API mo_code mo_grad(mo_tape *t, mo_tensor *const *ys, mo_tensor *const *gs, int ny, mo_tensor *const *xs,
    mo_tensor **grads, int nx, unsigned flags);
/* mo_grad for the common case: the gradients of one scalar loss with respect to n tensors, with gs NULL and flags 0. */
MO_API mo_code mo_gradients(mo_tape *t, mo_tensor *loss, mo_tensor *const *xs, mo_tensor **grads, int n);

/* Jacobian-vector product: tangents[i] = sum_j (d ys[i] / d xs[j]) vs[j], the exact derivative of ys when xs moves in
 * the direction vs; vs[j] has the shape and dtype of xs[j]. The tangents are tensors of the tape, zero if no path leads
 * from xs to ys[i]. Two reverse sweeps compute them, the second over the first, so every op works; the recorded graph
 * does not change. flags: MO_CREATE_GRAPH, so that the tangents can be differentiated; MO_ALLOW_UNUSED as in mo_grad,
 * and to allow xs that need no gradient. If the ys are recorded gradients, this is the product with the Hessian. */
MO_API mo_code mo_jvp(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor *const *vs, int nx,
    mo_tensor **tangents, unsigned flags);

/* ---- checker: derivatives against central differences in float64 ---- */

typedef struct mo_check_result {
    int samples;  /* samples compared */
    double error; /* relative; the one that exceeds its tolerance most, or comes nearest; infinite after a failure */
    bool pass;
    char worst[256]; /* sample, input and values at the largest error, or the reason of a failure */
} mo_check_result;

/* A function of tensors as graph code: writes n_out outputs for n_in inputs. */
typedef void (*mo_function)(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state);
/* Checks any graph code as mo_check_op checks an op: the inputs with mo_require_grad are float64 leaves, whose entries
 * are perturbed; the other inputs are held fixed. The check is repeated at inputs near the given ones, moved by about
 * a thousandth of their size. At order 2 the first derivatives must match to a tenth of the tolerance. Fails if no
 * input needs a gradient. f is called many times, also on batches (inputs [2, ..] for [..]), for which it may raise an
 * error. */
MO_API mo_check_result mo_check_function(mo_context *ctx, mo_function f, void *state, mo_tensor *const *in, int n_in,
    int n_out, int order, double tolerance, uint64_t seed);

#endif
