/* tools/explain/functions.c - the functions that lessons' formulas call: ops of the library, parts of a matrix, and
 * steps that would not be clearer as a formula. */
#include "tools/explain/lesson.h"

#include <math.h>

mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_sum(t, mo_mul(t, A, B), MO_ALL, MO_DROP_AXES);
}

mo_tensor *total(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_ALL, MO_DROP_AXES);
}

mo_tensor *inverse(mo_tape *t, mo_tensor *A) {
    return mo_solve(t, A, mo_eye(t, MO_F64, mo_dim(A, -1)));
}

/* ---- parts of a matrix ---- */

mo_tensor *transposed(mo_tape *t, mo_tensor *M) {
    return mo_contiguous(t, mo_transpose(t, M));
}

mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M) {
    return mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
}

/* Returns the lower triangle minus a multiple of the diagonal. */
static mo_tensor *lower_less_diagonal(mo_tape *t, mo_tensor *M, double multiple) {
    return mo_sub(t, mo_tril(t, M), mo_scale(t, mo_diagonal_embed(t, mo_diagonal(t, M)), multiple, 0));
}

static mo_tensor *strict_lower_part(mo_tape *t, mo_tensor *M) {
    return lower_less_diagonal(t, M, 1);
}

/* Phi(M): the lower triangle, its diagonal halved. */
static mo_tensor *half_lower_part(mo_tape *t, mo_tensor *M) {
    return lower_less_diagonal(t, M, 0.5);
}

/* copyltu(M): the lower triangle, mirrored into the upper one. */
static mo_tensor *mirrored_lower_part(mo_tape *t, mo_tensor *M) {
    return mo_add(t, mo_tril(t, M), transposed(t, strict_lower_part(t, M)));
}

static mo_tensor *diagonal_matrix(mo_tape *t, mo_tensor *v) {
    if (mo_ndim(v) == 2 && mo_dim(v, 1) == 1)
        v = mo_reshape(t, v, 1, (int64_t[]){mo_dim(v, 0)});
    return mo_diagonal_embed(t, v);
}

static mo_tensor *diagonal_column(mo_tape *t, mo_tensor *M) {
    return mo_reshape(t, mo_diagonal(t, M), 2, (int64_t[]){mo_dim(M, 0), 1});
}

static mo_tensor *without_last_column(mo_tape *t, mo_tensor *M) {
    return mo_contiguous(t, mo_slice(t, M, MO_AXIS(1), 0, mo_dim(M, 1) - 1));
}

static mo_tensor *row_max(mo_tape *t, mo_tensor *X) {
    return mo_max(t, X, MO_AXIS(1), MO_KEEP_AXES);
}

static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(1), MO_KEEP_AXES);
}

static mo_tensor *row_softmax(mo_tape *t, mo_tensor *X) {
    return mo_softmax(t, X, MO_AXIS(-1));
}

static mo_tensor *row_log_softmax(mo_tape *t, mo_tensor *X) {
    return mo_log_softmax(t, X, MO_AXIS(-1));
}

/* ---- systems and factorizations ---- */

static mo_tensor *substitute(mo_tape *t, mo_tensor *L, mo_tensor *B) {
    return mo_solve_triangular(t, L, B, MO_LOWER);
}

/* Returns the permutation P in P A = L U, by elimination with partial pivoting. */
static mo_tensor *permutation(mo_tape *t, mo_tensor *A) {
    const int n = (int)mo_dim(A, 0);
    double a[MOST_VALUES] = {0}, P[MOST_VALUES] = {0};
    int row[MOST_N];
    if (n > MOST_N || mo_tensor_read(A, a, (size_t)(n * n) * sizeof *a) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    for (int i = 0; i < n; i++)
        row[i] = i;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            best = fabs(a[row[i] * n + k]) > fabs(a[row[best] * n + k]) ? i : best;
        int chosen = row[best];
        row[best] = row[k];
        row[k] = chosen;
        for (int i = k + 1; i < n && a[chosen * n + k] != 0; i++)
            for (int j = n - 1; j >= k; j--)
                a[row[i] * n + j] -= a[row[i] * n + k] / a[chosen * n + k] * a[chosen * n + j];
    }
    for (int i = 0; i < n; i++)
        P[i * n + row[i]] = 1;
    return mo_from(t, MO_F64, 2, (int64_t[]){n, n}, P);
}

