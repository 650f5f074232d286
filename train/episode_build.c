/* train/episode_build.c - from a plan (which examples) to an episode (tensors on a tape).
 *
 * Only rows that the plan names are taken, each once, in rising order of their nodes; for graphs, all nodes of each
 * graph, one graph after another. Indices then count these rows or graphs. The encoder gathers them. */
#include "train/pool.h"

#include "autograd/tape.h"
#include "train/host_array.h"

#include <inttypes.h>
#include <string.h>

void *mo_tape_scratch(mo_tape *t, int64_t count, size_t element) {
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, element, &bytes) || bytes > PTRDIFF_MAX) {
        mo_fail(t->ctx, MO_MEMORY, "episode: %" PRId64 " elements overflow", count);
        return NULL;
    }
    return mo_host_arena_alloc(t->host, bytes ? bytes : 1);
}

/* Rows of the [(l + 1) n, d] rows of all hops. */
static mo_named hop_rows(mo_tape *t, const mo_source *source, const int64_t *node, int64_t n) {
    mo_context *ctx = t->ctx;
    mo_tensor *hops = mo_arrays_find(source->features->arrays, "hops");
    if (mo_ok(ctx) && (!hops || mo_ndim(hops) != 3))
        mo_fail(ctx, MO_INVALID, "episode: the features of %s have no \"hops\"", source->graph->name);
    int64_t K = mo_ok(ctx) ? mo_dim(hops, 0) : 0, nodes = mo_ok(ctx) ? mo_dim(hops, 1) : 0;
    int64_t *row = mo_ok(ctx) ? mo_tape_scratch(t, K * n, sizeof *row) : NULL;
    if (!row)
        return (mo_named){"hops", mo_null_tensor(ctx), NULL};
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < n; i++)
            row[k * n + i] = k * nodes + node[i];
    return (mo_named){"hops", hops, mo_from(t, MO_I64, 2, (int64_t[]){K, n}, row)};
}

int64_t mo_count_right(mo_tape *t, mo_tensor *logits, mo_tensor *label) {
    mo_context *ctx = t->ctx;
    logits = mo_contiguous(t, logits);
    if (!mo_ok(ctx) || mo_is_null(logits))
        return -1;
    int64_t n = mo_dim(logits, 0);
    mo_tensor *best = mo_tape_tensor(t, MO_I64, 1, &n);
    int64_t *guess = mo_tape_scratch(t, n, sizeof *guess), *truth = mo_tape_scratch(t, n, sizeof *truth);
    if (!mo_ok(ctx))
        return -1;
    mo_view x = mo_tensor_view(logits), y = mo_tensor_view(best);
    mo_kernels_of(ctx, x.dtype)->argmax(ctx, &x, &y);
    size_t bytes = (size_t)n * sizeof *guess;
    if (mo_tensor_read(best, guess, bytes) != MO_OK || mo_tensor_read(label, truth, bytes) != MO_OK)
        return -1;
    int64_t right = 0;
    for (int64_t i = 0; i < n; i++)
        right += guess[i] == truth[i];
    return right;
}

/* The distinct examples that a plan names. */
typedef struct named {
    int64_t *id, n;
} named;

static named distinct_examples(mo_tape *t, const mo_plan *plan) {
    int64_t ends = plan->task == MO_TASK_LP ? 2 : 1;
    named all = {.id = mo_tape_scratch(t, ends * (plan->n_support + plan->n_query), sizeof(int64_t))};
    for (int side = 0; side < ends && all.id; side++) {
        memcpy(all.id + all.n, plan->support[side], (size_t)plan->n_support * sizeof *all.id);
        all.n += plan->n_support;
        memcpy(all.id + all.n, plan->query[side], (size_t)plan->n_query * sizeof *all.id);
        all.n += plan->n_query;
    }
    if (all.id)
        all.n = mo_sort_distinct(all.id, all.n);
    return all;
}

/* Positions among the distinct examples, as a tensor. */
static mo_tensor *positions(mo_tape *t, const named *all, const int64_t *id, int64_t n) {
    int64_t *at = mo_tape_scratch(t, n, sizeof *at);
    for (int64_t i = 0; at && i < n; i++)
        at[i] = mo_find_sorted(all->id, all->n, id[i]);
    return at ? mo_from(t, MO_I64, 1, &n, at) : mo_null_tensor(t->ctx);
}

/* All nodes of the graphs, one graph after another, and where each starts. */
static void graph_rows(mo_tape *t, const mo_source *source, const named *graphs, mo_episode *e) {
    const int64_t *offset = source->graph->graph_offset;
    int64_t N = 0, entries = graphs->n + 1, *segment = mo_tape_scratch(t, entries, sizeof *segment);
    for (int64_t g = 0; segment && g < graphs->n; g++) {
        N += offset[graphs->id[g] + 1] - offset[graphs->id[g]];
        segment[g + 1] = N;
    }
    int64_t *node = segment ? mo_tape_scratch(t, N, sizeof *node) : NULL;
    if (!node)
        return;
    for (int64_t g = 0; g < graphs->n; g++)
        for (int64_t i = 0; i < segment[g + 1] - segment[g]; i++)
            node[segment[g] + i] = offset[graphs->id[g]] + i;
    e->segment = mo_from(t, MO_I64, 1, &entries, segment);
    e->rows[0] = hop_rows(t, source, node, N);
}

bool mo_has_example_rows(const mo_source *source) {
    return source->features && mo_arrays_find(source->features->arrays, "blocks");
}

static void put_labels(mo_tape *t, const mo_plan *plan, mo_episode *e) {
    e->support_label = mo_from(t, MO_I64, 1, &plan->n_support, plan->support_label);
    e->query_label = mo_from(t, MO_I64, 1, &plan->n_query, plan->query_label);
}

/* Rows of the support's examples, then of the queries'. */
static void example_episode(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e) {
    bool links = plan->task == MO_TASK_LP;
    int64_t n = plan->n_support + plan->n_query, *example = mo_tape_scratch(t, n, sizeof *example);
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    if (!example)
        return;
    const int64_t *support = links ? plan->support_pair : plan->support[0],
                  *query = links ? plan->query_pair : plan->query[0];
    memcpy(example, support, (size_t)plan->n_support * sizeof *example);
    memcpy(example + plan->n_support, query, (size_t)plan->n_query * sizeof *example);
    mo_put_example_rows(t, source, example, n, e);
    put_labels(t, plan, e);
}

mo_code mo_episode_build(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e) {
    mo_context *ctx = t->ctx;
    if (mo_ok(ctx) && mo_has_example_rows(source)) {
        example_episode(t, source, plan, e);
        return mo_context_status(ctx)->code;
    }
    *e = (mo_episode){.task = plan->task, .classes = plan->classes, .n_rows = 1};
    named all = mo_ok(ctx) ? distinct_examples(t, plan) : (named){0};
    if (!all.id)
        return mo_context_status(ctx)->code;
    if (plan->task == MO_TASK_GC)
        graph_rows(t, source, &all, e);
    else
        e->rows[0] = hop_rows(t, source, all.id, all.n);
    for (int side = 0; side < (plan->task == MO_TASK_LP ? 2 : 1); side++) {
        e->support[side] = positions(t, &all, plan->support[side], plan->n_support);
        e->query[side] = positions(t, &all, plan->query[side], plan->n_query);
    }
    put_labels(t, plan, e);
    return mo_context_status(ctx)->code;
}
