/* models/state_file.c - the state of a fitted head as arrays of a file. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "state.";

mo_code mo_state_save(const mo_state *s, mo_arrays *arrays) {
    if (!s || !arrays)
        return MO_INVALID;
    mo_context *ctx = arrays->ctx;
    char name[sizeof prefix + MO_STATE_NAME];
    for (int i = 0; i < s->n && mo_ok(ctx); i++) {
        snprintf(name, sizeof name, "%s%s", prefix, s->name[i]);
        mo_arrays_take(arrays, name, mo_tensor_clone(ctx, s->tensor[i]));
    }
    const int64_t sizes[] = {s->d, s->classes, s->axes, s->real == MO_F64};
    if (mo_ok(ctx))
        mo_arrays_take(arrays, "state", mo_tensor_create_from(ctx, MO_I64, 1, (int64_t[]){4}, sizes));
    return mo_code_of(ctx);
}

/* Reads d, the number of classes and the number of axes. */
static bool load_sizes(mo_context *ctx, const mo_arrays *arrays, mo_state *s) {
    const mo_tensor *T = mo_arrays_find(arrays, "state");
    int64_t sizes[4] = {0};
    bool fits = T && mo_tensor_dtype(T) == MO_I64 && mo_ndim(T) == 1 && mo_dim(T, 0) == 4 &&
                mo_tensor_read(T, sizes, sizeof sizes) == MO_OK && sizes[0] >= 0 && sizes[1] >= 1 && sizes[2] >= 2 &&
                sizes[2] <= MO_MAX_AXES;
    if (mo_ok(ctx) && !fits)
        mo_fail(ctx, MO_FORMAT, "head %s: expected its state in the file, with the sizes int64 [4] as 'state'",
            s->head->name);
    s->d = sizes[0];
    s->classes = sizes[1];
    s->axes = (int)sizes[2];
    s->real = sizes[3] ? MO_F64 : MO_F32;
    return mo_ok(ctx);
}

mo_code mo_state_load(mo_context *ctx, const mo_head *head, const mo_arrays *arrays, mo_state *s) {
    if (!mo_given(ctx, "state", "the state", s))
        return mo_code_of(ctx);
    *s = (mo_state){.head = head};
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, "state", "the arrays", arrays) || !load_sizes(ctx, arrays, s))
        return mo_code_of(ctx);
    size_t skip = sizeof prefix - 1;
    for (int64_t i = 0; i < arrays->count && mo_ok(ctx); i++)
        if (!strncmp(arrays->items[i].name, prefix, skip)) {
            mo_tensor *T = mo_tensor_clone(ctx, arrays->items[i].tensor);
            int n = s->n;
            mo_state_put(s, arrays->items[i].name + skip, T);
            if (s->n == n)
                mo_tensor_release(T);
        }
    if (mo_ok(ctx) && s->n == 0)
        mo_fail(ctx, MO_FORMAT, "head %s: expected the tensors of its state in the file, found none", head->name);
    return mo_code_of(ctx);
}
