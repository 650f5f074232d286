/* autograd/autograd.h - the tape, gradients, gradients of gradients, the checker of both, and ops of one's own.
 *
 * Define by run: an op executes when it is called. In mode MO_RECORD it also leaves a node if an input needs a
 * gradient. The tape owns an arena: mo_tape_reset frees everything made on the tape at once. vjps (vector-Jacobian
 * products) are written with ops, so what backward does can itself be recorded and differentiated. The engine calls one
 * op itself: the sum of contributions. */
#ifndef MO_AUTOGRAD_H
#define MO_AUTOGRAD_H

#include "tensor/tensor.h"

typedef struct mo_tape mo_tape;
typedef struct mo_op mo_op;

typedef enum mo_mode { MO_RECORD = 0, MO_EVAL } mo_mode;

/* ---- tape ---- */

/* Makes a tape of that context. Returns NULL only when out of memory. */
MO_API mo_tape *mo_tape_create(mo_context *ctx, mo_mode mode);
/* Frees every tensor, node and gradient made on the tape; keeps its memory for the next use. Never clears an error. Up
 * to the reset after this one (in a context with .debug, for good), a tensor that it freed is known for that: reading
 * it, or an op of it, raises MO_STATE. */
MO_API void mo_tape_reset(mo_tape *t);
MO_API void mo_tape_release(mo_tape *t);
MO_API void mo_tape_set_mode(mo_tape *t, mo_mode mode);
MO_API mo_context *mo_tape_context(const mo_tape *t);
/* Says where the caller is: until the next such call, errors of the context and of the tensors made now name the line.
 * file must outlive the context; NULL: the line is unknown again. Returns t, so that mo_add(MO_HERE(t), A, B) names its
 * line. */
MO_API mo_tape *mo_tape_at(mo_tape *t, const char *file, int line);
#define MO_HERE(t) mo_tape_at((t), __FILE__, __LINE__)
/* Anomaly mode, off at first: an op whose result holds a NaN or an infinity raises MO_NUMERICAL. The message names op,
 * forward or backward, the rule that called it, output, index and value, and says so if an input already held one.
 * Every result is read once more. */
MO_API void mo_tape_set_anomaly(mo_tape *t, bool on);

/* Draws the recorded graph as a file for graphviz (dot -Tsvg): shapes, the elements of small values, sections, what
 * backward has freed, and gradients. Where the graph still holds its values (before mo_backward), these are the
 * gradients of the newest scalar in every value; after it, those of the leaves. The tape stays as it was; an error that
 * stands in the context is no obstacle, and stays. Returns the status. */
MO_API mo_code mo_tape_dot(mo_tape *t, const char *path);
/* Names what is recorded from now on, "encoder", "head" (copied; NULL: no name), up to the reset. Returns the name
 * before, so that sections nest. In MO_EVAL it has no effect. */
MO_API const char *mo_tape_section(mo_tape *t, const char *name);

/* Tensors of the tape: uninitialised; a scalar; filled with value; copied from row-major host memory. They have no
 * gradient; to differentiate in one, make it a leaf. */
MO_API mo_tensor *mo_tape_tensor(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape);
MO_API mo_tensor *mo_scalar(mo_tape *t, mo_dtype dtype, double value);
MO_API mo_tensor *mo_full(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, double value);
MO_API mo_tensor *mo_from(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape, const void *host);
/* X as data: no gradient flows through the result. A view. */
MO_API mo_tensor *mo_stop_gradient(mo_tape *t, mo_tensor *X);
/* Keeps the value of a tape's tensor readable after backward; without it, backward releases the values it has consumed.
 * Returns X. */
MO_API mo_tensor *mo_keep(mo_tensor *X);

/* A position on the tape and the mode it was in, for iterations that leave nothing behind. Scopes nest. */
typedef struct mo_scope {
    mo_mode mode;
    bool recording;
    int64_t tensors, nodes, slots;
    void *block;
    size_t used;
} mo_scope;

MO_API mo_scope mo_scope_open(mo_tape *t);
/* Frees every tensor and node made on the tape since the scope was opened, but the n tensors in keep: they become
 * constants. The mode is restored. A scope can be closed many times: a loop that keeps its state uses constant memory.
 */
