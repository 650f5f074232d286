/* tensor/cpu/fast/lu_small.c - LU factors of small matrices, and solves with them, side by side in lanes.
 *
 * As in lu.c, the row-major buffer holds the LU of M = A^T, column j of M in row j. M is factored a column at a time
 * (the gaxpy form of Golub and Van Loan 2013, 3.2.5): the column is read in the order that the rows have so far, the
 * earlier columns are subtracted, and its largest entry becomes the pivot. */
#include "tensor/cpu/fast/lu_small.h"
#include "tensor/cpu/matrices.h"

#include <float.h>
#include <math.h>

typedef struct lu_lanes {
    lanes W[SMALL_MATRIX * (SMALL_MATRIX + 1)]; /* entry (i, j) of L and U: W[j row + i] */
    int64_t row;
    bool moved;                         /* a row of some matrix has been exchanged */
    int32_t order[LANES][SMALL_MATRIX]; /* row i of P M is row order[i] of M */
    lanes pivot[SMALL_MATRIX];          /* the row exchanged with row j, counted from 0 */
    lane_words refused,
        singular; /* refused: whether a value is not finite; singular: first zero pivot, counted from 1, or 0 */
    lanes norm;
} lu_lanes;

/* x = column j of P M, read from row j of W, which holds column j of M; s->norm becomes the column's sum of magnitudes
 * if that is larger. Here and below the order n is passed in, so that a call inlined for a common order has it as a
 * constant. */
LANE_FUNCTION void read_column(lu_lanes *s, int64_t n, int64_t j, lanes *restrict x) {
    const lanes *w = s->W + j * s->row;
    lanes sum = {0}, residue = {0}; /* x - x is 0 except for Inf and NaN */
    for (int64_t i = 0; i < n; i++) {
        x[i] = w[i];
        sum += lanes_abs(w[i]);
        residue += w[i] - w[i];
    }
    s->norm = lanes_max(sum, s->norm);
    s->refused |= ~(residue == 0);
    for (int64_t l = 0; l < LANES && s->moved; l++)
        for (int64_t i = 0; i < n; i++)
            x[i][l] = w[s->order[l][i]][l];
}

/* x -= L u over the columns before j, two at a time. */
LANE_FUNCTION void subtract_columns(const lu_lanes *s, int64_t n, int64_t j, lanes *restrict x) {
    int64_t k = 0;
    for (; k + 1 < j; k += 2) {
        const lanes *a = s->W + k * s->row, *b = a + s->row;
        lanes u = x[k], v = x[k + 1] -= a[k + 1] * u;
        for (int64_t i = k + 2; i < n; i++)
            x[i] = x[i] - a[i] * u - b[i] * v;
    }
    if (k < j)
        for (int64_t i = k + 1; i < n; i++)
            x[i] -= s->W[k * s->row + i] * x[k];
}

/* Moves row `row` of lane l to position j: in x, in the columns before it and in the order. */
static void exchange_lane(lu_lanes *s, int64_t j, int64_t row, int64_t l, lanes *restrict x) {
    s->moved = true;
    int32_t from = s->order[l][j];
    s->order[l][j] = s->order[l][row];
    s->order[l][row] = from;
    swap((real *)&x[j] + l, (real *)&x[row] + l);
    for (int64_t k = 0; k < j; k++)
        swap((real *)&s->W[k * s->row + j] + l, (real *)&s->W[k * s->row + row] + l);
}

