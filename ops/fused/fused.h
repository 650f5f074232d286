/* ops/fused/fused.h - adjoints that are one op each (README.md), and the rules, made of ops, that they replace (library
 * internal). */
#ifndef MO_FUSED_H
#define MO_FUSED_H

#include "ops/inside.h"
#include "tensor/backend.h"
#include "tensor/storage.h"

/* Each of these functions sets the gradients of a vjp's inputs and returns true; or it does nothing and returns false,
 * if not all of its gradients are wanted, the device has no kernel for it, or an op without a derivative would be
 * recorded. */
bool mo_scale_unit_adjoint(mo_vjp *v);
bool mo_cross_entropy_adjoint(mo_vjp *v); /* sets only the gradient of the logits */
bool mo_hop_attention_adjoint(mo_vjp *v);
/* Does all of mo_solve_spd's forward in one kernel and returns true; or does nothing and returns false, if there is
 * none. */
bool mo_solve_spd_at_once(mo_call *c);

/* All gradients of a layer, for in = D [n, out], X [n, in], W [out, in]. Returns X_bar = D W; bar receives W_bar = D^T
 * X and b_bar = 1^T D. */
mo_tensor *mo_linear_adjoint(mo_tape *t, mo_tensor *const in[3], mo_tensor *bar[2]);
/* For each hop k, W_bar_k = D_k^T X_k in W_bar [K, out, in] and b_bar_k = 1^T D_k in b_bar [K, out]; D [K, n, out], X
 * [K, n, in]. */
void mo_hop_gradient(mo_tape *t, mo_tensor *D, mo_tensor *X, mo_tensor **W_bar, mo_tensor **b_bar);

/* For a device without a kernel: sets output i of a fused op to `value`, which ops have computed. */
void mo_fused_by_ops(mo_call *c, int i, const mo_tensor *value);

/* Returns logits_bar of mo_softmax_cross_entropy (softmax_cross_entropy.c). */
mo_tensor *mo_cross_entropy_rule(mo_tape *t, mo_tensor *X, mo_tensor *target, mo_tensor *L_bar, double s);
/* Returns X_bar of Y = mo_l2_normalize(X) (normalize.c). */
mo_tensor *mo_l2_normalize_rule(mo_tape *t, mo_tensor *X, mo_tensor *Y, mo_tensor *Y_bar, double epsilon);

#endif
