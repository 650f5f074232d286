/* A head of your own, without a closed form: regression on the labels that forgives outliers. W minimises
 *     sum_ic log cosh(([Zs | 1] W - Ys)_ic) + lambda / 2 |W|^2,   so that   F(W) = X^T tanh(X W - Ys) + lambda W = 0,
 * X = [Zs | 1]. Only F is written here: the engine finds W (Newton-Krylov) and derives its gradients, to embeddings,
 * labels and lambda, by the implicit function theorem. A head with a closed form gives `logits` (models/head.h)
 * instead.
 *
 * As a program:
 *     cc custom_head.c $(pkg-config --cflags --libs mochi) -o custom_head && ./custom_head
 *
 * As a shared object:
 *     cc -shared -fPIC custom_head.c $(pkg-config --cflags --libs mochi) -o custom_head.so
 *     mochi gradcheck --head ./custom_head.so
 *     mochi eval --weights none --data cora --task nc --head ./custom_head.so,ridge */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

static mo_tensor *head_residual(mo_tape *t, mo_tensor *W, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *const *parameter) {
    mo_tensor *X = mo_append_ones(t, Zs), *error = mo_sub(t, mo_matmul(t, X, W), Ys);
    return mo_add(t, mo_matmul(t, mo_transpose(t, X), mo_tanh(t, error)), mo_mul(t, W, parameter[0]));
}

static const mo_head_parameter parameters[] = {{.name = "lambda", .value = 1, .low = 0, .high = 1e9}};

const mo_head mo_head_plugin = {
    /* exported by a shared object */
    .abi = MO_HEAD_ABI,
    .size = sizeof(mo_head),
    .name = "log_cosh",
    .n_parameters = 1,
    .parameters = parameters,
    .residual = head_residual,
    .symmetric = true, /* F is the gradient of a loss: conjugate gradients suffice */
    .order = 2,
};

/* Twelve points of two classes, one label wrong: which side of x = 0 do (1, 0) and (-1, 0) fall on? */
static bool forgives_an_outlier(mo_context *ctx) {
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    double z[24], y[24], zq[] = {1, 0, -1, 0}, logits[4];
    for (int i = 0; i < 12; i++) {
        z[2 * i] = i % 2 ? -1 - 0.1 * i : 1 + 0.1 * i;
        z[2 * i + 1] = 0.3 * (i % 5 - 2);
        y[2 * i] = i % 2 == 0 && i != 10;
        y[2 * i + 1] = 1 - y[2 * i];
    }
    mo_tensor *Zs = mo_from(t, MO_F64, 2, (int64_t[]){12, 2}, z), *Ys = mo_from(t, MO_F64, 2, (int64_t[]){12, 2}, y);
    mo_tensor *Zq = mo_from(t, MO_F64, 2, (int64_t[]){2, 2}, zq);
    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS];
    mo_head_start(t, &mo_head_plugin, MO_F64, 2, NULL, 0, parameter);
    mo_tensor_read(mo_head_apply(t, &mo_head_plugin, Zs, Ys, Zq, parameter), logits, sizeof logits);
    printf("logits of (1, 0): %.3f %.3f, of (-1, 0): %.3f %.3f\n", logits[0], logits[1], logits[2], logits[3]);
    mo_tape_release(t);
    return logits[0] > logits[1] && logits[2] < logits[3];
}

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    bool pass = mo_register_ops(ctx) == MO_OK && forgives_an_outlier(ctx);
    for (int order = 1; order <= 2; order++) {
        mo_check_result r = mo_check_head(ctx, &mo_head_plugin, order, 0);
        printf("%s, order %d: error %.1e, %s\n", mo_head_plugin.name, order, r.error, r.pass ? "pass" : r.worst);
        pass = pass && r.pass;
    }
    mo_context_release(ctx);
    return !pass;
}
