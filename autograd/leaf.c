/* autograd/leaf.c - leaves: named parameters, and data that need gradients; a leaf owns its gradient buffer. */
#include "autograd/tape.h"

#include <string.h>

mo_tensor *mo_parameter(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (mo_ok(ctx) && !mo_dtype_is_real(dtype))
        mo_fail(ctx, MO_MISMATCH, "parameter %s: dtype %s, expected float32 or float64", name ? name : "",
            mo_dtype_name(dtype));
    mo_tensor *P = mo_tensor_create(ctx, dtype, ndim, shape);
    if (mo_is_null(P))
        return P;
    P->requires_grad = true;
    P->name = name ? strdup(name) : NULL;
    if (!name || P->name)
        return P;
    mo_fail(ctx, MO_MEMORY, "parameter %s: out of memory for its name", name);
    mo_tensor_release(P);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_require_grad(mo_tensor *X) {
    if (mo_is_null(X))
        return X;
    if (X->freed)
        mo_fail_freed(X, "require_grad: the tensor");
    else if (X->node)
        mo_fail(X->ctx, MO_STATE, "require_grad: the tensor was computed by %s; only leaves can be declared",
            X->node->op->name);
    else if (!mo_dtype_is_real(X->dtype))
        mo_fail(X->ctx, MO_MISMATCH, "require_grad: dtype %s, expected float32 or float64", mo_dtype_name(X->dtype));
    else
        X->requires_grad = true;
    return X;
}

bool mo_needs_grad(const mo_tensor *X) {
    return !mo_is_null(X) && X->requires_grad;
}

const char *mo_tensor_name(const mo_tensor *X) {
    return X && X->name ? X->name : "";
}

mo_tensor *mo_grad_of(const mo_tensor *leaf) {
    return mo_is_null(leaf) || leaf->node ? NULL : leaf->grad;
}

void mo_zero_grad(mo_tensor *leaf) {
    if (leaf && leaf->grad)
        mo_tensor_fill(leaf->grad, 0);
}

void mo_leaf_add(mo_tape *t, mo_tensor *leaf, const mo_tensor *g) {
    mo_tensor *grad = leaf->grad ? leaf->grad : mo_tensor_create(t->ctx, leaf->dtype, leaf->ndim, leaf->shape);
    if (mo_is_null(grad))
        return;
    if (!leaf->grad)
        mo_tensor_unlist(grad);
    leaf->grad = grad;
    mo_accumulate_in_place(t, grad, g);
}
