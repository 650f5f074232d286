/* tests/train/test_out_of_memory.c - out of memory in graphs, files, heads, models and training
 * (tests/failing_memory.h). */
#include "tests/failing_memory.h"
#include "tests/folder.h"
#include "tests/sparse_svd.h"
#include "train/features/closed_walks.h"
#include "train/graphs/graph_build.h"
#include "train/run/trainer.h"

/* Writes and reads arrays in every format. */
static double store(mo_context *ctx, scratch *s) {
    double value = 0;
    const double x[] = {1, 2, 3, 4};
    for (int form = 0; form < 3; form++) {
        const char *path = scratch_path(s, form == 0 ? "x.npy" : form == 1 ? "x.npz" : "x.safetensors");
        HELD(mo_arrays) *arrays = mo_arrays_create(ctx), *read = NULL;
        HELD(mo_tensor) *one = NULL;
        mo_arrays_take(arrays, "x", mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){2, 2}, x));
        const mo_tensor *X = mo_arrays_find(arrays, "x");
        if (form == 0 && X && mo_npy_write(X, path) == MO_OK)
            one = mo_npy_read(ctx, path);
        if (form == 1 && mo_npz_write(arrays, path) == MO_OK)
            read = mo_npz_read(ctx, path);
        if (form == 2 && mo_safetensors_write(arrays, "{\"made_by\":\"a test\"}", path) == MO_OK)
            read = mo_safetensors_read(ctx, path);
        const mo_tensor *Y = one ? one : mo_arrays_find(read, "x");
        double y[4] = {0};
        if (Y && mo_tensor_read(Y, y, sizeof y) == MO_OK)
            value += y[form] + 10 * y[3];
        unlink(path);
    }
    return value;
}

/* Reads graphs in every format. */
static double load(mo_context *ctx, scratch *s) {
    static const char *const names[] = {
        "tests/graphs/edges.txt.gz", "tests/graphs/lists.npz", "tests/graphs/club.npz", "tests/graphs/TINY", "mutag"};
    double value = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        HELD(mo_graph) *graph = mo_graph_open(ctx, names[i]);
        value += graph ? (double)(graph->nodes + graph->nnz) : 0;
    }
    return value;
}

/* Returns a set of eight paths and rings of different sizes. */
static mo_graph *small_set(mo_context *ctx) {
    return mo_graph_open(ctx, "tests/graphs/rings.npz");
}

static bool add_loss(const mo_step_report *r, void *sum) {
    *(double *)sum += r->loss;
    return true;
}

/* Takes two steps with a checkpoint each, resumes for a third, and writes the weights. */
static double train(mo_context *ctx, scratch *s) {
    double sum = 0;
    const char *folder = scratch_folder(s, "run");
    mo_feature_options features = {.form = MO_ROWS_PER_EXAMPLE, .dim = 4, .hops = 3, .power_iterations = 1};
    HELD(mo_pool) *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    if (pool)
        mo_pool_add(pool, small_set(ctx), 1u << MO_TASK_GC);
    HELD(mo_model) *model = mo_invariant_create(ctx, MO_F32, NULL);
    mo_trainer_options o = {.steps = 2,
        .episodes_per_step = 2,
        .adamw = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .clip = 1},
        .plan = {.k_min = 1, .k_max = 1, .q_min = 1, .q_max = 1, .max_classes = 8, .seed = 1},
        .checkpoint_every = 1,
        .out = folder};
    for (int again = 0; again < 2; again++) {
        HELD(mo_trainer) *trainer = mo_ok(ctx) ? mo_trainer_create(model, pool, &o) : NULL;
        if (again && trainer)
            mo_trainer_resume(trainer);
        mo_trainer_run(trainer, add_loss, &sum);
        if (mo_trainer_finish(trainer) == MO_OK)
            sum += 1;
    }
    return sum;
}

