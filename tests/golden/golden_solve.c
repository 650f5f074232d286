/* tests/golden/golden_solve.c - solves to second order, the Cholesky factor, ridge regression. */
#include "tests/golden/golden.h"

#include <string.h>

static mo_tensor *symmetric_part(mo_tape *t, mo_tensor *A) {
    return mo_scale(t, mo_add(t, A, mo_transpose(t, A)), 0.5, 0);
}

static void check_cholesky(golden *g, const char *test) {
    mo_tensor *A = golden_leaf(g, test, "A"), *L = mo_cholesky(g->t, symmetric_part(g->t, A));
    golden_compare(g, test, "L", L);
    golden_gradients(g, test, L, &A, (const char *const[]){"grad_A"}, 1);
}

static void check(golden *g, const char *test) {
    if (!strcmp(test, "cholesky")) {
        check_cholesky(g, test);
        return;
    }
    mo_tape *t = g->t;
    bool spd = !strncmp(test, "spd", 3);
    mo_tensor *A = golden_leaf(g, test, "A"), *B = golden_leaf(g, test, "B"), *G = golden_leaf(g, test, "G");
    mo_tensor *X = spd ? mo_solve_spd(t, symmetric_part(t, A), B) : mo_solve(t, A, B);
    mo_tensor *first[2], *second[3], *H[] = {golden_data(g, test, "HA"), golden_data(g, test, "HB")};
    golden_compare(g, test, "X", X);
    mo_grad(t, &X, &G, 1, (mo_tensor *[]){A, B}, first, 2, MO_CREATE_GRAPH);
    golden_compare(g, test, "grad_A", first[0]);
    golden_compare(g, test, "grad_B", first[1]);
    int64_t before = mo_context_counters(g->ctx).factorizations;
    mo_grad(t, first, H, 2, (mo_tensor *[]){A, B, G}, second, 3, 0);
    golden_compare(g, test, "second_A", second[0]);
    golden_compare(g, test, "second_B", second[1]);
    golden_compare(g, test, "second_G", second[2]);
    if (mo_context_counters(g->ctx).factorizations != before)
        mo_fail(g->ctx, MO_STATE, "%s: a factorization in backward", test);
}

void golden_solve(golden *g) {
    golden_each_case(g, check);
}

static void check_ridge_form(golden *g, const char *test, mo_ridge_form form) {
    mo_tape *t = g->t;
    mo_tensor *xs[] = {golden_leaf(g, test, "Zs"), golden_leaf(g, test, "Ys"), golden_leaf(g, test, "Zq"),
        golden_leaf(g, test, "lam")};
    mo_tensor *W, *b;
    mo_ridge_fit(t, xs[0], xs[1], xs[3], form, &W, &b);
    mo_tensor *logits = mo_add(t, mo_matmul(t, xs[2], W), b);
    golden_compare(g, test, "W", W);
    golden_compare(g, test, "b", b);
    golden_compare(g, test, "logits", logits);
    golden_gradients(g, test, logits, xs, (const char *const[]){"grad_Zs", "grad_Ys", "grad_Zq", "grad_lam"}, 4);
}

/* Skips the dual system with more rows than columns in float32: only lambda makes it regular, which float32 cannot
 * resolve. */
static void check_ridge(golden *g, const char *test) {
    check_ridge_form(g, test, MO_RIDGE_AUTO);
    if (g->real == MO_F64) {
        check_ridge_form(g, test, MO_RIDGE_DUAL);
        check_ridge_form(g, test, MO_RIDGE_PRIMAL);
    }
}

void golden_ridge(golden *g) {
    golden_each_case(g, check_ridge);
}
