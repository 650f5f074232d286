/* tensor/cpu/fast/bf16.c - C = alpha op(A) op(B) + beta C, the entries of A and B rounded to bf16, by AVX512-BF16.
 *
 * The instruction VDPBF16PS adds a[2l] b[2l] + a[2l+1] b[2l+1] to each of 16 float32 sums. Hence the layout of a packed
 * operand: panels of LANES rows of A (columns of B), a panel is [k / 2][LANES] words, a word is the pair (2l, 2l + 1)
 * of one row (column); what is missing at the edges is zero. Eight rows of one panel of A meet two panels of B in 16
 * registers of sums.
 *
 * Every entry of C is one sum in order of k, closed every BLOCK_K terms, wherever the entry lies: X X^T is symmetric to
 * the last bit. Rounding is to nearest even, whatever the rounding mode of the thread; subnormal numbers count as zero,
 * as factors and as sums, since the instructions take them so. NaN and infinity stay what they are; a factor beyond the
 * largest number of bf16 rounds to infinity. */
#include "tensor/cpu/fast/bf16.h"

enum {
    LANES = 16,
    ROWS = 8,      /* of C that are formed at once */
    BLOCK_M = 64,  /* rows of A packed at once: 96 KiB at most */
    BLOCK_N = 512, /* columns of B packed at once: 768 KiB at most, inside a second-level cache */
    BLOCK_K = 768
};

static int64_t up_to(int64_t n, int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Terms between two closings of a sum: even, and as equal as they can be. */
static int64_t terms_of(int64_t k) {
    int64_t blocks = (k + BLOCK_K - 1) / BLOCK_K;
    return blocks ? up_to((k + blocks - 1) / blocks, 2) : 0;
}

static int64_t packed_words(int64_t lanes, int64_t terms) {
    return up_to(lanes, LANES) * ((terms + 1) / 2);
}

size_t bf16_scratch_bytes(int64_t m, int64_t n, int64_t k) {
    int64_t terms = least(k, BLOCK_K);
    return (size_t)(packed_words(least(m, BLOCK_M), terms) + packed_words(least(n, BLOCK_N), terms)) * sizeof(uint32_t);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define BF16_FUNCTION static __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define BF16_INLINE BF16_FUNCTION inline __attribute__((always_inline))

bool bf16_available(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bf16");
}

/* ---- packing ---- */

static __mmask16 first_lanes(int64_t n) {
    return n >= LANES ? 0xffff : n <= 0 ? 0 : (__mmask16)((1 << n) - 1);
}

/* Rounds low and high; the halves of the result in that order. */
BF16_INLINE __m512i round_both(__m512 low, __m512 high) {
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* One panel of at most LANES rows of x, which lie ld apart, if its terms are neighbours across the rows' memory:
 * term l of row r at x[l * ld + r]. */
BF16_FUNCTION void pack_across(const float *x, int64_t ld, int64_t rows, int64_t k, uint32_t *panel) {
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
        21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __mmask16 there = first_lanes(rows);
    for (int64_t l = 0; l < k; l += 2, panel += LANES) {
        __m512 even = _mm512_maskz_loadu_ps(there, x + l * ld);
        __m512 odd = l + 1 < k ? _mm512_maskz_loadu_ps(there, x + (l + 1) * ld) : _mm512_setzero_ps();
        _mm512_store_si512(panel, _mm512_permutexvar_epi16(pairs, round_both(even, odd)));
    }
}

/* w[i][j] becomes w[j][i]: words, then pairs of words, then quarters of vectors change places. */
BF16_INLINE void transpose_words(__m512i w[LANES]) {
    __m512i t[LANES], u[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 4) {
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i even0 = _mm512_shuffle_i32x4(u[i], u[4 + i], 0x88), odd0 = _mm512_shuffle_i32x4(u[i], u[4 + i], 0xdd);
        __m512i even1 = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0x88),
                odd1 = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0xdd);
        w[i] = _mm512_shuffle_i32x4(even0, even1, 0x88);
        w[4 + i] = _mm512_shuffle_i32x4(odd0, odd1, 0x88);
        w[8 + i] = _mm512_shuffle_i32x4(even0, even1, 0xdd);
        w[12 + i] = _mm512_shuffle_i32x4(odd0, odd1, 0xdd);
    }
}

/* The same panel if a row's terms are neighbours in memory: term l of row r at x[r * ld + l]. */
BF16_FUNCTION void pack_along(const float *x, int64_t ld, int64_t rows, int64_t k, uint32_t *panel) {
    for (int64_t l = 0; l < k; l += 2 * LANES, panel += LANES * LANES) {
        const __mmask16 low = first_lanes(k - l), high = first_lanes(k - l - LANES);
        __m512i w[LANES];
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            w[r] = r < rows ? round_both(_mm512_maskz_loadu_ps(low, x + r * ld + l),
                                  _mm512_maskz_loadu_ps(high, x + r * ld + l + LANES))
                            : _mm512_setzero_si512();
        transpose_words(w);
        int64_t pairs = least(LANES, (k - l + 1) / 2);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < pairs)
                _mm512_store_si512(panel + i * LANES, w[i]);
    }
}

