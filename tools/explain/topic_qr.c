/* tools/explain/topic_qr.c - the topics `qr` and `least_squares`. */
#include "tools/explain/lesson.h"

static mo_tensor *qr_forward(lesson *l, mo_tensor *const *in) {
    mo_tensor *Q, *R;
    mo_qr(l->t, in[0], &Q, &R);
    Q = lesson_at(l, "Q", Q);
    R = lesson_at(l, "R", R);
    return mo_add(l->t, inner(l->t, in[1], Q), inner(l->t, in[2], R));
}

static void qr_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *Q = lesson_value(l, "Q");
    lesson_section(l, "Forward");
    lesson_show(l, "A Q R");
    lesson_say(l, "The columns of Q are orthonormal, R is upper triangular, and its diagonal is positive, which makes "
                  "both unique.");
    lesson_agree_of(l, "Q^T Q = I", mo_matmul(t, mo_transpose(t, Q), Q), mo_eye(t, MO_F64, mo_dim(Q, 1)));
    lesson_agree(l, "Q R = A");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Nothing beyond Q and R.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <Q_bar, Q> + <R_bar, R>`:");
    lesson_show(l, "Q_bar R_bar");
    lesson_formula(l, "Q^T dA R^-1 = C + dR R^-1,  C = Q^T dQ");
    lesson_say(l,
        "`C` is antisymmetric, as `Q^T Q` does not change, and `dR R^-1` is upper triangular: the strict lower "
        "triangle of `Q^T dA R^-1` is that of C. Gathered beside `dA` (Walter and Lehmann 2012), with "
        "copyltu, which copies the lower triangle to the upper one:");
    lesson_let(l, "M = R R_bar^T - Q_bar^T Q");
    lesson_let(l, "copyltu(M)");
    lesson_line(l, "A", SPACE_ALL, "A_bar = (Q_bar + Q copyltu(M)) R^-T");
}

const topic topic_qr = {
    .name = "qr",
    .summary = "A = Q R, orthonormal and triangular, differentiated in both",
    .title = "A = Q R, Q^T Q = I",
    .source = "ops/qr.c",
    .inputs = {{"A", INPUT_FREE, SIZE_M, SIZE_N, (const double[]){2, 1, 1, 3, -2, 1}},
        {"Q_bar", INPUT_FIXED, SIZE_M, SIZE_N, (const double[]){1, 0, -1, 2, 0.5, 1}},
        {"R_bar", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){1, -1, 0, 2}}},
    .n = 2,
    .m = 3,
    .forward = qr_forward,
    .tell = qr_tell,
};

static mo_tensor *least_squares_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[2], lesson_at(l, "X", mo_least_squares(l->t, in[0], in[1])));
}

static void least_squares_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *Q, *R;
    mo_qr(t, A, &Q, &R);
    lesson_section(l, "Forward");
    lesson_show(l, "A B");
    lesson_say(l, "More equations than unknowns. `A = Q R`, then `R X = Q^T B`: the condition number of A, where the "
                  "normal equations `A^T A X = A^T B` have its square.");
    lesson_show_as(l, "Q", Q);
    lesson_know(l, "R", "R", R);
    lesson_show(l, "X");
    lesson_let(l, "E = B - A X");
    lesson_agree_of(l, "A^T E = 0", lesson_compute(l, "A^T E", 5), mo_scale(t, lesson_value(l, "X"), 0, 0));
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Q, R and X.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <X_bar, X>`, by the differential of `A^T (B - A X) = 0`:");
    lesson_show(l, "X_bar");
    lesson_formula(l, "A^T A dX = dA^T E + A^T (dB - dA X)");
    lesson_let(l, "W = R^-1 R^-T X_bar");
    lesson_line(l, "B", SPACE_ALL, "B_bar = A W");
    lesson_line(l, "A", SPACE_ALL, "A_bar = E W^T - B_bar X^T");
    lesson_say(l, "Where A is square, E is 0, and the lines are those of `mochi explain solve`.");
}

const topic topic_least_squares = {
    .name = "least_squares",
    .summary = "the X that minimises |A X - B|, by QR",
    .title = "X = argmin |A X - B|^2",
    .source = "ops/qr.c",
    .inputs = {{"A", INPUT_FREE, SIZE_M, SIZE_N, (const double[]){1, 0, 1, 1, 1, 2, 1, 4}},
        {"B", INPUT_FREE, SIZE_M, 1, (const double[]){1, 2, 2, 5}},
        {"X_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, -2}}},
    .n = 2,
    .m = 4,
    .forward = least_squares_forward,
    .tell = least_squares_tell,
};
