/* tensor/cuda/gemm.cu - C = relu(alpha A B + beta C + bias), batched, for one product or several.
 *
 * To the library the row-major C is C^T = B^T A^T: the operands change places, and a transposed view is a flag. Batch
 * axes that merge into one stride are one call, other axes one call per index. Bias, relu and row sums of a product are
 * the library's epilogue if it has one (seam.h); otherwise one kernel computes bias and relu, and a reduction sums A's
 * rows.
 *
 * The products of a group share copies of their operands, which one launch makes. In bf16 all operands are copied,
 * otherwise those that the library cannot read. (Aligned copies of rows of 513 floats gained nothing on an H100: the
 * product has a side of 513 all the same, and cuBLAS chose the same kernels, of 4-byte loads.) */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/map.h"
#include "tensor/cuda/matrices.h"
#include "tensor/files/conversion.h"

/* ---- copies of operands, rounded to bf16 or in float32. One launch makes the copies of a group; each copy has a row
 * of blocks. If the rows of a copy have room for it, a thread takes the values of 16 bytes: it writes them at once, and
 * reads them at once if x is aligned. The rows of [n, 513] are aligned in the copy and not in x. ---- */

/* x of any strides goes to y of the same shape. */
struct operand_copy {
    mo_view x, y;
};

/* One copy. If `columns` is not 0, rows have that number of values, and an item of N is a group of neighbours in a row,
 * or the values left at the row's end; otherwise an item is one value. */
template <typename to> struct copying {
    cuda_nest<2> N;
    int64_t columns;
    const float *x;
    to *y;
};

constexpr int most_copied = 16; /* most copies in one launch: they take 3 of the 4 KiB of its arguments */

template <typename to> struct copyings { copying<to> of[most_copied]; };

