/* tensor/files/arrays.c - a list of named tensors, the content of an .npz or safetensors file. */
#include "tensor/files/arrays.h"

#include "tensor/files/file.h"
#include "tensor/objects.h"

#include <stdlib.h>
#include <string.h>

mo_arrays *mo_arrays_create(mo_context *ctx) {
    mo_arrays *arrays = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *arrays) : NULL;
    if (arrays)
        arrays->ctx = ctx;
    return arrays;
}

mo_tensor *mo_arrays_find(const mo_arrays *arrays, const char *name) {
    for (int64_t i = 0; arrays && name && i < arrays->count; i++)
        if (strcmp(arrays->items[i].name, name) == 0)
            return arrays->items[i].tensor;
    return NULL;
}

bool mo_arrays_append(mo_arrays *arrays, const char *name, mo_tensor *T) {
    char *copy = mo_is_null(T) ? NULL : mo_text_copy(arrays->ctx, name);
    if (!copy ||
        !mo_host_array_grow(arrays->ctx, &arrays->items, &arrays->room, arrays->count + 1, sizeof *arrays->items)) {
        free(copy);
        mo_tensor_release(T);
        return false;
    }
    arrays->items[arrays->count++] = (mo_array){.name = copy, .tensor = T};
    return true;
}

mo_code mo_arrays_take(mo_arrays *arrays, const char *name, mo_tensor *T) {
    mo_context *ctx = arrays ? arrays->ctx : NULL;
    if (mo_ok(ctx) && !name)
        mo_fail(ctx, MO_INVALID, "arrays: a tensor without a name");
    if (!mo_ok(ctx)) {
        mo_tensor_release(T);
        return mo_code_of(ctx);
    }
    char shown[128];
    mo_quote(name, strlen(name), shown, sizeof shown);
    if (mo_is_null(T))
        mo_fail(ctx, MO_INVALID, "arrays: '%s' is the null tensor", shown);
    else if (mo_tensor_context(T) != ctx)
        mo_fail(ctx, MO_MISMATCH, "arrays: '%s' belongs to another context", shown);
    else if (mo_arrays_find(arrays, name))
        mo_fail(ctx, MO_INVALID, "arrays: there is a tensor '%s' already", shown);
    if (mo_ok(ctx))
        mo_arrays_append(arrays, name, T);
    else
        mo_tensor_release(T);
    return mo_context_status(ctx)->code;
}

void mo_arrays_release(mo_arrays *arrays) {
    if (!arrays)
        return;
    mo_context *ctx = arrays->ctx;
    for (int64_t i = 0; i < arrays->count; i++) {
        mo_tensor_release(arrays->items[i].tensor);
        free(arrays->items[i].name);
    }
    free(arrays->items);
    if (arrays->metadata)
        mo_host_free(ctx, arrays->metadata, strlen(arrays->metadata) + 1);
    free(arrays->texts);
    mo_host_free(ctx, arrays, sizeof *arrays);
}
