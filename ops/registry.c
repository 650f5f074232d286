/* ops/registry.c - the list of the ops of this folder; one line an op. */
#include "ops/registry.h"

static const mo_op *const ops[] = {
    &mo_op_accumulate,
    &mo_op_broadcast_to,
    &mo_op_concat,
    &mo_op_contiguous,
    &mo_op_matmul,
    &mo_op_one_hot,
    &mo_op_pad,
    &mo_op_permute,
    &mo_op_reshape,
    &mo_op_slice,
    &mo_op_solve_spd,
    &mo_op_transpose,
};

mo_code mo_register_ops(mo_context *ctx) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        mo_register_op(ctx, ops[i]);
    return mo_context_status(ctx)->code;
}
