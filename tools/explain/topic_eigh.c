/* tools/explain/topic_eigh.c - the topic `eigh`: eigenvalues and eigenvectors of a symmetric matrix. */
#include "tools/explain/lesson.h"

static mo_tensor *eigh_forward(lesson *l, mo_tensor *const *in) {
    mo_tensor *w, *V;
    mo_eigh(l->t, in[0], &w, &V);
    w = lesson_at(l, "w", w);
    V = lesson_at(l, "V", V);
    return mo_add(l->t, inner(l->t, in[1], w), inner(l->t, in[2], V));
}

/* F_ij = 1 / (w_j - w_i), 0 on the diagonal. */
static mo_tensor *eigh_gaps(mo_tape *t, mo_tensor *w) {
    const int64_t n = mo_dim(w, 0);
    mo_tensor *row = mo_reshape(t, w, 2, (int64_t[]){1, n}), *column = mo_reshape(t, w, 2, (int64_t[]){n, 1});
    mo_tensor *off = mo_scale(t, mo_eye(t, MO_F64, n), -1, 1);
    return mo_div_or_zero(t, off, mo_mul(t, off, mo_sub(t, row, column)));
}

static void eigh_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "A");
    lesson_show(l, "w V");
    lesson_say(l, "w rises; the columns of V are orthonormal, and the largest entry of each is made positive, since "
                  "the sign of an eigenvector is arbitrary.");
    lesson_agree(l, "A V = V diag(w)");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Nothing beyond w and V.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <w_bar, w> + <V_bar, V>`:");
    lesson_show(l, "w_bar V_bar");
    lesson_formula(l, "V^T dA V = dW + C W - W C,  C = V^T dV,  W = diag(w)");
    lesson_say(l, "C is antisymmetric, so the diagonal gives `dw` and the rest gives `C_ij = F_ij (V^T dA V)_ij` with "
                  "`F_ij = 1 / (w_j - w_i)`: the gradient of eigenvectors grows as two eigenvalues meet, that of "
                  "eigenvalues does not (Giles 2008).");
    lesson_know(l, "F", "F", eigh_gaps(l->t, lesson_value(l, "w")));
    lesson_let(l, "M = V (diag(w_bar) + F o (V^T V_bar)) V^T");
    lesson_line(l, "A", SPACE_SYMMETRIC, "A_bar = (M + M^T) / 2");
}

const topic topic_eigh = {
    .name = "eigh",
    .summary = "eigenvalues and eigenvectors of a symmetric matrix",
    .title = "A V = V diag(w)",
    .source = "ops/eigh.c",
    .inputs = {{"A", INPUT_SYMMETRIC, SIZE_N, SIZE_N, (const double[]){2, 1, 0, 1, 3, -1, 0, -1, 5}},
        {"w_bar", INPUT_FIXED, SIZE_N, 0, (const double[]){1, -1, 2}},
        {"V_bar", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){0, 1, -1, 2, 0, 0.5, 1, -1, 0}}},
    .n = 3,
    .forward = eigh_forward,
    .tell = eigh_tell,
};
