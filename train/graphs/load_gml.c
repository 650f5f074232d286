/* train/graphs/load_gml.c - GML (Himsolt 1997), as network collections use it: graph [ node [ id .. ] edge [ source ..
 * target
 * .. ] ].
 *
 * Ids are any integers; they become 0..n-1 in rising order. A node's `value`, or else its `club`, is its class: numbers
 * are ordered as numbers, texts as texts; a node without a class or with a negative number is unlabelled. Names,
 * weights and all other content of a file are skipped; directed edges count as undirected. */
#include "train/graphs/gml_tokens.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gml_node {
    int64_t id, line;
    bool has_id;
    int rank;       /* the source of the class: 2 `value`, 1 `club`, 0 none */
    char *text;     /* of the class, NULL: none */
    int64_t number; /* of the class, if it is an integer */
} gml_node;

typedef struct gml_edge {
    int64_t end[2], line; /* ids */
    bool has_end[2];
} gml_edge;

typedef struct gml {
    mo_text_reader reader;
    gml_node *node;
    gml_edge *edge;
    int64_t nodes, node_capacity, edges, edge_capacity;
} gml;

/* ---- what the file says ---- */

static bool is_integer(const char *text, int64_t *value) {
    char *end;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *value >= -MO_TEXT_LARGEST && *value <= MO_TEXT_LARGEST;
}

static bool read_id(gml *g, const mo_gml_token *token, const char *expected, int64_t *id) {
    return (token->kind == MO_GML_NUMBER && is_integer(token->word, id)) ||
           mo_gml_unexpected(&g->reader, expected, token);
}

static bool take_of_node(gml *g, const char *key, const mo_gml_token *value) {
    gml_node *node = &g->node[g->nodes - 1];
    int rank = !strcmp(key, "value") ? 2 : !strcmp(key, "club") ? 1 : 0;
    if (!strcmp(key, "id")) {
        node->has_id = true;
        return read_id(g, value, "an integer as the id of a node", &node->id);
    }
    if (rank <= node->rank || (value->kind != MO_GML_NUMBER && value->kind != MO_GML_TEXT))
        return mo_gml_skip(&g->reader, value);
    if (value->cut)
        return mo_gml_unexpected(&g->reader, "a class of fewer than 256 bytes", value);
    free(node->text);
    node->text = mo_text_copy(g->reader.ctx, value->word);
    node->rank = rank;
    return node->text;
}

static bool take_of_edge(gml *g, const char *key, const mo_gml_token *value) {
    gml_edge *edge = &g->edge[g->edges - 1];
    int end = !strcmp(key, "source") ? 0 : !strcmp(key, "target") ? 1 : -1;
    if (end < 0)
        return mo_gml_skip(&g->reader, value);
    edge->has_end[end] = true;
    return read_id(
        g, value, end ? "an integer as the target of an edge" : "an integer as the source of an edge", &edge->end[end]);
}

static bool add_node(gml *g) {
    gml_node *grown = mo_host_array_grow(g->reader.ctx, g->node, &g->node_capacity, g->nodes + 1, sizeof *grown);
    g->node = grown ? grown : g->node;
    if (grown)
        g->node[g->nodes++] = (gml_node){.line = g->reader.line};
    return grown;
}

static bool add_edge(gml *g) {
    gml_edge *grown = mo_host_array_grow(g->reader.ctx, g->edge, &g->edge_capacity, g->edges + 1, sizeof *grown);
    g->edge = grown ? grown : g->edge;
    if (grown)
        g->edge[g->edges++] = (gml_edge){.line = g->reader.line};
    return grown;
}

/* Reads a key and the first token of its value; returns false at the list's end, which is left in `key`, and on
 * failure. */
static bool next_pair(gml *g, mo_gml_token *key, mo_gml_token *value) {
    return mo_gml_next(&g->reader, key) && key->kind == MO_GML_KEY && mo_gml_next(&g->reader, value);
}

/* The list of a node or an edge, after its opening bracket. */
static bool read_item(gml *g, bool is_node) {
    mo_gml_token key, value;
    if (!(is_node ? add_node(g) : add_edge(g)))
        return false;
    while (next_pair(g, &key, &value))
        if (!(is_node ? take_of_node(g, key.word, &value) : take_of_edge(g, key.word, &value)))
            return false;
    if (!mo_ok(g->reader.ctx) || (key.kind != MO_GML_CLOSE && !mo_gml_unexpected(&g->reader, "a key or ']'", &key)))
        return false;
    if (is_node)
        return g->node[g->nodes - 1].has_id || mo_gml_unexpected(&g->reader, "an id before the end of a node", &key);
    const bool *has_end = g->edge[g->edges - 1].has_end;
    return (has_end[0] && has_end[1]) ||
           mo_gml_unexpected(&g->reader, "source and target before the end of an edge", &key);
}

static bool read_gml_graph(gml *g) {
    mo_gml_token key, value;
    while (next_pair(g, &key, &value)) {
        bool is_node = !strcmp(key.word, "node"), is_edge = !strcmp(key.word, "edge");
        if ((is_node || is_edge) && value.kind != MO_GML_OPEN)
            return mo_gml_unexpected(&g->reader, is_node ? "'[' after node" : "'[' after edge", &value);
        if (!(is_node || is_edge ? read_item(g, is_node) : mo_gml_skip(&g->reader, &value)))
            return false;
    }
    return mo_ok(g->reader.ctx) && (key.kind == MO_GML_CLOSE || mo_gml_unexpected(&g->reader, "a key or ']'", &key));
}

