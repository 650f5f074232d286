/* tools/explain/topic_second_order.c - the topic `second_order`: the gradient of a gradient. */
#include "tools/explain/lesson.h"

/* <V, G> with G the gradient of f = log det A, taken on the tape. */
static mo_tensor *second_order_forward(lesson *l, mo_tensor *const *in) {
    mo_tensor *A = in[0], *f = lesson_at(l, "f", mo_logdet(l->t, A)), *G;
    mo_grad(l->t, &f, NULL, 1, &A, &G, 1, MO_CREATE_GRAPH);
    return inner(l->t, in[1], lesson_at(l, "G", G));
}

static void second_order_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *V = symmetric_part(t, lesson_value(l, "V")), *tangent;
    lesson_section(l, "Forward");
    lesson_show(l, "A f");
    lesson_say(l,
        "The gradient of `f = log det A` is taken with MO_CREATE_GRAPH: what backward does is recorded as any "
        "other ops are.");
    lesson_show(l, "G");
    lesson_agree(l, "G = A^-1");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "The factor of A, once: backward of backward solves with it again.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "Of a number made of the gradient, `l = <V, G>`:");
    lesson_show(l, "V");
    lesson_line(l, "G", SPACE_ALL, "G_bar = V");
    lesson_formula(l, "A G = I  =>  dA G + A dG = 0  =>  dG = -A^-1 dA A^-1");
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = -A^-1 sym(V) A^-1");
    lesson_say(l, "That is the second derivative of f applied to V, without the n^4 numbers of the second derivative. "
                  "As it is symmetric, the tangent of G as A moves along V (mo_jvp) is the same:");
    mo_tensor *G = l->named[l->n_named - 1].value, *point = l->in[0];
    if (mo_jvp(t, &G, 1, &point, &V, 1, &tangent, 0) == MO_OK)
        lesson_agree_of(
            l, "\"mo_jvp of\" G \"along\" V = A_bar", symmetric_part(t, tangent), lesson_compute(l, "A_bar", 5));
}

const topic topic_second_order = {
    .name = "second_order",
    .summary = "the gradient of a gradient, and a product with the Hessian",
    .title = "l = <V, G>,  G = d log det A / dA",
    .source = "autograd/README.md",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){4, 2, -2, 2, 5, 1, -2, 1, 6}},
        {"V", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){1, 2, 0, 2, -1, 1, 0, 1, 3}}},
    .n = 3,
    .forward = second_order_forward,
    .tell = second_order_tell,
};
