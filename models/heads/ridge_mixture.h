/* models/heads/ridge_mixture.h - the readout of a mixture, before it is applied (library internal). */
#ifndef MO_RIDGE_MIXTURE_H
#define MO_RIDGE_MIXTURE_H

#include "models/head.h"

/* W [.., M, d + 1, C] of mo_ridge_mixture: logits are the sum over experts of [Zq_m | 1] W_m. share [.., M, R]. Null
 * tensors on failure. */
mo_tensor *mo_ridge_mixture_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, const mo_mixture *mix, mo_tensor **share);

#endif
