/* tools/explain/topic_ridge.c - the topics `ridge` and `leave_one_out`: a readout fitted in closed form, and the error
 * of each row by the fit to the others. */
#include "tools/explain/lesson.h"

static mo_tensor *ridge_kernel(mo_tape *t, mo_tensor *Z1, mo_tensor *lambda) {
    return mo_add_diag(t, mo_matmul(t, Z1, mo_transpose(t, Z1)), lambda);
}

static mo_tensor *ridge_forward(lesson *l, mo_tensor *const *in) {
    mo_tape *t = l->t;
    mo_tensor *Z1 = lesson_at(l, "Z1", mo_append_ones(t, in[0]));
    mo_tensor *K = lesson_at(l, "K", ridge_kernel(t, Z1, in[3]));
    mo_tensor *alpha = lesson_at(l, "alpha", mo_solve_spd(t, K, in[1]));
    return inner(t, in[2], lesson_at(l, "W", mo_matmul(t, mo_transpose(t, Z1), alpha)));
}

static void ridge_tell_adjoint(lesson *l) {
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <W_bar, W>`, back through `W = Z1^T alpha`, `K alpha = Y`, `K = Z1 Z1^T + lambda I`, `Z1 = "
                  "[Z | 1]`:");
    lesson_show(l, "W_bar");
    lesson_line(l, "alpha", SPACE_ALL, "alpha_bar = Z1 W_bar");
    lesson_line(l, "Y", SPACE_ALL, "Y_bar = K^-1 alpha_bar");
    lesson_say(l, "by the saved factor.");
    lesson_line(l, "K", SPACE_SYMMETRIC, "K_bar = sym(-Y_bar alpha^T)");
    lesson_line(l, "lambda", SPACE_ALL, "lambda_bar = trace K_bar");
    lesson_line(l, "Z1", SPACE_ALL, "Z1_bar = alpha W_bar^T + 2 K_bar Z1");
    lesson_line_of(l, "Z", SPACE_ALL, "Z_bar = Z1_bar \"without its last column\"",
        mo_contiguous(l->t, mo_slice(l->t, lesson_compute(l, "Z1_bar", 6), MO_AXIS(1), 0, l->m)));
}

static void ridge_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_say(l, "%d support rows, two classes, a penalty; the last row of W is the bias.", l->n);
    lesson_show(l, "Z Y lambda");
    lesson_say(l, "As many unknowns as rows: dual form, a system of %d x %d whatever the width of Z.", l->n, l->n);
    lesson_show(l, "K");
    lesson_show_as(l, "L \"with\" K = L L^T", mo_cholesky(l->t, lesson_value(l, "K")));
    lesson_show(l, "alpha W");
    lesson_agree(l, "Y - Z1 W = lambda alpha");
    lesson_say(l, "is what the penalty leaves of the labels.");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "Z1, K and its factor, alpha.");
    ridge_tell_adjoint(l);
}

const topic topic_ridge = {
    .name = "ridge",
    .summary = "a readout fitted in closed form, and the gradient through the fit",
    .title = "W = argmin |[Z | 1] W - Y|^2 + lambda |W|^2",
    .source = "models/heads/ridge.c",
    .inputs = {{"Z", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){1, 2, -1, 1, 0.5, -1}},
        {"Y", INPUT_FREE, SIZE_N, 2, (const double[]){1, 0, 0, 1, 1, 0}},
        {"W_bar", INPUT_FIXED, SIZE_M_PLUS_1, 2, (const double[]){1, -1, 0, 2, -1, 0.5}},
        {"lambda", INPUT_POSITIVE, 0, 0, (const double[]){0.5}}},
    .n = 3,
    .m = 2,
    .forward = ridge_forward,
    .tell = ridge_tell,
};

static mo_tensor *loo_forward(lesson *l, mo_tensor *const *in) {
    mo_tape *t = l->t;
    mo_tensor *Z1 = lesson_at(l, "Z1", mo_append_ones(t, in[0]));
    mo_tensor *K = lesson_at(l, "K", ridge_kernel(t, Z1, in[2]));
    mo_tensor *G = lesson_at(l, "G", mo_solve_spd(t, K, mo_eye(t, MO_F64, l->n)));
    mo_tensor *alpha = lesson_at(l, "alpha", mo_matmul(t, G, in[1]));
    mo_tensor *g = lesson_at(l, "g", mo_reshape(t, mo_diagonal(t, G), 2, (int64_t[]){l->n, 1}));
    mo_tensor *e = lesson_at(l, "e", mo_div(t, alpha, g));
    return mo_scale(t, mo_sum(t, mo_square(t, e), MO_ALL, MO_DROP_AXES), 0.5, 0);
}

