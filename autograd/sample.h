/* autograd/sample.h - drawing the inputs that an op declares as samples (library internal). */
#ifndef MO_SAMPLE_H
#define MO_SAMPLE_H

#include "autograd/inside.h"

typedef enum mo_draw {
    MO_DRAW_NORMAL,
    MO_DRAW_POSITIVE,
    MO_DRAW_DISTINCT,
    MO_DRAW_SPD,
    MO_DRAW_SYMMETRIC,
    MO_DRAW_TRIANGULAR,
    MO_DRAW_GENERAL,
    MO_DRAW_INDEX, /* draws from here on are not differentiated */
    MO_DRAW_SORTED,
    MO_DRAW_MASK,
    MO_DRAW_CONSTANT
} mo_draw;

/* One word of a sample's inputs: "index<7>[3, 2]". */
typedef struct mo_sample_input {
    mo_draw draw;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t limit;
} mo_sample_input;

/* Reads the inputs of a sample. Returns their number, or -1 after an error that names op and sample. */
int mo_sample_inputs(
    mo_context *ctx, const mo_op *op, const mo_sample *sample, mo_sample_input in[MO_MAX_SAMPLE_INPUTS]);
/* Counts of a descriptor, with its defaults filled in: its samples that compute (those that must fail are not counted),
 * its least and most inputs, its outputs. */
int mo_n_samples(const mo_op *op);
int mo_op_least_inputs(const mo_op *op);
int mo_op_most_inputs(const mo_op *op);
int mo_op_outputs(const mo_op *op);

/* Makes a leaf as the sample describes it: of dtype `real` unless it is drawn as integers, and declared to need a
 * gradient if its draw is differentiable. Release with mo_tensor_release. Returns the null tensor on failure. */
mo_tensor *mo_sample_tensor(mo_context *ctx, const mo_sample_input *input, mo_dtype real, mo_random *r);
bool mo_draw_is_differentiable(mo_draw draw);
/* Fills n values with a direction of unit length that keeps the input in its set (symmetric, triangular). */
void mo_sample_direction(const mo_sample_input *input, mo_random *r, double *values, int64_t n);

#endif
