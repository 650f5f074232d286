/* The right answers of this lesson: eigenvalues by Jacobi's rotations in plain loops. */
#include "../checker/exercise.h"
#include <math.h>

enum { N = 3, SWEEPS = 30 };

mo_tensor *root_trace(mo_tape *t, mo_tensor *const *in);
mo_tensor *entropy(mo_tape *t, mo_tensor *const *in);

/* Rotates the plane of axes p and q so that A[p][q] becomes 0. */
static void rotate(double A[N][N], int p, int q) {
    double angle = 0.5 * atan2(2 * A[p][q], A[q][q] - A[p][p]), c = cos(angle), s = sin(angle);
    for (int k = 0; k < N; k++) {
        double x = A[k][p], y = A[k][q];
        A[k][p] = c * x - s * y;
        A[k][q] = s * x + c * y;
    }
    for (int k = 0; k < N; k++) {
        double x = A[p][k], y = A[q][k];
        A[p][k] = c * x - s * y;
        A[q][k] = s * x + c * y;
    }
}

static void eigenvalues(const double *X, double *w) {
    double A[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            A[i][j] = i == j;
            for (int k = 0; k < N; k++)
                A[i][j] += X[i * N + k] * X[j * N + k];
        }
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int p = 0; p < N; p++)
            for (int q = p + 1; q < N; q++)
                rotate(A, p, q);
    for (int i = 0; i < N; i++)
        w[i] = A[i][i];
}

static void root_trace_by_loops(const double *const *in, double *out) {
    double w[N];
    eigenvalues(in[0], w);
    out[0] = sqrt(w[0]) + sqrt(w[1]) + sqrt(w[2]);
}

static void entropy_by_loops(const double *const *in, double *out) {
    double w[N];
    eigenvalues(in[0], w);
    double sum = w[0] + w[1] + w[2];
    out[0] = 0;
    for (int i = 0; i < N; i++)
        out[0] -= w[i] / sum * log(w[i] / sum);
}

const exercise exercises[] = {
    {"root_trace", 1, {{.ndim = 2, .shape = {N, N}}}, root_trace, "[]", root_trace_by_loops,
        "the values of mo_eigh, their roots, their sum"},
    {"entropy", 1, {{.ndim = 2, .shape = {N, N}}}, entropy, "[]", entropy_by_loops, "divide the values by their sum"},
};
const int n_exercises = 2;