/* Factors P A = L U by elimination, made of ops. Step k subtracts from the remaining matrix its first column, divided
 * by the pivot, times its first row. */
static void lu_factors(mo_tape *t, mo_tensor *PA, mo_tensor **L, mo_tensor **U) {
    mo_tensor *rest = PA, *columns[MOST_N], *rows[MOST_N];
    const int64_t n = mo_dim(PA, 0);
    for (int64_t k = 0; k < n && k < MOST_N; k++) {
        mo_tensor *first_row = mo_slice(t, rest, MO_AXIS(0), 0, 1), *pivot = mo_slice(t, first_row, MO_AXIS(1), 0, 1);
        if (mo_ok(mo_tape_context(t)) && mo_item(pivot) == 0)
            mo_fail(mo_tape_context(t), MO_NUMERICAL,
                "lu: pivot %d is 0: the matrix is singular, where L and U have no gradient", (int)k + 1);
        mo_tensor *multipliers = mo_div(t, mo_slice(t, rest, MO_AXIS(1), 0, 1), pivot);
        columns[k] = mo_pad(t, multipliers, MO_AXIS(0), k, 0);
        rows[k] = mo_pad(t, first_row, MO_AXIS(1), k, 0);
        mo_tensor *smaller = mo_sub(t, rest, mo_matmul(t, multipliers, first_row));
        if (k + 1 < n)
            rest = mo_slice(t, mo_slice(t, smaller, MO_AXIS(0), 1, n - k), MO_AXIS(1), 1, n - k);
    }
    *L = mo_concat(t, columns, (int)n, MO_AXIS(1));
    *U = mo_concat(t, rows, (int)n, MO_AXIS(0));
}

/* Returns F with F_ij = 1 / (w_j - w_i), and 0 on the diagonal. */
static mo_tensor *eigenvalue_gaps(mo_tape *t, mo_tensor *w) {
    const int64_t n = mo_dim(w, 0);
    mo_tensor *row = mo_reshape(t, w, 2, (int64_t[]){1, n}), *column = mo_reshape(t, w, 2, (int64_t[]){n, 1});
    mo_tensor *off = mo_scale(t, mo_eye(t, MO_F64, n), -1, 1);
    return mo_div_or_zero(t, off, mo_mul(t, off, mo_sub(t, row, column)));
}

static mo_tensor *least_squares(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_least_squares(t, A, B, -1);
}

/* Returns the largest |eigenvalue| of a symmetric A. */
static mo_tensor *spectral_radius(mo_tape *t, mo_tensor *A) {
    mo_tensor *w, *V;
    mo_eigh(t, A, &w, &V);
    return mo_max(t, mo_abs(t, w), MO_ALL, MO_DROP_AXES);
}

/* Returns k limited to 0 .. 100, because a reader's formula can have any number as k. */
static int count_of(mo_tensor *k) {
    return (int)fmin(fmax(mo_item(k), 0), 100);
}

/* Returns M^k v, for X = M, v, k. */
static mo_tensor *times(mo_tape *t, mo_tensor *const *X) {
    mo_tensor *v = X[1];
    for (int k = count_of(X[2]); k > 0; k--)
        v = mo_matmul(t, X[0], v);
    return v;
}

/* Returns the sum of M^j v over j < k, for X = M, v, k. */
static mo_tensor *series(mo_tape *t, mo_tensor *const *X) {
    mo_tensor *term = X[1], *sum = mo_scale(t, term, 0, 0);
    for (int k = count_of(X[2]); k > 0; k--) {
        sum = mo_add(t, sum, term);
        term = k > 1 ? mo_matmul(t, X[0], term) : term;
    }
    return sum;
}

