/* train/features/each_graph.c - the graphs of a set, handed out to threads: the largest first, each thread with a
 * context of one thread. Kernels give the same bits at any thread count, so what is computed of a graph has the same
 * bits too. */
#include "train/features/each_graph.h"

#include "autograd/tape.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct sized {
    int64_t nodes, g;
} sized;

typedef struct job {
    const mo_graph *graph;
    const mo_context *host;
    mo_graph_work work;
    void *state;
    int64_t failed; /* the first graph that failed, or -1 */
    mo_status status;
} job;

static int larger_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    return x->nodes != y->nodes ? (x->nodes < y->nodes ? 1 : -1) : (x->g > y->g) - (x->g < y->g);
}

static int64_t nodes_of(const mo_graph *graph, int64_t g) {
    return graph->graph_offset[g + 1] - graph->graph_offset[g];
}

static sized *by_size(const mo_graph *graph) {
    sized *order = mo_host_array(graph->ctx, graph->graphs, sizeof *order);
    for (int64_t g = 0; order && g < graph->graphs; g++)
        order[g] = (sized){nodes_of(graph, g), g};
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

static bool alone(const mo_graph *graph, mo_graph_work work, void *state) {
    mo_tape *t = mo_tape_create(graph->ctx, MO_EVAL);
    if (t && nodes_of(graph, 0) > 0)
        work(state, t, 0);
    mo_tape_release(t);
    return mo_ok(graph->ctx);
}

static bool in_parallel(job *j) {
    mo_context *ctx = j->graph->ctx;
    sized *order = by_size(j->graph);
    if (!order)
        return false;
    bool started = true;
#pragma omp parallel num_threads(mo_context_blas_is_safe(j->host) ? mo_context_threads(j->host) : 1)
    {
        mo_context *own = mo_context_create(&(mo_context_options){.threads = 1});
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

bool mo_each_graph(const mo_graph *graph, const mo_context *host, mo_graph_work work, void *state) {
    job j = {.graph = graph, .host = host, .work = work, .state = state, .failed = -1};
    return graph->graphs == 1 ? alone(graph, work, state) : in_parallel(&j);
}
