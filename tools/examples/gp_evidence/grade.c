/* The right answers of this lesson: elimination in plain loops. */
#include "../checker/exercise.h"
#include <math.h>

enum { N = 4, D = 2 };

mo_tensor *linear_evidence(mo_tape *t, mo_tensor *const *in);
mo_tensor *mean_at(mo_tape *t, mo_tensor *const *in);

/* Solves K alpha = y for K = v XX' + I; returns log det K. */
static double eliminate(const double *const *in, double alpha[N]) {
    double K[N][N + 1], logdet = 0;
    for (int i = 0; i < N; i++) {
        K[i][N] = in[1][i];
        for (int j = 0; j < N; j++) {
            K[i][j] = i == j;
            for (int k = 0; k < D; k++)
                K[i][j] += in[2][0] * in[0][i * D + k] * in[0][j * D + k];
        }
    }
    for (int p = 0; p < N; p++) {
        logdet += log(K[p][p]);
        for (int i = 0; i < N; i++)
            for (int j = N; i != p && j >= p; j--)
                K[i][j] -= K[i][p] / K[p][p] * K[p][j];
    }
    for (int i = 0; i < N; i++)
        alpha[i] = K[i][N] / K[i][i];
    return logdet;
}

static void linear_evidence_by_loops(const double *const *in, double *out) {
    double alpha[N];
    out[0] = eliminate(in, alpha);
    for (int i = 0; i < N; i++)
        out[0] += in[1][i] * alpha[i];
}

static void mean_by_loops(const double *const *in, double *out) {
    double alpha[N];
    eliminate(in, alpha);
    out[0] = 0;
    for (int i = 0; i < N; i++)
        out[0] += in[3][i] * alpha[i];
}

#define INPUTS                                                                                                         \
    {.ndim = 2, .shape = {N, D}}, {.ndim = 2, .shape = {N, 1}}, {                                                      \
        .positive = true                                                                                               \
    }

const exercise exercises[] = {
    {"linear_evidence", 3, {INPUTS}, linear_evidence, "[]", linear_evidence_by_loops,
        "mo_add_diag on v X X'; one factor gives the solve and log det"},
    {"mean_at", 4, {INPUTS, {.ndim = 2, .shape = {N, 1}}}, mean_at, "[]", mean_by_loops, "solve K a = y, then k' a"},
};
const int n_exercises = 2;
