/* tools/explain/topic_cholesky.c - the topics `cholesky` and `logdet`: symmetric positive definite matrices, and
 * gradients among symmetric ones. */
#include "tools/explain/lesson.h"

static mo_tensor *cholesky_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[1], lesson_at(l, "L", mo_cholesky(l->t, in[0])));
}

static void cholesky_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "A L");
    lesson_agree(l, "L L^T = A");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "L alone.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <L_bar, L>`:");
    lesson_show(l, "L_bar");
    lesson_formula(l, "dA = dL L^T + L dL^T  =>  L^-1 dA L^-T = L^-1 dL + (L^-1 dL)^T");
    lesson_say(l, "The first term is lower triangular, so `L^-1 dL = Phi(L^-1 dA L^-T)`, where `Phi` keeps the lower "
                  "triangle and halves the diagonal (Smith 1995, Murray 2016);");
    lesson_formula(l, "dl = <L_bar, dL> = <Phi(L^T L_bar), L^-1 dA L^-T> = <M, dA>");
    lesson_say(l, "and with `dA` symmetric only the symmetric part of M counts.");
    lesson_let(l, "L^T L_bar");
    lesson_let(l, "Phi(L^T L_bar)");
    lesson_let(l, "M = L^-T Phi(L^T L_bar) L^-1");
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = (M + M^T) / 2");
    lesson_say(l, "Among symmetric matrices `A_ij` and `A_ji` move together, by half.");
}

const topic topic_cholesky = {
    .name = "cholesky",
    .summary = "A = L L^T, and a gradient among symmetric matrices",
    .title = "A = L L^T",
    .source = "ops/cholesky.c",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){4, 2, -2, 2, 5, 1, -2, 1, 6}},
        {"L_bar", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){1, 0, 0, -1, 2, 0, 0.5, 1, -1}}},
    .n = 3,
    .forward = cholesky_forward,
    .tell = cholesky_tell,
};

static mo_tensor *logdet_forward(lesson *l, mo_tensor *const *in) {
    mo_tensor *y = lesson_at(l, "y", mo_logdet(l->t, in[0]));
    return mo_mul(l->t, in[1], y);
}

static void logdet_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *L = mo_cholesky(t, A), *y = lesson_value(l, "y");
    lesson_section(l, "Forward");
    lesson_show(l, "A");
    lesson_show_as(l, "L", L);
    lesson_say(l, "A determinant overflows long before its logarithm does: y is a sum of logarithms.");
    lesson_agree_of(
        l, "y = 2 sum_i log L_ii", y, mo_scale(t, mo_sum(t, mo_log(t, mo_diagonal(t, L)), MO_ALL, MO_DROP_AXES), 2, 0));
    mo_tensor *w, *V;
    mo_eigh(t, A, &w, &V);
    lesson_agree_of(l, "y = sum_i log w_i, \"the eigenvalues\"", y, mo_sum(t, mo_log(t, w), MO_ALL, MO_DROP_AXES));
    lesson_section(l, "Saved for backward");
    lesson_say(l, "L, with which the inverse is a solve.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For a gradient `y_bar` that arrives:");
    lesson_show(l, "y_bar");
    lesson_formula(l, "d det A = det A trace(A^-1 dA)  =>  dy = trace(A^-1 dA) = <A^-T, dA>");
    lesson_let(l, "A^-1");
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = y_bar A^-T");
    lesson_say(l, "That is the term of the evidence of a Gaussian process that pulls towards small kernels; "
                  "`x^T A^-1 x` (mo_quadratic_form) is the one that pulls towards large ones.");
}

const topic topic_logdet = {
    .name = "logdet",
    .summary = "log det A by Cholesky, whose gradient is the inverse",
    .title = "y = log det A",
    .source = "ops/logdet.c",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){4, 2, -2, 2, 5, 1, -2, 1, 6}},
        {"y_bar", INPUT_FIXED, 0, 0, (const double[]){1.5}}},
    .n = 3,
    .forward = logdet_forward,
    .tell = logdet_tell,
};
