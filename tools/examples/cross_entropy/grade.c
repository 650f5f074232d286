/* The right answers of this lesson: probabilities in plain loops. */
#include "../checker/exercise.h"
#include <math.h>

enum { N = 3, C = 4 };

mo_tensor *tempered(mo_tape *t, mo_tensor *const *in);
mo_tensor *brier(mo_tape *t, mo_tensor *const *in);

static void probabilities(const double *z, double T, double *p) {
    double sum = 0;
    for (int c = 0; c < C; c++)
        sum += p[c] = exp(z[c] / T);
    for (int c = 0; c < C; c++)
        p[c] /= sum;
}

static void tempered_by_loops(const double *const *in, double *out) {
    out[0] = 0;
    for (int i = 0; i < N; i++) {
        double p[C];
        probabilities(in[0] + i * C, in[2][0], p);
        for (int c = 0; c < C; c++)
            out[0] -= in[1][i * C + c] * log(p[c]);
    }
}

static void brier_by_loops(const double *const *in, double *out) {
    out[0] = 0;
    for (int i = 0; i < N; i++) {
        double p[C];
        probabilities(in[0] + i * C, 1, p);
        for (int c = 0; c < C; c++)
            out[0] += (p[c] - in[1][i * C + c]) * (p[c] - in[1][i * C + c]);
    }
}

const exercise exercises[] = {
    {"tempered", 3, {{.ndim = 2, .shape = {N, C}}, {.ndim = 2, .shape = {N, C}, .positive = true}, {.positive = true}},
        tempered, "[]", tempered_by_loops, "mo_log_softmax of z / T, times y, summed over all entries"},
    {"brier", 2, {{.ndim = 2, .shape = {N, C}}, {.ndim = 2, .shape = {N, C}}}, brier, "[]", brier_by_loops,
        "softmax of each row; the sum is over all entries"},
};
const int n_exercises = 2;