/* Predicts labels of a set's graphs from a few. */
static double predict(mo_context *ctx, scratch *s) {
    double p[6] = {0}, value = 0;
    mo_few_shot_options o = {.weights = "tests/fuzz/seeds/small.safetensors", .head = &mo_head_ridge};
    HELD(mo_graph) *graph = small_set(ctx);
    HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_GC, &o);
    if (f && mo_few_shot_fit(f, (int64_t[]){0, 1, 2, 3}, (int64_t[]){0, 1, 0, 1}, 4) == MO_OK &&
        mo_few_shot_probabilities(f, (int64_t[]){4, 5, 6}, 3, p) == MO_OK)
        value = 1 + p[0] + 2 * p[2] + 4 * p[4] + mo_few_shot_expect(f).temperature;
    return value;
}

static void add_row(const mo_eval_row *row, void *sum) {
    *(double *)sum += row->failure ? 0 : row->mean + row->nll;
}

/* Fits heads on episodes of rows, and diagnoses the prototypes. */
static double fit(mo_context *ctx, scratch *s) {
    float z[48];
    int64_t y[24];
    double sum = 0;
    for (int i = 0; i < 48; i++)
        z[i] = (float)((i * 29 % 31) / 31.0 + (i / 2 % 2 ? 1 : 0));
    for (int i = 0; i < 24; i++)
        y[i] = i % 2;
    static const mo_candidate c[] = {{.features = "rows", .head = &mo_head_ridge},
        {.features = "rows", .head = &mo_head_svm}, {.features = "rows", .head = &mo_head_prototype_inner}};
    HELD(mo_tensor) *Z = mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){24, 2}, z);
    HELD(mo_tensor) *label = mo_tensor_create_from(ctx, MO_I64, 1, (int64_t[]){24}, y);
    HELD(mo_embeddings) *E = mo_ok(ctx) ? mo_embeddings_create(Z, label, "rows") : NULL;
    const mo_eval_options o = {.protocol = MO_PROTOCOL_EPISODE,
        .n_shots = 1,
        .shots = (int64_t[]){3},
        .episodes = 2,
        .queries = 2,
        .hold_out = true};
    HELD(mo_diagnosis) d = {0};
    mo_diagnosis_options diagnosed = {.epsilon = 0.1};
    if (E && mo_evaluate(ctx, E->source, c, 3, &o, add_row, &sum) == MO_OK && mo_diagnose(E, &diagnosed, &d) == MO_OK)
        sum += d.offset;
    return mo_ok(ctx) ? sum : 0;
}

/* Computes kernels of dense and sparse attributes, of a user's rows, and sampled walks. */
static double compare_nodes(mo_context *ctx, scratch *s) {
    enum { N = 150, COLUMNS = 3, EXPERTS = 6 }; /* with this many nodes dense rows cost less */
    int64_t u[3 * N], v[3 * N], node[] = {0, 3, 3, 7}, busy = 2;
    float x[N * COLUMNS], K[EXPERTS * 4 * 2] = {0};
    double sum = 0;
    for (int e = 0; e < 3 * N; e++) {
        u[e] = e % N;
        v[e] = (e * e + 1) % N;
        x[e] = (float)(1 + e % 5);
    }
    for (int sparse = 0; sparse < 2 && mo_ok(ctx); sparse++) {
        HELD(mo_graph) *graph = mo_graph_from_edges(ctx, "few", N, 3 * N, u, v);
        mo_closed_walks walks = {0};
        if (graph && mo_graph_set_features(graph, x, COLUMNS, NULL) && sparse)
            graph->features = 100 * COLUMNS;
        HELD(mo_example_kernels) *k = graph ? mo_example_kernels_create(&(mo_source){.graph = graph}) : NULL;
        HELD(mo_tensor) *mine = mo_tensor_create_from(ctx, MO_F32, 2, (int64_t[]){N, COLUMNS}, x);
        if (k && mo_example_kernels_add(k, graph, &(mo_expert){"mine", mine}) == MO_OK &&
            mo_example_kernels_count(k) == EXPERTS)
            mo_example_kernels_gram(k, node, 4, node + 1, 2, K);
        if (graph && mo_ok(ctx))
            mo_sampled_walks(graph, &busy, 1, &walks);
        for (int i = 0; i < EXPERTS * 4 * 2; i++)
            sum += K[i];
        sum += walks.back[2];
    }
    return sum;
}

