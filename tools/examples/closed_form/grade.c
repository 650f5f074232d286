/* The right answers of this lesson: the normal equations, solved by elimination in plain loops. */
#include "../checker/exercise.h"

enum { MOST = 5 };

mo_tensor *dual(mo_tape *t, mo_tensor *const *in);
mo_tensor *weighted(mo_tape *t, mo_tensor *const *in);

/* Solves (X' diag(a) X + lambda I) w = X' diag(a) y for X [n, d]; a may be NULL: ones. */
static void normal_equations(int n, int d, const double *const *in, const double *a, double *w) {
    double A[MOST][MOST + 1];
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= d; j++) {
            A[i][j] = i == j ? in[2][0] : 0;
            for (int r = 0; r < n; r++)
                A[i][j] += (a ? a[r] : 1) * in[0][r * d + i] * (j < d ? in[0][r * d + j] : in[1][r]);
        }
    for (int p = 0; p < d; p++)
        for (int i = 0; i < d; i++)
            for (int j = d; i != p && j >= p; j--)
                A[i][j] -= A[i][p] / A[p][p] * A[p][j];
    for (int i = 0; i < d; i++)
        w[i] = A[i][d] / A[i][i];
}

static void dual_by_loops(const double *const *in, double *out) {
    normal_equations(3, 5, in, NULL, out);
}

static void weighted_by_loops(const double *const *in, double *out) {
    normal_equations(4, 2, in, in[3], out);
}

const exercise exercises[] = {
    {"dual", 3, {{.ndim = 2, .shape = {3, 5}}, {.ndim = 2, .shape = {3, 1}}, {.positive = true}}, dual, "[5, 1]",
        dual_by_loops, "solve (X X' + lambda I) a = y, of order 3; W = X' a"},
    {"weighted", 4,
        {{.ndim = 2, .shape = {4, 2}}, {.ndim = 2, .shape = {4, 1}}, {.positive = true},
            {.ndim = 2, .shape = {4, 1}, .positive = true}},
        weighted, "[2, 1]", weighted_by_loops, "X' (a * X) and X' (a * y): the weights stand once in each product"},
};
const int n_exercises = 2;
