/* The cheapest of the paper's baselines: a graph isomorphism network trained as a graph autoencoder. Two layers H' =
 * relu(((1 + e) H + A H) W1) W2 read 64 of the library's frozen features; the loss is the cross-entropy of z_u . z_v on
 * edges and random pairs. Only the archive libmochi.a has the functions of inside.h.
 * Build: cc gin_autoencoder.c $(pkg-config --static --cflags --libs mochi | sed s/-lmochi/-l:libmochi.a/)
 *     ./a.out citeseer cora Z.npy 200 && python cone.py Z.npy cora */
#include <mochi/inside.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 64, BATCH = 2048, PARAMETERS = 6 };

static mo_tensor *gin_layer(mo_tape *t, const mo_csr *A, mo_tensor *H, mo_tensor *const p[3]) {
    mo_tensor *sum = mo_add(t, mo_add(t, H, mo_mul(t, H, p[0])), mo_spmm(t, A, H));
    return mo_linear(t, mo_relu(t, mo_linear(t, sum, p[1], NULL)), p[2], NULL);
}

static mo_tensor *gin_encode(mo_tape *t, const mo_csr *A, mo_tensor *X, mo_tensor *const p[PARAMETERS]) {
    return gin_layer(t, A, mo_layer_norm(t, mo_relu(t, gin_layer(t, A, X, p)), 1e-5), p + 3);
}

static mo_tensor *autoencoder_loss(mo_tape *t, const mo_graph *g, mo_tensor *Z, mo_random *random) {
    static int64_t u[2 * BATCH], v[2 * BATCH];
    static float target[2 * BATCH];
    for (int i = 0; i < 2 * BATCH; i++) {
        target[i] = i < BATCH;
        int64_t e = mo_random_below(random, g->nnz), low = 0, high = g->nodes;
        while (high - low > 1) /* finds the row of entry e in the adjacency */
            *(g->row_pointer[(low + high) / 2] <= e ? &low : &high) = (low + high) / 2;
        u[i] = i < BATCH ? low : mo_random_below(random, g->nodes);
        v[i] = i < BATCH ? g->column[e] : mo_random_below(random, g->nodes);
    }
    mo_tensor *Zu = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, (int64_t[]){2 * BATCH}, u));
    mo_tensor *Zv = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, (int64_t[]){2 * BATCH}, v));
    mo_tensor *logits = mo_sum(t, mo_mul(t, Zu, Zv), MO_AXIS(1), MO_DROP_AXES);
    return mo_binary_cross_entropy(t, logits, mo_from(t, MO_F32, 1, (int64_t[]){2 * BATCH}, target));
}

static mo_csr *adjacency(mo_context *ctx, const mo_graph *g) {
    float *one = malloc((size_t)g->nnz * sizeof *one);
    for (int64_t i = 0; one && i < g->nnz; one[i++] = 1) {
    }
    mo_csr *A = mo_csr_create(ctx, g->nodes, g->nodes, g->row_pointer, g->column, MO_F32, one);
    free(one);
    return A;
}

int main(int argc, char **argv) {
    const char *names[] = {argc > 1 ? argv[1] : "citeseer", argc > 2 ? argv[2] : "cora"};
    mo_context *ctx = mo_context_create(NULL);
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_random random = mo_random_at(1, MO_PURPOSE_INIT, 0);
    mo_tensor *p[PARAMETERS], *grad[PARAMETERS], *X[2];
    mo_feature_options o = {.dim = DIM, .hops = 1, .power_iterations = 2};
    mo_csr *A[2];
    mo_graph *g[2];
    for (int i = 0; i < PARAMETERS; i++) {
        float w[DIM * DIM];
        for (int j = 0; j < DIM * DIM; j++)
            w[j] = (float)mo_random_normal(&random) / 8;
        p[i] = mo_parameter(ctx, "p", MO_F32, i % 3 ? 2 : 1, i % 3 ? (int64_t[]){DIM, DIM} : (int64_t[]){1});
        mo_tensor_write(p[i], w, (i % 3 ? sizeof w : sizeof *w));
    }
    for (int i = 0; i < 2 && mo_ok(ctx); i++) {
        g[i] = mo_graph_open(ctx, names[i]);
        A[i] = mo_ok(ctx) ? adjacency(ctx, g[i]) : NULL;
        X[i] = mo_ok(ctx)
                   ? mo_embed_hop(
                         &(mo_source){.graph = g[i], .features = mo_task_features_open(g[i], MO_TASK_NC, NULL, &o)}, 0)
                   : NULL;
    }
    mo_optimizer *adamw = mo_adamw_create(ctx, p, PARAMETERS, &(mo_adamw_options){0});
    for (int step = 0, steps = argc > 4 ? atoi(argv[4]) : 200; step <= steps && mo_ok(ctx); step++, mo_tape_reset(t)) {
        mo_tensor *loss = autoencoder_loss(t, g[0], gin_encode(t, A[0], X[0], p), &random);
        if (step % 50 == 0)
            printf("step %3d  loss %.3f\n", step, mo_item(loss));
        mo_gradients(t, loss, p, grad, PARAMETERS);
        mo_optimizer_step(adamw, grad, 0.003, NULL);
    }
    if (mo_ok(ctx) && argc > 3)
        mo_npy_write(gin_encode(t, A[1], X[1], p), argv[3]);
    if (!mo_ok(ctx))
        fprintf(stderr, "%s\n", mo_context_status(ctx)->message);
    return !mo_ok(ctx);
}
