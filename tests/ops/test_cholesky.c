/* tests/ops/test_cholesky.c - the factor's residual and the triangle it reads. */
#include "tests/host_matrices.h"

static const fixtures around_each = {set_up, tear_down};

/* |A - L L^T| / (n |A| eps), with NaN above the diagonal of what the library sees. */
static void cholesky_once(fixture *f, mo_dtype dtype, int n) {
    double *Z = normals(f, n, n), *A = product(Z, Z, n, n, n, true);
    for (int i = 0; i < n; i++) {
        A[i * n + i] += 1;
        for (int j = 0; j < n; j++)
            A[i * n + j] = j > i ? (double)NAN : A[i * n + j];
    }
    double *L = values_of(f, mo_cholesky(f->t, matrix(f, dtype, n, n, A)));
    double *turned = zeros(n, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            turned[i * n + j] = L[j * n + i];
            if (j > i)
                A[i * n + j] = A[j * n + i];
            assert_true(j <= i || L[i * n + j] == 0);
        }
    double *R = product(L, turned, n, n, n, false);
    for (int i = 0; i < n * n; i++)
        R[i] -= A[i];
    double ratio = norm(R, n, n) / (n * norm(A, n, n) * epsilon(dtype));
    if (!(ratio < threshold))
        fail_msg("n = %d: factor ratio %g", n, ratio);
    free(Z);
    free(A);
    free(L);
    free(turned);
    free(R);
}

TEST(cholesky_reads_the_lower_triangle) {
    for_each_size(*state, cholesky_once);
}
