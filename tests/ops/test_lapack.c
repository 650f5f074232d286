/* tests/ops/test_lapack.c - test_lapack [every]: checks solves as LAPACK's own tests do: residuals of X and of the
 * gradients, over sizes, numbers of right-hand sides, conditions up to 1/eps, and LAPACK's kinds of matrices
 * (lapack_matrices.h). "every" combines the large sizes with the large numbers of right-hand sides too.
 *
 * A ratio |A X - B| / (n eps |A| |X|) below 30 means that X solves a system that is A up to rounding, whatever the
 * condition (Anderson et al. 1999, LAPACK Working Note 41). A solve must refuse singular matrices by name; it can
 * refuse a matrix whose condition is within a factor of 10 of 1/eps, which can be singular to working precision. */
#include "tests/lapack_matrices.h"

static const int orders[] = {0, 1, 2, 3, 5, 10, 50, 512}, right_hand_sides[] = {0, 1, 2, 15, 1025};
enum { ORDERS = 8, RIGHT_HAND_SIDES = 5, FEW_ELEMENTS = 512 * 15 };

static bool every;

/* A family of solves: the op, the beginning of its refusal, and how its matrices are drawn. */
typedef struct family {
    const char *name, *refusal;
    mo_tensor *(*solve)(mo_tape *t, mo_tensor *A, mo_tensor *B);
    void (*draw)(fixture *f, double *A, int n, double condition);
} family;

typedef struct tally {
    kind kind;
    int solved, refused;
    double worst;
} tally;

static mo_tensor *solve_lower(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_solve_triangular(t, A, B, MO_LOWER);
}

/* ---- residuals, in float64 ---- */

static double norm_of(fixture *f, mo_tensor *X) {
    return norm(values_of(f, X), (int)mo_dim(X, 0), (int)mo_dim(X, 1));
}

static mo_tensor *wide(fixture *f, mo_tensor *X) {
    return mo_cast(f->t, mo_stop_gradient(f->t, X), MO_F64);
}

/* Returns |A X - B| / (n eps |A| |X|). */
static double residual_ratio(fixture *f, mo_tensor *A, mo_tensor *X, mo_tensor *B, mo_dtype dtype) {
    double n = (double)mo_dim(A, 1), size = norm_of(f, A) * norm_of(f, X);
    double residual = norm_of(f, mo_sub(f->t, mo_matmul(f->t, A, X), B));
    return residual == 0 ? 0 : residual / (n * size * epsilon(dtype));
}

static void expect_ratio(const family *s, tally *sum, const char *what, double ratio, int n, int m) {
    if (!(ratio < threshold))
        fail_msg("%s, %s, n = %d, %d right-hand sides, %s: ratio %g", s->name, kinds[sum->kind], n, m, what, ratio);
    sum->worst = fmax(sum->worst, ratio);
}

/* Checks X and, for a random X_bar, the gradients: A^T B_bar = X_bar, and A_bar = -B_bar X^T, of which a symmetric A
 * has the symmetric part, a triangular A the triangle. */
static void check_solution(fixture *f, const family *s, tally *sum, mo_tensor *xs[2], mo_tensor *X) {
    int n = (int)mo_dim(xs[1], 0), m = (int)mo_dim(xs[1], 1);
    mo_dtype dtype = mo_tensor_dtype(X);
    double *g = normals(f, n, m);
    mo_tensor *G = matrix(f, dtype, n, m, g), *grads[2], *A = wide(f, xs[0]);
    assert_int_equal(mo_grad(f->t, &X, &G, 1, xs, grads, 2, 0), MO_OK);
    mo_tensor *B_bar = wide(f, grads[1]), *A_bar = wide(f, grads[0]);
    expect_ratio(s, sum, "forward", residual_ratio(f, A, wide(f, X), wide(f, xs[1]), dtype), n, m);
    expect_ratio(s, sum, "adjoint", residual_ratio(f, mo_transpose(f->t, A), B_bar, wide(f, G), dtype), n, m);
    sum->solved++;
    if (sum->kind == TINY || sum->kind == VAST) /* A_bar overflows or underflows */
        return;
    mo_tensor *M = mo_neg(f->t, mo_matmul(f->t, B_bar, mo_transpose(f->t, wide(f, X))));
    if (s->draw == draw_spd)
        M = mo_scale(f->t, mo_add(f->t, M, mo_transpose(f->t, M)), 0.5, 0);
    if (s->draw == draw_lower)
        M = mo_tril(f->t, M);
    double size = norm_of(f, B_bar) * norm_of(f, mo_transpose(f->t, wide(f, X))) * m * epsilon(dtype);
    double error = norm_of(f, mo_sub(f->t, A_bar, M));
    expect_ratio(s, sum, "A_bar", error == 0 ? 0 : error / size, n, m);
}

