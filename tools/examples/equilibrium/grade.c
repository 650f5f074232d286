/* The right answers of this lesson: 200 iterations in plain loops, more than change anything. */
#include "../checker/exercise.h"
#include <math.h>

mo_tensor *equilibrium(mo_tape *t, mo_tensor *const *in);
mo_tensor *omega(mo_tape *t, mo_tensor *const *in);

static void equilibrium_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 4; i++) {
        out[i] = 0;
        for (int k = 0; k < 200; k++)
            out[i] = tanh(tanh(in[0][i]) * out[i] / 3 + in[1][i]);
    }
}

static void omega_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 4; i++) {
        double low = in[0][i] - exp(in[0][i]), high = in[0][i];
        for (int k = 0; k < 200; k++) {
            out[i] = (low + high) / 2;
            *(out[i] + exp(out[i]) > in[0][i] ? &high : &low) = out[i];
        }
    }
}

const exercise exercises[] = {
    {"equilibrium", 2, {{.ndim = 1, .shape = {4}}, {.ndim = 1, .shape = {4}}}, equilibrium, "[4]", equilibrium_by_loops,
        "F(z) = z - tanh(a z / 3 + x); the adjoint is the library's"},
    {"omega", 1, {{.ndim = 1, .shape = {4}}}, omega, "[4]", omega_by_loops, "F(u) = u + exp(u) - M"},
};
const int n_exercises = 2;
