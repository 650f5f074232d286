/* tests/golden/golden_model.c - the encoder, and whole training steps: logits, loss, gradients, AdamW, a trajectory. */
#include "models/inside.h"
#include "tests/golden/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = GOLDEN_PARAMETERS };

mo_model *golden_model(golden *g, mo_temperature temperature, double lambda) {
    mo_mochi_options o = mo_mochi_defaults();
    char name[64];
    o.readout.temperature = temperature;
    o.readout.lambda = lambda;
    o.readout.smoothing = golden_number(g, "", "smoothing", 0.1);
    o.encoder.hops = -1;
    do
        snprintf(name, sizeof name, "encoder.input_proj.%d.bias", ++o.encoder.hops);
    while (golden_find(g, "", name));
    o.encoder.hops--;
    o.encoder.dim = (int)mo_dim(golden_find(g, "", "encoder.input_proj.0.weight"), 0);
    o.encoder.layers = golden_find(g, "", "encoder.out_mlp.6.weight") ? 3 : 2;
    mo_model *m = mo_mochi_create(g->ctx, g->real, &o, 1);
    for (int i = 0; i < mo_model_n_parameters(m); i++) {
        mo_tensor *P = mo_model_parameter(m, i), *stored = golden_find(g, "", mo_tensor_name(P));
        if (stored)
            mo_tensor_copy(P, stored);
        else if (strcmp(mo_tensor_name(P), "log_temp") != 0)
            mo_fail(g->ctx, MO_FORMAT, "no array %s", mo_tensor_name(P));
    }
    return m;
}

mo_tensor *golden_hop_major(mo_tape *t, mo_tensor *x, int hops, int dim) {
    mo_tensor *split = mo_reshape(t, x, 3, (int64_t[]){mo_dim(x, 0), hops + 1, dim});
    return mo_permute(t, split, (int[]){1, 0, 2});
}

void golden_encoder(golden *g) {
    mo_model *m = golden_model(g, MO_TEMPERATURE_LOGIT, 10);
    if (!m)
        return;
    const mo_gamlp_options *o = mo_mochi_encoder(m);
    mo_tensor *xs[MAX_PARAMETERS], *attention, *x = golden_leaf(g, "", "x");
    char names[MAX_PARAMETERS][96];
    const char *list[MAX_PARAMETERS];
    int n = 0;
    xs[n] = x;
    list[n++] = "grad_x";
    for (int i = 0; i < mo_model_n_parameters(m) - 1; i++) {
        xs[n] = mo_model_parameter(m, i);
        snprintf(names[n], sizeof names[n], "grad.%s", mo_tensor_name(xs[n]));
        list[n] = names[n];
        n++;
    }
    mo_tensor *hops = golden_hop_major(g->t, x, o->hops, o->dim);
    golden_compare(g, "", "mixed", mo_gamlp_mix(g->t, m, hops, NULL, &attention));
    golden_compare(g, "", "attention", attention);
    mo_episode e = {.n_rows = 1, .rows = {{"hops", hops, NULL}}};
    mo_tensor *Z = mo_model_encode(g->t, m, &e, NULL);
    golden_compare(g, "", "z", Z);
    golden_gradients(g, "", Z, xs, list, n);
    golden_end_case(g, "");
    mo_model_release(m);
}

/* ---- steps ---- */

mo_tensor *golden_offsets(golden *g, const char *task) {
    mo_tensor *count = golden_find(g, task, "cnt");
    if (!count)
        return NULL;
    int64_t graphs = mo_numel(count), *offset = calloc((size_t)graphs + 1, sizeof *offset);
    mo_tensor_read(count, offset + 1, (size_t)graphs * sizeof *offset);
    for (int64_t i = 0; i < graphs; i++)
        offset[i + 1] += offset[i];
    mo_tensor *T = mo_from(g->t, MO_I64, 1, (int64_t[]){graphs + 1}, offset);
    free(offset);
    return T;
}

