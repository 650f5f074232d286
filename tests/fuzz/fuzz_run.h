/* tests/fuzz/fuzz_run.h - the run that fuzz_run.c resumes; make_seeds.c takes its first two steps. */
#ifndef FUZZ_RUN_H
#define FUZZ_RUN_H

#include "fuzz.h"
#include "train/episodes/pool.h"
#include "train/run/trainer.h"

#include <stdio.h>

enum { FUZZ_STEPS = 3 };

static inline void fuzz_expect_ok(const mo_context *ctx) {
    if (mo_ok(ctx))
        return;
    fprintf(stderr, "%s\n", mo_context_status(ctx)->message);
    abort();
}

static inline mo_pool *fuzz_pool(mo_context *ctx) {
    mo_feature_options features = {.form = MO_ROWS_PER_EXAMPLE, .dim = 4, .hops = 3, .power_iterations = 1};
    mo_pool *pool = mo_pool_create(ctx, &features, 0.2, NULL, NULL);
    mo_pool_add(pool, mo_graph_open(ctx, "mutag"), 1u << MO_TASK_GC);
    fuzz_expect_ok(ctx);
    return pool;
}

static inline mo_trainer *fuzz_trainer(mo_context *ctx, mo_model *model, mo_pool *pool, const char *folder) {
    mo_trainer_options o = {.steps = FUZZ_STEPS,
        .episodes_per_step = 1,
        .adamw = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        .plan = {.k_min = 2, .k_max = 2, .q_min = 2, .q_max = 2, .max_classes = 8, .seed = 1},
        .checkpoint_every = 1,
        .out = folder};
    mo_trainer *trainer = mo_trainer_create(model, pool, &o);
    fuzz_expect_ok(ctx);
    return trainer;
}

#endif
