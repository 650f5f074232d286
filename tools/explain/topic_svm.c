/* tools/explain/topic_svm.c - the topic `svm`: a support vector machine by its dual, differentiated on the support. */
#include "tools/explain/lesson.h"

#include <math.h>

enum { SVM_CLASSES = 2 };

static mo_tensor *svm_forward(lesson *l, mo_tensor *const *in) {
    mo_tensor *parameters[] = {in[2]};
    return inner(
        l->t, in[4], lesson_at(l, "F", mo_head_apply(l->t, mo_find_head("svm"), in[0], in[1], in[3], parameters)));
}

/* The values of the dual problem, and what the primal one says of them. */
typedef struct svm_values {
    mo_tensor *Z1, *K, *alpha, *A, *W;
} svm_values;

static svm_values svm_fit(lesson *l) {
    mo_tape *t = l->t;
    mo_tensor *Y = lesson_value(l, "Y"), *lambda = lesson_value(l, "lambda");
    svm_values v = {.Z1 = mo_append_ones(t, lesson_value(l, "Z"))};
    v.K = mo_matmul(t, v.Z1, mo_transpose(t, v.Z1));
    v.alpha = mo_svm_dual_variables(t, v.K, Y, lambda);
    v.A = mo_sub(t, Y, v.alpha);
    v.W = mo_div(t, mo_matmul(t, mo_transpose(t, v.Z1), v.A), lambda);
    return v;
}

/* sum_i max_c (z_i W_c + 1 - Y_ic) - <Y_i, z_i W> + lambda / 2 |W|^2 */
static mo_tensor *svm_primal(lesson *l, const svm_values *v) {
    mo_tape *t = l->t;
    mo_tensor *Y = lesson_value(l, "Y"), *scores = mo_matmul(t, v->Z1, v->W);
    mo_tensor *worst = mo_max(t, mo_sub(t, mo_scale(t, scores, 1, 1), Y), MO_AXIS(1), MO_DROP_AXES);
    mo_tensor *hinge = mo_sub(t, mo_sum(t, worst, MO_ALL, MO_DROP_AXES), inner(t, Y, scores));
    mo_tensor *size = mo_mul(t, mo_scale(t, lesson_value(l, "lambda"), 0.5, 0), inner(t, v->W, v->W));
    return mo_add(t, hinge, size);
}

/* n - tr(A^T K A) / (2 lambda) - <Y, alpha> */
static mo_tensor *svm_dual(lesson *l, const svm_values *v) {
    mo_tape *t = l->t;
    mo_tensor *energy =
        mo_div(t, mo_scale(t, inner(t, v->A, mo_matmul(t, v->K, v->A)), 0.5, 0), lesson_value(l, "lambda"));
    return mo_scale(t, mo_add(t, energy, inner(t, lesson_value(l, "Y"), v->alpha)), -1, l->n);
}

/* The projection onto the directions in which alpha may move: rows keep their sum, zeros stay. Row-major over (i, c).
 */
static mo_tensor *svm_projection(lesson *l, mo_tensor *alpha) {
    const int n = l->n, C = SVM_CLASSES, size = n * C;
    double a[MOST_N * SVM_CLASSES], Pi[MOST_N * SVM_CLASSES * MOST_N * SVM_CLASSES] = {0};
    if (mo_tensor_read(alpha, a, (size_t)size * sizeof *a) != MO_OK)
        return mo_null_tensor(l->ctx);
    for (int i = 0; i < n; i++) {
        int positive = 0;
        for (int c = 0; c < C; c++)
            positive += a[i * C + c] > 0;
        for (int c = 0; c < C; c++)
            for (int e = 0; e < C; e++)
                if (a[i * C + c] > 0 && a[i * C + e] > 0)
                    Pi[(i * C + c) * size + i * C + e] = (c == e) - 1. / positive;
    }
    return mo_from(l->t, MO_F64, 2, (int64_t[]){size, size}, Pi);
}

/* (K kron I) as a matrix over (i, c). */
static mo_tensor *svm_wide_kernel(lesson *l, mo_tensor *K) {
    mo_tape *t = l->t;
    const int64_t n = l->n, C = SVM_CLASSES;
    mo_tensor *product = mo_mul(t, mo_reshape(t, K, 4, (int64_t[]){n, 1, n, 1}),
        mo_reshape(t, mo_eye(t, MO_F64, C), 4, (int64_t[]){1, C, 1, C}));
    return mo_reshape(t, mo_contiguous(t, product), 2, (int64_t[]){n * C, n * C});
}

/* The U of least size with Pi K Pi U = Pi A_bar: support vectors that depend on each other make the system
 * semidefinite, but its right-hand side lies in its range. */
