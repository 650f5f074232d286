/* tools/explain/topic_cholesky.c - the topics `cholesky` and `logdet`: symmetric positive definite matrices, and
 * gradients among symmetric ones. */
#include "tools/explain/lesson.h"

static mo_tensor *cholesky_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[1], lesson_at(l, "L", mo_cholesky(l->t, in[0])));
}

static void cholesky_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *L = lesson_value(l, "L"), *L_bar = lesson_value(l, "L_bar");
    lesson_section(l, "Forward");
    lesson_show(l, "A L");
    lesson_agree(l, "L L^T = A", mo_matmul(t, L, mo_transpose(t, L)), A);
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
    mo_tensor *product = mo_matmul(t, mo_transpose(t, L), L_bar);
    mo_tensor *Phi = half_lower_part(t, product);
    mo_tensor *S = mo_solve_triangular(t, L, Phi, MO_LOWER_TRANSPOSED);
    mo_tensor *M = transposed(t, mo_solve_triangular(t, L, transposed(t, S), MO_LOWER_TRANSPOSED));
    lesson_show_as(l, "L^T L_bar", product);
    lesson_show_as(l, "Phi(L^T L_bar)", Phi);
    lesson_show_as(l, "M = L^-T Phi(L^T L_bar) L^-1", M);
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = (M + M^T) / 2", symmetric_part(t, M));
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
    lesson_agree(
        l, "y = 2 sum_i log L_ii", y, mo_scale(t, mo_sum(t, mo_log(t, mo_diagonal(t, L)), MO_ALL, MO_DROP_AXES), 2, 0));
    mo_tensor *w, *V;
    mo_eigh(t, A, &w, &V);
    lesson_agree(l, "y = sum_i log w_i, \"the eigenvalues\"", y, mo_sum(t, mo_log(t, w), MO_ALL, MO_DROP_AXES));
    lesson_section(l, "Saved for backward");
    lesson_say(l, "L, with which the inverse is a solve.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For a gradient `y_bar` that arrives:");
    lesson_show(l, "y_bar");
    lesson_formula(l, "d det A = det A trace(A^-1 dA)  =>  dy = trace(A^-1 dA) = <A^-T, dA>");
    mo_tensor *inverse = mo_cholesky_solve(t, L, mo_eye(t, MO_F64, mo_dim(A, 0)));
    lesson_show_as(l, "A^-1", inverse);
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = y_bar A^-T", mo_mul(t, lesson_value(l, "y_bar"), inverse));
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
