/* train/features/each_graph.c - the graphs of a set, handed out to threads: the largest first, each thread with a
 * context of one thread. Kernels give the same bits at any thread count, so what is computed of a graph has the same
 * bits too. */
#include "train/features/each_graph.h"

#include "autograd/tape.h"
#include "tensor/host_array.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct sized {
    int64_t nodes, g;
} sized;

typedef struct job {
    const mo_graph *graph;
    mo_graph_work work;
    void *state;
    int64_t failed; /* the first graph that failed, or -1 */
    mo_status status;
} job;

static int larger_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->nodes != y->nodes ? (x->nodes < y->nodes ? 1 : -1) : (x->g > y->g) - (x->g < y->g);
}

static sized *by_size(const mo_graph *graph) {
    sized *order = mo_host_array(graph->ctx, graph->graphs, sizeof *order);
    for (int64_t g = 0; order && g < graph->graphs; g++)
        order[g] = (sized){graph->graph_offset[g + 1] - graph->graph_offset[g], g};
    if (order)
        qsort(order, (size_t)graph->graphs, sizeof *order, larger_first);
    return order;
}

/* Keeps the failure of the first graph in order, independent of the threads. */
static void settle_graph(job *j, mo_context *ctx, int64_t g) {
    if (mo_ok(ctx))
        return;
#pragma omp critical(mo_each_graph_settle)
    if (j->failed < 0 || g < j->failed) {
        j->failed = g;
        j->status = *mo_context_status(ctx);
    }
    mo_clear_error(ctx);
}

static bool in_turn(job *j) {
    mo_context *ctx = j->graph->ctx;
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    for (int64_t g = 0; g < j->graph->graphs && t && mo_ok(ctx); g++)
        if (j->graph->graph_offset[g] < j->graph->graph_offset[g + 1]) {
            j->work(j->state, t, g);
            mo_tape_reset(t);
        }
    mo_tape_release(t);
    return mo_ok(ctx);
}

static bool in_parallel(job *j) {
    mo_context *ctx = j->graph->ctx;
    sized *order = by_size(j->graph);
    if (!order)
        return false;
    bool started = true;
#pragma omp parallel num_threads(mo_context_blas_is_safe(ctx) ? mo_context_threads(ctx) : 1)
    {
        mo_context *own = mo_context_create(&(mo_context_options){.device = mo_context_device(ctx), .threads = 1});
        mo_tape *t = mo_ok(own) ? mo_tape_create(own, MO_EVAL) : NULL;
        if (!t)
#pragma omp atomic write
            started = false;
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < j->graph->graphs; i++)
            if (t && order[i].nodes > 0) {
                j->work(j->state, t, order[i].g);
                settle_graph(j, own, order[i].g);
                mo_tape_reset(t);
            }
        mo_tape_release(t);
        mo_context_release(own);
    }
    free(order);
    if (!started)
        mo_fail(ctx, MO_MEMORY, "features: out of memory for a thread's context");
    else if (j->failed >= 0)
        mo_fail(ctx, j->status.code, "features: graph %" PRId64 " of '%s': %s", j->failed, j->graph->name,
            j->status.message);
    return mo_ok(ctx);
}

bool mo_each_graph(const mo_graph *graph, mo_graph_work work, void *state) {
    job j = {.graph = graph, .work = work, .state = state, .failed = -1};
    bool alone = graph->graphs == 1 || mo_context_device(graph->ctx) != MO_CPU;
    return alone ? in_turn(&j) : in_parallel(&j);
}
