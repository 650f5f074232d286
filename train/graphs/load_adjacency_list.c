/* train/graphs/load_adjacency_list.c - a set of graphs as adjacency lists, the text format of DGCNN and GIN.
 *
 * Line 1: the number of graphs. Then, for each: a line "n class" and n lines "tag degree m1 .. m_degree", neighbours
 * numbered from 0 within the graph. Classes become 0.. in the order of their sorted values. Tags become one-hot
 * features if they differ; if all are equal, the graph has no features. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <stdlib.h>

typedef struct lists {
    mo_text_reader reader;
    mo_edges edges;
    int64_t *tag; /* one per node */
    int64_t tag_capacity, nodes;
    bool tags_differ;
    int64_t *class_value; /* one per graph */
    int64_t *offset;      /* [graphs + 1] */
    int64_t class_capacity, offset_capacity, graphs;
} lists;

/* Reads the next line; raises if the file has none. */
static bool expect_line(mo_text_reader *r, const char *what) {
    if (mo_text_line(r))
        return true;
    if (mo_ok(r->ctx))
        mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected %s, found the end of the file", r->path, (long long)r->line + 1,
            what);
    return false;
}

static bool read_node(lists *l, int64_t first, int64_t n) {
    mo_text_reader *r = &l->reader;
    int64_t degree, neighbour;
    if (!mo_host_array_grow(r->ctx, &l->tag, &l->tag_capacity, l->nodes + 1, sizeof *l->tag) ||
        !expect_line(r, "the line of a node") || !mo_text_integer(r, "the tag of a node", &l->tag[l->nodes]) ||
        !mo_text_integer_in(r, "the degree of a node", 0, n, &degree))
        return false;
    for (int64_t i = 0; i < degree; i++) {
        if (!mo_text_integer_in(r, "as many neighbours as the degree says", 0, n - 1, &neighbour) ||
            !mo_edges_add(r->ctx, &l->edges, l->nodes, first + neighbour)) {
            return false;
        }
    }
    l->tags_differ |= l->tag[l->nodes] != l->tag[0];
    l->nodes++;
    if (!mo_text_blank(r))
        return mo_text_unexpected(r, "the end of the line after as many neighbours as the degree says");
    return true;
}

static bool read_list_graph(lists *l) {
    mo_text_reader *r = &l->reader;
    int64_t n, first = l->nodes;
    if (!mo_host_array_grow(r->ctx, &l->class_value, &l->class_capacity, l->graphs + 1, sizeof *l->class_value) ||
        !mo_host_array_grow(r->ctx, &l->offset, &l->offset_capacity, l->graphs + 2, sizeof *l->offset) ||
        !expect_line(r, "the line \"nodes class\" of a graph") ||
        !mo_text_integer_in(r, "the number of nodes of a graph", 1, MO_GRAPH_LARGEST - 1 - first, &n) ||
        !mo_text_integer(r, "the class of a graph", &l->class_value[l->graphs]) || !mo_text_finished(r))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!read_node(l, first, n))
            return false;
    l->offset[0] = 0;
    l->offset[++l->graphs] = l->nodes;
    return true;
}

static bool read_lists(lists *l) {
    mo_text_reader *r = &l->reader;
    int64_t graphs = 0;
    if (!expect_line(r, "the number of graphs") ||
        !mo_text_integer_in(r, "the number of graphs", 1, MO_GRAPH_LARGEST - 1, &graphs) || !mo_text_finished(r)) {
        return false;
    }
    for (int64_t g = 0; g < graphs; g++)
        if (!read_list_graph(l))
            return false;
    while (mo_text_line(r)) {
        if (!mo_text_blank(r))
            return mo_text_unexpected(r, "the end of the file after the last graph");
    }
    return mo_ok(r->ctx);
}

mo_graph *mo_load_adjacency_list(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    lists l = {0};
    if (mo_text_open(&l.reader, ctx, path) && read_lists(&l)) {
        graph->graphs = l.graphs;
        graph->graph_offset = l.offset;
        l.offset = NULL;
        mo_graph_set_classes(graph, l.class_value, l.graphs);
        if (mo_graph_set_edges(graph, l.nodes, &l.edges) && l.tags_differ)
            mo_graph_set_features(graph, NULL, 0, l.tag);
    }
    mo_text_close(&l.reader);
    mo_edges_release(&l.edges);
    free(l.tag);
    free(l.class_value);
    free(l.offset);
    return mo_graph_finish(graph);
}
