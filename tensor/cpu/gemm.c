/* tensor/cpu/gemm.c - C = relu(alpha A B + beta C + bias + addend), batched.
 *
 * The plain loop nest comes first. A larger product is cut into tiles, each one call of serial BLAS. Bias and addend
 * are written to C before the call, which then adds: BLAS would otherwise spend the same pass on zeroing C. A
 * transposed view is a BLAS flag; only operands without a unit stride are packed. Batch and tiles form one list of
 * independent tasks. Batch axes over which B is constant are merged with the rows of A if the strides allow it.
 *
 * In the mode bf16 the entries of float32 A and B are rounded; alpha, beta and the addends stay float32. Large products
 * are then of bf16 if the processor multiplies bf16 faster than float32; all others are of the rounded float32. */
#include "tensor/cpu/fast/onednn.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/tasks.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

enum {
    TILE_ROWS = 384,  /* most rows of a tile: its part of C fits second-level cache, packing B costs a few percent */
    LEAST_ROWS = 192, /* least rows of a tile: with fewer, the cost of packing shows */
    LEAST_COLUMNS = 128,
    TILES = 8,           /* tiles of a product: enough for 8 threads */
    PIECES_C = 1 << 19,  /* if C has at most this number of elements, a long k is cut instead of C: see product_cut */
    PIECE = 192,         /* least length of a piece of k */
    VECTOR_TILE = 65536, /* elements of the matrix in one tile of a matrix-vector product */
    TINY = 4096,         /* multiplications not worth a BLAS call */
    TURNED = 1024,       /* most elements of B that the plain loops transpose */
    TASK_FLOP = 500000,
    STRIP = 2048,         /* elements of C for which one task adds the pieces */
    TURNED_ROWS = 512,    /* rows of C from which a transposed B is turned first: oneDNN multiplies it a sixth slower */
    NARROW_SIDE = 16,     /* least side of a product of bf16: a smaller one does not fill the instructions */
    NARROW_FROM = 1 << 20 /* least multiplications per matrix of a product of bf16 */
};

/* A matrix in the form that BLAS takes: op(data) with leading dimension ld; batch_stride per batch axis. narrow: its
 * entries are bf16, of two bytes. */
typedef struct matrix {
    const void *data;
    int64_t ld;
    bool transposed, narrow;
    int64_t batch_stride[MO_MAX_AXES];
} matrix;

/* C [m, n] over batch axes, computed in tiles of C or, if C is small and k long, in pieces of k, whose partial products
 * are added in order. */
typedef struct product {
    int64_t m, n, k;
    int axes; /* number of batch axes */
    int64_t size[MO_MAX_AXES], batch;
    matrix A, B;
    real *C;
    int64_t ldc, C_stride[MO_MAX_AXES];
    const real *bias, *addend;
    int64_t bias_column, bias_stride[MO_MAX_AXES];
    int64_t addend_row, addend_column, addend_stride[MO_MAX_AXES];
    real alpha, beta;
    bool relu;
    int64_t tiles_m, tiles_n, pieces_k;
} product;

/* Rows i0 .. i1-1 and columns j0 .. j1-1 of one matrix of the batch. */
typedef struct tile {
    int64_t b, i0, i1, j0, j1;
} tile;

/* ---- the plain loop nest ---- */

/* One multiplication C := alpha op(A) op(B) + beta C of plain matrices; op transposes if its flag is set. */
typedef struct call {
    int64_t m, n, k;
    const real *A, *B;
    int64_t lda, ldb, ldc;
    bool transposed_A, transposed_B;
    real *C;
    real alpha, beta;
} call;

static void scale(real *restrict c, int64_t n, real beta) {
    if (beta == 0)
        memset(c, 0, (size_t)n * sizeof(real));
    else if (beta != 1)
        for (int64_t j = 0; j < n; j++)
            c[j] *= beta;
}

