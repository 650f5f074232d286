/* ops/rules/indices.c - checks of index and offset values. */
#include "ops/rules/indices.h"

#include "ops/rules/checks.h"
#include "tensor/objects.h"

#include <inttypes.h>

static bool require_int64(mo_call *c, int i) {
    if (c->in[i]->dtype != MO_I64)
        return mo_call_fail(c, MO_MISMATCH, "input %d is %s, expected int64", i, mo_dtype_name(c->in[i]->dtype));
    return true;
}

static void fail_index(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)before;
    const mo_check *c = &note->check;
    int64_t place[MO_MAX_AXES];
    char text[160];
    for (int k = c->ndim - 1; k >= 0; k--) {
        place[k] = position % c->shape[k];
        position /= c->shape[k];
    }
    mo_note_fail(ctx, note, MO_INVALID, "%s %" PRId64 " at %s, expected 0 to %" PRId64, c->what, found.integer,
        mo_format_shape(c->ndim, place, text, sizeof text), c->limit - 1);
}

bool mo_check_indices(mo_call *c, int i, int64_t limit, const char *what) {
    if (!require_int64(c, i))
        return false;
    mo_check check = {
        .condition = MO_VALUES_INDEX, .values = mo_call_dense(c, i), .limit = limit, .what = what, .raise = fail_index};
    return mo_call_check(c, check, c->in[i]);
}

static void fail_offset(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    if (position == 0 && found.integer != 0)
        mo_note_fail(ctx, note, MO_INVALID, "offset 0 is %" PRId64 ", expected 0", found.integer);
    else if (position > 0 && found.integer < before.integer)
        mo_note_fail(ctx, note, MO_INVALID,
            "offset %" PRId64 " is %" PRId64 ", expected no less than its predecessor %" PRId64, position,
            found.integer, before.integer);
    else
        mo_note_fail(ctx, note, MO_INVALID, "the last offset is %" PRId64 ", expected %" PRId64 ", the rows",
            found.integer, note->check.limit);
}

bool mo_check_offsets(mo_call *c, int i, int64_t n) {
    if (!require_int64(c, i))
        return false;
    if (c->in[i]->ndim != 1 || c->in[i]->shape[0] < 1)
        return mo_call_fail(c, MO_INVALID, "expected offsets [segments + 1]");
    mo_check check = {.condition = MO_VALUES_OFFSETS, .values = mo_call_dense(c, i), .limit = n, .raise = fail_offset};
    return mo_call_check(c, check, c->in[i]);
}
