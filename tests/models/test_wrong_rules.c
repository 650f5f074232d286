/* tests/models/test_wrong_rules.c - the checkers of ops and heads, at their defaults, find planted mistakes, and pass
 * the right rule. */
#include "tensor/objects.h"
#include "tests/scratch.h"

/* ---- forwards, as graph code ---- */

static void write_output(mo_call *c, int i, mo_tensor *Y) {
    mo_view from = mo_tensor_view(Y), to = mo_tensor_view(c->out[i]);
    if (mo_ok(c->ctx))
        c->ctx->backend->copy(c->ctx, &from, &to);
}

/* Returns input i as data, without a gradient. */
static mo_tensor *data(mo_call *c, int i) {
    return mo_stop_gradient(c->t, c->in[i]);
}

static bool like_first(mo_call *c) {
    const mo_tensor *X = c->in[0];
    bool fine = mo_call_real(c, 0, 0);
    for (int i = 0; i < c->n_out && fine; i++)
        fine = mo_call_output(c, i, X->dtype, X->ndim, X->shape);
    return fine;
}

extern const mo_op mo_op_exp, mo_op_gather_rows, mo_op_matmul;

/* An op except for its rule, and except for the values that the rule reads. */
typedef struct family {
    const mo_op *library; /* the op with this forward; NULL: the op that follows */
    const char *name;
    int n_in, n_out;
    bool (*shape)(mo_call *c);
    void (*forward)(mo_call *c);
    mo_sample sample;
} family;

/* Where a rule has a wrong factor. */
enum place { EVERYWHERE, WITH_GRAPH, IN_BATCH, IN_FLOAT32, IF_OBLONG };

typedef struct rule {
    const char *mistake; /* NULL: none */
    const family *of;
    void (*vjp)(mo_vjp *v);
    uint64_t reads_in;
    unsigned reads_out;
    const char *part; /* part of the checker's message; or NULL */
    double factor;    /* of rules with a wrong factor */
    enum place where;
    bool (*adjoint)(mo_vjp *v);
} rule;

/* ---- Y = X^3 ---- */

static void cube_forward(mo_call *c) {
    mo_tensor *X = data(c, 0);
    write_output(c, 0, mo_mul(c->t, mo_square(c->t, X), X));
}

static void cube_right(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, mo_square(v->t, v->in[0]), 3, 0));
}

static void cube_times(mo_vjp *v) {
    const rule *r = v->op->state;
    const mo_tensor *X = v->in[0];
    const bool here[] = {true, v->create_graph, X->ndim == 3, X->dtype == MO_F32, mo_dim(X, -1) != mo_dim(X, -2)};
    cube_right(v);
    if (here[r->where])
        v->in_bar[0] = mo_scale(v->t, v->in_bar[0], r->factor, 0);
}

static bool cube_adjoint(mo_vjp *v) {
    cube_times(v);
    return true;
}

static bool cube_no_adjoint(mo_vjp *v) {
    (void)v;
    return false;
}

static void cube_power(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, v->in[0], 3, 0));
}

static void cube_nothing(mo_vjp *v) {
    v->in_bar[0] = NULL;
}

/* Right at order 1, but one of two factors X is data, so order 2 lacks half of the derivative. */
static void cube_cut_input(mo_vjp *v) {
    mo_tensor *X = mo_stop_gradient(v->t, v->in[0]);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, mo_mul(v->t, v->in[0], X), 3, 0));
}

static void cube_cut_cotangent(mo_vjp *v) {
    mo_tensor *Y_bar = mo_stop_gradient(v->t, v->out_bar[0]);
    v->in_bar[0] = mo_mul(v->t, Y_bar, mo_scale(v->t, mo_square(v->t, v->in[0]), 3, 0));
}

static void cube_second_order_wrong_in_batch(mo_vjp *v) {
    v->in[0]->ndim == 3 ? cube_cut_input(v) : cube_right(v);
}

/* Doubles one entry of many. */
static void cube_one_entry(mo_vjp *v) {
    mo_tensor *X = v->in[0],
              *one = mo_pad(v->t, mo_full(v->t, X->dtype, 1, (int64_t[]){1}, 1), MO_AXIS(0), 7, X->shape[0] - 8);
    cube_right(v);
    v->in_bar[0] = mo_add(v->t, v->in_bar[0], mo_mul(v->t, v->in_bar[0], one));
}

