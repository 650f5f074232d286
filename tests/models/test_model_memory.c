/* tests/models/test_model_memory.c - out of memory in heads, models and what is computed with them
 * (tests/failing_memory.h). */
#include "tests/failing_memory.h"

static mo_tensor *drawn(mo_tape *t, int64_t rows, int64_t columns, uint64_t seed) {
    double values[64];
    mo_random r = mo_random_at(seed, MO_PURPOSE_OWN, 0);
    for (int64_t i = 0; i < rows * columns; i++)
        values[i] = mo_random_normal(&r);
    return mo_from(t, MO_F64, 2, (int64_t[]){rows, columns}, values);
}

static double total(mo_tape *t, mo_tensor *X) {
    return mo_ok(mo_tape_context(t)) ? mo_item(mo_sum(t, mo_cast(t, mo_abs(t, X), MO_F64), MO_ALL, MO_DROP_AXES)) : 0;
}

/* Every head of the library on rows, and a fitted ridge with its gradient. */
static double heads(mo_context *ctx, scratch *unused) {
    static const char *const names[] = {"ridge", "logistic", "svm", "prototype_euclidean", "mixture", "mlp"};
    char path[1024];
    snprintf(path, sizeof path, "%s/head_good.so", getenv("MOCHI_PLUGINS") ? getenv("MOCHI_PLUGINS") : ".");
    const mo_head *loaded = mo_load_head(ctx, path); /* dlopen's own allocations are not wrapped, so they never fail */
    double value = loaded ? 1 + loaded->n_parameters : 0;
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *Zs = mo_require_grad(drawn(t, 6, 3, 1)), *Zq = drawn(t, 2, 3, 2), *W, *b, *grad;
    mo_tensor *Ys = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){6}, (int64_t[]){0, 1, 0, 1, 0, 1}), 2, MO_F64);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS] = {0};
        const mo_head *head = mo_find_head(names[i]);
        assert_non_null(head);
        if (mo_head_start(t, head, MO_F64, 3, NULL, 1, parameters) == MO_OK)
            value += total(t, mo_head_apply(t, head, Zs, Ys, Zq, parameters));
    }
    mo_ridge_fit(t, Zs, Ys, mo_scalar(t, MO_F64, 0.5), MO_RIDGE_DUAL, &W, &b);
    mo_tensor *sum = mo_sum(t, mo_add(t, mo_square(t, W), b), MO_ALL, MO_DROP_AXES);
    if (mo_grad(t, &sum, NULL, 1, &Zs, &grad, 1, 0) == MO_OK)
        value += total(t, grad);
    return value;
}

static double check_head(mo_context *ctx, scratch *unused) {
    mo_check_result r = mo_check_head(ctx, mo_find_head("prototype_inner"), 1, 1);
    if (!r.pass && mo_ok(ctx))
        mo_fail(ctx, strstr(r.worst, "memory") ? MO_MEMORY : MO_STATE, "%s", r.worst);
    return 1 + r.samples + r.error;
}

/* A small MOCHI on drawn episodes of sets: embeddings, logits, loss and its gradient. */
static double episodes(mo_context *ctx, scratch *unused) {
    double value = mo_cosine(0.1, 0, 1, 4);
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = 8;
    o.encoder.hops = 2;
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F32, &o, 1);
    HELD(mo_pool) *pool = mo_pool_for(ctx, m, (const char *[]){"tests/graphs/rings.txt"}, 1);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_plan_options plan = {.k_min = 1, .k_max = 1, .q_min = 1, .q_max = 1, .max_classes = 8, .seed = 1};
    mo_episode e;
    mo_tensor *Zs, *Zq, *logits, *grad, *W = mo_model_parameter(m, 0);
    if (mo_pool_draw(pool, t, 3, MO_FAMILY_DRAWN, &plan, &e, NULL) == MO_OK) {
        mo_model_embed(t, m, &e, NULL, &Zs, &Zq);
        value += total(t, Zs) + total(t, mo_model_logits(t, m, &e, NULL));
        mo_tensor *loss = mo_model_loss(t, m, &e, NULL, &logits);
        if (mo_grad(t, &loss, NULL, 1, &W, &grad, 1, MO_ALLOW_UNUSED) == MO_OK)
            value += total(t, grad) + total(t, loss);
    }
    return value;
}

