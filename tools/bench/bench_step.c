/* tools/bench/bench_step.c - one training step on a synthetic episode whose rows are already
 * gathered.
 *
 * Operations counted in units of u = 2 N d^2, with K = 4 hop blocks and L output layers: forward K (hop layers) + 1
 * (the half of the attention layer that reads hop 0, computed once) + K (its other half) + L; backward twice the
 * forward count less K, as the input needs no gradient. In graph episodes the last output layer runs on graphs instead
 * of nodes. Readout: Gram matrix and its adjoint, Cholesky n^3 / 3, three pairs of triangular solves, and the products
 * with W, for n = the smaller of n_s (dual) and d + 1 (primal). */
#include "tools/bench/bench.h"
#include "tools/cli/machine.h"
#include "tools/cli/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = 64, LAYERS = 3, REPEATS = 3 };

typedef struct step_case {
    const char *name;
    synthetic episode;
} step_case;

static const step_case cases[] = {
    {"nc15", {MO_TASK_NC, 15, 20, 40, 0, false}},
    {"nc64", {MO_TASK_NC, 64, 32, 64, 0, false}},
    {"lp", {MO_TASK_LP, 2, 32, 64, 0, false}},
    {"gc_enzymes", {MO_TASK_GC, 6, 20, 40, 33, false}},
    {"gc_dd", {MO_TASK_GC, 2, 20, 40, 284, false}},
    {"gc_enzymes_mixed", {MO_TASK_GC, 6, 20, 40, 33, true}},
};

enum { N_CASES = sizeof cases / sizeof *cases };

static const step_case *find_case(const char *name) {
    for (int i = 0; i < N_CASES; i++)
        if (!strcmp(name, cases[i].name))
            return &cases[i];
    return NULL;
}

bool bench_knows(const char *name) {
    return find_case(name) != NULL;
}

static double count_step_gflop(const synthetic *c, const bench_options *o) {
    double C = (double)c->classes, ns = C * (double)c->k, nq = C * (double)c->q, d = o->dim, D = d + 1;
    double u = 2 * (double)synthetic_rows(c) * d * d, L = LAYERS;
    double encoder = c->task == MO_TASK_GC
                         ? (3 * (2 * SYNTHETIC_BLOCKS + L) - SYNTHETIC_BLOCKS) * u + 3 * 2 * (ns + nq) * d * d
                         : (3 * (2 * SYNTHETIC_BLOCKS + 1 + L) - SYNTHETIC_BLOCKS) * u;
    double products = 6 * ns * D * C;
    double dual = 3 * ns * ns * D + ns * ns * ns / 3 + 6 * ns * ns * C + products;
    double primal = 3 * ns * D * D + D * D * D / 3 + 6 * D * D * C + products;
    return 1e-9 * (encoder + fmin(dual, primal) + 6 * nq * D * C);
}

/* ---- the step ---- */

typedef struct training {
    mo_tape *t;
    mo_model *model;
    mo_optimizer *optimizer;
    mo_episode episode;
    int n;
    mo_tensor *parameter[MAX_PARAMETERS], *grad[MAX_PARAMETERS];
    double lr;
    mo_capture *capture; /* one captured step, with --replay */
    int64_t ahead;       /* the next step to replay, counted from 0 */
} training;

static void find_gradients(training *s) {
    mo_tensor *loss = mo_model_loss(s->t, s->model, &s->episode, NULL, NULL);
    mo_gradients(s->t, loss, s->parameter, s->grad, s->n);
}

/* Returns the gradients at the initial parameters, concatenated; NULL if memory is short. */
static float *read_gradients(training *s, size_t bytes) {
    float *values = malloc(bytes), *at = values;
    find_gradients(s);
    for (int i = 0; i < s->n && values; at += mo_numel(s->grad[i++]))
        mo_tensor_read(s->grad[i], at, (size_t)mo_numel(s->grad[i]) * sizeof *at);
    mo_tape_reset(s->t);
    return values;
}

