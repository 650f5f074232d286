/* train/graphs/load_edge_list.c - SNAP's edge list: lines "u v" with blanks or tabs between; a comment starts at '#'
 * or, above the first edge, at '%' or "//"; LF or CR LF.
 *
 * Ids are any non-negative integers; they become 0..n-1 in rising order and are kept as the nodes' names. If the first
 * edge joins words, load_named_edges.c reads the file. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <stdlib.h>
#include <string.h>

static bool add_line(mo_text_reader *r, int64_t highest, mo_edge_ids *ids) {
    if (!mo_host_array_grow(r->ctx, &ids->id, &ids->capacity, ids->count + 2, sizeof *ids->id))
        return false;
    for (int end = 0; end < 2; end++) {
        if (!mo_text_integer_in(r, "a node id", 0, highest, &ids->id[ids->count]))
            return false;
        ids->count++;
    }
    if (mo_text_blank(r))
        return true;
    return mo_text_unexpected(r,
        "the end of the line after two node ids (a third column may be times: keep two, as awk '{print $1, $2}' does, "
        "or write weights as the third column of a .csv)");
}

bool mo_edge_ids_read(mo_context *ctx, const char *path, int64_t highest, mo_edge_ids *ids) {
    mo_text_reader r;
    bool fine = mo_text_open(&r, ctx, path);
    while (fine && mo_text_line(&r))
        if (mo_text_data(&r))
            fine = add_line(&r, highest, ids);
    mo_text_close(&r);
    ids->comments = r.comments;
    if (mo_ok(ctx) && ids->count == 0)
        mo_fail(
            ctx, MO_FORMAT, "%s: expected lines of two node ids, found no edge in %lld lines", path, (long long)r.line);
    return mo_ok(ctx);
}

/* Replaces ids by their ranks as ends of the edges; ids that differ from their ranks become names. False on failure. */
static bool rank_ids(mo_graph *graph, const mo_edge_ids *ids, mo_edges *edges) {
    mo_context *ctx = graph->ctx;
    int64_t *sorted = mo_host_array(ctx, ids->count, sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, ids->id, (size_t)ids->count * sizeof *sorted);
    int64_t nodes = mo_sort_distinct(sorted, ids->count);
    bool fine = nodes < MO_GRAPH_LARGEST;
    if (!fine)
        mo_fail(ctx, MO_UNSUPPORTED, "edge list: expected fewer than 2^31 distinct ids, found %lld", (long long)nodes);
    for (int64_t i = 0; fine && i < ids->count; i += 2)
        fine = mo_edges_add(
            ctx, edges, mo_find_sorted(sorted, nodes, ids->id[i]), mo_find_sorted(sorted, nodes, ids->id[i + 1]));
    graph->nodes = nodes;
    graph->node_numbers = fine && sorted[nodes - 1] != nodes - 1;
    if (graph->node_numbers)
        graph->names = mo_node_names_of_ids(ctx, sorted, nodes);
    else
        free(sorted);
    return mo_ok(ctx);
}

mo_graph *mo_load_edge_list(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    mo_edge_ids ids = {0};
    mo_edges edges = {0};
    if (mo_is_table(path) || mo_edge_list_has_names(ctx, path))
        mo_load_named_edges(graph, path);
    else if (mo_ok(ctx) && mo_edge_ids_read(ctx, path, MO_TEXT_LARGEST, &ids) && rank_ids(graph, &ids, &edges))
        mo_graph_set_edges(graph, graph->nodes, &edges);
    mo_note_comments(graph, path, ids.comments);
    free(ids.id);
    mo_edges_release(&edges);
    return mo_graph_finish(graph);
}
