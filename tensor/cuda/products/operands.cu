/* tensor/cuda/products/operands.cu - which operands of a group of products are copied, and where to. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/loop_nest.h"
#include "tensor/cuda/products/narrow.h"
#include "tensor/cuda/products/operands.h"
#include "tensor/packed_view.h"

/* Describes the last two axes of v; returns false if neither stride is 1. */
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

/* The least multiple of 16 bytes, in elements, that holds a row. Kernels of the library that use tensor cores load 16
 * bytes at a time, and there are none for a matrix with other rows: [n, 513] in bf16 has rows of 1026 bytes. */
static int64_t row_step(int64_t columns, mo_dtype dtype) {
    int64_t elements = dtype == MO_BF16 ? 8 : dtype == MO_F32 ? 4 : 2;
    return ceil_div(columns, elements) * elements;
}

/* Plans the copy of an operand and describes it, but for its address: x goes to y, which has the order of v in memory
 * where rows or columns of v are contiguous. One column is copied as one row. What lies between two rows of y may hold
 * anything: a product reads entries of the matrix alone. */
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
    operand *reader[2 * most_in_group]; /* operands that are copied, */
    int of[2 * most_in_group];          /* and their copies */
    int readers;
};

/* Whether the loops of `few` are the first of those of `all`: rows of a matrix, or a part of one row. */
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

/* Whether one copy holds the other. */
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

/* The elements of a copy, rows with what lies between them, up to a multiple of 128 bytes of bf16. */
static int64_t room_for(const cuda_nest<2> &N) {
    int64_t last = 0;
    for (int64_t i = 0; i < N.ndim; i++)
        last += (N.size[i] - 1) * N.stride[1][i];
    return ceil_div(last + 1, 64) * 64;
}

/* Gives the copies addresses and queues them. */
static bool make_copies(mo_context *ctx, planned_copies *p, bool narrow, size_t bytes) {
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
    if (narrow)
        narrow_cuda(ctx, p->copy, p->count);
    for (int i = 0; i < p->count && !narrow; i++)
        copy_cuda(ctx, &p->copy[i].x, &p->copy[i].y);
    return true;
}

bool find_operands(mo_context *ctx, const mo_gemm *const *g, int n, mo_dtype input, operand (*found)[2]) {
    planned_copies p;
    p.count = p.readers = 0;
    for (int i = 0; i < 2 * n; i++) {
        const mo_view *v = i % 2 ? &g[i / 2]->B : &g[i / 2]->A;
        operand *X = &found[i / 2][i % 2];
        if (input != v->dtype || !describe(v, X))
            add_copy(&p, plan_copy(v, input, X), X);
    }
    return make_copies(ctx, &p, input == MO_BF16, input == MO_BF16 ? 2 : input == MO_F32 ? 4 : 8);
}
