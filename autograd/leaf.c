/* autograd/leaf.c - leaves: named parameters, and data that need gradients; a leaf owns its gradient buffer. */
#include "autograd/tape.h"

#include <string.h>

/* LARGEST_ABSENT: the largest parameter, in bytes, that the weights file may lack. A file lacks a readout's parameters
 * if it was trained with another readout. MEMORY_STEP: alignment, in bytes, of parameters in shared memory. */
enum { LARGEST_ABSENT = 1 << 20, MEMORY_STEP = 64 };

/* Compares a parameter, before memory is allocated for it, with the tensor of that name in the file from which it will
 * be read: the sizes in the file's metadata can be false. */
static void compare_with_promised(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape) {
    const mo_tensor *X = mo_arrays_find(ctx->engine->expected_parameters, name);
    char want[160], got[160] = "absent";
    double bytes = (double)mo_dtype_size(dtype);
    for (int a = 0; a < ndim; a++)
        bytes *= (double)shape[a];
    mo_format_shape(ndim, shape, want, sizeof want);
    if (X)
        mo_shape_string(X, got, sizeof got);
    if (X ? strcmp(want, got) != 0 : bytes > LARGEST_ABSENT)
        mo_fail(ctx, MO_FORMAT, "weights: %s is %s, expected %s", name, got, want);
}

void mo_expect_parameters(mo_context *ctx, const mo_arrays *file) {
    mo_engine *engine = mo_engine_of(ctx);
    if (engine)
        engine->expected_parameters = file;
}

/* Returns whether a parameter of this dtype and shape may be made; raises if not. */
static bool may_be(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (mo_ok(ctx) && !mo_dtype_is_real(dtype))
        mo_fail(ctx, MO_MISMATCH, "parameter %s: dtype %s, expected float32 or float64", name ? name : "",
            mo_dtype_name(dtype));
    if (mo_ok(ctx) && ctx->engine && ctx->engine->expected_parameters && name && shape)
        compare_with_promised(ctx, name, dtype, ndim, shape);
    return mo_ok(ctx);
}

/* Makes the tensor P a parameter. Returns P, or releases it and returns the null tensor. */
static mo_tensor *declare(mo_tensor *P, const char *name) {
    if (mo_is_null(P))
        return P;
    mo_context *ctx = P->ctx;
    P->requires_grad = true;
    P->name = name ? strdup(name) : NULL;
    if (!name || P->name)
        return P;
    mo_fail(ctx, MO_MEMORY, "parameter %s: out of memory for its name", name);
    mo_tensor_release(P);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_parameter(mo_context *ctx, const char *name, mo_dtype dtype, int ndim, const int64_t *shape) {
    if (!may_be(ctx, name, dtype, ndim, shape))
        return mo_null_tensor(ctx);
    return declare(mo_tensor_create(ctx, dtype, ndim, shape), name);
}

/* Returns the number of elements that a parameter takes in the shared memory, or -1 after raising. */
static int64_t length_within(mo_context *ctx, mo_dtype dtype, const mo_parameter_form *form) {
    int64_t step = MEMORY_STEP / (int64_t)mo_dtype_size(dtype);
    int64_t n = mo_shape_numel(ctx, form->name, form->ndim, form->shape);
    return n < 0 ? -1 : (n + step - 1) / step * step;
}

void mo_parameters(mo_context *ctx, mo_dtype dtype, int n, const mo_parameter_form *form, mo_tensor **P) {
    int64_t total = 0, length, offset = 0;
    if (n > 0 && (!P || !form)) {
        mo_fail(ctx, MO_INVALID, "parameters: %s is NULL", P ? "form" : "P");
        for (int i = 0; P && i < n; i++)
            P[i] = mo_null_tensor(ctx);
        return;
    }
    for (int i = 0; i < n; i++) {
        P[i] = mo_null_tensor(ctx);
        bool may = may_be(ctx, form[i].name, dtype, form[i].ndim, form[i].shape);
        length = may ? length_within(ctx, dtype, &form[i]) : 0;
        if (may && length >= 0 && __builtin_add_overflow(total, length, &total))
            mo_fail(ctx, MO_MEMORY, "parameter %s: too many elements in one memory", form[i].name);
    }
    mo_tensor *whole = mo_tensor_create(ctx, dtype, 1, &total);
    for (int i = 0; i < n && mo_ok(ctx); i++, offset += length) {
        length = length_within(ctx, dtype, &form[i]);
        mo_storage_retain(whole->storage);
        P[i] = declare(mo_tensor_onto(ctx, whole->storage, dtype, form[i].ndim, form[i].shape), form[i].name);
        if (!mo_is_null(P[i]))
            P[i]->offset = offset;
    }
    mo_tensor_release(whole);
    for (int i = 0; i < n && !mo_ok(ctx); i++) {
        mo_tensor_release(P[i]);
        P[i] = mo_null_tensor(ctx);
    }
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
    if (leaf && leaf->freed)
        mo_fail_freed(leaf, "grad_of: the leaf");
    return mo_is_null(leaf) || leaf->node ? NULL : leaf->grad;
}

void mo_zero_grad(mo_tensor *leaf) {
    if (leaf && leaf->freed)
        mo_fail_freed(leaf, "zero_grad: the leaf");
    else if (leaf && leaf->grad)
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
