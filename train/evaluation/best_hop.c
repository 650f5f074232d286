/* train/evaluation/best_hop.c - the hop on whose raw rows a head is most accurate, chosen on the training pool
 * alone. */
#include "tensor/library.h"
#include "train/episodes/episode_rows.h"
#include "train/evaluation/evaluation.h"

enum { EPISODES = 5, QUERIES = 30, MAX_CLASSES = 64, MAX_HOPS = 64 };
static const int64_t shots[] = {4, 8, 16, 32};
enum { SHOTS = sizeof shots / sizeof *shots };

static bool draw_problem(const mo_source *s, int i, uint64_t seed, mo_plan *plan) {
    int64_t k = shots[i / EPISODES];
    mo_plan_options options = {
        .k_min = k, .k_max = k, .q_min = QUERIES, .q_max = QUERIES, .max_classes = MAX_CLASSES, .seed = seed};
    *plan = (mo_plan){0};
    return mo_plan_draw(s->graph, s->links, s->task, (uint64_t)i, &options, plan) == MO_OK;
}

/* Adds to total[hop] the accuracies on one source with rows of examples, over episodes that all hops share. */
static void add_accuracies_of_examples(
    mo_tape *t, const mo_source *s, mo_candidate candidate, uint64_t seed, double *total) {
    mo_context *ctx = mo_tape_context(t);
    for (int hop = 0; hop <= s->features->hops && mo_ok(ctx); hop++) {
        candidate.hop = hop;
        mo_tensor *rows = mo_embed_hop(s, hop);
        for (int i = 0; i < SHOTS * EPISODES && mo_ok(ctx); i++) {
            mo_plan plan;
            mo_tape_reset(t);
            if (draw_problem(s, i, seed, &plan))
                total[hop] += mo_plan_accuracy(t, mo_candidate_logits(t, s, &candidate, rows, &plan, 0, NULL), &plan);
            mo_plan_release(&plan);
        }
        mo_tensor_release(rows);
    }
}

/* The examples' rows at one hop or, for graphs, means over each graph's nodes. */
static mo_tensor *episode_hop(mo_tape *t, const mo_episode *e, int hop) {
    mo_tensor *hops = mo_episode_rows(t, e, "hops"), *X = mo_slice(t, hops, MO_AXIS(0), hop, hop + 1);
    X = mo_reshape(t, X, 2, (int64_t[]){mo_dim(hops, 1), mo_dim(hops, 2)});
    return e->segment ? mo_segment_mean(t, X, e->segment) : X;
}

/* As add_accuracies_of_examples, for rows of nodes. Reads each episode's rows, because a whole hop can exceed memory.
 */
static void add_accuracies_of_nodes(
    mo_tape *t, const mo_source *s, mo_candidate candidate, uint64_t seed, double *total) {
    mo_context *ctx = mo_tape_context(t);
    for (int i = 0; i < SHOTS * EPISODES && mo_ok(ctx); i++) {
        mo_plan plan;
        mo_episode e;
        mo_tape_reset(t);
        bool drawn = draw_problem(s, i, seed, &plan) && mo_episode_build(t, s, &plan, &e) == MO_OK;
        for (int hop = 0; drawn && hop <= s->features->hops && mo_ok(ctx); hop++)
            total[hop] +=
                mo_plan_accuracy(t, mo_episode_logits(t, &candidate, &e, episode_hop(t, &e, hop), NULL), &plan);
        mo_plan_release(&plan);
    }
}

int mo_best_hop(mo_context *ctx, const mo_pool *pool, mo_task task, const mo_head *head, double lambda, uint64_t seed) {
    if (!mo_given(ctx, "best_hop", "the pool", pool) || !mo_given(ctx, "best_hop", "the head", head))
        return -1;
    double total[MAX_HOPS] = {0};
    mo_candidate candidate = {.features = "hop", .head = head, .lambda = lambda};
    int hops = pool->options.hops, sources = 0, best = 0;
    if (mo_ok(ctx) && (hops < 0 || hops >= MAX_HOPS))
        mo_fail(ctx, MO_INVALID, "best hop: %d hops, expected 0 to %d", hops, MAX_HOPS - 1);
    mo_tape *t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL;
    for (int i = 0; t && i < pool->n; i++)
        if (pool->source[i].task == task) {
            const mo_source *s = &pool->source[i];
            (mo_has_example_rows(s) ? add_accuracies_of_examples : add_accuracies_of_nodes)(
                t, s, candidate, seed, total);
            sources++;
        }
    mo_tape_release(t);
    for (int hop = 1; hop <= hops && mo_ok(ctx); hop++)
        if (total[hop] > total[best])
            best = hop;
    return sources && mo_ok(ctx) ? best : -1;
}
