/* models/load_head.c - a head from a shared object: its exported mo_head_plugin, checked for the version it was built
 * for.
 */
#include "models/inside.h"
#include "tensor/files/file.h"
#include "tensor/given.h"

#include <dlfcn.h>

const mo_head *mo_load_head(mo_context *ctx, const char *path) {
    if (!mo_given(ctx, "load_head", "path", path))
        return NULL;
    void *object = mo_shared_object_open(ctx, "load head", path);
    const mo_head *head = object ? dlsym(object, "mo_head_plugin") : NULL;
    if (!object)
        return NULL;
    if (!head)
        mo_fail(ctx, MO_FORMAT, "load head: %s exports no mo_head_plugin", path);
    else if (head->abi != MO_HEAD_ABI || head->size != sizeof(mo_head))
        mo_fail(ctx, MO_FORMAT, "load head: %s was built for version %d, a head of %zu bytes; expected %d and %zu",
            path, head->abi, head->size, MO_HEAD_ABI, sizeof(mo_head));
    else if (mo_head_validate(ctx, head))
        return head;
    dlclose(object);
    return NULL;
}