/* ---- roots ---- */

static mo_tensor *linear_residual(mo_tape *t, mo_tensor *w, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    return mo_sub(t, mo_matmul(t, theta[0], w), theta[1]);
}

/* Returns the solution w of A w = b; its gradient is by the implicit function theorem. */
static mo_tensor *linear_root(mo_tape *t, mo_tensor *A, mo_tensor *b) {
    mo_tensor *theta[] = {A, b};
    return mo_implicit(t, mo_stop_gradient(t, mo_solve(t, A, b)), linear_residual, theta, 2, NULL);
}

static mo_tensor *cubic_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n, (void)state;
    mo_tensor *cube = mo_mul(t, mo_square(t, x), x);
    return mo_sub(t, mo_add(t, mo_matmul(t, theta[0], x), cube), theta[1]);
}

/* Returns the solution x of A x + x^3 = b (x^3 elementwise). */
static mo_tensor *cubic_root(mo_tape *t, mo_tensor *A, mo_tensor *b) {
    mo_tensor *theta[] = {A, b}, *start = mo_scale(t, mo_stop_gradient(t, b), 0, 0);
    return mo_newton_krylov(t, start, cubic_residual, theta, 2, &(mo_solver_options){.tolerance = 1e-13});
}

/* ---- gradients ---- */

/* Returns df / dA, recorded on the tape, so that it can be differentiated again. */
static mo_tensor *gradient(mo_tape *t, mo_tensor *f, mo_tensor *A) {
    mo_tensor *G = mo_null_tensor(mo_tape_context(t));
    mo_grad(t, &f, NULL, 1, &A, &G, 1, MO_CREATE_GRAPH);
    return G;
}

/* Returns the derivative of X[0] with respect to X[1] in the direction X[2]. */
static mo_tensor *tangent(mo_tape *t, mo_tensor *const *X) {
    mo_tensor *G = X[0], *A = X[1], *V = X[2], *moved = mo_null_tensor(mo_tape_context(t));
    mo_jvp(t, &G, 1, &A, &V, 1, &moved, 0);
    return moved;
}

/* ---- readouts ---- */

static mo_tensor *cross_entropy(mo_tape *t, mo_tensor *x, mo_tensor *T) {
    return mo_softmax_cross_entropy(t, x, T, 0);
}

/* Returns the leave-one-out residuals for X = Z1, Y, lambda: row i is Y_i minus its prediction by the ridge fitted to
 * all other rows, one fit per row. */
static mo_tensor *refits(mo_tape *t, mo_tensor *const *X) {
    const int64_t n = mo_dim(X[0], 0);
    mo_tensor *rest[MOST_N];
    for (int64_t i = 0; i < n && i < MOST_N; i++) {
        mo_tensor *parts[2][2], *kept[2], *left[2];
        for (int which = 0; which < 2; which++) {
            int sides = 0;
            if (i > 0)
                parts[which][sides++] = mo_slice(t, X[which], MO_AXIS(0), 0, i);
            if (i + 1 < n)
                parts[which][sides++] = mo_slice(t, X[which], MO_AXIS(0), i + 1, n);
            kept[which] = mo_concat(t, parts[which], sides, MO_AXIS(0));
            left[which] = mo_slice(t, X[which], MO_AXIS(0), i, i + 1);
        }
        mo_tensor *Zt = mo_transpose(t, kept[0]), *A = mo_add_diag(t, mo_matmul(t, Zt, kept[0]), X[2]);
        mo_tensor *W = mo_solve_spd(t, A, mo_matmul(t, Zt, kept[1]));
        rest[i] = mo_sub(t, left[1], mo_matmul(t, left[0], W));
    }
    return mo_concat(t, rest, (int)n, MO_AXIS(0));
}