/* Computes kernels between three graphs with attributes and labels. */
static double compare_graphs(mo_context *ctx, scratch *s) {
    enum { N = 12, GRAPHS = 3, EXPERTS = 5 };
    int64_t u[N], v[N], kind[N], graph[] = {2, 0};
    float x[N], K[EXPERTS * 4] = {0};
    double sum = 0;
    for (int i = 0; i < N; i++) {
        u[i] = i;
        v[i] = i / 4 * 4 + (i % 4 + 1) % (2 + i / 4);
        kind[i] = i * i % 3;
        x[i] = (float)(i * i) / 7;
    }
    HELD(mo_graph) *set = mo_graph_from_edges(ctx, "three", N, N, u, v);
    if (set && mo_graph_set_features(set, x, 1, kind)) {
        int64_t *offset = realloc(set->graph_offset, (GRAPHS + 1) * sizeof *offset);
        if (!offset)
            mo_fail(ctx, MO_MEMORY, "the test's own");
        set->graph_offset = offset ? offset : set->graph_offset;
        set->graphs = offset ? GRAPHS : 1;
        for (int g = 0; g <= GRAPHS && offset; g++)
            offset[g] = 4 * g;
    }
    HELD(mo_example_kernels) *k =
        set && mo_ok(ctx) ? mo_example_kernels_create(&(mo_source){.graph = set, .task = MO_TASK_GC}) : NULL;
    if (k && mo_example_kernels_count(k) == EXPERTS)
        mo_example_kernels_gram(k, graph, 2, graph, 2, K);
    for (int i = 0; i < EXPERTS * 4; i++)
        sum += K[i];
    return sum;
}

/* ---- heads, models and what is computed with them ---- */

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
    HELD(mo_pool) *pool = mo_pool_for(ctx, m, (const char *[]){"tests/graphs/rings.npz"}, 1);
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
        if (A && sparse_svd(t, A, 4, 1, 1, &U, &S, &V, &residual) == MO_OK)
            value += residual + total(t, S) + total(t, U) + total(t, V);
    }
    return value;
}

static double links(mo_context *ctx, scratch *unused) {
    double score[2] = {0};
    mo_few_shot_options o = {.weights = "tests/fuzz/seeds/small.safetensors"};
    HELD(mo_graph) *graph = ring(ctx);
    if (graph)
        mo_few_shot_links(graph, &o, (int64_t[]){0, 3}, (int64_t[]){7, 18}, 2, score);
    return 100 + score[0] + 2 * score[1];
}

static double suggestions(mo_context *ctx, scratch *unused) {
    double logits[4] = {0};
    int64_t id[3] = {0};
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_few_shot_options o = {.rows = drawn(t, 12, 4, 5)};
    HELD(mo_few_shot) *f = mo_ok(ctx) ? mo_few_shot_open(NULL, MO_TASK_NC, &o) : NULL;
    if (f && mo_few_shot_suggest(f, (int64_t[]){0}, 1, 3, id) == MO_OK &&
        mo_few_shot_fit(f, (int64_t[]){0, 1, 2, 3}, (int64_t[]){0, 1, 0, 1}, 4) == MO_OK)
        mo_few_shot_logits(f, (int64_t[]){4, 5}, 2, logits);
    return 1000 + (double)(id[0] + 10 * id[1] + 100 * id[2]) + logits[0] + 2 * logits[3];
}

static void lack_of_memory_is_a_status(void **state) {
    static const named_scenario all[] = {{"store", store, 400}, {"load", load, 600}, {"train", train, 40},
        {"predict", predict, 40}, {"fit", fit, 100}, {"compare nodes", compare_nodes, 400},
        {"compare graphs", compare_graphs, 400}, {"heads", heads, 60}, {"check a head", check_head, 40},
        {"episodes", episodes, 60}, {"decompositions", decompositions, 1000}, {"links", links, 40},
        {"suggestions", suggestions, 100}};
    fail_allocations(*state, all, sizeof all / sizeof *all);
}

int main(int argc, char **argv) {
    return run_with_failing_memory(argc, argv, lack_of_memory_is_a_status, "lack_of_memory_is_a_status");
}
