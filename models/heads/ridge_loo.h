/* models/heads/ridge_loo.h - ridges of a given kernel over a grid of penalties (library internal). */
#ifndef MO_RIDGE_LOO_H
#define MO_RIDGE_LOO_H

#include "models/inside.h"

/* The dual form for kernels K [.., n_s, n_s] of the support: alpha [.., R, n_s, C], with which K(query, support) alpha
 * predicts, and leave-one-out predictions [.., R, n_s, C]. weight: as of mo_ridge_loo_fit. */
void mo_kernel_loo_fit(
    mo_tape *t, mo_tensor *K, mo_tensor *Ys, mo_tensor *weight, mo_tensor *lambda, mo_tensor **alpha, mo_tensor **Yloo);

#endif
