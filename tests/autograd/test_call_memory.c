/* tests/autograd/test_call_memory.c - out of memory in the functions of tensor/tensor.h and autograd/autograd.h
 * (tests/failing_memory.h). */
#include "autograd/inside.h"
#include "tests/failing_memory.h"
#include "tests/toy_ops.h"
#include "train/train.h"

static void gone(void *state) {
    *(double *)state += 1;
}

/* Makes tensors, reads and prints them, and wraps the caller's memory. */
static double tensors(mo_context *ctx, scratch *unused) {
    double memory[] = {1, 2, 3, 4, 5, 6}, read[6] = {0}, value = 0;
    char text[64] = "", device[200] = "";
    mo_view window = {.data = memory, .dtype = MO_F64, .ndim = 2, .shape = {2, 3}, .stride = {3, 1}};
    HELD(mo_tensor) *T = mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){2, 3}),
                    *one = mo_tensor_create_from(ctx, MO_F64, 0, NULL, &(double){7});
    mo_tensor *W = mo_tensor_wrap(ctx, &window, gone, &value);
    if (mo_tensor_write(T, memory, sizeof memory) == MO_OK && mo_tensor_read(T, read, sizeof read) == MO_OK)
        value += read[5] + 10 * (double)mo_numel(T) + 100 * (double)mo_dim(T, -1) + mo_ndim(T) + mo_tensor_dtype(T);
    mo_view seen = mo_tensor_view(W);
    value += seen.data ? *(double *)seen.data : 0;
    value += (double)strlen(mo_shape_string(W, text, sizeof text)) + mo_is_null(mo_null_tensor(ctx));
    value += mo_device_describe(MO_CPU, device, sizeof device) && device[0];
    mo_tensor_fill(T, 3);
    value += mo_ok(ctx) ? mo_item(one) : 0;
    mo_tensor_release(W);
    if (mo_ok(ctx)) { /* an error that the caller raises and clears takes no memory */
        mo_fail_at(ctx, MO_INVALID, "here", 1, "%s", "found");
        value += mo_context_status(ctx)->code;
        mo_clear_error(ctx);
    }
    return value;
}

/* Makes a second context. It still computes after its error has been cleared. */
static double contexts(mo_context *ctx, scratch *unused) {
    enum { SHARED = 1 << 20 }; /* enough numbers that several threads set them to 0 */
    mo_context *own = mo_context_create(&(mo_context_options){.threads = 2});
    mo_tensor *T = mo_tensor_create(own, MO_F32, 1, (int64_t[]){4});
    double value = mo_ok(own) ? 1 + (double)mo_numel(T) : 0;
    if (!mo_ok(own))
        mo_fail(ctx, own ? mo_context_status(own)->code : MO_MEMORY, "a second context");
    mo_tensor_release(T);
    mo_clear_error(own);
    mo_tensor_release(mo_tensor_create(own, MO_F32, 1, (int64_t[]){SHARED}));
    assert_int_equal(mo_context_release(own), MO_OK);
    return value;
}

static double sparse(mo_context *ctx, scratch *unused) {
    mo_random r = mo_random_at(1, MO_PURPOSE_OWN, 2);
    double values[] = {mo_random_uniform(&r), mo_random_normal(&r), 0};
    values[2] = values[1] + (double)mo_random_below(&r, 5);
    HELD(mo_csr) *A = mo_csr_create(ctx, 2, 2, (int64_t[]){0, 1, 2}, (int32_t[]){0, 1}, MO_F64, values);
    return 10 + values[2] + (A && mo_csr_declare_symmetric(A) == MO_OK);
}

/* ---- the tape ---- */