/* The rule below reads the X of the last forward, which can be another call's. */
static double last_call[64];

static void stateful_forward(mo_call *c) {
    cube_forward(c);
    if (c->in[0]->dtype == MO_F64)
        mo_tensor_read(c->in[0], last_call, (size_t)mo_numel(c->in[0]) * sizeof *last_call);
}

static void cube_stateful(mo_vjp *v) {
    mo_tensor *X = mo_from(v->t, MO_F64, v->in[0]->ndim, v->in[0]->shape, last_call);
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, mo_square(v->t, X), 3, 0));
}

/* Saves an input that the op does not declare to read. */
static void saving_forward(mo_call *c) {
    cube_forward(c);
    mo_call_save(c, c->in[0]);
}

static void cube_of_saved(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], mo_scale(v->t, mo_square(v->t, v->saved[0]), 3, 0));
}

/* ---- Y = exp X, by its output ---- */

static void exp_right(mo_vjp *v) {
    v->in_bar[0] = mo_mul(v->t, v->out_bar[0], v->out[0]);
}

/* ---- Y = 1e-7 X ---- */

static void small_forward(mo_call *c) {
    write_output(c, 0, mo_scale(c->t, data(c, 0), 1e-7, 0));
}

static void small_right(mo_vjp *v) {
    v->in_bar[0] = mo_scale(v->t, v->out_bar[0], 1e-7, 0);
}

static void small_factor(mo_vjp *v) {
    v->in_bar[0] = mo_scale(v->t, v->out_bar[0], 2e-7, 0);
}

/* ---- C = A B ---- */

static mo_tensor *A_bar(mo_vjp *v) {
    mo_tensor *each = mo_matmul(v->t, v->out_bar[0], mo_transpose(v->t, v->in[1]));
    return mo_sum_to(v->t, each, v->in[0]->ndim, v->in[0]->shape);
}

static mo_tensor *B_bar(mo_vjp *v) {
    mo_tensor *each = mo_matmul(v->t, mo_transpose(v->t, v->in[0]), v->out_bar[0]);
    return mo_sum_to(v->t, each, v->in[1]->ndim, v->in[1]->shape);
}

static void product_right(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = A_bar(v);
    if (v->needs[1])
        v->in_bar[1] = B_bar(v);
}

static void product_not_transposed(mo_vjp *v) {
    product_right(v);
    if (v->needs[1])
        v->in_bar[1] = mo_sum_to(v->t, mo_matmul(v->t, v->in[0], v->out_bar[0]), v->in[1]->ndim, v->in[1]->shape);
}

static void product_forgotten_input(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = A_bar(v);
}

static void product_needs_slip(mo_vjp *v) {
    if (v->needs[0]) {
        v->in_bar[0] = A_bar(v);
        v->in_bar[1] = B_bar(v);
    }
}

static void product_needs_both(mo_vjp *v) {
    if (v->needs[0] && v->needs[1])
        product_right(v);
}

static void product_needs_wrong_alone(mo_vjp *v) {
    product_right(v);
    if (!v->needs[0])
        v->in_bar[1] = mo_scale(v->t, v->in_bar[1], 2, 0);
}

/* If only A has batch axes, B_bar is the mean over the batch instead of the sum. */
static void product_mean_over_batch(mo_vjp *v) {
    product_right(v);
    if (v->needs[1] && v->in[0]->ndim > v->in[1]->ndim)
        v->in_bar[1] = mo_scale(v->t, v->in_bar[1], 0.5, 0);
}

/* ---- Y_0 = 1e6 X, Y_1 = X^2 ---- */

static void two_forward(mo_call *c) {
    write_output(c, 0, mo_scale(c->t, data(c, 0), 1e6, 0));
    write_output(c, 1, mo_square(c->t, data(c, 0)));
}

static mo_tensor *two_adjoint(mo_vjp *v, double second) {
    mo_tensor *first = v->out_bar[0] ? mo_scale(v->t, v->out_bar[0], 1e6, 0) : NULL;
    mo_tensor *other = v->out_bar[1] ? mo_mul(v->t, v->out_bar[1], mo_scale(v->t, v->in[0], second, 0)) : NULL;
    return first && other ? mo_add(v->t, first, other) : first ? first : other;
}

