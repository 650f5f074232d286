/* tests/ops/test_bad_matrices.c - matrices without a solution, at every position of a batch, in both float types. Each
 * gives its error by name; with or_nan only its own result is NaN.
 *
 * The sizes reach every path of the kernels: fixed loops, LAPACK, blocked factorizations and, on a device
 * (MOCHI_DEVICE), one block and many. */
#include "tests/host_matrices.h"

typedef mo_tensor *(*solver)(mo_tape *t, mo_tensor *A, mo_tensor *B);

typedef enum defect {
    ENTRY,     /* A[i][j] = A[j][i] = value */
    ONE_ENTRY, /* A[i][j] = value */
    ROW,       /* all entries of row i are value */
    COLUMN,    /* all entries of column i are value */
    SAME_ROWS, /* row j is value times row i */
    SAME_COLUMNS,
    COUPLED, /* A[i][j] = A[j][i] is so large that the leading minor of order max(i, j) + 1 is the first that is not
              * positive */
    SCALED,  /* all entries are multiplied by value */
    DIAGONAL /* all diagonal entries are value */
} defect;

typedef struct bad_matrix {
    int n, batch, which;
    defect kind;
    int i, j;
    double value;
    const char *message; /* the rest of the error, after the op's name and "matrix 1 of 4 " */
} bad_matrix;

static const bad_matrix indefinite[] = {
    {5, 4, 0, ENTRY, 0, 0, -1, "is not positive definite (leading minor 1)"},
    {5, 4, 1, ENTRY, 1, 1, -1, "is not positive definite (leading minor 2)"},
    {5, 4, 2, ENTRY, 2, 2, -1, "is not positive definite (leading minor 3)"},
    {5, 4, 3, ENTRY, 3, 3, -1, "is not positive definite (leading minor 4)"},
    {5, 4, 3, ENTRY, 4, 4, -1, "is not positive definite (leading minor 5)"},
    {1, 1, 0, ENTRY, 0, 0, 0, "is not positive definite (leading minor 1)"},
    {1, 3, 2, ENTRY, 0, 0, -1e-30, "is not positive definite (leading minor 1)"},
    {5, 4, 1, COUPLED, 0, 1, 0, "is not positive definite (leading minor 2)"},
    {5, 4, 1, COUPLED, 4, 0, 0, "is not positive definite (leading minor 5)"},
    {5, 4, 1, DIAGONAL, 0, 0, -3, "is not positive definite (leading minor 1)"},
    {5, 4, 2, DIAGONAL, 0, 0, 0, "is not positive definite (leading minor 1)"},
    {5, 4, 2, SCALED, 0, 0, 0, "is not positive definite (leading minor 1)"},
    {5, 4, 2, SCALED, 0, 0, -1, "is not positive definite (leading minor 1)"},
    {16, 9, 8, ENTRY, 15, 15, -1, "is not positive definite (leading minor 16)"},
    {17, 3, 1, COUPLED, 3, 12, 0, "is not positive definite (leading minor 13)"},
    {32, 2, 0, ENTRY, 31, 31, 0, "is not positive definite (leading minor 32)"},
    {33, 2, 1, ENTRY, 0, 0, -1, "is not positive definite (leading minor 1)"},
    {70, 3, 2, COUPLED, 69, 5, 0, "is not positive definite (leading minor 70)"},
    {200, 2, 1, ENTRY, 97, 97, -2, "is not positive definite (leading minor 98)"},
    {300, 2, 0, COUPLED, 10, 299, 0, "is not positive definite (leading minor 300)"},
    {321, 3, 2, ENTRY, 319, 319, -1, "is not positive definite (leading minor 320)"},
    {513, 2, 1, ENTRY, 0, 0, -1, "is not positive definite (leading minor 1)"},
    {513, 2, 1, ONE_ENTRY, 512, 511, NAN, "holds a value that is not finite"},
    {5, 4, 0, ONE_ENTRY, 0, 0, NAN, "holds a value that is not finite"},
    {5, 4, 1, ONE_ENTRY, 4, 0, NAN, "holds a value that is not finite"},
    {5, 4, 3, ONE_ENTRY, 4, 4, NAN, "holds a value that is not finite"},
    {5, 4, 2, ONE_ENTRY, 4, 0, INFINITY, "holds a value that is not finite"},
    {5, 4, 2, ONE_ENTRY, 4, 4, INFINITY, "holds a value that is not finite"},
    {5, 4, 2, ONE_ENTRY, 0, 0, -INFINITY, "holds a value that is not finite"},
    {40, 2, 1, ONE_ENTRY, 39, 0, INFINITY, "holds a value that is not finite"},
    {200, 2, 1, ONE_ENTRY, 199, 100, NAN, "holds a value that is not finite"},
};