/* c = beta c + alpha times the sum of B's rows, weighted by row a of op(A). */
static void add_rows(const call *g, const real *a, int64_t a_step, real *restrict c) {
    int64_t first = 0;
    if (g->beta == 0 && g->k > 0) { /* the first row overwrites c, which saves a pass that zeroes c */
        real w = g->alpha * a[0];
        const real *restrict b = g->B;
        for (int64_t j = 0; j < g->n; j++)
            c[j] = w * b[j];
        first = 1;
    } else {
        scale(c, g->n, g->beta);
    }
    for (int64_t l = first; l < g->k; l++) {
        real w = g->alpha * a[l * a_step];
        const real *restrict b = g->B + l * g->ldb;
        for (int64_t j = 0; j < g->n; j++)
            c[j] += w * b[j];
    }
}

/* add_rows for a B that op transposes: dot products of row a of op(A) with the rows of B. */
static void add_products(const call *g, const real *a, int64_t a_step, real *restrict c) {
    scale(c, g->n, g->beta);
    for (int64_t j = 0; j < g->n; j++) {
        real sum = 0;
        for (int64_t l = 0; l < g->k; l++)
            sum += a[l * a_step] * g->B[j * g->ldb + l];
        c[j] += g->alpha * sum;
    }
}

/* Loops along the rows of B and C: if op transposes B, first transposes B if it is small and C has enough rows. */
static void run_loops(const call *given) {
    call g = *given;
    real turned[TURNED];
    int64_t a_row = g.transposed_A ? 1 : g.lda, a_step = g.transposed_A ? g.lda : 1;
    if (g.transposed_B && g.m >= 4 && g.k * g.n <= TURNED) {
        for (int64_t j = 0; j < g.n; j++)
            for (int64_t l = 0; l < g.k; l++)
                turned[l * g.n + j] = g.B[j * g.ldb + l];
        g.B = turned;
        g.ldb = g.n;
        g.transposed_B = false;
    }
    for (int64_t i = 0; i < g.m; i++)
        if (g.transposed_B)
            add_products(&g, g.A + i * a_row, a_step, g.C + i * g.ldc);
        else
            add_rows(&g, g.A + i * a_row, a_step, g.C + i * g.ldc);
}

/* ---- tiles ---- */

/* count rounded up to 1, 2, 4 or a multiple of 8, so that 2, 4 and 8 threads share evenly. */
static int64_t even_count(int64_t count) {
    return count <= 2 ? max_of(1, count) : count <= 4 ? 4 : ceil_div(count, 8) * 8;
}

static void cut_vector(product *p) {
    int64_t count = even_count(min_of(64, p->m * p->n * p->k / VECTOR_TILE));
    if (p->n == 1)
        p->tiles_m = max_of(1, min_of(count, p->m / 16));
    else
        p->tiles_n = max_of(1, min_of(count, p->n / 16));
}

/* Cuts each matrix into tiles so that the whole batch has about TILES of them, none too small for BLAS. */
static void cut_matrix(product *p) {
    p->tiles_m = even_count(ceil_div(p->m, TILE_ROWS));
    while (p->tiles_m * p->batch < TILES && p->m / (2 * p->tiles_m) >= LEAST_ROWS)
        p->tiles_m *= 2;
    while (p->tiles_m * p->tiles_n * p->batch < TILES && p->n / (2 * p->tiles_n) >= LEAST_COLUMNS)
        p->tiles_n *= 2;
}

/* If C is small and k long, k is cut, because each operand is then read once. A piece of k is at least as long as the
 * sides of C, so that adding the pieces stays cheap. */
static void product_cut(product *p) {
    p->tiles_m = p->tiles_n = p->pieces_k = 1;
    int64_t multiplications = p->m * p->n * p->k;
    if (p->batch * multiplications < MO_PARALLEL_FLOP / 2)
        return;
    int64_t piece = max_of(PIECE, max_of(p->m, p->n));
    if (p->batch < TILES && p->m * p->n <= PIECES_C && p->k >= 2 * piece)
        p->pieces_k = even_count(min_of(TILES, p->k / piece));
    else if (p->m == 1 || p->n == 1)
        cut_vector(p);
    else
        cut_matrix(p);
}

/* The start of part i when n is spread evenly over `parts` in multiples of 16. */
static int64_t part_start(int64_t n, int64_t parts, int64_t i) {
    return i == parts ? n : ceil_div(n, 16) * i / parts * 16;
}

