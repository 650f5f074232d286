/* models/state.c - the state of a fitted head: a list of named tensors, which is copied off the tape like any. */
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
        return ctx ? mo_code_of(ctx) : MO_INVALID;
    *copy = *s;
    for (int i = 0; i < s->n; i++)
        copy->tensor[i] = mo_ok(ctx) ? mo_tensor_clone(ctx, s->tensor[i]) : NULL;
    return mo_code_of(ctx);
}

void mo_state_release(mo_state *s) {
    for (int i = 0; s && i < s->n; i++)
        mo_tensor_release(s->tensor[i]);
    if (s)
        *s = (mo_state){0};
}
