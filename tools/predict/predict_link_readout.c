/* tools/predict/predict_link_readout.c - a fit on pairs of nodes in a file: safetensors with the pairs, links first,
 * and the metadata of every readout that is kept. What is applied again is fitted again, to the same bits. */
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdlib.h>

static const char format[] = "mochi link readout";
static const char *const column_name[] = {"from", "to", "linked", "fit"};

bool save_link_readout(
    const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_link_support *support) {
    mo_context *ctx = graph->ctx;
    const int64_t *const column[] = {support->u, support->v, support->linked, support->fit};
    char *metadata = readout_metadata(format, graph, o, "[\"no\",\"yes\"]");
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (int i = 0; i < 4; i++)
        mo_arrays_take(arrays, column_name[i], mo_tensor_create_from(ctx, MO_I64, 1, &support->n, column[i]));
    if (mo_ok(ctx))
        mo_safetensors_write(arrays, metadata, path);
    mo_arrays_release(arrays);
    free(metadata);
    return mo_ok(ctx);
}

bool load_link_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_link_support *support) {
    mo_context *ctx = graph->ctx;
    *support = (mo_link_support){0};
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    json_t *metadata = open_readout(path, format, graph, arrays, o);
    int64_t **const column[] = {&support->u, &support->v, &support->linked, &support->fit};
    for (int i = 0; i < 4; i++)
        *column[i] = readout_numbers(ctx, path, arrays, column_name[i], &support->n);
    for (int64_t i = 0; mo_ok(ctx) && i < support->n; i++)
        if (support->u[i] < 0 || support->u[i] >= graph->nodes || support->v[i] < 0 || support->v[i] >= graph->nodes ||
            support->fit[i] < 0 || support->fit[i] > 1 << 20)
            mo_fail(ctx, MO_FORMAT, "%s: pair %" PRId64 " is not one of nodes of %s", path, i, graph->name);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}
