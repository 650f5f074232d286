/* train/graphs/attributed/attributed_graph.c - collects nodes, attributes and edges, and makes a graph of them.
 *
 * Ids are texts, unique within a graph; an edge may come before its nodes. Those of a single graph stay its nodes'
 * names; graphs of a set have names where every reader's file is one graph. */
#include "train/graphs/attributed/attributed.h"

#include "tensor/files/foreign_text.h"
#include "train/graphs/node_names.h"

#include <stdlib.h>
#include <string.h>

static void attributed_clear(mo_words *w) {
    w->n = w->bytes = 0;
}

static bool push_place(mo_context *ctx, int64_t **places, int64_t *capacity, int64_t n, int64_t place) {
    int64_t *grown = mo_host_array_grow(ctx, *places, capacity, n + 1, sizeof *grown);
    if (!grown)
        return false;
    *places = grown;
    grown[n] = place;
    return true;
}

/* Begins the graph after the first one. */
static void forget_first_ids(mo_attributed *a) {
    if (a->ids_kept)
        attributed_clear(&a->id);
    a->ids_kept = false;
}

bool mo_attributed_node(mo_attributed *a, const char *id, int64_t place) {
    if (!*id) {
        a->fail(a->reader, false, place, "the id of a node", "an empty text");
        return false;
    }
    if (a->nodes >= MO_GRAPH_LARGEST - 1) {
        mo_fail(a->ctx, MO_UNSUPPORTED, "graph: expected fewer than 2^31 nodes");
        return false;
    }
    forget_first_ids(a);
    a->nodes++;
    return push_place(a->ctx, &a->id_place, &a->id_places, a->id.n, place) && mo_words_add(a->ctx, &a->id, id);
}

bool mo_attributed_edge(mo_attributed *a, const char *source, const char *target, int64_t place) {
    return push_place(a->ctx, &a->edge_place, &a->edge_places, a->end.n / 2, place) &&
           mo_words_add(a->ctx, &a->end, source) && mo_words_add(a->ctx, &a->end, target);
}

bool mo_attributed_has(mo_attributed *a, const char *name) {
    int64_t k = mo_word_table_find(&a->keys, name);
    return k >= 0 && a->key_node[k] == a->nodes;
}

bool mo_attributed_value(mo_attributed *a, const char *name, double number, const char *text) {
    int64_t k = mo_word_table_find(&a->keys, name), place = a->id_place[a->id.n - 1];
    if (k < 0) {
        k = a->keys.words.n;
        if (k >= INT32_MAX || !push_place(a->ctx, &a->key_node, &a->key_nodes, k, 0) ||
            !mo_word_table_add(a->ctx, &a->keys, name))
            return false;
    }
    if (a->key_node[k] == a->nodes) {
        char quoted[64];
        a->fail(a->reader, false, place, "each attribute of a node once", mo_quote(name, strlen(name), quoted, 64));
        return false;
    }
    mo_attribute *grown = mo_host_array_grow(a->ctx, a->attribute, &a->capacity, a->n + 1, sizeof *grown);
    a->attribute = grown ? grown : a->attribute;
    if (!grown || (text && !mo_words_add(a->ctx, &a->text, text)))
        return false;
    a->key_node[k] = a->nodes;
    a->attribute[a->n++] = (mo_attribute){.node = a->nodes - 1,
        .text = text ? a->text.n - 1 : -1,
        .number = (float)number,
        .key = (int32_t)k,
        .column = -1};
    return true;
}

bool mo_attributed_of_graph(mo_attributed *a, const char *name, const char *text) {
    int rank = 0;
    while (mo_class_attributes[rank] && strcmp(mo_class_attributes[rank], name) != 0)
        rank++;
    if (!mo_class_attributes[rank] || (a->class_rank && a->class_rank <= rank + 1))
        return true;
    free(a->class_text);
    a->class_text = mo_text_copy(a->ctx, text);
    a->class_rank = rank + 1;
    return a->class_text;
}

/* ---- the end of a graph ---- */

