/* ops/indices.c - indices and offsets read in pieces through the host. */
#include "ops/indices.h"
#include "tensor/storage.h"

#include <inttypes.h>

enum { PIECE = 512 };

/* What is looked at, and the value before the piece at hand. */
typedef struct scan {
    mo_call *c;
    const char *what;
    int64_t limit, previous, shape[MO_MAX_AXES];
    int ndim;
} scan;

typedef bool (*look)(scan *s, const int64_t *values, int64_t first, int64_t n);

/* Shows every value of input i, in row-major order, to f. */
static bool read_values(scan *s, int i, look f) {
    mo_call *c = s->c;
    int64_t values[PIECE], n = mo_numel(c->in[i]);
    mo_view v = mo_call_dense(c, i);
    for (int64_t first = 0; first < n && mo_ok(c->ctx); first += PIECE) {
        int64_t count = n - first < PIECE ? n - first : PIECE;
        c->ctx->backend->download(c->ctx, values, (int64_t *)v.data + first, (size_t)count * sizeof *values);
        if (!f(s, values, first, count))
            return false;
    }
    return mo_ok(c->ctx);
}

static bool require_int64(mo_call *c, int i) {
    if (c->in[i]->dtype != MO_I64)
        return mo_call_fail(c, MO_MISMATCH, "input %d is %s, expected int64", i, mo_dtype_name(c->in[i]->dtype));
    return true;
}

static bool fail_index(scan *s, int64_t position, int64_t value) {
    int64_t place[MO_MAX_AXES];
    char text[160];
    for (int k = s->ndim - 1; k >= 0; k--) {
        place[k] = position % s->shape[k];
        position /= s->shape[k];
    }
    return mo_call_fail(s->c, MO_INVALID, "%s %" PRId64 " at %s, expected 0 to %" PRId64, s->what, value,
        mo_format_shape(s->ndim, place, text, sizeof text), s->limit - 1);
}

static bool look_at_indices(scan *s, const int64_t *values, int64_t first, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (values[k] < 0 || values[k] >= s->limit)
            return fail_index(s, first + k, values[k]);
    return true;
}

bool mo_check_indices(mo_call *c, int i, int64_t limit, const char *what) {
    scan s = {.c = c, .what = what, .limit = limit, .ndim = c->in[i]->ndim};
    for (int k = 0; k < s.ndim; k++)
        s.shape[k] = c->in[i]->shape[k];
    return require_int64(c, i) && read_values(&s, i, look_at_indices);
}

static bool look_at_offsets(scan *s, const int64_t *values, int64_t first, int64_t n) {
    if (first == 0 && values[0] != 0)
        return mo_call_fail(s->c, MO_INVALID, "offset 0 is %" PRId64 ", expected 0", values[0]);
    for (int64_t k = 0; k < n; k++) {
        if (values[k] < s->previous)
            return mo_call_fail(s->c, MO_INVALID,
                "offset %" PRId64 " is %" PRId64 ", expected no less than its predecessor %" PRId64, first + k,
                values[k], s->previous);
        s->previous = values[k];
    }
    return true;
}

bool mo_check_offsets(mo_call *c, int i, int64_t n) {
    scan s = {.c = c};
    if (!require_int64(c, i))
        return false;
    if (c->in[i]->ndim != 1 || c->in[i]->shape[0] < 1)
        return mo_call_fail(c, MO_INVALID, "expected offsets [segments + 1]");
    if (!read_values(&s, i, look_at_offsets))
        return false;
    if (s.previous != n)
        return mo_call_fail(
            c, MO_INVALID, "the last offset is %" PRId64 ", expected %" PRId64 ", the rows", s.previous, n);
    return true;
}