static mo_tensor *svm_adjoint_system(lesson *l, const svm_values *v, mo_tensor *A_bar) {
    mo_tape *t = l->t;
    const int64_t size = (int64_t)l->n * SVM_CLASSES;
    mo_tensor *Pi = svm_projection(l, v->alpha), *w, *V;
    mo_eigh(t, mo_matmul(t, mo_matmul(t, Pi, svm_wide_kernel(l, v->K)), Pi), &w, &V);
    mo_tensor *limit = mo_scale(t, mo_max(t, w, MO_ALL, MO_DROP_AXES), 1e-10, 1e-30);
    mo_tensor *kept = mo_greater_equal(t, w, limit), *inverse = mo_div_or_zero(t, kept, mo_mul(t, kept, w));
    mo_tensor *right = mo_matmul(t, Pi, mo_reshape(t, A_bar, 2, (int64_t[]){size, 1}));
    mo_tensor *U = mo_matmul(t, mo_mul(t, V, inverse), mo_matmul(t, mo_transpose(t, V), right));
    return mo_reshape(t, U, 2, (int64_t[]){l->n, SVM_CLASSES});
}

static void svm_tell_adjoint(lesson *l, const svm_values *v) {
    mo_tape *t = l->t;
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <F_bar, F>`. Entries of alpha that are 0 stay 0 nearby; the others obey their own "
                  "equations, with `Pi` the projection onto moves that keep the zeros and the sum of each row:");
    lesson_show(l, "F_bar");
    lesson_formula(l, "Pi (K A - lambda Y) = 0  =>  Pi K Pi dA = Pi (dlambda Y - dK A)");
    lesson_know(l, "Q1", NULL, mo_append_ones(t, lesson_value(l, "Q")));
    lesson_let(l, "W_bar = Q1^T F_bar");
    lesson_let(l, "A_bar = Z1 W_bar / lambda");
    lesson_know(l, "U", "U \"with\" Pi K Pi U = Pi A_bar", svm_adjoint_system(l, v, lesson_value(l, "A_bar")));
    lesson_let(l, "K_bar = sym(-U A^T)");
    lesson_line(l, "lambda", SPACE_ALL, "lambda_bar = <U, Y> - <W_bar, W> / lambda");
    mo_tensor *Z1_bar = lesson_compute(l, "A W_bar^T / lambda + 2 K_bar Z1", 31);
    lesson_line_of(l, "Z", SPACE_ALL, "Z_bar = A W_bar^T / lambda + 2 K_bar Z1 \"without its last column\"",
        mo_contiguous(t, mo_slice(t, Z1_bar, MO_AXIS(1), 0, l->m)));
    lesson_line_of(l, "Q", SPACE_ALL, "Q_bar = F_bar W^T \"without its last column\"",
        mo_contiguous(t, mo_slice(t, lesson_compute(l, "F_bar W^T", 9), MO_AXIS(1), 0, l->m)));
    lesson_say(
        l, "A row whose alpha is its label has no part in W: its gradient is 0, and only support vectors learn.");
}

static void svm_tell(lesson *l) {
    svm_values v = svm_fit(l);
    lesson_section(l, "Forward");
    lesson_show(l, "Z Y lambda");
    lesson_say(l,
        "With `Z1 = [Z | 1]` and `K = Z1 Z1^T`, the dual problem has a row of alpha, which sums to 1, for each "
        "example (Crammer and Singer 2001):");
    lesson_formula(l, "alpha = argmin trace(A^T K A) / (2 lambda) + <Y, alpha>,  A = Y - alpha");
    lesson_know(l, "Z1", NULL, v.Z1);
    lesson_know(l, "A", NULL, v.A);
    lesson_know(l, "K", "K", v.K);
    lesson_know(l, "alpha", "alpha", v.alpha);
    lesson_know(l, "W", "W = Z1^T A / lambda", v.W);
    lesson_say(l, "What the primal problem costs at W is what the dual one promises: no gap is left.");
    lesson_formula(l, "p = sum_i max_c (z_i W_c + 1 - Y_ic) - <Y, Z1 W> + lambda / 2 |W|^2");
    lesson_formula(l, "q = n - trace(A^T K A) / (2 lambda) - <Y, alpha>");
    lesson_agree_of(l, "p = q", svm_primal(l, &v), svm_dual(l, &v));
    lesson_show(l, "Q F");
    lesson_agree_of(
        l, "F = [Q | 1] W", lesson_value(l, "F"), mo_matmul(l->t, mo_append_ones(l->t, lesson_value(l, "Q")), v.W));
    lesson_section(l, "Saved for backward");
    lesson_say(l, "K, alpha, and which entries of alpha are 0.");
    svm_tell_adjoint(l, &v);
}

const topic topic_svm = {
    .name = "svm",
    .summary = "a support vector machine by its dual, differentiated on its support",
    .title = "F = [Q | 1] W, \"W from the dual problem\"",
    .source = "models/heads/svm.c",
    .inputs = {{"Z", INPUT_FREE, SIZE_N, SIZE_M, (const double[]){1, 2, -1, 1, 0.5, -1, 2, 0}},
        {"Y", INPUT_LABELS, SIZE_N, SVM_CLASSES, (const double[]){1, 0, 0, 1, 0, 1, 1, 0}},
        {"lambda", INPUT_POSITIVE, 0, 0, (const double[]){1}},
        {"Q", INPUT_FREE, 2, SIZE_M, (const double[]){0.5, 1, -1, 2}},
        {"F_bar", INPUT_FIXED, 2, SVM_CLASSES, (const double[]){1, -1, 0.5, 2}}},
    .n = 4,
    .m = 2,
    .forward = svm_forward,
    .tell = svm_tell,
};
