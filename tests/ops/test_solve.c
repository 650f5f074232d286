/* tests/ops/test_solve.c - what singular means. The residuals of solves are those of test_lapack.c, triangles those of
 * test_cpu_linalg.c, bad matrices those of test_bad_matrices.c, factors that are kept those of test_logdet.c. */
#include "tests/host_matrices.h"

static const fixtures around_each = {set_up, tear_down};

/* A condition of 1e10 is far from singular in float64, and singular in float32. */
TEST(singular_is_relative_to_the_precision) {
    fixture *f = *state;
    double A[] = {1, 0, 0, 0, 1e-10, 0, 0, 0, 1}, ones[6] = {1, 1, 1, 1, 1, 1};
    mo_solve(f->t, second_of_two(f, MO_F64, A), tensor_of(f, MO_F64, 3, (int64_t[]){2, 3, 1}, ones));
    assert_true(mo_ok(f->ctx));
    mo_solve(f->t, second_of_two(f, MO_F32, A), tensor_of(f, MO_F32, 3, (int64_t[]){2, 3, 1}, ones));
    expect_error(
        f->ctx, "solve: matrix 1 of 2 is singular to working precision; got [2, 3, 3] float32, [2, 3, 1] float32");
}