static bool refuse_repeated_ids(mo_attributed *a, const mo_word *sorted) {
    int64_t repeated = -1;
    for (int64_t i = 1; i < a->id.n; i++)
        if (strcmp(sorted[i].text, sorted[i - 1].text) == 0 && (repeated < 0 || sorted[i].at < repeated))
            repeated = sorted[i].at;
    if (repeated >= 0)
        a->fail(
            a->reader, false, a->id_place[repeated], "an id that no other node has", mo_words_get(&a->id, repeated));
    return repeated < 0;
}

static bool join_ends(mo_attributed *a, const mo_word *sorted) {
    int64_t first = a->nodes - a->id.n;
    for (int64_t i = 0; i < a->end.n; i += 2) {
        const mo_word *end[2];
        for (int k = 0; k < 2; k++) {
            end[k] = mo_words_find(sorted, a->id.n, mo_words_get(&a->end, i + k));
            if (!end[k]) {
                a->fail(a->reader, true, a->edge_place[i / 2], k ? "a node as the target" : "a node as the source",
                    mo_words_get(&a->end, i + k));
                return false;
            }
        }
        if (!mo_edges_add(a->ctx, &a->edges, first + end[0]->at, first + end[1]->at))
            return false;
    }
    return true;
}

bool mo_attributed_end(mo_attributed *a) {
    forget_first_ids(a);
    if (a->id.n == 0) {
        a->fail(a->reader, false, 0, "a graph of one node or more", "none");
        return false;
    }
    mo_word *sorted = mo_words_sort(a->ctx, &a->id);
    bool fine = sorted && refuse_repeated_ids(a, sorted) && join_ends(a, sorted);
    free(sorted);
    fine = fine && push_place(a->ctx, &a->offset, &a->offsets, a->graphs, a->nodes - a->id.n) &&
           mo_words_add(a->ctx, &a->classes, a->class_text ? a->class_text : "");
    a->graphs++;
    free(a->class_text);
    a->class_text = NULL;
    a->class_rank = 0;
    attributed_clear(&a->end);
    a->ids_kept = a->graphs == 1;
    if (!a->ids_kept)
        attributed_clear(&a->id);
    return fine;
}

/* ---- the graph ---- */

static bool take_graphs(mo_attributed *a, mo_graph *graph) {
    graph->graphs = a->graphs;
    graph->graph_offset = mo_host_array(a->ctx, a->graphs + 1, sizeof *graph->graph_offset);
    for (int64_t g = 0; graph->graph_offset && g < a->graphs; g++)
        graph->graph_offset[g] = a->offset[g];
    if (graph->graph_offset)
        graph->graph_offset[a->graphs] = a->nodes;
    return graph->graph_offset;
}

/* Names of the nodes of a single graph, or those of the graphs of a set if each has one of its own. */
static bool take_names(mo_attributed *a, mo_graph *graph) {
    mo_words *names = a->graphs == 1 ? &a->id : &a->names;
    int64_t repeated = -1;
    for (int64_t i = 0; i < names->n; i++)
        if (!*mo_words_get(names, i))
            return true;
    graph->names = mo_node_names_of_words(a->ctx, names, &repeated);
    return graph->names || repeated >= 0;
}

bool mo_attributed_become(mo_attributed *a, mo_graph *graph) {
    const char *class_name = NULL;
    return mo_ok(a->ctx) && mo_graph_set_edges(graph, a->nodes, &a->edges) && take_graphs(a, graph) &&
           mo_attributed_classes(a, graph, &class_name) && mo_attributed_columns(a, graph, class_name) &&
           take_names(a, graph);
}

void mo_attributed_release(mo_attributed *a) {
    mo_words *words[] = {&a->id, &a->end, &a->text, &a->names, &a->classes};
    for (int i = 0; i < 5; i++)
        mo_words_release(words[i]);
    free(a->id_place);
    free(a->edge_place);
    free(a->offset);
    mo_word_table_release(&a->keys);
    free(a->key_node);
    free(a->attribute);
    free(a->class_text);
    mo_edges_release(&a->edges);
}
