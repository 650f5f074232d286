/* ops/factor_info.h - what a factorization kernel reports, read by the ops that called it (library internal). */
#ifndef MO_FACTOR_INFO_H
#define MO_FACTOR_INFO_H

#include "autograd/autograd.h"
#include "tensor/storage.h"

/* An int32 tensor with one word for each matrix [.., n, n] of X: the info view of a factorization. */
mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X);
/* Raises MO_NUMERICAL for the first word that is not 0, naming the matrix: -1 as "holds a value that is not finite",
 * -2 as "is singular to working precision", others by `defect`, a format with one int ("is not positive definite
 * (leading minor %d)"). */
bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect);

#endif
