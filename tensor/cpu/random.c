/* tensor/cpu/random.c - random numbers by position: element i is the number at position r + i. */
#include "tensor/cpu/kernels.h"
#include "tensor/philox.h"

/* y: the numbers to draw; a, b: the parameters of their distribution. */
typedef struct draw {
    const mo_random *r;
    bool normal;
    double a, b;
    real *y;
} draw;

/* 0 with probability a, else b. */
static void draw_mask(const void *of, task_range some) {
    const draw *d = of;
    for (int64_t i = some.first; i < some.end; i++) {
        uint32_t word[4];
        mo_philox(d->r, (uint64_t)i, word);
        d->y[i] = mo_philox_uniform(word) < d->a ? 0 : (real)d->b;
    }
}

void REAL(dropout_mask_cpu)(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask) {
    int64_t n = leading(mask, mask->ndim);
    const draw d = {.r = r, .a = rate, .b = 1 / (1 - rate), .y = mask->data};
    run_tasks(threads_for(ctx, 4 * n), n, MO_TASK, draw_mask, &d);
}

static void draw_numbers(const void *of, task_range some) {
    const draw d = *(const draw *)of;
    for (int64_t i = some.first; i < some.end; i++) {
        uint32_t word[4];
        mo_philox(d.r, (uint64_t)i, word);
        d.y[i] = (real)(d.normal ? d.a + d.b * mo_philox_normal(word) : d.a + (d.b - d.a) * mo_philox_uniform(word));
    }
}

void REAL(random_cpu)(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y) {
    int64_t n = leading(y, y->ndim);
    const draw d = {.r = r, .normal = normal, .a = a, .b = b, .y = y->data};
    run_tasks(threads_for(ctx, 4 * n), n, MO_TASK, draw_numbers, &d);
}
