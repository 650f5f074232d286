/* tools/explain/topic_solve.c - the topics `solve` and `triangular`: linear systems, and their use in backward. */
#include "tools/explain/lesson.h"

static mo_tensor *solve_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[2], lesson_at(l, "X", mo_solve(l->t, in[0], in[1])));
}

static void tell_differential(lesson *l) {
    lesson_say(l, "For a loss l whose gradient `X_bar` = `dl / dX` is known, here `l = <X_bar, X>`:");
    lesson_show(l, "X_bar");
    lesson_formula(l, "A X = B  =>  dA X + A dX = dB  =>  dX = A^-1 (dB - dA X)");
    lesson_formula(l, "dl = <X_bar, dX> = <A^-T X_bar, dB> - <A^-T X_bar X^T, dA>");
    lesson_say(l, "and the two factors beside `dB` and `dA` are their gradients (Giles 2008).");
}

static void solve_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *P = lu_permutation(t, A), *L, *U;
    lu_factors(t, mo_matmul(t, P, A), &L, &U);
    lesson_section(l, "Forward");
    lesson_show(l, "A B");
    lesson_say(l, "One factorization, `P A = L U`, where P exchanges rows so that pivots are large:");
    lesson_know(l, "P", "P", P);
    lesson_know(l, "L", "L", L);
    lesson_know(l, "U", "U", U);
    lesson_say(l, "and two triangular solves: `L V = P B`, then `U X = V`.");
    lesson_know(l, "V", "V", mo_solve_triangular(t, L, mo_matmul(t, P, lesson_value(l, "B")), MO_LOWER));
    lesson_agree(l, "X = U^-1 V");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "A, L and U in one matrix, the pivots, X.");
    lesson_section(l, "Adjoint");
    tell_differential(l);
    lesson_line(l, "B", SPACE_ALL, "B_bar = A^-T X_bar");
    lesson_say(l, "by `U^T`, then `L^T`: the factors of forward, and no new ones.");
    lesson_line(l, "A", SPACE_ALL, "A_bar = -B_bar X^T");
}

const topic topic_solve = {
    .name = "solve",
    .summary = "A X = B and its adjoint, which reuses the factor",
    .title = "X \"with\" A X = B",
    .source = "ops/solve.c",
    .inputs = {{"A", INPUT_REGULAR, SIZE_N, SIZE_N, (const double[]){4, 1, -1, 2, 3, 1, -1, 1, 2}},
        {"B", INPUT_FREE, SIZE_N, 1, (const double[]){1, 2, 3}},
        {"X_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, -1, 2}}},
    .n = 3,
    .forward = solve_forward,
    .tell = solve_tell,
};

static mo_tensor *triangular_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[2], lesson_at(l, "X", mo_solve_triangular(l->t, in[0], in[1], MO_LOWER)));
}

static void triangular_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "L B");
    lesson_say(l, "No factorization: the first row has one unknown, each further row one more (forward substitution). "
                  "It takes `n^2` operations a column, where a factorization takes about `n^3`.");
    lesson_formula(l, "X_i = (B_i - sum_{j<i} L_ij X_j) / L_ii");
    lesson_show(l, "X");
    lesson_agree(l, "L X = B");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Nothing beyond L and X.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <X_bar, X>`. As for any solve, but `dL` has no entries above the diagonal, so that only "
                  "the lower triangle of its gradient counts.");
    lesson_show(l, "X_bar");
    lesson_formula(l, "dX = L^-1 (dB - dL X)");
    lesson_line(l, "B", SPACE_ALL, "B_bar = L^-T X_bar");
    lesson_say(l, "by substitution from the last row up: `L^T` is upper triangular.");
    lesson_line(l, "L", SPACE_LOWER, "L_bar = tril(-B_bar X^T)");
}

const topic topic_triangular = {
    .name = "triangular",
    .summary = "L X = B for triangular L: substitution, there and back",
    .title = "X \"with\" L X = B",
    .source = "ops/solve_triangular.c",
    .inputs = {{"L", INPUT_LOWER, SIZE_N, SIZE_N, (const double[]){2, 0, 0, -1, 1, 0, 3, 2, 4}},
        {"B", INPUT_FREE, SIZE_N, 1, (const double[]){2, 1, -1}},
        {"X_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, -1, 2}}},
    .n = 3,
    .forward = triangular_forward,
    .tell = triangular_tell,
};
