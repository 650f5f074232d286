/* ops/fits/adamw.h - one step of AdamW on parameters that outlive the tape (library internal).
 *
 * Values that change from step to step lie on the device, so that a step can be recorded and replayed. The calls queue
 * work, wait for nothing and do nothing in the error state. */
#ifndef MO_ADAMW_H
#define MO_ADAMW_H

#include "tensor/storage.h"

/* The norm of n gradients of one type, each contiguous: squares [n] = |G[i]|^2, the order of each sum fixed by its
 * shape alone, and scale = [|g|, min(1, bound / (|g| + 1e-6))], or 1 for a bound of 0; |g|^2 is the sum of squares.
 * Both are float64. views: scratch [n]. */
void mo_gradient_norm(double bound, mo_tensor *const *G, int n, mo_view *views, mo_tensor *squares, mo_tensor *scale);

/* n parameters of one type, contiguous, with their gradients and moments. */
typedef struct mo_adamw_update {
    int n;
    mo_tensor *const *gradient, *const *m, *const *v, *const *parameter;
    const mo_tensor *factors; /* float64 [MO_ADAMW_FACTORS] (tensor/backend.h) */
    const mo_tensor *scale;   /* of mo_gradient_norm: the gradient is multiplied by scale[1] */
    mo_view *views;           /* scratch [4, n] */
} mo_adamw_update;

/* Changes moments and parameters in place; does nothing if an earlier check has failed. */
void mo_adamw_apply(const mo_adamw_update *u);

#endif