/* Returns whether a step's gradients have the same bits every time. A sum whose order changes would change them. */
static bool repeats_bits(training *s) {
    size_t bytes = 0;
    for (int i = 0; i < s->n; i++)
        bytes += (size_t)mo_numel(s->parameter[i]) * sizeof(float);
    float *first = read_gradients(s, bytes);
    bool same = first;
    for (int i = 0; i < REPEATS && same; i++) {
        float *next = read_gradients(s, bytes);
        same = next && memcmp(first, next, bytes) == 0;
        free(next);
    }
    free(first);
    return same;
}

static void take_timed_step(void *state) {
    training *s = state;
    find_gradients(s);
    mo_optimizer_step(s->optimizer, s->grad, s->lr, NULL);
    mo_tape_reset(s->t);
}

/* Records the third step: the first two give the tape the addresses that all later steps use. */
static bool record_step(mo_context *ctx, training *s) {
    take_timed_step(s);
    take_timed_step(s);
    if (mo_context_wait(ctx) != MO_OK || mo_capture_begin(ctx, 1) != MO_OK)
        return false;
    find_gradients(s);
    mo_optimizer_apply(s->optimizer, s->grad);
    mo_tape_reset(s->t);
    s->capture = mo_capture_end(ctx);
    return s->capture != NULL;
}

static void replay_step(void *state) {
    training *s = state;
    mo_context *ctx = mo_tape_context(s->t);
    mo_optimizer_advance(s->optimizer, s->lr);
    if (!mo_capture_replay(s->capture, s->ahead++) && mo_ok(ctx))
        mo_fail(ctx, MO_STATE, "bench: memory has moved since the step was recorded");
}

static bool start_training(mo_context *ctx, training *s, const bench_options *o) {
    mo_mochi_options options = mo_mochi_defaults();
    options.encoder.dim = o->dim;
    options.encoder.layers = LAYERS;
    options.readout.temperature = MO_TEMPERATURE_EMBED;
    mo_adamw_options adamw = {
        .lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1};
    s->lr = adamw.lr;
    s->t = mo_tape_create(ctx, MO_RECORD);
    s->model = mo_mochi_create(ctx, MO_F32, &options, 0);
    s->n = mo_model_n_parameters(s->model);
    if (!s->t || !s->n || s->n > MAX_PARAMETERS)
        return false;
    for (int i = 0; i < s->n; i++)
        s->parameter[i] = mo_model_parameter(s->model, i);
    s->optimizer = mo_adamw_create(ctx, s->parameter, s->n, &adamw);
    return s->optimizer != NULL;
}

static bool run_case(mo_context *ctx, const bench_options *o, const step_case *c, double rate) {
    training s = {.episode = synthetic_episode(ctx, &c->episode, o->dim)};
    s.episode.max_rows = o->max_rows;
    bench_record record = {.name = c->name,
        .variant = "mochi++",
        .rows = synthetic_rows(&c->episode),
        .gflop = count_step_gflop(&c->episode, o),
        .gemm_rate = rate};
    bool started = mo_ok(ctx) && start_training(ctx, &s, o);
    if (started && o->bits)
        record.bits = repeats_bits(&s) ? "repeat" : "differ";
    bool fine = started && (!o->replay || record_step(ctx, &s)) &&
                bench_run(ctx, o, o->replay ? replay_step : take_timed_step, &s, &record);
    mo_capture_release(s.capture);
    mo_tape_release(s.t);
    mo_optimizer_release(s.optimizer);
    mo_model_release(s.model);
    release_synthetic(&s.episode);
    return fine;
}

bool bench_steps(mo_context *ctx, const bench_options *o) {
    double rate = measure_product(ctx, o->runs < 3 ? 1536 : 4096, MO_F32, 3);
    int n = o->cases.count ? o->cases.count : N_CASES;
    for (int i = 0, fine = true; fine && i < n; i++)
        fine = run_case(ctx, o, o->cases.count ? find_case(o->cases.items[i]) : &cases[i], rate);
    return mo_ok(ctx);
}
