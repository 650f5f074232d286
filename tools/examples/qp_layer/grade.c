/* The right answers of this lesson. */
#include "../checker/exercise.h"

mo_tensor *projection(mo_tape *t, mo_tensor *const *in);
mo_tensor *price(mo_tape *t, mo_tensor *const *in);

/* Returns (a'c - b) / a'a. */
static double distance_along(const double *const *in) {
    double ac = 0, aa = 0;
    for (int i = 0; i < 4; i++) {
        ac += in[1][i] * in[0][i];
        aa += in[1][i] * in[1][i];
    }
    return (ac - in[2][0]) / aa;
}

static void projection_by_loops(const double *const *in, double *out) {
    for (int i = 0; i < 4; i++)
        out[i] = in[0][i] - distance_along(in) * in[1][i];
}

static void price_by_loops(const double *const *in, double *out) {
    out[0] = -distance_along(in);
}

#define INPUTS                                                                                                         \
    {                                                                                                                  \
        {.ndim = 2, .shape = {4, 1}}, {.ndim = 2, .shape = {1, 4}}, {                                                  \
            .ndim = 2, .shape = { 1, 1 }                                                                               \
        }                                                                                                              \
    }

const exercise exercises[] = {
    {"projection", 3, INPUTS, projection, "[4, 1]", projection_by_loops,
        "the system is [I, a; a', 0] with the right side [c; b]"},
    {"price", 3, INPUTS, price, "[1, 1]", price_by_loops,
        "the last entry of that system's solution, with its sign changed"},
};
const int n_exercises = 2;