MO_API void mo_scope_close(mo_tape *t, const mo_scope *scope, mo_tensor *const *keep, int n);

/* ---- leaves ---- */

/* A named, zeroed leaf that needs a gradient; it outlives tapes and owns its gradient buffer. Release with
 * mo_tensor_release. */
MO_API mo_tensor *mo_parameter(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape);
MO_API const char *mo_tensor_name(const mo_tensor *X); /* "" if it has none */
/* Declares that a leaf (a tensor of no tape) or a fresh constant of a tape needs a gradient. Returns X. */
MO_API mo_tensor *mo_require_grad(mo_tensor *X);
/* A leaf's gradient, accumulated by mo_backward since mo_zero_grad; borrowed; NULL if backward has not reached it. */
MO_API mo_tensor *mo_grad_of(const mo_tensor *leaf);
MO_API void mo_zero_grad(mo_tensor *leaf);

/* ---- gradients ---- */

typedef enum mo_grad_flags {
    MO_CREATE_GRAPH = 1, /* record what backward does, so that the gradients can be differentiated; implies MO_RETAIN */
    MO_RETAIN = 2,       /* keep saved tensors: backward can run again over the same nodes */
    MO_ALLOW_UNUSED = 4  /* outputs that depend on nothing that needs a gradient are no error: zeros */
} mo_grad_flags;

/* Adds the gradient of the scalar loss to every leaf that needs one. Saved tensors, gradients and intermediate values
 * are released as soon as they are consumed (except those marked by mo_keep). Returns the status. */
MO_API mo_code mo_backward(mo_tape *t, mo_tensor *loss);
/* grads[j] = sum_i <gs[i], d ys[i] / d xs[j]>: tensors of the tape, zero if no path leads from xs[j] to a y. gs may be
 * NULL (all ones) or hold NULLs; flags: mo_grad_flags. If no y depends on anything that needs a gradient (it is data
 * alone, or a gradient taken without MO_CREATE_GRAPH), it raises MO_INVALID unless MO_ALLOW_UNUSED is given. Nodes that
 * do not depend on xs cost nothing. Returns the status. */
MO_API mo_code mo_grad(mo_tape *t, mo_tensor *const *ys, mo_tensor *const *gs, int ny, mo_tensor *const *xs,
    mo_tensor **grads, int nx, unsigned flags);
/* The same for one scalar loss and n tensors, the common case: no other weights, no flags. */
MO_API mo_code mo_gradients(mo_tape *t, mo_tensor *loss, mo_tensor *const *xs, mo_tensor **grads, int n);

/* Jacobian-vector product: tangents[i] = sum_j (d ys[i] / d xs[j]) vs[j], the exact derivative of ys where xs moves in
 * the direction vs; vs[j] has the shape and dtype of xs[j]. Tensors of the tape, zero if no path leads from xs to
 * ys[i]. Two reverse sweeps, the second over the first; so it works through every op, and the recorded graph stays as
 * it was. flags: MO_CREATE_GRAPH, so that the tangents can be differentiated; MO_ALLOW_UNUSED, as for mo_grad, and for
 * inputs that need no gradient. With ys = gradients taken with MO_CREATE_GRAPH it is the product with the Hessian.
 * Returns the status. */
MO_API mo_code mo_jvp(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor *const *vs, int nx,
    mo_tensor **tangents, unsigned flags);

/* ---- checker: derivatives against central differences in float64 ---- */

typedef struct mo_check_result {
    int samples;  /* samples compared */
    double error; /* the largest relative error of a directional derivative */
    bool pass;
    char worst[256]; /* sample, input and values at the largest error, or the reason of a failure */
} mo_check_result;

/* Compares <Y_bar, J v> with <J^T Y_bar, v> on the samples of the op. order 1: the vjp, by differences, to 1e-6; 2:
 * order 1, then the vjp of the vjp, to 1e-5; 0: the certificate alone, J v by mo_jvp, to 1e-10, blind to a wrong J. The
 * gradient must also be the same where fewer inputs need one, where an output has no cotangent, after a change in place
 * of what reads_in and reads_out do not name, and to 1e-3 in float32; and right for two inputs in a batch where the op
 * computes that. An op without samples fails, and one of whose samples no input is differentiated. */
