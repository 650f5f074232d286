/* tests/test_implicit.c - implicit differentiation: gradients to order two by dense factors, conjugate gradients and
 * GMRES, batches, constant memory, and what bad problems are told. */
#include "ops/ops.h"
#include "tensor/storage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* F(x; A, c) = A x + x^3 / 3 - c of every item: x, c [items, m], A [items, m, m]. */
static mo_tensor *cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    int64_t items = mo_dim(x, 0), m = mo_dim(x, 1);
    mo_tensor *Ax = mo_matmul(t, theta[0], mo_reshape(t, x, 3, (int64_t[]){items, m, 1}));
    mo_tensor *cube = mo_scale(t, mo_mul(t, mo_square(t, x), x), 1. / 3, 0);
    return mo_sub(t, mo_add(t, mo_reshape(t, Ax, 2, (int64_t[]){items, m}), cube), theta[1]);
}

/* dF/dx = A + diag(x^2) */
static mo_tensor *cubic_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    return mo_add(t, theta[0], mo_diagonal_embed(t, mo_square(t, x)));
}

/* Newton's method to rounding, leaving nothing on the tape. */
static mo_tensor *solve_cubic(mo_tape *t, mo_tensor *const *theta, int iterations) {
    mo_scope scope = mo_scope_open(t);
    mo_tensor *x = mo_scale(t, theta[1], 0, 0);
    for (int i = 0; i < iterations; i++) {
        mo_tensor *F = cubic(t, x, theta, 2, NULL);
        mo_tensor *column = mo_reshape(t, F, 3, (int64_t[]){mo_dim(x, 0), mo_dim(x, 1), 1});
        mo_tensor *step = mo_solve(t, cubic_jacobian(t, x, theta, 2, NULL), column);
        x = mo_sub(t, x, mo_reshape(t, step, 2, (int64_t[]){mo_dim(x, 0), mo_dim(x, 1)}));
        mo_scope_close(t, &scope, &x, 1);
    }
    return x;
}

static void root_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_out;
    out[0] = mo_implicit(t, solve_cubic(t, in, 30), cubic, in, n_in, state);
}

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *theta[2]; /* A, c */
} fixture;

/* A = I + B / (2 m), symmetric where asked. */
static void draw_cubic(fixture *f, mo_dtype real, int64_t items, int64_t m, bool symmetric) {
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 0);
    double *A = malloc((size_t)(items * m * m) * sizeof *A), *c = malloc((size_t)(items * m) * sizeof *c);
    for (int64_t i = 0; i < items; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < m; k++) {
                double *a = A + i * m * m;
                a[j * m + k] = (j == k) + mo_random_normal(&r) / (2 * sqrt((double)m));
                if (symmetric && k <= j)
                    a[j * m + k] = a[k * m + j] = (j == k) * 2 + a[j * m + k] / 4;
            }
    for (int64_t i = 0; i < items * m; i++)
        c[i] = mo_random_normal(&r);
    for (int i = 0; i < 2; i++) {
        mo_tensor *wide = mo_tensor_from(f->ctx, MO_F64, i ? 2 : 3, (int64_t[]){items, m, m}, i ? c : A);
        f->theta[i] = mo_tensor_create(f->ctx, real, i ? 2 : 3, (int64_t[]){items, m, m});
        mo_tensor_copy(f->theta[i], wide);
        mo_require_grad(f->theta[i]);
        mo_tensor_release(wide);
    }
    free(A);
    free(c);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ctx = mo_context_create(NULL);
    mo_register_ops(f->ctx);
    f->t = mo_tape_create(f->ctx, MO_RECORD);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    mo_tape_release(f->t);
    mo_tensor_release(f->theta[0]);
    mo_tensor_release(f->theta[1]);
    mo_context_release(f->ctx);
    free(f);
    return 0;
}

static void expect_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g to %g", got, expected, tolerance);
}

/* ---- gradients ---- */

static void expect_gradients(fixture *f, mo_implicit_options o) {
    for (int order = 1; order <= 2; order++) {
        mo_check_result r =
            mo_check_function(f->ctx, root_function, &o, f->theta, 2, 1, order, order == 1 ? 1e-6 : 1e-5, 7);
        if (!r.pass)
            fail_msg("order %d: error %.3g; %s", order, r.error, r.worst);
    }
}

static void factors_give_first_and_second_derivatives(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 3, 4, false);
    expect_gradients(f, (mo_implicit_options){.batch_axes = 1});
}

static void a_given_jacobian_gives_the_same(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 3, 4, false);
    expect_gradients(f, (mo_implicit_options){.batch_axes = 1, .jacobian = cubic_jacobian});
}