/* Tile `number` of all tiles of the batch. */
static tile product_tile(const product *p, int64_t number) {
    if (p->tiles_m == 1 && p->tiles_n == 1)
        return (tile){.b = number, .i1 = p->m, .j1 = p->n};
    int64_t j = number % p->tiles_n, i = number / p->tiles_n % p->tiles_m;
    return (tile){.b = number / (p->tiles_n * p->tiles_m),
        .i0 = min_of(p->m, part_start(p->m, p->tiles_m, i)),
        .i1 = min_of(p->m, part_start(p->m, p->tiles_m, i + 1)),
        .j0 = min_of(p->n, part_start(p->n, p->tiles_n, j)),
        .j1 = min_of(p->n, part_start(p->n, p->tiles_n, j + 1))};
}

/* The offset of matrix b of the batch, with a stride for each axis. */
static int64_t product_offset(const product *p, const int64_t *stride, int64_t b) {
    int64_t offset = 0;
    for (int i = p->axes - 1; i > 0; i--) {
        offset += b % p->size[i] * stride[i];
        b /= p->size[i];
    }
    return p->axes ? offset + b * stride[0] : 0; /* no division by size[0], which takes longer than a small product */
}

/* ---- one tile: its product, by BLAS or loops, and the epilogue ---- */

/* A matrix-vector product: op(A) x into y. */
static void run_vector(const call *g) {
    bool column = g->n == 1, transposed = column ? g->transposed_A : !g->transposed_B;
    const real *M = column ? g->A : g->B, *x = column ? g->B : g->A;
    int64_t ld = column ? g->lda : g->ldb, rows = column ? g->m : g->n;
    int64_t x_step = column ? (g->transposed_B ? 1 : g->ldb) : (g->transposed_A ? g->lda : 1);
    blas_gemv(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, (blasint)(transposed ? g->k : rows),
        (blasint)(transposed ? rows : g->k), g->alpha, M, (blasint)ld, x, (blasint)x_step, g->beta, g->C,
        (blasint)(column ? g->ldc : 1));
}

static void run_call(const call *g) {
    if (g->m == 0 || g->n == 0)
        return;
    if (g->m * g->n * g->k < TINY || (g->k <= 2 && !g->transposed_B)) {
        run_loops(g);
    } else if (g->m == 1 || g->n == 1) {
        run_vector(g);
    } else {
        blas_gemm(CblasRowMajor, g->transposed_A ? CblasTrans : CblasNoTrans,
            g->transposed_B ? CblasTrans : CblasNoTrans, (blasint)g->m, (blasint)g->n, (blasint)g->k, g->alpha, g->A,
            (blasint)g->lda, g->B, (blasint)g->ldb, g->beta, g->C, (blasint)g->ldc);
    }
}

static real *matrix_of(const product *p, const tile *t) {
    return p->C + product_offset(p, p->C_stride, t->b);
}

/* C := beta C + bias + addend on a tile, before the product. */
static void product_start(const product *p, const tile *t) {
    real *C = matrix_of(p, t);
    const real *bias = p->bias ? p->bias + product_offset(p, p->bias_stride, t->b) : NULL;
    const real *addend = p->addend ? p->addend + product_offset(p, p->addend_stride, t->b) : NULL;
    for (int64_t i = t->i0; i < t->i1; i++) {
        real *restrict c = C + i * p->ldc;
        scale(c + t->j0, t->j1 - t->j0, p->beta);
        if (bias)
            for (int64_t j = t->j0; j < t->j1; j++)
                c[j] += bias[j * p->bias_column];
        if (!addend)
            continue;
        const real *e = addend + i * p->addend_row;
        if (p->addend_column == 1)
            for (int64_t j = t->j0; j < t->j1; j++)
                c[j] += e[j];
        else
            for (int64_t j = t->j0; j < t->j1; j++)
                c[j] += e[j * p->addend_column];
    }
}

