/* tests/golden/golden_peer.c - repeats a training run of the PyTorch peer from its weights, features and episodes, and
 * compares each step's loss and gradient norm, and the parameters at the end.
 *
 * In float64 only: float32 would compare the rounding of a hundred steps. */
#include "models/inside.h"
#include "tests/golden/golden.h"
#include "tests/worst_of.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 3 };
static const char *const tasks[TASKS] = {"lp", "nc", "gc"};

/* Returns row `step` of the array task.name [steps, n], or NULL. */
static mo_tensor *peer_row(golden *g, const char *task, const char *name, int64_t step) {
    mo_tensor *all = golden_find(g, task, name);
    if (!all)
        return NULL;
    int64_t n = mo_dim(all, 1), *values = malloc((size_t)(mo_numel(all) + 1) * sizeof *values);
    mo_tensor_read(all, values, (size_t)mo_numel(all) * sizeof *values);
    mo_tensor *row = mo_from(g->t, MO_I64, 1, &n, values + step * n);
    free(values);
    return row;
}

static mo_episode peer_episode(golden *g, const char *task, int64_t step, const mo_gamlp_options *o) {
    mo_episode e = {.classes = (int64_t)golden_number(g, task, "C", 0), .n_rows = 1};
    bool graphs = !strcmp(task, "gc");
    e.task = !strcmp(task, "nc") ? MO_TASK_NC : graphs ? MO_TASK_GC : MO_TASK_LP;
    e.rows[0] =
        (mo_named){"hops", golden_hop_major(g->t, golden_data(g, graphs ? task : "", "x"), o->hops, o->dim), NULL};
    e.segment = golden_offsets(g, task);
    e.support[0] = peer_row(g, task, "sup", step);
    e.query[0] = peer_row(g, task, "qry", step);
    e.support[1] = peer_row(g, task, "sup2", step);
    e.query[1] = peer_row(g, task, "qry2", step);
    e.support_label = golden_data(g, task, "ys");
    e.query_label = golden_data(g, task, "yq");
    return e;
}

/* Takes one step over the three tasks, and writes their losses. Returns the norm of the gradient. */
static double peer_step(golden *g, mo_model *m, mo_optimizer *o, int64_t step, double *losses) {
    mo_tensor *P[GOLDEN_PARAMETERS], *grads[GOLDEN_PARAMETERS], *sum = NULL;
    int n = golden_parameters(m, P);
    double norm = 0;
    for (int k = 0; k < TASKS; k++) {
        mo_episode e = peer_episode(g, tasks[k], step, mo_mochi_encoder(m));
        mo_tensor *loss = mo_keep(mo_model_loss(g->t, m, &e, NULL, NULL));
        losses[k] = mo_item(loss);
        sum = sum ? mo_add(g->t, sum, loss) : loss;
    }
    sum = mo_scale(g->t, sum, 1.0 / TASKS, 0);
    mo_grad(g->t, &sum, NULL, 1, P, grads, n, 0);
    mo_optimizer_step(o, grads, golden_number(g, "", "lr", 0), &norm);
    golden_end_case(g, "peer");
    return norm;
}

static double farthest(const mo_tensor *stored, const double *got, int64_t n) {
    double *x = malloc((size_t)n * sizeof *x), distance = 0;
    mo_tensor_read(stored, x, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        distance = worst_of(distance, fabs(got[i] - x[i]));
    free(x);
    return distance;
}

void golden_peer(golden *g) {
    mo_tensor *stored = golden_find(g, "peer", "loss"), *P[GOLDEN_PARAMETERS];
    if (g->real != MO_F64 || !stored)
        return;
    int64_t steps = mo_dim(stored, 0);
    mo_model *m = golden_model(g, MO_TEMPERATURE_EMBED, golden_number(g, "", "lam", 10));
    int n = golden_parameters(m, P);
    mo_adamw_options options = golden_adamw(g);
    mo_optimizer *o = mo_adamw_create(g->ctx, P, n, &options);
    double *losses = calloc((size_t)(steps * (TASKS + 1)), sizeof *losses), *norms = losses + steps * TASKS;
    for (int64_t s = 0; s < steps; s++)
        norms[s] = peer_step(g, m, o, s, losses + TASKS * s);
    golden_compare(g, "peer", "loss", mo_from(g->t, MO_F64, 2, (int64_t[]){steps, TASKS}, losses));
    golden_compare(g, "peer", "grad_norm", mo_from(g->t, MO_F64, 1, &steps, norms));
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "after.%s", mo_tensor_name(P[i]));
        golden_compare(g, "peer", name, P[i]);
    }
    printf("peer: %lld steps of %d tasks; losses differ by %.2g at most\n", (long long)steps, TASKS,
        farthest(stored, losses, steps * TASKS));
    free(losses);
    mo_optimizer_release(o);
    golden_end_case(g, "peer");
    mo_model_release(m);
}
