/* tools/lessons/lab_plugin.c - an inner problem of the user's own for `mochi lab adjoint`, from a shared object. */
#include "tools/lessons/lab.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool lab_is_plugin(const char *text) {
    size_t n = strlen(text);
    return strchr(text, '/') || (n > 3 && !strcmp(text + n - 3, ".so"));
}

static mo_tensor *plugin_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    const lab_problem *p = state;
    return p->plugin->residual(t, w, theta, n, p->state);
}

static mo_tensor *plugin_loss(mo_tape *t, const lab_problem *p, mo_tensor *w) {
    return p->plugin->loss(t, w, p->state);
}

static const mo_lab_problem *load_plugin(mo_context *ctx, const char *path) {
    char place[4096];
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path); /* no search for a bare name */
    void *object = dlopen(place, RTLD_NOW | RTLD_LOCAL);
    const mo_lab_problem *plugin = object ? dlsym(object, "mo_lab_plugin") : NULL;
    if (!object)
        mo_fail(ctx, MO_IO, "lab: %s", dlerror());
    else if (!plugin)
        mo_fail(ctx, MO_FORMAT, "lab: %s exports no mo_lab_plugin", path);
    else if (plugin->abi != MO_LAB_ABI || plugin->size != sizeof *plugin)
        mo_fail(ctx, MO_FORMAT, "lab: %s was built for version %d, a problem of %zu bytes; expected %d and %zu", path,
            plugin->abi, plugin->size, MO_LAB_ABI, sizeof *plugin);
    else if (!plugin->name || !plugin->meaning || !plugin->open || !plugin->residual || !plugin->loss)
        mo_fail(ctx, MO_FORMAT, "lab: %s lacks name, meaning, open, residual or loss", path);
    return mo_ok(ctx) ? plugin : NULL;
}

static bool is_fit_to_start(const mo_lab_start *s) {
    return !mo_is_null(s->theta) && mo_tensor_dtype(s->theta) == MO_F64 && mo_ndim(s->theta) == 1 &&
           mo_numel(s->theta) > 0 && (s->ndim == 1 || s->ndim == 2) && s->shape[0] > 0 &&
           (s->ndim == 1 || s->shape[1] > 0) && s->step > 0;
}

void lab_open_plugin(lab_problem *p, mo_context *ctx, const char *path, uint64_t seed, int64_t n) {
    mo_lab_start start = {.step = 0};
    *p = (lab_problem){.ctx = ctx};
    p->kind = &p->own;
    p->plugin = load_plugin(ctx, path);
    if (!p->plugin)
        return;
    bool opened = p->plugin->open(ctx, seed, n, &start);
    p->state = start.state;
    p->theta = start.theta;
    p->step = start.step;
    if (!opened && mo_ok(ctx))
        mo_fail(ctx, MO_INVALID, "lab: %s: open failed", path);
    if (mo_ok(ctx) && !is_fit_to_start(&start))
        mo_fail(ctx, MO_INVALID,
            "lab: %s: open expected to give theta float64 [m], the shape of w in one or two axes, and a step above 0",
            path);
    if (!mo_ok(ctx))
        return;
    mo_require_grad(p->theta);
    p->own = (lab_kind){.name = p->plugin->name,
        .meaning = p->plugin->meaning,
        .ndim = start.ndim,
        .shape = {start.shape[0], start.ndim == 2 ? start.shape[1] : 1},
        .residual = plugin_residual,
        .loss = plugin_loss};
}