/* Panels of `rows` rows; along: a row's terms are neighbours. */
static void pack(const float *x, int64_t ld, bool along, int64_t rows, int64_t k, uint32_t *panels) {
    for (int64_t r = 0; r < rows; r += LANES, panels += packed_words(LANES, k))
        if (along)
            pack_along(x + r * ld, ld, least(LANES, rows - r), k, panels);
        else
            pack_across(x + r, ld, least(LANES, rows - r), k, panels);
}

/* ---- multiplying ---- */

/* A part of C in front of packed operands. */
typedef struct part {
    int64_t pairs, ldc;
    float alpha, beta;
} part;

/* C := beta C + alpha times `rows` rows of a panel A with `panels` panels of B, of which the last may be cut by the
 * mask; rows and panels are constants after inlining. */
BF16_INLINE void multiply(
    const part *p, const uint32_t *A, const uint32_t *B, int rows, int panels, __mmask16 last, float *C) {
    __m512 sum[ROWS][2];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    const uint32_t *second = B + (panels - 1) * p->pairs * LANES;
    for (int64_t l = 0; l < p->pairs; l++) {
        __m512bh b0 = (__m512bh)_mm512_load_si512(B + l * LANES);
        __m512bh b1 = (__m512bh)_mm512_load_si512(second + l * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            __m512bh a = (__m512bh)_mm512_set1_epi32((int)A[l * LANES + i]);
            sum[i][0] = _mm512_dpbf16_ps(sum[i][0], a, b0);
            if (panels == 2)
                sum[i][1] = _mm512_dpbf16_ps(sum[i][1], a, b1);
        }
    }
    const __m512 alpha = _mm512_set1_ps(p->alpha), beta = _mm512_set1_ps(p->beta);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < panels; v++) {
            float *c = C + i * p->ldc + v * LANES;
            __mmask16 mask = v == panels - 1 ? last : 0xffff;
            __m512 y = _mm512_mul_ps(alpha, sum[i][v]);
            if (p->beta != 0)
                y = _mm512_fmadd_ps(beta, _mm512_maskz_loadu_ps(mask, c), y);
            _mm512_mask_storeu_ps(c, mask, y);
        }
}

BF16_INLINE void multiply_rows(const part *p, const uint32_t *A, const uint32_t *B, int rows, int64_t n, float *C) {
    if (n > LANES)
        multiply(p, A, B, rows, 2, first_lanes(n - LANES), C);
    else
        multiply(p, A, B, rows, 1, first_lanes(n), C);
}

/* m rows and at most two panels of columns; the rows beyond the last eight go by four, two and one. */
BF16_FUNCTION void multiply_columns(
    const part *p, const uint32_t *A, const uint32_t *B, int64_t m, int64_t n, float *C) {
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        multiply_rows(p, A + i / LANES * p->pairs * LANES + i % LANES, B, ROWS, n, C + i * p->ldc);
    A += i / LANES * p->pairs * LANES + i % LANES;
    C += i * p->ldc;
    if (m - i >= 4) {
        multiply_rows(p, A, B, 4, n, C);
        i += 4, A += 4, C += 4 * p->ldc;
    }
    if (m - i >= 2) {
        multiply_rows(p, A, B, 2, n, C);
        i += 2, A += 2, C += 2 * p->ldc;
    }
    if (m - i >= 1)
        multiply_rows(p, A, B, 1, n, C);
}

/* Columns j0 .. j0 + n - 1 of C and terms l0 .. l0 + k - 1, once B is packed. */
static void multiply_block(
    const bf16_call *g, const uint32_t *B, int64_t j0, int64_t n, int64_t l0, int64_t k, uint32_t *A) {
    part p = {.pairs = (k + 1) / 2, .ldc = g->ldc, .alpha = g->alpha, .beta = l0 ? 1 : g->beta};
    for (int64_t i0 = 0; i0 < g->m; i0 += BLOCK_M) {
        int64_t m = least(BLOCK_M, g->m - i0);
        pack(g->A + (g->transposed_A ? l0 * g->lda + i0 : i0 * g->lda + l0), g->lda, !g->transposed_A, m, k, A);
        for (int64_t j = 0; j < n; j += 2 * LANES)
            multiply_columns(&p, A, B + j * p.pairs, m, least(2 * LANES, n - j), g->C + i0 * g->ldc + j0 + j);
    }
}

void bf16_product(const bf16_call *g) {
    int64_t terms = terms_of(g->k), l0 = 0;
    do {
        int64_t k = least(terms, g->k - l0);
        for (int64_t j0 = 0; j0 < g->n; j0 += BLOCK_N) {
            int64_t n = least(BLOCK_N, g->n - j0);
            uint32_t *B = g->scratch, *A = B + packed_words(n, k);
            pack(g->B + (g->transposed_B ? j0 * g->ldb + l0 : l0 * g->ldb + j0), g->ldb, g->transposed_B, n, k, B);
            multiply_block(g, B, j0, n, l0, k, A);
        }
        l0 += terms;
    } while (l0 < g->k);
}

#else

bool bf16_available(void) {
    return false;
}

void bf16_product(const bf16_call *g) {
    (void)g; /* no context in this mode can be made here */
}

#endif
