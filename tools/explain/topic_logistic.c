/* tools/explain/topic_logistic.c - the topic `logistic`: a readout without a closed form, differentiated where its
 * gradient vanishes. */
#include "tools/explain/lesson.h"

static mo_tensor *logistic_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[3], lesson_at(l, "W", mo_logistic(l->t, in[0], in[1], in[2], MO_INTERCEPT_NONE)));
}

/* H[(a, c), (b, e)] = sum_i x_ia x_ib (p_ic [c = e] - p_ic p_ie) + lambda [a = b] [c = e]: the second derivative of
 * what W minimises, as a matrix of d C rows. */
static mo_tensor *logistic_hessian(mo_tape *t, mo_tensor *X, mo_tensor *P, mo_tensor *lambda) {
    const int64_t n = mo_dim(X, 0), d = mo_dim(X, 1), C = mo_dim(P, 1);
    mo_tensor *XX = mo_mul(t, mo_reshape(t, X, 3, (int64_t[]){n, d, 1}), mo_reshape(t, X, 3, (int64_t[]){n, 1, d}));
    mo_tensor *PP = mo_mul(t, mo_reshape(t, P, 3, (int64_t[]){n, C, 1}), mo_reshape(t, P, 3, (int64_t[]){n, 1, C}));
    mo_tensor *B = mo_sub(t, mo_diagonal_embed(t, P), PP);
    mo_tensor *rows = mo_transpose(t, mo_reshape(t, XX, 2, (int64_t[]){n, d * d}));
    mo_tensor *H = mo_matmul(t, rows, mo_reshape(t, B, 2, (int64_t[]){n, C * C})); /* [a b, c e] */
    H = mo_contiguous(t, mo_permute(t, mo_reshape(t, H, 4, (int64_t[]){d, d, C, C}), (int[]){0, 2, 1, 3}));
    return mo_add_diag(t, mo_reshape(t, H, 2, (int64_t[]){d * C, d * C}), lambda);
}

static void logistic_tell_adjoint(lesson *l, mo_tensor *P) {
    mo_tape *t = l->t;
    mo_tensor *X = lesson_value(l, "X"), *W = lesson_value(l, "W"), *W_bar = lesson_value(l, "W_bar");
    const int64_t size[2] = {mo_dim(W, 0), mo_dim(W, 1)};
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <W_bar, W>`. W is defined by `X^T R + lambda W = 0`, and so is its differential (the "
                  "implicit function theorem: `mochi explain implicit`):");
    lesson_show(l, "W_bar");
    lesson_formula(l, "H[dW] + dX^T R + X^T S[dX W] + dlambda W = 0,  S[E] = P o (E - <P, E> 1^T)");
    lesson_say(l, "H is the second derivative of what W minimises, here a matrix of %d x %d; one system with it:",
        (int)(size[0] * size[1]), (int)(size[0] * size[1]));
    mo_tensor *H = logistic_hessian(t, X, P, lesson_value(l, "lambda"));
    mo_tensor *U = mo_solve_spd(t, H, mo_reshape(t, W_bar, 2, (int64_t[]){size[0] * size[1], 1}));
    lesson_know(l, "U", "U = H^-1 W_bar", mo_reshape(t, U, 2, size));
    lesson_let(l, "E = X U");
    mo_tensor *E = lesson_value(l, "E"), *mean = mo_sum(t, mo_mul(t, P, E), MO_AXIS(1), MO_KEEP_AXES);
    lesson_know(l, "S_E", NULL, mo_mul(t, P, mo_sub(t, E, mean)));
    lesson_line_of(l, "X", SPACE_ALL, "X_bar = -(R U^T + S[E] W^T)", lesson_compute(l, "-(R U^T + S_E W^T)", 18));
    lesson_line(l, "lambda", SPACE_ALL, "lambda_bar = -<U, W>");
    lesson_say(l, "No step of the search appears: any method that ends at W has this gradient.");
}

static void logistic_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *W = lesson_value(l, "W"), *P = mo_softmax(t, mo_matmul(t, lesson_value(l, "X"), W), MO_AXIS(-1));
    lesson_section(l, "Forward");
    lesson_show(l, "X Y lambda");
    lesson_say(l, "There is no formula for W: Newton's method finds it.");
    lesson_show(l, "W");
    lesson_know(l, "P", "P = softmax(X W)", P);
    lesson_let(l, "R = P - Y");
    lesson_agree_of(l, "X^T R + lambda W = 0", lesson_compute(l, "X^T R + lambda W", 16), mo_scale(t, W, 0, 0));
    lesson_section(l, "Saved for backward");
    lesson_say(l, "X, Y, W and a preconditioner at W: memory that does not depend on the iterations.");
    logistic_tell_adjoint(l, P);
}

const topic topic_logistic = {
    .name = "logistic",
    .summary = "multinomial logistic regression, differentiated at its optimum",
    .title = "W = argmin -sum_ic Y_ic log softmax(X W)_ic + lambda / 2 |W|^2",
    .source = "ops/fits/logistic.c",
    .inputs = {{"X", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){1, 2, -1, 1, 0.5, -1, 2, 0}},
        {"Y", INPUT_LABELS, SIZE_N, 2, (const double[]){1, 0, 0, 1, 1, 0, 0, 1}},
        {"lambda", INPUT_POSITIVE, 0, 0, (const double[]){0.5}},
        {"W_bar", INPUT_FIXED, SIZE_M, 2, (const double[]){1, -1, 0, 2}}},
    .n = 4,
    .m = 2,
    .forward = logistic_forward,
    .tell = logistic_tell,
};
