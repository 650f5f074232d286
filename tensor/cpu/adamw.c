/* tensor/cpu/adamw.c - one step of AdamW (Loshchilov and Hutter 2019) in one pass over a parameter.
 *
 *   m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2      p = (1 - lr decay) p
 *   p = p - lr m^ / (sqrt(v^) + epsilon),  m^ = m / (1 - beta1^t), v^ = v / (1 - beta2^t) */
#include "tensor/cpu/kernels.h"

#include <tgmath.h>

/* The constants of a step, rounded once. */
typedef struct adamw_step {
    real clip, beta1, beta2, rest1, rest2, keep, rate, root, epsilon;
} adamw_step;

static adamw_step step_of(const mo_adamw *o) {
    double correction1 = 1 - pow(o->beta1, (double)o->step), correction2 = 1 - pow(o->beta2, (double)o->step);
    return (adamw_step){.clip = (real)o->clip_factor,
        .beta1 = (real)o->beta1,
        .beta2 = (real)o->beta2,
        .rest1 = (real)(1 - o->beta1),
        .rest2 = (real)(1 - o->beta2),
        .keep = (real)(1 - o->lr * o->weight_decay),
        .rate = (real)(o->lr / correction1),
        .root = (real)(1 / sqrt(correction2)),
        .epsilon = (real)o->epsilon};
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

void REAL(adamw_cpu)(
    mo_context *ctx, const mo_adamw *options, const mo_view *g, const mo_view *m, const mo_view *v, const mo_view *p) {
    int64_t n = leading(p, p->ndim);
    adamw_step s = step_of(options);
    int threads = threads_for(ctx, n);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int64_t i = 0; i < n; i += MO_TASK)
        update(s, min_of(MO_TASK, n - i), (const real *)g->data + i, (real *)m->data + i, (real *)v->data + i,
            (real *)p->data + i);
}
