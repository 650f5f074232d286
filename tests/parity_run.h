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

/* Trains in a context; all contexts start with the same weights and features. */
static inline void parity_train(
    mo_context *ctx, scratch *s, const char *name, int64_t max_rows, int steps, parity_run *r) {
    mo_feature_options features = planted_features();
    features.cache = s->folder; /* one folder for all devices: the SVD of rings has equal singular values, so each
                                 * device would find another basis */
    HELD(mo_pool) *pool = planted_pool_of(ctx, &features);
    HELD(mo_model) *model = planted_model(ctx, 1);
    mo_trainer_options options = planted_steps(steps, 3, 1e-3, scratch_folder(s, name));
    options.adamw.weight_decay = 1e-4;
    options.max_rows = max_rows;
    HELD(mo_trainer) *trainer = mo_trainer_create(model, pool, &options);
    mo_step_report report;
    for (int i = 0; i < steps && mo_trainer_step(trainer, &report) == MO_OK; i++) {
        r->loss[i] = report.loss;
        r->norm[i] = report.gradient_norm;
    }
    if (!mo_ok(ctx))
        fail_msg("%s: %s", name, mo_context_status(ctx)->message);
}

#endif
