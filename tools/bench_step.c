/* tools/bench_step.c - `mochi bench step`: one training step on a synthetic episode whose rows are gathered already.
 *
 * What the algorithm needs, with u = 2 N d^2, K = 4 hop blocks and L output layers: forward K (hop layers) + 1 (the
 * half of the attention layer that reads hop 0, once) + K (the other half) + L; backward twice that less K, as the
 * input needs no gradient. In graph episodes the last output layer runs on graphs instead of nodes. Readout: Gram
 * matrix and its adjoint, Cholesky n^3 / 3, three pairs of triangular solves, and the products with W, for n = n_s
 * (dual) or d + 1 (primal), whichever is less. */
#include "tools/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4, MAX_PARAMETERS = 64 };

typedef struct step_case {
    const char *name;
    mo_task task;
    int64_t classes, k, q, nodes; /* nodes of a graph; mixed: in the mean */
    bool mixed;                   /* sizes vary between 2 and 64 */
} step_case;

static const step_case cases[] = {
    {"nc15", MO_TASK_NC, 15, 20, 40, 0, false},
    {"nc64", MO_TASK_NC, 64, 32, 64, 0, false},
    {"lp", MO_TASK_LP, 2, 32, 64, 0, false},
    {"gc_enzymes", MO_TASK_GC, 6, 20, 40, 33, false},
    {"gc_dd", MO_TASK_GC, 2, 20, 40, 284, false},
    {"gc_enzymes_mixed", MO_TASK_GC, 6, 20, 40, 33, true},
};

enum { N_CASES = sizeof cases / sizeof *cases };

static const step_case *find_case(const char *name) {
    for (int i = 0; i < N_CASES; i++)
        if (!strcmp(name, cases[i].name))
            return &cases[i];
    return NULL;
}

bool bench_step_knows(const char *name) {
    return find_case(name) != NULL;
}

/* Examples, and the rows that they stand on. */
static int64_t count_examples(const step_case *c) {
    return c->classes * (c->k + c->q);
}

static int64_t count_rows(const step_case *c) {
    return count_examples(c) * (c->task == MO_TASK_GC ? c->nodes : c->task == MO_TASK_LP ? 2 : 1);
}

static double count_gflop(const step_case *c, const bench_options *o) {
    double C = (double)c->classes, ns = C * (double)c->k, nq = C * (double)c->q, d = o->dim, D = d + 1;
    double u = 2 * (double)count_rows(c) * d * d, L = o->plus ? 3 : 2;
    double encoder = c->task == MO_TASK_GC ? (3 * (2 * BLOCKS + L) - BLOCKS) * u + 3 * 2 * (ns + nq) * d * d
                                           : (3 * (2 * BLOCKS + 1 + L) - BLOCKS) * u;
    double products = 6 * ns * D * C;
    double dual = 3 * ns * ns * D + ns * ns * ns / 3 + 6 * ns * ns * C + products;
    double primal = 3 * ns * D * D + D * D * D / 3 + 6 * D * D * C + products;
    return 1e-9 * (encoder + fmin(dual, primal) + 6 * nq * D * C);
}

/* ---- the episode ---- */

typedef struct index_list {
    int64_t *at;
    int64_t n;
} index_list;

static mo_tensor *take_indices(mo_context *ctx, index_list *list, int64_t n) {
    mo_tensor *T = mo_tensor_from(ctx, MO_I64, 1, &n, list->at);
    list->at += n;
    list->n -= n;
    return T;
}

/* 0 0 0 1 1 1 ..: each class `each` times. */
static mo_tensor *make_labels(mo_context *ctx, int64_t classes, int64_t each, int64_t *buffer) {
    int64_t n = classes * each;
    for (int64_t i = 0; i < n; i++)
        buffer[i] = i / each;
    return mo_tensor_from(ctx, MO_I64, 1, &n, buffer);
}

/* First row of each graph. Mixed sizes come in pairs c, 66 - c, so that their sum is that of equal sizes. */
static mo_tensor *make_segment(mo_context *ctx, const step_case *c, int64_t *buffer) {
    int64_t graphs = count_examples(c), n = graphs + 1;
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 3);
    buffer[0] = 0;
    for (int64_t i = 0, size = 0; i < graphs; i++) {
        if (c->mixed)
            size = i % 2 ? 2 * c->nodes - size : 2 + mo_random_below(&r, 2 * c->nodes - 3);
        buffer[i + 1] = buffer[i] + (c->mixed ? size : c->nodes);
    }
    return mo_tensor_from(ctx, MO_I64, 1, &n, buffer);
}

