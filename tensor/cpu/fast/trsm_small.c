/* tensor/cpu/fast/trsm_small.c - triangular systems of many small matrices, side by side: entry e of SYSTEM_LANES
 * matrices is one vector.
 *
 * A single small matrix would spend its time waiting for divisions and for its latest sum; the matrices advance
 * together, one vector operation per step. Lanes are independent, so a matrix's result does not depend on its
 * neighbours. In an incomplete group, the free lanes repeat the last matrix. */
#include "tensor/cpu/matrices.h"

#include <string.h>

/* One entry of SYSTEM_LANES matrices. */
typedef real lanes __attribute__((vector_size(64)));

#define INLINE static inline __attribute__((always_inline))

/* The distance between rows of n vectors. It is odd: with an even one, columns would fall on few sets of the cache. */
INLINE int64_t lane_row(int64_t n) {
    return n | 1;
}

/* Interleaves the first halves of a and b, and the second halves, entry by entry. */
#if MO_REAL_BITS == 32
#define ZIP_FIRST(a, b) __builtin_shufflevector((a), (b), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ZIP_SECOND(a, b) __builtin_shufflevector((a), (b), 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#else
#define ZIP_FIRST(a, b) __builtin_shufflevector((a), (b), 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_SECOND(a, b) __builtin_shufflevector((a), (b), 4, 12, 5, 13, 6, 14, 7, 15)
#endif

/* Transposes SYSTEM_LANES vectors: interleaving the halves of the list rotates the bits of an entry's position by one.
 */
INLINE void transpose_lanes(lanes *block) {
    lanes zipped[SYSTEM_LANES];
#pragma GCC unroll 4
    for (int bit = SYSTEM_LANES; bit > 1; bit /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < SYSTEM_LANES / 2; i++) {
            zipped[2 * i] = ZIP_FIRST(block[i], block[i + SYSTEM_LANES / 2]);
            zipped[2 * i + 1] = ZIP_SECOND(block[i], block[i + SYSTEM_LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < SYSTEM_LANES; i++)
            block[i] = zipped[i];
    }
}

/* Walks through the vectors of a matrix: n entries in a row, rows `row` vectors apart, `at` the next vector. */
typedef struct lane_place {
    int64_t n, row, column, at;
} lane_place;

INLINE int64_t next_place(lane_place *p) {
    int64_t at = p->at++;
    if (++p->column == p->n) {
        p->column = 0;
        p->at += p->row - p->n;
    }
    return at;
}

/* W = the matrices A [m, n], in rows of `row` vectors; the lanes beyond `count` repeat the last matrix. */
static void to_lanes(const real *const *A, int64_t count, int64_t m, int64_t n, lanes *restrict W, int64_t row) {
    lane_place p = {.n = n, .row = row};
    lanes block[SYSTEM_LANES];
    int64_t e = 0;
    for (; e + SYSTEM_LANES <= m * n; e += SYSTEM_LANES) {
        for (int64_t l = 0; l < SYSTEM_LANES; l++)
            memcpy(&block[l], A[l < count ? l : count - 1] + e, sizeof *block);
        transpose_lanes(block);
        for (int64_t k = 0; k < SYSTEM_LANES; k++)
            W[next_place(&p)] = block[k];
    }
    for (; e < m * n; e++) {
        lanes *w = &W[next_place(&p)];
        for (int64_t l = 0; l < SYSTEM_LANES; l++)
            (*w)[l] = A[l < count ? l : count - 1][e];
    }
}

/* The inverse of to_lanes: A = W for the first `count` matrices. */
static void from_lanes(const lanes *restrict W, int64_t row, int64_t count, int64_t m, int64_t n, real *const *A) {
    lane_place p = {.n = n, .row = row};
    lanes block[SYSTEM_LANES];
    int64_t e = 0;
    for (; e + SYSTEM_LANES <= m * n; e += SYSTEM_LANES) {
        for (int64_t k = 0; k < SYSTEM_LANES; k++)
            block[k] = W[next_place(&p)];
        transpose_lanes(block);
        for (int64_t l = 0; l < count; l++)
            memcpy(A[l] + e, &block[l], sizeof *block);
    }
    for (; e < m * n; e++) {
        const lanes *w = &W[next_place(&p)];
        for (int64_t l = 0; l < count; l++)
            A[l][e] = (*w)[l];
    }
}

/* The system op(T) X = B in lanes: T in W, B [n, m] in x, in rows of m vectors. */
typedef struct lane_system {
    const lanes *W;
    int64_t row, n, m;
    bool lower, transposed; /* T is lower; op(T) = T^T */
} lane_system;

INLINE void substitute(lane_system s, lanes *restrict x) {
    bool down = s.lower != s.transposed;
    for (int64_t step = 0; step < s.n; step++) {
        int64_t k = down ? step : s.n - 1 - step, first = down ? k + 1 : 0, last = down ? s.n : k;
        lanes inverse = 1 / s.W[k * s.row + k];
        for (int64_t c = 0; c < s.m; c++)
            x[k * s.m + c] *= inverse;
        for (int64_t i = first; i < last; i++) {
            lanes w = s.transposed ? s.W[k * s.row + i] : s.W[i * s.row + k];
            for (int64_t c = 0; c < s.m; c++)
                x[i * s.m + c] -= w * x[k * s.m + c];
        }
    }
}

/* x := op(T)^-1 x: each solved row is subtracted from the rows that are not solved yet. Common widths are compile-time
 * constants. */
INLINE void solve_lanes(lane_system s, lanes *restrict x) {
    const int64_t widths[] = {1, 2, 4, 8};
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        if (s.m == widths[i]) {
            s.m = widths[i];
            substitute(s, x);
            return;
        }
    substitute(s, x);
}

void trsm_small(const triangle *t, const mo_view *T, const mo_view *B, int64_t first) {
    int64_t n = t->n, m = B->shape[B->ndim - 1], count = min_of(SYSTEM_LANES, matrix_count(B) - first);
    lanes W[SMALL_MATRIX * (SMALL_MATRIX + 1)], x[SMALL_MATRIX * SMALL_COLUMNS];
    const real *from[SYSTEM_LANES];
    real *to[SYSTEM_LANES];
    for (int64_t l = 0; l < count; l++) {
        from[l] = (const real *)T->data + batch_offset(B, T, first + l);
        to[l] = (real *)B->data + (first + l) * n * m;
    }
    to_lanes(from, count, n, n, W, lane_row(n));
    to_lanes((const real *const *)to, count, n, m, x, m);
    lane_system s = {.W = W, .row = lane_row(n), .n = n, .m = m, .lower = t->lower, .transposed = t->transposed};
    solve_lanes(s, x);
    from_lanes(x, m, count, n, m, to);
}
