/* train/evaluation/best_hop.c - the hop whose raw rows serve a head best, chosen on the training pool and on nothing
 * else. */
#include "tensor/given.h"
#include "train/evaluation/evaluation.h"

enum { EPISODES = 5, QUERIES = 30, MAX_CLASSES = 64, MAX_HOPS = 64 };
static const int64_t shots[] = {4, 8, 16, 32};
enum { SHOTS = sizeof shots / sizeof *shots };

/* Adds to total[hop] the accuracies on one source, over episodes that all hops share. */
static void add_source_accuracies(
    mo_tape *t, const mo_source *s, const mo_head *head, double lambda, uint64_t seed, double *total) {
    mo_context *ctx = mo_tape_context(t);
    for (int hop = 0; hop <= s->features->hops && mo_ok(ctx); hop++) {
        mo_candidate candidate = {.features = "hop", .hop = hop, .head = head, .lambda = lambda};
        mo_tensor *rows = mo_embed_hop(s, hop);
        for (int i = 0; i < SHOTS * EPISODES && mo_ok(ctx); i++) {
            int64_t k = shots[i / EPISODES];
            mo_plan_options options = {
                .k_min = k, .k_max = k, .q_min = QUERIES, .q_max = QUERIES, .max_classes = MAX_CLASSES, .seed = seed};
            mo_plan plan = {0};
            mo_tape_reset(t);
            if (mo_plan_draw(s->graph, s->links, s->task, (uint64_t)i, &options, NULL, 0, &plan) == MO_OK)
                total[hop] += mo_plan_accuracy(t, mo_candidate_logits(t, s, &candidate, rows, &plan, 0), &plan);
            mo_plan_release(&plan);
        }
        mo_tensor_release(rows);
    }
}

int mo_best_hop(mo_context *ctx, const mo_pool *pool, mo_task task, const mo_head *head, double lambda, uint64_t seed) {
    if (!mo_given(ctx, "best_hop", "the pool", pool) || !mo_given(ctx, "best_hop", "the head", head))
        return -1;
    double total[MAX_HOPS] = {0};
    int hops = pool->options.hops, sources = 0, best = 0;
    if (mo_ok(ctx) && (hops < 0 || hops >= MAX_HOPS))
        mo_fail(ctx, MO_INVALID, "best hop: %d hops, expected 0 to %d", hops, MAX_HOPS - 1);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int i = 0; t && i < pool->n; i++)
        if (pool->source[i].task == task) {
            add_source_accuracies(t, &pool->source[i], head, lambda, seed, total);
            sources++;
        }
    mo_tape_release(t);
    for (int hop = 1; hop <= hops && mo_ok(ctx); hop++)
        if (total[hop] > total[best])
            best = hop;
    return sources && mo_ok(ctx) ? best : -1;
}