/* Rounds to bf16, as double_to_bfloat does, or keeps x. */
template <typename to> __device__ static to stored(float x) {
    if constexpr (sizeof(to) == sizeof x)
        return x;
    uint32_t u = bits_of_float(x);
    return (to)((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

template <typename to> static __global__ void operand_kernel(copyings<to> all) {
    constexpr int width = 16 / sizeof(to);
    const copying<to> &n = all.of[blockIdx.y];
    for (int64_t i = first_item(); i < n.N.total; i += item_step()) {
        int64_t at[2], group = loop_nest_seek(n.N, i, at), there = n.columns - width * group;
        if (!n.columns) {
            n.y[at[1]] = stored<to>(n.x[at[0]]);
            continue;
        }
        neighbours<to, width> y;
        for (int k = 0; k < width; k += 4) {
            neighbours<float, 4> part = load_part<4>(n.x + at[0] + k, there - k);
            for (int e = 0; e < 4; e++)
                y.value[k + e] = stored<to>(part.value[e]);
        }
        *reinterpret_cast<neighbours<to, width> *>(n.y + at[1]) = y;
    }
}

/* Makes each item a group of neighbours if the rows of x and y have unit stride and all rows of y begin at multiples of
 * 16 bytes. */
template <typename to> static void take_groups(copying<to> *n) {
    constexpr int width = 16 / sizeof(to);
    cuda_nest<2> *N = &n->N;
    int64_t last = N->ndim - 1;
    if (N->total == 0 || last < 0 || N->stride[0][last] != 1 || N->stride[1][last] != 1 || (uintptr_t)n->y % 16)
        return;
    for (int64_t i = 0; i < last; i++)
        if (N->stride[1][i] % width)
            return;
    n->columns = N->size[last];
    N->size[last] = ceil_div(n->columns, width);
    N->stride[0][last] = N->stride[1][last] = width;
    N->total = N->total / n->columns * N->size[last];
}

/* y := x, for n copies of float32, up to 16 in one launch. Empty views are legal. If take_groups makes groups, each row
 * of y is filled with zeros up to a multiple of 16 bytes, for which y must have room. */
template <typename to> static void copy_operands(mo_context *ctx, const operand_copy *copies, int n) {
    for (int first = 0; first < n; first += most_copied) {
        copyings<to> all = {};
        int count = (int)least(n - first, most_copied);
        int64_t items = 0;
        for (int o = 0; o < count; o++) {
            const operand_copy *c = &copies[first + o];
            copying<to> *one = &all.of[o];
            one->N = loop_nest_of({&c->x, &c->y});
            one->x = static_cast<const float *>(c->x.data);
            one->y = static_cast<to *>(c->y.data);
            take_groups(one);
            items = most(items, one->N.total);
        }
        dim3 blocks = blocks_for(items);
        mo_launch(operand_kernel<to>, dim3(blocks.x, (unsigned)count), dim3(block_threads), 0, seam_of(ctx), all);
    }
}

/* ---- which operands of a group are copied, and where to ---- */

struct operand {
    const void *data;
    bool transposed;
    int64_t ld;
    mo_view view; /* batch strides */
};

constexpr int most_in_group = 40; /* most products that share copies of operands */

/* Describes the last two axes of v to the library. Returns false if neither has unit stride. */
static bool describe(const mo_view *v, operand *X) {
    int64_t rows = v->shape[v->ndim - 2], columns = v->shape[v->ndim - 1];
    int64_t row = v->stride[v->ndim - 2], column = v->stride[v->ndim - 1];
    X->data = v->data;
    X->view = *v;
    X->transposed = false;
    X->ld = rows <= 1 ? most(1, columns) : row;
    if ((column == 1 || columns <= 1) && (rows <= 1 || row >= most(1, columns)))
        return true;
    X->transposed = true;
    X->ld = columns <= 1 ? most(1, rows) : column;
    return (row == 1 || rows <= 1) && (columns <= 1 || column >= most(1, rows));
}

static void swap_last_axes(mo_view *v) {
    int row = v->ndim - 2, column = v->ndim - 1;
    int64_t size = v->shape[row], stride = v->stride[row];
    v->shape[row] = v->shape[column], v->shape[column] = size;
    v->stride[row] = v->stride[column], v->stride[column] = stride;
}

/* Returns the distance between rows of a copy, in elements: the least multiple of 16 bytes that holds a row. The
 * library's kernels for tensor cores load 16 bytes at a time and cannot take other matrices: [n, 513] in bf16 would
 * have rows of 1026 bytes. */
static int64_t row_step(int64_t columns, mo_dtype dtype) {
    int64_t elements = dtype == MO_BF16 ? 8 : dtype == MO_F32 ? 4 : 2;
    return ceil_div(columns, elements) * elements;
}

/* Plans the copy of an operand and describes it to the library, except for its address. The copy y keeps the order of v
 * in memory if rows or columns of v are contiguous. A single column is copied as a row. The gaps between rows of y can
 * hold anything, as a product reads only the matrix's entries. */
static operand_copy plan_copy(const mo_view *v, mo_dtype dtype, operand *X) {
    int last = v->ndim - 1;
    bool turned = v->shape[last] == 1 || (describe(v, X) && X->transposed);
    operand_copy c = {*v, *v};
    if (turned)
        swap_last_axes(&c.x);
    c.y = packed_view(&c.x);
    c.y.data = nullptr;
    c.y.dtype = dtype;
    X->transposed = turned;
    X->ld = row_step(c.x.shape[last], dtype);
    for (int i = 0; i < last; i++)
        c.y.stride[i] = c.y.stride[i] / c.x.shape[last] * X->ld;
    X->view = c.y;
    for (int i = 0; i < v->ndim; i++) {
        X->view.shape[i] = c.x.shape[i];
        c.x.shape[i] = c.y.shape[i];
    }
    if (turned)
        swap_last_axes(&X->view);
    return c;
}

/* ---- copies of a group, each made once ---- */

struct planned_copies {
    operand_copy copy[2 * most_in_group];
    cuda_nest<2> nest[2 * most_in_group];
    int count;
    operand *reader[2 * most_in_group]; /* the operands that are copied */
    int of[2 * most_in_group];          /* reader[i] reads copy[of[i]] */
    int readers;
};

/* Whether the elements of `few` are the first elements of `all`: its first rows, or the first part of one row. */
static bool begins(const cuda_nest<2> &all, const cuda_nest<2> &few) {
    int64_t above = all.ndim - few.ndim;
    for (int64_t i = 0; i < few.ndim && above >= 0; i++) {
        if (few.stride[0][i] != all.stride[0][above + i] || few.stride[1][i] != all.stride[1][above + i])
            return false;
        if (i == 0 ? few.size[i] > all.size[above] : few.size[i] != all.size[above + i])
            return false;
    }
    return above >= 0;
}

/* Whether one of copy i and the copy c contains the values of the other. */
static bool same_values(const planned_copies *p, int i, const operand_copy *c, const cuda_nest<2> &N) {
    return p->copy[i].x.data == c->x.data && (begins(p->nest[i], N) || begins(N, p->nest[i]));
}

static void add_copy(planned_copies *p, const operand_copy &c, operand *X) {
    cuda_nest<2> N = loop_nest_of({&c.x, &c.y});
    int i = 0;
    while (i < p->count && !same_values(p, i, &c, N))
        i++;
    if (i == p->count || p->nest[i].total < N.total) {
        p->copy[i] = c;
        p->nest[i] = N;
    }
    p->count = i == p->count ? i + 1 : p->count;
    p->reader[p->readers] = X;
    p->of[p->readers++] = i;
}

/* Returns the number of elements of a copy, gaps between rows included, rounded up to 128 bytes of bf16. */
static int64_t room_for(const cuda_nest<2> &N) {
    int64_t last = 0;
    for (int64_t i = 0; i < N.ndim; i++)
        last += (N.size[i] - 1) * N.stride[1][i];
    return ceil_div(last + 1, 64) * 64;
}

/* Places the copies in scratch memory and queues them. Returns false if there is no memory. */
static bool make_copies(mo_context *ctx, planned_copies *p, mo_dtype dtype) {
    size_t bytes = dtype == MO_BF16 ? 2 : dtype == MO_F32 ? 4 : 8;
    int64_t elements = 0;
    for (int i = 0; i < p->count; i++)
        elements += room_for(p->nest[i]);
    char *scratch = elements ? static_cast<char *>(cuda_scratch(ctx, (size_t)elements * bytes)) : nullptr;
    if (!scratch)
        return elements == 0;
    for (int i = 0; i < p->count; i++) {
        p->copy[i].y.data = scratch;
        scratch += (size_t)room_for(p->nest[i]) * bytes;
    }
    for (int i = 0; i < p->readers; i++)
        p->reader[i]->data = p->copy[p->of[i]].y.data;
    if (dtype == MO_BF16)
        copy_operands<uint16_t>(ctx, p->copy, p->count);
    if (dtype == MO_F32)
        copy_operands<float>(ctx, p->copy, p->count);
    for (int i = 0; i < p->count && dtype == MO_F64; i++)
        copy_cuda(ctx, &p->copy[i].x, &p->copy[i].y);
    return true;
}

/* Describes A and B of n <= most_in_group products that have entries to multiply. An operand that the library cannot
 * read, or that has another type than `input`, is copied to scratch memory, once for all products: a matrix and its
 * transpose share a copy, and so do a matrix and its first rows. Rows of a copy begin at multiples of 16 bytes. Returns
 * false after raising MO_MEMORY. */
static bool find_operands(mo_context *ctx, const mo_gemm *const *g, int n, mo_dtype input, operand (*found)[2]) {
    planned_copies p;
    p.count = p.readers = 0;
    for (int i = 0; i < 2 * n; i++) {
        const mo_view *v = i % 2 ? &g[i / 2]->B : &g[i / 2]->A;
        operand *X = &found[i / 2][i % 2];
        if (input != v->dtype || !describe(v, X))
            add_copy(&p, plan_copy(v, input, X), X);
    }
    return make_copies(ctx, &p, input);
}

/* ---- bias, relu and scale by a kernel of ours ---- */

struct epilogue {
    const void *bias;
    double scale; /* factor of the old C */
    int64_t relu;
};

template <typename real> static __global__ void epilogue_kernel(cuda_nest<2> N, epilogue e, real *C) {
    const real *bias = static_cast<const real *>(e.bias);
    for (int64_t i = first_item(); i < N.total; i += item_step()) {
        int64_t at[2];
        loop_nest_seek(N, i, at);
        real y = e.scale == 0 ? (real)0 : (real)e.scale * C[at[0]];
        y += bias ? bias[at[1]] : (real)0;
        C[at[0]] = e.relu && y < 0 ? (real)0 : y;
    }
}

static bool has_epilogue(const mo_gemm *g) {
    return g->bias.data || g->relu;
}

/* The strides of the bias over the axes of C: 0 from one row of C to the next. */
static void spread_bias(const mo_gemm *g, int64_t *stride) {
    stride[g->C.ndim - 1] = g->bias.stride[g->bias.ndim - 1];
    for (int i = 0; i < g->bias.ndim - 1; i++)
        stride[i] = g->bias.stride[i];
}

template <typename real> static void finish(mo_context *ctx, const mo_gemm *g, double scale) {
    if (scale == 1 && !has_epilogue(g))
        return;
    mo_view bias = g->C;
    memset(bias.stride, 0, sizeof bias.stride);
    if (g->bias.data)
        spread_bias(g, bias.stride);
    cuda_nest<2> N = loop_nest_of({&g->C, &bias});
    epilogue e = {g->bias.data, scale, g->relu};
    mo_launch(epilogue_kernel<real>, blocks_for(N.total), dim3(block_threads), 0, seam_of(ctx), N, e,
        static_cast<real *>(g->C.data));
}

template <typename real> static void sum_rows(mo_context *ctx, const mo_gemm *g) {
    if (!g->row_sums.data)
        return;
    mo_view sums = row_sums_view(g);
    reduce_cuda<real>(ctx, MO_REDUCE_SUM, &g->A, &sums);
}

/* ---- the product ---- */

struct product {
    seam_gemm call;
    operand A, B; /* operands of the row-major C = A B */
    mo_view C;
    int axes; /* batch axes */
    int64_t size[MO_MAX_AXES];
    /* terms: there are entries to multiply. rides: bias, relu and sums are the library's epilogue. */
    bool terms, rides;
};

/* Whether the batch axes i and i + 1 can be merged in A, B and C. */
static bool mergeable(const product *p, int i) {
    int64_t n = p->size[i + 1];
    return p->A.view.stride[i] == p->A.view.stride[i + 1] * n && p->B.view.stride[i] == p->B.view.stride[i + 1] * n &&
           p->C.stride[i] == p->C.stride[i + 1] * n;
}

static void drop_axis(product *p, int i) {
    for (int k = i; k + 1 < p->axes; k++) {
        p->size[k] = p->size[k + 1];
        p->A.view.stride[k] = p->A.view.stride[k + 1];
        p->B.view.stride[k] = p->B.view.stride[k + 1];
        p->C.stride[k] = p->C.stride[k + 1];
    }
    p->axes--;
}

static void merge_batch(product *p) {
    for (int i = p->axes - 1; i >= 0; i--)
        if (p->size[i] == 1)
            drop_axis(p, i);
    for (int i = p->axes - 2; i >= 0; i--)
        if (mergeable(p, i)) {
            p->size[i + 1] *= p->size[i];
            drop_axis(p, i);
        }
    /* The last batch axis becomes rows if B does not depend on it and, in A and in C, each matrix begins where the next
     * row of the matrix before it would begin. */
    int last = p->axes - 1;
    if (last >= 0 && p->B.view.stride[last] == 0 && !p->A.transposed && p->A.view.stride[last] == p->call.n * p->A.ld &&
        p->C.stride[last] == p->call.n * p->call.ldc) {
        p->call.n *= p->size[last];
        p->axes--;
    }
}

/* Multiplies by one call for each index of the batch axes before the last one, over which the library loops. */
static void multiply(mo_context *ctx, const product *p, size_t input, size_t output) {
    seam_gemm c = p->call;
    int last = p->axes - 1;
    int64_t calls = 1;
    for (int i = 0; i < last; i++)
        calls *= p->size[i];
    for (int64_t call = 0; call < calls && mo_ok(ctx); call++) {
        int64_t a = 0, b = 0, out = 0, rest = call;
        for (int i = last - 1; i >= 0; i--, rest /= p->size[i + 1]) {
            a += rest % p->size[i] * p->A.view.stride[i];
            b += rest % p->size[i] * p->B.view.stride[i];
            out += rest % p->size[i] * p->C.stride[i];
        }
        c.A = static_cast<const char *>(p->B.data) + b * (int64_t)input;
        c.B = static_cast<const char *>(p->A.data) + a * (int64_t)input;
        c.C = static_cast<char *>(p->C.data) + out * (int64_t)output;
        cuda_ok(ctx, "gemm", seam_multiply(seam_of(ctx), &c));
    }
}

static bool unit_stride(const mo_view *v) {
    return !v->data || v->stride[v->ndim - 1] == 1;
}

/* For a batch the library has two epilogues: row sums; or a bias for each product, with or without relu. */
static bool batch_may_ride(const mo_gemm *g, const product *p) {
    if (g->C.ndim != 3)
        return false;
    if (g->row_sums.data)
        return g->row_sums.stride[0] == g->C.shape[1];
    return g->bias.data && g->bias.ndim == 2 && (p->axes == 1 || g->C.shape[0] == 1);
}

/* Whether bias, relu and sums of the product have the form of one of the library's epilogues. */
static bool fits_epilogue(const mo_gemm *g, const product *p) {
    bool forward = g->bias.data || g->relu;
    bool batch = p->axes || g->C.ndim != 2;
    if ((batch && !batch_may_ride(g, p)) || g->beta != 0 || !unit_stride(&g->bias) || !unit_stride(&g->row_sums))
        return false;
    return forward != (g->row_sums.data != nullptr);
}

/* Makes bias, relu and sums the library's epilogue. Returns false if the library has no such epilogue. */
static bool take_epilogue(mo_context *ctx, const mo_gemm *g, product *p) {
    const seam_gemm plain = p->call;
    if (!fits_epilogue(g, p) || !library_first(ctx, true))
        return false;
    p->call.A = p->B.data;
    p->call.B = p->A.data;
    p->call.C = p->C.data;
    p->call.bias = g->bias.data;
    p->call.relu = g->relu;
    p->call.sums = g->row_sums.data;
    p->call.stride_vector = !p->axes ? 0 : g->row_sums.data ? g->row_sums.stride[0] : g->bias.stride[0];
    bool rides = seam_epilogue(seam_of(ctx), &p->call);
    if (!rides)
        p->call = plain;
    return rides;
}

/* Whether there are entries of A and B to multiply. */
static bool has_terms(const mo_gemm *g) {
    return leading(&g->C, g->C.ndim) > 0 && g->A.shape[g->A.ndim - 1] > 0;
}

template <typename real> static bool narrows(const mo_context *ctx) {
    return sizeof(real) == 4 && ctx->math == MO_MATH_BF16;
}

/* Describes the product to the library, with an epilogue if the library has it. */
template <typename real> static product describe(mo_context *ctx, const mo_gemm *g, const operand (&of)[2]) {
    int axes = g->C.ndim - 2;
    int64_t m = g->C.shape[axes], n = g->C.shape[axes + 1];
    product p = {};
    p.A = of[0], p.B = of[1];
    p.C = g->C;
    p.axes = axes;
    p.terms = true;
    memcpy(p.size, g->C.shape, (size_t)axes * sizeof *p.size);
    seam_gemm *c = &p.call;
    c->input = narrows<real>(ctx) ? SEAM_BF16 : seam_type_of<real>();
    c->output = seam_type_of<real>();
    c->math = ctx->math == MO_MATH_TF32 ? SEAM_TF32 : SEAM_FULL;
    c->transposed_a = p.B.transposed, c->transposed_b = p.A.transposed;
    c->m = n, c->n = m, c->k = g->A.shape[g->A.ndim - 1];
    c->lda = p.B.ld, c->ldb = p.A.ld, c->ldc = m <= 1 ? most(1, n) : g->C.stride[axes];
    c->alpha = g->alpha, c->beta = g->beta;
    merge_batch(&p);
    int last = p.axes - 1;
    c->batch = p.axes ? p.size[last] : 1;
    c->stride_a = p.axes ? p.B.view.stride[last] : 0;
    c->stride_b = p.axes ? p.A.view.stride[last] : 0;
    c->stride_c = p.axes ? p.C.stride[last] : 0;
    p.rides = take_epilogue(ctx, g, &p);
    return p;
}

/* Queues the product and its bias and relu; row sums only if they are part of the library's epilogue. */
template <typename real> static void queue(mo_context *ctx, const mo_gemm *g, const product *p) {
    if (p->terms)
        multiply(ctx, p, narrows<real>(ctx) ? 2 : sizeof(real), sizeof(real));
    if (!p->rides && leading(&g->C, g->C.ndim) > 0)
        finish<real>(ctx, g, p->terms ? 1 : g->beta);
}

/* Computes n <= most_in_group products. Row sums come last, because reductions overwrite the scratch memory that holds
 * operands. */
template <typename real> static void multiply_group(mo_context *ctx, const mo_gemm *g, int n) {
    const mo_gemm *with_terms[most_in_group];
    operand found[most_in_group][2];
    product p[most_in_group];
    int count = 0;
    for (int i = 0; i < n; i++)
        if (has_terms(&g[i]))
            with_terms[count++] = &g[i];
    mo_dtype input = narrows<real>(ctx) ? MO_BF16 : sizeof(real) == 4 ? MO_F32 : MO_F64;
    if (!find_operands(ctx, with_terms, count, input, found))
        return;
    for (int i = 0, at = 0; i < n; i++)
        p[i] = has_terms(&g[i]) ? describe<real>(ctx, &g[i], found[at++]) : product{};
    for (int i = 0; i < n; i++)
        queue<real>(ctx, &g[i], &p[i]);
    for (int i = 0; i < n; i++)
        if (!p[i].rides)
            sum_rows<real>(ctx, &g[i]);
}

template <typename real> void gemms_cuda(mo_context *ctx, const mo_gemm *g, int n) {
    for (int first = 0; first < n; first += most_in_group)
        multiply_group<real>(ctx, g + first, (int)least(n - first, most_in_group));
}

template <typename real> void gemm_cuda(mo_context *ctx, const mo_gemm *g) {
    gemms_cuda<real>(ctx, g, 1);
}

template void gemm_cuda<float>(mo_context *, const mo_gemm *);
template void gemm_cuda<double>(mo_context *, const mo_gemm *);
template void gemms_cuda<float>(mo_context *, const mo_gemm *, int);
template void gemms_cuda<double>(mo_context *, const mo_gemm *, int);