MO_API mo_check_result mo_check_op(mo_context *ctx, const mo_op *op, int order, uint64_t seed);

/* A function of tensors as graph code: writes n_out outputs for n_in inputs. */
typedef void (*mo_function)(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state);
/* Checks any graph code in the same way: the inputs with mo_require_grad are float64 leaves, perturbed freely; the
 * other inputs are held fixed. It is also checked near the given inputs, with a thousandth of their size added. At
 * order 2 the first derivatives must hold to a tenth of the tolerance. Fails if no input needs a gradient. f is called
 * often, also with inputs [2, ..] in the place of [..]: there it may raise an error. */
MO_API mo_check_result mo_check_function(mo_context *ctx, mo_function f, void *state, mo_tensor *const *in, int n_in,
    int n_out, int order, double tolerance, uint64_t seed);

/* ---- ops of one's own: one descriptor each ---- */

enum { MO_MAX_INPUTS = 40, MO_MAX_SAMPLE_INPUTS = 16, MO_MAX_OUTPUTS = 4, MO_MAX_SAVED = 4, MO_MAX_ATTRIBUTES = 1024 };

/* One execution of an op, as its functions see it. */
typedef struct mo_call {
    mo_tape *t;
    mo_context *ctx;
    const mo_op *op;
    int n_in, n_out, n_saved;
    mo_tensor *in[MO_MAX_INPUTS];
    mo_tensor *out[MO_MAX_OUTPUTS];
    mo_tensor *saved[MO_MAX_SAVED]; /* by-products kept for the vjp; not differentiable */
    const void *attributes;         /* the options given to mo_apply */
} mo_call;

/* What a vjp reads and fills. out_bar[i] is NULL if no gradient arrived. For every i with needs[i] the rule sets
 * in_bar[i], or leaves it NULL for zero. The engine adds contributions, the rule never does. A rule may differentiate
 * graph code itself: mo_tape_set_mode(t, MO_RECORD) holds until the rule returns. It then calls mo_grad for tensors of
 * its own (in[i] passed through an op), with MO_CREATE_GRAPH so that its result can be differentiated too. */
typedef struct mo_vjp {
    mo_tape *t;
    const mo_op *op;
    int n_in, n_out;
    mo_tensor *const *in, *const *out, *const *saved;
    mo_tensor *const *out_bar;
    const bool *needs;
    const void *attributes;
    mo_tensor **in_bar;
    bool create_graph; /* what the rule does is recorded */
    int n_saved;
} mo_vjp;

/* Inputs and options that exercise an op, or that it must refuse: those stand last. The suite tries by itself an input
 * of integers, sizes of 0 and 1, strides and threads. `in` has a word for each input, its shape behind how it is drawn:
 *   "[3, 4]"          standard normal, at least 1e-2 away from 0;    "[]" a scalar
 *   "positive[3]"     uniform in [0.5, 2]
 *   "distinct[3]"     a shuffled grid with gaps of 0.1: no ties, no kinks; distinct<k>: moved by k / 100
 *   "spd[4, 4]"       symmetric positive definite, condition below 100; perturbed symmetrically
 *   "symmetric[4, 4]" with distinct eigenvalues; perturbed symmetrically
 *   "triangular[4, 4]" lower, well conditioned; perturbed inside the triangle
 *   "general[4, 4]"   well conditioned, not symmetric
 * and, not differentiated, "index<n>[3]", int64 in 0 .. n - 1; "sorted<n>[3]", int64 offsets rising from 0 to n;
 * "mask[3]", uint8 zeros and ones; "constant[3]", standard normal. */
typedef struct mo_sample {
    const char *name;
    const char *in;
    const void *attributes; /* NULL: zeros */
    /* Where set: builds run-time attributes into a buffer of attributes_size bytes (at most 256); finish undoes it. */
    void (*prepare)(mo_context *ctx, mo_dtype real, void *attributes);
    void (*finish)(mo_context *ctx, void *attributes);
    const char *error; /* NULL: the op computes. Else it must fail with a message that has this part */
    mo_code code;      /* and with this code; 0: MO_INVALID */
} mo_sample;

