/* The right answers of this lesson, by the inverse of a 2 x 2 matrix. */
#include "../checker/exercise.h"

enum { N = 4 };

mo_tensor *degrees_of_freedom(mo_tape *t, mo_tensor *const *in);
mo_tensor *generalized(mo_tape *t, mo_tensor *const *in);

/* Writes H [N, N] for X [N, 2] and lambda; returns its trace. */
static double hat(const double *x, double lambda, double H[N][N]) {
    double a = lambda, b = 0, c = lambda, trace = 0;
    for (int i = 0; i < N; i++) {
        a += x[2 * i] * x[2 * i];
        b += x[2 * i] * x[2 * i + 1];
        c += x[2 * i + 1] * x[2 * i + 1];
    }
    double det = a * c - b * b;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++)
            H[i][j] =
                (x[2 * i] * (c * x[2 * j] - b * x[2 * j + 1]) + x[2 * i + 1] * (a * x[2 * j + 1] - b * x[2 * j])) / det;
        trace += H[i][i];
    }
    return trace;
}

static void degrees_by_loops(const double *const *in, double *out) {
    double H[N][N];
    out[0] = hat(in[0], in[1][0], H);
}

static void generalized_by_loops(const double *const *in, double *out) {
    double H[N][N], trace = hat(in[0], in[1][0], H), sum = 0;
    for (int i = 0; i < N; i++) {
        double residual = in[2][i];
        for (int j = 0; j < N; j++)
            residual -= H[i][j] * in[2][j];
        sum += residual * residual;
    }
    out[0] = N * sum / ((N - trace) * (N - trace));
}

#define INPUTS                                                                                                         \
    {.ndim = 2, .shape = {N, 2}}, {                                                                                    \
        .positive = true                                                                                               \
    }

const exercise exercises[] = {
    {"degrees_of_freedom", 2, {INPUTS}, degrees_of_freedom, "[]", degrees_by_loops,
        "tr X B = tr B X, which is of order 2"},
    {"generalized", 3, {INPUTS, {.ndim = 2, .shape = {N, 1}}}, generalized, "[]", generalized_by_loops,
        "tr H from the exercise before; the prediction is H y"},
};
const int n_exercises = 2;
