/* tools/lessons/explain_solve.c - the lessons `solve` and `cholesky`: factorizations, and their use in backward. */
#include "tools/lessons/explain.h"

#include <stdio.h>

/* The loss <X_bar, result> with all inputs but one fixed. */
typedef struct fixed {
    mo_tensor *A, *B, *X_bar;
} fixed;

static mo_tensor *solve_of_A(mo_tape *t, mo_tensor *A, void *state) {
    const fixed *f = state;
    return inner(t, f->X_bar, mo_solve(t, A, f->B));
}

static mo_tensor *solve_of_B(mo_tape *t, mo_tensor *B, void *state) {
    const fixed *f = state;
    return inner(t, f->X_bar, mo_solve(t, f->A, B));
}

/* L and U with A = L U, by elimination without exchanges: the pivots of the example are the largest of their columns.
 */
static void factor_example(lesson *l, const double a[9], mo_tensor **L, mo_tensor **U) {
    double lower[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, upper[9];
    for (int i = 0; i < 9; i++)
        upper[i] = a[i];
    for (int k = 0; k < 3; k++)
        for (int i = k + 1; i < 3; i++) {
            double m = lower[i * 3 + k] = upper[i * 3 + k] / upper[k * 3 + k];
            for (int j = 0; j < 3; j++)
                upper[i * 3 + j] -= m * upper[k * 3 + j];
        }
    *L = mo_from(l->t, MO_F64, 2, (int64_t[]){3, 3}, lower);
    *U = mo_from(l->t, MO_F64, 2, (int64_t[]){3, 3}, upper);
}

void explain_solve(lesson *l) {
    static const double a[] = {4, 1, -1, 2, 3, 1, -1, 1, 2}, b[] = {1, 2, 3}, c[] = {1, -1, 2};
    mo_tensor *A = given(l, 3, 3, a), *B = given(l, 3, 1, b), *X_bar = mo_from(l->t, MO_F64, 2, (int64_t[]){3, 1}, c);
    mo_tensor *X = mo_solve(l->t, A, B), *loss = inner(l->t, X_bar, X), *L, *U;
    fixed f = {mo_stop_gradient(l->t, A), mo_stop_gradient(l->t, B), X_bar};
    puts("solve: X with A X = B, for any regular A                       (ops/solve.c)\n\nForward");
    factor_example(l, a, &L, &U);
    SHOW(l, NAMES("A", "B"), A, B);
    puts("  one factorization, P A = L U (no rows are exchanged here, P = I)");
    SHOW(l, NAMES("L", "U"), L, U);
    puts("  and two triangular solves: L V = P B, then U X = V");
    SHOW(l, NAMES("V", "X", "A X - B"), mo_solve_triangular(l->t, L, f.B, MO_LOWER), X,
        mo_sub(l->t, mo_matmul(l->t, A, X), B));
    puts("\nSaved for backward: A, L and U in one matrix, the pivots, X\n\n"
         "Adjoint, for a loss l whose gradient X_bar = dl/dX is known, here l = <X_bar, X>");
    SHOW(l, NAMES("X_bar"), X_bar);
    puts("  A X = B  =>  dA X + A dX = dB  =>  dX = A^-1 (dB - dA X), so that\n"
         "  dl = <X_bar, dX> = <A^-T X_bar, dB> - <A^-T X_bar X^T, dA>\n"
         "  and the two factors beside dB and dA are their gradients (Giles 2008)\n");
    mo_tensor *B_bar = mo_solve(l->t, mo_contiguous(l->t, mo_transpose(l->t, f.A)), X_bar);
    mo_tensor *A_bar = mo_neg(l->t, mo_matmul(l->t, B_bar, mo_transpose(l->t, mo_stop_gradient(l->t, X))));
    show_adjoint(l, "B_bar = A^-T X_bar: U^T, then L^T, no new factors", B_bar, f.B, false, solve_of_B, &f);
    show_adjoint(l, "A_bar = -B_bar X^T", A_bar, f.A, false, solve_of_A, &f);
    show_mo_grad(l, loss, "A_bar and B_bar", (mo_tensor *[]){A, B}, (mo_tensor *[]){A_bar, B_bar}, 2);
}

static mo_tensor *cholesky_of_A(mo_tape *t, mo_tensor *A, void *state) {
    return inner(t, state, mo_cholesky(t, A));
}

void explain_cholesky(lesson *l) {
    static const double a[] = {4, 2, -2, 2, 5, 1, -2, 1, 6}, c[] = {1, 0, 0, -1, 2, 0, 0.5, 1, -1};
    mo_tape *t = l->t;
    mo_tensor *A = given(l, 3, 3, a), *L_bar = mo_from(t, MO_F64, 2, (int64_t[]){3, 3}, c);
    mo_tensor *L = mo_cholesky(t, A), *loss = inner(t, L_bar, L), *fixed_L = mo_stop_gradient(t, L);
    puts("cholesky: L with A = L L^T, for symmetric positive definite A   (ops/cholesky.c)\n\nForward");
    SHOW(l, NAMES("A", "L"), A, L);
    SHOW(l, NAMES("L L^T - A"), mo_sub(t, mo_matmul(t, L, mo_transpose(t, L)), A));
    puts(
        "\nSaved for backward: L alone\n\nAdjoint, for a loss l whose gradient L_bar is known, here of l = <L_bar, L>");
    SHOW(l, NAMES("L_bar"), L_bar);
    puts("  dA = dL L^T + L dL^T  =>  L^-1 dA L^-T = L^-1 dL + (L^-1 dL)^T\n"
         "  the first term is lower triangular, so L^-1 dL = Phi(L^-1 dA L^-T), where Phi\n"
         "  keeps the lower triangle and halves the diagonal (Smith 1995, Murray 2016);\n"
         "  dl = <L_bar, dL> = <Phi(L^T L_bar), L^-1 dA L^-T> = <M, dA>, and with dA\n"
         "  symmetric only the symmetric part of M counts\n");
    mo_tensor *product = mo_matmul(t, mo_transpose(t, fixed_L), L_bar);
    mo_tensor *Phi = mo_sub(t, mo_tril(t, product), mo_scale(t, mo_diagonal_embed(t, mo_diagonal(t, product)), 0.5, 0));
    mo_tensor *S = mo_solve_triangular(t, fixed_L, Phi, MO_LOWER_TRANSPOSED);
    mo_tensor *M =
        mo_transpose(t, mo_solve_triangular(t, fixed_L, mo_contiguous(t, mo_transpose(t, S)), MO_LOWER_TRANSPOSED));
    mo_tensor *A_bar = mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
    SHOW(l, NAMES("L^T L_bar", "Phi(L^T L_bar)"), product, Phi);
    SHOW(l, NAMES("M = L^-T Phi(L^T L_bar) L^-1"), M);
    putchar('\n');
    show_adjoint(l, "A_bar = (M + M^T) / 2", A_bar, mo_stop_gradient(t, A), true, cholesky_of_A, L_bar);
    puts("     (among symmetric matrices: A_ij and A_ji move together, by half)");
    show_mo_grad(l, loss, "A_bar", (mo_tensor *[]){A}, (mo_tensor *[]){A_bar}, 1);
}
