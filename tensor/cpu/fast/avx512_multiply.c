/* tensor/cpu/fast/avx512_multiply.c - C = alpha op(A) op(B) + beta C + bias + addend of packed operands
 * (avx512_panels.h), on one thread: eight rows of one panel of A meet two panels of B in 16 registers of sums.
 *
 * Every entry of C is summed in order of k, and each block's sum is added to C. This order does not depend on where the
 * entry lies or on which rows are computed together, so X X^T is symmetric to the last bit. In bf16 a subnormal sum is
 * zero, as the instruction defines it.
 *
 * C seldom lies in a cache. So, before a tile of C is formed, the processor is told to fetch the lines of this tile. */
#include "tensor/cpu/fast/avx512_panels.h"

enum { ROWS = 8 /* rows of C that are formed at once */ };

#if defined(__x86_64__)

/* Returns sum + a b in each lane. In bf16 a lane of a and of b holds two entries, and both products are added. */
PANEL_INLINE __m512 add_products(__m512 sum, __m512i a, __m512i b) {
#if MO_PANEL_BITS == 16
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#else
    return _mm512_fmadd_ps((__m512)a, (__m512)b, sum);
#endif
}

/* A block of terms of some rows of C. */
typedef struct part {
    const avx512_call *g;
    int64_t words; /* words of one row in a panel */
    bool first;    /* the first block of terms: adds beta C, bias and addend; later blocks add their sums to C */
} part;

/* Returns y, which is alpha times the sums of row i and columns j .., plus beta C, bias and addend, or plus the sums of
 * earlier blocks. */
PANEL_INLINE __m512 add_rest(const part *p, int64_t i, int64_t j, __mmask16 mask, __m512 y) {
    const avx512_call *g = p->g;
    const float *c = g->C + i * g->ldc + j;
    if (!p->first)
        return _mm512_add_ps(_mm512_maskz_loadu_ps(mask, c), y);
    if (!g->bias && !g->addend)
        return g->beta == 0 ? y : _mm512_fmadd_ps(_mm512_set1_ps(g->beta), _mm512_maskz_loadu_ps(mask, c), y);
    __m512 rest = _mm512_setzero_ps();
    if (g->beta != 0)
        rest = _mm512_mul_ps(_mm512_set1_ps(g->beta), _mm512_maskz_loadu_ps(mask, c));
    if (g->bias)
        rest = _mm512_add_ps(rest, _mm512_maskz_loadu_ps(mask, g->bias + j));
    if (g->addend)
        rest = _mm512_add_ps(rest, _mm512_maskz_loadu_ps(mask, g->addend + i * g->ld_addend + j));
    return _mm512_add_ps(rest, y);
}

/* Computes rows i .. i + rows - 1 and the columns from j on of C, from a panel of A and `panels` panels of B, the last
 * of which has only the columns in the mask `last`. `rows` and `panels` are constants after inlining. */
PANEL_INLINE void multiply(
    part *p, const uint32_t *A, const uint32_t *B, int rows, int panels, __mmask16 last, int64_t i, int64_t j) {
    float *C = p->g->C + i * p->g->ldc + j;
    __m512 sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
        for (int v = 0; v < panels; v++)
            __builtin_prefetch(C + r * p->g->ldc + v * LANES, 1, 3);
    }
    const uint32_t *second = B + (panels - 1) * p->words * LANES;
    for (int64_t l = 0; l < p->words; l++) {
        __m512i b0 = _mm512_load_si512(B + l * LANES), b1 = _mm512_load_si512(second + l * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            __m512i a = _mm512_set1_epi32((int)A[l * LANES + r]);
            sum[r][0] = add_products(sum[r][0], a, b0);
            if (panels == 2)
                sum[r][1] = add_products(sum[r][1], a, b1);
        }
    }
    const __m512 alpha = _mm512_set1_ps(p->g->alpha);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < panels; v++) {
            __mmask16 mask = v == panels - 1 ? last : 0xffff;
            __m512 y = add_rest(p, i + r, j + v * LANES, mask, _mm512_mul_ps(alpha, sum[r][v]));
            _mm512_mask_storeu_ps(C + r * p->g->ldc + v * LANES, mask, y);
        }
}

PANEL_INLINE void multiply_rows(part *p, const uint32_t *A, const uint32_t *B, int rows, int64_t i, int64_t j) {
    int64_t n = p->g->n - j;
    if (n > LANES)
        multiply(p, A, B, rows, 2, first_lanes(n - LANES), i, j);
    else
        multiply(p, A, B, rows, 1, first_lanes(n), i, j);
}

/* Computes rows i0 .. i1 - 1 of C, and at most two panels of columns from j on. The packed A begins with row `top`, and
 * i0 - top is a multiple of ROWS. Rows that do not fill a group of eight are computed four, two and one at a time. */
PANEL_FUNCTION void multiply_columns(
    part *p, const uint32_t *A, int64_t top, const uint32_t *B, int64_t i0, int64_t i1, int64_t j) {
    int64_t i = i0, panel = p->words * LANES;
    for (; i + ROWS <= i1; i += ROWS)
        multiply_rows(p, A + (i - top) / LANES * panel + (i - top) % LANES, B, ROWS, i, j);
    A += (i - top) / LANES * panel + (i - top) % LANES;
    if (i1 - i >= 4) {
        multiply_rows(p, A, B, 4, i, j);
        i += 4, A += 4;
    }
    if (i1 - i >= 2) {
        multiply_rows(p, A, B, 2, i, j);
        i += 2, A += 2;
    }
    if (i1 - i >= 1)
        multiply_rows(p, A, B, 1, i, j);
}

static void panel_multiply(const avx512_call *g, const avx512_packed *packed, int64_t i0, int64_t end, void *block) {
    panel_operand X = panel_operand_of(g, AVX512_A);
    for (; i0 < end; i0 += BLOCK_M) {
        int64_t i1 = least(end, i0 + BLOCK_M), l0 = 0;
        do {
            int64_t k = least(g->terms, g->k - l0);
            const uint32_t *B = (const uint32_t *)packed->B + packed_words(g->n, l0), *A = block;
            part p = {.g = g, .words = (k + IN_WORD - 1) / IN_WORD, .first = l0 == 0};
            if (packed->A) {
                A = (const uint32_t *)packed->A + packed_words(g->m, l0);
            } else {
                pack_panels(&X, i0, i1 - i0, l0, k, block);
            }
            for (int64_t j = 0; j < g->n; j += 2 * LANES)
                multiply_columns(&p, A, packed->A ? 0 : i0, B + j * p.words, i0, i1, j);
            l0 += g->terms;
        } while (l0 < g->k);
    }
}

#else

static void panel_multiply(const avx512_call *g, const avx512_packed *packed, int64_t i0, int64_t end, void *block) {
    (void)g, (void)packed, (void)i0, (void)end, (void)block;
}

#endif

const avx512_kernels PANEL(avx512) = {
    .terms = panel_terms,
    .packed_bytes = panel_packed_bytes,
    .block_bytes = panel_block_bytes,
    .packings = panel_packings,
    .pack = panel_pack,
    .multiply = panel_multiply,
};

#if MO_PANEL_BITS == 16

bool avx512_has_bf16(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

#else

bool avx512_has_f32(void) {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    return true;
#else
    return false;
#endif
}

#endif
