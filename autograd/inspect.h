/* autograd/inspect.h - looking at ops and tapes: derivatives against differences, the recorded graph, the first NaN,
 * the time spent. Part of autograd/autograd.h, which includes it. */
#ifndef MO_INSPECT_H
#define MO_INSPECT_H

#include "autograd/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checker ---- */

typedef struct mo_check_result {
    int samples;  /* samples compared */
    double error; /* the largest relative error of a directional derivative */
    bool pass;
    char worst[256]; /* sample, input and values at the largest error, or the reason of a failure */
} mo_check_result;

/* Compares <Y_bar, J v> with <J^T Y_bar, v> by central differences in float64 on every sample of the op, along random
 * directions. order 1: the vjp; order 2: the vjp of the vjp. An op without samples fails. Tolerance 1e-6 (order 1),
 * 1e-5 (order 2). */
MO_API mo_check_result mo_check_op(mo_context *ctx, const mo_op *op, int order, uint64_t seed);

/* A function of tensors as graph code: writes n_out outputs for n_in inputs. */
typedef void (*mo_function)(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state);

/* Checks any graph code in the same way: the inputs with mo_require_grad are float64 leaves, perturbed freely; the
 * other inputs are held fixed. */
MO_API mo_check_result mo_check_function(mo_context *ctx, mo_function f, void *state, mo_tensor *const *in, int n_in,
    int n_out, int order, double tolerance, uint64_t seed);

/* ---- the recorded graph, the first NaN, the time spent ---- */

/* Takes a piece of text, borrowed for the call: the library itself never prints. */
typedef void (*mo_write)(const char *text, void *state);

typedef enum mo_print_format { MO_PRINT_TEXT = 0, MO_PRINT_DOT } mo_print_format;

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
} mo_print_options;

/* Writes the recorded graph, oldest node first: every node with its inputs, shapes and dtypes, as lines of text or for
 * graphviz; options may be NULL (text). Works in the error state too. Returns the status. */
MO_API mo_code mo_tape_print(const mo_tape *t, const mo_print_options *options, mo_write write, void *state);

/* Anomaly mode, off at first: an op whose result holds a NaN or an infinity raises MO_NUMERICAL. The message names op,
 * forward or backward, the rule that called it, output, index and value, and says so if an input already held one.
 * Every result is read once more. */
MO_API void mo_tape_set_anomaly(mo_tape *t, bool on);

/* One op at one place (forward, or the rule that calls it): its calls since mo_profile_start, and their cost. */
typedef struct mo_profile_entry {
    const mo_op *op;
    bool backward;
    const mo_op *vjp_of; /* the op whose rule called it; NULL: forward, or the sum of contributions to a gradient */
    int64_t calls;
    double seconds;      /* checks, execution and recording, without the ops that it called itself */
    double flops, bytes; /* bytes of its inputs and outputs; 0 for views */
} mo_profile_entry;

/* Counts the ops of every tape of the context from now on, starting at zero. While profiling is off, it costs an op one
 * test. Returns the status. */
MO_API mo_code mo_profile_start(mo_context *ctx);
MO_API void mo_profile_stop(mo_context *ctx);
/* Writes the first `capacity` entries, forward before backward, slowest first; returns the number of entries. */
MO_API int mo_profile_entries(const mo_context *ctx, mo_profile_entry *entries, int capacity);
/* Seconds between start and stop (or until now). */
MO_API double mo_profile_seconds(const mo_context *ctx);
/* Writes the entries as a table, each with the share of gemm_rate (FLOP/s; 0: unknown) that it reaches. */
MO_API void mo_profile_report(const mo_context *ctx, double gemm_rate, mo_write write, void *state);

#ifdef __cplusplus
}
#endif
#endif
