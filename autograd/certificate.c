/* autograd/certificate.c - checks <J v, w> = <v, J^T w>: that the Jacobian-vector product (jvp.c) of a piece of graph
 * code is the transpose of its vector-Jacobian product.
 *
 * Both sides are exact up to rounding, so that the comparison needs no step size and passes to 1e-10 where differences
 * pass to 1e-6. The comparison fails for a vjp that is not linear in its cotangent, and for a vjp that loses the path
 * from the cotangent to its result (a value computed outside the tape, a gradient stopped): such a vjp is right at
 * order 1, and every derivative of it is wrong. The comparison cannot detect a vjp of the wrong Jacobian, because the
 * jvp is then wrong in the same way; differences (gradcheck.c) detect that. */
#include "autograd/sample.h"
#include "autograd/tape.h"
#include "tensor/files/number_text.h"

#include <math.h>
#include <stdlib.h>

enum { CERTIFIED = MO_MAX_INPUTS + MO_MAX_OUTPUTS };

/* Returns sum_i <a_i, b_i> in float64. Adds the absolute value of each product of two entries to *size, the scale of
 * the rounding error. */
static double certificate_product(mo_context *ctx, mo_tensor *const *a, mo_tensor *const *b, int n, double *size) {
    double sum = 0;
    for (int i = 0; i < n && mo_ok(ctx); i++) {
        size_t count = (size_t)mo_numel(a[i]), bytes = count * sizeof(double);
        double *x = malloc(bytes + 1), *y = malloc(bytes + 1);
        if (!x || !y)
            mo_fail(ctx, MO_MEMORY, "check: out of memory for %zu numbers", count);
        else if (mo_tensor_read(a[i], x, bytes) == MO_OK && mo_tensor_read(b[i], y, bytes) == MO_OK)
            for (size_t j = 0; j < count; j++) {
                sum += x[j] * y[j];
                *size += fabs(x[j] * y[j]);
            }
        free(x);
        free(y);
    }
    return sum;
}

/* Returns a random direction of unit length in the shape of an input; the caller releases it. */
static mo_tensor *certificate_direction(
    mo_context *ctx, const mo_sample_input *input, const mo_tensor *X, mo_random *r) {
    int64_t n = mo_numel(X);
    double *v = malloc((size_t)n * sizeof *v + 1);
    if (!v)
        mo_fail(ctx, MO_MEMORY, "check: out of memory for %lld numbers", (long long)n);
    else
        mo_sample_direction(input, r, v, n);
    mo_tensor *V = v ? mo_tensor_create_from(ctx, MO_F64, X->ndim, X->shape, v) : mo_null_tensor(ctx);
    free(v);
    return V;
}

/* Runs p->f. Writes its float64 outputs that have a gradient to y, and their cotangents to w. Returns their number. */
static int certificate_outputs(const mo_certified *p, mo_tape *t, mo_tensor **y, mo_tensor **w) {
    mo_tensor *out[CERTIFIED];
    int n = 0;
    p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++)
        if (mo_tensor_dtype(out[i]) == MO_F64 && mo_needs_grad(out[i])) {
            y[n] = out[i];
            w[n++] = p->w[i];
        }
    return n;
}

/* Computes sides[0] = <J v, w> and sides[1] = <v, J^T w> along the directions v of the leaves x. */
static void certificate_sides(
    const mo_certified *p, mo_tensor **x, mo_tensor **v, int nx, double sides[2], double *size) {
    mo_tensor *y[CERTIFIED], *w[CERTIFIED], *tangents[CERTIFIED], *gradients[CERTIFIED];
    for (int side = 0; side < 2 && mo_ok(p->ctx); side++) {
        mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
        int ny = t ? certificate_outputs(p, t, y, w) : 0;
        if (ny && side == 0 && mo_jvp(t, y, ny, x, v, nx, tangents, MO_ALLOW_UNUSED) == MO_OK)
            sides[0] = certificate_product(p->ctx, tangents, w, ny, size);
        if (ny && side == 1 && mo_grad(t, y, w, ny, x, gradients, nx, MO_ALLOW_UNUSED) == MO_OK)
            sides[1] = certificate_product(p->ctx, gradients, v, nx, size);
        mo_tape_release(t);
    }
}

void mo_certify(const mo_certified *p, mo_random *r, mo_check_result *result) {
    enum { DIRECTIONS = 3 };
    for (int k = 0; k < DIRECTIONS && mo_ok(p->ctx); k++) {
        mo_tensor *x[CERTIFIED], *v[CERTIFIED];
        double sides[2] = {0, 0}, size = 0;
        int nx = 0;
        for (int i = 0; i < p->n_in && mo_ok(p->ctx); i++)
            if (mo_needs_grad(p->in[i])) {
                x[nx] = p->in[i];
                v[nx++] = certificate_direction(p->ctx, &p->inputs[i], p->in[i], r);
            }
        if (mo_ok(p->ctx))
            certificate_sides(p, x, v, nx, sides, &size);
        double error = fabs(sides[0] - sides[1]) / fmax(1, size);
        if (mo_ok(p->ctx) && !(error <= result->error)) { /* NaN counts as largest */
            result->error = isnan(error) ? INFINITY : error;
            mo_format(result->worst, sizeof result->worst, "sample \"%s\": <J v, w> %.12g, <v, J^T w> %.12g", p->sample,
                sides[0], sides[1]);
        }
        for (int i = 0; i < nx; i++)
            mo_tensor_release(v[i]);
    }
}
