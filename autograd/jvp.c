/* autograd/jvp.c - Jacobian-vector products: the exact derivative of graph code along a direction, by two reverse
 * sweeps.
 *
 * For y = f(x) with Jacobian J, one sweep with a cotangent u gives q(u) = J^T u, which is linear in u. Its own vjp with
 * the cotangent v is therefore
 *     (dq/du)^T v = (J^T)^T v = J v,
 * whatever u is; u = 0 here. No op needs a forward rule, and the result is a tensor of ops, so it has derivatives of
 * any order. With y a gradient, J v is a product with the Hessian (Pearlmutter 1994, Fast exact multiplication by the
 * Hessian, Neural Computation 6; the two sweeps: Christianson 1992, Automatic Hessians by reverse accumulation, IMA J.
 * Numer. Anal. 12). The cost is two sweeps, the first of them recorded.
 *
 * The second sweep differentiates the vjps in their cotangents alone. If a vjp is the transpose of a wrong Jacobian,
 * this J is wrong in the same way, and <J v, w> = <v, J^T w> still holds. Only difference quotients (gradcheck.c)
 * detect that. */
#include "autograd/tape.h"

static bool jvp_check_direction(mo_tape *t, const mo_tensor *X, const mo_tensor *V, int j, unsigned flags) {
    char got[160], want[160];
    if (!mo_same_form(V, X))
        mo_fail(t->ctx, MO_INVALID, "jvp: direction %d is %s %s, expected %s %s like its input", j,
            mo_shape_string(V, got, sizeof got), mo_dtype_name(V->dtype), mo_shape_string(X, want, sizeof want),
            mo_dtype_name(X->dtype));
    else if (!X->requires_grad && !(flags & MO_ALLOW_UNUSED))
        mo_fail(t->ctx, MO_INVALID,
            "jvp: input %d needs no gradient, so nothing depends on it; pass MO_ALLOW_UNUSED if you want zeros", j);
    return mo_ok(t->ctx);
}

static bool jvp_check(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor *const *vs, int nx,
    mo_tensor **tangents, unsigned flags) {
    if (mo_ok(t->ctx) && (ny < 0 || nx < 0 || (ny && (!ys || !tangents)) || (nx && (!xs || !vs))))
        mo_fail(t->ctx, MO_INVALID,
            "jvp: %d outputs and %d inputs, expected 0 or more of each, with directions and room for the tangents, in "
            "lists that are not NULL",
            ys && tangents ? ny : 0, xs && vs ? nx : 0);
    if (!mo_ok(t->ctx) || !mo_check_gradient_tensors(t, "output", ys, ny) ||
        !mo_check_gradient_tensors(t, "input", xs, nx) || !mo_check_gradient_tensors(t, "direction", vs, nx))
        return false;
    for (int j = 0; j < nx; j++)
        if (!jvp_check_direction(t, xs[j], vs[j], j, flags))
            return false;
    return mo_check_gradient_path(t, ys, ny, flags);
}

/* q = J^T u and tangents = (dq/du)^T v. */
static void jvp_sweep_twice(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor *const *vs,
    int nx, mo_tensor **tangents, unsigned flags) {
    mo_tensor **us = mo_host_arena_alloc(t->scratch, (size_t)ny * sizeof(mo_tensor *));
    mo_tensor **qs = mo_host_arena_alloc(t->scratch, (size_t)nx * sizeof(mo_tensor *));
    if (!us || !qs)
        return;
    for (int i = 0; i < ny; i++) {
        us[i] = mo_full(t, ys[i]->dtype, ys[i]->ndim, ys[i]->shape, 0);
        if (mo_dtype_is_real(ys[i]->dtype))
            mo_require_grad(us[i]);
    }
    unsigned second = (flags & MO_CREATE_GRAPH) | MO_RETAIN | MO_ALLOW_UNUSED;
    if (mo_grad(t, ys, us, ny, xs, qs, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED) == MO_OK)
        mo_grad(t, qs, vs, nx, us, tangents, ny, second);
}

mo_code mo_jvp(mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, mo_tensor *const *vs, int nx,
    mo_tensor **tangents, unsigned flags) {
    mo_context *ctx = mo_tape_context(t);
    for (int i = 0; tangents && i < ny; i++)
        tangents[i] = mo_null_tensor(ctx);
    if (!mo_tape_lives(t, "jvp"))
        return mo_code_of(ctx);
    if (!jvp_check(t, ys, ny, xs, vs, nx, tangents, flags))
        return ctx->status.code;
    mo_scope scope = mo_scope_open(t);
    mo_host_mark mark = mo_host_arena_mark(t->scratch);
    jvp_sweep_twice(t, ys, ny, xs, vs, nx, tangents, flags);
    mo_host_arena_rewind(t->scratch, mark);
    if (!(flags & MO_CREATE_GRAPH))
        mo_scope_close(t, &scope, tangents, mo_ok(ctx) ? ny : 0);
    for (int i = 0; !mo_ok(ctx) && i < ny; i++)
        tangents[i] = mo_null_tensor(ctx);
    return ctx->status.code;
}
