/* tests/train/test_svd.c - the truncated SVD of graphs with awkward spectra (multiple, paired, missing, dense) against
 * dense eigenvalues, of attribute matrices, tall, wide and rank-deficient, and the orthonormal bases that it is made
 * of; refusals. Whole runs (test_trainer.c, tests/cli/train.cases) have equal bits at any thread count. */
#include "tensor/objects.h"
#include "tests/scratch.h"
#include "tests/sparse_svd.h"
#include "tests/worst_of.h"
#include "train/svd/svd.h"
#include "train/svd/tall.h"

/* An SVD of an [n, m] matrix with r columns, on the host, in double. */
typedef struct result {
    int64_t n, m, r;
    double *U, *S, *V;
    double residual;
} result;

static double *host(mo_tape *t, mo_tensor *X) {
    double *x = test_memory(((size_t)mo_numel(X) + 1) * sizeof *x);
    assert_int_equal(mo_tensor_read(mo_cast(t, X, MO_F64), x, (size_t)mo_numel(X) * sizeof *x), MO_OK);
    return x;
}

/* Computes an SVD. exact_below 0 forces the randomized method if the rank allows it. */
static result decompose(mo_context *ctx, const mo_csr *A, int rank, int power_iterations, int exact_below) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_svd_options options = {
        .rank = rank, .power_iterations = power_iterations, .exact_below = exact_below, .seed = 5};
    mo_svd_factors svd;
    mo_svd_compute(t, A, &options, &svd);
    expect_ok(ctx);
    assert_true(svd.orthogonality < (mo_tensor_dtype(svd.U) == MO_F64 ? 1e-12 : 1e-5));
    mo_tensor *V = svd.V ? svd.V : mo_mul(t, svd.U, svd.sign);
    return (result){mo_csr_rows(A), mo_csr_columns(A), rank, host(t, mo_mul(t, svd.U, svd.column_sign)), host(t, svd.S),
        host(t, mo_mul(t, V, svd.column_sign)), svd.residual};
}

/* Returns the largest |X^T X - I| for X [n, r], entry (a, b) times the relative weights of both columns; weight NULL:
 * 1 each. */
static double orthogonality(const double *X, int64_t n, int64_t r, const double *weight) {
    double worst = 0;
    for (int64_t a = 0; a < r; a++)
        for (int64_t b = 0; b <= a; b++) {
            double sum = 0, share = weight ? weight[a] / weight[0] * (weight[b] / weight[0]) : 1;
            for (int64_t i = 0; i < n; i++)
                sum += X[i * r + a] * X[i * r + b];
            worst = worst_of(worst, fabs(sum - (a == b)) * share);
        }
    return worst;
}

/* V's columns are as exact as their singular values; those of unresolved values are 0. */
static void expect_orthonormal(const result *x, double tolerance) {
    double u = orthogonality(x->U, x->n, x->r, NULL), v = x->S[0] > 0 ? orthogonality(x->V, x->m, x->r, x->S) : 0;
    if (!(u <= tolerance && v <= tolerance))
        fail_msg("U^T U or V^T V differs from I by %g, %g; expected at most %g", u, v, tolerance);
}

/* Checks the signs: in each column of U the first entry of largest magnitude is positive. Magnitudes that differ by
 * less than `tie` count as equal. */
static void expect_signs(const result *x, double tie) {
    for (int64_t j = 0; j < x->r; j++) {
        double largest = 0;
        for (int64_t i = 0; i < x->n; i++)
            largest = fmax(largest, fabs(x->U[i * x->r + j]));
        for (int64_t i = 0; i < x->n; i++)
            if (fabs(x->U[i * x->r + j]) >= largest * (1 - tie)) {
                assert_true(x->U[i * x->r + j] > 0);
                break;
            }
    }
}

static void expect_near(const char *what, const double *got, const double *want, int64_t n, double tolerance) {
    double largest = 1e-300, worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
        if (!(fabs(got[i] - want[i]) <= worst)) {
            worst = fabs(got[i] - want[i]);
            at = i;
        }
    }
    if (!(worst <= tolerance * largest))
        fail_msg("%s[%lld] is %.12g, expected %.12g; error %.3g of the largest", what, (long long)at, got[at], want[at],
            worst / largest);
}

