/* tensor/cpu/copy.c - copies between any two dtypes and strides, rounded copies, and fills. Compiled once.
 *
 * Elements of equal dtypes are copied bit by bit. Elements of different dtypes pass through double in short blocks:
 * every stored type but int64 converts to double exactly, so each value is rounded once. Reals become integers by
 * truncation, saturating; NaN becomes 0. */
#include "tensor/cpu/loop_nest.h"
#include "tensor/cpu/tasks.h"
#include "tensor/files/conversion.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 256, SQUARE = 16 };

typedef struct copy_arguments {
    const char *x;
    char *y;
    mo_dtype from, to;
} copy_arguments;

/* d = n elements of x from element i on, `step` apart. */
static void load(mo_dtype dtype, const char *x, int64_t i, int64_t step, int64_t n, double *restrict d) {
    switch (dtype) {
    case MO_F32:
        for (int64_t j = 0; j < n; j++)
            d[j] = ((const float *)x)[i + j * step];
        break;
    case MO_F64:
        for (int64_t j = 0; j < n; j++)
            d[j] = ((const double *)x)[i + j * step];
        break;
    case MO_I32:
        for (int64_t j = 0; j < n; j++)
            d[j] = ((const int32_t *)x)[i + j * step];
        break;
    case MO_I64:
        for (int64_t j = 0; j < n; j++)
            d[j] = (double)((const int64_t *)x)[i + j * step];
        break;
    case MO_U8:
        for (int64_t j = 0; j < n; j++)
            d[j] = ((const uint8_t *)x)[i + j * step];
        break;
    case MO_F16:
        for (int64_t j = 0; j < n; j++)
            d[j] = half_to_float(((const uint16_t *)x)[i + j * step]);
        break;
    default: /* MO_BF16: the upper half of a float */
        for (int64_t j = 0; j < n; j++)
            d[j] = float_of_bits((uint32_t)((const uint16_t *)x)[i + j * step] << 16);
    }
}

static void store(mo_dtype dtype, char *y, int64_t i, int64_t step, int64_t n, const double *restrict d) {
    switch (dtype) {
    case MO_F32:
        for (int64_t j = 0; j < n; j++)
            ((float *)y)[i + j * step] = (float)d[j];
        break;
    case MO_F64:
        for (int64_t j = 0; j < n; j++)
            ((double *)y)[i + j * step] = d[j];
        break;
    case MO_I32:
        for (int64_t j = 0; j < n; j++)
            ((int32_t *)y)[i + j * step] = (int32_t)saturate(d[j], INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX);
        break;
    case MO_I64:
        for (int64_t j = 0; j < n; j++)
            ((int64_t *)y)[i + j * step] = saturate(d[j], -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
        break;
    case MO_U8:
        for (int64_t j = 0; j < n; j++)
            ((uint8_t *)y)[i + j * step] = (uint8_t)saturate(d[j], 0, 255, 0, 255);
        break;
    case MO_F16:
        for (int64_t j = 0; j < n; j++)
            ((uint16_t *)y)[i + j * step] = double_to_half(d[j]);
        break;
    default:
        for (int64_t j = 0; j < n; j++)
            ((uint16_t *)y)[i + j * step] = double_to_bfloat(d[j]);
    }
}

static void convert_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const copy_arguments *p = arguments;
    double block[BLOCK];
    for (int64_t j = 0; j < n; j += BLOCK) {
        int64_t length = min_of(BLOCK, n - j);
        load(p->from, p->x, at[0] + j * step[0], step[0], length, block);
        store(p->to, p->y, at[1] + j * step[1], step[1], length, block);
    }
}

static void move_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const copy_arguments *p = arguments;
    size_t bytes = mo_dtype_size(p->from);
    const char *x = p->x + at[0] * (int64_t)bytes;
    char *y = p->y + at[1] * (int64_t)bytes;
    if (step[0] == 1 && step[1] == 1)
        memcpy(y, x, (size_t)n * bytes);
    else if (bytes == 4)
        for (int64_t j = 0; j < n; j++)
            ((uint32_t *)y)[j * step[1]] = ((const uint32_t *)x)[j * step[0]];
    else if (bytes == 8)
        for (int64_t j = 0; j < n; j++)
            ((uint64_t *)y)[j * step[1]] = ((const uint64_t *)x)[j * step[0]];
    else
        for (int64_t j = 0; j < n; j++)
            memcpy(y + j * step[1] * (int64_t)bytes, x + j * step[0] * (int64_t)bytes, bytes);
}

/* A copy that transposes: y has unit stride along the last axis of the loop nest, x along axis q. */
typedef struct transposing_copy {
    const loop_nest *N;
    int q;
    int64_t strips, length; /* number of strips of axis q; length of the last axis */
    const char *x;
    char *y;
    size_t bytes;
} transposing_copy;

/* Copies rows i0 .. i1-1 of axis q in squares, so that every fetched line of x is used up before it leaves the
 * cache. */
