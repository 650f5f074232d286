/* tensor/check.c - conditions checked on the host, over pieces of the values. */
#include "tensor/check.h"

#include "tensor/objects.h"

#include <math.h>

enum { PIECE = 256 };

/* PIECE consecutive values or bounds. */
typedef union piece {
    int32_t word[PIECE];
    int64_t integer[PIECE];
    double real[PIECE];
} piece;

/* Returns whether value k of a piece meets the condition. place: the position of this value among all values; before:
 * the value before it. */
static bool holds(const mo_check *c, const piece *v, const piece *bound, int64_t k, mo_found before, int64_t place) {
    switch (c->condition) {
    case MO_VALUES_ZERO:
        return v->word[k] == 0;
    case MO_VALUES_INDEX:
        return v->integer[k] >= 0 && v->integer[k] < c->limit;
    case MO_VALUES_OFFSETS:
        return place == 0 ? v->integer[k] == 0 : v->integer[k] >= before.integer;
    case MO_VALUES_DIVISOR:
        return v->real[k] != 0 && isfinite(v->real[k]);
    case MO_VALUES_FINITE:
        return isfinite(v->real[k]);
    case MO_VALUES_ABOVE:
        return v->real[k] > bound->real[k];
    }
    return true;
}

static bool fail(mo_context *ctx, const mo_check *c, int64_t position, mo_found found, mo_found before) {
    mo_note note = {.check = *c, .op = ""};
    if (c->describe)
        c->describe(c->caller, &note);
    c->raise(ctx, &note, position, found, before);
    return false;
}

static bool check_on_host(mo_context *ctx, const mo_check *c) {
    piece v, bound;
    size_t bytes = mo_dtype_size(c->values.dtype);
    int64_t n = leading(&c->values, c->values.ndim);
    mo_found before = {0};
    for (int64_t first = 0; first < n && mo_ok(ctx); first += PIECE) {
        int64_t count = n - first < PIECE ? n - first : PIECE;
        ctx->backend->download(ctx, &v, (const char *)c->values.data + (size_t)first * bytes, (size_t)count * bytes);
        if (c->condition == MO_VALUES_ABOVE)
            ctx->backend->download(
                ctx, &bound, (const char *)c->bounds.data + (size_t)first * bytes, (size_t)count * bytes);
        for (int64_t k = 0; k < count; k++) {
            mo_found found = {.integer = bytes == 4 ? v.word[k] : v.integer[k]};
            bool good = holds(c, &v, &bound, k, before, first + k);
            if (good && c->condition == MO_VALUES_OFFSETS && first + k == n - 1)
                good = v.integer[k] == c->limit;
            if (!good)
                return fail(ctx, c, first + k, found, before);
            before = found;
        }
    }
    return mo_ok(ctx);
}

bool mo_check_values(mo_context *ctx, const mo_check *check) {
    if (!mo_ok(ctx))
        return false;
    if (!ctx->backend->check)
        return check_on_host(ctx, check);
    ctx->backend->check(ctx, check);
    return mo_ok(ctx);
}
