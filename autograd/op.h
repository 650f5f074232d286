/* autograd/op.h - defining an op, which is one descriptor (mo_op) in a program or in a shared object. */
#ifndef MO_OP_H
#define MO_OP_H

#include "autograd/autograd.h"

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

/* The inputs and results of a vjp. out_bar[i] is NULL if no gradient arrived. For every i with needs[i] the rule sets
 * in_bar[i], or leaves it NULL for zero. The engine adds contributions, the rule never does. A rule may differentiate
 * graph code itself: mo_tape_set_mode(t, MO_RECORD) holds until the rule returns. Such a rule calls mo_grad for tensors
 * of its own (in[i] passed through an op), with MO_CREATE_GRAPH so that its result can be differentiated too. */
typedef struct mo_vjp {
    mo_tape *t;
    const mo_op *op;
    int n_in, n_out;
    mo_tensor *const *in, *const *out, *const *saved;
    mo_tensor *const *out_bar;
    const bool *needs;
    const void *attributes;
    mo_tensor **in_bar;
    bool create_graph; /* the ops that the rule calls are recorded */
    int n_saved;
} mo_vjp;

/* Inputs and options that exercise an op; samples that the op must refuse stand last. The test suite itself adds
 * integer inputs, sizes 0 and 1, strides and threads. `in` has a word for each input: how its values are drawn, then
 * its shape.
 *   "[3, 4]"          standard normal, at least 1e-2 away from 0;    "[]" a scalar
 *   "positive[3]"     uniform in [0.5, 2]
 *   "distinct[3]"     a shuffled grid with gaps of 0.1: no ties, no kinks; distinct<k>: moved by k / 100
 *   "spd[4, 4]"       symmetric positive definite, condition below 100; perturbed symmetrically
 *   "symmetric[4, 4]" with distinct eigenvalues; perturbed symmetrically
 *   "triangular[4, 4]" lower, well conditioned; perturbed inside the triangle
 *   "general[4, 4]"   well conditioned, not symmetric
 * These inputs are not differentiated:
 *   "index<n>[3]"     int64 in 0 .. n - 1;    "sorted<n>[3]" int64 offsets rising from 0 to n
 *   "mask[3]"         uint8 zeros and ones;   "constant[3]" standard normal */
typedef struct mo_sample {
    const char *name;
    const char *in;
    const void *attributes; /* NULL: zeros */
    /* If set, builds run-time attributes into a buffer of attributes_size bytes; finish undoes it. */
    void (*prepare)(mo_context *ctx, mo_dtype real, void *attributes);
    void (*finish)(mo_context *ctx, void *attributes);
    const char *error; /* part of the error message with which the op must fail; NULL: the op must compute */
    mo_code code;      /* the error's code; 0: MO_INVALID */
} mo_sample;

#define MO_SAMPLES(array) .samples = array, .n_samples = sizeof array / sizeof *array

struct mo_op {
    const char *name;
    const void *state;      /* data for the op's functions, by which ops that share functions differ */
    int n_in, max_in;       /* number of inputs: n_in (0: 1), or n_in to max_in if max_in is set */
    int n_out;              /* number of outputs; 0: 1 */
    size_t attributes_size; /* bytes of the options struct, at most MO_MAX_ATTRIBUTES, copied into the node */
    uint64_t reads_in;      /* bit i: the vjp reads the value of input i */
    unsigned reads_out;     /* bit i: the vjp reads the value of output i */
    bool is_view;           /* outputs share the storage of input 0 and are made by forward itself */
    /* The only check of the inputs against the op's rules; declares outputs (mo_call_output). Errors name what was
     * expected and found. NULL: the inputs have one real dtype and one shape, the output's too. */
    bool (*shape)(mo_call *c);
    /* Computes the outputs (already allocated, contiguous); saves by-products with mo_call_save. It may run graph code
     * and take gradients itself (mo_tape_set_mode(t, MO_RECORD)); that graph is freed on return. */
    void (*forward)(mo_call *c);
    /* Written with ops: gradients have gradients. NULL: no derivative (argmax); backward raises an error. */
    void (*vjp)(mo_vjp *v);
    /* NULL, or the same gradients by kernels, where none is recorded: sets in_bar (mo_tape_tensor) and returns true, or
     * does nothing and returns false, whereupon vjp is called. */
    bool (*adjoint)(mo_vjp *v);
    /* FLOPs of one execution (a multiply-add counts 2), for the profiler; NULL: one per output element. */
    double (*flops)(const mo_call *c);
    const mo_sample *samples; /* MO_SAMPLES(array) */
    int n_samples;
};

#define MO_OP_ABI 5
/* The object that a shared library of ops exports under the name mo_ops. */
typedef struct mo_op_list {
    int abi;     /* MO_OP_ABI */
    size_t size; /* sizeof(mo_op) when the shared library was compiled */
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
/* Raises `code` with the message "<op>: <text>; got [..] float32, [..] int64", which lists the inputs. Returns
 * false. */
MO_API bool mo_call_fail(mo_call *c, mo_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Requires that inputs first..last have one common real dtype (raises otherwise). */
MO_API bool mo_call_real(mo_call *c, int first, int last);
/* For forward functions: input i as a contiguous view; a temporary copy if the input is not contiguous. */
MO_API mo_view mo_call_dense(mo_call *c, int i);
/* Keeps a by-product (made by mo_tape_tensor, or an input) for the vjp as saved[n_saved++]. */
MO_API void mo_call_save(mo_call *c, mo_tensor *T);

/* Checks an op's vjp on its samples. Order 1 checks it against differences, to 1e-6; order 2 also the vjp of the vjp,
 * to 1e-5. Order 0 checks that <Y_bar, J v> = <J^T Y_bar, v> to 1e-10, with J v from mo_jvp; this cannot detect a vjp
 * of a wrong J. At orders 1 and 2 the gradient must also stay the same if fewer inputs need a gradient, if an output
 * has no cotangent, after a change in place of values that reads_in and reads_out do not name, and to 1e-3 in float32;
 * and it must be right for two inputs in a batch if the op takes a batch. An op without samples fails, and so does an
 * op whose samples differentiate no input; an op without a vjp passes. */
MO_API mo_check_result mo_check_op(mo_context *ctx, const mo_op *op, int order, uint64_t seed);

#endif
