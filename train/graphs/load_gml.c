/* train/graphs/load_gml.c - GML (Himsolt 1997), in the form of network collections: graph [ node [ id .. ] edge [
 * source .. target .. ] ]. Texts end on the line they start on, comments run from '#' to the line's end.
 *
 * The names of the nodes are their labels if every node has its own, else their ids, which are any integers; the order
 * is that of mo_graph_name_nodes. A node's class is its `value`, or else its `club`: numbers in numeric order, texts in
 * text order; mo_plain_label says what is unlabelled. All other content is skipped, weights
 * with a notice; directed edges become undirected. */
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

/* ---- keys, numbers, texts and brackets ---- */

typedef enum gml_kind { GML_END, GML_KEY, GML_NUMBER, GML_TEXT, GML_OPEN, GML_CLOSE } gml_kind;

/* A token: a number as written, a text without its quotes. */
typedef struct gml_token {
    gml_kind kind;
    bool cut; /* the text was longer and is cut off */
    char word[256];
} gml_token;

static bool read_gml_text(mo_text_reader *r, gml_token *token) {
    const char *end = strchr(r->cursor + 1, '"');
    if (!end)
        return mo_text_unexpected(r, "a text that ends on its line");
    size_t n = (size_t)(end - r->cursor) - 1;
    if (!mo_is_utf8(r->cursor + 1, n))
        return mo_text_unexpected(r, "text in UTF-8");
    token->kind = GML_TEXT;
    token->cut = n >= sizeof token->word;
    snprintf(token->word, sizeof token->word, "%.*s", (int)(token->cut ? sizeof token->word - 1 : n), r->cursor + 1);
    r->cursor += n + 2;
    return true;
}

static bool read_word(mo_text_reader *r, gml_token *token) {
    size_t n = strcspn(r->cursor, " \t[]\"");
    char first = *r->cursor;
    bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
    if (n >= sizeof token->word || (!letter && !strchr("+-.0123456789", first)))
        return mo_text_unexpected(r, "a key, a number, a text or a bracket");
    token->kind = letter ? GML_KEY : GML_NUMBER;
    memcpy(token->word, r->cursor, n);
    token->word[n] = '\0';
    r->cursor += n;
    return true;
}

/* Reads the next token, on the current line or a later one; returns false after raising. The end of the file is a
 * token. */
static bool gml_next(mo_text_reader *r, gml_token *token) {
    token->cut = false;
    while (!r->cursor || mo_text_blank(r) || *r->cursor == '#') {
        if (!mo_text_line(r)) {
            token->kind = GML_END;
            token->word[0] = '\0';
            return mo_ok(r->ctx);
        }
    }
    if (*r->cursor == '[' || *r->cursor == ']') {
        token->kind = *r->cursor == '[' ? GML_OPEN : GML_CLOSE;
        snprintf(token->word, sizeof token->word, "%c", *r->cursor++);
        return true;
    }
    return *r->cursor == '"' ? read_gml_text(r, token) : read_word(r, token);
}

static bool gml_unexpected(mo_text_reader *r, const char *expected, const gml_token *token) {
    char shown[32];
    snprintf(shown, sizeof shown, "\"%.24s\"", token->word);
    for (char *p = shown; *p; p++)
        if (*p < 32 || *p > 126)
            *p = '?';
    return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected %s, found %s", r->path, (long long)r->line, expected,
        token->kind == GML_END ? "the end of the file" : shown);
}

/* Skips a value, whose first token is given; skips a list to its end. Returns false after raising. */
static bool gml_skip(mo_text_reader *r, const gml_token *value) {
    if (value->kind != GML_OPEN)
        return value->kind == GML_NUMBER || value->kind == GML_TEXT || gml_unexpected(r, "a value", value);
    gml_token token;
    for (int depth = 1; depth > 0;) {
        if (!gml_next(r, &token))
            return false;
        depth += (token.kind == GML_OPEN) - (token.kind == GML_CLOSE);
        if (token.kind == GML_END || depth > DEEPEST)
            return gml_unexpected(r, depth > DEEPEST ? "lists at most 32 deep" : "the end of a list", &token);
    }
    return true;
}

/* ---- the content of a file ---- */

typedef struct gml_node {
    int64_t id, line;
    bool has_id;
    int rank;     /* which key gave the class: 2 `value`, 1 `club`, 0 none */
    char *text;   /* the class's text; NULL: none */
    char *label;  /* NULL: none, or longer than a token */
    int64_t node; /* its number in the graph */
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
    int64_t graphs;  /* lists `graph` */
    int64_t weights; /* number of edge weights other than 1 */
} gml;

static bool is_integer(const char *text, int64_t *value) {
    char *end;
    *value = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *value >= -MO_TEXT_LARGEST && *value <= MO_TEXT_LARGEST;
}

static bool read_id(gml *g, const gml_token *token, const char *expected, int64_t *id) {
    return (token->kind == GML_NUMBER && is_integer(token->word, id)) || gml_unexpected(&g->reader, expected, token);
}

