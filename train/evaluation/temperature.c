/* train/evaluation/temperature.c - the temperature that calibrates class probabilities (Guo et al. 2017). In float64.
 *
 * The cross-entropy f(beta) = mean_i (log sum_c exp(beta x_ic) - beta sum_c t_ic x_ic) is convex in beta = 1 / T:
 *     f'  = mean_i (E_p x - E_t x),   f'' = mean_i Var_p x,   p = softmax(beta x), t the (smoothed) target.
 * Newton's method, kept inside a shrinking interval on which f' changes sign. Every episode of `mochi readouts` waits
 * for this method, so the exponentials of several rows are computed in SIMD lanes: the file is compiled like the
 * kernels. */
#include "train/metrics.h"

typedef double real;
#include "tensor/exponential.h"

enum { LANES = 16, NEWTON_STEPS = 20, STEPS = 100 };

typedef struct problem {
    const double *logits;
    const int64_t *label;
    int64_t n, classes;
    double smoothing;
    double target; /* sum of E_t x, after subtracting each row's largest logit */
    double spread; /* the largest difference between two logits of a row */
} problem;

/* Up to LANES rows; unused lanes repeat the last row and do not count. */
typedef struct block {
    const double *x[LANES];
    double largest[LANES];
    int lanes;
} block;

static block block_at(const problem *q, int64_t first) {
    block b = {.lanes = q->n - first < LANES ? (int)(q->n - first) : LANES};
    for (int i = 0; i < LANES; i++) {
        b.x[i] = q->logits + (first + (i < b.lanes ? i : b.lanes - 1)) * q->classes;
        b.largest[i] = b.x[i][0];
    }
    for (int64_t c = 1; c < q->classes; c++)
        for (int i = 0; i < LANES; i++)
            b.largest[i] = b.x[i][c] > b.largest[i] ? b.x[i][c] : b.largest[i];
    return b;
}

/* Computes the quantities that do not depend on beta. */
static void prepare_temperature(problem *q) {
    for (int64_t first = 0; first < q->n; first += LANES) {
        block b = block_at(q, first);
        for (int i = 0; i < b.lanes; i++) {
            double sum = 0, least = 0;
            for (int64_t c = 0; c < q->classes; c++) {
                double centred = b.x[i][c] - b.largest[i];
                sum += centred;
                least = centred < least || isnan(centred) ? centred : least;
            }
            q->target += (1 - q->smoothing) * (b.x[i][q->label[first + i]] - b.largest[i]) +
                         q->smoothing * sum / (double)q->classes;
            q->spread = -least > q->spread || isnan(least) ? -least : q->spread;
        }
    }
}

/* n f'(beta) and n f''(beta); also n f(beta) if f is not NULL. */
static void temperature_derivatives(const problem *q, double beta, double *slope, double *curvature, double *f) {
    double logs = 0;
    *slope = -q->target;
    *curvature = 0;
    for (int64_t first = 0; first < q->n; first += LANES) {
        block b = block_at(q, first);
        double z[LANES] = {0}, mean[LANES] = {0}, square[LANES] = {0};
        for (int64_t c = 0; c < q->classes; c++)
            for (int i = 0; i < LANES; i++) {
                double centred = b.x[i][c] - b.largest[i], e = exp_d(beta * centred);
                z[i] += e;
                mean[i] += e * centred;
                square[i] += e * centred * centred;
            }
        for (int i = 0; i < b.lanes; i++) {
            mean[i] /= z[i];
            *slope += mean[i];
            *curvature += square[i] / z[i] - mean[i] * mean[i];
            logs += f ? log(z[i]) : 0;
        }
    }
    if (f)
        *f = logs - beta * q->target;
}

/* A step that leaves the interval is replaced by a bisection of log beta. From step NEWTON_STEPS + 1 on, every step is
 * a bisection: in the tail of f the slope keeps its sign, and Newton's steps only creep towards one end. */
static double least_beta(const problem *q, double low, double high) {
    double beta = sqrt(low * high), slope, curvature;
    for (int step = 0; step < STEPS && high > low * (1 + 1e-14); step++) {
        temperature_derivatives(q, beta, &slope, &curvature, NULL);
        *(slope > 0 ? &high : &low) = beta;
        double next = beta - slope / curvature;
        if (fabs(next - beta) <= 1e-8 * beta && step <= NEWTON_STEPS) /* Newton squares this error, to about 1e-16 */
            return next;
        beta = next > low && next < high && step <= NEWTON_STEPS ? next : sqrt(low * high);
    }
    return beta;
}

double mo_platt_smoothing(int64_t n, int64_t classes) {
    return (double)classes / ((double)(classes - 1) * (double)(n + 2));
}

double mo_fit_temperature(
    const double *logits, const int64_t *label, int64_t n, int64_t classes, double smoothing, double *nll) {
    problem q = {.logits = logits, .label = label, .n = n, .classes = classes, .smoothing = smoothing};
    double beta = 1, slope, curvature;
    if (n > 0 && (!logits || !label))
        return NAN;
    prepare_temperature(&q);
    if (q.spread > 0 && isfinite(q.spread))
        beta = least_beta(&q, 1e-4 / q.spread, 1e4 / q.spread);
    if (nll) {
        temperature_derivatives(&q, beta, &slope, &curvature, nll);
        *nll = n > 0 ? *nll / (double)n : NAN;
    }
    return 1 / beta;
}
