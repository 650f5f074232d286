/* models/heads/residual.h - the weights of a head that gives only a residual (library internal). */
#ifndef MO_HEAD_RESIDUAL_H
#define MO_HEAD_RESIDUAL_H

#include "models/inside.h"

/* W [.., d + 1, C] with head->residual(W, Zs, Ys, parameters) = 0, differentiable in all three. */
mo_tensor *mo_head_weights(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters);

#endif
