/* ops/registry.h - the descriptors of this folder (library internal). */
#ifndef MO_OPS_REGISTRY_H
#define MO_OPS_REGISTRY_H

#include "ops/ops.h"

extern const mo_op mo_op_accumulate; /* autograd's own */
extern const mo_op mo_op_matmul;
extern const mo_op mo_op_solve_spd;

#endif
