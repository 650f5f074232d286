/* ops/adamw.h - one step of AdamW on parameters that outlive the tape (library internal).
 *
 * What changes from step to step lies on the device, so that a step can be recorded and replayed. The calls queue work,
 * wait for nothing and do nothing in the error state. */
#ifndef MO_ADAMW_H
#define MO_ADAMW_H

#include "tensor/fits.h"
#include "tensor/storage.h"

/* squares[i] = |G[i]|^2; squares [n] in the type of the G, of any strides. The order of each sum is fixed by its shape
 * alone. */
void mo_squared_norms(mo_tensor *squares, mo_tensor *const *G, int n);
/* scale = [|g|, min(1, bound / (|g| + 1e-6))], or 1 for a bound of 0: |g|^2 is the sum of squares; both float64, for
 * parameters of type `real`. */
void mo_clip_scale(mo_dtype real, double bound, const mo_tensor *squares, mo_tensor *scale);

/* n parameters of one type, contiguous, with their gradients and moments. */
typedef struct mo_adamw_update {
    int n;
    mo_tensor *const *gradient, *const *m, *const *v, *const *parameter;
    const mo_tensor *factors; /* float64 [MO_ADAMW_FACTORS] (tensor/fits.h) */
    const mo_tensor *scale;   /* of mo_clip_scale: the gradient is multiplied by scale[1] */
    mo_view *views;           /* scratch [4, n] */
} mo_adamw_update;

/* Changes moments and parameters in place; nothing where a check before it has failed. */
void mo_adamw_apply(const mo_adamw_update *u);

#endif