static bool take_of_node(gml *g, const char *key, const gml_token *value) {
    gml_node *node = &g->node[g->nodes - 1];
    int rank = !strcmp(key, "value") ? 2 : !strcmp(key, "club") ? 1 : 0;
    if (!strcmp(key, "id")) {
        node->has_id = true;
        return read_id(g, value, "an integer as the id of a node", &node->id);
    }
    if (!strcmp(key, "label") && !node->label && !value->cut && *value->word &&
        (value->kind == GML_NUMBER || value->kind == GML_TEXT))
        return (node->label = mo_text_copy(g->reader.ctx, value->word));
    if (rank <= node->rank || (value->kind != GML_NUMBER && value->kind != GML_TEXT))
        return gml_skip(&g->reader, value);
    if (value->cut)
        return gml_unexpected(&g->reader, "a class of fewer than 256 bytes", value);
    free(node->text);
    node->text = mo_text_copy(g->reader.ctx, value->word);
    node->rank = rank;
    return node->text;
}

static bool take_of_edge(gml *g, const char *key, const gml_token *value) {
    gml_edge *edge = &g->edge[g->edges - 1];
    int end = !strcmp(key, "source") ? 0 : !strcmp(key, "target") ? 1 : -1;
    if (end < 0) {
        bool weight = !strcmp(key, "weight") || !strcmp(key, "value");
        g->weights += weight && value->kind == GML_NUMBER && mo_read_number(value->word, NULL) != 1;
        return gml_skip(&g->reader, value);
    }
    edge->has_end[end] = true;
    return read_id(
        g, value, end ? "an integer as the target of an edge" : "an integer as the source of an edge", &edge->end[end]);
}

/* What a list holds; the file itself is a list without brackets. */
typedef enum gml_list { OF_FILE, OF_GRAPH, OF_NODE, OF_EDGE, OF_OTHER } gml_list;

/* The kind of the list that a key begins in a list of another kind. */
static gml_list list_of_key(gml_list outer, const char *key) {
    if (outer == OF_FILE && !strcmp(key, "graph"))
        return OF_GRAPH;
    if (outer == OF_GRAPH && !strcmp(key, "node"))
        return OF_NODE;
    return outer == OF_GRAPH && !strcmp(key, "edge") ? OF_EDGE : OF_OTHER;
}

static bool add_item(gml *g, gml_list kind) {
    mo_context *ctx = g->reader.ctx;
    bool fine = kind == OF_NODE   ? mo_host_array_grow(ctx, &g->node, &g->node_capacity, g->nodes + 1, sizeof *g->node)
                : kind == OF_EDGE ? mo_host_array_grow(ctx, &g->edge, &g->edge_capacity, g->edges + 1, sizeof *g->edge)
                                  : true;
    if (fine && kind == OF_NODE)
        g->node[g->nodes++] = (gml_node){.line = g->reader.line};
    if (fine && kind == OF_EDGE)
        g->edge[g->edges++] = (gml_edge){.line = g->reader.line};
    g->graphs += kind == OF_GRAPH;
    return fine;
}

/* Whether a list, whose end is given, has what it must have; raises if not. */
static bool is_complete(gml *g, gml_list kind, const gml_token *end) {
    if (kind == OF_NODE && !g->node[g->nodes - 1].has_id)
        return gml_unexpected(&g->reader, "an id before the end of a node", end);
    if (kind == OF_EDGE && !(g->edge[g->edges - 1].has_end[0] && g->edge[g->edges - 1].has_end[1]))
        return gml_unexpected(&g->reader, "source and target before the end of an edge", end);
    return kind != OF_FILE || g->graphs || gml_unexpected(&g->reader, "graph [ .. ]", end);
}

/* Reads the pairs of keys and values of a list, after its opening bracket, to its end. */
static bool read_list(gml *g, gml_list kind) {
    gml_token key, value;
    if (!add_item(g, kind))
        return false;
    for (;;) {
        if (!gml_next(&g->reader, &key))
            return false;
        if (key.kind == (kind == OF_FILE ? GML_END : GML_CLOSE))
            return is_complete(g, kind, &key);
        if (key.kind != GML_KEY)
            return gml_unexpected(&g->reader, kind == OF_FILE ? "a key" : "a key or ']'", &key);
        gml_list inner = list_of_key(kind, key.word);
        if (!gml_next(&g->reader, &value))
            return false;
        if (inner == OF_GRAPH && g->graphs)
            return gml_unexpected(&g->reader, "one graph alone", &value);
        if (inner != OF_OTHER && value.kind != GML_OPEN) {
            char expected[24];
            snprintf(expected, sizeof expected, "'[' after %.8s", key.word);
            return gml_unexpected(&g->reader, expected, &value);
        }
        if (!(inner != OF_OTHER   ? read_list(g, inner)
                : kind == OF_NODE ? take_of_node(g, key.word, &value)
                : kind == OF_EDGE ? take_of_edge(g, key.word, &value)
                                  : gml_skip(&g->reader, &value)))
            return false;
    }
}

/* ---- from ids to a graph ---- */