static void gmres_gives_first_and_second_derivatives(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 3, 7, false);
    expect_gradients(f, (mo_implicit_options){.batch_axes = 1, .dense_limit = -1});
}

static void gmres_restarts(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 2, 12, false);
    mo_implicit_report report = {0};
    expect_gradients(f, (mo_implicit_options){.batch_axes = 1, .dense_limit = -1, .restart = 4, .report = &report});
    assert_true(report.iterations > 4);
}

/* A is perturbed freely by the checker, but J = A + diag(x^2) is symmetric where it is evaluated. */
static mo_tensor *symmetric_cubic(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    mo_tensor *A = mo_scale(t, mo_add(t, theta[0], mo_transpose(t, theta[0])), 0.5, 0);
    return cubic(t, x, (mo_tensor *[]){A, theta[1]}, n, state);
}

static void symmetric_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_out;
    mo_tensor *A = mo_scale(t, mo_add(t, in[0], mo_transpose(t, in[0])), 0.5, 0);
    mo_tensor *x = solve_cubic(t, (mo_tensor *[]){A, in[1]}, 30);
    out[0] = mo_implicit(t, x, symmetric_cubic, in, n_in, state);
}

static void conjugate_gradients_give_first_and_second_derivatives(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 3, 7, true);
    mo_implicit_options o = {.batch_axes = 1, .symmetric = true, .dense_limit = -1};
    for (int order = 1; order <= 2; order++) {
        mo_check_result r =
            mo_check_function(f->ctx, symmetric_function, &o, f->theta, 2, 1, order, order == 1 ? 1e-6 : 1e-5, 7);
        if (!r.pass)
            fail_msg("order %d: error %.3g; %s", order, r.error, r.worst);
    }
}

static const struct test_state {
    double scale;
    mo_tensor *dead;
} twice = {2, NULL};

/* x = theta s: the scale s is state. */
static mo_tensor *scaled(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    return mo_sub(t, x, mo_scale(t, theta[0], ((const struct test_state *)state)->scale, 0));
}

static void state_may_go_once_it_was_copied(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 2, 3, false);
    struct test_state *s = malloc(sizeof *s);
    *s = twice;
    mo_tensor *x = mo_implicit(f->t, mo_scale(f->t, f->theta[1], 2, 0), scaled, &f->theta[1], 1,
        &(mo_implicit_options){.state = s, .state_size = sizeof *s});
    memset(s, 0xff, sizeof *s);
    free(s);
    assert_int_equal(mo_backward(f->t, mo_sum(f->t, x, 0, false)), MO_OK);
    double g[6];
    mo_tensor_read(mo_grad_of(f->theta[1]), g, sizeof g);
    for (int i = 0; i < 6; i++)
        expect_near(g[i], 2, 1e-14);
}

/* F = x^3 - theta: x = theta^(1/3), every order from the same rule. */
static mo_tensor *cube(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    (void)n;
    (void)state;
    return mo_sub(t, mo_mul(t, mo_square(t, x), x), theta[0]);
}

static void third_derivative_of_a_cube_root(void **state) {
    fixture *f = *state;
    for (int krylov = 0; krylov < 2; krylov++) {
        mo_tensor *theta = mo_require_grad(mo_scalar(f->t, MO_F64, 8)), *d;
        d = mo_implicit(
            f->t, mo_scalar(f->t, MO_F64, 2), cube, &theta, 1, &(mo_implicit_options){.dense_limit = krylov ? -1 : 0});
        /* 1/3 t^(-2/3), -2/9 t^(-5/3), 10/27 t^(-8/3) at 8 */
        const double expected[3] = {1. / 12, -1. / 144, 10. / 27 / 256};
        for (int order = 0; order < 3; order++) {
            mo_tensor *y = d;
            assert_int_equal(mo_grad(f->t, &y, NULL, 1, &theta, &d, 1, MO_CREATE_GRAPH), MO_OK);
            expect_near(mo_item(d), expected[order], 1e-9);
        }
    }
}

/* ---- what it costs ---- */

static void factors_are_made_in_forward_only(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 3, 4, false);
    mo_tensor *x_star = solve_cubic(f->t, f->theta, 30), *grads[2], *second[2];
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *x = mo_implicit(f->t, x_star, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before + 3);
    mo_grad(f->t, &x, NULL, 1, f->theta, grads, 2, MO_CREATE_GRAPH);
    mo_grad(f->t, grads, NULL, 2, f->theta, second, 2, MO_RETAIN);
    assert_int_equal(mo_grad(f->t, grads, NULL, 2, f->theta, second, 2, 0), MO_OK);
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before + 3);
}

