/* tests/ops/test_ops_gradient.c - every registered op has the gradients that it declares, at orders one and two, and
 * computes them without another factorization. */
#include "tests/op_runs.h"

TEST(every_op_has_the_derivatives_it_claims) {
    HELD(mo_context) *ctx = op_context(1);
    double worst = 0;
    int failed = 0, samples = 0;
    for (int i = 0; i < mo_n_ops(ctx); i++) {
        const mo_op *op = mo_op_at(ctx, i);
        mo_check_result r = mo_check_op(ctx, op, 2, 2024);
        if (!r.pass) {
            print_error("%s: error %.3g; %s\n", op->name, r.error, r.worst);
            failed++;
        }
        worst = r.error > worst ? r.error : worst;
        samples += r.samples;
        assert_true(mo_ok(ctx));
    }
    print_message("%d ops, %d samples, worst error %.2g\n", mo_n_ops(ctx), samples, worst);
    assert_int_equal(failed, 0);
}

/* Runs forward, the gradient with a graph, and the gradient of that: only forward may factorize. */
static void backward_without_factorizing(op_case *c) {
    mo_tensor *out[MO_MAX_OUTPUTS], *gs[MO_MAX_OUTPUTS], *xs[MO_MAX_INPUTS], *first[MO_MAX_INPUTS];
    mo_tensor *second[MO_MAX_INPUTS];
    int nx = 0;
    HELD(mo_tape) *t = mo_tape_create(c->ctx, MO_RECORD);
    for (int i = 0; i < c->sample.n_in; i++)
        if (mo_needs_grad(c->in[i]))
            xs[nx++] = c->in[i];
    mo_apply_all(t, c->op, c->in, c->sample.n_in, op_case_attributes(c), out);
    assert_case_fine(c);
    op_cotangents(c, out, gs);
    int64_t before = mo_context_counters(c->ctx).factorizations;
    if (c->op->vjp && nx) {
        mo_grad(t, out, gs, mo_op_outputs(c->op), xs, first, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED);
        mo_grad(t, first, NULL, nx, xs, second, nx, MO_ALLOW_UNUSED);
    }
    assert_case_fine(c);
    if (mo_context_counters(c->ctx).factorizations != before)
        fail_msg("%s: backward factorized", op_case_name(c));
    for (int i = 0; i < mo_op_outputs(c->op); i++)
        mo_tensor_release(gs[i]);
}

TEST(no_backward_factorizes) {
    for_each_case(MO_F64, backward_without_factorizing);
    for_each_case(MO_F32, backward_without_factorizing);
}

TEST(solve_spd_factorizes_each_matrix_once) {
    HELD(mo_context) *ctx = op_context(1);
    const mo_op *op = mo_find_op(ctx, "solve_spd");
    for (int k = 0; k < mo_n_samples(op); k++) {
        op_sample s = op_sample_of(ctx, op, k);
        op_case c = op_case_open(ctx, op, &s, MO_F64);
        int64_t matrices = 1, before = mo_context_counters(ctx).factorizations;
        for (int i = 0; i < c.in[0]->ndim - 2; i++)
            matrices *= c.in[0]->shape[i];
        backward_without_factorizing(&c);
        assert_int_equal(mo_context_counters(ctx).factorizations - before, matrices);
        op_case_close(&c);
    }
}

static int sets; /* number of inputs checked */

/* A symmetric matrix must have a symmetric gradient, a triangle one that is 0 outside: steps along it stay in the set.
 * Exempt is implicit_solve, whose matrix is the user's own graph code. */
static void check_set_of_gradients(op_case *c) {
    if (!strcmp(c->op->name, "implicit_solve"))
        return;
    op_result r = op_case_plain(c);
    for (int i = 0; i < c->sample.n_in; i++) {
        const mo_sample_input *in = &c->sample.in[i];
        bool symmetric = in->draw == MO_DRAW_SPD || in->draw == MO_DRAW_SYMMETRIC;
        if (r.grad[i].n <= 0 || (!symmetric && in->draw != MO_DRAW_TRIANGULAR))
            continue;
        int64_t n = in->shape[in->ndim - 1];
        sets++;
        for (int64_t k = 0; k < r.grad[i].n; k++) {
            int64_t row = k / n % n, column = k % n, mirror = k - row * n - column + column * n + row;
            double expected = symmetric ? r.grad[i].x[mirror] : column > row ? 0 : r.grad[i].x[k];
            if (!(fabs(r.grad[i].x[k] - expected) <= 1e-12))
                fail_msg("%s: the gradient of input %d at [%lld, %lld] is %.17g, expected %.17g", op_case_name(c), i,
                    (long long)row, (long long)column, r.grad[i].x[k], expected);
        }
    }
}

TEST(gradients_keep_to_the_set_of_their_input) {
    for_each_case(MO_F64, check_set_of_gradients);
    print_message("%d symmetric and triangular inputs\n", sets);
    assert_true(sets >= 10);
}

TEST(ops_without_samples_are_refused) {
    HELD(mo_context) *ctx = op_context(1);
    const mo_op *add = mo_find_op(ctx, "add");
    mo_op bare = *add;
    bare.name = "bare";
    bare.n_samples = 0;
    assert_int_equal(mo_register_op(ctx, &bare), MO_INVALID);
    assert_failed(ctx, MO_INVALID, PARTS("op bare has no samples"));
    assert_null(mo_find_op(ctx, "bare"));
    assert_int_equal(mo_register_op(ctx, add), MO_INVALID);
    assert_failed(ctx, MO_INVALID, PARTS("an op named add already"));
}