static bool read_gml_file(gml *g) {
    mo_gml_token key, value;
    bool found = false;
    while (next_pair(g, &key, &value)) {
        bool is_graph = !strcmp(key.word, "graph");
        if (is_graph && (found || value.kind != MO_GML_OPEN))
            return mo_gml_unexpected(&g->reader, found ? "one graph alone" : "'[' after graph", &value);
        found |= is_graph;
        if (!(is_graph ? read_gml_graph(g) : mo_gml_skip(&g->reader, &value)))
            return false;
    }
    return mo_ok(g->reader.ctx) && (key.kind == MO_GML_END || mo_gml_unexpected(&g->reader, "a key", &key)) &&
           (found || mo_gml_unexpected(&g->reader, "graph [ .. ]", &key));
}

/* ---- from ids to a graph ---- */

static int gml_by_id(const void *a, const void *b) {
    const gml_node *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

static bool refuse_repeated(gml *g) {
    for (int64_t i = 1; i < g->nodes; i++) {
        if (g->node[i].id == g->node[i - 1].id) {
            mo_fail(g->reader.ctx, MO_FORMAT, "%s:%lld: expected an id that no other node has, found %lld",
                g->reader.path, (long long)g->node[i].line, (long long)g->node[i].id);
            return false;
        }
    }
    return true;
}

static bool rank_ends(gml *g, mo_edges *edges) {
    mo_context *ctx = g->reader.ctx;
    int64_t *id = mo_host_array(ctx, g->nodes, sizeof *id);
    for (int64_t i = 0; id && i < g->nodes; i++)
        id[i] = g->node[i].id;
    for (int64_t i = 0; id && mo_ok(ctx) && i < g->edges; i++) {
        int64_t end[2];
        for (int k = 0; k < 2; k++) {
            end[k] = mo_find_sorted(id, g->nodes, g->edge[i].end[k]);
            if (end[k] < 0)
                mo_fail(ctx, MO_FORMAT, "%s:%lld: expected an edge between nodes of the file, found the id %lld",
                    g->reader.path, (long long)g->edge[i].line, (long long)g->edge[i].end[k]);
        }
        if (mo_ok(ctx))
            mo_edges_add(ctx, edges, end[0], end[1]);
    }
    free(id);
    return mo_ok(ctx);
}

static int gml_by_text(const void *a, const void *b) {
    const gml_node *const *x = a, *const *y = b;
    return strcmp((*x)->text, (*y)->text);
}

/* A negative number means no class. Returns the number of nodes that keep their class. */
static int64_t drop_negative(gml_node **labelled, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (labelled[i]->number >= 0) {
            kept++;
        } else {
            free(labelled[i]->text);
            labelled[i]->text = NULL;
        }
    }
    return kept;
}

/* Gives every node with a class a number: the integer itself if all classes are integers, else the rank of its text.
 * Returns the number of such nodes; -1 when out of memory. */
static int64_t number_gml_classes(gml *g) {
    gml_node **labelled = mo_host_array(g->reader.ctx, g->nodes, sizeof *labelled);
    int64_t n = 0;
    bool integers = true;
    for (int64_t i = 0; labelled && i < g->nodes; i++) {
        if (g->node[i].text) {
            labelled[n++] = &g->node[i];
            integers &= is_integer(g->node[i].text, &g->node[i].number);
        }
    }
    if (labelled && n > 0 && !integers) {
        qsort(labelled, (size_t)n, sizeof *labelled, gml_by_text);
        for (int64_t i = 0; i < n; i++) {
            bool same = i > 0 && !strcmp(labelled[i]->text, labelled[i - 1]->text);
            labelled[i]->number = same ? labelled[i - 1]->number : i;
        }
    }
    n = !labelled ? -1 : integers ? drop_negative(labelled, n) : n;
    free(labelled);
    return n;
}

/* Classes of the nodes in the order of their ids; those without one are -1. */
static void set_classes(gml *g, mo_graph *graph) {
    int64_t n = number_gml_classes(g), k = 0;
    int64_t *number = n > 0 ? mo_host_array(graph->ctx, n, sizeof *number) : NULL;
    for (int64_t i = 0; number && i < g->nodes; i++)
        if (g->node[i].text)
            number[k++] = g->node[i].number;
    if (number && mo_graph_set_classes(graph, number, n) && n < g->nodes) {
        int64_t *spread = mo_host_array(graph->ctx, g->nodes, sizeof *spread);
        for (int64_t i = g->nodes - 1; spread && i >= 0; i--)
            spread[i] = g->node[i].text ? graph->label[--k] : -1;
        if (spread) {
            free(graph->label);
            graph->label = spread;
            graph->n_labels = g->nodes;
        }
    }
    free(number);
}

mo_graph *mo_load_gml(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    gml g = {0};
    mo_edges edges = {0};
    if (mo_text_open(&g.reader, ctx, path) && read_gml_file(&g)) {
        if (g.nodes)
            qsort(g.node, (size_t)g.nodes, sizeof *g.node, gml_by_id);
        if (refuse_repeated(&g) && rank_ends(&g, &edges) && mo_graph_set_edges(graph, g.nodes, &edges))
            set_classes(&g, graph);
    }
    for (int64_t i = 0; i < g.nodes; i++)
        free(g.node[i].text);
    mo_text_close(&g.reader);
    mo_edges_release(&edges);
    free(g.node);
    free(g.edge);
    return mo_graph_finish(graph);
}
