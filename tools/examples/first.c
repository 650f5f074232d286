/* The gradient of a loss through the solve of a ridge readout, in the rows that it is fitted on.
 * Build: cc first.c $(pkg-config --cflags --libs mochi) */
#include <mochi/mochi.h>
#include <stdio.h>

int main(void) {
    const double support[] = {1, 0, 2, 1, -1, 0, -2, 1}, label[] = {1, 1, -1, -1};
    const double query[] = {1, 1, -1, 2}, truth[] = {1, -1};
    mo_context *ctx = mo_context_create(NULL);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *Zs = mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, support));
    mo_tensor *Ys = mo_from(t, MO_F64, 2, (int64_t[]){4, 1}, label);
    mo_tensor *Zq = mo_from(t, MO_F64, 2, (int64_t[]){2, 2}, query);
    mo_tensor *Yq = mo_from(t, MO_F64, 2, (int64_t[]){2, 1}, truth);

    /* The readout A = argmin |Zs A - Ys|^2 + |A|^2 = Zs^T (Zs Zs^T + I)^-1 Ys. */
    mo_tensor *Zst = mo_transpose(t, Zs);
    mo_tensor *K = mo_add_diag(t, mo_matmul(t, Zs, Zst), mo_scalar(t, MO_F64, 1));
    mo_tensor *A = mo_matmul(t, Zst, mo_solve_spd(t, K, Ys));
    mo_tensor *error = mo_sub(t, mo_matmul(t, Zq, A), Yq);
    mo_tensor *loss = mo_sum(t, mo_square(t, error), MO_ALL, MO_DROP_AXES);

    char text[400];
    mo_tensor *gradient;
    mo_gradients(t, loss, &Zs, &gradient, 1);
    mo_tensor_text(gradient, text, sizeof text);
    if (!mo_ok(ctx)) { /* the library prints nothing: its first error waits in the context */
        fprintf(stderr, "%s\n", mo_context_status(ctx)->message);
        return 1;
    }
    printf("loss %.3f, gradient\n%s\n", mo_item(loss), text);
    return 0;
}
