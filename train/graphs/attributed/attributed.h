/* train/graphs/attributed/attributed.h - a graph, or a set of graphs, from files whose nodes carry attributes (library
 * internal): a reader names nodes, their attributes and edges in the order of its file. */
#ifndef MO_ATTRIBUTED_H
#define MO_ATTRIBUTED_H

#include "train/graphs/attributed/word_table.h"
#include "train/graphs/graph_build.h"

/* An attribute of a node: a number, or a text of `texts`. */
typedef struct mo_attribute {
    int64_t node, text; /* text: -1 of a number */
    float number;
    int32_t key, column; /* column: of the features, in the end; -1: none */
} mo_attribute;

/* What a reader has found so far. Zero-initialise, but for ctx; release. */
typedef struct mo_attributed {
    mo_context *ctx;
    /* Raises an error about a node or an edge of the graph at hand; place: what the reader gave with it. */
    void (*fail)(void *reader, bool of_edge, int64_t place, const char *expected, const char *found);
    void *reader;
    mo_words id, end; /* of the graph at hand: ids of nodes; two ends of each edge */
    bool ids_kept;    /* id is still that of the first graph, whose names they are if no other comes */
    int64_t *id_place, *edge_place, id_places, edge_places;
    int64_t nodes, graphs, offsets; /* of all graphs; offsets: a capacity */
    int64_t *offset;                /* [graphs]: the first node of each */
    mo_word_table keys;             /* names of attributes */
    mo_words text, names, classes;  /* names (the loader's), classes: of graphs; "": none */
    int64_t *key_node, key_nodes;   /* [keys.words.n]: the last node that has the key, from 1 */
    mo_attribute *attribute;
    int64_t n, capacity;
    int class_rank; /* of the class of the graph at hand: its attribute's place in mo_class_attributes, from 1 */
    char *class_text;
    mo_edges edges;
} mo_attributed;

/* Names of attributes that say the class of a node or a graph, the first one first; ends in NULL. */
extern const char *const mo_class_attributes[];

/* Each returns false after raising. A node: its id, and where it stands in the file. */
bool mo_attributed_node(mo_attributed *a, const char *id, int64_t place);
/* An attribute of the last node: a number if text is NULL. Each name once. */
bool mo_attributed_value(mo_attributed *a, const char *name, double number, const char *text);
/* Whether the last node has it. */
bool mo_attributed_has(mo_attributed *a, const char *name);
bool mo_attributed_edge(mo_attributed *a, const char *source, const char *target, int64_t place);
/* An attribute of the graph at hand, as text. */
bool mo_attributed_of_graph(mo_attributed *a, const char *name, const char *text);
/* Ends the graph at hand: its edges find their nodes. Raises where an id repeats or an edge has no node. */
bool mo_attributed_end(mo_attributed *a);
/* Moves everything to a new graph, without its hash (mo_graph_finish). */
bool mo_attributed_become(mo_attributed *a, mo_graph *graph);
void mo_attributed_release(mo_attributed *a);

/* attributed_columns.c: features of the attributes, but for those whose name is that of the class (NULL: none). */
bool mo_attributed_columns(mo_attributed *a, mo_graph *graph, const char *class_name);
/* attributed_classes.c: labels of the nodes of a single graph, or of the graphs of a set. *name: the attribute that
 * nodes' labels are; NULL: none. */
bool mo_attributed_classes(mo_attributed *a, mo_graph *graph, const char **name);

/* Readers: each appends a file's graphs. A file's name is borrowed until the call returns. */
bool mo_read_graphml(mo_attributed *a, const char *path);
bool mo_read_node_link(mo_attributed *a, const char *path);

#endif