static const bad_matrix singular[] = {
    {5, 4, 0, ONE_ENTRY, 0, 0, NAN, "holds a value that is not finite"},
    {5, 4, 1, ONE_ENTRY, 0, 4, NAN, "holds a value that is not finite"},
    {5, 4, 2, ONE_ENTRY, 4, 0, INFINITY, "holds a value that is not finite"},
    {5, 4, 3, ONE_ENTRY, 4, 4, -INFINITY, "holds a value that is not finite"},
    {1, 1, 0, ONE_ENTRY, 0, 0, 0, "is singular (pivot 1 is 0)"},
    {1, 3, 1, ONE_ENTRY, 0, 0, NAN, "holds a value that is not finite"},
    {5, 4, 0, ROW, 0, 0, 0, "is singular"},
    {5, 4, 1, ROW, 2, 0, 0, "is singular"},
    {5, 4, 3, ROW, 4, 0, 0, "is singular"},
    {5, 4, 0, COLUMN, 0, 0, 0, "is singular"},
    {5, 4, 2, COLUMN, 4, 0, 0, "is singular"},
    {5, 4, 1, SAME_ROWS, 0, 1, 1, "is singular"},
    {5, 4, 1, SAME_ROWS, 4, 2, -3, "is singular"},
    {5, 4, 1, SAME_COLUMNS, 0, 4, 1, "is singular"},
    {5, 4, 1, SAME_COLUMNS, 3, 1, 0.1, "is singular"},
    {5, 4, 2, SCALED, 0, 0, 0, "is singular (pivot 1 is 0)"},
    {3, 2, 1, ROW, 1, 0, 1e-30, "is singular to working precision"},
    {8, 3, 2, COLUMN, 7, 0, 1e-25, "is singular to working precision"},
    {16, 9, 8, SAME_ROWS, 2, 15, 1, "is singular"},
    {32, 2, 0, ROW, 31, 0, 0, "is singular"},
    {33, 2, 1, COLUMN, 16, 0, 0, "is singular"},
    {40, 2, 1, ONE_ENTRY, 0, 39, INFINITY, "holds a value that is not finite"},
    {70, 3, 2, SAME_COLUMNS, 60, 3, 2, "is singular"},
    {200, 2, 1, SAME_ROWS, 10, 190, -1, "is singular"},
    {300, 2, 0, ONE_ENTRY, 299, 0, NAN, "holds a value that is not finite"},
    {300, 2, 0, COLUMN, 150, 0, 0, "is singular"},
};

static const bad_matrix triangles[] = {
    {5, 4, 0, ONE_ENTRY, 0, 0, 0, "is singular: entry 0 of its diagonal is 0"},
    {5, 4, 1, ONE_ENTRY, 4, 4, 0, "is singular: entry 4 of its diagonal is 0"},
    {5, 4, 3, ONE_ENTRY, 2, 2, NAN, "is singular: entry 2 of its diagonal is nan"},
    {5, 4, 3, ONE_ENTRY, 3, 3, INFINITY, "is singular: entry 3 of its diagonal is inf"},
    {40, 2, 1, ONE_ENTRY, 39, 39, 0, "is singular: entry 39 of its diagonal is 0"},
    {300, 2, 1, ONE_ENTRY, 257, 257, 0, "is singular: entry 257 of its diagonal is 0"},
};