/* Peak bytes of the gradient where x_star took so many iterations, and the adjoint so many. */
static int64_t peak_bytes(int newton, double tolerance, bool symmetric) {
    fixture f = {.ctx = mo_context_create(&(mo_context_options){.threads = 1})};
    mo_register_ops(f.ctx);
    f.t = mo_tape_create(f.ctx, MO_RECORD);
    draw_cubic(&f, MO_F64, 2, 40, symmetric);
    mo_implicit_options o = {
        .batch_axes = 1, .dense_limit = -1, .restart = 3, .symmetric = symmetric, .tolerance = tolerance};
    mo_tensor *x = mo_implicit(f.t, solve_cubic(f.t, f.theta, newton), cubic, f.theta, 2, &o);
    assert_int_equal(mo_backward(f.t, mo_sum(f.t, x, 0, false)), MO_OK);
    int64_t peak = mo_context_counters(f.ctx).tape_peak;
    mo_tape_release(f.t);
    mo_tensor_release(f.theta[0]);
    mo_tensor_release(f.theta[1]);
    mo_context_release(f.ctx);
    return peak;
}

static void memory_does_not_grow_with_inner_iterations(void **state) {
    (void)state;
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        int64_t few = peak_bytes(10, 1e-1, symmetric);
        assert_int_equal(peak_bytes(10, 1e-12, symmetric), few);
        assert_int_equal(peak_bytes(1000, 1e-12, symmetric), few);
    }
}

/* Item i alone, and among others. */
static void a_batch_equals_its_items(void **state) {
    fixture *f = *state;
    enum { ITEMS = 5, M = 9 };
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        draw_cubic(f, MO_F64, ITEMS, M, symmetric);
        mo_implicit_options o = {.batch_axes = 1, .dense_limit = -1, .symmetric = symmetric};
        double all[ITEMS * M], one[M];
        mo_tensor *together, *alone, *out;
        root_function(f->t, f->theta, 2, &out, 1, &o);
        mo_grad(f->t, &out, NULL, 1, &f->theta[1], &together, 1, 0);
        assert_int_equal(mo_tensor_read(together, all, sizeof all), MO_OK);
        for (int i = 0; i < ITEMS; i++) {
            mo_tensor *theta[2] = {mo_slice(f->t, f->theta[0], 0, i, i + 1),
                mo_contiguous(f->t, mo_slice(f->t, f->theta[1], 0, i, i + 1))};
            root_function(f->t, theta, 2, &out, 1, &o);
            mo_grad(f->t, &out, NULL, 1, &theta[1], &alone, 1, 0);
            assert_int_equal(mo_tensor_read(alone, one, sizeof one), MO_OK);
            for (int j = 0; j < M; j++)
                expect_near(one[j], all[i * M + j], 1e-12);
        }
        mo_tape_reset(f->t);
        mo_tensor_release(f->theta[0]);
        mo_tensor_release(f->theta[1]);
    }
    f->theta[0] = f->theta[1] = NULL;
}

/* Gradients in float32 against those in float64, by factors, GMRES and conjugate gradients. */
static void float32_is_as_good_as_its_tolerance(void **state) {
    fixture *f = *state;
    enum { ITEMS = 4, M = 8 };
    for (int method = 0; method < 3; method++) {
        double g[2][ITEMS * M];
        for (int wide = 0; wide < 2; wide++) {
            draw_cubic(f, wide ? MO_F64 : MO_F32, ITEMS, M, method == 2);
            mo_implicit_options o = {.batch_axes = 1, .dense_limit = method ? -1 : 0, .symmetric = method == 2};
            mo_tensor *x, *grad;
            root_function(f->t, f->theta, 2, &x, 1, &o);
            mo_grad(f->t, &x, NULL, 1, &f->theta[1], &grad, 1, 0);
            assert_int_equal(mo_tensor_read(mo_cast(f->t, grad, MO_F64), g[wide], sizeof g[wide]), MO_OK);
            mo_tape_reset(f->t);
            mo_tensor_release(f->theta[0]);
            mo_tensor_release(f->theta[1]);
        }
        for (int i = 0; i < ITEMS * M; i++)
            expect_near(g[0][i], g[1][i], 1e-4);
    }
    f->theta[0] = f->theta[1] = NULL;
}

/* No items, and items without unknowns. */
static void nothing_to_solve_is_fine(void **state) {
    fixture *f = *state;
    const int64_t sizes[2][2] = {{0, 3}, {3, 0}};
    for (int i = 0; i < 6; i++) {
        const int64_t *s = sizes[i % 2];
        mo_tensor *c = mo_require_grad(mo_full(f->t, MO_F64, 2, s, 1)), *grad;
        mo_implicit_options o = {.batch_axes = 1, .dense_limit = i / 2 ? -1 : 0, .symmetric = i / 2 == 2};
        o.state = &(struct test_state){2, NULL};
        mo_tensor *x = mo_implicit(f->t, mo_scale(f->t, c, 2, 0), scaled, &c, 1, &o);
        assert_int_equal(mo_grad(f->t, &x, NULL, 1, &c, &grad, 1, 0), MO_OK);
        assert_int_equal(mo_numel(grad), 0);
    }
}

