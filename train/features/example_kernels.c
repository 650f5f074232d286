/* train/features/example_kernels.c - kernels between nodes or between graphs, depending on the source. */
#include "train/features/example_kernels.h"

#include "tensor/library.h"
#include "train/svd/adjacency.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool kernels_are_valid(const mo_source *source) {
    const mo_graph *graph = source->graph;
    mo_context *ctx = graph->ctx;
    bool nodes = source->task == MO_TASK_NC;
    if (mo_ok(ctx) && source->task == MO_TASK_LP)
        mo_fail(ctx, MO_UNSUPPORTED, "kernels: links of %s have none, expected nodes or graphs", graph->name);
    else if (mo_ok(ctx) && nodes != (graph->graphs == 1))
        mo_fail(ctx, MO_INVALID,
            nodes ? "kernels: '%s' has %" PRId64 " graphs, expected one"
                  : "kernels: '%s' has %" PRId64 " graph, expected a set",
            graph->name, graph->graphs);
    return mo_ok(ctx) && mo_features_fit_products(graph);
}

mo_example_kernels *mo_example_kernels_create(const mo_source *source) {
    mo_example_kernels *k = kernels_are_valid(source) ? mo_host_array(source->graph->ctx, 1, sizeof *k) : NULL;
    if (!k)
        return NULL;
    k->graph = source->graph;
    if (source->task == MO_TASK_NC ? mo_node_experts_make(k, source->features)
                                   : mo_graph_experts_make(k, source->inductive))
        return k;
    mo_example_kernels_release(k);
    return NULL;
}

void mo_example_kernels_release(mo_example_kernels *k) {
    if (!k)
        return;
    mo_node_experts_release(k->nodes);
    mo_graph_experts_release(k->graphs);
    mo_example_kernels_for_targets(k, k->made); /* so that `count` has all names */
    for (int i = 0; i < MO_COLUMN_TABLES; i++)
        free(k->table[i].x);
    for (int e = 0; e < k->count; e++)
        free(k->name[e]);
    free(k->name);
    free(k);
}

bool mo_kernels_name(mo_example_kernels *k, const char *name) {
    char **grown = realloc(k->name, (size_t)(k->count + 1) * sizeof *grown), *own = mo_text_copy(k->graph->ctx, name);
    k->name = grown ? grown : k->name;
    if (!grown || !own) {
        mo_fail(k->graph->ctx, MO_MEMORY, "kernels: out of memory for the name of an expert");
        free(own);
        return false;
    }
    k->name[k->count++] = own;
    return true;
}

int mo_example_kernels_count(const mo_example_kernels *k) {
    return k ? k->count : 0;
}

const char *mo_example_kernels_name(const mo_example_kernels *k, int e) {
    return k && e >= 0 && e < k->count ? k->name[e] : NULL;
}

double mo_example_kernels_assortativity(const mo_example_kernels *k) {
    return k ? k->assortativity : 0;
}

static bool rows_are_finite(const mo_graph *graph, const char *name, const float *rows, int64_t w) {
    for (int64_t i = 0; i < graph->nodes * w; i++)
        if (!isfinite(rows[i]))
            return mo_fail(graph->ctx, MO_NUMERICAL,
                "kernels: expert %s: column %" PRId64 " of node %" PRId64 " is %g, expected a finite value", name,
                i % w, i / w, (double)rows[i]);
    return true;
}

mo_code mo_example_kernels_add(mo_example_kernels *k, const mo_graph *graph, const mo_expert *expert) {
    mo_context *ctx = graph->ctx;
    mo_tensor *rows = expert->rows;
    const char *name = expert->name ? expert->name : "";
    char shape[160];
    if (!mo_ok(ctx) || !mo_given(ctx, "kernels", "the rows of an expert", rows))
        return mo_code_of(ctx);
    mo_dtype real = mo_tensor_dtype(rows);
    if (!k || !k->nodes)
        mo_fail(
            ctx, MO_UNSUPPORTED, "kernels: expert %s: expected a graph whose nodes a mixture of kernels reads", name);
    else if (mo_ndim(rows) != 2 || mo_dim(rows, 0) != graph->nodes || mo_dim(rows, 1) < 1 ||
             (real != MO_F32 && real != MO_F64))
        mo_fail(ctx, MO_INVALID, "kernels: expert %s: expected rows [%lld, w] of float32 or float64, found %s %s", name,
            (long long)graph->nodes, mo_dtype_name(real), mo_shape_string(rows, shape, sizeof shape));
    for (int e = 0; e < mo_example_kernels_count(k) && mo_ok(ctx); e++)
        if (!strcmp(k->name[e], name))
            mo_fail(ctx, MO_INVALID, "kernels: there is an expert %s; expected another name", name);
    float *x = mo_ok(ctx) ? mo_host_values(rows, MO_F32) : NULL;
    if (x && rows_are_finite(graph, name, x, mo_dim(rows, 1)))
        mo_node_experts_add(k, name, x, mo_dim(rows, 1));
    else
        free(x);
    return mo_code_of(ctx);
}

mo_code mo_example_kernels_gram(
    mo_example_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K) {
    if (!k)
        return MO_INVALID;
    mo_context *ctx = k->graph->ctx;
    const mo_row_pairs p = {a, b, n_a, n_b};
    if (mo_ok(ctx) && mo_rows_exist(ctx, &p, mo_graph_examples(k->graph), k->nodes ? "node" : "graph") && n_a > 0 &&
        n_b > 0) {
        K = (k->nodes ? mo_node_experts_gram : mo_graph_experts_gram)(k, &p, K);
        mo_column_kernels(k, &p, K);
    }
    return mo_code_of(ctx);
}
