/* ops/relu.c - Y = max(X, 0), and the mask of its gradient.
 *
 * relu: X of any shape -> Y of the same shape. relu_mask: A and Y of equal shapes -> A where Y > 0, else 0. float32 or
 * float64. Errors: other dtypes, shapes that differ. Saved: nothing (the mask follows from the output).
 *
 * dY = dX where X > 0 (equivalently Y > 0), and 0 elsewhere, including the kink: X_bar = relu_mask(Y_bar, Y). relu_mask
 * is linear in A, so A_bar = relu_mask(Z_bar, Y); it is flat in Y, which has no gradient. */
#include "ops/inside.h"
#include "ops/rules/maps.h"
#include "tensor/objects.h"

static void relu_vjp(mo_vjp *v) {
    v->in_bar[0] = mo_relu_mask(v->t, v->out_bar[0], v->out[0]);
}

static const mo_sample relu_samples[] = {
    {"matrix", "[3, 4]"},
    {"scalar", "[]"},
};

const mo_op mo_op_relu = {
    .name = "relu",
    .state = &(const mo_map1){MO_MAP_RELU},
    .reads_out = 1,
    .forward = mo_map1_forward,
    .vjp = relu_vjp,
    MO_SAMPLES(relu_samples),
};

mo_tensor *mo_relu(mo_tape *t, mo_tensor *X) {
    return mo_apply(t, &mo_op_relu, (mo_tensor *[]){X}, 1, NULL);
}

static void relu_mask_vjp(mo_vjp *v) {
    if (v->needs[0])
        v->in_bar[0] = mo_relu_mask(v->t, v->out_bar[0], v->in[1]);
}

static const mo_sample relu_mask_samples[] = {
    {"matrix", "[3, 4] [3, 4]"},
    {"scalar", "[] []"},
    {"shapes", "[3, 4] [4]", .error = "relu_mask: expected equal shapes; got [3, 4] float64, [4] float64"},
};

const mo_op mo_op_relu_mask = {
    .name = "relu_mask",
    .state = &(const mo_map2){MO_MAP_RELU_MASK},
    .n_in = 2,
    .reads_in = 2,
    .forward = mo_map2_forward,
    .vjp = relu_mask_vjp,
    MO_SAMPLES(relu_mask_samples),
};

mo_tensor *mo_relu_mask(mo_tape *t, mo_tensor *A, mo_tensor *Y) {
    return mo_apply(t, &mo_op_relu_mask, (mo_tensor *[]){A, Y}, 2, NULL);
}
