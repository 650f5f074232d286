/* tools/explain/topic_implicit.c - the topic `implicit`: the implicit function theorem at the root of an equation. */
#include "tools/explain/lesson.h"

/* F(x) = A x + x^3 - theta, for columns */
static mo_tensor *implicit_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *cube = mo_mul(t, mo_square(t, x), x);
    return mo_sub(t, mo_add(t, mo_matmul(t, theta[0], x), cube), theta[1]);
}

static mo_tensor *implicit_forward(lesson *l, mo_tensor *const *in) {
    const mo_solver_options options = {.tolerance = 1e-13};
    mo_tensor *start = mo_scale(l->t, mo_stop_gradient(l->t, in[1]), 0, 0);
    mo_tensor *x = mo_newton_krylov(l->t, start, implicit_residual, in, 2, &options);
    return inner(l->t, in[2], lesson_at(l, "x", x));
}

static void implicit_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "A theta");
    lesson_say(l, "x solves `F(x, theta) = 0`. There is no formula for it: Newton's method finds it, and any other "
                  "method would do.");
    lesson_show(l, "x");
    lesson_agree(l, "A x + x^3 = theta");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "x alone, and what F was made of: not one iteration.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <x_bar, x>`. As theta moves, F stays 0 (the implicit function theorem; J is the derivative "
                  "of F in x):");
    lesson_show(l, "x_bar");
    lesson_formula(l, "0 = dF = J dx + (dF / d theta) d theta");
    lesson_formula(l, "dx = -J^-1 (dF / d theta) d theta");
    lesson_formula(l, "theta_bar = -(dF / d theta)^T u,  u = J^-T x_bar");
    lesson_let(l, "J = A + 3 diag(x^2)");
    lesson_let(l, "u = J^-T x_bar");
    lesson_line(l, "theta", SPACE_ALL, "theta_bar = u");
    lesson_say(l, "as `dF / d theta = -I`; and of A, as `dF = dA x`:");
    lesson_line(l, "A", SPACE_ALL, "A_bar = -u x^T");
    lesson_say(l, "One linear system whatever the number of iterations. It asks for a converged x: `mochi explain "
                  "unrolled` and `mochi lab truncation` show what is lost before.");
}

const topic topic_implicit = {
    .name = "implicit",
    .summary = "the implicit function theorem: the gradient of a root",
    .title = "F(x) = A x + x^3 - theta = 0",
    .source = "ops/solvers/implicit.c",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){4, 2, -2, 2, 5, 1, -2, 1, 6}},
        {"theta", INPUT_FREE, SIZE_N, 1, (const double[]){4, -2, 1}},
        {"x_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, -1, 2}}},
    .n = 3,
    .forward = implicit_forward,
    .tell = implicit_tell,
};
