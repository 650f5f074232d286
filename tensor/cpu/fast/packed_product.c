/* tensor/cpu/fast/packed_product.c - a product of packed operands (avx512.h) on all threads of the context.
 *
 * All threads pack B together; then each thread takes some rows of C, packs these rows of A and multiplies. If a row of
 * op(A) is a column in memory, all threads also pack A together, along its lines. A thread that loses its processor to
 * other programs delays the other threads only by the part of C that it has begun; they compute the rest. In a batch of
 * small products each thread computes whole matrices instead. The terms of a sum and their order depend neither on how
 * the work is cut nor on the number of threads, so C always has the same bits. */
#include "tensor/cpu/fast/product.h"
#include "tensor/cpu/tasks.h"

enum {
    TASKS = 16,            /* parts of C: enough for 8 threads to end together */
    LEAST_ROWS = 8,        /* least rows of a part: a thread computes this number at once */
    MOST_ROWS = 64,        /* most rows of a part: a thread packs this number at once */
    COLUMNS = 8192,        /* most columns of B that are packed together */
    WIDE = 4096,           /* an op(A) stored by columns is packed together if it has at most this number of rows */
    MOST_PACKED = 8 << 20, /* bytes that are packed together, unless one block of terms has more */
    SMALL = 1 << 21,       /* most multiplications of a small matrix of a batch, which one thread does alone */
    SMALL_B = 1 << 18      /* most entries of B in such a small product */
};

/* Columns j0 .. j0 + n - 1 and terms l0 .. l0 + k - 1 of every matrix of the batch. */
typedef struct part_of_product {
    int64_t j0, n, l0, k;
} part_of_product;

static bool unit_rest(const product *p) {
    return (!p->bias || p->bias_column == 1) && (!p->addend || p->addend_column == 1);
}

static avx512_call call_of(const product *p, int64_t b, const part_of_product *s) {
    bool added = s->l0 == 0 && unit_rest(p);
    avx512_call g = {.m = p->m,
        .n = s->n,
        .k = s->k,
        .terms = p->packed->terms(p->k),
        .A = matrix_entry(&p->A, 0, s->l0) + product_offset(p, p->A.batch_stride, b),
        .B = matrix_entry(&p->B, s->l0, s->j0) + product_offset(p, p->B.batch_stride, b),
        .lda = p->A.ld,
        .ldb = p->B.ld,
        .ldc = p->ldc,
        .transposed_A = p->A.transposed,
        .transposed_B = p->B.transposed,
        .C = p->C + product_offset(p, p->C_stride, b) + s->j0,
        .alpha = p->alpha,
        .beta = s->l0 || !unit_rest(p) ? 1 : p->beta};
    if (added && p->bias)
        g.bias = p->bias + product_offset(p, p->bias_stride, b) + s->j0;
    if (added && p->addend) {
        g.addend = p->addend + product_offset(p, p->addend_stride, b) + s->j0;
        g.ld_addend = p->addend_row;
    }
    return g;
}

/* Computes rows i0 .. i1 - 1 of matrix b, including the epilogue. */
static void multiply_rows(const product *p, int64_t b, const part_of_product *s, int64_t i0, int64_t i1,
    const avx512_packed *packed, void *block) {
    const tile t = {.b = b, .i0 = i0, .i1 = i1, .j0 = s->j0, .j1 = s->j0 + s->n};
    avx512_call g = call_of(p, b, s);
    if (s->l0 == 0 && !unit_rest(p))
        product_start(p, &t);
    p->packed->multiply(&g, packed, i0, i1, block);
    if (s->l0 + s->k >= p->k)
        product_clip(p, &t);
}

/* ---- memory ---- */

static bool is_small(const product *p) {
    return p->batch > 1 && p->m * p->n * p->k <= SMALL && p->n * p->k <= SMALL_B;
}

static int64_t packed_columns(const product *p) {
    return min_of(p->n, COLUMNS);
}

/* The rows of op(A) that all threads pack together; 0: each thread packs the rows that it multiplies. */
static int64_t packed_rows(const product *p) {
    return p->A.transposed && p->m <= WIDE && !is_small(p) ? p->m : 0;
}

static int64_t packed_terms(const product *p) {
    int64_t terms = p->packed->terms(p->k), columns = packed_columns(p) + packed_rows(p);
    return min_of(p->k, max_of(1, MOST_PACKED / (int64_t)p->packed->packed_bytes(columns, terms)) * terms);
}

/* The scratch of a thread that multiplies matrices of a batch alone: all of B, and a block of A. */
static size_t alone_bytes(const product *p) {
    return p->packed->packed_bytes(p->n, p->k) + p->packed->block_bytes(p->k);
}

size_t packed_product_bytes(const product *p, int threads) {
    if (is_small(p))
        return (size_t)threads * alone_bytes(p);
    int64_t k = packed_terms(p);
    size_t packed = p->packed->packed_bytes(packed_columns(p), k), block = p->packed->block_bytes(p->k);
    return packed + (packed_rows(p) ? p->packed->packed_bytes(p->m, k) : (size_t)threads * block);
}

