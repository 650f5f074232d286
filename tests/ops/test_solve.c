/* tests/ops/test_solve.c - which matrices count as singular. Other tests of solves: test_lapack.c residuals,
 * test_cpu_linalg.c triangles, test_bad_matrices.c bad matrices, test_logdet.c reused factors. */
#include "tests/host_matrices.h"

static const fixtures around_each = {set_up, tear_down};

/* A matrix of condition 1e10 is regular in float64 and singular in float32. */
TEST(singular_is_relative_to_the_precision) {
    fixture *f = *state;
    double A[] = {1, 0, 0, 0, 1e-10, 0, 0, 0, 1}, ones[6] = {1, 1, 1, 1, 1, 1};
    mo_solve(f->t, second_of_two(f, MO_F64, A), tensor_of(f, MO_F64, 3, (int64_t[]){2, 3, 1}, ones));
    assert_true(mo_ok(f->ctx));
    mo_solve(f->t, second_of_two(f, MO_F32, A), tensor_of(f, MO_F32, 3, (int64_t[]){2, 3, 1}, ones));
    expect_error(
        f->ctx, "solve: matrix 1 of 2 is singular to working precision; got [2, 3, 3] float32, [2, 3, 1] float32");
}
