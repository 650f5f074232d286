/* ops/rules/layers.h - flat rows for the layers of networks, and the products of their gradients (library internal). */
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

/* W_bar = D^T X and b_bar = the sum of the rows of D, D [n, out] and X [n, in], in one pass. W_bar or b_bar may be
 * NULL; it is not computed then. */
void mo_linear_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);
/* W_bar_k = D_k^T X_k [K, out, in] and b_bar_k = the sum of the rows of D_k [K, out], D [K, n, out] and X [K, n, in].
 */
void mo_hop_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);
/* All gradients of a layer at once, in: D [n, out], X [n, in], W [out, in]. Returns X_bar = D W; bar receives W_bar and
 * b_bar. masked: X_bar is 0 where X is not positive; bits: the device's record of X > 0, kept when it made X, or NULL.
 */
mo_tensor *mo_linear_adjoint(mo_tape *t, mo_tensor *const in[3], bool masked, mo_tensor *bits, mo_tensor *bar[2]);
/* A B where Y > 0, else 0: A [m, k], B [k, n], Y [m, n]. bits: the device's record of Y > 0, kept when it made Y, or
 * NULL. */
mo_tensor *mo_masked_matmul(mo_tape *t, mo_tensor *A, mo_tensor *B, mo_tensor *Y, mo_tensor *bits);

#endif
