/* tests/parity_run.h - one short training run that tests repeat in contexts with other devices or math modes. */
#ifndef MO_TESTS_PARITY_RUN_H
#define MO_TESTS_PARITY_RUN_H

#include "tests/planted.h"
#include "tests/training_run.h"

enum { PARITY_STEPS = 200 };

/* The loss and the gradient's norm at each step. */
typedef struct parity_run {
    double loss[PARITY_STEPS];
    double norm[PARITY_STEPS];
} parity_run;

static inline mo_pool *parity_pool(mo_context *ctx, const char *folder) {
    mo_feature_options features = planted_features();
    features.cache = folder; /* one folder for all devices: the SVD of rings has equal singular values, so each device
                              * would find another basis */
    mo_pool *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, planted_graph(ctx, "planted", 150, 3, 0.25, 0.03, 1), 0);
    mo_pool_add(pool, planted_set(ctx, "rings", 60, 2), 0);
    return pool;
}

/* Trains in a context; all contexts start with the same weights and features. */
static inline void parity_train(
    mo_context *ctx, scratch *s, const char *name, int64_t max_rows, int steps, parity_run *r) {
    mo_pool *pool = parity_pool(ctx, s->folder);
    mo_model *model = planted_model(ctx, 1);
    mo_trainer_options options = {.steps = steps,
        .episodes_per_step = 3,
        .adamw = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
        .plan = planted_plans(1),
        .max_rows = max_rows,
        .out = scratch_folder(s, name)};
    mo_trainer *trainer = mo_trainer_create(model, pool, &options);
    mo_step_report report;
    for (int i = 0; i < steps && mo_trainer_step(trainer, &report) == MO_OK; i++) {
        r->loss[i] = report.loss;
        r->norm[i] = report.gradient_norm;
    }
    if (!mo_ok(ctx))
        fail_msg("%s: %s", name, mo_context_status(ctx)->message);
    mo_trainer_release(trainer);
    mo_model_release(model);
    mo_pool_release(pool);
}

#endif
