/* tests/train/test_wrong_uses.c - mistakes that a user of the library can make, one after another: each ends in an
 * error that names op, tensor and line, with and without debug mode; none in wrong numbers or a crash. Wrong shapes,
 * foreign tensors and gradients of nothing are in test_ops_inputs.c, test_values.c, test_tape.c and test_autograd.c. */
#include "tests/scratch.h"

typedef struct use {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *W; /* a parameter [3, 4] of ones */
} use;

/* The tape; records the line that uses it. */
#define T MO_HERE(u->t)

static bool debug; /* whether contexts are in debug mode */

static const int64_t matrix[] = {3, 4};

static int open_use(void **state) {
    use *u = calloc(1, sizeof *u);
    u->ctx = mo_context_create(&(mo_context_options){.threads = 1, .debug = debug});
    u->t = mo_tape_create(u->ctx, MO_RECORD);
    u->W = mo_parameter(u->ctx, "W", MO_F64, 2, matrix);
    *state = u;
    return mo_tensor_fill(u->W, 1);
}

static int close_use(void **state) {
    HELD_MEMORY use *u = *state;
    mo_tape_release(u->t);
    mo_tensor_release(u->W);
    return mo_context_release(u->ctx);
}

static const fixtures around_each = {open_use, close_use};

/* Expects an error with all of these texts and the line of the call. */
#define EXPECT(u, code, ...) assert_failed((u)->ctx, code, PARTS(__VA_ARGS__, "wrong_uses.c:"))

static mo_tensor *cubes(use *u) {
    return mo_sum(T, mo_pow(T, u->W, 3), MO_ALL, MO_DROP_AXES);
}

TEST_OF(values_read_after_a_reset, use *u) {
    mo_tensor *loss = mo_keep(cubes(u));
    mo_backward(T, loss);
    mo_tape_reset(T);
    mo_tensor *next = mo_square(T, u->W); /* reuses the memory of the loss */
    assert_true(isnan(mo_item(loss)));
    EXPECT(u, MO_STATE, "the value of a tensor, made by sum at ", "was freed by mo_tape_reset");
    mo_tensor_read(loss, (double[1]){0}, sizeof(double));
    EXPECT(u, MO_STATE, "the value of a tensor, made by sum at ", "was freed by mo_tape_reset");
    mo_backward(T, loss);
    EXPECT(u, MO_STATE, "made by sum at ", "was freed by mo_tape_reset");
    mo_require_grad(loss);
    EXPECT(u, MO_STATE, "require_grad: the tensor, made by sum at ", "was freed by mo_tape_reset");
    mo_add(T, next, loss);
    EXPECT(u, MO_STATE, "add: the value of input 1, made by sum at ", "was freed by mo_tape_reset");
    assert_true(mo_tensor_view(loss).data == NULL);
    EXPECT(u, MO_STATE, "was freed by mo_tape_reset");
    for (int i = 0; debug && i < 100; i++)
        mo_tape_reset(T);
    assert_true(!debug || isnan(mo_item(loss)));
    if (debug)
        EXPECT(u, MO_STATE, "made by sum at ", "was freed by mo_tape_reset");
}