static mo_episode episode_of(golden *g, const char *task, mo_model *m) {
    const mo_gamlp_options *o = mo_mochi_encoder(m);
    mo_episode e = {
        .classes = (int64_t)golden_number(g, task, "C", 0), .n_rows = 1, .segment = golden_offsets(g, task)};
    e.task = !strcmp(task, "nc") ? MO_TASK_NC : !strcmp(task, "lp") ? MO_TASK_LP : MO_TASK_GC;
    e.rows[0] = (mo_named){"hops", golden_hop_major(g->t, golden_data(g, task, "x"), o->hops, o->dim), NULL};
    e.support[0] = golden_data(g, task, "sup");
    e.query[0] = golden_data(g, task, "qry");
    if (e.task == MO_TASK_LP) {
        e.support[1] = golden_data(g, task, "sup2");
        e.query[1] = golden_data(g, task, "qry2");
    }
    e.support_label = golden_data(g, task, "ys");
    e.query_label = golden_data(g, task, "yq");
    return e;
}

static double accuracy(mo_tensor *logits, mo_tensor *labels) {
    int64_t n = mo_dim(logits, 0), C = mo_dim(logits, 1), right = 0;
    mo_context *ctx = mo_tensor_context(logits);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){n, C});
    double *x = malloc((size_t)(n * C) * sizeof *x);
    int64_t *y = malloc((size_t)n * sizeof *y);
    mo_tensor_copy(wide, logits);
    mo_tensor_read(wide, x, (size_t)(n * C) * sizeof *x);
    mo_tensor_read(labels, y, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        int64_t best = 0;
        for (int64_t c = 1; c < C; c++)
            best = x[i * C + c] > x[i * C + best] ? c : best;
        right += best == y[i];
    }
    mo_tensor_release(wide);
    free(x);
    free(y);
    return (double)right / (double)n;
}

mo_adamw_options golden_adamw(const golden *g) {
    return (mo_adamw_options){.lr = golden_number(g, "", "lr", 0),
        .beta1 = golden_number(g, "", "beta1", 0),
        .beta2 = golden_number(g, "", "beta2", 0),
        .epsilon = golden_number(g, "", "eps", 0),
        .weight_decay = golden_number(g, "", "weight_decay", 0),
        .clip = golden_number(g, "", "clip", 0)};
}

int golden_parameters(mo_model *m, mo_tensor **P) {
    int n = mo_model_n_parameters(m);
    for (int i = 0; i < n; i++)
        P[i] = mo_model_parameter(m, i);
    return n;
}

/* Takes one step with the stored gradients, clipped at `clip`; compares the parameters with the arrays PREFIX.name. */
static void check_after(golden *g, const char *test, const char *prefix, double clip) {
    mo_model *m = golden_model(g, MO_TEMPERATURE_EMBED, 10);
    mo_tensor *P[MAX_PARAMETERS], *grads[MAX_PARAMETERS];
    int n = golden_parameters(m, P);
    char name[128];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "grad.%s", mo_tensor_name(P[i]));
        grads[i] = golden_data(g, test, name);
    }
    mo_adamw_options options = golden_adamw(g);
    options.clip = clip;
    mo_optimizer *o = mo_adamw_create(g->ctx, P, n, &options);
    double norm;
    mo_optimizer_step(o, grads, options.lr, &norm);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s.%s", prefix, mo_tensor_name(P[i]));
        golden_compare(g, test, name, P[i]);
    }
    mo_optimizer_release(o);
    mo_model_release(m);
}

