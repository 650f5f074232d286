/* tests/ops/test_eigh.c - eigenvectors: residual, orthogonality and signs, and the cases in which they have no
 * derivative. */
#include "tests/host_matrices.h"

/* Checks |A V - V diag(w)| / (n |A| eps), |V^T V - I| / (n eps), that w rises, and the signs. */
static void eigh_once(fixture *f, mo_dtype dtype, int n) {
    double *A = normals(f, n, n);
    mo_tensor *w_tensor, *V_tensor;
    mo_eigh(f->t, matrix(f, dtype, n, n, A), &w_tensor, &V_tensor); /* eigh reads only the lower triangle; the upper one
                                                                     * differs here */
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            A[i * n + j] = A[j * n + i];
    double *w = values_of(f, w_tensor), *V = values_of(f, V_tensor);
    double *AV = product(A, V, n, n, n, false), *VV = product(V, V, n, n, n, true);
    for (int j = 0; j < n; j++) {
        double largest = 0;
        assert_true(j == 0 || w[j] >= w[j - 1]);
        for (int i = 0; i < n; i++) {
            AV[i * n + j] -= V[i * n + j] * w[j];
            VV[i * n + j] -= i == j;
            largest = fabs(V[i * n + j]) > fabs(largest) ? V[i * n + j] : largest;
        }
        assert_true(largest > 0);
    }
    double residual = norm(AV, n, n) / (n * norm(A, n, n) * epsilon(dtype));
    double skew = norm(VV, n, n) / (n * epsilon(dtype));
    if (!(residual < threshold && skew < threshold))
        fail_msg("n = %d: eigenvector ratio %g, orthogonality ratio %g", n, residual, skew);
}

TEST(eigh_diagonalizes_with_fixed_signs) {
    for_each_size(*state, eigh_once);
}

TEST_OF(equal_eigenvalues_refuse_a_gradient_through_vectors_alone, fixture *f) {
    mo_tensor *A = mo_require_grad(second_of_two(f, MO_F64, (double[]){1, 0, 0, 0, 2, 0, 0, 0, 2})), *w, *V, *grad;
    mo_eigh(f->t, A, &w, &V);
    mo_tensor *trace = mo_sum(f->t, w, MO_ALL, MO_DROP_AXES),
              *y = mo_sum(f->t, mo_square(f->t, V), MO_ALL, MO_DROP_AXES);
    assert_int_equal(mo_grad(f->t, &trace, NULL, 1, &A, &grad, 1, MO_RETAIN), MO_OK);
    double *g = values_of(f, grad); /* the trace's derivative is the identity */
    for (int i = 0; i < 18; i++)
        assert_true(fabs(g[i] - (i % 9 % 4 == 0)) < 1e-14);
    assert_int_equal(mo_grad(f->t, &y, NULL, 1, &A, &grad, 1, MO_RETAIN), MO_NUMERICAL);
    assert_told(f->ctx, MO_NUMERICAL,
        "eigh: a gradient through V was asked for, but eigenvalues 0 and 1 of matrix 0 of 2 agree to a "
        "relative 0: V has no derivative there");
}
