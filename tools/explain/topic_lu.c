/* tools/explain/topic_lu.c - the topic `lu`: elimination as a program of ops, and the adjoint of its factors. */
#include "tools/explain/lesson.h"

#include <math.h>

mo_tensor *lu_permutation(mo_tape *t, mo_tensor *A) {
    const int n = (int)mo_dim(A, 0);
    double a[MOST_VALUES] = {0}, P[MOST_VALUES] = {0};
    int row[MOST_N];
    if (n > MOST_N || mo_tensor_read(A, a, (size_t)(n * n) * sizeof *a) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    for (int i = 0; i < n; i++)
        row[i] = i;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            best = fabs(a[row[i] * n + k]) > fabs(a[row[best] * n + k]) ? i : best;
        int chosen = row[best];
        row[best] = row[k];
        row[k] = chosen;
        for (int i = k + 1; i < n && a[chosen * n + k] != 0; i++)
            for (int j = n - 1; j >= k; j--)
                a[row[i] * n + j] -= a[row[i] * n + k] / a[chosen * n + k] * a[chosen * n + j];
    }
    for (int i = 0; i < n; i++)
        P[i * n + row[i]] = 1;
    return mo_from(t, MO_F64, 2, (int64_t[]){n, n}, P);
}

/* Step k: the rest R of the matrix loses the product of its first column, divided by the pivot, and its first row. */
void lu_factors(mo_tape *t, mo_tensor *PA, mo_tensor **L, mo_tensor **U) {
    mo_tensor *rest = PA, *columns[MOST_N], *rows[MOST_N];
    const int64_t n = mo_dim(PA, 0);
    for (int64_t k = 0; k < n && k < MOST_N; k++) {
        mo_tensor *first_row = mo_slice(t, rest, MO_AXIS(0), 0, 1), *pivot = mo_slice(t, first_row, MO_AXIS(1), 0, 1);
        mo_tensor *multipliers = mo_div(t, mo_slice(t, rest, MO_AXIS(1), 0, 1), pivot);
        columns[k] = mo_pad(t, multipliers, MO_AXIS(0), k, 0);
        rows[k] = mo_pad(t, first_row, MO_AXIS(1), k, 0);
        mo_tensor *smaller = mo_sub(t, rest, mo_matmul(t, multipliers, first_row));
        if (k + 1 < n)
            rest = mo_slice(t, mo_slice(t, smaller, MO_AXIS(0), 1, n - k), MO_AXIS(1), 1, n - k);
    }
    *L = mo_concat(t, columns, (int)n, MO_AXIS(1));
    *U = mo_concat(t, rows, (int)n, MO_AXIS(0));
}

static mo_tensor *lu_forward(lesson *l, mo_tensor *const *in) {
    mo_tape *t = l->t;
    mo_tensor *L, *U, *P = lu_permutation(t, in[0]);
    mo_tensor *C = lesson_at(l, "C", mo_matmul(t, P, in[0]));
    lu_factors(t, C, &L, &U);
    L = lesson_at(l, "L", L);
    U = lesson_at(l, "U", U);
    return mo_add(t, inner(t, in[1], L), inner(t, in[2], U));
}

static void lu_tell(lesson *l) {
    lesson_know(l, "P", NULL, lu_permutation(l->t, lesson_value(l, "A")));
    lesson_section(l, "Forward");
    lesson_show(l, "A");
    lesson_say(l, "P brings the largest entry of each column to the diagonal; `C = P A` is then eliminated column by "
                  "column: `L` holds the multipliers, `U` what is left of the rows.");
    lesson_show(l, "C");
    lesson_show(l, "L U");
    lesson_agree(l, "L U = C");
    lesson_section(l, "Saved for backward");
    lesson_say(l, "L, U and P. Here mo_grad does not know that: it goes back through each step of the elimination, "
                  "and comes to the same numbers.");
    lesson_section(l, "Adjoint");
    lesson_say(l, "For `l = <L_bar, L> + <U_bar, U>`:");
    lesson_show(l, "L_bar U_bar");
    lesson_formula(l, "dC = dL U + L dU  =>  L^-1 dC U^-1 = L^-1 dL + dU U^-1");
    lesson_say(l, "`L^-1 dL` is strictly lower triangular, since the diagonal of L stays 1, and `dU U^-1` is upper "
                  "triangular: with `D = L^-1 dC U^-1`, `dL = L stril(D)` and `dU = triu(D) U`.");
    lesson_formula(l, "dl = <stril(L^T L_bar) + triu(U_bar U^T), D>");
    lesson_let(l, "S = stril(L^T L_bar) + triu(U_bar U^T)");
    lesson_line(l, "C", SPACE_ALL, "C_bar = L^-T S U^-T");
    lesson_line(l, "A", SPACE_ALL, "A_bar = P^T C_bar");
    lesson_say(l, "P is piecewise constant: where two candidates for a pivot are equal, L and U have no derivative, "
                  "though the solution of a system has one.");
}

const topic topic_lu = {
    .name = "lu",
    .summary = "P A = L U by elimination, differentiated in L and U",
    .title = "P A = L U",
    .source = "ops/solve.c",
    .inputs = {{"A", INPUT_REGULAR, SIZE_N, SIZE_N, (const double[]){2, 3, 1, 4, 1, -1, -1, 1, 2}},
        {"L_bar", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){0, 0, 0, 1, 0, 0, -1, 2, 0}},
        {"U_bar", INPUT_FIXED, SIZE_N, SIZE_N, (const double[]){1, 0, -1, 0, 2, 1, 0, 0, 0.5}}},
    .n = 3,
    .forward = lu_forward,
    .tell = lu_tell,
};