static int gml_by_id(const void *a, const void *b) {
    const gml_node *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

static int gml_has_id(const void *a, const void *b) {
    const gml_node *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static bool refuse_repeated(gml *g) {
    for (int64_t i = 1; i < g->nodes; i++) {
        if (g->node[i].id == g->node[i - 1].id)
            return mo_fail(g->reader.ctx, MO_FORMAT, "%s:%lld: expected an id that no other node has, found %lld",
                g->reader.path, (long long)g->node[i].line, (long long)g->node[i].id);
    }
    return true;
}

/* Names the nodes, in the order of the file, by their labels or by their ids, and sets each node's number. Labels that
 * are no names, as a node lacks one or two have the same, are noted. */
static bool name_nodes(gml *g, mo_graph *graph) {
    mo_context *ctx = graph->ctx;
    mo_words names = {0};
    char number[24];
    int64_t labels = 0;
    for (int64_t i = 0; i < g->nodes; i++)
        labels += g->node[i].label != NULL;
    bool by_label = g->nodes > 0 && labels == g->nodes;
    for (int64_t i = 0; by_label && i < g->nodes && mo_ok(ctx); i++)
        mo_words_add(ctx, &names, g->node[i].label);
    mo_word *sorted = by_label && mo_ok(ctx) ? mo_words_sort(ctx, &names) : NULL;
    for (int64_t i = 1; sorted && i < g->nodes; i++)
        by_label = by_label && strcmp(sorted[i].text, sorted[i - 1].text) != 0;
    free(sorted);
    if (!by_label) {
        mo_words_release(&names);
        if (labels)
            mo_graph_leave_out(
                graph, "%lld labels of nodes (a name that each node has alone is none of them)", (long long)labels);
    }
    for (int64_t i = 0; !by_label && i < g->nodes && mo_ok(ctx); i++) {
        snprintf(number, sizeof number, "%lld", (long long)g->node[i].id);
        mo_words_add(ctx, &names, number);
    }
    bool fine = mo_ok(ctx) && mo_graph_name_nodes(graph, &names);
    for (int64_t i = 0; fine && i < g->nodes; i++)
        g->node[i].node = mo_graph_find_example(graph, mo_words_get(&names, i));
    mo_words_release(&names);
    return fine;
}

/* Adds the edges between nodes, which are sorted by id. */
static bool join_ends(const gml *g, mo_edges *edges) {
    mo_context *ctx = g->reader.ctx;
    for (int64_t i = 0; mo_ok(ctx) && i < g->edges; i++) {
        const gml_node *end[2];
        for (int k = 0; k < 2; k++) {
            const gml_node wanted = {.id = g->edge[i].end[k]};
            end[k] = g->nodes ? bsearch(&wanted, g->node, (size_t)g->nodes, sizeof wanted, gml_has_id) : NULL;
            if (!end[k])
                mo_fail(ctx, MO_FORMAT, "%s:%lld: expected an edge between nodes of the file, found the id %lld",
                    g->reader.path, (long long)g->edge[i].line, (long long)g->edge[i].end[k]);
        }
        if (mo_ok(ctx))
            mo_edges_add(ctx, edges, end[0]->node, end[1]->node);
    }
    return mo_ok(ctx);
}

/* Sets the classes of the nodes. If no node has a class, the graph has no labels. */
static void set_classes(const gml *g, mo_graph *graph) {
    mo_context *ctx = graph->ctx;
    mo_words texts = {0};
    mo_label_column column = {0};
    mo_labels labels = {0};
    const char **text = mo_host_array(ctx, g->nodes + 1, sizeof *text);
    bool fine = text;
    for (int64_t i = 0; fine && i < g->nodes; i++)
        text[g->node[i].node] = g->node[i].text ? g->node[i].text : "";
    char plain[64];
    for (int64_t i = 0; fine && i < g->nodes; i++)
        fine = mo_words_add(ctx, &texts, mo_plain_label(text[i], plain));
    if (fine && mo_label_column_of_texts(ctx, g->reader.path, &texts, &column) &&
        mo_labels_of(ctx, column.value, NULL, g->nodes, &labels) && labels.n > 0 &&
        mo_graph_take_labels(graph, &labels)) {
        graph->class_name = column.name;
        column.name = NULL; /* now owned by the graph */
    }
    mo_labels_release(&labels);
    mo_label_column_release(&column);
    mo_words_release(&texts);
    free(text);
}

mo_graph *mo_load_gml(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    gml g = {0};
    mo_edges edges = {0};
    if (mo_text_open(&g.reader, ctx, path) && read_list(&g, OF_FILE)) {
        bool fine = name_nodes(&g, graph);
        if (g.nodes)
            qsort(g.node, (size_t)g.nodes, sizeof *g.node, gml_by_id);
        if (fine && refuse_repeated(&g) && join_ends(&g, &edges) && mo_graph_set_edges(graph, g.nodes, &edges))
            set_classes(&g, graph);
        if (g.weights)
            mo_graph_leave_out(graph, "%lld weights of edges", (long long)g.weights);
    }
    for (int64_t i = 0; i < g.nodes; i++) {
        free(g.node[i].text);
        free(g.node[i].label);
    }
    mo_text_close(&g.reader);
    mo_edges_release(&edges);
    free(g.node);
    free(g.edge);
    return mo_graph_finish(graph);
}