static void two_right(mo_vjp *v) {
    v->in_bar[0] = two_adjoint(v, 2);
}

static void two_small_one_wrong(mo_vjp *v) {
    v->in_bar[0] = two_adjoint(v, 2 + 1e-4);
}

static void two_only_together(mo_vjp *v) {
    if (v->out_bar[0] && v->out_bar[1])
        v->in_bar[0] = two_adjoint(v, 2);
}

static void two_second_forgotten(mo_vjp *v) {
    if (v->out_bar[0])
        v->in_bar[0] = mo_scale(v->t, v->out_bar[0], 1e6, 0);
}

/* ---- y = x^T A x ---- */

static bool form_shape(mo_call *c) {
    const mo_tensor *A = c->in[0], *x = c->in[1];
    if (!mo_call_real(c, 0, 1) || A->ndim != 2 || x->ndim != 2 || mo_dim(x, 1) != 1 || mo_dim(A, 0) != mo_dim(A, 1) ||
        mo_dim(A, 0) != mo_dim(x, 0))
        return mo_call_fail(c, MO_INVALID, "expected A [n, n] and x [n, 1]");
    return mo_call_output(c, 0, A->dtype, 2, (int64_t[]){1, 1});
}

static void form_forward(mo_call *c) {
    mo_tensor *x = data(c, 1);
    write_output(c, 0, mo_matmul(c->t, mo_transpose(c->t, x), mo_matmul(c->t, data(c, 0), x)));
}

static void form_rule(mo_vjp *v, bool whole) {
    mo_tape *t = v->t;
    mo_tensor *A = v->in[0], *x = v->in[1], *y_bar = v->out_bar[0];
    mo_tensor *left = mo_matmul(t, A, x), *right = whole ? mo_matmul(t, mo_transpose(t, A), x) : left;
    v->in_bar[0] = mo_mul(t, mo_matmul(t, x, mo_transpose(t, x)), y_bar);
    v->in_bar[1] = mo_mul(t, mo_add(t, left, right), y_bar);
}

static void form_right(mo_vjp *v) {
    form_rule(v, true);
}

/* 2 A x instead of (A + A^T) x. */
static void form_half(mo_vjp *v) {
    form_rule(v, false);
}

/* ---- Y = the rows of X that an index names ---- */

/* Right; it reads only the shape of X. */
static void rows_right(mo_vjp *v) {
    v->in_bar[0] = mo_scatter_add_rows(v->t, v->out_bar[0], v->in[1], mo_dim(v->in[0], 0));
}

/* ---- the table of ops ---- */

static const family cube = {NULL, "cube", 1, 1, like_first, cube_forward, {.name = "square", .in = "[3, 3]"}};
static const family long_cube = {NULL, "long cube", 1, 1, like_first, cube_forward, {.name = "long", .in = "[20000]"}};
static const family stateful = {
    NULL, "stateful cube", 1, 1, like_first, stateful_forward, {.name = "vector", .in = "[5]"}};
static const family saving = {NULL, "saving cube", 1, 1, like_first, saving_forward, {.name = "vector", .in = "[5]"}};
static const family exponential = {&mo_op_exp, .sample = {.name = "vector", .in = "[5]"}};
static const family small = {NULL, "small", 1, 1, like_first, small_forward, {.name = "vector", .in = "[5]"}};
static const family product = {&mo_op_matmul, .sample = {.name = "square", .in = "[3, 3] [3, 3]"}};
static const family two = {NULL, "two", 1, 2, like_first, two_forward, {.name = "vector", .in = "[5]"}};
static const family form = {NULL, "form", 2, 1, form_shape, form_forward, {.name = "three", .in = "[3, 3] [3, 1]"}};
static const family rows = {&mo_op_gather_rows, .sample = {.name = "picked", .in = "[4, 3] index<4>[6]"}};

