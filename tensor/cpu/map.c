/* tensor/cpu/map.c - elementwise kernels: y = f(x), y = f(x1, x2), y = c ? x1 : x2.
 *
 * The function is a constant inside each loop, so that the compiler sees one plain loop per function. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/loop_nest.h"
#include "tensor/elementwise.h"

typedef struct map1_arguments {
    mo_map1 f;
    real a, b;
    const real *x;
    real *y;
} map1_arguments;

#define INLINE static inline __attribute__((always_inline))

INLINE void loop1(mo_map1 f, const map1_arguments *p, int64_t n, const int64_t *at, const int64_t *step) {
    const real a = p->a, b = p->b, *restrict x = p->x + at[0];
    real *restrict y = p->y + at[1];
    if (step[0] == 1 && step[1] == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] = value1(f, a, b, x[i]);
    else
        for (int64_t i = 0; i < n; i++)
            y[i * step[1]] = value1(f, a, b, x[i * step[0]]);
}

static void row1(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const map1_arguments *p = arguments;
    switch (p->f) {
    case MO_MAP_NEG:
        return loop1(MO_MAP_NEG, p, n, at, step);
    case MO_MAP_SQRT:
        return loop1(MO_MAP_SQRT, p, n, at, step);
    case MO_MAP_RELU:
        return loop1(MO_MAP_RELU, p, n, at, step);
    case MO_MAP_ABS:
        return loop1(MO_MAP_ABS, p, n, at, step);
    case MO_MAP_SQUARE:
        return loop1(MO_MAP_SQUARE, p, n, at, step);
    case MO_MAP_SIGN:
        return loop1(MO_MAP_SIGN, p, n, at, step);
    case MO_MAP_STEP:
        return loop1(MO_MAP_STEP, p, n, at, step);
    case MO_MAP_SCALE:
        return loop1(MO_MAP_SCALE, p, n, at, step);
    case MO_MAP_CLAMP:
        return loop1(MO_MAP_CLAMP, p, n, at, step);
    case MO_MAP_CLAMP_MASK:
        return loop1(MO_MAP_CLAMP_MASK, p, n, at, step);
    case MO_MAP_LEAKY_RELU:
        return loop1(MO_MAP_LEAKY_RELU, p, n, at, step);
    case MO_MAP_LEAKY_STEP:
        return loop1(MO_MAP_LEAKY_STEP, p, n, at, step);
    case MO_MAP_EXP:
        return loop1(MO_MAP_EXP, p, n, at, step);
    case MO_MAP_TANH:
        return loop1(MO_MAP_TANH, p, n, at, step);
    case MO_MAP_SIGMOID:
        return loop1(MO_MAP_SIGMOID, p, n, at, step);
    case MO_MAP_SOFTPLUS:
        return loop1(MO_MAP_SOFTPLUS, p, n, at, step);
    default: /* a function call per element costs more than the switch */
        return loop1(p->f, p, n, at, step);
    }
}

void REAL(map1_cpu)(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y) {
    map1_arguments p = {.f = f, .a = (real)a, .b = (real)b, .x = x->data, .y = y->data};
    loop_nest N = loop_nest_of(2, (const mo_view *[]){x, y});
    loop_nest_run(ctx, &N, row1, &p);
}

typedef struct map2_arguments {
    mo_map2 f;
    const real *x1, *x2;
    real *y;
} map2_arguments;

/* Fast for the common cases: each operand runs along the row or is constant along it. y may be x1 itself. */
INLINE void loop2(mo_map2 f, const map2_arguments *p, int64_t n, const int64_t *at, const int64_t *step) {
    const real *x1 = p->x1 + at[0], *x2 = p->x2 + at[1];
    real *y = p->y + at[2];
    if (step[0] == 1 && step[1] == 1 && step[2] == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] = value2(f, x1[i], x2[i]);
    else if (step[0] == 1 && step[1] == 0 && step[2] == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] = value2(f, x1[i], *x2);
    else if (step[0] == 0 && step[1] == 1 && step[2] == 1)
        for (int64_t i = 0; i < n; i++)
            y[i] = value2(f, *x1, x2[i]);
    else
        for (int64_t i = 0; i < n; i++)
            y[i * step[2]] = value2(f, x1[i * step[0]], x2[i * step[1]]);
}

static void row2(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const map2_arguments *p = arguments;
    switch (p->f) {
    case MO_MAP_ADD:
        return loop2(MO_MAP_ADD, p, n, at, step);
    case MO_MAP_SUB:
        return loop2(MO_MAP_SUB, p, n, at, step);
    case MO_MAP_MUL:
        return loop2(MO_MAP_MUL, p, n, at, step);
    case MO_MAP_DIV:
        return loop2(MO_MAP_DIV, p, n, at, step);
    case MO_MAP_RELU_MASK:
        return loop2(MO_MAP_RELU_MASK, p, n, at, step);
    case MO_MAP_DIV_OR_0:
        return loop2(MO_MAP_DIV_OR_0, p, n, at, step);
    case MO_MAP_MAX:
        return loop2(MO_MAP_MAX, p, n, at, step);
    case MO_MAP_MIN:
        return loop2(MO_MAP_MIN, p, n, at, step);
    case MO_MAP_GREATER_EQUAL:
        return loop2(MO_MAP_GREATER_EQUAL, p, n, at, step);
    case MO_MAP_POWER:
        return loop2(MO_MAP_POWER, p, n, at, step);
    }
}

void REAL(map2_cpu)(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    map2_arguments p = {.f = f, .x1 = x1->data, .x2 = x2->data, .y = y->data};
    loop_nest N = loop_nest_of(3, (const mo_view *[]){x1, x2, y});
    loop_nest_run(ctx, &N, row2, &p);
}

typedef struct where_arguments {
    const void *c;
    bool bytes; /* c is uint8; else c is real */
    const real *x1, *x2;
    real *y;
} where_arguments;

static void where_row(const void *arguments, int64_t n, const int64_t *at, const int64_t *step) {
    const where_arguments *p = arguments;
    const real *x1 = p->x1 + at[1], *x2 = p->x2 + at[2];
    real *y = p->y + at[3];
    for (int64_t i = 0; i < n; i++) {
        int64_t j = at[0] + i * step[0];
        bool first = p->bytes ? ((const uint8_t *)p->c)[j] != 0 : ((const real *)p->c)[j] != 0;
        y[i * step[3]] = first ? x1[i * step[1]] : x2[i * step[2]];
    }
}

void REAL(where_cpu)(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y) {
    where_arguments p = {.c = c->data, .bytes = c->dtype == MO_U8, .x1 = x1->data, .x2 = x2->data, .y = y->data};
    loop_nest N = loop_nest_of(4, (const mo_view *[]){c, x1, x2, y});
    loop_nest_run(ctx, &N, where_row, &p);
}
