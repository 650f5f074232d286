/* ops/registry.h - the descriptors of this folder (library internal). */
#ifndef MO_OPS_REGISTRY_H
#define MO_OPS_REGISTRY_H

#include "ops/ops.h"

extern const mo_op mo_op_accumulate; /* autograd's own */
extern const mo_op mo_op_broadcast_to;
extern const mo_op mo_op_concat;
extern const mo_op mo_op_contiguous;
extern const mo_op mo_op_matmul;
extern const mo_op mo_op_one_hot;
extern const mo_op mo_op_pad;
extern const mo_op mo_op_permute;
extern const mo_op mo_op_reshape;
extern const mo_op mo_op_slice;
extern const mo_op mo_op_solve_spd;
extern const mo_op mo_op_transpose;

#endif