/* relu on a tile, after the product, while the tile is in cache. */
static void product_clip(const product *p, const tile *t) {
    if (!p->relu)
        return;
    real *C = matrix_of(p, t);
    for (int64_t i = t->i0; i < t->i1; i++) {
        real *c = C + i * p->ldc;
        for (int64_t j = t->j0; j < t->j1; j++)
            c[j] = c[j] < 0 ? 0 : c[j]; /* NaN stays NaN */
    }
}

/* Entry (i, j) of the matrix that lies `offset` entries behind the first of the batch. */
static const void *matrix_entry(const matrix *M, int64_t offset, int64_t i, int64_t j) {
    int64_t entry = offset + (M->transposed ? j * M->ld + i : i * M->ld + j);
    return (const char *)M->data + entry * (int64_t)(M->narrow ? sizeof(uint16_t) : sizeof(real));
}

/* C := alpha op(A) op(B) + beta C on a tile, over the terms k0 .. k1-1; C points to the tile. */
static void multiply(const product *p, const tile *t, int64_t k0, int64_t k1, real beta, real *C, int64_t ldc) {
    const void *A = matrix_entry(&p->A, product_offset(p, p->A.batch_stride, t->b), t->i0, k0);
    const void *B = matrix_entry(&p->B, product_offset(p, p->B.batch_stride, t->b), k0, t->j0);
    call g = {.m = t->i1 - t->i0,
        .n = t->j1 - t->j0,
        .k = k1 - k0,
        .A = A,
        .B = B,
        .lda = p->A.ld,
        .ldb = p->B.ld,
        .ldc = ldc,
        .transposed_A = p->A.transposed,
        .transposed_B = p->B.transposed,
        .C = C,
        .alpha = p->alpha,
        .beta = beta};
#if MO_REAL_BITS == 32 && defined(MO_ONEDNN)
    if (p->A.narrow)
        bf16_gemm_onednn(g.transposed_A, g.transposed_B, g.m, g.n, g.k, g.alpha, A, g.lda, B, g.ldb, beta, C, ldc);
    else
#endif
        run_call(&g);
}

static void product_run(const product *p, const tile *t) {
    bool started = p->bias || p->addend;
    if (started)
        product_start(p, t);
    multiply(p, t, 0, p->k, started ? 1 : p->beta, matrix_of(p, t) + t->i0 * p->ldc + t->j0, p->ldc);
    product_clip(p, t);
}

/* D := alpha op(A) op(B) over the terms k0 .. k1-1, for matrix b of the batch; D [m, n] contiguous. */
static void product_piece(const product *p, int64_t b, int64_t k0, int64_t k1, real *D) {
    const tile all = {.b = b, .i1 = p->m, .j1 = p->n};
    multiply(p, &all, k0, k1, 0, D, p->n);
}

/* C = relu(beta C + bias + addend + the sum of pieces [pieces_k, m, n]) on a tile. */
static void product_finish(const product *p, const tile *t, const real *pieces) {
    real *C = matrix_of(p, t);
    product_start(p, t);
    for (int64_t i = t->i0; i < t->i1; i++)
        for (int64_t piece = 0; piece < p->pieces_k; piece++) {
            const real *D = pieces + (piece * p->m + i) * p->n;
            real *restrict c = C + i * p->ldc;
            for (int64_t j = t->j0; j < t->j1; j++)
                c[j] += D[j];
        }
    product_clip(p, t);
}

/* ---- operands ---- */

/* Describes the last two axes of v to BLAS. Returns false if neither has unit stride. */
static bool describe(const mo_view *v, int axes, matrix *M) {
    int64_t rows = v->shape[v->ndim - 2], columns = v->shape[v->ndim - 1];
    int64_t row = v->stride[v->ndim - 2], column = v->stride[v->ndim - 1];
    M->data = v->data;
    for (int i = 0; i < axes; i++)
        M->batch_stride[i] = v->stride[i];
    if ((column == 1 || columns <= 1) && (rows <= 1 || (row >= max_of(1, columns) && row <= INT_MAX))) {
        M->transposed = false;
        M->ld = rows <= 1 ? max_of(1, columns) : row;
        return true;
    }
    if ((row == 1 || rows <= 1) && (columns <= 1 || (column >= max_of(1, rows) && column <= INT_MAX))) {
        M->transposed = true;
        M->ld = columns <= 1 ? max_of(1, rows) : column;
        return true;
    }
    return false;
}

