/* train/run/optimizer.h - the fields of an optimizer, which checkpoints save and restore (library internal). */
#ifndef MO_OPTIMIZER_H
#define MO_OPTIMIZER_H

#include "tensor/objects.h"
#include "train/inside.h"

struct mo_optimizer {
    mo_context *ctx;
    const char *method; /* "adamw" or "sgd", as errors name it */
    bool sgd;           /* options.beta1 is the momentum, and the second moments stay 0 */
    mo_adamw_options options;
    int n;
    int64_t step; /* steps taken */
    mo_tensor **parameter;
    mo_tensor **m, **v;   /* first and second moments, owned */
    mo_tensor **dense;    /* a row-major copy of each gradient that has other strides, made when first needed */
    mo_tensor **gradient; /* [n]: the gradients of a step, row-major; borrowed */
    mo_dtype real;
    mo_tensor *squares; /* float64 [n]: the sum of squares of each gradient */
    mo_tensor *scale;   /* float64 [2]: norm and clip factor of the last step */
    mo_tensor *factors; /* the step's factors, as kernels read them: float64 [MO_ADAMW_FACTORS] */
    mo_view *views;     /* [4, n]: gradients, m, v, parameters of a step */
};

/* The gradient norm of the last applied step; waits for the step. Returns the status. */
mo_code mo_optimizer_norm(mo_optimizer *o, double *norm);

#endif
