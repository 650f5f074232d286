/* ops/rules/layers.h - layers of networks: leading axes as rows of one matrix, and the gradients of the weights
 * (library internal). */
#ifndef MO_LAYERS_H
#define MO_LAYERS_H

#include "autograd/inside.h"
#include "tensor/storage.h"

/* v as a matrix whose rows are all its leading axes; v must be contiguous unless it has two axes. */
mo_view mo_flat_view(mo_view v);
/* Input i as a matrix whose rows are all its leading axes: read in place if it has two axes, else a contiguous copy. */
mo_view mo_flat_input(mo_call *c, int i);
/* Hop k of V [K, n, d], as a matrix view; mo_hop_of: hop k of X, by ops. */
mo_view mo_hop_view(mo_view V, int64_t k);
mo_tensor *mo_hop_of(mo_tape *t, mo_tensor *X, int64_t k);
/* X [.., d] as a matrix whose rows are all its leading axes, by ops. */
mo_tensor *mo_flat_rows(mo_tape *t, mo_tensor *X);

/* The rule of a layer S = X W^T + b, from D [rows, out], the gradient at S. Sets the gradients of W (input 1 of the
 * vjp) and b (input number b; 0: there is none) if they are wanted. Returns the gradient of X (input 0), with leading
 * axes as rows, or NULL if it is not wanted. */
mo_tensor *mo_layer_gradients(mo_vjp *v, mo_tensor *D, int b);
/* W_bar = D^T X and b_bar = the sum of the rows of D, for D [n, out] and X [n, in]. If W_bar or b_bar is NULL, it is
 * not computed. */
void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);

#endif