static void evaluation_needs_no_factors(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F32, 2, 4, false);
    mo_tape_set_mode(f->t, MO_EVAL);
    mo_tensor *x_star = solve_cubic(f->t, f->theta, 20);
    int64_t before = mo_context_counters(f->ctx).factorizations;
    mo_tensor *x = mo_implicit(f->t, x_star, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    assert_int_equal(mo_context_counters(f->ctx).factorizations, before);
    assert_int_equal(mo_tape_mode(f->t), MO_EVAL);
    assert_false(mo_needs_grad(x));
    assert_true(mo_ok(f->ctx));
}

/* ---- errors and the report ---- */

static void expect_message(fixture *f, mo_code code, const char *part) {
    const mo_status *s = mo_context_status(f->ctx);
    assert_int_equal(s->code, code);
    if (!strstr(s->message, part))
        fail_msg("\"%s\" without \"%s\"", s->message, part);
    mo_clear_error(f->ctx);
}

static mo_tensor *misshapen(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state) {
    return mo_sum(t, cubic(t, x, theta, n, state), 1u, false);
}

static void bad_problems_are_named(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 2, 3, false);
    mo_tensor *x = solve_cubic(f->t, f->theta, 30), *far = mo_scale(f->t, x, 1, 1), *g;
    mo_implicit(f->t, x, misshapen, f->theta, 2, NULL);
    expect_message(f, MO_INVALID, "implicit: the residual is [3] float64, expected [2, 3] float64 like x_star");
    mo_implicit(f->t, far, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 1});
    expect_message(f, MO_NUMERICAL, "implicit: x_star is no solution: |F| / max(1, |x_star|) is ");
    mo_implicit(f->t, x, cubic, f->theta, 2, &(mo_implicit_options){.batch_axes = 3});
    expect_message(f, MO_INVALID, "implicit: 3 batch axes, expected 0 to 2");
    mo_implicit(f->t, x, cubic, f->theta, 13, NULL);
    expect_message(f, MO_INVALID, "implicit: 13 tensors theta, expected 0 to 12");
    mo_tensor *zero = mo_scalar(f->t, MO_F64, 0), *theta = mo_require_grad(mo_scalar(f->t, MO_F64, 0));
    mo_implicit(f->t, zero, cube, &theta, 1, NULL); /* 3 x^2 at 0 */
    expect_message(f, MO_NUMERICAL, "implicit: the Jacobian dF/dx is singular to working precision");
    mo_tensor *y = mo_implicit(f->t, zero, cube, &theta, 1, &(mo_implicit_options){.dense_limit = -1});
    mo_grad(f->t, &y, NULL, 1, &theta, &g, 1, 0);
    expect_message(f, MO_NUMERICAL, "implicit_solve: GMRES stand at a relative residual of 1 after");
}

static void a_miss_can_be_a_report(void **state) {
    fixture *f = *state;
    draw_cubic(f, MO_F64, 2, 9, false);
    mo_implicit_report report = {0};
    mo_implicit_options o = {.batch_axes = 1, .dense_limit = -1, .iterations = 2, .accept = true, .report = &report};
    mo_tensor *x = mo_implicit(f->t, solve_cubic(f->t, f->theta, 30), cubic, f->theta, 2, &o);
    assert_false(report.missed);
    assert_true(report.residual < 1e-12);
    assert_int_equal(mo_backward(f->t, mo_sum(f->t, x, 0, false)), MO_OK);
    assert_true(report.missed);
    assert_int_equal(report.iterations, 2);
    assert_int_equal(report.systems, 1);
    assert_true(report.adjoint_residual > 1e-9 && report.adjoint_residual < 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(factors_give_first_and_second_derivatives),
        TEST(a_given_jacobian_gives_the_same),
        TEST(gmres_gives_first_and_second_derivatives),
        TEST(gmres_restarts),
        TEST(conjugate_gradients_give_first_and_second_derivatives),
        TEST(third_derivative_of_a_cube_root),
        TEST(state_may_go_once_it_was_copied),
        TEST(factors_are_made_in_forward_only),
        TEST(memory_does_not_grow_with_inner_iterations),
        TEST(a_batch_equals_its_items),
        TEST(float32_is_as_good_as_its_tolerance),
        TEST(nothing_to_solve_is_fine),
        TEST(evaluation_needs_no_factors),
        TEST(bad_problems_are_named),
        TEST(a_miss_can_be_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
