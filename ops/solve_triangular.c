/* ops/solve_triangular.c - X = op(T)^-1 B for triangular T, op(T) = T or T^T, batched.
 *
 * T [.., n, n], B [.., n, m] -> X [.., n, m]; leading axes broadcast. float32 or float64. Only the triangle that the
 * option names is read, so the gradient of T is in that triangle. Errors: T not square, sizes that differ, a diagonal
 * entry that is 0 or not finite (named, with its matrix). Saved: nothing beyond T and X.
 *
 * op(T) X = B;  d op(T) X + op(T) dX = dB;  dX = op(T)^-1 (dB - d op(T) X), hence (Giles 2008, 2.3.1)
 *     B_bar = op(T)^-T X_bar,
 *     op(T)_bar = -B_bar X^T, so T_bar is the triangle of -B_bar X^T, or of -X B_bar^T where op transposes. */
#include "ops/inside.h"
#include "ops/rules/checks.h"
#include "ops/rules/factor.h"
#include "ops/rules/shapes.h"

#include <inttypes.h>
#include <string.h>

/* Returns the option for the same triangle and the transposed system. */
static mo_triangle transposed(mo_triangle triangle) {
    static const mo_triangle other[] = {
        [MO_LOWER] = MO_LOWER_TRANSPOSED,
        [MO_LOWER_TRANSPOSED] = MO_LOWER,
        [MO_UPPER] = MO_UPPER_TRANSPOSED,
        [MO_UPPER_TRANSPOSED] = MO_UPPER,
    };
    return other[triangle];
}

static bool solve_triangular_shape(mo_call *c) {
    const mo_tensor *B = c->in[1];
    mo_triangle triangle = *(const mo_triangle *)c->attributes;
    if ((unsigned)triangle > MO_UPPER_TRANSPOSED)
        return mo_call_fail(c, MO_INVALID, "triangle %d, expected MO_LOWER to MO_UPPER_TRANSPOSED", (int)triangle);
    return mo_call_real(c, 0, 1) && mo_call_system(c) && mo_call_output(c, 0, B->dtype, B->ndim, B->shape);
}

static void fail_entry(mo_context *ctx, const mo_note *note, int64_t position, mo_found found, mo_found before) {
    (void)before;
    int64_t n = note->check.shape[note->check.ndim - 1];
    char which[80];
    mo_note_fail(ctx, note, MO_NUMERICAL, "%s is singular: entry %" PRId64 " of its diagonal is %g",
        mo_note_matrix(note, position / n, which, sizeof which), position % n, found.real);
}

/* Checks the diagonal, because LAPACK's solve divides by 0 without an error. */
static bool check_diagonal(mo_call *c) {
    mo_view d = mo_diagonal_view(mo_tensor_view(c->in[0]));
    mo_check check = {.condition = MO_VALUES_DIVISOR, .raise = fail_entry};
    check.values = mo_tensor_view(mo_call_temporary(c, MO_F64, d.ndim, d.shape));
    if (mo_ok(c->ctx))
        c->ctx->backend->copy(c->ctx, &d, &check.values);
    return mo_call_check(c, check, c->in[0]);
}

static void solve_triangular_forward(mo_call *c) {
    mo_triangle triangle = *(const mo_triangle *)c->attributes;
    if (!check_diagonal(c))
        return;
    mo_view T = mo_call_dense(c, 0), b = mo_tensor_view(c->in[1]), x = mo_tensor_view(c->out[0]);
    if (!mo_ok(c->ctx))
        return;
    c->ctx->backend->copy(c->ctx, &b, &x);
    mo_kernels_of(c->ctx, x.dtype)->trsm(c->ctx, triangle, &T, &x);
}

static void solve_triangular_vjp(mo_vjp *v) {
    mo_tape *t = v->t;
    mo_triangle triangle = *(const mo_triangle *)v->attributes;
    mo_tensor *T = v->in[0], *X = v->out[0], *X_bar = v->out_bar[0];
    mo_tensor *B_bar = mo_solve_triangular(t, T, X_bar, transposed(triangle));
    if (v->needs[0]) {
        mo_tensor *left = mo_triangle_is_transposed(triangle) ? X : B_bar,
                  *right = mo_triangle_is_transposed(triangle) ? B_bar : X;
        mo_tensor *M = mo_neg(t, mo_matmul(t, left, mo_transpose(t, right)));
        v->in_bar[0] = mo_triangle_is_lower(triangle) ? mo_tril(t, M) : mo_triu(t, M);
    }
    v->in_bar[1] = B_bar;
}

static double solve_triangular_flops(const mo_call *c) {
    return (double)mo_numel(c->out[0]) * (double)mo_dim(c->in[0], -1);
}

static const mo_triangle lower_transposed = MO_LOWER_TRANSPOSED, upper = MO_UPPER,
                         upper_transposed = MO_UPPER_TRANSPOSED;

static const mo_sample solve_triangular_samples[] = {
    {"lower", "triangular[4, 4] [4, 3]"},
    {"lower, transposed, other triangle filled", "general[4, 4] [4, 2]", &lower_transposed},
    {"upper, batch", "general[2, 3, 3] [2, 3, 2]", &upper},
    {"upper, transposed", "general[3, 3] [3, 1]", &upper_transposed},
    {"not square", "[3, 4] [3, 1]", .error = "solve_triangular: expected square matrices"},
    {"rows", "triangular[3, 3] [4, 1]", .error = "expected right-hand sides with as many rows"},
    {"triangle", "triangular[3, 3] [3, 1]", &(const int){7},
        .error = "solve_triangular: triangle 7, expected MO_LOWER to MO_UPPER_TRANSPOSED"},
};

const mo_op mo_op_solve_triangular = {
    .name = "solve_triangular",
    .n_in = 2,
    .attributes_size = sizeof(mo_triangle),
    .reads_in = 1,
    .reads_out = 1,
    .shape = solve_triangular_shape,
    .forward = solve_triangular_forward,
    .vjp = solve_triangular_vjp,
    .flops = solve_triangular_flops,
    MO_SAMPLES(solve_triangular_samples),
};

mo_tensor *mo_solve_triangular(mo_tape *t, mo_tensor *T, mo_tensor *B, mo_triangle triangle) {
    return mo_apply_system(t, &mo_op_solve_triangular, T, B, &triangle);
}