/* What the fit to all other rows leaves of row i: n fits in place of one. */
static mo_tensor *loo_by_refits(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *Z1 = lesson_value(l, "Z1"), *Y = lesson_value(l, "Y"), *rest[MOST_N];
    for (int i = 0; i < l->n; i++) {
        mo_tensor *Z_parts[2], *Y_parts[2];
        int n = 0;
        for (int side = 0; side < 2; side++) {
            int64_t start = side ? i + 1 : 0, stop = side ? l->n : i;
            if (start < stop) {
                Z_parts[n] = mo_slice(t, Z1, MO_AXIS(0), start, stop);
                Y_parts[n++] = mo_slice(t, Y, MO_AXIS(0), start, stop);
            }
        }
        mo_tensor *Z = mo_concat(t, Z_parts, n, MO_AXIS(0)), *Zt = mo_transpose(t, Z);
        mo_tensor *A = mo_add_diag(t, mo_matmul(t, Zt, Z), lesson_value(l, "lambda"));
        mo_tensor *W = mo_solve_spd(t, A, mo_matmul(t, Zt, mo_concat(t, Y_parts, n, MO_AXIS(0))));
        rest[i] =
            mo_sub(t, mo_slice(t, Y, MO_AXIS(0), i, i + 1), mo_matmul(t, mo_slice(t, Z1, MO_AXIS(0), i, i + 1), W));
    }
    return mo_concat(t, rest, l->n, MO_AXIS(0));
}

static void loo_tell_adjoint(lesson *l) {
    lesson_section(l, "Adjoint");
    lesson_say(l, "Of `l = |e|^2 / 2`, the error of rows that were left out:");
    lesson_line(l, "e", SPACE_ALL, "e_bar = e");
    lesson_line(l, "alpha", SPACE_ALL, "alpha_bar = e_bar / g");
    lesson_line(l, "g", SPACE_ALL, "g_bar = -e_bar o e / g");
    lesson_line(l, "G", SPACE_ALL, "G_bar = alpha_bar Y^T + diag(g_bar)");
    lesson_line(l, "K", SPACE_SYMMETRIC, "K_bar = sym(-G G_bar G)");
    lesson_say(l, "as `dG = -G dK G` for an inverse.");
    lesson_line(l, "lambda", SPACE_ALL, "lambda_bar = trace K_bar");
    lesson_say(l, "The sign says which way to move the penalty so that rows left out are predicted better: no held-out "
                  "set, and no loop over the rows.");
    lesson_line(l, "Z1", SPACE_ALL, "Z1_bar = 2 K_bar Z1");
}

static void loo_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "Z Y lambda");
    lesson_say(l, "The ridge of `mochi explain ridge`, with `Z1 = [Z | 1]`; what follows is the error of each row by "
                  "the fit to all others, from one inverse (Allen 1974).");
    lesson_show(l, "K G");
    lesson_show(l, "alpha g e");
    lesson_agree_of(l, "e_i = alpha_i / G_ii = Y_i - z_i W_{-i}", lesson_value(l, "e"), loo_by_refits(l));
    lesson_say(l, "The right side refits the readout %d times, in primal form, without the row in question.", l->n);
    lesson_section(l, "Saved for backward");
    lesson_say(l, "G and alpha: the factor of K gave both.");
    loo_tell_adjoint(l);
}

const topic topic_leave_one_out = {
    .name = "leave_one_out",
    .summary = "the error of each row by the fit to the others, from one solve",
    .title = "e_i = alpha_i / G_ii,  G = (Z1 Z1^T + lambda I)^-1,  alpha = G Y",
    .source = "models/heads/ridge_loo.c",
    .inputs = {{"Z", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){1, 2, -1, 1, 0.5, -1, 2, 0}},
        {"Y", INPUT_FREE, SIZE_N, 1, (const double[]){1, -1, 0, 2}},
        {"lambda", INPUT_POSITIVE, 0, 0, (const double[]){0.5}}},
    .n = 4,
    .m = 2,
    .forward = loo_forward,
    .tell = loo_tell,
};
