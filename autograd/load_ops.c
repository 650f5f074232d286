/* autograd/load_ops.c - ops from a shared object: its exported mo_ops, checked for the version it was built for. */
#include "tensor/files/file.h"
#include "tensor/objects.h"

#include "autograd/tape.h"

#include <dlfcn.h>

mo_code mo_load_ops(mo_context *ctx, const char *path) {
    void *object;
    const mo_plugin expected = {MO_OP_ABI, sizeof(mo_op)};
    const mo_op_list *list = mo_plugin_open(ctx, "load ops", "mo_ops", expected, path, &object);
    if (!list)
        return mo_code_of(ctx);
    if (list->n < 1 || !list->ops)
        mo_fail(ctx, MO_FORMAT, "load ops: %s lists no ops", path);
    int before = mo_n_ops(ctx);
    for (int i = 0; mo_ok(ctx) && i < list->n; i++)
        mo_register_op(ctx, list->ops[i]);
    if (!mo_ok(ctx)) { /* registers all ops or none */
        if (ctx->engine)
            ctx->engine->n_ops = before;
        dlclose(object);
    }
    return ctx->status.code;
}