/* Returns the non-zeros of a dense matrix as a sparse one. */
static mo_csr *sparse(mo_context *ctx, const double *dense, int64_t rows, int64_t columns, mo_dtype real) {
    int64_t *pointer = test_memory(((size_t)rows + 1) * sizeof *pointer), nnz = 0;
    int32_t *column = test_memory((size_t)(rows * columns) * sizeof *column);
    double *value = test_memory((size_t)(rows * columns) * sizeof *value);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            if (dense[i * columns + j] != 0) {
                column[nnz] = (int32_t)j;
                value[nnz++] = dense[i * columns + j];
            }
        pointer[i + 1] = nnz;
    }
    for (int64_t e = 0; e < nnz && real == MO_F32; e++)
        ((float *)value)[e] = (float)value[e];
    mo_csr *A = mo_csr_create(ctx, rows, columns, pointer, column, real, value);
    expect_ok(ctx);
    return A;
}

/* ---- graphs ---- */

typedef struct edges {
    int64_t count, u[80000], v[80000];
} edges;

static void add(edges *e, int64_t u, int64_t v) {
    e->u[e->count] = u;
    e->v[e->count++] = v;
}

static mo_csr *adjacency_of(mo_context *ctx, int64_t n, const edges *e, mo_dtype real) {
    HELD(mo_graph) *graph = mo_graph_from_edges(ctx, "drawn", n, e->count, e->u, e->v);
    expect_ok(ctx);
    mo_csr *A = mo_normalized_adjacency(graph, real);
    expect_ok(ctx);
    return A;
}

/* Returns the r largest |eigenvalues| of a symmetric matrix, falling, from a dense decomposition. */
static double *dense_spectrum(mo_context *ctx, const mo_csr *A) {
    int64_t n = mo_csr_rows(A);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *w, *V, *M = mo_spmm(t, A, mo_eye(t, mo_tensor_dtype(A->values), n));
    mo_eigh(t, mo_cast(t, M, MO_F64), &w, &V);
    double *spectrum = host(t, w);
    for (int64_t i = 0; i < n; i++)
        spectrum[i] = fabs(spectrum[i]);
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = i; j > 0 && spectrum[j] > spectrum[j - 1]; j--) {
            double swap = spectrum[j];
            spectrum[j] = spectrum[j - 1];
            spectrum[j - 1] = swap;
        }
    return spectrum;
}

/* Checks converged triplets: values, orthonormality, signs, and a residual of no more than rounding. */
static void check_converged(mo_context *ctx, int64_t n, const edges *e, int rank) {
    for (int real = MO_F32; real <= MO_F64; real++) {
        double tolerance = real == MO_F64 ? 1e-9 : 2e-5;
        HELD(mo_csr) *A = adjacency_of(ctx, n, e, (mo_dtype)real);
        double *spectrum = dense_spectrum(ctx, A);
        result x = decompose(ctx, A, rank, -1, 0);
        expect_near("sigma", x.S, spectrum, rank, tolerance);
        expect_orthonormal(&x, tolerance);
        expect_signs(&x, sqrt(real == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON));
        if (!(x.residual <= tolerance))
            fail_msg("residual %g after convergence, expected at most %g", x.residual, tolerance);
        for (int j = 1; j < rank; j++)
            assert_true(x.S[j] <= x.S[j - 1]);
    }
}

static edges *complete_graph(int64_t n) {
    edges *e = calloc(1, sizeof *e);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            add(e, i, j);
    return e;
}

TEST_OF(a_complete_graph_has_one_eigenvalue_many_times, scratch *s) {
    HELD_MEMORY edges *e = complete_graph(120);
    check_converged(s->ctx, 120, e, 20);
}

TEST_OF(a_bipartite_graph_has_eigenvalues_in_pairs, scratch *s) {
    HELD_MEMORY edges *e = calloc(1, sizeof *e);
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    for (int k = 0; k < 400; k++)
        add(e, mo_random_below(&r, 50), 50 + mo_random_below(&r, 60));
    check_converged(s->ctx, 110, e, 16);
    HELD(mo_csr) *A = adjacency_of(s->ctx, 110, e, MO_F64);
    result x = decompose(s->ctx, A, 2, -1, 0); /* eigenvalues 1 and -1: their vectors must not be mixed */
    for (int64_t i = 0; i < 110; i++) {
        assert_true(fabs(x.U[2 * i] - x.V[2 * i]) < 1e-9);
        assert_true(fabs(x.U[2 * i + 1] + x.V[2 * i + 1]) < 1e-9);
    }
}

TEST_OF(a_star_has_rank_two_and_zeros_after, scratch *s) {
    HELD_MEMORY edges *e = calloc(1, sizeof *e);
    for (int64_t i = 1; i < 200; i++)
        add(e, 0, i);
    check_converged(s->ctx, 200, e, 12);
    HELD(mo_csr) *A = adjacency_of(s->ctx, 200, e, MO_F32);
    result x = decompose(s->ctx, A, 12, 2, 0);
    for (int j = 2; j < 12; j++)
        assert_true(x.S[j] == 0);
}