static const rule rules[] = {
    {NULL, &cube, cube_right, 1, 0, NULL},
    {NULL, &cube, cube_right, 1, 0, NULL, 1, EVERYWHERE, cube_adjoint},
    {NULL, &cube, cube_right, 1, 0, NULL, 1, EVERYWHERE, cube_no_adjoint},
    {"a factor of the adjoint", &cube, cube_right, 1, 0, "no other input needs a gradient than 0", 1 + 1e-5, EVERYWHERE,
        cube_adjoint},
    {"a factor of the adjoint of a batch", &cube, cube_right, 1, 0, NULL, 1.1, IN_BATCH, cube_adjoint},
    {"a factor of the adjoint in float32", &cube, cube_right, 1, 0, NULL, 1.1, IN_FLOAT32, cube_adjoint},
    {"an adjoint, right, beside a wrong vjp", &cube, cube_power, 1, 0, NULL, 1, EVERYWHERE, cube_adjoint},
    {"an adjoint that reads X, undeclared", &cube, cube_nothing, 0, 0, NULL, 1, EVERYWHERE, cube_adjoint},
    {"a factor of 1 + 1e-5", &cube, cube_times, 1, 0, "input 0: vjp", 1 + 1e-5, EVERYWHERE},
    {"the sign", &cube, cube_times, 1, 0, NULL, -1, EVERYWHERE},
    {"the power", &cube, cube_power, 1, 0, NULL},
    {"nothing", &cube, cube_nothing, 1, 0, "input 0: vjp 0,"},
    {"the derivative in X is cut", &cube, cube_cut_input, 1, 0, "order 2"},
    {"the derivative in the cotangent is cut", &cube, cube_cut_cotangent, 1, 0, "order 2"},
    {"a factor where a graph is created", &cube, cube_times, 1, 0, NULL, 2, WITH_GRAPH},
    {"a factor in a batch", &cube, cube_times, 1, 0, "two in a batch", 0.5, IN_BATCH},
    {"a derivative that is cut in a batch", &cube, cube_second_order_wrong_in_batch, 1, 0, "two in a batch"},
    {"a factor in float32", &cube, cube_times, 1, 0, "float32", 2, IN_FLOAT32},
    {"a factor unless the matrix is square", &cube, cube_times, 1, 0, "without the last column", 2, IF_OBLONG},
    {"undeclared input", &cube, cube_right, 0, 0, "input 0, which reads_in does not declare"},
    {NULL, &long_cube, cube_right, 1, 0, NULL},
    {"one entry of 20000", &long_cube, cube_one_entry, 1, 0, NULL},
    {NULL, &stateful, cube_right, 1, 0, NULL},
    {"a value of another call", &stateful, cube_stateful, 1, 0, "after another call"},
    {"an undeclared input that was saved", &saving, cube_of_saved, 0, 0, "input 0, which reads_in does not declare"},
    {NULL, &exponential, exp_right, 0, 1, NULL},
    {"undeclared output", &exponential, exp_right, 1, 0, "output 0, which reads_out does not declare"},
    {NULL, &small, small_right, 0, 0, NULL},
    {"a factor of a small derivative", &small, small_factor, 0, 0, NULL},
    {NULL, &product, product_right, 3, 0, NULL},
    {"a transpose", &product, product_not_transposed, 3, 0, "input 1"},
    {"a forgotten input", &product, product_forgotten_input, 3, 0, "input 1: vjp 0,"},
    {"needs[0] for needs[1]", &product, product_needs_slip, 3, 0, "no other input needs a gradient than 1:"},
    {"where both are needed alone", &product, product_needs_both, 3, 0, "no other input needs a gradient than"},
    {"a factor where A needs none", &product, product_needs_wrong_alone, 3, 0,
        "no other input needs a gradient than 1:"},
    {"undeclared B", &product, product_right, 1, 0, "input 1, which reads_in does not declare"},
    {"the mean over a batch", &product, product_mean_over_batch, 3, 0, "two in a batch"},
    {NULL, &two, two_right, 1, 0, NULL},
    {"1e-4 of the smaller output", &two, two_small_one_wrong, 1, 0, NULL},
    {"only where both have a cotangent", &two, two_only_together, 1, 0, NULL},
    {"a forgotten output", &two, two_second_forgotten, 1, 0, NULL},
    {NULL, &form, form_right, 3, 0, NULL},
    {"half of the terms", &form, form_half, 3, 0, "input 1"},
    {NULL, &rows, rows_right, 2, 0, NULL},
    {"an undeclared index", &rows, rows_right, 0, 0, "input 1, which reads_in does not declare"},
};

