/* tensor/cpu/cross_entropy.c - the cross entropy of softmax rows with (smoothed) targets.
 *
 * log softmax(x)_c = (x_c - m) - log sum exp(x - m), m the largest entry: both parts are exact to rounding at any size
 * of x, while logsumexp(x) - x_c taken as two numbers of size 1e4 would lose the difference. */
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/lane_sum.h"
#include "tensor/scalar.h"

/* m and log sum exp(x - m) of a row. */
typedef struct row_scale {
    real largest;
    double log_sum;
} row_scale;

static row_scale scale_of(const real *x, int64_t n) {
    real largest = -INFINITY;
#pragma omp simd reduction(max : largest)
    for (int64_t c = 0; c < n; c++)
        largest = x[c] > largest ? x[c] : largest;
    largest = largest == -INFINITY ? 0 : largest;
    lane_sum sum = {0};
    int64_t c = 0;
    for (; c + LANE_SUM <= n; c += LANE_SUM)
        for (int j = 0; j < LANE_SUM; j++)
            sum.lane[j] += exp_of(x[c + j] - largest);
    for (; c < n; c++)
        sum.lane[0] += exp_of(x[c] - largest);
    return (row_scale){.largest = largest, .log_sum = log(lane_sum_total(&sum))};
}

/* Returns -log softmax for the class whose entry in the row is x. */
static inline double surprise(const row_scale *s, real x) {
    return ((double)s->largest - x) + s->log_sum;
}

static double label_loss(const real *x, int64_t n, int64_t label, double smoothing) {
    row_scale s = scale_of(x, n);
    double loss = (1 - smoothing) * surprise(&s, x[label]), sum = 0;
    if (smoothing == 0)
        return loss;
    for (int64_t c = 0; c < n; c++)
        sum += surprise(&s, x[c]);
    return loss + smoothing / (double)n * sum;
}

/* A class with target 0 adds nothing, even if its -log softmax is infinite. */
static double dense_loss(const real *x, int64_t n, const real *target, double smoothing) {
    row_scale s = scale_of(x, n);
    double sum = 0;
    for (int64_t c = 0; c < n; c++) {
        double t = (1 - smoothing) * (double)target[c] + smoothing / (double)n;
        sum += t == 0 ? 0 : t * surprise(&s, x[c]);
    }
    return sum;
}

typedef struct losses {
    const real *x;
    const mo_view *target;
    int64_t n;
    double smoothing;
    real *y;
} losses;

static void loss_rows(const void *of, task_range some) {
    const losses *p = of;
    bool labels = p->target->dtype == MO_I64;
    for (int64_t i = some.first; i < some.end; i++) {
        const real *x = p->x + i * p->n;
        p->y[i] = (real)(labels ? label_loss(x, p->n, ((const int64_t *)p->target->data)[i], p->smoothing)
                                : dense_loss(x, p->n, (const real *)p->target->data + i * p->n, p->smoothing));
    }
}

void REAL(cross_entropy_cpu)(
    mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target, const mo_view *loss) {
    int64_t n = row_length(x), rows = row_count(x);
    const losses p = {.x = x->data, .target = target, .n = n, .smoothing = smoothing, .y = loss->data};
    run_tasks(threads_for(ctx, 8 * rows * n), rows, 0, loss_rows, &p);
}
