/* autograd/inspect.h - the recorded graph as text, and the time spent in each op. The header promises nothing: any
 * release may change it. */
#ifndef MO_INSPECT_H
#define MO_INSPECT_H

#include "autograd/autograd.h"

/* Takes a piece of text, borrowed for the call: the library itself never prints. */
typedef void (*mo_write)(const char *text, void *state);

typedef enum mo_print_format {
    MO_PRINT_TEXT = 0,
    MO_PRINT_DOT,
    MO_PRINT_JSON, /* `graph` of the metadata of a .tape file (print.c), on one line */
    MO_PRINT_TAPE  /* mo_tape_write alone: a safetensors file whose metadata hold the graph (print.c) */
} mo_print_format;

/* A name for a tensor in a printed graph: "loss", "gradient of W". */
typedef struct mo_label {
    const char *text;
    const mo_tensor *tensor;
} mo_label;

typedef struct mo_print_options {
    mo_print_format format;
    int64_t values; /* tensors with at most this number of elements are printed with their values; 0: none */
    int n_labels;
    const mo_label *labels;
    bool no_gradients; /* mo_tape_write leaves gradients out; otherwise it shows them, as mo_tape_dot does */
} mo_print_options;

/* Writes the recorded graph, oldest node first: every node with its inputs, shapes and dtypes, as lines of text or for
 * graphviz; options may be NULL (text). Works in the error state too. Returns the status. */
MO_API mo_code mo_tape_print(const mo_tape *t, const mo_print_options *options, mo_write write, void *state);
/* mo_tape_print into a file, in any format, with gradients unless options->no_gradients. Returns the status. */
MO_API mo_code mo_tape_write(mo_tape *t, const mo_print_options *options, const char *path);

/* One op at one place: in forward, or called by the rule (vjp) of one op. The counts start at mo_profile_start. */
typedef struct mo_profile_entry {
    const mo_op *op;
    bool backward;
    const mo_op *vjp_of; /* the op whose rule called it; NULL: forward, or the sum of contributions to a gradient */
    bool adjoint;        /* the adjoint of the op, instead of its forward; vjp_of is the same op */
    int64_t calls;
    double seconds;      /* time of checks, execution and recording, without the ops that it called itself */
    double flops, bytes; /* bytes of its inputs and outputs; 0 for views */
} mo_profile_entry;

/* Counts the ops of all tapes of the context, from zero; while off, it costs an op one test. Returns the status. */
MO_API mo_code mo_profile_start(mo_context *ctx);
MO_API void mo_profile_stop(mo_context *ctx);
/* Writes the first `capacity` entries, forward before backward, slowest first; returns the number of entries. */
MO_API int mo_profile_entries(const mo_context *ctx, mo_profile_entry *entries, int capacity);
/* Seconds between start and stop (or until now). */
MO_API double mo_profile_seconds(const mo_context *ctx);

#endif
