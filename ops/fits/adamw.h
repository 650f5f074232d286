/* ops/fits/adamw.h - one step of AdamW on parameters that outlive the tape (library internal).
 *
 * Values that change from step to step lie on the device, so that a step can be captured and replayed. The functions
 * queue work and do not wait; in the error state they do nothing. */
#ifndef MO_ADAMW_H
#define MO_ADAMW_H

#include "tensor/objects.h"

/* The norm of n contiguous gradients of one dtype: squares [n] = |G[i]|^2, each summed in an order fixed by its shape;
 * scale = [|g|, min(1, bound / (|g| + 1e-6))], where |g|^2 is the sum of squares; scale[1] is 1 if bound is 0. squares
 * and scale are float64. views: workspace for n views. */
void mo_gradient_norm(double bound, mo_tensor *const *G, int n, mo_view *views, mo_tensor *squares, mo_tensor *scale);

/* n contiguous parameters of one dtype, with their gradients and moments. */
typedef struct mo_adamw_update {
    int n;
    mo_tensor *const *gradient, *const *m, *const *v, *const *parameter;
    const mo_tensor *factors; /* float64 [MO_ADAMW_FACTORS] (tensor/backend.h) */
    const mo_tensor *scale;   /* from mo_gradient_norm: multiplies the gradient by scale[1] */
    mo_view *views;           /* scratch [4, n] */
} mo_adamw_update;

/* Updates moments and parameters in place; does nothing if an earlier check has failed. */
void mo_adamw_apply(const mo_adamw_update *u);

#endif