static mo_op op_of(const rule *r) {
    const family *f = r->of;
    mo_op op = {
        .name = f->name, .n_in = f->n_in, .n_out = f->n_out, .shape = f->shape, .forward = f->forward, .state = r};
    if (f->library)
        op = *f->library;
    op.reads_in = r->reads_in;
    op.reads_out = r->reads_out;
    op.vjp = r->vjp;
    op.adjoint = r->adjoint;
    op.samples = &f->sample;
    op.n_samples = 1;
    return op;
}

TEST_OF(wrong_rules_of_ops_are_caught, mo_context *ctx) {
    int failed = 0, wrong = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            mo_op op = op_of(&rules[i]);
            mo_check_result r = mo_check_op(ctx, &op, 2, seed);
            bool named = !rules[i].part || strstr(r.worst, rules[i].part);
            wrong += rules[i].mistake && !seed;
            if (r.pass == !rules[i].mistake && (r.pass || named) && mo_ok(ctx))
                continue;
            print_error("%s, %s, seed %d: %s, error %g: %s\n", op.name, rules[i].mistake ? rules[i].mistake : "right",
                (int)seed, r.pass ? "pass" : "FAIL", r.error, r.worst);
            failed++;
        }
    print_message("%d wrong rules of ops\n", wrong);
    assert_int_equal(failed, 0);
}

TEST_OF(an_op_of_which_nothing_is_differentiated_fails, mo_context *ctx) {
    rule r = rules[0];
    family f = cube;
    f.sample.in = "constant[3, 3]";
    r.of = &f;
    mo_op op = op_of(&r);
    mo_check_result c = mo_check_op(ctx, &op, 2, 0);
    assert_false(c.pass);
    assert_non_null(strstr(c.worst, "nothing was compared"));
}

/* Order 0 compares <J v, w> with <v, J^T w>. A rule that takes the cotangent as data has no jvp. */
TEST_OF(the_certificate_sees_a_lost_cotangent, mo_context *ctx) {
    mo_op right = op_of(&(rule){NULL, &cube, cube_right, 1, 0, NULL}),
          cut = op_of(&(rule){"cut", &cube, cube_cut_cotangent, 1, 0, NULL});
    expect_pass(mo_check_op(ctx, &right, 0, 1));
    expect_pass(mo_check_op(ctx, &cut, 1, 1));
    mo_check_result r = mo_check_op(ctx, &cut, 0, 1);
    assert_false(r.pass);
    assert_non_null(strstr(r.worst, "sample \"square\", <J v, w> 0, <v, J^T w> "));
}

/* Samples that the op refuses, then those that cannot be read; then none. */
TEST_OF(samples_of_no_use_are_failures_by_name, mo_context *ctx) {
    static const char refused[] = "sample \"square\": matmul: ", unread[] = "op matmul, sample square: expected ";
    static const struct {
        const char *in, *message;
    } wrong[] = {{"[3, 3] [4, 3]", "sample \"square\": matmul: "}, {NULL, refused}, {"[3, 4", unread}, {"3 4", unread},
        {"cube[3]", unread}, {"index<7[3]", unread}, {"[3, x]", unread}, {"[-1]", unread}, {"[3];", unread},
        {"spd", unread}, {"[1, 1, 1, 1, 1, 1, 1, 1, 1]", unread}};
    mo_op op = op_of(&(rule){NULL, &product, product_right, 3, 0, NULL});
    mo_sample s = product.sample;
    op.samples = &s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s.in = wrong[i].in;
        mo_check_result r = mo_check_op(ctx, &op, 1, 1);
        bool named = wrong[i].message != unread || strstr(r.worst, s.in);
        if (r.pass || !named || !strstr(r.worst, wrong[i].message))
            fail_msg("%s: %s", s.in, r.worst);
        assert_true(mo_ok(ctx));
    }
    op.n_samples = 0;
    assert_false(mo_check_op(ctx, &op, 1, 1).pass);
}

/* ---- heads ---- */

