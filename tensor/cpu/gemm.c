/* tensor/cpu/gemm.c - C = relu(alpha A B + beta C + bias + addend), batched.
 *
 * The plain loop nest is run_loops in product.c, beside the tiles that go to BLAS. A transposed view is a BLAS flag;
 * only operands without a unit stride are packed. Batch and tiles form one list of independent tasks. Batch axes over
 * which B is constant are merged with the rows of A if the strides allow it.
 *
 * In the mode bf16 the entries of float32 A and B are rounded; alpha, beta and the addends stay float32. Large products
 * are then of bf16 if the processor multiplies bf16 faster than float32; all others are of the rounded float32. */
#include "tensor/cpu/fast/onednn.h"
#include "tensor/cpu/fast/product.h"
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/tasks.h"

#include <limits.h>

enum {
    TASK_FLOP = 500000,
    STRIP = 2048,         /* elements of C for which one task adds the pieces */
    TURNED_ROWS = 512,    /* rows of C from which a transposed B is turned first: oneDNN multiplies it a sixth slower */
    NARROW_SIDE = 16,     /* least side of a product of bf16: a smaller one does not fill the instructions */
    NARROW_FROM = 1 << 20 /* least multiplications per matrix of a product of bf16 */
};

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
