/* tools/explain/topic_iterations.c - the topics `unrolled` and `neumann`: a linear system by steps, differentiated
 * through them, or by a truncated series where they ended. */
#include "tools/explain/lesson.h"

enum { STEPS = 4 };

static const char *const step_names[STEPS] = {"w_1", "w_2", "w_3", "w_4"};

/* h = 1 / trace A, below 1 / the largest eigenvalue; differences do not move it. */
static double step_size(lesson *l, mo_tensor *A) {
    if (!l->moving)
        l->held = 1 / mo_item(mo_trace(l->t, mo_stop_gradient(l->t, A)));
    return l->held;
}

static mo_tensor *unrolled_forward(lesson *l, mo_tensor *const *in) {
    mo_tape *t = l->t;
    const double h = step_size(l, in[0]);
    mo_tensor *w = mo_scale(t, in[1], 0, 0);
    for (int k = 0; k < STEPS; k++) {
        mo_tensor *rest = mo_sub(t, mo_matmul(t, in[0], w), in[1]);
        w = lesson_at(l, step_names[k], mo_sub(t, w, mo_scale(t, rest, h, 0)));
    }
    return inner(t, in[2], w);
}

/* I - h A */
static mo_tensor *contraction(lesson *l, mo_tensor *A) {
    return mo_add_diag(l->t, mo_scale(l->t, A, -l->held, 0), mo_scalar(l->t, MO_F64, 1));
}

static void unrolled_tell_adjoint(lesson *l) {
    static const char *const formulas[STEPS] = {
        "w_1_bar = (I - h A)^T w_2_bar", "w_2_bar = (I - h A)^T w_3_bar", "w_3_bar = (I - h A)^T w_4_bar", "w_4_bar"};
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *Mt = transposed(t, contraction(l, A)), *bar = lesson_value(l, "w_4_bar");
    mo_tensor *sum = mo_scale(t, bar, 0, 0), *outer = mo_scale(t, A, 0, 0);
    for (int k = STEPS - 1; k >= 0; k--) {
        if (k < STEPS - 1) {
            bar = mo_matmul(t, Mt, bar);
            lesson_line_of(l, step_names[k], SPACE_ALL, formulas[k], bar);
        }
        sum = mo_add(t, sum, bar);
        if (k > 0)
            outer = mo_add(t, outer, mo_matmul(t, bar, mo_transpose(t, lesson_value(l, step_names[k - 1]))));
    }
    lesson_line_of(l, "b", SPACE_ALL, "b_bar = h sum_k w_k_bar", mo_scale(t, sum, l->held, 0));
    lesson_line_of(l, "A", SPACE_ALL, "A_bar = -h sum_k w_{k+1}_bar w_k^T", mo_scale(t, outer, -l->held, 0));
    lesson_show_as(l, "A^-T w_4_bar", mo_solve(t, transposed(t, A), lesson_value(l, "w_4_bar")));
    lesson_say(l, "is the gradient in b of the exact solution. The lines above are exact too, for the four steps: "
                  "the difference is what truncation costs (`mochi lab truncation`).");
}

