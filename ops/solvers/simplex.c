/* ops/solvers/simplex.c - the nearest point of the probability simplex, row by row.
 *
 * V [.., m] -> X [.., m], X = argmin |X - V| over {X >= 0, sum X = 1}; float32 or float64. With the entries of a row
 * sorted, u_1 >= u_2 >= .., the support has k = max{j : j u_j > u_1 + .. + u_j - 1} entries, the k largest, and
 *     X = max(V - tau, 0),   tau = (u_1 + .. + u_k - 1) / k
 * (Held, Wolfe and Crowder 1974). Entries equal to the smallest entry of the support belong to it too, because for
 * u_(j+1) = u_j the condition on j + 1 is the condition on j.
 *
 * The largest entry of each row, held fixed, is first subtracted from the row, which does not change X. Otherwise the 1
 * would be lost in rounding beside a large u_1.
 *
 * Let s be 1 on the support, else 0. dX = s (dV - dtau), dtau = <s, dV> / k, hence (Martins and Astudillo 2016)
 *     V_bar = s (X_bar - <s, X_bar> / k).
 * X is composed of ops with s held fixed: this is the projection onto the plane of a face, which has the same
 * derivative. X has a kink where an entry equals tau; s excludes that entry. */
#include "ops/inside.h"
#include "tensor/objects.h"

/* Returns s, which is 1 where V > tau, else 0; not recorded. */
static mo_tensor *support(mo_tape *t, mo_tensor *V) {
    mo_scope scope = mo_scope_open(t);
    mo_tape_set_mode(t, MO_EVAL);
    int last = V->ndim - 1;
    mo_tensor *u = mo_sort(t, V, MO_AXIS(last)), *excess = mo_scale(t, mo_cumsum(t, u, MO_AXIS(last)), 1, -1);
    mo_tensor *ones = mo_full(t, V->dtype, 1, &V->shape[last], 1), *count = mo_cumsum(t, ones, MO_AXIS(0));
    /* j u_j > u_1 + .. + u_j - 1 holds exactly for j = 1 .. k */
    mo_tensor *inside = mo_scale(t, mo_greater_equal(t, excess, mo_mul(t, count, u)), -1, 1);
    mo_tensor *k = mo_sum(t, inside, MO_AXIS(last), MO_KEEP_AXES);
    mo_tensor *tau = mo_div(t, mo_scale(t, mo_sum(t, mo_mul(t, inside, u), MO_AXIS(last), MO_KEEP_AXES), 1, -1), k);
    mo_tensor *s = mo_scale(t, mo_greater_equal(t, tau, V), -1, 1);
    mo_scope_close(t, &scope, &s, 1);
    return s;
}

mo_tensor *mo_simplex_project(mo_tape *t, mo_tensor *V) {
    mo_context *ctx = mo_tape_context(t);
    char got[160];
    if (mo_ok(ctx) && (mo_is_null(V) || mo_ndim(V) < 1 || mo_dim(V, -1) < 1))
        mo_fail(ctx, MO_INVALID, "simplex_project: expected rows [.., m] with m >= 1; got %s",
            mo_is_null(V) ? "null" : mo_shape_string(V, got, sizeof got));
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    mo_axes last = MO_AXIS(-1);
    V = mo_sub(t, V, mo_max(t, mo_stop_gradient(t, V), last, MO_KEEP_AXES));
    mo_tensor *s = mo_is_null(V) ? V : support(t, V);
    if (mo_is_null(s))
        return s;
    mo_tensor *k = mo_sum(t, s, last, MO_KEEP_AXES);
    mo_tensor *tau = mo_div(t, mo_scale(t, mo_sum(t, mo_mul(t, s, V), last, MO_KEEP_AXES), 1, -1), k);
    return mo_mul(t, s, mo_sub(t, V, tau));
}
