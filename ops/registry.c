/* ops/registry.c - registers the ops of ops.list with a context. */
#include "ops/inside.h"

#define OP(name) extern const mo_op mo_op_##name;
#include "ops/ops.list"
#undef OP

static const mo_op *const ops[] = {
#define OP(name) &mo_op_##name,
#include "ops/ops.list"
#undef OP
};

mo_code mo_register_ops(mo_context *ctx) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (mo_find_op(ctx, ops[i]->name) != ops[i]) /* an earlier call that ran out of memory registered some */
            mo_register_op(ctx, ops[i]);
    return mo_context_status(ctx)->code;
}
