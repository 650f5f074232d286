/* The right answers of this lesson: the gradient X' (X w - y) in plain loops. */
#include "../checker/exercise.h"

enum { N = 4, D = 2 };

mo_tensor *inner_step(mo_tape *t, mo_tensor *const *in);
mo_tensor *momentum(mo_tape *t, mo_tensor *const *in);

static void gradient(const double *const *in, const double *w, double *g) {
    for (int j = 0; j < D; j++)
        g[j] = 0;
    for (int i = 0; i < N; i++) {
        double apart = -in[1][i];
        for (int j = 0; j < D; j++)
            apart += in[0][i * D + j] * w[j];
        for (int j = 0; j < D; j++)
            g[j] += in[0][i * D + j] * apart;
    }
}

static void inner_step_by_loops(const double *const *in, double *out) {
    double g[D];
    gradient(in, in[2], g);
    for (int j = 0; j < D; j++)
        out[j] = in[2][j] - in[3][0] * g[j];
}

static void momentum_by_loops(const double *const *in, double *out) {
    double first[D], second[D], w[D];
    inner_step_by_loops(in, w);
    gradient(in, in[2], first);
    gradient(in, w, second);
    for (int j = 0; j < D; j++)
        out[j] = w[j] - in[3][0] * (second[j] + 0.5 * first[j]);
}

#define INPUTS                                                                                                         \
    {.ndim = 2, .shape = {N, D}}, {.ndim = 2, .shape = {N, 1}}, {.ndim = 2, .shape = {D, 1}}, {                        \
        .positive = true                                                                                               \
    }

const exercise exercises[] = {
    {"inner_step", 4, {INPUTS}, inner_step, "[2, 1]", inner_step_by_loops,
        "mo_grad with MO_CREATE_GRAPH: else the second order is lost"},
    {"momentum", 4, {INPUTS}, momentum, "[2, 1]", momentum_by_loops,
        "both steps record, and the first gradient is kept"},
};
const int n_exercises = 2;