TEST_OF(isolated_nodes_and_small_components_are_fine, scratch *s) {
    HELD_MEMORY edges *e = calloc(1, sizeof *e);
    for (int64_t i = 0; i < 90; i += 3) /* thirty paths of three nodes, then sixty isolated nodes */
        add(e, i, i + 1), add(e, i + 1, i + 2);
    check_converged(s->ctx, 150, e, 30);
    HELD(mo_csr) *A = adjacency_of(s->ctx, 150, e, MO_F32);
    result x = decompose(s->ctx, A, 30, 2, 0);
    for (int64_t k = 90 * 30; k < 150 * 30; k++)
        assert_true(fabs(x.U[k]) < 1e-5);
    e->count = 0;
    check_converged(s->ctx, 100, e, 10); /* a graph without edges */
}

/* A path has the eigenvalues cos(pi j / (n - 1)), in pairs +-s and dense at both ends: the worst case for power
 * iterations. Rayleigh-Ritz on the iterated block alone mixes s and -s, and its values are off by up to 0.64; with the
 * block's image added, the worst of these 64 is off by 0.033. */
TEST_OF(two_power_iterations_find_the_values_of_a_path, scratch *s) {
    HELD_MEMORY edges *e = calloc(1, sizeof *e);
    for (int64_t i = 0; i + 1 < 400; i++)
        add(e, i, i + 1);
    HELD(mo_csr) *A = adjacency_of(s->ctx, 400, e, MO_F32);
    result x = decompose(s->ctx, A, 64, 2, 0);
    for (int j = 0; j < 64; j++)
        assert_true(fabs(x.S[j] - fabs(cos(3.14159265358979 * (j / 2) / 399))) < 0.05);
    expect_orthonormal(&x, 1e-5);
    result exact = decompose(s->ctx, A, 64, 0, 400);
    for (int j = 0; j < 64; j++)
        assert_true(fabs(exact.S[j] - fabs(cos(3.14159265358979 * (j / 2) / 399))) < 1e-6);
    assert_true(exact.residual < 1e-6);
}

/* ---- attribute matrices ---- */

/* Returns the entries of a sparse [n, m] matrix of rank at most `rank` (0: full), determined by the seed. */
static double *drawn(int64_t n, int64_t m, int64_t rank, uint64_t seed) {
    double *X = test_memory((size_t)(n * m) * sizeof *X);
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            if (rank && i >= rank)
                X[i * m + j] = X[i % rank * m + j] * (double)(1 + i / rank);
            else if (mo_random_uniform(&r) < 0.2)
                X[i * m + j] = mo_random_normal(&r);
    return X;
}

static void check_rectangular(mo_context *ctx, int64_t n, int64_t m, int64_t true_rank, int rank, int exact_below) {
    double *X = drawn(n, m, true_rank, 6);
    for (int real = MO_F32; real <= MO_F64; real++) {
        double tolerance = real == MO_F64 ? 1e-7 : 2e-4; /* in float32 errors reach 1.02e-4 if OpenBLAS does not know
                                                          * the CPU */
        HELD(mo_csr) *A = sparse(ctx, X, n, m, (mo_dtype)real);
        result x = decompose(ctx, A, rank, 2, exact_below);
        expect_orthonormal(&x, real == MO_F64 ? 1e-12 : 1e-5);
        double *product = test_memory((size_t)(n * m) * sizeof *product);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                for (int64_t k = 0; k < rank; k++)
                    product[i * m + j] += x.U[i * rank + k] * x.S[k] * x.V[j * rank + k];
        expect_near("U S V^T", product, X, n * m, tolerance);
        assert_true(x.residual < tolerance);
    }
}

TEST_OF(a_matrix_of_the_rank_asked_for_is_reproduced, scratch *s) {
    check_rectangular(s->ctx, 90, 30, 0, 30, 64);  /* tall */
    check_rectangular(s->ctx, 30, 90, 0, 30, 64);  /* wide */
    check_rectangular(s->ctx, 120, 80, 9, 12, 0);  /* randomized, rank 9 */
    check_rectangular(s->ctx, 80, 120, 9, 9, 0);   /* randomized, wide */
    check_rectangular(s->ctx, 70, 40, 11, 40, 64); /* exact, rank 11 of 40 */
    check_rectangular(s->ctx, 1, 7, 0, 1, 64);
    check_rectangular(s->ctx, 7, 1, 0, 1, 64);
}

TEST_OF(two_power_iterations_come_near_the_best_approximation, scratch *s) {
    double *X = drawn(300, 200, 0, 7);
    HELD(mo_csr) *A = sparse(s->ctx, X, 300, 200, MO_F32);
    result best = decompose(s->ctx, A, 40, 2, 200), fast = decompose(s->ctx, A, 40, 2, 0);
    for (int j = 0; j < 40; j++)
        assert_true(fast.S[j] <= best.S[j] * 1.00001 && fast.S[j] >= best.S[j] * 0.9);
}

