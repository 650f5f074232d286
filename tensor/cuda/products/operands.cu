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

/* Plans the copy of an operand and describes it, but for its address: x goes to y, which has the order of v in memory
 * where rows or columns of v are contiguous. */
static operand_copy plan_copy(const mo_view *v, mo_dtype dtype, operand *X) {
    bool turned = describe(v, X) && X->transposed;
    operand_copy c = {*v, *v};
    if (turned)
        swap_last_axes(&c.x);
    c.y = packed_view(&c.x);
    c.y.data = nullptr;
    c.y.dtype = dtype;
    mo_view seen = c.y;
    for (int i = 0; i < v->ndim; i++) {
        seen.shape[i] = c.x.shape[i];
        c.x.shape[i] = c.y.shape[i];
    }
    if (turned)
        swap_last_axes(&seen);
    describe(&seen, X);
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

static bool in_order(const cuda_nest<2> &N) {
    return N.ndim == 0 || (N.ndim == 1 && N.stride[0][0] == 1 && N.stride[1][0] == 1);
}

/* Whether one copy holds the other: equal loops, or values in the order of memory from the same address on. */
static bool same_values(const planned_copies *p, int i, const operand_copy *c, const cuda_nest<2> &N) {
    if (p->copy[i].x.data != c->x.data)
        return false;
    return (in_order(p->nest[i]) && in_order(N)) || memcmp(&p->nest[i], &N, sizeof N) == 0;
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

static int64_t room_for(const cuda_nest<2> &N) {
    return ceil_div(N.total, 64) * 64;
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