static mo_episode make_episode(mo_context *ctx, const step_case *c, int dim) {
    int64_t ns = c->classes * c->k, nq = c->classes * c->q, rows = count_rows(c);
    int64_t n = c->task == MO_TASK_GC ? ns + nq : rows, *buffer = malloc((size_t)(n + 1) * sizeof *buffer);
    mo_episode e = {.task = c->task, .classes = c->classes, .n_rows = 1};
    if (!buffer) {
        mo_fail(ctx, MO_MEMORY, "bench step: out of memory");
        return e;
    }
    e.rows[0] = (mo_named){"hops", bench_normal(ctx, 3, (int64_t[]){BLOCKS, rows, dim}, 0)};
    e.support_label = make_labels(ctx, c->classes, c->k, buffer);
    e.query_label = make_labels(ctx, c->classes, c->q, buffer);
    if (c->task == MO_TASK_GC)
        e.segment = make_segment(ctx, c, buffer);
    for (int64_t i = 0; i < n; i++)
        buffer[i] = i;
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 1);
    mo_random_shuffle(&r, buffer, n);
    index_list list = {.at = buffer, .n = n};
    for (int end = 0; end < (c->task == MO_TASK_LP ? 2 : 1); end++) {
        e.support[end] = take_indices(ctx, &list, ns);
        e.query[end] = take_indices(ctx, &list, nq);
    }
    free(buffer);
    return e;
}

static void release_episode(mo_episode *e) {
    mo_tensor *owned[] = {e->rows[0].tensor, e->support[0], e->support[1], e->query[0], e->query[1], e->support_label,
        e->query_label, e->segment};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        mo_tensor_release(owned[i]);
}

/* ---- the step ---- */

typedef struct training {
    mo_tape *t;
    mo_mochi *model;
    mo_optimizer *optimizer;
    mo_episode episode;
    int n;
    mo_tensor *parameter[MAX_PARAMETERS], *grad[MAX_PARAMETERS];
    double lr;
} training;

static void take_step(void *state) {
    training *s = state;
    mo_tensor *loss = mo_mochi_loss(s->t, s->model, &s->episode, NULL, NULL);
    mo_grad(s->t, &loss, NULL, 1, s->parameter, s->grad, s->n, 0);
    mo_optimizer_step(s->optimizer, s->grad, s->lr, NULL);
    mo_tape_reset(s->t);
}

static bool start_training(mo_context *ctx, training *s, const bench_options *o) {
    mo_mochi_options options = mo_mochi_defaults();
    options.encoder.dim = o->dim;
    options.encoder.layers = o->plus ? 3 : 2;
    options.temperature = o->temperature;
    mo_adamw_options adamw = {
        .lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1};
    s->lr = adamw.lr;
    s->t = mo_tape_create(ctx, MO_RECORD);
    s->model = mo_mochi_create(ctx, MO_F32, &options, 0);
    s->n = s->model ? mo_mochi_n_parameters(s->model) : 0;
    if (!s->t || !s->n || s->n > MAX_PARAMETERS)
        return false;
    for (int i = 0; i < s->n; i++)
        s->parameter[i] = mo_mochi_parameter(s->model, i);
    s->optimizer = mo_optimizer_create(ctx, s->parameter, s->n, &adamw);
    return s->optimizer != NULL;
}

static bool run_case(mo_context *ctx, const bench_options *o, const step_case *c, double rate) {
    training s = {.episode = make_episode(ctx, c, o->dim)};
    bench_record record = {.name = c->name,
        .variant = o->plus ? "mochi++" : "mochi",
        .rows = count_rows(c),
        .gflop = count_gflop(c, o),
        .gemm_rate = rate};
    bool fine = mo_ok(ctx) && start_training(ctx, &s, o) && bench_run(ctx, o, take_step, &s, &record);
    mo_tape_release(s.t);
    mo_optimizer_release(s.optimizer);
    mo_mochi_release(s.model);
    release_episode(&s.episode);
    return fine && bench_print(o, &record);
}

bool bench_step(mo_context *ctx, const bench_options *o) {
    double rate = bench_gemm_rate(ctx);
    int n = o->cases.count ? o->cases.count : N_CASES;
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!run_case(ctx, o, o->cases.count ? find_case(o->cases.items[i]) : &cases[i], rate))
            break;
    return mo_ok(ctx);
}