static const bad_matrix not_finite[] = {
    {3, 2, 1, ENTRY, 2, 0, INFINITY, "holds a value that is not finite"},
    {2, 5, 0, ONE_ENTRY, 1, 0, NAN, "holds a value that is not finite"},
    {2, 5, 1, ONE_ENTRY, 1, 0, NAN, "holds a value that is not finite"},
    {2, 5, 2, ONE_ENTRY, 1, 0, NAN, "holds a value that is not finite"},
    {2, 5, 3, ONE_ENTRY, 1, 0, NAN, "holds a value that is not finite"},
    {2, 5, 4, ONE_ENTRY, 1, 0, NAN, "holds a value that is not finite"},
};

static const bad_matrix dependent[] = {
    {3, 2, 1, COLUMN, 0, 0, 0, "is rank-deficient: column 0 is a combination of those before it, to working precision"},
    {3, 2, 1, SAME_COLUMNS, 0, 1, 1, "is rank-deficient: column 1 is a combination of those before it"},
    {5, 4, 2, SAME_COLUMNS, 3, 4, 0.1, "is rank-deficient: column 4 is a combination of those before it"},
};

/* ---- making them ---- */

/* Draws a symmetric positive definite matrix: 3 on the diagonal, irregular numbers of size 1/n elsewhere. */
static void draw_good(int n, double *A) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] = i == j ? 3 : ((7 * (i + j) + 3 * i * j) % 11 - 5) / (3.0 * n);
}

static void spoil(const bad_matrix *b, double *A) {
    int n = b->n, i = b->i, j = b->j;
    for (int k = 0; k < n; k++) {
        if (b->kind == ROW)
            A[i * n + k] = b->value;
        else if (b->kind == COLUMN)
            A[k * n + i] = b->value;
        else if (b->kind == SAME_ROWS)
            A[j * n + k] = A[i * n + k] * b->value;
        else if (b->kind == SAME_COLUMNS)
            A[k * n + j] = A[k * n + i] * b->value;
        else if (b->kind == DIAGONAL)
            A[k * n + k] = b->value;
    }
    for (int k = 0; b->kind == SCALED && k < n * n; k++)
        A[k] *= b->value;
    if (b->kind == ENTRY || b->kind == ONE_ENTRY)
        A[i * n + j] = b->value;
    if (b->kind == ENTRY)
        A[j * n + i] = b->value;
    if (b->kind == COUPLED) /* rows i and j then have the negative minor 9 - 100 */
        A[i * n + j] = A[j * n + i] = 10;
}

static mo_tensor *batch_of(fixture *f, const bad_matrix *b, mo_dtype dtype, bool bad) {
    double *A = zeros(b->batch * b->n, b->n);
    for (int k = 0; k < b->batch; k++)
        draw_good(b->n, A + k * b->n * b->n);
    if (bad)
        spoil(b, A + b->which * b->n * b->n);
    mo_tensor *T = tensor_of(f, dtype, 3, (int64_t[]){b->batch, b->n, b->n}, A);
    return T;
}

static mo_tensor *columns_of(fixture *f, const bad_matrix *b, mo_dtype dtype) {
    return mo_full(f->t, dtype, 3, (int64_t[]){b->batch, b->n, 2}, 1);
}

/* ---- messages ---- */

static void expect_named(fixture *f, const char *op, const bad_matrix *b, solver solve, mo_dtype dtype) {
    char expected[160];
    mo_tensor *A = batch_of(f, b, dtype, true), *X = solve(f->t, A, columns_of(f, b, dtype));
    bool on_host = mo_context_device(f->ctx) == MO_CPU; /* a device returns a result, and reports the error at the next
                                                         * wait */
    mo_context_wait(f->ctx);
    const mo_status *status = mo_context_status(f->ctx);
    snprintf(expected, sizeof expected, "%s: matrix %d of %d %s", op, b->which, b->batch, b->message);
    if (mo_is_null(X) != on_host || status->code != MO_NUMERICAL ||
        strncmp(status->message, expected, strlen(expected)) != 0)
        fail_msg("\"%s\", expected \"%s\"", status->message, expected);
    if (!strstr(status->message, dtype == MO_F32 ? "float32" : "float64") || strchr(status->message, '\n'))
        fail_msg("\"%s\": expected one line with shapes", status->message);
    mo_clear_error(f->ctx);
    end_round(f);
}