static void check_step(golden *g, const char *task, const char *mode) {
    char test[64], name[128];
    snprintf(test, sizeof test, "%s.%s", task, mode);
    mo_model *m = golden_model(
        g, !strcmp(mode, "embed") ? MO_TEMPERATURE_EMBED : MO_TEMPERATURE_LOGIT, golden_number(g, "", "lam", 10));
    if (!m || !golden_find(g, test, "loss"))
        return;
    mo_tensor *P[MAX_PARAMETERS], *grads[MAX_PARAMETERS], *logits;
    int n = golden_parameters(m, P);
    mo_episode e = episode_of(g, task, m);
    mo_tensor *loss = mo_model_loss(g->t, m, &e, NULL, &logits);
    golden_compare(g, test, "loss", loss);
    golden_compare(g, test, "logits", logits);
    golden_compare(g, test, "accuracy", mo_scalar(g->t, MO_F64, accuracy(logits, e.query_label)));
    mo_grad(g->t, &loss, NULL, 1, P, grads, n, 0);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "grad.%s", mo_tensor_name(P[i]));
        golden_compare(g, test, name, grads[i]);
    }
    mo_adamw_options options = golden_adamw(g);
    mo_optimizer *o = mo_adamw_create(g->ctx, P, n, &options);
    double norm = NAN;
    mo_optimizer_step(o, grads, options.lr, &norm);
    golden_compare(g, test, "grad_norm", mo_scalar(g->t, MO_F64, norm));
    mo_optimizer_release(o);
    check_after(g, test, "after", options.clip);
    check_after(g, test, "after_tight", golden_number(g, test, "grad_norm", 0) / 2);
    golden_end_case(g, test);
    mo_model_release(m);
}

static const char *const tasks[] = {"lp", "nc", "gc"};

/* Computes the gradients of the mean of the three tasks' losses, and the losses[3]. */
static void mean_gradients(golden *g, mo_model *m, mo_tensor **P, int n, mo_tensor **grads, double *losses) {
    mo_tensor *sum = NULL;
    for (int k = 0; k < 3; k++) {
        mo_episode e = episode_of(g, tasks[k], m);
        mo_tensor *loss = mo_keep(mo_model_loss(g->t, m, &e, NULL, NULL));
        losses[k] = mo_item(loss);
        sum = sum ? mo_add(g->t, sum, loss) : loss;
    }
    sum = mo_scale(g->t, sum, 1.0 / 3, 0);
    mo_grad(g->t, &sum, NULL, 1, P, grads, n, 0);
}

static void check_trajectory(golden *g) {
    mo_tensor *rates = golden_find(g, "traj", "lr");
    mo_model *m = rates ? golden_model(g, MO_TEMPERATURE_EMBED, golden_number(g, "", "lam", 10)) : NULL;
    if (!m)
        return;
    mo_tensor *P[MAX_PARAMETERS], *grads[MAX_PARAMETERS];
    int n = golden_parameters(m, P);
    int64_t steps = mo_numel(rates);
    mo_adamw_options options = golden_adamw(g);
    options.clip = golden_number(g, "traj", "clip", 1);
    mo_optimizer *o = mo_adamw_create(g->ctx, P, n, &options);
    double losses[64 * 3], lr[64], norm[64];
    for (int64_t s = 0; s < steps && s < 64; s++) {
        lr[s] = mo_cosine(options.lr, 1e-5, s, steps);
        mean_gradients(g, m, P, n, grads, losses + 3 * s);
        mo_optimizer_step(o, grads, lr[s], &norm[s]);
        golden_end_case(g, "traj");
    }
    golden_compare(g, "traj", "loss", mo_from(g->t, MO_F64, 2, (int64_t[]){steps, 3}, losses));
    golden_compare(g, "traj", "lr", mo_from(g->t, MO_F64, 1, &steps, lr));
    golden_compare(g, "traj", "grad_norm", mo_from(g->t, MO_F64, 1, &steps, norm));
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "after.%s", mo_tensor_name(P[i]));
        golden_compare(g, "traj", name, P[i]);
    }
    mo_optimizer_release(o);
    golden_end_case(g, "traj");
    mo_model_release(m);
}

void golden_step(golden *g) {
    for (int k = 0; k < 3; k++) {
        check_step(g, tasks[k], "embed");
        check_step(g, tasks[k], "logit");
    }
    check_trajectory(g);
}
