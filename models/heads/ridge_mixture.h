/* models/heads/ridge_mixture.h - the readout of a mixture, before it is applied (library internal). */
#ifndef MO_RIDGE_MIXTURE_H
#define MO_RIDGE_MIXTURE_H

#include "models/inside.h"

/* Logits are the sum over experts of [Zq_m | 1] W_m and, with gamma, of k(Zq_m, Zs_m) alpha_m. Null tensors where there
 * is none. */
typedef struct mo_mixed {
    mo_tensor *W;     /* [.., M, d + 1, C] */
    mo_tensor *alpha; /* [.., M, n_s, C] */
    mo_tensor *share; /* [.., M, R], or [.., 2 M, R] */
} mo_mixed;

mo_mixed mo_ridge_mixture_fit(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, const mo_mixture *mix);
/* Logits [.., n_q, C] of queries Zq [.., M, n_q, d] by such a readout of Zs. */
mo_tensor *mo_ridge_mixture_apply(mo_tape *t, mo_tensor *Zs, mo_tensor *Zq, const mo_mixture *mix, const mo_mixed *fit);

#endif