static void move_strip(const transposing_copy *p, int64_t x0, int64_t y0, int64_t i0, int64_t i1) {
    int64_t x_step = p->N->stride[0][p->N->ndim - 1], y_step = p->N->stride[1][p->q];
    for (int64_t j0 = 0; j0 < p->length; j0 += SQUARE)
        for (int64_t i = i0; i < i1; i++) {
            int64_t from = x0 + i + j0 * x_step, to = y0 + i * y_step + j0, n = min_of(SQUARE, p->length - j0);
            if (p->bytes == 4)
                for (int64_t j = 0; j < n; j++)
                    ((uint32_t *)p->y)[to + j] = ((const uint32_t *)p->x)[from + j * x_step];
            else
                for (int64_t j = 0; j < n; j++)
                    ((uint64_t *)p->y)[to + j] = ((const uint64_t *)p->x)[from + j * x_step];
        }
}

/* Returns an axis q of size 8 or more along which x has unit stride, if y has unit stride along the last axis and x
 * does not; -1 if there is none. */
static int transposed_axis(const loop_nest *N) {
    if (N->stride[1][N->ndim - 1] != 1 || N->stride[0][N->ndim - 1] == 1)
        return -1;
    for (int q = 0; q < N->ndim - 1; q++)
        if (N->stride[0][q] == 1 && N->size[q] >= 8)
            return q;
    return -1;
}

static void move_strips(const void *of, task_range some) {
    const transposing_copy *p = of;
    const loop_nest *N = p->N;
    for (int64_t task = some.first; task < some.end; task++) {
        int64_t at[2] = {0, 0}, rest = task / p->strips, i0 = task % p->strips * SQUARE;
        for (int i = N->ndim - 2; i >= 0; i--) {
            if (i == p->q)
                continue;
            at[0] += rest % N->size[i] * N->stride[0][i];
            at[1] += rest % N->size[i] * N->stride[1][i];
            rest /= N->size[i];
        }
        move_strip(p, at[0], at[1], i0, min_of(N->size[p->q], i0 + SQUARE));
    }
}

void copy_cpu(mo_context *ctx, const mo_view *x, const mo_view *y) {
    loop_nest N = loop_nest_of(2, (const mo_view *[]){x, y});
    size_t bytes = mo_dtype_size(x->dtype);
    int q = x->dtype == y->dtype && (bytes == 4 || bytes == 8) ? transposed_axis(&N) : -1;
    if (q >= 0 && N.rows * N.n > 0) {
        transposing_copy p = {.N = &N, .q = q, .length = N.n, .x = x->data, .y = y->data, .bytes = bytes};
        p.strips = ceil_div(N.size[q], SQUARE);
        run_tasks(threads_for(ctx, N.rows * N.n), N.rows / N.size[q] * p.strips, 0, move_strips, &p);
        return;
    }
    copy_arguments p = {.x = x->data, .y = y->data, .from = x->dtype, .to = y->dtype};
    loop_nest_run(ctx, &N, x->dtype == y->dtype ? move_row : convert_row, &p);
}

/* ---- rounding to bf16, the upper half of a float ---- */

typedef struct rounding {
    const uint32_t *x;
    void *y;
    bool narrow; /* y is bf16, else float32 */
} rounding;

/* The bits of a float, rounded to the nearest even of its upper halves; the lower half is 0. */
static inline uint32_t rounded_bits(uint32_t x) {
    uint32_t magnitude = x & 0x7fffffff, nearest = x + 0x7fff + (x >> 16 & 1);
    uint32_t y = magnitude > 0x7f800000 ? x | 0x400000 : nearest; /* NaN stays NaN */
    return (magnitude < 0x800000 ? 0 : y) & 0xffff0000;
}

static void round_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const rounding *p = arguments;
    const uint32_t *restrict x = p->x + at[0];
    uint32_t *restrict y = (uint32_t *)p->y + (p->narrow ? 0 : at[1]);
    uint16_t *restrict narrow = (uint16_t *)p->y + (p->narrow ? at[1] : 0);
    if (p->narrow)
        for (int64_t j = 0; j < n; j++)
            narrow[j * step[1]] = (uint16_t)(rounded_bits(x[j * step[0]]) >> 16);
    else if (step[0] == 1 && step[1] == 1)
        for (int64_t j = 0; j < n; j++)
            y[j] = rounded_bits(x[j]);
    else
        for (int64_t j = 0; j < n; j++)
            y[j * step[1]] = rounded_bits(x[j * step[0]]);
}

void round_cpu(mo_context *ctx, const mo_view *x, const mo_view *y) {
    rounding p = {.x = x->data, .y = y->data, .narrow = y->dtype == MO_BF16};
    loop_nest N = loop_nest_of(2, (const mo_view *[]){x, y});
    loop_nest_run(ctx, &N, round_row, &p);
}

/* ---- fills ---- */

typedef struct fill_arguments {
    char *y;
    mo_dtype dtype;
    double value;
} fill_arguments;

static void fill_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const fill_arguments *p = arguments;
    double block[BLOCK];
    for (int64_t j = 0; j < min_of(BLOCK, n); j++)
        block[j] = p->value;
    for (int64_t j = 0; j < n; j += BLOCK)
        store(p->dtype, p->y, at[0] + j * step[0], step[0], min_of(BLOCK, n - j), block);
}

void fill_cpu(mo_context *ctx, double value, const mo_view *y) {
    fill_arguments p = {.y = y->data, .dtype = y->dtype, .value = value};
    loop_nest N = loop_nest_of(1, &y);
    loop_nest_run(ctx, &N, fill_row, &p);
}