/* Returns the values of X with a gradient that is a times the right one. */
static mo_tensor *tilted(mo_tape *t, mo_tensor *X, double a) {
    mo_tensor *value = mo_stop_gradient(t, X);
    return mo_add(t, value, mo_scale(t, mo_sub(t, X, value), a, 0));
}

/* The mistakes of the head `means`; planted: the one that it makes. */
enum { NONE, TWICE, NO_SUPPORT, NO_LABELS, QUERY_SIGN, RIGHT_AT_ONE };
enum { HALF_IN_BATCH = RIGHT_AT_ONE + 1, LAST_CLASS, SECOND_DERIVATIVE, NO_LOGITS, ACROSS_EPISODES };
static int planted;

/* Returns inner products of the queries with the sums of the classes, times lambda^2. */
static mo_tensor *means(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *lambda = parameters[0], *value = mo_stop_gradient(t, lambda), *square = mo_square(t, lambda);
    if (planted == NO_SUPPORT)
        Zs = mo_stop_gradient(t, Zs);
    if (planted == HALF_IN_BATCH && mo_ndim(Zs) == 3)
        Zs = tilted(t, Zs, 0.5);
    if (planted == NO_LABELS)
        Ys = mo_stop_gradient(t, Ys);
    if (planted == QUERY_SIGN)
        Zq = tilted(t, Zq, -1);
    if (planted == SECOND_DERIVATIVE) /* (Zq - Zq)^2, one Zq as data: value and first derivative are 0 */
        Zq = mo_add(t, Zq, mo_square(t, mo_sub(t, Zq, mo_stop_gradient(t, Zq))));
    if (planted == ACROSS_EPISODES) /* less the mean over the whole batch */
        Zq = mo_sub(t, Zq, mo_mean(t, Zq, MO_ALL, MO_DROP_AXES));
    if (planted == RIGHT_AT_ONE) /* the derivative is 2 instead of 2 lambda */
        square = mo_add(t, mo_square(t, value), mo_scale(t, mo_sub(t, lambda, value), 2, 0));
    mo_tensor *P = mo_matmul(t, mo_transpose(t, Ys), Zs), *L = mo_mul(t, mo_matmul(t, Zq, mo_transpose(t, P)), square);
    if (planted == TWICE)
        return tilted(t, L, 2);
    if (planted == LAST_CLASS) {
        int axis = mo_ndim(L) - 1;
        mo_tensor *first = mo_slice(t, L, MO_AXIS(axis), 0, mo_dim(L, axis) - 1);
        mo_tensor *last = tilted(t, mo_slice(t, L, MO_AXIS(axis), mo_dim(L, axis) - 1, mo_dim(L, axis)), 1.001);
        return mo_concat(t, (mo_tensor *[]){first, last}, 2, MO_AXIS(axis));
    }
    return planted == NO_LOGITS ? NULL : L;
}

static mo_tensor *ridge_like(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_tensor *X = mo_append_ones(t, Zs), *R = mo_sub(t, mo_matmul(t, X, W), Ys);
    return mo_add(t, mo_matmul(t, mo_transpose(t, X), R), mo_mul(t, W, parameters[0]));
}

/* The residual has no derivative in the support. */
static mo_tensor *ridge_cut(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    return ridge_like(t, W, mo_stop_gradient(t, Zs), Ys, parameters);
}

/* The root of another F than the head declares: dF/dW is not symmetric. */
static mo_tensor *triangular_system(
    mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameters) {
    mo_tensor *X = mo_append_ones(t, Zs), *gram = mo_matmul(t, mo_transpose(t, X), X);
    mo_tensor *b = mo_matmul(t, mo_transpose(t, X), Ys);
    return mo_sub(t, mo_add(t, mo_matmul(t, mo_triu(t, gram), W), mo_mul(t, W, parameters[0])), b);
}

static void fit_without_gradient(mo_tape *t, const mo_support *s, mo_tensor *const *parameters, mo_state *state) {
    mo_support cut = *s;
    cut.Zs = s->weight ? mo_stop_gradient(t, s->Zs) : s->Zs;
    mo_head_mixture.fit(t, &cut, parameters, state);
}