LANE_FUNCTION bool in_some_lane(lane_words condition) {
    int64_t words[64 / sizeof(int64_t)], any = 0;
    memcpy(words, &condition, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        any |= words[i];
    return any != 0;
}

/* The largest entry of x from j on becomes the pivot. A lane where all these entries are 0 continues with 1. */
LANE_FUNCTION void choose_pivot(lu_lanes *s, int64_t n, int64_t j, lanes *restrict x) {
    lanes best = lanes_abs(x[j]), place = lanes_of((real)j);
    for (int64_t i = j + 1; i < n; i++) {
        lanes size = lanes_abs(x[i]);
        place = lanes_choose(size > best, lanes_of((real)i), place);
        best = lanes_max(size, best);
    }
    s->pivot[j] = place;
    for (int64_t l = 0; l < LANES && in_some_lane(place != (real)j); l++)
        if (place[l] != (real)j)
            exchange_lane(s, j, (int64_t)place[l], l, x);
    lane_words none = best == 0;
    s->singular |= none & (s->singular == 0) & ((lane_words){0} + (int32_t)(j + 1));
    x[j] = lanes_choose(none, lanes_of(1), x[j]);
}

LANE_FUNCTION void factor(lu_lanes *s, int64_t n) {
    lanes x[SMALL_MATRIX];
    for (int64_t l = 0; l < LANES; l++)
        for (int64_t i = 0; i < n; i++)
            s->order[l][i] = (int32_t)i;
    for (int64_t j = 0; j < n; j++) {
        read_column(s, n, j, x);
        subtract_columns(s, n, j, x);
        choose_pivot(s, n, j, x);
        lanes inverse = 1 / x[j], *w = s->W + j * s->row;
        for (int64_t i = 0; i <= j; i++)
            w[i] = x[i];
        for (int64_t i = j + 1; i < n; i++)
            w[i] = x[i] * inverse;
    }
}

/* ---- solves with the factors ---- */

/* x := A^-1 x without the row exchanges, by U^T, then L^T; transposed: x := A^-T x, by L, then U. */
LANE_FUNCTION void solve_factors(const lanes *W, int64_t n, int64_t m, bool transposed, lanes *restrict x) {
    lane_system U = {.W = W, .row = lane_row(n), .n = n, .m = m, .lower = true, .transposed = transposed};
    lane_system L = {.W = W, .row = lane_row(n), .n = n, .m = m, .transposed = transposed, .unit = true};
    solve_lanes(transposed ? L : U, x);
    solve_lanes(transposed ? U : L, x);
}

static void exchange_rows(const int32_t *pivot, int64_t n, int64_t m, bool forward, int64_t l, lanes *x) {
    for (int64_t step = 0; step < n; step++) {
        int64_t i = forward ? step : n - 1 - step, row = pivot[i] - 1;
        for (int64_t c = 0; c < m && row != i; c++)
            swap((real *)&x[i * m + c] + l, (real *)&x[row * m + c] + l);
    }
}

LANE_FUNCTION void solve_group(const small_systems *s, int64_t n, int64_t m) {
    lanes W[SMALL_MATRIX * (SMALL_MATRIX + 1)], x[SMALL_MATRIX * SMALL_COLUMNS];
    to_lanes(s->factor, s->count, n, n, W, lane_row(n));
    to_lanes((const real *const *)s->B, s->count, n, m, x, m);
    for (int64_t l = 0; l < s->count && s->transposed; l++)
        exchange_rows(s->pivot[l], n, m, true, l, x);
    if (s->transposed)
        solve_factors(W, n, m, true, x);
    else
        solve_factors(W, n, m, false, x);
    for (int64_t l = 0; l < s->count && !s->transposed; l++)
        exchange_rows(s->pivot[l], n, m, false, l, x);
    from_lanes(x, m, s->count, n, m, s->B);
}

void getrs_small(const small_systems *s) {
    if (s->n == 4 && s->m == 1)
        solve_group(s, 4, 1);
    else
        solve_group(s, s->n, s->m);
}

/* ---- condition ---- */

LANE_FUNCTION lanes sum_magnitudes(const lanes *x, int64_t n) {
    lanes sum = {0};
    for (int64_t i = 0; i < n; i++)
        sum += lanes_abs(x[i]);
    return sum;
}

/* A lower bound of |M| |M^-1| in the 1-norm that is rarely off by more than a factor of 3 (Higham 2002, 15.3): the
 * larger of |M| |M^-1 x| / |x| for an alternating, growing x, and |M| |M^-1 e_i|, where i is the position of the
 * largest entry of M^-T sign(M^-1 x). */
LANE_FUNCTION lanes estimate_condition(const lu_lanes *s, int64_t n) {
    lanes x[SMALL_MATRIX];
    for (int64_t i = 0; i < n; i++)
        x[i] = s->norm * ((i & 1 ? -1 : 1) * (1 + (real)i / (real)n));
    lanes start = sum_magnitudes(x, n);
    solve_factors(s->W, n, 1, true, x);
    lanes condition = s->norm * (sum_magnitudes(x, n) / start), best = lanes_of(-1), place = lanes_of(-1);
    for (int64_t i = 0; i < n; i++)
        x[i] = lanes_choose(x[i] < 0, lanes_of(-1), lanes_of(1));
    solve_factors(s->W, n, 1, false, x);
    for (int64_t i = 0; i < n; i++) {
        place = lanes_choose(lanes_abs(x[i]) > best, lanes_of((real)i), place);
        best = lanes_max(lanes_abs(x[i]), best);
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = lanes_choose(place == (real)i, s->norm, lanes_of(0));
    solve_factors(s->W, n, 1, true, x);
    lanes grown = sum_magnitudes(x, n);
    return lanes_choose((condition > grown) | (condition != condition), condition, grown); /* NaN counts as largest */
}

LANE_FUNCTION void factor_group(real *A, int64_t count, int64_t n, int32_t *pivot, int32_t *info) {
    lu_lanes s;
    const real *from[LANES];
    real *to[LANES];
    for (int64_t l = 0; l < LANES; l++) {
        to[l] = A + (l < count ? l : count - 1) * n * n;
        from[l] = to[l];
    }
    s.refused = s.singular = (lane_words){0};
    s.norm = lanes_of(0);
    s.moved = false;
    s.row = lane_row(n);
    to_lanes(from, LANES, n, n, s.W, s.row);
    factor(&s, n);
    lanes condition = estimate_condition(&s, n);
    lane_words vague = ~(condition <= 1 / (sizeof(real) == 4 ? FLT_EPSILON : (real)DBL_EPSILON));
    for (int64_t l = 0; l < count; l++) {
        info[l] = s.refused[l] ? -1 : s.singular[l] ? (int32_t)s.singular[l] : n > 0 && vague[l] ? -2 : 0;
        for (int64_t i = 0; i < n; i++)
            pivot[l * n + i] = (int32_t)s.pivot[i][l] + 1;
    }
    from_lanes(s.W, s.row, count, n, n, to);
}

void getrf_small(real *A, int64_t count, int64_t n, int32_t *pivot, int32_t *info) {
    if (sizeof(real) == 4 && n == 4) /* a constant order; not in float64, as gcc 12 would warn about its loops */
        factor_group(A, count, 4, pivot, info);
    else
        factor_group(A, count, n, pivot, info);
}
