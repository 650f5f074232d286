/* What the exercises of this lesson are compared with. */
#include "../checker/exercise.h"
#include <math.h>

mo_tensor *softsign(mo_tape *t, mo_tensor *const *in);
mo_tensor *congruence(mo_tape *t, mo_tensor *const *in);

static void softsign_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 4; i++)
        out[i] = in[0][i] / (1 + fabs(in[0][i]));
}

static void congruence_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = 0;
            for (int k = 0; k < 2; k++)
                for (int l = 0; l < 2; l++)
                    out[3 * i + j] += in[0][2 * i + k] * in[1][2 * k + l] * in[0][2 * j + l];
        }
}

const exercise exercises[] = {
    {"softsign", 1, {{.ndim = 1, .shape = {4}}}, softsign, 4, softsign_by_loops},
    {"congruence", 2, {{.ndim = 2, .shape = {3, 2}}, {.ndim = 2, .shape = {2, 2}}}, congruence, 9, congruence_by_loops},
};
const int n_exercises = 2;
