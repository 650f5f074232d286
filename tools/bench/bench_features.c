/* tools/bench/bench_features.c - `mochi bench features`: the features of a graph or of a set of graphs, from the
 * adjacency to the hop stack, without a cache.
 *
 * A case is a number of nodes (a random graph of mean degree 10), or a graph by name or path; with ":nc", ":lp" or
 * ":gc" behind it the case computes the rows of the recipe `best` for that task. `output_mb` is the memory of the
 * features; `beyond_mb` is the peak of resident memory less the features and the memory in use before. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POWER_ITERATIONS = 2, HOPS = 3 };
#define LINK_SHARE 0.2

typedef struct computation {
    mo_context *ctx;
    const mo_graph *graph;
    const mo_links *links;
    mo_feature_options options;
    mo_task task;
    double residual, orthogonality, output_mb;
} computation;

static void compute_features_once(void *state) {
    computation *c = state;
    bool nodes = c->options.form == MO_FEATURES_OF_NODES;
    mo_features *f = nodes ? mo_features_open(c->graph, &c->options)
                           : mo_example_features_open(c->graph, c->task, c->links, &c->options);
    c->output_mb = 0;
    for (int64_t i = 0; f && i < f->arrays->count; i++) {
        const mo_tensor *T = f->arrays->items[i].tensor;
        c->output_mb += (double)mo_numel(T) * (double)mo_dtype_size(mo_tensor_dtype(T)) / (1 << 20);
    }
    c->residual = f ? f->svd_residual : 0;
    c->orthogonality = f ? f->svd_orthogonality : 0;
    mo_features_release(f);
}

static bool print_features_case(const bench_options *o, const computation *c, const bench_record *r) {
    double beyond = r->growth_mb - c->output_mb;
    if (o->json)
        return print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "case",
            r->name, "variant", r->variant, "graphs", (json_int_t)c->graph->graphs, "nodes",
            (json_int_t)c->graph->nodes, "nnz", (json_int_t)c->graph->nnz, "dim", (json_int_t)c->options.dim, "min_s",
            json_number(1e-3 * r->min_ms), "med_s", json_number(1e-3 * r->med_ms), "max_s",
            json_number(1e-3 * r->max_ms), "output_mb", json_number(c->output_mb), "beyond_mb", json_number(beyond),
            "svd_residual", json_number(c->residual), "svd_orthogonality", json_number(c->orthogonality)));
    printf("%-20s %-8s %8" PRId64 " nodes %6" PRId64 " graphs  min %8.3f  med %8.3f  max %8.3f s  output %.0f MB, "
           "%.0f beyond; residual %.4f, orthogonal to %.0e\n",
        r->name, r->variant, c->graph->nodes, c->graph->graphs, 1e-3 * r->min_ms, 1e-3 * r->med_ms, 1e-3 * r->max_ms,
        c->output_mb, beyond, c->residual, c->orthogonality);
    return fflush(stdout) == 0;
}

/* Cuts ":task" off the name; returns false if the name has none. */
static bool cut_task(char *name, mo_task *task) {
    char *colon = strrchr(name, ':');
    for (int i = 0; colon && i < MO_TASKS; i++)
        if (!strcmp(colon + 1, mo_task_name((mo_task)i))) {
            *task = (mo_task)i;
            *colon = 0;
            return true;
        }
    return false;
}

static bool run_features_case(mo_context *ctx, const bench_options *o, const char *text) {
    char name[4096];
    computation c = {.ctx = ctx};
    snprintf(name, sizeof name, "%s", text);
    c.options = (mo_feature_options){.dim = o->dim, .hops = HOPS, .power_iterations = POWER_ITERATIONS};
    if (cut_task(name, &c.task))
        c.options.form = MO_FEATURES_OF_EXAMPLES;
    mo_graph *graph = bench_graph(ctx, name);
    mo_links *links = NULL;
    if (graph && c.options.form == MO_FEATURES_OF_EXAMPLES && c.task == MO_TASK_LP)
        links = mo_links_create(graph, LINK_SHARE, graph->nnz / 10, 0);
    c.graph = links ? links->masked : graph;
    c.links = links;
    bench_record record = {.name = text, .variant = mo_feature_form_name(c.options.form)};
    bool fine = graph && mo_ok(ctx) && bench_run(ctx, o, compute_features_once, &c, &record) &&
                print_features_case(o, &c, &record);
    mo_links_release(links);
    mo_graph_release(graph);
    return fine;
}

bool bench_features(mo_context *ctx, const bench_options *o) {
    int n = o->cases.count ? o->cases.count : 1;
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!run_features_case(ctx, o, o->cases.count ? o->cases.items[i] : "20000"))
            break;
    return mo_ok(ctx);
}