TEST_OF(objects_that_are_gone, use *u) {
    mo_tensor *V = mo_parameter(u->ctx, "V", MO_F64, 2, matrix);
    mo_tensor *loss = mo_sum(T, mo_mul(T, u->W, V), MO_ALL, MO_DROP_AXES);
    mo_tensor_release(V);
    for (int i = 0; debug && i < 10; i++) /* objects that would reuse the memory */
        mo_tensor_release(mo_parameter(u->ctx, "later", MO_F64, 2, matrix));
    mo_backward(T, loss);
    EXPECT(u, MO_STATE, "backward:", "V was freed by mo_tensor_release");
    mo_mul(T, u->W, V);
    EXPECT(u, MO_STATE, "mul: the value of input 1, V was freed by mo_tensor_release");
    mo_tensor_read(V, (double[12]){0}, 12 * sizeof(double));
    EXPECT(u, MO_STATE, "the value of a tensor, V was freed by mo_tensor_release");
    mo_zero_grad(V);
    EXPECT(u, MO_STATE, "zero_grad: the leaf, V was freed by mo_tensor_release");
    assert_null(mo_grad_of(V));
    EXPECT(u, MO_STATE, "grad_of: the leaf, V was freed by mo_tensor_release");
    mo_tape *other = mo_tape_create(u->ctx, MO_RECORD);
    mo_tensor *of_other = mo_square(other, u->W);
    mo_tape_release(other);
    for (int i = 0; debug && i < 10; i++)
        mo_tape_release(mo_tape_create(u->ctx, MO_RECORD));
    mo_square(MO_HERE(other), u->W);
    EXPECT(u, MO_STATE, "square: the tape was released by mo_tape_release");
    mo_spmm(T, NULL, u->W);
    EXPECT(u, MO_INVALID, "spmm: no sparse matrix");
    mo_csr *A = mo_csr_create(u->ctx, 1, 3, (int64_t[]){0, 1}, (int32_t[]){2}, MO_F64, NULL);
    mo_tensor *W = mo_require_grad(mo_full(T, MO_F64, 2, matrix, 1)), *Y = mo_spmm(T, A, W), *g;
    mo_csr_release(A);
    mo_spmm(T, A, W);
    EXPECT(u, MO_STATE, "spmm: the sparse matrix [1, 3] was released by mo_csr_release");
    mo_grad(T, &Y, NULL, 1, &W, &g, 1, 0);
    EXPECT(u, MO_STATE, "the sparse matrix [1, 3] was released by mo_csr_release");
    mo_csr_release(A);
    EXPECT(u, MO_STATE, "csr_release: the sparse matrix [1, 3] was released");
    if (!debug) /* the memory of what follows can have other owners */
        return;
    mo_square(T, of_other);
    EXPECT(u, MO_MISMATCH, "input 0 belongs to another tape");
}

TEST_OF(an_optimiser_without_what_it_needs, use *u) {
    mo_tensor *none = NULL;
    mo_adamw_options usual = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}, wrong = {.beta1 = 0.9, .beta2 = 0.999};
    assert_null(mo_adamw_create(u->ctx, &u->W, 1, &wrong));
    assert_failed(u->ctx, MO_INVALID, PARTS("adamw: epsilon is 0, expected more than 0"));
    HELD(mo_optimizer) *o = mo_adamw_create(u->ctx, &u->W, 1, &usual);
    mo_optimizer_step(o, &none, 0.1, NULL);
    assert_failed(u->ctx, MO_INVALID, PARTS("adamw: the gradient of W, parameter 0, is null, expected [3, 4] float64"));
    none = mo_full(T, MO_F64, 1, matrix, 1);
    mo_optimizer_step(o, &none, 0.1, NULL);
    EXPECT(u, MO_MISMATCH, "adamw: the gradient of W is [3] float64, expected [3, 4] float64");
    none = mo_full(T, MO_F64, 2, matrix, 1);
    mo_tape_reset(T);
    mo_optimizer_step(o, &none, 0.1, NULL);
    EXPECT(u, MO_STATE, "was freed by mo_tape_reset");
    mo_tensor *twice[] = {u->W, u->W};
    assert_null(mo_adamw_create(u->ctx, twice, 2, &usual));
    EXPECT(u, MO_INVALID, "adamw: parameters 0 and 1 are one tensor, W, which would be stepped twice");
    assert_null(mo_adamw_create(u->ctx, &none, 1, &usual));
    EXPECT(u, MO_STATE, "adamw", "was freed by mo_tape_reset");
    none = mo_full(T, MO_F64, 2, matrix, 1);
    assert_null(mo_adamw_create(u->ctx, &none, 1, &usual));
    EXPECT(u, MO_MISMATCH, "adamw: parameter 0 belongs to a tape, which frees it");
    mo_tensor_release(u->W);
    mo_optimizer_step(o, &none, 0.1, NULL);
    EXPECT(u, MO_STATE, "adamw: the parameter, W was freed by mo_tensor_release");
    mo_tensor_release(u->W);
    EXPECT(u, MO_STATE, "release: W was released before");
    assert_null(mo_adamw_create(u->ctx, &u->W, 1, &usual));
    EXPECT(u, MO_STATE, "adamw, W was freed by mo_tensor_release");
    u->W = NULL;
}

TEST_OF(a_context_with_objects_that_live, use *u) {
    assert_int_equal(mo_context_release(u->ctx), MO_STATE);
    assert_failed(u->ctx, MO_STATE,
        PARTS("context_release: 1 tape, 1 tensor (W [3, 4])",
            "must be released before their context; nothing was freed"));
    mo_tensor_release(u->W);
    mo_tensor_release(u->W);
    assert_failed(u->ctx, MO_STATE, PARTS("release: W was released before"));
    u->W = NULL;
}

/* Runs all tests in ordinary contexts, then in debug mode. */
int main(void) {
    int failures = run_suite();
    debug = true;
    return failures + run_suite();
}
