/* train/evaluation/compare_models.c - two models on the same numbered episodes of a pool, compared by paired
 * differences. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"

#include <math.h>
#include <stdlib.h>

/* Accuracies in percent by task, in the order of episodes: [MO_TASKS][2][room]. */
typedef struct accuracies {
    double *value;
    int64_t room, n[MO_TASKS];
} accuracies;

static double *accuracy_place(const accuracies *a, int task, int model) {
    return a->value + (2 * task + model) * a->room;
}

static void add_episode(mo_tape *t, const mo_pool *pool, mo_model *const models[2], const mo_plan_options *plan,
    uint64_t number, accuracies *a) {
    mo_episode e;
    mo_tape_reset(t);
    if (mo_pool_draw(pool, t, number, MO_FAMILY_IN_TURN, plan, &e, NULL) != MO_OK || a->n[e.task] == a->room)
        return;
    for (int i = 0; i < 2; i++) {
        double n = (double)mo_numel(e.query_label),
               wrong = mo_item(mo_count_wrong(t, mo_model_logits(t, models[i], &e, NULL), e.query_label));
        accuracy_place(a, e.task, i)[a->n[e.task]] = 100 * (n - wrong) / n;
    }
    a->n[e.task]++;
}

static mo_paired pair_accuracies(const accuracies *a, int task) {
    mo_paired f = {.n = a->n[task]};
    double *first = accuracy_place(a, task, 0), *second = accuracy_place(a, task, 1);
    f.mean[0] = mo_summarize(first, f.n).mean;
    f.mean[1] = mo_summarize(second, f.n).mean;
    mo_summary apart = mo_summarize_pairs(first, second, f.n);
    f.difference = apart.mean;
    f.ci95 = apart.ci95;
    return f;
}

/* The number of tasks that take turns in the pool. */
static int count_families(const mo_pool *pool) {
    unsigned present = 0;
    for (int i = 0; i < pool->n; i++)
        if (pool->family[pool->source[i].task] > 0)
            present |= 1u << pool->source[i].task;
    return __builtin_popcount(present);
}

mo_code mo_compare_models(const mo_pool *pool, mo_model *const models[2], const mo_plan_options *plan, uint64_t first,
    int64_t episodes, mo_paired figures[MO_TASKS]) {
    if (!pool)
        return MO_INVALID;
    if (!mo_given(pool->ctx, "compare", "the models", models) || !mo_given(pool->ctx, "compare", "the plan", plan) ||
        !mo_given(pool->ctx, "compare", "figures", figures))
        return mo_code_of(pool->ctx);
    mo_context *ctx = pool->ctx;
    accuracies a = {.room = episodes};
    if (mo_ok(ctx) && episodes < 1)
        mo_fail(ctx, MO_INVALID, "compare: %lld episodes, expected 1 or more", (long long)episodes);
    bool able = mo_given(ctx, "compare", "two models", models[0] && models[1] ? models : NULL);
    mo_tape *t = able ? mo_tape_create(ctx, MO_EVAL) : NULL;
    a.value = t ? calloc((size_t)(2 * MO_TASKS * episodes), sizeof *a.value) : NULL;
    if (t && !a.value)
        mo_fail(ctx, MO_MEMORY, "compare: out of memory");
    for (int64_t i = 0; i < episodes * count_families(pool) && mo_ok(ctx); i++)
        add_episode(t, pool, models, plan, first + (uint64_t)i, &a);
    for (int task = 0; task < MO_TASKS; task++) {
        figures[task] = (mo_paired){{NAN, NAN}, NAN, NAN, 0};
        if (mo_ok(ctx))
            figures[task] = pair_accuracies(&a, task);
    }
    free(a.value);
    mo_tape_release(t);
    return mo_context_status(ctx)->code;
}
