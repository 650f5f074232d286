/* ops/rules/layers.h - flat rows for the layers of networks, and the gradient of their weights (library internal). */
#ifndef MO_LAYERS_H
#define MO_LAYERS_H

#include "autograd/inside.h"
#include "tensor/storage.h"

/* v with its leading axes merged to rows; v must be contiguous unless it has two axes. */
mo_view mo_flat_view(mo_view v);
/* Input i as a matrix of rows: read in place if it has two axes, else a contiguous copy. */
mo_view mo_flat_input(mo_call *c, int i);
/* Hop k of V [K, n, d], a matrix; and of X, with ops. */
mo_view mo_hop_view(mo_view V, int64_t k);
mo_tensor *mo_hop_of(mo_tape *t, mo_tensor *X, int64_t k);
/* X [.., d] as a matrix of rows, with ops. */
mo_tensor *mo_flat_rows(mo_tape *t, mo_tensor *X);

/* From D [rows, out], the gradient at the sum of a layer X W^T + b: sets the gradients of W (input 1 of the vjp) and b
 * (input b; 0: none) if they are wanted. Returns the gradient of X (input 0) over flat rows, or NULL if it is not
 * wanted. */
mo_tensor *mo_layer_gradients(mo_vjp *v, mo_tensor *D, int b);
/* W_bar = D^T X and b_bar = the sum of the rows of D, D [n, out] and X [n, in]. W_bar or b_bar may be NULL; it is not
 * computed then. */
void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);

#endif