/* Returns the W of mo_logistic without intercept, for X = the rows, Y, lambda. */
static mo_tensor *logistic(mo_tape *t, mo_tensor *const *X) {
    return mo_logistic(t, X[0], X[1], X[2], MO_INTERCEPT_NONE);
}

/* Returns U = H^-1 W_bar for in = X, P, lambda, W_bar. H is the second derivative of the loss that W minimises, as a
 * matrix of d C rows: H[(a, c), (b, e)] = sum_i x_ia x_ib (p_ic [c = e] - p_ic p_ie) + lambda [a = b] [c = e]. */
static mo_tensor *logistic_adjoint(mo_tape *t, mo_tensor *const *in) {
    mo_tensor *X = in[0], *P = in[1];
    const int64_t n = mo_dim(X, 0), d = mo_dim(X, 1), C = mo_dim(P, 1);
    mo_tensor *XX = mo_mul(t, mo_reshape(t, X, 3, (int64_t[]){n, d, 1}), mo_reshape(t, X, 3, (int64_t[]){n, 1, d}));
    mo_tensor *PP = mo_mul(t, mo_reshape(t, P, 3, (int64_t[]){n, C, 1}), mo_reshape(t, P, 3, (int64_t[]){n, 1, C}));
    mo_tensor *B = mo_sub(t, mo_diagonal_embed(t, P), PP);
    mo_tensor *rows = mo_transpose(t, mo_reshape(t, XX, 2, (int64_t[]){n, d * d}));
    mo_tensor *H = mo_matmul(t, rows, mo_reshape(t, B, 2, (int64_t[]){n, C * C})); /* rows (a, b), columns (c, e) */
    H = mo_contiguous(t, mo_permute(t, mo_reshape(t, H, 4, (int64_t[]){d, d, C, C}), (int[]){0, 2, 1, 3}));
    H = mo_add_diag(t, mo_reshape(t, H, 2, (int64_t[]){d * C, d * C}), in[2]);
    mo_tensor *U = mo_solve_spd(t, H, mo_reshape(t, in[3], 2, (int64_t[]){d * C, 1}));
    return mo_reshape(t, U, 2, (int64_t[]){d, C});
}

/* Returns the logits of the queries Q by the head svm, for X = Z, Y, Q, lambda. */
static mo_tensor *svm(mo_tape *t, mo_tensor *const *X) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    mo_head_start(t, mo_find_head("svm"), mo_tensor_dtype(X[0]), mo_dim(X[0], -1), NULL, 0, parameters);
    parameters[0] = X[3];
    return mo_head_apply(t, mo_find_head("svm"), X[0], X[1], X[2], parameters);
}

/* Returns alpha, the dual variables, for X = K, Y, lambda. */
static mo_tensor *svm_dual(mo_tape *t, mo_tensor *const *X) {
    return mo_svm_dual_variables(t, X[0], X[1], X[2], NULL, 0, NULL);
}

/* Returns the projection Pi onto the directions in which alpha [n, C] can move: each row keeps its sum, zeros stay. Its
 * rows and columns are the entries (i, c) of alpha, row-major. */
static mo_tensor *svm_projection(mo_tape *t, mo_tensor *alpha) {
    const int n = (int)mo_dim(alpha, 0), C = (int)mo_dim(alpha, 1), size = n * C;
    double a[2 * MOST_N], Pi[4 * MOST_N * MOST_N] = {0};
    if (size > 2 * MOST_N || mo_tensor_read(alpha, a, (size_t)size * sizeof *a) != MO_OK)
        return mo_null_tensor(mo_tape_context(t));
    for (int i = 0; i < n; i++) {
        int positive = 0;
        for (int c = 0; c < C; c++)
            positive += a[i * C + c] > 0;
        for (int c = 0; c < C; c++)
            for (int e = 0; e < C; e++)
                if (a[i * C + c] > 0 && a[i * C + e] > 0)
                    Pi[(i * C + c) * size + i * C + e] = (c == e) - 1. / positive;
    }
    return mo_from(t, MO_F64, 2, (int64_t[]){size, size}, Pi);
}