static double tapes(mo_context *ctx, scratch *s) {
    double value = 0;
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    HELD(mo_tensor) *p = mo_parameter(ctx, "p", MO_F64, 1, (int64_t[]){2});
    mo_tensor_fill(p, 0.5);
    mo_tape_set_mode(t, MO_RECORD);
    mo_tape_set_anomaly(t, true);
    value += mo_tape_context(mo_tape_at(MO_HERE(t), NULL, 0)) == ctx;
    value += !strcmp(mo_tensor_name(p), "p");
    mo_scope scope = mo_scope_open(t);
    mo_tape_section(t, "head");
    mo_tensor *X = mo_full(t, MO_F64, 1, (int64_t[]){2}, 3), *room = mo_tape_tensor(t, MO_F64, 1, (int64_t[]){2});
    mo_tensor_fill(room, 2);
    mo_tensor *kept = mo_stop_gradient(t, mo_mul(t, X, room));
    mo_scope_close(t, &scope, &kept, 1);
    mo_tensor *leaf = mo_require_grad(mo_full(t, MO_F64, 1, (int64_t[]){2}, 4));
    mo_tensor *Y = mo_keep(mo_mul(t, mo_mul(t, p, kept), leaf));
    mo_tensor *loss = mo_sum(t, mo_mul(t, Y, mo_scalar(t, MO_F64, 0.5)), MO_AXIS(0), MO_DROP_AXES);
    value += mo_tape_dot(t, scratch_path(s, "tape.dot")) == MO_OK;
    if (mo_backward(t, loss) == MO_OK && mo_grad_of(p))
        value += mo_item(mo_slice(t, mo_grad_of(p), MO_AXIS(0), 0, 1)) + mo_item(mo_slice(t, Y, MO_AXIS(0), 1, 2));
    mo_zero_grad(p);
    mo_tape_reset(t);
    return value;
}

static double directions(mo_context *ctx, scratch *unused) {
    double value = 0;
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD(mo_tensor) *x = toy_leaf_apart(ctx, 1, 2);
    mo_tensor *tangent, *y = mo_mul(t, mo_exp(t, x), x), *v = mo_full(t, MO_F64, 1, (int64_t[]){2}, 1);
    if (mo_jvp(t, &y, 1, &x, &v, 1, &tangent, 0) == MO_OK)
        value = mo_item(mo_sum(t, tangent, MO_AXIS(0), MO_DROP_AXES));
    return value;
}

/* ---- a user's ops ---- */

static double own_ops(mo_context *ctx, scratch *unused) {
    double value = 0;
    if (!mo_find_op(ctx, toy_mul_op.name)) /* registering it twice would be an error */
        value = mo_register_op(ctx, &toy_mul_op);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    HELD(mo_tensor) *x = toy_leaf_apart(ctx, 2, 4);
    mo_tensor *y, *grad;
    if (mo_apply_all(t, &toy_mul_op, (mo_tensor *[]){x, x}, 2, NULL, &y) == MO_OK) {
        mo_tensor *sum = toy_sum(t, y); /* its adjoint is a view */
        value += mo_item(sum);
        if (mo_grad(t, &sum, NULL, 1, &x, &grad, 1, 0) == MO_OK)
            value += mo_item(mo_slice(t, grad, MO_AXIS(0), 0, 1));
    }
    return value;
}

/* ---- the gradient checker: its result names the error that stopped it ---- */

static double checked(mo_context *ctx, mo_check_result r) {
    if (!r.pass && mo_ok(ctx))
        mo_fail(ctx, strstr(r.worst, "memory") ? MO_MEMORY : MO_STATE, "%s", r.worst);
    return 1 + r.samples + r.error;
}

static double check_op(mo_context *ctx, scratch *unused) {
    return checked(ctx, mo_check_op(ctx, &toy_mul_op, 1, 1));
}

static void squares(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    assert_true(n_in == 1 && n_out == 1);
    out[0] = mo_mul(t, in[0], in[0]);
}

static double check_function(mo_context *ctx, scratch *unused) {
    HELD(mo_tensor) *x = toy_leaf_apart(ctx, 1, 2);
    return checked(ctx, mo_check_function(ctx, squares, NULL, &x, 1, 1, 2, 1e-5, 1));
}

static void lack_of_memory_in_a_call_is_a_status(void **state) {
    static const named_scenario all[] = {{"tensors", tensors, 200}, {"contexts", contexts, 200},
        {"sparse", sparse, 200}, {"tapes", tapes, 200}, {"directions", directions, 200}, {"own ops", own_ops, 200},
        {"check an op", check_op, 200}, {"check a function", check_function, 200}};
    fail_allocations(*state, all, sizeof all / sizeof *all);
}

int main(int argc, char **argv) {
    return run_with_failing_memory(
        argc, argv, lack_of_memory_in_a_call_is_a_status, "lack_of_memory_in_a_call_is_a_status");
}