/* ---- orthonormal bases ---- */

TEST_OF(missing_rank_is_filled_up, scratch *s) {
    mo_random r = mo_random_at(8, MO_PURPOSE_CHECK, 2);
    for (int real = MO_F32; real <= MO_F64; real++) {
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
        double Y[50 * 6], condition;
        for (int i = 0; i < 50; i++)
            for (int j = 0; j < 6; j++) /* columns 3 to 5 repeat columns 0 to 2 */
                Y[i * 6 + j] = j < 3 ? mo_random_normal(&r) : Y[i * 6 + j - 3];
        mo_tensor *T = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){50, 6}, Y), (mo_dtype)real);
        mo_orthonormalize(t, T, 2, &condition);
        mo_tensor *Q = mo_cast(t, T, MO_F64), *of = mo_from(t, MO_F64, 2, (int64_t[]){50, 6}, Y);
        const double *PY = host(t, mo_matmul(t, Q, mo_matmul(t, mo_transpose(t, Q), of)));
        assert_true(condition > 1e3);
        assert_true(orthogonality(host(t, Q), 50, 6, NULL) < (real == MO_F64 ? 1e-13 : 2e-6));
        expect_near("Q Q^T Y", PY, Y, 300, real == MO_F64 ? 1e-12 : 1e-5);
    }
}

/* ---- refusals, size and memory ---- */

TEST_OF(wrong_ranks_and_values_that_are_not_finite_are_refused, scratch *s) {
    double X[] = {1, 2, 3, 4, 5, 6, 7, 8, NAN, 10, 11, 12};
    HELD(mo_csr) *A = sparse(s->ctx, X, 4, 3, MO_F64);
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_EVAL);
    mo_tensor *U, *S, *V;
    sparse_svd(t, A, 0, 2, 1, &U, &S, &V, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("svd: rank 0 of a matrix [4, 3], expected 1 to 3"));
    sparse_svd(t, A, 4, 2, 1, &U, &S, &V, NULL);
    assert_failed(s->ctx, MO_INVALID, PARTS("svd: rank 4"));
    sparse_svd(t, A, 2, 2, 1, &U, &S, &V, NULL);
    assert_failed(s->ctx, MO_NUMERICAL, PARTS("svd: the norm of the matrix [4, 3] is nan, expected a finite one"));
}

/* A cycle of 80,000 nodes; then with an isolated node added, which changes only the size. */
TEST_OF(a_large_graph_gets_a_product_more, scratch *s) {
    double kept[2] = {0}, residual[2];
    HELD_MEMORY edges *e = calloc(1, sizeof *e);
    for (int64_t i = 0; i < 80000; i++)
        add(e, i, (i + 1) % 80000);
    for (int more = 0; more < 2; more++) {
        HELD(mo_csr) *A = adjacency_of(s->ctx, 80000 + more, e, MO_F64);
        result x = decompose(s->ctx, A, 4, 2, 0);
        for (int j = 0; j < 4; j++)
            kept[more] += x.S[j] * x.S[j];
        residual[more] = x.residual;
        expect_orthonormal(&x, 1e-9);
    }
    if (!(kept[1] > 1.01 * kept[0] && kept[1] <= 4 && residual[1] < residual[0]))
        fail_msg("kept %g of %g with a node more, residual %g of %g", kept[1], kept[0], residual[1], residual[0]);
}

TEST_OF(the_tape_keeps_nothing_but_the_result, mo_context *ctx) {
    HELD_MEMORY edges *e = complete_graph(100);
    HELD(mo_csr) *A = adjacency_of(ctx, 100, e, MO_F64);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *before = mo_full(t, MO_F64, 1, &(int64_t){3}, 7), *U, *S, *V;
    assert_int_equal(sparse_svd(t, A, 5, 2, 1, &U, &S, &V, NULL), MO_OK);
    double values[3];
    assert_int_equal(mo_tensor_read(before, values, sizeof values), MO_OK);
    assert_true(values[0] == 7 && values[2] == 7);
    mo_tape_reset(t); /* doubles the arena's headers, as those of the last round stay as marks */
    assert_int_equal(sparse_svd(t, A, 5, 2, 1, &U, &S, &V, NULL), MO_OK);
    int64_t live = mo_context_counters(ctx).bytes_live;
    mo_tape_reset(t);
    assert_int_equal(sparse_svd(t, A, 5, 2, 1, &U, &S, &V, NULL), MO_OK);
    assert_true(mo_context_counters(ctx).bytes_live <= live);
}
