/* tensor/cpu/fast/avx512_pack.c - packs operands of products (avx512_panels.h), and rounds them if the kernels use
 * bf16.
 *
 * Rounding is to nearest even, whatever the rounding mode of the thread; subnormal numbers count as zero, as in the
 * instruction. NaN and infinity do not change; a number beyond the largest of bf16 rounds to infinity. */
#include "tensor/cpu/fast/avx512_panels.h"

enum {
    GROUP = 64,              /* rows of the stored matrix that are packed in one task */
    DEEP = 8 * IN_WORD,      /* terms that one panel gets before the next panel's turn */
    SQUARE = LANES * IN_WORD /* number of terms that fill LANES words, one for each row of a panel */
};

int64_t panel_terms(int64_t k) {
    int64_t blocks = (k + BLOCK_K - 1) / BLOCK_K;
    return blocks ? ((k + blocks - 1) / blocks + 1) / 2 * 2 : 2;
}

size_t panel_packed_bytes(int64_t n, int64_t k) {
    return (size_t)packed_words(n, k) * sizeof(uint32_t);
}

size_t panel_block_bytes(int64_t k) {
    return (size_t)packed_words(BLOCK_M, least(k, BLOCK_K)) * sizeof(uint32_t);
}

/* A task packs GROUP rows of the matrix as it is stored. If X->along, a stored row is a row of op(A) or a column of
 * op(B); otherwise it is one term of all rows of op(A) or columns of op(B). */
static int64_t tasks_of_block(const panel_operand *X, int64_t k) {
    return ((X->along ? X->n : k) + GROUP - 1) / GROUP;
}

int64_t panel_packings(const avx512_call *g, avx512_side side) {
    panel_operand X = panel_operand_of(g, side);
    int64_t whole = g->k / g->terms;
    return whole * tasks_of_block(&X, g->terms) + tasks_of_block(&X, g->k - whole * g->terms);
}

#if defined(__x86_64__)

#if MO_PANEL_BITS == 16

/* Rounds both vectors to bf16: first the entries of low, then the entries of high. */
PANEL_INLINE __m512i round_both(__m512 low, __m512 high) {
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* One word for each of LANES rows r: the terms x[r] and x[ld + r]. If `left` is 1, the second term does not exist and
 * is 0. */
PANEL_INLINE __m512i words_across(const float *x, int64_t ld, int64_t left, __mmask16 rows) {
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
        21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512 odd = left > 1 ? _mm512_maskz_loadu_ps(rows, x + ld) : _mm512_setzero_ps();
    return _mm512_permutexvar_epi16(pairs, round_both(_mm512_maskz_loadu_ps(rows, x), odd));
}

/* The words of SQUARE terms of one row, of which `left` exist; the others are 0. */
PANEL_INLINE __m512i words_along(const float *x, int64_t left) {
    return round_both(
        _mm512_maskz_loadu_ps(first_lanes(left), x), _mm512_maskz_loadu_ps(first_lanes(left - LANES), x + LANES));
}

#else

PANEL_INLINE __m512i words_across(const float *x, int64_t ld, int64_t left, __mmask16 rows) {
    (void)ld, (void)left;
    return _mm512_maskz_loadu_epi32(rows, x);
}

PANEL_INLINE __m512i words_along(const float *x, int64_t left) {
    return _mm512_maskz_loadu_epi32(first_lanes(left), x);
}

#endif

/* Packs x's rows into panels if the terms of a row lie ld apart: term l of row r is x[l * ld + r]. The panels lie
 * `panel` words apart. Every panel gets its next DEEP terms before any panel gets more, so that neighbouring lines of
 * memory are read soon after each other. */
PANEL_FUNCTION void pack_across(const float *x, int64_t ld, int64_t rows, int64_t k, int64_t panel, uint32_t *panels) {
    for (int64_t l0 = 0; l0 < k; l0 += DEEP)
        for (int64_t r = 0; r < rows; r += LANES) {
            const __mmask16 there = first_lanes(rows - r);
            uint32_t *to = panels + r / LANES * panel + l0 / IN_WORD * LANES;
            const float *from = x + l0 * ld + r;
            for (int64_t l = l0; l < least(k, l0 + DEEP); l += IN_WORD, from += IN_WORD * ld, to += LANES)
                _mm512_store_si512(to, words_across(from, ld, k - l, there));
        }
}

/* w[i][j] becomes w[j][i]: words, then pairs of words, then quarters of vectors change places. */
PANEL_INLINE void transpose_words(__m512i w[LANES]) {
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

/* Packs at most LANES rows into one panel if the terms of a row are neighbours: term l of row r is x[r * ld + l]. */
PANEL_FUNCTION void pack_along(const float *x, int64_t ld, int64_t rows, int64_t k, uint32_t *panel) {
    for (int64_t l = 0; l < k; l += SQUARE, panel += LANES * LANES) {
        __m512i w[LANES];
#pragma GCC unroll 16
        for (int r = 0; r < LANES; r++)
            w[r] = r < rows ? words_along(x + r * ld + l, k - l) : _mm512_setzero_si512();
        transpose_words(w);
        int64_t words = least(LANES, (k - l + IN_WORD - 1) / IN_WORD);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < words)
                _mm512_store_si512(panel + i * LANES, w[i]);
    }
}

void pack_panels(const panel_operand *X, int64_t i0, int64_t n, int64_t l0, int64_t k, uint32_t *panels) {
    if (!X->along)
        pack_across(X->data + l0 * X->ld + i0, X->ld, n, k, packed_words(LANES, k), panels);
    else
        for (int64_t i = 0; i < n; i += LANES, panels += packed_words(LANES, k))
            pack_along(X->data + (i0 + i) * X->ld + l0, X->ld, least(LANES, n - i), k, panels);
}

void panel_pack(const avx512_call *g, avx512_side side, int64_t task, void *packed) {
    panel_operand X = panel_operand_of(g, side);
    int64_t each = tasks_of_block(&X, g->terms), l0 = task / each * g->terms, k = least(g->terms, g->k - l0);
    int64_t first = task % each * GROUP;
    uint32_t *block = (uint32_t *)packed + packed_words(X.n, l0);
    if (X.along)
        pack_panels(&X, first, least(GROUP, X.n - first), l0, k, block + packed_words(first, k));
    else
        pack_across(X.data + (l0 + first) * X.ld, X.ld, X.n, least(GROUP, k - first), packed_words(LANES, k),
            block + packed_words(LANES, first));
}

#else /* compiled without such vectors */

void panel_pack(const avx512_call *g, avx512_side side, int64_t task, void *packed) {
    (void)g, (void)side, (void)task, (void)packed;
}

#endif