static void unrolled_tell(lesson *l) {
    lesson_section(l, "Forward");
    lesson_show(l, "A b");
    lesson_say(l, "Gradient steps towards `A w = b` from `w_0 = 0`, with `h = 1 / trace A` = %.4f:", l->held);
    lesson_formula(l, "w_{k+1} = w_k - h (A w_k - b)");
    lesson_show(l, "w_1 w_2 w_3 w_4");
    lesson_show_as(l, "A^-1 b", mo_solve(l->t, lesson_value(l, "A"), lesson_value(l, "b")));
    lesson_section(l, "Saved for backward");
    lesson_say(l,
        "Every step: memory grows with their number, unless some are computed again (mo_recompute, `mochi lab "
        "checkpointing`).");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <w_4_bar, w_4>`, from the last step to the first:");
    lesson_show(l, "w_4_bar");
    lesson_formula(l, "dw_{k+1} = (I - h A) dw_k - h dA w_k + h db");
    unrolled_tell_adjoint(l);
}

const topic topic_unrolled = {
    .name = "unrolled",
    .summary = "backward through the steps of an iteration, one by one",
    .title = "w_{k+1} = w_k - h (A w_k - b)",
    .source = "ops/solvers/solver.c",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){2, 0.5, 0.5, 1}},
        {"b", INPUT_FREE, SIZE_N, 1, (const double[]){1, -2}},
        {"w_4_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, 3}}},
    .n = 2,
    .forward = unrolled_forward,
    .tell = unrolled_tell,
};

static mo_tensor *neumann_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    return mo_sub(t, mo_matmul(t, theta[0], w), theta[1]);
}

/* The solution, with the gradient of the implicit function theorem. */
static mo_tensor *neumann_forward(lesson *l, mo_tensor *const *in) {
    step_size(l, in[0]);
    mo_tensor *w = mo_stop_gradient(l->t, mo_solve(l->t, in[0], in[1]));
    return inner(l->t, in[2], lesson_at(l, "w", mo_implicit(l->t, w, neumann_residual, in, 2, NULL)));
}

/* u_k = h sum_{j<k} (I - h A^T)^j w_bar, and its distance to u by two ways. */
static void neumann_tell_series(lesson *l, mo_tensor *u) {
    mo_tape *t = l->t;
    mo_tensor *Mt = transposed(t, contraction(l, lesson_value(l, "A")));
    mo_tensor *term = mo_scale(t, lesson_value(l, "w_bar"), l->held, 0), *sum = mo_scale(t, term, 0, 0), *left = u;
    for (int k = 1; k <= 16; k++) {
        char heading[NAME_BYTES];
        sum = mo_add(t, sum, term);
        term = mo_matmul(t, Mt, term);
        left = mo_matmul(t, Mt, left);
        if ((k & (k - 1)) != 0)
            continue;
        snprintf(heading, sizeof heading, "u - u_{%d} = (I - h A^T)^{%d} u", k, k);
        lesson_agree_of(l, heading, mo_sub(t, u, sum), left);
    }
}

static void neumann_tell(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *A = lesson_value(l, "A"), *w = lesson_value(l, "w"), *values, *vectors;
    mo_tensor *u = mo_solve(t, transposed(t, A), lesson_value(l, "w_bar"));
    lesson_section(l, "Forward");
    lesson_show(l, "A b w");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "w alone, as of `mochi explain implicit`.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <w_bar, w>` with `A w = b`, the system `A^T u = w_bar` gives both gradients:");
    lesson_show(l, "w_bar");
    lesson_show_as(l, "u = A^-T w_bar", u);
    lesson_line_of(l, "b", SPACE_ALL, "b_bar = u", u);
    lesson_line_of(l, "A", SPACE_ALL, "A_bar = -u w^T", mo_neg(t, mo_matmul(t, u, mo_transpose(t, w))));
    lesson_section(l, "The series");
    lesson_say(l,
        "Where only products with `A^T` can be had, u is a sum of them, with `h = 1 / trace A` = %.4f; cut "
        "after k terms (Lorraine et al. 2020), it is off by a power of the contraction:",
        l->held);
    lesson_formula(l, "u_k = h sum_{j<k} (I - h A^T)^j w_bar -> u");
    neumann_tell_series(l, u);
    mo_eigh(t, contraction(l, A), &values, &vectors);
    lesson_say(l,
        "It shrinks by the spectral radius of `I - h A` at each term, %.4f here. k terms at the solution are "
        "what k unrolled steps that start at the solution give, without their memory.",
        mo_item(mo_max(t, mo_abs(t, values), MO_ALL, MO_DROP_AXES)));
}

const topic topic_neumann = {
    .name = "neumann",
    .summary = "the adjoint system by a truncated series, and what the cut costs",
    .title = "A w = b,  A^T u = w_bar",
    .source = "ops/solvers/implicit.c",
    .inputs = {{"A", INPUT_SPD, SIZE_N, SIZE_N, (const double[]){2, 0.5, 0.5, 1}},
        {"b", INPUT_FREE, SIZE_N, 1, (const double[]){1, -2}},
        {"w_bar", INPUT_FIXED, SIZE_N, 1, (const double[]){1, 3}}},
    .n = 2,
    .forward = neumann_forward,
    .tell = neumann_tell,
};
