/* train/features/example_kernels.c - kernels between nodes or between graphs, depending on the source. */
#include "train/features/example_kernels.h"

#include "tensor/hidden.h"
#include "train/features/nodes/kernels.h"
#include "train/features/sets/kernels.h"

#include <stdlib.h>

struct mo_example_kernels {
    mo_node_kernels *nodes; /* one of the two is set */
    mo_set_kernels *graphs;
};

mo_example_kernels *mo_example_kernels_create(const mo_source *source, int64_t memory) {
    mo_context *ctx = source->graph->ctx;
    if (mo_ok(ctx) && source->task == MO_TASK_LP)
        mo_fail(ctx, MO_UNSUPPORTED, "kernels: links of %s have none, expected nodes or graphs", source->graph->name);
    mo_example_kernels *k = mo_ok(ctx) ? mo_host_array(ctx, 1, sizeof *k) : NULL;
    if (!k)
        return NULL;
    if (source->task == MO_TASK_NC)
        k->nodes = mo_node_kernels_create(source->graph, source->features, memory);
    else
        k->graphs = mo_set_kernels_create(source->graph, source->inductive, memory);
    if (k->nodes || k->graphs)
        return k;
    free(k);
    return NULL;
}

void mo_example_kernels_release(mo_example_kernels *k) {
    if (!k)
        return;
    mo_node_kernels_release(k->nodes);
    mo_set_kernels_release(k->graphs);
    free(k);
}

int mo_example_kernels_count(const mo_example_kernels *k) {
    return !k ? 0 : k->nodes ? mo_node_kernels_count(k->nodes) : mo_set_kernels_count(k->graphs);
}

const char *mo_example_kernels_name(const mo_example_kernels *k, int e) {
    return !k ? NULL : k->nodes ? mo_node_kernels_name(k->nodes, e) : mo_set_kernels_name(k->graphs, e);
}

double mo_example_kernels_assortativity(const mo_example_kernels *k) {
    return k ? mo_node_kernels_assortativity(k->nodes) : 0;
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
    else if (mo_ndim(rows) != 2 || mo_dim(rows, 0) != graph->nodes || (real != MO_F32 && real != MO_F64))
        mo_fail(ctx, MO_INVALID, "kernels: expert %s: expected rows [%lld, w] of float32 or float64, found %s %s", name,
            (long long)graph->nodes, mo_dtype_name(real), mo_shape_string(rows, shape, sizeof shape));
    float *x = mo_ok(ctx) && mo_numel(rows) > 0 ? mo_host_values(rows, MO_F32) : NULL;
    if (x)
        mo_node_kernels_add(k->nodes, name, x, mo_dim(rows, 1));
    free(x);
    return mo_code_of(ctx);
}

mo_code mo_example_kernels_refer(mo_example_kernels *k, const int64_t *labelled, int64_t n) {
    return k && k->graphs ? mo_set_kernels_refer(k->graphs, labelled, n) : MO_OK;
}

mo_code mo_example_kernels_gram(
    mo_example_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, float *K) {
    if (!k)
        return MO_INVALID;
    return k->nodes ? mo_node_kernels_gram(k->nodes, a, n_a, b, n_b, K)
                    : mo_set_kernels_gram(k->graphs, a, n_a, b, n_b, K);
}
