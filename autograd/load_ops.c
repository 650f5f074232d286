/* autograd/load_ops.c - ops from a shared object: its exported mo_ops, checked for the version it was built for. */
#include "tensor/files/file.h"
#include "tensor/storage.h"

#include "autograd/inside.h"

#include <dlfcn.h>

mo_code mo_load_ops(mo_context *ctx, const char *path) {
    if (!mo_given(ctx, "load_ops", "path", path))
        return mo_code_of(ctx);
    void *object = mo_shared_object_open(ctx, "load ops", path);
    const mo_op_list *list = object ? dlsym(object, "mo_ops") : NULL;
    if (!object)
        return ctx->status.code;
    if (!list)
        mo_fail(ctx, MO_FORMAT, "load ops: %s exports no mo_ops", path);
    else if (list->abi != MO_OP_ABI || list->size != sizeof(mo_op))
        mo_fail(ctx, MO_FORMAT, "load ops: %s was built for version %d, descriptors of %zu bytes; expected %d and %zu",
            path, list->abi, list->size, MO_OP_ABI, sizeof(mo_op));
    else if (list->n < 1 || !list->ops)
        mo_fail(ctx, MO_FORMAT, "load ops: %s lists no ops", path);
    int before = ctx->n_ops;
    for (int i = 0; mo_ok(ctx) && i < list->n; i++)
        mo_register_op(ctx, list->ops[i]);
    if (!mo_ok(ctx)) { /* registers all ops or none */
        ctx->n_ops = before;
        dlclose(object);
    }
    return ctx->status.code;
}