/* An operand of the product. If BLAS cannot read it, or if it is rounded or turned, `packed` is the view of a copy. */
typedef struct operand {
    const mo_view *view;
    mo_view packed;
    bool rounded;
    int64_t length; /* elements of the copy; 0: no copy */
} operand;

/* turned: a copy by rows takes the place of a matrix that is stored by columns. */
static operand operand_of(const mo_view *v, int axes, bool rounded, bool turned, matrix *M) {
    operand X = {.view = v, .rounded = rounded};
    if (describe(v, axes, M) && !rounded && !(turned && M->transposed))
        return X;
    X.packed = turned ? packed_view(v) : packed_as_stored(v);
    X.length = ceil_div(leading(&X.packed, v->ndim), 16) * 16;
    mo_view full = X.packed;
    for (int i = 0; i < v->ndim; i++)
        full.shape[i] = v->shape[i];
    describe(&full, axes, M);
    return X;
}

/* Copies the operand to scratch if needed. Returns the scratch behind the copy. */
static real *pack(mo_context *ctx, operand *X, real *scratch, matrix *M) {
    if (X->length == 0)
        return scratch;
    mo_view source = *X->view;
    for (int i = 0; i < source.ndim; i++)
        source.shape[i] = X->packed.shape[i];
    X->packed.data = scratch;
    X->packed.dtype = M->narrow ? MO_BF16 : X->packed.dtype;
    (X->rounded ? round_cpu : copy_cpu)(ctx, &source, &X->packed);
    M->data = scratch;
    return scratch + X->length;
}

/* Returns whether the last batch axis can be merged with the rows: B does not depend on it, and along it A, C and the
 * epilogue continue with their next rows. */
static bool rows_continue(const product *p) {
    int last = p->axes - 1;
    return last >= 0 && p->B.batch_stride[last] == 0 && !p->A.transposed &&
           (p->A.batch_stride[last] == p->m * p->A.ld || p->size[last] == 1) &&
           (p->C_stride[last] == p->m * p->ldc || p->size[last] == 1) &&
           (!p->bias || p->bias_stride[last] == 0 || p->size[last] == 1) &&
           (!p->addend || p->addend_stride[last] == p->m * p->addend_row || p->size[last] == 1);
}

static void merge_rows(product *p) {
    while (rows_continue(p)) {
        int64_t size = p->size[--p->axes];
        p->m *= size;
        p->batch /= size;
    }
}

static product product_of(const mo_gemm *g) {
    const mo_view *C = &g->C;
    product p = {.m = C->shape[C->ndim - 2],
        .n = C->shape[C->ndim - 1],
        .k = g->A.shape[g->A.ndim - 1],
        .axes = C->ndim - 2,
        .C = C->data,
        .ldc = C->shape[C->ndim - 2] <= 1 ? max_of(1, C->shape[C->ndim - 1]) : C->stride[C->ndim - 2],
        .bias = g->bias.data,
        .bias_column = g->bias.data ? g->bias.stride[g->bias.ndim - 1] : 0,
        .addend = g->addend.data,
        .addend_row = g->addend.data ? g->addend.stride[C->ndim - 2] : 0,
        .addend_column = g->addend.data ? g->addend.stride[C->ndim - 1] : 0,
        .alpha = (real)g->alpha,
        .beta = (real)g->beta,
        .relu = g->relu};
    p.batch = leading(C, p.axes);
    for (int i = 0; i < p.axes; i++) {
        p.size[i] = C->shape[i];
        p.C_stride[i] = C->stride[i];
        p.bias_stride[i] = p.bias && g->bias.ndim > 1 ? g->bias.stride[i] : 0;
        p.addend_stride[i] = p.addend ? g->addend.stride[i] : 0;
    }
    return p;
}

static void run_some(const void *of, task_range s) {
    const product *p = of;
    for (int64_t i = s.first; i < s.end; i++) {
        tile t = product_tile(p, i);
        product_run(p, &t);
    }
}