/* Returns the solution U of least norm of Pi K Pi U = Pi A_bar, for X = K, alpha, A_bar, with K extended to the entries
 * (i, c) of alpha. The matrix is singular if support vectors are dependent, but the right-hand side lies in its
 * range. */
static mo_tensor *svm_adjoint(mo_tape *t, mo_tensor *const *X) {
    const int64_t n = mo_dim(X[1], 0), C = mo_dim(X[1], 1), size = n * C;
    mo_tensor *Pi = svm_projection(t, X[1]), *w, *V;
    mo_tensor *K = mo_mul(t, mo_reshape(t, X[0], 4, (int64_t[]){n, 1, n, 1}),
        mo_reshape(t, mo_eye(t, MO_F64, C), 4, (int64_t[]){1, C, 1, C}));
    K = mo_reshape(t, mo_contiguous(t, K), 2, (int64_t[]){size, size});
    mo_eigh(t, mo_matmul(t, mo_matmul(t, Pi, K), Pi), &w, &V);
    mo_tensor *limit = mo_scale(t, mo_max(t, w, MO_ALL, MO_DROP_AXES), 1e-10, 1e-30);
    mo_tensor *kept = mo_greater_equal(t, w, limit), *inverses = mo_div_or_zero(t, kept, mo_mul(t, kept, w));
    mo_tensor *right = mo_matmul(t, Pi, mo_reshape(t, X[2], 2, (int64_t[]){size, 1}));
    mo_tensor *U = mo_matmul(t, mo_mul(t, V, inverses), mo_matmul(t, mo_transpose(t, V), right));
    return mo_reshape(t, U, 2, (int64_t[]){n, C});
}

const lesson_function lesson_functions[] = {
    {"sym", symmetric_part},
    {"tril", mo_tril},
    {"triu", mo_triu},
    {"stril", strict_lower_part},
    {"Phi", half_lower_part},
    {"copyltu", mirrored_lower_part},
    {"diag", diagonal_matrix},
    {"diagonal", diagonal_column},
    {"without_last", without_last_column},
    {"with_ones", mo_append_ones},
    {"trace", mo_trace},
    {"sum", total},
    {"row_sum", row_sum},
    {"row_max", row_max},
    {"log", mo_log},
    {"exp", mo_exp},
    {"softmax", row_softmax},
    {"log_softmax", row_log_softmax},
    {"cholesky", mo_cholesky},
    {"logdet", mo_logdet},
    {"permutation", permutation},
    {"gaps", eigenvalue_gaps},
    {"spectral_radius", spectral_radius},
    {"solve", .of_two = mo_solve},
    {"solve_spd", .of_two = mo_solve_spd},
    {"substitute", .of_two = substitute},
    {"least_squares", .of_two = least_squares},
    {"linear_root", .of_two = linear_root},
    {"cubic_root", .of_two = cubic_root},
    {"gradient", .of_two = gradient},
    {"cross_entropy", .of_two = cross_entropy},
    {"times", .arguments = 3, .of_more = times},
    {"series", .arguments = 3, .of_more = series},
    {"tangent", .arguments = 3, .of_more = tangent},
    {"refits", .arguments = 3, .of_more = refits},
    {"logistic", .arguments = 3, .of_more = logistic},
    {"logistic_adjoint", .arguments = 4, .of_more = logistic_adjoint},
    {"svm", .arguments = 4, .of_more = svm},
    {"svm_dual", .arguments = 3, .of_more = svm_dual},
    {"svm_adjoint", .arguments = 3, .of_more = svm_adjoint},
    {"lu", .two_results = lu_factors},
    {"qr", .two_results = mo_qr},
    {"eigh", .two_results = mo_eigh},
    {NULL},
};
