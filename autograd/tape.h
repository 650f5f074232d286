/* autograd/tape.h - the structs of a tape and a node (library internal). */
#ifndef MO_TAPE_H
#define MO_TAPE_H

#include "autograd/inside.h"
#include "tensor/arena.h"
#include "tensor/objects.h"

/* What a context keeps for the tapes on it. */
typedef struct mo_engine {
    const mo_op **ops; /* the registry, filled by ops/ and by users */
    int n_ops, capacity_ops;
    mo_tape *remains;           /* the tape that was released last; in debug mode the others follow by `older` */
    struct mo_profile *profile; /* in one block; NULL: profiling never started */
    bool profiling;
    const mo_arrays *expected_parameters; /* tensors of the file from which parameters will be read; NULL: none */
} mo_engine;
/* The engine of a context, made at the first call; NULL after raising MO_MEMORY. A tape's context has one. */
mo_engine *mo_engine_of(mo_context *ctx);
/* Frees released tapes with their marked headers, which were kept only to report a use after release. */
void mo_tape_free_remains(mo_tape *t);

/* One recorded execution. The arrays follow the node in the tape's arena `graph`. */
typedef struct mo_node {
    const mo_op *op;
    int n_in, n_out, n_saved;
    bool released;      /* backward has consumed it */
    int64_t index;      /* position in tape->nodes */
    int64_t first_slot; /* number of outputs recorded before this node: where the slots of its outputs start */
    mo_tensor **in, **out, **saved;
    uint64_t *version; /* storage version of every input and output at recording, inputs first */
    const void *attributes;
    const char *section;          /* NULL: none */
    const struct mo_node *vjp_of; /* the node whose rule recorded this node; NULL: forward */
} mo_node;

/* What the library is running on a tape, with functions of the caller's: an op, backward, a solver. */
typedef struct mo_running {
    const char *what;  /* NULL: nothing */
    const void *frame; /* of the library's function that runs it: frames of the functions that it calls lie below */
    mo_mode mode;      /* the tape's mode before; of the outermost, if one runs within another */
    int64_t tensors, nodes; /* on the tape before: they stay */
} mo_running;

struct mo_tape {
    mo_context *ctx;
    mo_mode mode;
    bool recording;         /* false in MO_EVAL and while a vjp runs without MO_CREATE_GRAPH */
    mo_arena *arena;        /* values, gradients, by-products */
    mo_host_arena *host;    /* headers */
    mo_host_arena *dead;    /* headers that the last reset freed: a use of one raises an error until the next reset */
    mo_host_arena *graph;   /* nodes */
    mo_host_arena *scratch; /* bookkeeping of one backward */
    mo_tensor **tensors;    /* every live header, in order of creation */
    int64_t n_tensors, capacity_tensors;
    mo_tensor *spare_headers; /* linked through `grad` */
    mo_node **nodes;
    int64_t n_nodes, capacity_nodes;
    int64_t n_slots;         /* number of outputs of all nodes */
    const mo_node *visiting; /* the node whose rule is running; NULL: forward */
    const char *section;     /* section of the next nodes, in `host` */
    mo_running running;
    uint64_t resets;
    bool anomaly;    /* check results for values that are not finite */
    bool released;   /* a released tape: every use raises an error */
    int64_t remains; /* bytes that a released tape still holds, which the context does not count */
    mo_tape *older;  /* the tape released before this one (debug mode) */
};

/* Returns whether the tape can be used. Returns false for NULL, without an error because there is no context, and for a
 * released tape, after raising MO_STATE. */
bool mo_tape_lives(const mo_tape *t, const char *what);
/* Notes that the library now runs `what`, from the frame __builtin_frame_address(0), and returns what it ran before,
 * which mo_tape_leave puts back. */
mo_running mo_tape_enter(mo_tape *t, const char *what, const void *frame);
void mo_tape_leave(mo_tape *t, const mo_running *outer);
/* Returns whether the running op has made T. */
bool mo_tape_made(const mo_tape *t, const mo_tensor *T);
/* Makes a header on the tape, without storage. Returns NULL on failure. */
mo_tensor *mo_tape_header(mo_tape *t, mo_dtype dtype, int ndim, const int64_t *shape);
/* Makes a header on the tape that is a window onto the storage of X; offset counts from X's first element. */
mo_tensor *mo_tape_window(
    mo_tape *t, const mo_tensor *X, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset);
/* Drops the reference of the header T to its storage. The header stays on the tape. */
void mo_tape_drop(mo_tensor *T);
/* Drops every header made since mark (a value of n_tensors) except the n in keep. */
void mo_tape_sweep(mo_tape *t, int64_t mark, mo_tensor *const *keep, int n);
/* Drops the nodes recorded since the scope was opened, which let go of their inputs; of a scope of zeros, all nodes. */
void mo_tape_drop_nodes(mo_tape *t, const mo_scope *scope);
/* Writes dtypes and shapes of the inputs of a call: "[8, 6, 6] float32, [8, 6, 2] float32". */
void mo_call_inputs(const mo_call *c, char *text, size_t bytes);
/* Returns whether an op has a name, a forward, and counts within their bounds; raises "<what>: .." if not. */
bool mo_check_op_form(mo_context *ctx, const char *what, const mo_op *op);
/* Records the call as a node. */
void mo_tape_record(mo_tape *t, const mo_call *c);
/* Returns whether each of the n tensors is a leaf or on the tape, and has its value; raises if not. `what` names the
 * tensors in the message: "output". */
bool mo_check_gradient_tensors(mo_tape *t, const char *what, mo_tensor *const *T, int n);
/* Returns whether ny and nx are 0 or more, and the lists with entries are not NULL; raises if not. */
bool mo_check_gradient_lists(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor **grads, int nx);
/* Returns whether an output needs a gradient, or flags have MO_ALLOW_UNUSED; raises if neither. Without such an output
 * every gradient is zero, usually by mistake: the loss depends on data alone, or on a gradient not recorded. */
bool mo_check_gradient_path(mo_tape *t, mo_tensor *const *ys, int ny, unsigned flags);
/* Returns whether the values that the vjp of a node reads are those that were recorded; raises if not. */
bool mo_check_recorded(mo_context *ctx, const mo_node *node);

/* A + B written over A, a gradient to which the caller holds the only reference. */
void mo_accumulate_in_place(mo_tape *t, mo_tensor *A, const mo_tensor *B);
extern const mo_op mo_op_accumulate; /* A + B, two contributions to one gradient: the only op of autograd/ */
/* Adds g to the gradient that the leaf owns; makes the gradient if there is none. */
void mo_leaf_add(mo_tape *t, mo_tensor *leaf, const mo_tensor *g);

#endif
