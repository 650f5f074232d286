/* The right answers of this lesson: Cramer's rule for two unknowns. */
#include "../checker/exercise.h"
#include <math.h>

enum { N = 4, D = 2, HELD = 3 };

mo_tensor *held_out(mo_tape *t, mo_tensor *const *in);
mo_tensor *penalty_each(mo_tape *t, mo_tensor *const *in);

static void fit(const double *X, const double *y, double first, double second, double *w) {
    double a = first, b = 0, c = second, p = 0, q = 0;
    for (int i = 0; i < N; i++) {
        a += X[i * D] * X[i * D];
        b += X[i * D] * X[i * D + 1];
        c += X[i * D + 1] * X[i * D + 1];
        p += X[i * D] * y[i];
        q += X[i * D + 1] * y[i];
    }
    w[0] = (p * c - b * q) / (a * c - b * b);
    w[1] = (a * q - b * p) / (a * c - b * b);
}

static void held_out_by_loops(const double *const *in, double *out) {
    double w[D], lambda = exp(in[3][0]);
    fit(in[0], in[1], lambda, lambda, w);
    out[0] = 0;
    for (int i = 0; i < HELD; i++) {
        const double *z = in[2] + i * (D + 1);
        out[0] += (z[0] * w[0] + z[1] * w[1] - z[2]) * (z[0] * w[0] + z[1] * w[1] - z[2]);
    }
}

static void penalty_each_by_loops(const double *const *in, double *out) {
    fit(in[0], in[1], exp(in[2][0]), exp(in[2][1]), out);
}

const exercise exercises[] = {
    {"held_out", 4,
        {{.ndim = 2, .shape = {N, D}}, {.ndim = 2, .shape = {N, 1}}, {.ndim = 2, .shape = {HELD, D + 1}}, {.ndim = 0}},
        held_out, "[]", held_out_by_loops, "lambda is mo_exp(theta); the columns of Z by mo_slice"},
    {"penalty_each", 3, {{.ndim = 2, .shape = {N, D}}, {.ndim = 2, .shape = {N, 1}}, {.ndim = 1, .shape = {D}}},
        penalty_each, "[2, 1]", penalty_each_by_loops, "mo_add_diag takes a vector"},
};
const int n_exercises = 2;