static const mo_head_parameter lambda = {.name = "lambda", .value = 1};
static const mo_head_sample alone = {.support = 5, .queries = 3, .dim = 4, .classes = 3};

static const struct {
    const char *mistake;
    int planted;
    mo_head_residual residual; /* instead of logits; or NULL */
    const char *part;          /* part of the checker's message; or NULL */
} heads[] = {
    {NULL, NONE, NULL, NULL},
    {"twice too large", TWICE, NULL, NULL},
    {"no gradient to the support", NO_SUPPORT, NULL, "input 0"},
    {"no gradient to the labels", NO_LABELS, NULL, NULL},
    {"the sign of the queries", QUERY_SIGN, NULL, NULL},
    {"right where lambda is 1", RIGHT_AT_ONE, NULL, NULL},
    {"half in a batch", HALF_IN_BATCH, NULL, NULL},
    {"a thousandth of the last class", LAST_CLASS, NULL, NULL},
    {"a second derivative that the logits do not have", SECOND_DERIVATIVE, NULL, NULL},
    {NULL, NONE, ridge_like, NULL},
    {"a residual that forgets the support", NONE, ridge_cut, NULL},
    {"a derivative that is not symmetric", NONE, triangular_system, "is declared symmetric"},
    {"no logits", NO_LOGITS, NULL, "returned no tensor"},
    {"the mean of a batch", ACROSS_EPISODES, NULL, "logits of a batch differ"},
};

/* Checks with the checker's own samples, and with a sample that is not a batch. */
TEST_OF(wrong_heads_are_caught, mo_context *ctx) {
    int failed = 0;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (int samples = 0; samples < 2; samples++) {
            mo_head head = {.abi = MO_HEAD_ABI,
                .size = sizeof head,
                .name = "planted",
                .n_parameters = 1,
                .parameters = &lambda,
                .logits = heads[i].residual ? NULL : means,
                .residual = heads[i].residual,
                .symmetric = true,
                .order = 2,
                .n_samples = samples,
                .samples = samples ? &alone : NULL};
            planted = heads[i].planted;
            mo_check_result r = mo_check_head(ctx, &head, 2, 0);
            bool named = samples || !heads[i].part || strstr(r.worst, heads[i].part);
            if ((samples && planted == ACROSS_EPISODES) || (r.pass == !heads[i].mistake && named && mo_ok(ctx)))
                continue; /* the mean of a batch of one episode is its own */
            print_error("%s: %s, error %g: %s\n", heads[i].mistake ? heads[i].mistake : "right",
                r.pass ? "pass" : "FAIL", r.error, r.worst);
            failed++;
        }
    mo_head weighted = mo_head_mixture;
    weighted.fit = fit_without_gradient;
    mo_check_result r = mo_check_head(ctx, &weighted, 1, 0);
    assert_true(!r.pass && strstr(r.worst, "input 0") && mo_ok(ctx));
    assert_int_equal(failed, 0);
}

/* ---- graph code at inputs that hide a mistake ---- */

/* Y = X^3; state: the op, whose rule can be wrong. */
static void op_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    out[0] = mo_apply(t, state, in, n_in, NULL);
}

static void expect_caught(mo_context *ctx, const rule *r, mo_tensor *const *in, bool caught) {
    mo_op op = op_of(r);
    mo_check_result c = mo_check_function(ctx, op_function, &op, in, op.n_in, 1, 2, 1e-5, 0);
    if (c.pass == caught)
        fail_msg("%s, %s: %s, error %g: %s", op.name, r->mistake ? r->mistake : "right", c.pass ? "pass" : "FAIL",
            c.error, c.worst);
}

TEST_OF(special_inputs_hide_nothing, mo_context *ctx) {
    double one[9], nothing[9] = {0}, unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, x[3] = {1, 2, 3};
    for (int i = 0; i < 9; i++)
        one[i] = 1;
    const double *values[] = {one, nothing, unit};
    const rule power = {"the power", &cube, cube_power, 1, 0, NULL}, right = {NULL, &cube, cube_right, 1, 0, NULL};
    const rule half = {"half", &form, form_half, 3, 0, NULL}, whole = {NULL, &form, form_right, 3, 0, NULL};
    for (int i = 0; i < 3; i++) {
        HELD(leaves) in = {{mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){3, 3}, values[i])),
            mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){3, 1}, x))}};
        expect_caught(ctx, &right, in.of, false);
        expect_caught(ctx, &power, in.of, true);
        expect_caught(ctx, &whole, in.of, false);
        expect_caught(ctx, &half, in.of, true);
        double after[9];
        mo_tensor_read(in.of[0], after, sizeof after);
        assert_memory_equal(after, values[i], sizeof after);
        assert_true(mo_needs_grad(in.of[0]) && mo_needs_grad(in.of[1]));
    }
}