/* Returns whether waking threads costs more than the threads save. */
static bool is_light(const product *p) {
    double flop = 2.0 * (double)(p->batch * p->m * p->n) * (double)p->k;
    return flop < MO_PARALLEL_FLOP && p->batch * p->m * p->n < MO_PARALLEL_FROM;
}

static void run_tiles(mo_context *ctx, const product *p) {
    int64_t tasks = p->batch * p->tiles_m * p->tiles_n;
    double flop = 2.0 * (double)p->m * (double)p->n * (double)p->k / (double)(p->tiles_m * p->tiles_n);
    int64_t chunk = max_of(1, (int64_t)(TASK_FLOP / (flop + 1 + (double)(p->m * p->n))));
    int threads = is_light(p) ? 1 : blas_threads(ctx);
    run_tasks(threads, tasks, chunk, run_some, p);
}

/* A product whose partial products, over pieces of k, are formed first and then added, a strip of C at a time. */
typedef struct pieces {
    const product *p;
    real *partial;
    int64_t strips;
} pieces;

static void form_pieces(const void *of, task_range some) {
    const pieces *s = of;
    const product *p = s->p;
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t piece = i % p->pieces_k, b = i / p->pieces_k;
        int64_t k0 = p->k * piece / p->pieces_k, k1 = p->k * (piece + 1) / p->pieces_k;
        product_piece(p, b, k0, k1, s->partial + i * p->m * p->n);
    }
}

static void add_pieces(const void *of, task_range some) {
    const pieces *s = of;
    const product *p = s->p;
    for (int64_t i = some.first; i < some.end; i++) {
        int64_t b = i / s->strips, strip = i % s->strips;
        tile t = {.b = b, .i0 = p->m * strip / s->strips, .i1 = p->m * (strip + 1) / s->strips, .j1 = p->n};
        product_finish(p, &t, s->partial + b * p->pieces_k * p->m * p->n);
    }
}

/* Small C, long k: the partial products are formed in parallel, then added in order of k. */
static void run_pieces(mo_context *ctx, const product *p, real *partial) {
    const pieces s = {.p = p, .partial = partial, .strips = min_of(p->m, ceil_div(p->m * p->n, STRIP))};
    int threads = blas_threads(ctx);
    run_tasks(threads, p->batch * p->pieces_k, 1, form_pieces, &s);
    run_tasks(threads, p->batch * s.strips, 0, add_pieces, &s);
}

/* Returns whether a product whose factors are rounded is one of bf16. */
static bool is_narrow(const product *p) {
    return p->m >= NARROW_SIDE && p->n >= NARROW_SIDE && p->k >= NARROW_SIDE && p->m * p->n * p->k >= NARROW_FROM &&
           onednn_has_bf16();
}

void REAL(gemm_cpu)(mo_context *ctx, const mo_gemm *g) {
    if (g->row_sums.data) {
        mo_view sums = row_sums_view(g);
        REAL(reduce_cpu)(ctx, MO_REDUCE_SUM, &g->A, &sums);
    }
    product p = product_of(g);
    if (p.batch * p.m * p.n == 0 || !can_multiply(ctx, sizeof(real)))
        return;
    bool rounded = rounds_factors(ctx, sizeof(real));
    bool turned = sizeof(real) == sizeof(float) && !rounded && p.m >= TURNED_ROWS && p.n > 1;
    operand A = operand_of(&g->A, p.axes, rounded, false, &p.A), B = operand_of(&g->B, p.axes, rounded, turned, &p.B);
    merge_rows(&p);
    p.A.narrow = p.B.narrow = rounded && is_narrow(&p);
    product_cut(&p);
    int64_t length = A.length + B.length + (p.pieces_k > 1 ? p.batch * p.pieces_k * p.m * p.n : 0);
    real *copies = length ? cpu_workspace(ctx, (size_t)length * sizeof(real)) : NULL;
    if (length && !copies)
        return;
    real *scratch = pack(ctx, &B, pack(ctx, &A, copies, &p.A), &p.B);
    if (p.pieces_k > 1)
        run_pieces(ctx, &p, scratch);
    else
        run_tiles(ctx, &p);
}
