/* Defines an encoder, trains it on one graph, evaluates it on another under two heads, and computes embeddings.
 *     Z = sum_k softmax(a)_k X_k W_k      X_k [n, d] the rows k hops out, W_k [d, 32]
 * These dozen lines are the whole encoder: the library has head, temperature, loss, links, graphs and weights files.
 * As a program:       cc custom_encoder.c $(pkg-config --cflags --libs mochi) -o custom_encoder && ./custom_encoder
 * As a shared object: cc -shared -fPIC custom_encoder.c $(pkg-config --cflags --libs mochi) -o custom_encoder.so
 *                     mochi gradcheck --encoder ./custom_encoder.so
 *                     mochi train --encoder ./custom_encoder.so --pool citeseer,enzymes --out run
 *                     mochi eval --encoder ./custom_encoder.so --weights run/weights.safetensors --data cora */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

static mo_tensor *encode_ring(mo_tape *t, const mo_encoding *x) {
    if (x->n > x->max_rows)
        return mo_in_blocks(t, x); /* calls this function for each block of rows */
    mo_tensor *X = mo_episode_rows(t, x->episode, "hops"), *const *parameter = x->parameters; /* X [l + 1, n, d] */
    mo_tensor *a = mo_reshape(t, mo_softmax(t, parameter[0], MO_AXIS(0)), 3, (int64_t[]){-1, 1, 1});
    return mo_sum(t, mo_mul(t, mo_matmul(t, X, parameter[1]), a), MO_AXIS(0), MO_DROP_AXES);
}

static const mo_encoder_parameter parameters[] = {
    {.name = "hop", .ndim = 1, .shape = {MO_ENCODER_BLOCKS}},
    {.name = "layer", .spread = 4, .ndim = 3, .shape = {MO_ENCODER_BLOCKS, MO_ENCODER_DIM, 32}},
};

const mo_encoder mo_encoder_plugin = {
    /* exported by a shared object */
    .abi = MO_ENCODER_ABI,
    .size = sizeof(mo_encoder),
    .name = "mixed_hops",
    .n_parameters = 2,
    .parameters = parameters,
    .encode = encode_ring,
};

static void print_ring_row(const mo_eval_row *r, void *state) {
    (void)state;
    printf("%s %s, k = %d, %s: accuracy %.1f\n", r->data, r->features, (int)r->k, r->head, r->mean);
}

static void train_ring(mo_model *model, mo_pool *pool, const char *folder) {
    mo_trainer_options o = {.steps = 60,
        .episodes_per_step = 1,
        .adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 1},
        .plan = {.k_min = 4, .k_max = 16, .q_min = 16, .q_max = 16, .max_classes = 8, .seed = 1},
        .out = folder};
    mo_trainer *trainer = mo_trainer_create(model, pool, &o);
    mo_trainer_run(trainer, NULL, NULL);
    mo_trainer_finish(trainer);
    mo_trainer_release(trainer);
}

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    char folder[] = "/tmp/custom_encoder-XXXXXX";
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    mo_check_result check = mo_check_encoder(ctx, &mo_encoder_plugin, 2, 0);
    printf("order 2: error %.1e, %s\n", check.error, check.pass ? "pass" : check.worst);
    mo_readout_options ridge = {.lambda = 1, .smoothing = 0.1}, logistic = {.head = &mo_head_logistic};
    mo_model *model = mo_encoder_create(ctx, MO_F32, &mo_encoder_plugin, (mo_encoder_rows){3, 64}, &ridge, 0);
    mo_pool *pool = mo_pool_for(ctx, model, (const char *[]){"citeseer:nc"}, 1);
    mo_pool *asked = mo_pool_for(ctx, model, (const char *[]){"cora:nc"}, 1);
    train_ring(model, pool, mkdtemp(folder));
    mo_eval_options o = {.n_shots = 1, .shots = (int64_t[]){16}, .seeds = 3};
    mo_candidate c = {.features = "trained", .model = model, .head = &mo_head_ridge};
    mo_evaluate(ctx, mo_pool_source(asked, 0), &c, 1, &o, print_ring_row, NULL);
    c.model = mo_model_under_head(model, &logistic, 0); /* shares the encoder of `model` */
    c.head = logistic.head;
    mo_evaluate(ctx, mo_pool_source(asked, 0), &c, 1, &o, print_ring_row, NULL);
    mo_tensor *Z = mo_embed_all(c.model, mo_pool_source(asked, 0), 0);
    printf("embeddings of %d nodes, %d wide\n", (int)mo_dim(Z, 0), (int)mo_dim(Z, 1));
    return !check.pass; /* the program ends here, so nothing is released */
}