/* y = x x' x, where the first x is data if *state. */
static void cubic(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    assert_int_equal(n_in + n_out, 3);
    mo_tensor *x = *(bool *)state ? mo_stop_gradient(t, in[0]) : in[0];
    out[0] = mo_mul(t, mo_mul(t, x, in[1]), in[0]);
}

TEST_OF(functions_are_checked_like_ops, mo_context *ctx) {
    const double x[] = {2, 3, -1, 0.5};
    HELD(leaves) in = {{mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){2}, x)),
        mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){2}, x + 2))}};
    bool cut = false;
    for (int order = 0; order <= 2; order++)
        expect_pass(mo_check_function(ctx, cubic, &cut, in.of, 2, 1, order, 1e-7, 5));
    cut = true;
    mo_check_result r = mo_check_function(ctx, cubic, &cut, in.of, 2, 1, 1, 1e-7, 5);
    assert_false(r.pass);
    assert_non_null(strstr(r.worst, "input 0"));
    /* jvp and vjp have the same wrong Jacobian, so the certificate, which compares them, passes */
    expect_pass(mo_check_function(ctx, cubic, &cut, in.of, 2, 1, 0, 1e-10, 5));
}

TEST_OF(functions_are_checked_where_few_inputs_need_gradients, mo_context *ctx) {
    const rule right = {NULL, &product, product_right, 3, 0, NULL},
               slip = {"alone", &product, product_needs_wrong_alone, 3};
    mo_tensor *in[2];
    for (int i = 0; i < 2; i++)
        in[i] =
            mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){2, 2}, (double[]){1, -2, 0.5, 3 + i}));
    expect_caught(ctx, &right, in, false);
    expect_caught(ctx, &slip, in, true); /* the rule is right where both need gradients */
    for (int i = 0; i < 2; i++)
        mo_tensor_release(in[i]);
}

/* Calls mo_grad in its input, so it fails if the input needs no gradient. */
static void inner_gradient(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    mo_tensor *y = mo_mul(t, mo_square(t, in[0]), in[1]), *g;
    mo_grad(t, &y, NULL, 1, in, &g, 1, MO_CREATE_GRAPH);
    out[0] = *(bool *)state ? mo_mul(t, g, mo_stop_gradient(t, in[1])) : mo_mul(t, g, in[1]);
}

TEST_OF(graph_code_may_take_gradients_itself, mo_context *ctx) {
    HELD(leaves) in = {{NULL}};
    for (int i = 0; i < 2; i++)
        in.of[i] = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){3}, (double[]){1, 2, i}));
    for (int cut = 0; cut < 2; cut++) {
        bool is_cut = cut;
        mo_check_result c = mo_check_function(ctx, inner_gradient, &is_cut, in.of, 2, 1, 2, 1e-5, 0);
        if (c.pass == cut)
            fail_msg("%s: %s", cut ? "cut" : "right", c.worst);
    }
}

TEST_OF(inputs_that_need_no_gradient_are_no_pass, mo_context *ctx) {
    mo_op op = op_of(&rules[0]);
    HELD(mo_tensor) *X = mo_tensor_create_from(ctx, MO_F64, 1, (int64_t[]){2}, (double[]){1, 2});
    mo_check_result c = mo_check_function(ctx, op_function, &op, &X, 1, 1, 2, 1e-5, 0);
    assert_false(c.pass);
    assert_non_null(strstr(c.worst, "nothing was compared"));
    c = mo_check_function(ctx, op_function, &op, &X, 1, 1, 3, 1e-5, 0);
    assert_false(c.pass);
    assert_non_null(strstr(c.worst, "the order is not 0, 1 or 2"));
}
