/* tools/explain/topic_matmul.c - the topics `matmul` and `softmax_cross_entropy`. */
#include "tools/explain/lesson.h"

static mo_tensor *matmul_forward(lesson *l, mo_tensor *const *in) {
    return inner(l->t, in[2], lesson_at(l, "C", mo_matmul(l->t, in[0], in[1])));
}

static void matmul_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "A B C");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "A and B, as they are.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For a loss whose gradient `C_bar` is known, here `l = <C_bar, C>`:");
    lesson_show(l, "C_bar");
    lesson_formula(l, "dC = dA B + A dB");
    lesson_formula(l, "dl = <C_bar, dA B> + <C_bar, A dB> = <C_bar B^T, dA> + <A^T C_bar, dB>");
    lesson_say(l, "A factor that leaves an inner product on one side comes back transposed on the other: all rules for "
                  "products are made of that step.");
    lesson_line(l, "A", SPACE_ALL, "A_bar = C_bar B^T");
    lesson_line(l, "B", SPACE_ALL, "B_bar = A^T C_bar");
}

const topic topic_matmul = {
    .name = "matmul",
    .summary = "C = A B, and the step that all rules for products are made of",
    .title = "C = A B",
    .source = "ops/matmul.c",
    .inputs = {{"A", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){1, 2, 0, -1, 3, 1}},
        {"B", INPUT_FREE, SIZE_M, 2, (const double[]){2, 1, 0, -1, 1, 4}},
        {"C_bar", INPUT_FIXED, SIZE_N, 2, (const double[]){1, -1, 0.5, 2}}},
    .n = 2,
    .m = 3,
    .forward = matmul_forward,
    .tell = matmul_tell,
};

static mo_tensor *cross_entropy_forward(lesson *l, mo_tensor *const *in) {
    return lesson_at(l, "l", mo_softmax_cross_entropy(l->t, in[0], in[1], 0));
}

static void cross_entropy_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *x = lesson_value(l, "x"), *P = mo_softmax(t, x, MO_AXIS(-1));
    mo_tensor *m = mo_max(t, x, MO_AXIS(1), MO_KEEP_AXES), *e = mo_exp(t, mo_sub(t, x, m));
    mo_tensor *s = mo_sum(t, e, MO_AXIS(1), MO_KEEP_AXES);
    lesson_section(l, "Forward");
    lesson_say(l, "Logits x and targets T, one-hot labels:");
    lesson_show(l, "x T");
    lesson_say(l, "The largest logit m of a row is subtracted before exp, which changes nothing but keeps exp from "
                  "overflowing; log softmax is never the log of a softmax.");
    lesson_show_as(l, "m = max_c x_c", m);
    lesson_show_as(l, "exp(x - m)", e);
    lesson_agree_of(l, "P = exp(x - m) / sum_c exp(x_c - m)", P, mo_div(t, e, s));
    lesson_show_as(l, "log P", mo_log_softmax(t, x, MO_AXIS(-1)));
    lesson_show(l, "l");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Nothing but the logits and labels themselves.");
    lesson_section(l, "Adjoint");
    lesson_formula(l, "d log P_ic = dx_ic - sum_k P_ik dx_ik");
    lesson_formula(l, "dl = 1 / n sum_ic (P - T)_ic dx_ic");
    lesson_say(l, "the softmax less the one-hot labels; each row sums to 0.");
    lesson_know(l, "P", NULL, P);
    lesson_know(l, "n", NULL, mo_scalar(t, MO_F64, (double)mo_dim(x, 0)));
    lesson_line(l, "x", SPACE_ALL, "x_bar = (P - T) / n");
}

const topic topic_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .summary = "a loss whose adjoint is probability minus target",
    .title = "l = -1 / n sum_ic T_ic log softmax(x_i)_c",
    .source = "ops/softmax_cross_entropy.c",
    .inputs = {{"x", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){2, 1, -1, 0.5, 0, 1.5, -1, 3, 0}},
        {"T", INPUT_LABELS, SIZE_N, SIZE_M, (const double[]){1, 0, 0, 0, 0, 1, 1, 0, 0}}},
    .n = 3,
    .m = 3,
    .forward = cross_entropy_forward,
    .tell = cross_entropy_tell,
};
