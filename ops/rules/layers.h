/* ops/rules/layers.h - layers of networks: leading axes as rows of one matrix, and the gradients of the weights
 * (library internal). */
#ifndef MO_LAYERS_H
#define MO_LAYERS_H

#include "autograd/inside.h"
#include "tensor/objects.h"

/* Returns hop k of X [K, n, d] by ops. */
mo_tensor *mo_hop_of(mo_tape *t, mo_tensor *X, int64_t k);
/* Returns X [.., d] as a matrix whose rows are all its leading axes, by ops. */
mo_tensor *mo_flat_rows(mo_tape *t, mo_tensor *X);

/* Computes the products g[0] .. g[n - 1], n > 0, of one dtype: queued together if the device has gemms
 * (tensor/backend.h), else one after the other. */
void mo_multiply(mo_context *ctx, const mo_gemm *g, int n);
/* W_bar = D^T X and b_bar = the sum of the rows of D, for D [n, out] and X [n, in]. If W_bar or b_bar is NULL, it is
 * not computed. */
void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);

#endif