/* Checks that the solve refused the matrix by name, and for a good reason. */
static void check_refusal(fixture *f, const family *s, mo_dtype dtype, int n, tally *sum) {
    const mo_status *status = mo_context_status(f->ctx);
    bool may =
        is_singular(sum->kind, n) || (n > 1 && (sum->kind == EDGE || sum->kind == OVER) && s->draw != draw_lower);
    if (!may || status->code != MO_NUMERICAL || !strstr(status->message, s->refusal))
        fail_msg("%s, %s, n = %d, %s: %s", s->name, kinds[sum->kind], n, mo_dtype_name(dtype), status->message);
    sum->refused++;
    mo_clear_error(f->ctx);
}

static void run(fixture *f, const family *s, mo_dtype dtype, int n, int m, tally *sum) {
    double *A = zeros(n, n), *B = normals(f, n, m);
    s->draw(f, A, n, condition_of(sum->kind, dtype));
    if (sum->kind > OVER)
        shape_kind(A, n, sum->kind, s->draw == draw_spd, dtype);
    mo_tensor *xs[] = {mo_require_grad(matrix(f, dtype, n, n, A)), mo_require_grad(matrix(f, dtype, n, m, B))};
    mo_tensor *X = s->solve(f->t, xs[0], xs[1]);
    if (!mo_ok(f->ctx)) {
        check_refusal(f, s, dtype, n, sum);
    } else {
        if (is_singular(sum->kind, n))
            fail_msg("%s, %s, n = %d, %d right-hand sides: solved", s->name, kinds[sum->kind], n, m);
        assert_true(mo_dim(X, 0) == n && mo_dim(X, 1) == m);
        if (n && m)
            check_solution(f, s, sum, xs, X);
    }
    end_round(f);
}

/* Triangular matrices are only for the general family: they are not symmetric, and the triangular family has its
 * own. */
static bool has_kind(const family *s, kind k) {
    return s->draw == draw_general || (k != UPPER && k != LOWER);
}

static void run_family(fixture *f, const family *s) {
    int solved = 0, refused = 0;
    double worst = 0;
    for (int k = 0; k < KINDS; k++) {
        tally sum = {.kind = (kind)k};
        for (int run_of = 0; has_kind(s, sum.kind) && run_of < 2 * ORDERS * RIGHT_HAND_SIDES; run_of++) {
            int n = orders[run_of / 2 / RIGHT_HAND_SIDES], m = right_hand_sides[run_of / 2 % RIGHT_HAND_SIDES];
            if (every || n * m <= FEW_ELEMENTS)
                run(f, s, run_of & 1 ? MO_F64 : MO_F32, n, m, &sum);
        }
        if (every && has_kind(s, sum.kind))
            print_message("%-16s %-26s %4d solved, worst ratio %6.3f; %3d refused\n", s->name, kinds[k], sum.solved,
                sum.worst, sum.refused);
        solved += sum.solved;
        refused += sum.refused;
        worst = fmax(worst, sum.worst);
    }
    print_message("%s: %d solved, worst ratio %.3g; %d refused\n", s->name, solved, worst, refused);
    assert_true(solved >= 100 && refused >= 50);
}

TEST(solve_leaves_small_residuals) {
    run_family(*state, &(family){"solve", "solve: the matrix is singular", mo_solve, draw_general});
}

TEST(solve_spd_leaves_small_residuals) {
    run_family(*state, &(family){"solve_spd", "solve_spd: the matrix is not positive definite (leading minor ",
                           mo_solve_spd, draw_spd});
}

TEST(solve_triangular_leaves_small_residuals) {
    run_family(*state,
        &(family){"solve_triangular", "solve_triangular: the matrix is singular: entry ", solve_lower, draw_lower});
}

int main(int argc, char **argv) {
    every = argc > 1 && !strcmp(argv[1], "every");
    return run_suite();
}
