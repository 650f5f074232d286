/* tests/ops/test_simplex.c - the projection onto the simplex against bisection, and its gradient. */
#include "tests/solver_fixture.h"

/* Projects by bisection on tau, such that sum max(v - tau, 0) = 1. */
static void project_by_bisection(const double *v, double *x, int m) {
    double low = v[0], high = v[0];
    for (int i = 0; i < m; i++) {
        low = fmin(low, v[i]);
        high = fmax(high, v[i]);
    }
    low -= 1;
    for (int k = 0; k < 200; k++) {
        double tau = (low + high) / 2, sum = 0;
        for (int i = 0; i < m; i++)
            sum += fmax(v[i] - tau, 0);
        *(sum > 1 ? &low : &high) = tau;
    }
    for (int i = 0; i < m; i++)
        x[i] = fmax(v[i] - low, 0);
}

TEST_OF(the_projection_is_the_nearest_point, fixture *f) {
    enum { ROWS = 50, SIZE = 9 };
    double v[ROWS][SIZE], x[ROWS][SIZE], expected[SIZE];
    mo_random r = mo_random_at(4, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < SIZE; j++)
            v[i][j] = i == 0 ? 1 : i == 1 ? (j == 3) * 1e6 : i == 2 ? j % 3 : 2 * mo_random_normal(&r);
    mo_tensor *P = mo_simplex_project(f->t, mo_from(f->t, MO_F64, 2, (int64_t[]){ROWS, SIZE}, v));
    assert_int_equal(mo_tensor_read(P, x, sizeof x), MO_OK);
    for (int i = 0; i < ROWS; i++) {
        project_by_bisection(v[i], expected, SIZE);
        for (int j = 0; j < SIZE; j++)
            if (!(fabs(x[i][j] - expected[j]) <= 1e-9 * (i == 1 ? 1e6 : 1)))
                fail_msg("row %d, entry %d: %.17g, expected %.17g", i, j, x[i][j], expected[j]);
    }
}

/* With a large entry the 1 of the sum is lost to rounding. */
TEST_OF(large_entries_stay_on_the_simplex, fixture *f) {
    const float v[2][3] = {{1e8f, 0, -1}, {3e9f, 3e9f, -3e9f}}, expected[2][3] = {{1, 0, 0}, {0.5f, 0.5f, 0}};
    float x[2][3];
    mo_tensor *P = mo_simplex_project(f->t, mo_from(f->t, MO_F32, 2, (int64_t[]){2, 3}, v));
    assert_int_equal(mo_tensor_read(P, x, sizeof x), MO_OK);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            assert_true(x[i][j] == expected[i][j]);
}

TEST_OF(a_point_without_coordinates_is_an_error, fixture *f) {
    mo_simplex_project(f->t, mo_scalar(f->t, MO_F64, 1));
    assert_told(f->ctx, MO_INVALID, "simplex_project: expected rows [.., m] with m >= 1; got []");
}

/* A tensor of another context has no axes here: after the inner op's refusal its result must not be read. */
TEST_OF(a_point_of_another_context_is_an_error, fixture *f) {
    mo_context *other = mo_context_create(&(mo_context_options){.threads = 1});
    mo_tensor *V = mo_tensor_create(other, MO_F64, 1, (int64_t[]){3});
    assert_true(mo_is_null(mo_simplex_project(f->t, V)));
    assert_told(f->ctx, MO_MISMATCH, "stop_gradient: the input belongs to another context");
    mo_tensor_release(V);
    assert_int_equal(mo_context_release(other), MO_OK);
}