#define MO_SAMPLES(array) .samples = array, .n_samples = sizeof array / sizeof *array

struct mo_op {
    const char *name;
    const void *state;      /* for the op's own functions: what tells it from others that share them */
    int n_in, max_in;       /* inputs: n_in, or n_in to max_in if that is set; 0: one */
    int n_out;              /* outputs; 0: one */
    size_t attributes_size; /* bytes of the options struct, at most MO_MAX_ATTRIBUTES, copied into the node */
    uint64_t reads_in;      /* bit i: the vjp reads the value of input i */
    unsigned reads_out;     /* bit i: the vjp reads the value of output i */
    bool is_view;           /* outputs share the storage of input 0 and are made by forward itself */
    /* The only validator: raises errors that say expected and got, declares outputs with mo_call_output. NULL: inputs
     * of one real dtype and one shape, which the output has. */
    bool (*shape)(mo_call *c);
    /* Computes the outputs (already allocated, contiguous); saves by-products with mo_call_save. It may run graph code
     * and take gradients itself (mo_tape_set_mode(t, MO_RECORD)); that graph is freed on return. */
    void (*forward)(mo_call *c);
    /* NULL: the op has no derivative (integer results); backward through it raises an error that names the op. */
    void (*vjp)(mo_vjp *v);
    /* FLOPs of one execution (a multiply-add counts 2), for the profiler; NULL: one per output element. */
    double (*flops)(const mo_call *c);
    const mo_sample *samples; /* MO_SAMPLES(array) */
    int n_samples;
};

#define MO_OP_ABI 4
/* The object that a shared library of ops exports under the name mo_ops. */
typedef struct mo_op_list {
    int abi;     /* MO_OP_ABI */
    size_t size; /* sizeof(mo_op) of the program that made it */
    int n;
    const mo_op *const *ops;
} mo_op_list;

/* Adds an op to the registry of the context (checker, profiler and printer find it there). The descriptor must outlive
 * the context. A second op of the same name, or one without samples, is an error. Returns the status. */
MO_API mo_code mo_register_op(mo_context *ctx, const mo_op *op);
/* Runs an op: checks, executes, records. Returns the single output, or the null tensor. attributes: of attributes_size
 * bytes; NULL: zeros. mo_apply_all writes several outputs to out[0 .. n_out-1] and returns the status. */
MO_API mo_tensor *mo_apply(mo_tape *t, const mo_op *op, mo_tensor *const *in, int n_in, const void *attributes);
MO_API mo_code mo_apply_all(
    mo_tape *t, const mo_op *op, mo_tensor *const *in, int n_in, const void *attributes, mo_tensor **out);

/* For shape functions: declares output i. Returns true, so that a shape function can end with it. */
MO_API bool mo_call_output(mo_call *c, int i, mo_dtype dtype, int ndim, const int64_t *shape);
/* Raises code for this call: "<op>: <text>; got [..] float32, [..] int64". Returns false. */
MO_API bool mo_call_fail(mo_call *c, mo_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Requires that inputs first..last have one common real dtype (raises otherwise). */
MO_API bool mo_call_real(mo_call *c, int first, int last);
/* For forward functions: input i as a contiguous view; a temporary copy if the input is not contiguous. */
MO_API mo_view mo_call_dense(mo_call *c, int i);
/* A buffer freed when forward returns. */
MO_API mo_tensor *mo_call_temporary(mo_call *c, mo_dtype dtype, int ndim, const int64_t *shape);
/* Returns whether the call will be recorded; by-products need saving only then. */
MO_API bool mo_call_recorded(const mo_call *c);
/* Keeps a by-product (made by mo_tape_tensor, or an input) for the vjp as saved[n_saved++]. */
MO_API void mo_call_save(mo_call *c, mo_tensor *T);
/* For view ops: a window onto input 0 as output 0; offset counts elements from the input's first. */
MO_API mo_tensor *mo_call_view(mo_call *c, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset);

#endif
