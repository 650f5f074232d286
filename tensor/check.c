/* tensor/check.c - conditions checked at once, on a device whose memory is the host's. */
#include "tensor/check.h"

#include "tensor/objects.h"

#include <math.h>

static mo_found value_at(const mo_view *values, int64_t k) {
    if (values->dtype == MO_I32)
        return (mo_found){.integer = ((const int32_t *)values->data)[k]};
    if (values->dtype == MO_I64)
        return (mo_found){.integer = ((const int64_t *)values->data)[k]};
    return (mo_found){.real = ((const double *)values->data)[k]};
}

/* Returns whether value k of n meets the condition; before: the value before it. */
static bool holds(const mo_check *c, int64_t k, int64_t n, mo_found value, mo_found before) {
    switch (c->condition) {
    case MO_VALUES_ZERO:
        return value.integer == 0;
    case MO_VALUES_INDEX:
        return value.integer >= 0 && value.integer < c->limit;
    case MO_VALUES_OFFSETS:
        return (k == 0 ? value.integer == 0 : value.integer >= before.integer) &&
               (k < n - 1 || value.integer == c->limit);
    case MO_VALUES_DIVISOR:
        return value.real != 0 && isfinite(value.real);
    case MO_VALUES_FINITE:
        return isfinite(value.real);
    case MO_VALUES_ABOVE:
        return value.real > value_at(&c->bounds, k).real;
    }
    return true;
}

bool mo_check_values(mo_context *ctx, const mo_check *c) {
    if (!mo_ok(ctx))
        return false;
    if (ctx->backend->check) {
        ctx->backend->check(ctx, c);
        return mo_ok(ctx);
    }
    mo_found before = {0};
    for (int64_t k = 0, n = leading(&c->values, c->values.ndim); k < n; k++) {
        mo_found found = value_at(&c->values, k);
        if (!holds(c, k, n, found, before)) {
            mo_note note = {.check = *c, .op = ""};
            if (c->describe)
                c->describe(c->caller, &note);
            c->raise(ctx, &note, k, found, before);
            return false;
        }
        before = found;
    }
    return true;
}