/* ---- a batch of small products ---- */

static void multiply_alone(const product *p, int64_t b, char *scratch) {
    const part_of_product all = {.n = p->n, .k = p->k};
    const avx512_packed packed = {.B = scratch};
    avx512_call g = call_of(p, b, &all);
    for (int64_t i = 0; i < p->packed->packings(&g, AVX512_B); i++)
        p->packed->pack(&g, AVX512_B, i, packed.B);
    multiply_rows(p, b, &all, 0, p->m, &packed, scratch + p->packed->packed_bytes(p->n, p->k));
}

typedef struct small_batch {
    const product *p;
    char *scratch;
} small_batch;

static void multiply_each(const void *of, task_range some) {
    const small_batch *s = of;
    for (int64_t b = some.first; b < some.end; b++)
        multiply_alone(s->p, b, s->scratch + (size_t)some.thread * alone_bytes(s->p));
}

/* ---- one product, or several with the same B ---- */

typedef struct crew {
    const product *p;
    part_of_product part;
    int64_t first, chunks; /* first: number of the first matrix; chunks: number of parts of the rows of a matrix */
    int64_t of_B;          /* number of packings of B, which come before the packings of A */
    avx512_packed packed;
    char *blocks;
} crew;

/* The first row of chunk i, a multiple of LEAST_ROWS; for i = chunks, the number of rows. */
static int64_t chunk_start(const product *p, int64_t chunks, int64_t i) {
    return i == chunks ? p->m : ceil_div(p->m, LEAST_ROWS) * i / chunks * LEAST_ROWS;
}

static void pack_some(const void *of, task_range some) {
    const crew *c = of;
    avx512_call g = call_of(c->p, c->first, &c->part);
    for (int64_t i = some.first; i < some.end; i++)
        if (i < c->of_B)
            c->p->packed->pack(&g, AVX512_B, i, c->packed.B);
        else
            c->p->packed->pack(&g, AVX512_A, i - c->of_B, c->packed.A);
}

static void multiply_chunks(const void *of, task_range some) {
    const crew *c = of;
    void *block = c->packed.A ? NULL : c->blocks + (size_t)some.thread * c->p->packed->block_bytes(c->p->k);
    for (int64_t chunk = some.first; chunk < some.end; chunk++) {
        int64_t b = c->first + chunk / c->chunks, i = chunk % c->chunks;
        int64_t i0 = min_of(c->p->m, chunk_start(c->p, c->chunks, i));
        multiply_rows(c->p, b, &c->part, i0, chunk_start(c->p, c->chunks, i + 1), &c->packed, block);
    }
}

static void multiply_part(crew *c, int64_t count, int threads) {
    avx512_call g = call_of(c->p, c->first, &c->part);
    c->of_B = c->p->packed->packings(&g, AVX512_B);
    int64_t packings = c->of_B + (c->packed.A ? c->p->packed->packings(&g, AVX512_A) : 0);
    run_tasks(threads, packings, 1, pack_some, c);
    run_tasks(threads, count * c->chunks, 1, multiply_chunks, c);
}

/* Multiplies `count` matrices of the batch from number `first` on, which share one B; count is 1 if A is packed as a
 * whole. */
static void multiply_together(const product *p, int64_t first, int64_t count, int threads, char *scratch) {
    crew c = {.p = p, .first = first, .chunks = ceil_div(p->m, MOST_ROWS), .packed = {.B = scratch}};
    if (c.chunks * count < TASKS)
        c.chunks = max_of(1, min_of(TASKS, p->m / LEAST_ROWS));
    c.blocks = scratch + p->packed->packed_bytes(packed_columns(p), packed_terms(p));
    c.packed.A = packed_rows(p) ? c.blocks : NULL;
    for (int64_t j = 0; j < p->n; j += COLUMNS) {
        int64_t l = 0;
        do {
            c.part = (part_of_product){j, min_of(COLUMNS, p->n - j), l, min_of(packed_terms(p), p->k - l)};
            multiply_part(&c, count, threads);
            l += c.part.k;
        } while (l < p->k);
    }
}

static bool same_B(const product *p) {
    bool same = true;
    for (int i = 0; i < p->axes; i++)
        same = same && (p->B.batch_stride[i] == 0 || p->size[i] == 1);
    return same;
}

void packed_product(const product *p, int threads, void *scratch) {
    if (is_small(p)) {
        int64_t some = max_of(1, SMALL / 8 / max_of(1, p->m * p->n * p->k));
        run_tasks(threads, p->batch, some, multiply_each, &(small_batch){p, scratch});
        return;
    }
    int64_t count = same_B(p) && !packed_rows(p) ? p->batch : 1;
    for (int64_t b = 0; b < p->batch; b += count)
        multiply_together(p, b, count, threads, scratch);
}
