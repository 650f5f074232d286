/* models/episode.c - what an episode carries: named tensors, found by the encoders that read them. */
#include "models/models.h"

#include <string.h>

const char *mo_task_name(mo_task task) {
    static const char *const names[MO_TASKS] = {"nc", "lp", "gc"};
    return (unsigned)task < MO_TASKS ? names[task] : "unknown";
}

mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name) {
    for (int i = 0; i < e->n_rows; i++)
        if (!strcmp(e->rows[i].name, name))
            return e->rows[i].tensor;
    mo_context *ctx = mo_tape_context(t);
    mo_fail(ctx, MO_INVALID, "episode: no rows named \"%s\" among its %d, which the encoder reads", name, e->n_rows);
    return mo_null_tensor(ctx);
}