static void expect_nan_there_alone(fixture *f, const char *op, const bad_matrix *b, solver or_nan, mo_dtype dtype) {
    mo_tensor *B = columns_of(f, b, dtype), *X = or_nan(f->t, batch_of(f, b, dtype, true), B);
    double *x = values_of(f, X), *good = values_of(f, or_nan(f->t, batch_of(f, b, dtype, false), B));
    for (int k = 0; k < b->batch * b->n * 2; k++)
        if (k / (b->n * 2) == b->which ? !isnan(x[k]) : x[k] != good[k])
            fail_msg("%s or NaN, \"%s\": matrix %d gives %.17g, %.17g without the bad one", op, b->message,
                k / (b->n * 2), x[k], good[k]);
    end_round(f);
}

static void run_table(fixture *f, const char *op, const bad_matrix *table, size_t bytes, solver solve, solver or_nan) {
    int count = (int)(bytes / sizeof *table);
    for (int k = 0; k < count; k++)
        for (int d = 0; d < 2; d++) {
            expect_named(f, op, &table[k], solve, d ? MO_F64 : MO_F32);
            if (or_nan)
                expect_nan_there_alone(f, op, &table[k], or_nan, d ? MO_F64 : MO_F32);
        }
    print_message("%s: %d bad matrices in two float types\n", op, count);
}

static mo_tensor *solve_lower(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_solve_triangular(t, A, B, MO_LOWER);
}

static mo_tensor *solve_upper_transposed(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_solve_triangular(t, A, B, MO_UPPER_TRANSPOSED);
}

static mo_tensor *factor(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_cholesky(t, A);
}

static mo_tensor *log_of_determinant(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_logdet(t, A);
}

static mo_tensor *log_of_magnitude(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_log_abs_det(t, A);
}

static mo_tensor *eigenvectors(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    mo_tensor *w, *V;
    mo_eigh(t, A, &w, &V);
    assert_int_equal(mo_is_null(w), mo_is_null(V));
    return V;
}

static mo_tensor *singular_vectors(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    mo_tensor *U, *s, *V;
    mo_svd(t, A, &U, &s, &V);
    assert_int_equal(mo_is_null(U) + mo_is_null(s) + mo_is_null(V), 3 * mo_is_null(U));
    return V;
}

static mo_tensor *least_squares(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_least_squares(t, A, B, -1);
}

static mo_tensor *orthonormal(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    mo_tensor *Q, *R;
    mo_qr(t, A, &Q, &R);
    assert_int_equal(mo_is_null(Q), mo_is_null(R));
    return Q;
}

TEST(indefinite_matrices_are_named_or_nan) {
    run_table(*state, "solve_spd", indefinite, sizeof indefinite, mo_solve_spd, mo_solve_spd_or_nan);
    run_table(*state, "cholesky", indefinite, sizeof indefinite, factor, NULL);
    run_table(*state, "logdet", indefinite, sizeof indefinite, log_of_determinant, NULL);
}

TEST(singular_matrices_are_named_or_nan) {
    run_table(*state, "solve", singular, sizeof singular, mo_solve, mo_solve_or_nan);
    run_table(*state, "log_abs_det", singular, sizeof singular, log_of_magnitude, NULL);
}

TEST(triangles_without_a_diagonal_are_named) {
    run_table(*state, "solve_triangular", triangles, sizeof triangles, solve_lower, NULL);
    run_table(*state, "solve_triangular", triangles, sizeof triangles, solve_upper_transposed, NULL);
}

/* A device runs blocks in any order, so each position in a batch is tried. */
TEST(matrices_without_eigenvectors_are_named) {
    run_table(*state, "eigh", not_finite, sizeof not_finite, eigenvectors, NULL);
    run_table(*state, "svd", not_finite, sizeof not_finite, singular_vectors, NULL);
    run_table(*state, "least_squares", not_finite, sizeof not_finite, least_squares, NULL);
}

TEST(dependent_columns_are_named) {
    run_table(*state, "qr", dependent, sizeof dependent, orthonormal, NULL);
}
