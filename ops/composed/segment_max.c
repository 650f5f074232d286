/* ops/composed/segment_max.c - over runs of rows, column by column: the largest entries, and softmax.
 *
 * X [n, ..], offset int64 [S + 1], rising from 0 to n. segment_max -> Y [S, ..]; row s is the maximum of the rows
 * offset(s) .. offset(s+1)-1, and 0 for an empty segment; NaN if one of these entries is NaN.
 *
 * A tournament in rounds: in each segment, neighbouring rows are compared in pairs (mo_larger) and the winners go to
 * the next round, until each segment has one row; a row without a neighbour is paired with itself. The number of rounds
 * is log2 of the longest segment; for segments of like length the rounds compare about n pairs of rows. Y_bar goes to
 * the largest entry, the first of equal ones, as in mo_max. The pairs depend on the offsets alone. The offsets are read
 * on the host, which waits for a GPU's queued work. */
#include "ops/inside.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <string.h>

/* Returns whether X is real rows [n, ..] and offset int64 [S + 1]; raises an error that begins with `name` if not. */
static bool check_segments(mo_context *ctx, const char *name, const mo_tensor *X, const mo_tensor *offset) {
    char x[160], y[160];
    if (!mo_ok(ctx))
        return false;
    if (mo_is_null(X) || mo_is_null(offset))
        mo_fail(ctx, MO_INVALID, "%s: input %d is null", name, mo_is_null(X) ? 0 : 1);
    else if (!mo_dtype_is_real(X->dtype) || X->ndim < 1 || offset->dtype != MO_I64 || offset->ndim != 1 ||
             offset->shape[0] < 1)
        mo_fail(ctx, MO_INVALID, "%s: expected real rows [n, ..] and int64 offsets [segments + 1]; got %s %s, %s %s",
            name, mo_shape_string(X, x, sizeof x), mo_dtype_name(X->dtype), mo_shape_string(offset, y, sizeof y),
            mo_dtype_name(offset->dtype));
    return mo_ok(ctx);
}

/* rows[s]: the number of rows of segment s in this round. first, second: the pairs of a round. After the last
 * round, if any segment is empty, first[s] is the row of segment s's winner or, if s itself is empty, of the row of
 * zeros behind the winners. */
typedef struct tournament {
    int64_t n, segments;     /* n: rows of X */
    int64_t *rows;           /* [segments + 1]: at first the offsets */
    int64_t *first, *second; /* [max(n, segments)] */
    bool empty;              /* a segment has no rows */
} tournament;

static bool read_offsets(mo_context *ctx, const mo_tensor *offset, tournament *r) {
    size_t bytes = (size_t)(r->segments + 1) * sizeof *r->rows;
    if (!r->rows || !r->first || !r->second || mo_tensor_read(offset, r->rows, bytes) != MO_OK)
        return false;
    int64_t before = 0;
    for (int64_t s = 0; s <= r->segments; s++) {
        int64_t at = r->rows[s];
        if (at < before || (s == 0 && at != 0) || (s == r->segments && at != r->n)) {
            mo_fail(ctx, MO_INVALID,
                "segment_max: offset %" PRId64 " is %" PRId64 ", expected offsets that rise from 0 to %" PRId64
                ", the rows",
                s, at, r->n);
            return false;
        }
        if (s > 0)
            r->rows[s - 1] = at - before;
        r->empty |= s > 0 && at == before;
        before = at;
    }
    return true;
}

/* Writes the pairs of the next round and returns their number; 0 if no segment has more than one row. */
static int64_t pair(tournament *r) {
    int64_t n = 0, row = 0, longest = 0;
    for (int64_t s = 0; s < r->segments; s++) {
        int64_t m = r->rows[s];
        longest = m > longest ? m : longest;
        for (int64_t i = 0; i < m; i += 2, n++) {
            r->first[n] = row + i;
            r->second[n] = row + (i + 1 < m ? i + 1 : i);
        }
        row += m;
    }
    if (longest < 2)
        return 0;
    for (int64_t s = 0; s < r->segments; s++)
        r->rows[s] = (r->rows[s] + 1) / 2;
    return n;
}

static mo_tensor *play(mo_tape *t, mo_tensor *X, tournament *r) {
    for (int64_t n; (n = pair(r)) > 0;) {
        mo_tensor *first = mo_from(t, MO_I64, 1, &n, r->first), *second = mo_from(t, MO_I64, 1, &n, r->second);
        X = mo_larger(t, mo_gather_rows(t, X, first), mo_gather_rows(t, X, second));
    }
    if (!r->empty)
        return X;
    int64_t winners = mo_dim(X, 0), row = 0;
    for (int64_t s = 0; s < r->segments; s++)
        r->first[s] = r->rows[s] ? row++ : winners; /* row `winners` of the padded X is 0 */
    return mo_gather_rows(t, mo_pad(t, X, MO_AXIS(0), 0, 1), mo_from(t, MO_I64, 1, &r->segments, r->first));
}

mo_tensor *mo_segment_max(mo_tape *t, mo_tensor *X, mo_tensor *offset) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_segments(ctx, "segment_max", X, offset))
        return mo_null_tensor(ctx);
    tournament r = {.n = X->shape[0], .segments = offset->shape[0] - 1};
    size_t most = (size_t)(r.n > r.segments ? r.n : r.segments) * sizeof *r.rows, bytes = most + sizeof *r.rows;
    r.rows = mo_host_alloc(ctx, bytes);
    r.first = mo_host_alloc(ctx, most);
    r.second = mo_host_alloc(ctx, most);
    mo_tensor *Y = read_offsets(ctx, offset, &r) ? play(t, X, &r) : mo_null_tensor(ctx);
    mo_host_free(ctx, r.rows, bytes);
    mo_host_free(ctx, r.first, most);
    mo_host_free(ctx, r.second, most);
    return Y;
}

/* ---- softmax: the attention of a node over its neighbours ----
 *
 * X [n, ..] -> Y [n, ..]: in each segment e^x divided by the segment's sum of e^x, with the segment's maximum
 * subtracted first, so that no entry overflows. Y does not depend on the subtracted maximum, which is therefore a
 * constant: with P the membership of rows in segments (segment.c) and E = e^(X - P^T max), Y = E / P^T P E,   X_bar = Y
 * * (Y_bar - P^T P (Y * Y_bar)). */

mo_tensor *mo_segment_softmax(mo_tape *t, mo_tensor *X, mo_tensor *offset) {
    mo_context *ctx = mo_tape_context(t);
    if (!check_segments(ctx, "segment_softmax", X, offset))
        return mo_null_tensor(ctx);
    int64_t n = X->shape[0];
    mo_tensor *largest = mo_segment_max(t, mo_stop_gradient(t, X), offset);
    mo_tensor *E = mo_exp(t, mo_sub(t, X, mo_segment_spread(t, largest, offset, n)));
    return mo_div(t, E, mo_segment_spread(t, mo_segment_sum(t, E, offset), offset, n));
}