/* A ring with chords, from its edges. */
static mo_graph *ring(mo_context *ctx) {
    enum { NODES = 24 };
    int64_t u[2 * NODES], v[2 * NODES];
    for (int64_t i = 0; i < NODES; i++) {
        u[2 * i] = u[2 * i + 1] = i;
        v[2 * i] = (i + 1) % NODES;
        v[2 * i + 1] = (i * i + 5) % NODES;
    }
    return mo_graph_from_edges(ctx, "ring", NODES, 2 * NODES, u, v);
}

/* Computes the SVDs of a ring and of a band matrix that is not square. Both have more than twice as many columns as a
 * random subspace. */
static double decompositions(mo_context *ctx, scratch *unused) {
    enum { SIDE = 70, MOST = 74 };
    int64_t pointer[MOST + 1] = {0};
    int32_t column[2 * MOST];
    float entry[2 * MOST];
    double value = 0;
    for (int rows = SIDE; rows <= MOST; rows += MOST - SIDE) {
        for (int i = 0; i < rows; i++) {
            int a = (i + SIDE - 1) % SIDE, b = (i + 1) % SIDE;
            pointer[i + 1] = 2 * (i + 1);
            column[2 * i] = (int32_t)(a < b ? a : b);
            column[2 * i + 1] = (int32_t)(a < b ? b : a);
            entry[2 * i] = entry[2 * i + 1] = rows == SIDE ? 1 : (float)(1 + i % 7);
        }
        HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
        HELD(mo_csr) *A = mo_csr_create(ctx, rows, SIDE, pointer, column, MO_F32, entry);
        mo_tensor *U, *S, *V;
        double residual;
        if (rows == SIDE)
            mo_csr_declare_symmetric(A);
        if (mo_sparse_svd(t, A, 4, 1, 1, &U, &S, &V, &residual) == MO_OK)
            value += residual + total(t, S) + total(t, U) + total(t, V);
    }
    return value;
}

static double links(mo_context *ctx, scratch *unused) {
    double score[2] = {0};
    mo_few_shot_options o = {.weights = "tests/fuzz/seeds/small.safetensors"};
    mo_graph *graph = ring(ctx);
    if (graph)
        mo_few_shot_links(graph, &o, (int64_t[]){0, 3}, (int64_t[]){7, 18}, 2, score);
    mo_graph_release(graph);
    return 100 + score[0] + 2 * score[1];
}

static double suggestions(mo_context *ctx, scratch *unused) {
    double logits[4] = {0};
    int64_t id[3] = {0};
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_few_shot_options o = {.rows = drawn(t, 12, 4, 5)};
    mo_few_shot *f = mo_ok(ctx) ? mo_few_shot_open(NULL, MO_TASK_NC, &o) : NULL;
    if (f && mo_few_shot_suggest(f, (int64_t[]){0}, 1, 3, id) == MO_OK &&
        mo_few_shot_fit(f, (int64_t[]){0, 1, 2, 3}, (int64_t[]){0, 1, 0, 1}, 4) == MO_OK)
        mo_few_shot_logits(f, (int64_t[]){4, 5}, 2, logits);
    mo_few_shot_release(f);
    mo_tape_release(t);
    return 1000 + (double)(id[0] + 10 * id[1] + 100 * id[2]) + logits[0] + 2 * logits[3];
}

static void lack_of_memory_in_a_model_is_a_status(void **state) {
    static const named_scenario all[] = {{"heads", heads, 60}, {"check a head", check_head, 40},
        {"episodes", episodes, 60}, {"decompositions", decompositions, 1000}, {"links", links, 40},
        {"suggestions", suggestions, 100}};
    fail_allocations(*state, all, sizeof all / sizeof *all);
}

int main(int argc, char **argv) {
    return run_with_failing_memory(
        argc, argv, lack_of_memory_in_a_model_is_a_status, "lack_of_memory_in_a_model_is_a_status");
}
