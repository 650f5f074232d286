/* tests/ops/test_batched_solve.c - the result for a matrix depends neither on the batch it is in, nor on a bad matrix
 * beside it. */
#include "tests/host_matrices.h"

typedef mo_tensor *(*solver)(mo_tape *t, mo_tensor *A, mo_tensor *B);

/* Writes X and the gradients of sum(X G), as bytes, for `part[1]` matrices of A and B from matrix part[0] on. */
static void run_part(fixture *f, solver solve, mo_dtype dtype, const double *problem[2], int64_t n, int64_t m,
    int64_t part[2], char *out[3]) {
    const double *A = problem[0] + part[0] * n * n, *B = problem[1] + part[0] * n * m;
    mo_tensor *xs[2], *grads[2];
    for (int i = 0; i < 2; i++) {
        int64_t shape[] = {part[1], n, i ? m : n};
        size_t bytes = (size_t)(part[1] * n * shape[2]) * sizeof *A;
        double *copy = memcpy(test_memory(bytes), i ? B : A, bytes);
        xs[i] = mo_require_grad(tensor_of(f, dtype, 3, shape, copy));
    }
    mo_tensor *X = solve(f->t, xs[0], xs[1]), *G = mo_stop_gradient(f->t, xs[1]);
    mo_grad(f->t, &X, &G, 1, xs, grads, 2, 0);
    assert_string_equal(mo_context_status(f->ctx)->message, "");
    for (int i = 0; i < 3; i++) {
        mo_tensor *T = i == 0 ? X : grads[i - 1];
        size_t bytes = (size_t)mo_numel(T) * mo_dtype_size(dtype);
        out[i] = test_memory(bytes);
        mo_tensor_read(T, out[i], bytes);
    }
    mo_tape_reset(f->t);
}

/* Kernels compute matrices in groups: a result must not depend on the matrix's place in a group or on the batch's
 * size. */
static void expect_batch_is_its_singles(fixture *f, solver solve, mo_dtype dtype, int64_t n, int64_t m) {
    enum { BATCH = 21 };
    double *A = normals(f, (int)(BATCH * n), (int)n), *B = normals(f, (int)(BATCH * n), (int)m);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++)
                A[(b * n + i) * n + j] = A[(b * n + j) * n + i];
            A[(b * n + i) * n + i] += solve == mo_solve ? 0 : 3 * sqrt((double)n) + 2;
        }
    char *all[3], *one[3];
    run_part(f, solve, dtype, (const double *[]){A, B}, n, m, (int64_t[]){0, BATCH}, all);
    for (int64_t b = 0; b < BATCH; b++) {
        run_part(f, solve, dtype, (const double *[]){A, B}, n, m, (int64_t[]){b, 1}, one);
        for (int i = 0; i < 3; i++) {
            size_t bytes = (size_t)(n * (i == 1 ? n : m)) * mo_dtype_size(dtype);
            if (memcmp(all[i] + (size_t)b * bytes, one[i], bytes) != 0)
                fail_msg("n = %d, m = %d: result %d of matrix %d has other bits alone", (int)n, (int)m, i, (int)b);
        }
    }
    free_test_memory();
}

TEST(a_batch_has_the_bits_of_its_singles) {
    const int64_t orders[] = {1, 4, 7, 16, 31, 32, 40}, columns[] = {1, 2, 3, 4, 15, 16, 17, 33};
    for (int k = 0; k < 7 * 8; k++)
        for (int d = 0; d < 2; d++) {
            expect_batch_is_its_singles(*state, mo_solve, d ? MO_F64 : MO_F32, orders[k / 8], columns[k % 8]);
            expect_batch_is_its_singles(*state, mo_solve_spd, d ? MO_F64 : MO_F32, orders[k / 8], columns[k % 8]);
        }
}

/* ---- leading axes that broadcast ---- */

/* A = M M^T + 2 I from a leaf M [.., n, n]: symmetric however the checker moves M. */
static mo_tensor *definite(mo_tape *t, mo_tensor *M) {
    return mo_add_diag(t, mo_gram(t, M), mo_scalar(t, MO_F64, 2));
}

static mo_tensor *lower(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_solve_triangular(t, A, B, MO_LOWER);
}

static mo_tensor *diagonals(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_add_diag(t, A, mo_sum(t, B, MO_AXES(-1, -2), MO_DROP_AXES));
}

static void solved(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    out[0] = (*(const solver *)state)(t, definite(t, in[0]), in[1]);
}

/* Compares with the same matrices repeated explicitly, and with central differences. */
TEST_OF(leading_axes_broadcast_with_gradients, fixture *f) {
    const solver solvers[] = {mo_solve, mo_solve_spd, mo_cholesky_solve, lower, diagonals};
    const int64_t shape[][2][4] = {
        {{1, 1, 3, 3}, {2, 1, 3, 2}}, {{2, 2, 3, 3}, {1, 1, 3, 2}}, {{2, 1, 3, 3}, {1, 2, 3, 1}}};
    const int64_t common[][2] = {{2, 1}, {2, 2}, {2, 2}};
    for (int k = 0; k < 3 * 5; k++) {
        const int64_t(*s)[4] = shape[k % 3];
        solver solve = solvers[k / 3];
        mo_tensor *in[2], *wide[2];
        for (int i = 0; i < 2; i++) {
            double *x = normals(f, 36, 1);
            int skip = s[i][0] == 1 && s[i][1] == 1 ? 2 : 0; /* drops two leading axes of size 1 */
            in[i] = mo_require_grad(mo_tensor_create_from(f->ctx, MO_F64, 4 - skip, s[i] + skip, x));
            int64_t size[] = {common[k % 3][0], common[k % 3][1], s[i][2], s[i][3]};
            wide[i] = mo_broadcast_to(f->t, i ? in[i] : definite(f->t, in[i]), 4, size);
        }
        double *got = values_of(f, solve(f->t, definite(f->t, in[0]), in[1]));
        mo_tensor *expected = solve(f->t, wide[0], wide[1]);
        double *want = values_of(f, expected);
        assert_string_equal(mo_context_status(f->ctx)->message, "");
        for (int64_t j = 0; j < mo_numel(expected); j++)
            assert_true(fabs(got[j] - want[j]) <= 1e-12 * (1 + fabs(want[j])));
        mo_check_result r = mo_check_function(f->ctx, solved, &solve, in, 2, 1, 2, 1e-5, 3);
        if (!r.pass)
            fail_msg("solver %d, shapes %d: %s", k / 3, k % 3, r.worst);
        mo_tape_reset(f->t);
        for (int i = 0; i < 2; i++)
            mo_tensor_release(in[i]);
    }
}

/* A right-hand side is a matrix with one column, not a vector: the error says how to convert it. */
TEST_OF(a_vector_is_refused_with_its_remedy, fixture *f) {
    mo_tensor *A = mo_eye(f->t, MO_F64, 3), *b = mo_full(f->t, MO_F64, 1, (int64_t[]){3}, 1);
    mo_tensor *two = mo_broadcast_to(f->t, A, 3, (int64_t[]){2, 3, 3});
    const solver solvers[] = {mo_solve, mo_solve_spd, lower};
    for (int k = 0; k < 3; k++) {
        solvers[k](f->t, A, b);
        assert_failed(f->ctx, MO_INVALID, PARTS("reshape b to [n, 1]; got [3, 3] float64, [3] float64"));
        solvers[k](f->t, two, mo_broadcast_to(f->t, b, 2, (int64_t[]){2, 3}));
        assert_failed(f->ctx, MO_INVALID, PARTS("reshape b to [.., n, 1]"));
    }
}
