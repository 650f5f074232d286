/* tests/train/test_svd_golden.c - normalised adjacency, SVD, features and hops against stored vectors, in both
 * precisions. */
#include "tests/decomposition.h"
#include "train/svd/adjacency.h"
#include "train/svd/svd_parts.h"

static const fixtures around_all = {scratch_create, scratch_release};

static mo_arrays *golden(scratch *s) {
    mo_arrays *file = mo_npz_read(s->ctx, "tests/golden/svd.npz");
    expect_ok(s->ctx);
    return file;
}

static double *stored(const mo_arrays *file, const char *name) {
    mo_tensor *T = mo_arrays_find(file, name);
    assert_non_null(T);
    double *x = calloc((size_t)mo_numel(T), sizeof *x);
    assert_int_equal(mo_tensor_read(T, x, (size_t)mo_numel(T) * sizeof *x), MO_OK);
    return x;
}

/* The golden adjacency, self-loop included, through our normalisation. */
static mo_csr *golden_adjacency(mo_context *ctx, const mo_arrays *file, mo_dtype real) {
    double *dense = stored(file, "A"), *want = stored(file, "A_norm");
    mo_csr *A = sparse(ctx, dense, 60, 60, MO_F64);
    int64_t pointer[61];
    int32_t *column = calloc((size_t)mo_csr_nnz(A), sizeof *column);
    mo_tensor_read(A->row_pointer, pointer, sizeof pointer);
    mo_tensor_read(A->column, column, (size_t)mo_csr_nnz(A) * sizeof *column);
    mo_csr *normalized = mo_normalize_block(ctx, 0, 60, pointer, column, real);
    expect_ok(ctx);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    double *got = host(t, mo_spmm(t, normalized, mo_eye(t, real, 60)));
    expect_near("A_norm", got, want, 3600, real == MO_F64 ? 1e-15 : 1e-7);
    free(got);
    free(dense);
    free(want);
    free(column);
    mo_csr_release(A);
    mo_tape_release(t);
    return normalized;
}

static void compare(const mo_arrays *file, const char *name, const double *got, double tolerance) {
    double *want = stored(file, name);
    expect_near(name, got, want, mo_numel(mo_arrays_find(file, name)), tolerance);
    free(want);
}

/* P P^T of P = (U + V) sqrt(S), or of U sqrt(S). */
static double *feature_gram(const result *x, bool both) {
    double *P = calloc((size_t)(x->n * x->r), sizeof *P);
    for (int64_t k = 0; k < x->n * x->r; k++)
        P[k] = x->U[k] + (both ? x->V[k] : 0);
    double *gram = outer(P, x->S, x->n, x->r);
    free(P);
    return gram;
}

static void check_structure(mo_context *ctx, const mo_arrays *file, mo_dtype real, int exact_below) {
    mo_csr *A = golden_adjacency(ctx, file, real);
    result x = decompose(ctx, A, 8, -1, exact_below);
    double tolerance = real == MO_F64 ? 1e-9 : 1e-4, *projector = outer(x.U, NULL, 60, 8);
    double *gram = feature_gram(&x, true);
    compare(file, "sigma", x.S, tolerance);
    compare(file, "projector", projector, tolerance);
    compare(file, "PA_gram", gram, tolerance);
    expect_orthonormal(&x, real == MO_F64 ? 1e-13 : 1e-5);
    free(projector);
    free(gram);
    free_result(&x);
    mo_csr_release(A);
}

static void check_attributes(mo_context *ctx, const mo_arrays *file, mo_dtype real) {
    double *X = stored(file, "X");
    mo_csr *sparse_X = sparse(ctx, X, 60, 5, real);
    result x = decompose(ctx, sparse_X, 5, 2, 0);
    double *gram = feature_gram(&x, false), tolerance = real == MO_F64 ? 1e-9 : 1e-4;
    compare(file, "X_sigma", x.S, tolerance);
    compare(file, "PX_gram", gram, tolerance);
    free(gram);
    free(X);
    free_result(&x);
    mo_csr_release(sparse_X);
}

static void check_hops(mo_context *ctx, const mo_arrays *file, mo_dtype real) {
    mo_csr *A = golden_adjacency(ctx, file, real);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X0 = mo_cast(t, mo_arrays_find(file, "X0"), real);
    mo_tensor *stack = mo_permute(t, mo_hop_stack(t, A, X0, 3), (int[]){1, 0, 2});
    expect_ok(ctx);
    double *got = host(t, stack);
    compare(file, "hop_stack", got, real == MO_F64 ? 1e-9 : 1e-4);
    free(got);
    mo_tape_release(t);
    mo_csr_release(A);
}

TEST(the_golden_file_is_met_in_both_precisions) {
    scratch *s = *state;
    mo_arrays *file = golden(s);
    for (int real = MO_F32; real <= MO_F64; real++) {
        check_structure(s->ctx, file, (mo_dtype)real, MO_SVD_EXACT_BELOW);
        check_structure(s->ctx, file, (mo_dtype)real, 0);
        check_attributes(s->ctx, file, (mo_dtype)real);
        check_hops(s->ctx, file, (mo_dtype)real);
    }
    mo_arrays_release(file);
}
