/* tools/fit/fit_readout.c - the file of a fitted readout: its state, the scaling of its rows and its temperature. */
#include "tools/cli/memory.h"
#include "tools/fit/fit.h"
#include "tools/predict/predict.h"
#include "train/graphs/row_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const row_types[] = {"float32", "float64"};
static const char *const scalings[MO_SCALINGS] = {"none", "centre", "standardise", "normalise"};

/* Writes a number as text; NaN as "none". */
static void print_real(double value, char text[40]) {
    snprintf(text, 40, isnan(value) ? "none" : "%.17g", value);
}

bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r) {
    char value[40], temperature[40];
    print_real(r->value, value);
    print_real(r->temperature, temperature);
    json_t *metadata = json_pack("{s:s, s:s, s:s, s:s, s:s}", "head", r->state.head->name, "regularisation", value,
        "scaling", scalings[r->scaling], "temperature", temperature, "rows", row_types[r->real == MO_F64]);
    mo_arrays *arrays = mo_arrays_create(ctx);
    mo_state_save(&r->state, arrays);
    return write_kept(ctx, path, KEPT_ROWS, arrays, metadata, r->name, r->classes);
}

/* ---- reading ---- */

/* Returns the settings' head; NULL after an error. */
static const mo_head *take_settings(const kept_fit *f, const mo_head *own, mo_row_readout *r) {
    const mo_head *head = kept_head(f, own);
    r->value = kept_real(f, "regularisation", true);
    r->temperature = kept_real(f, "temperature", false);
    r->scaling = (mo_scaling)kept_word(f, "scaling", scalings, MO_SCALINGS);
    r->real = kept_word(f, "rows", row_types, 2) ? MO_F64 : MO_F32;
    if (mo_ok(f->ctx) && !head)
        mo_fail(f->ctx, MO_UNSUPPORTED, "%s: expected the name of its readout, found none", f->path);
    else if (mo_ok(f->ctx) && !(r->temperature > 0))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a temperature above 0, found %g", f->path, r->temperature);
    return mo_ok(f->ctx) ? head : NULL;
}

/* Raises unless the state has [1, d] numbers of the rows' dtype to scale them by. */
static void check_scale(const kept_fit *f, const char *name, const mo_row_readout *r) {
    const mo_tensor *T = mo_state_find(&r->state, name);
    if (mo_ok(f->ctx) &&
        (!T || mo_ndim(T) != 2 || mo_dim(T, 0) != 1 || mo_dim(T, 1) != r->state.d || mo_tensor_dtype(T) != r->real))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the array state.%s, %s [1, %" PRId64 "]", f->path, name,
            mo_dtype_name(r->real), r->state.d);
}

/* Takes the state, whose classes are those of the names, and the scaling. */
static void take_state(const kept_fit *f, const mo_head *head, mo_row_readout *r) {
    if (mo_state_load(f->ctx, head, f->arrays, &r->state) != MO_OK)
        return;
    if (r->state.classes != r->classes || r->state.axes != 2)
        mo_fail(f->ctx, MO_FORMAT, "%s: a readout of %" PRId64 " classes, expected %" PRId64 " as it has names",
            f->path, r->state.classes, r->classes);
    if (r->scaling == MO_SCALING_CENTRE || r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.mean", r);
    if (r->scaling == MO_SCALING_STANDARDISE)
        check_scale(f, "rows.spread", r);
}

bool load_row_readout(mo_context *ctx, const char *path, const mo_head *own, mo_row_readout *r) {
    *r = (mo_row_readout){0};
    kept_fit f = open_kept(ctx, path, KEPT_ROWS);
    const mo_head *head = mo_ok(ctx) ? take_settings(&f, own, r) : NULL;
    if (mo_ok(ctx))
        r->name = kept_names(&f, &r->classes);
    if (mo_ok(ctx))
        take_state(&f, head, r);
    release_kept(&f);
    return mo_ok(ctx);
}
