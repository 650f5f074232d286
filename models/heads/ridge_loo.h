/* models/heads/ridge_loo.h - axes of experts and penalties; ridges of a given kernel (library internal). */
#ifndef MO_RIDGE_LOO_H
#define MO_RIDGE_LOO_H

#include "models/models.h"

/* X with a new axis of n equal entries, which becomes `axis` (-1: the last): a view. */
mo_tensor *mo_with_axis(mo_tape *t, mo_tensor *X, int axis, int64_t n);

/* The dual form for kernels K [.., n_s, n_s] of the support: alpha [.., R, n_s, C], with which K(query, support) alpha
 * predicts, and leave-one-out predictions [.., R, n_s, C]. */
void mo_kernel_loo_fit(mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *lambda, mo_tensor **alpha, mo_tensor **Yloo);

#endif
