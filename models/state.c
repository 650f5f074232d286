/* models/state.c - the state of a fitted head: a list of named tensors, which is copied, saved and loaded like any. */
#include "models/heads/heads.h"
#include "tensor/library.h"

#include <stdio.h>
#include <string.h>

void mo_state_put(mo_state *s, const char *name, mo_tensor *T) {
    mo_context *ctx = mo_tensor_context(T);
    if (!mo_given(ctx, "state", "the state", s) || !mo_given(ctx, "state", "the name", name))
        return;
    if (s->n == MO_STATE_TENSORS || strlen(name) >= MO_STATE_NAME) {
        mo_fail(ctx, MO_INVALID, "state: '%.40s' as tensor %d, expected at most %d tensors with names of %d letters",
            name, s->n + 1, MO_STATE_TENSORS, MO_STATE_NAME - 1);
        return;
    }
    snprintf(s->name[s->n], MO_STATE_NAME, "%s", name);
    s->tensor[s->n++] = T;
}

mo_tensor *mo_state_find(const mo_state *s, const char *name) {
    for (int i = 0; s && name && i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return s->tensor[i];
    return NULL;
}

mo_tensor *mo_state_get(mo_tape *t, const mo_state *s, const char *name) {
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *T = mo_state_find(s, name);
    if (!T && mo_ok(ctx))
        mo_fail(
            ctx, MO_FORMAT, "head %s: its state has no %s", s && s->head ? s->head->name : "", name ? name : "name");
    return T ? T : mo_null_tensor(ctx);
}

mo_code mo_state_clone(mo_context *ctx, const mo_state *s, mo_state *copy) {
    if (!mo_given(ctx, "state", "the state", s) || !mo_given(ctx, "state", "the copy", copy))
        return ctx ? mo_context_status(ctx)->code : MO_INVALID;
    *copy = *s;
    for (int i = 0; i < s->n; i++)
        copy->tensor[i] = mo_ok(ctx) ? mo_tensor_clone(ctx, s->tensor[i]) : NULL;
    return mo_context_status(ctx)->code;
}

void mo_state_release(mo_state *s) {
    for (int i = 0; s && i < s->n; i++)
        mo_tensor_release(s->tensor[i]);
    if (s)
        *s = (mo_state){0};
}

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
    return mo_context_status(ctx)->code;
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
        return mo_context_status(ctx)->code;
    *s = (mo_state){.head = head};
    if (!mo_head_validate(ctx, head) || !mo_given(ctx, "state", "the arrays", arrays) || !load_sizes(ctx, arrays, s))
        return mo_context_status(ctx)->code;
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
    return mo_context_status(ctx)->code;
}
