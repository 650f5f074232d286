/* tensor/cpu/adamw.c - one step of AdamW (Loshchilov and Hutter 2019) in one pass over each parameter.
 *
 *   m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2      p = (1 - lr decay) p
 *   p = p - lr m^ / (sqrt(v^) + epsilon),  m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t) */
#include "tensor/cpu/kernels.h"

#include <string.h>
#include <tgmath.h>

/* The constants of an AdamW step, rounded to real once. */
typedef struct adamw_step {
    real clip, beta1, beta2, rest1, rest2, keep, rate, root, epsilon;
} adamw_step;

static adamw_step step_of(const double *factor, double clip) {
    return (adamw_step){.clip = (real)clip,
        .beta1 = (real)factor[MO_ADAMW_BETA1],
        .beta2 = (real)factor[MO_ADAMW_BETA2],
        .rest1 = (real)factor[MO_ADAMW_REST1],
        .rest2 = (real)factor[MO_ADAMW_REST2],
        .keep = (real)factor[MO_ADAMW_KEEP],
        .rate = (real)factor[MO_ADAMW_RATE],
        .root = (real)factor[MO_ADAMW_ROOT],
        .epsilon = (real)factor[MO_ADAMW_EPSILON]};
}

static void update(
    adamw_step s, int64_t n, const real *restrict g, real *restrict m, real *restrict v, real *restrict p) {
    for (int64_t i = 0; i < n; i++) {
        real gradient = g[i] * s.clip;
        m[i] = s.beta1 * m[i] + s.rest1 * gradient;
        v[i] = s.beta2 * v[i] + s.rest2 * gradient * gradient;
        p[i] = s.keep * p[i] - s.rate * m[i] / (sqrt(v[i]) * s.root + s.epsilon);
    }
}

void REAL(gradient_norm_cpu)(
    mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale) {
    double *square = squares->data, *out = scale->data, sum = 0;
    for (int k = 0; k < n; k++) {
        real value;
        mo_view one = g[k];
        one.data = &value;
        memset(one.stride, 0, sizeof one.stride);
        REAL(reduce_cpu)(ctx, MO_REDUCE_SUM_OF_SQUARES, &g[k], &one);
        square[k] = value;
        sum += square[k];
    }
    out[0] = sqrt(sum);
    double factor = bound > 0 ? bound / (out[0] + 1e-6) : 1;
    out[1] = factor < 1 ? factor : 1;
}

typedef struct parameter {
    adamw_step step;
    int64_t n;
    const real *g;
    real *m, *v, *p;
} parameter;

static void update_some(const void *of, task_range some) {
    const parameter *w = of;
    int64_t i = some.first * MO_TASK, n = min_of(w->n, some.end * MO_TASK) - i;
    update(w->step, n, w->g + i, w->m + i, w->v + i, w->p + i);
}

void REAL(adamw_cpu)(mo_context *ctx, const mo_view *factors, const mo_view *scale, int count, const mo_view *g,
    const mo_view *m, const mo_view *v, const mo_view *p) {
    adamw_step s = step_of(factors->data, ((const double *)scale->data)[1]);
    for (int k = 0; k < count; k++) {
        const parameter w = {
            .step = s, .n = leading(&p[k], p[k].ndim), .g = g[k].data, .m = m[k].data, .v = v[k].data, .p = p[k].data};
        run_tasks(threads_for(ctx, w.n), ceil_div(w.n, MO_TASK), 0, update_some, &w);
    }
}
