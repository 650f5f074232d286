/* train/episodes/pool_draw.c - episode `number` of a pool: its family (task), its source, then its examples, all a
 * function of (seed, number). */
#include "tensor/library.h"
#include "train/episodes/pool.h"

/* With several episodes per step the families take turns in this order, as in the released program. */
static const mo_task family_order[MO_TASKS] = {MO_TASK_LP, MO_TASK_NC, MO_TASK_GC};

/* Family and source are drawn at indices from here on, far above the indices from 0 that mo_plan_draw uses. */
static const uint64_t choice_index = (uint64_t)1 << 48;

static int count_sources(const mo_pool *pool, mo_task task) {
    int count = 0;
    for (int i = 0; i < pool->n; i++)
        count += pool->source[i].task == task;
    return count;
}

static const mo_source *find_source(const mo_pool *pool, mo_task task, int64_t rank) {
    for (int i = 0; i < pool->n; i++)
        if (pool->source[i].task == task && rank-- == 0)
            return &pool->source[i];
    return NULL;
}

/* Draws one of the present families: with equal weights by an integer draw, else by cumulative weights. */
static int64_t draw_family(const mo_pool *pool, mo_random *r, const mo_task *present, int families) {
    double sum = 0;
    bool equal = true;
    for (int i = 0; i < families; i++) {
        sum += pool->family[present[i]];
        equal &= pool->family[present[i]] == pool->family[present[0]];
    }
    if (equal)
        return mo_random_below(r, families);
    double left = mo_random_uniform(r) * sum;
    int family = 0;
    while (family < families - 1 && (left -= pool->family[present[family]]) >= 0)
        family++;
    return family;
}

/* The source of an episode; NULL if no family has both sources and a positive weight. */
static const mo_source *choose_source(const mo_pool *pool, uint64_t number, mo_family_order order, uint64_t seed) {
    mo_task present[MO_TASKS];
    int families = 0;
    for (int i = 0; i < MO_TASKS; i++)
        if (pool->family[family_order[i]] > 0 && count_sources(pool, family_order[i]))
            present[families++] = family_order[i];
    if (families == 0)
        return NULL;
    mo_random r = mo_random_at(seed, MO_PURPOSE_EPISODE, number);
    r.index = choice_index;
    int64_t family =
        order == MO_FAMILY_IN_TURN ? (int64_t)(number % (uint64_t)families) : draw_family(pool, &r, present, families);
    mo_task task = present[family];
    return find_source(pool, task, mo_random_below(&r, count_sources(pool, task)));
}

mo_code mo_pool_plan(const mo_pool *pool, uint64_t number, mo_family_order order, const mo_plan_options *options,
    const mo_source **source, mo_plan *plan) {
    mo_context *ctx = pool->ctx;
    *plan = (mo_plan){0};
    *source = mo_ok(ctx) ? choose_source(pool, number, order, options->seed) : NULL;
    if (*source)
        mo_plan_draw((*source)->graph, (*source)->links, (*source)->task, number, options, plan);
    else
        mo_fail(ctx, MO_INVALID, "pool: expected a graph of a family whose weight is above 0, found none");
    return mo_code_of(ctx);
}

mo_code mo_pool_draw(const mo_pool *pool, mo_tape *t, uint64_t number, mo_family_order order,
    const mo_plan_options *options, mo_episode *e, const mo_source **source) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "pool", "the pool", pool) || !mo_given(ctx, "pool", "options", options) ||
        !mo_given(ctx, "pool", "the episode", e))
        return mo_code_of(ctx);
    const mo_source *chosen;
    mo_plan plan;
    if (mo_pool_plan(pool, number, order, options, &chosen, &plan) == MO_OK)
        mo_episode_build(t, chosen, &plan, e);
    if (source && chosen)
        *source = chosen;
    mo_plan_release(&plan);
    return mo_code_of(pool->ctx);
}
