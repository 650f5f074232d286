/* train/graphs/node_names.h - lists of texts, and the names of a graph's nodes in the file it was read from (library
 * internal). */
#ifndef MO_NODE_NAMES_H
#define MO_NODE_NAMES_H

#include "tensor/inside.h"

struct mo_graph;

/* ---- a list of texts in one block of memory, and its order ---- */

/* Zero-initialise; release. */
typedef struct mo_words {
    int64_t n, starts, bytes, room; /* starts, room: capacities */
    int64_t *start;                 /* [n]: where a text begins */
    char *text;                     /* the texts, each with its zero byte */
} mo_words;

/* A text of the list and its position in the list. */
typedef struct mo_word {
    const char *text;
    int64_t at;
} mo_word;

/* Copies a text to the end of the list. False when out of memory. */
bool mo_words_add(mo_context *ctx, mo_words *w, const char *text);
static inline const char *mo_words_get(const mo_words *w, int64_t i) {
    return w->text + w->start[i];
}
/* Sorts all texts by their bytes, equal ones by position; free() the result. The list must not grow afterwards. NULL on
 * failure. */
mo_word *mo_words_sort(mo_context *ctx, const mo_words *w);
void mo_words_release(mo_words *w);

/* ---- the names of nodes ---- */

/* The order of the nodes: their names' values, the names' first appearance, or that of a file that lists one node per
 * row, which its other arrays by row follow. */
typedef enum mo_name_order { MO_NAMES_BY_VALUE, MO_NAMES_AS_THEY_APPEAR, MO_NAMES_LISTED } mo_name_order;

/* Either numbers in rising order, or texts. */
struct mo_node_names {
    int64_t n;
    mo_name_order order;
    int64_t *id;     /* [n]; NULL: texts */
    mo_words words;  /* name of node i */
    mo_word *sorted; /* [n] */
};

/* Takes over the numbers. On failure returns NULL and frees them. */
struct mo_node_names *mo_node_names_of_ids(mo_context *ctx, int64_t *id, int64_t n);
/* Takes over the words: node i has name i. Returns NULL and releases the words on failure or if a name repeats.
 * *repeated receives the first position at which a name repeats, or -1. */
struct mo_node_names *mo_node_names_of_words(mo_context *ctx, mo_words *words, int64_t *repeated);
void mo_node_names_release(struct mo_node_names *names);

/* Makes a file's list of distinct texts, which it takes over, the names of the graph's nodes, in its order. *repeated
 * as above. False on failure, or if a name repeats. */
bool mo_graph_list_nodes(struct mo_graph *graph, mo_words *words, int64_t *repeated);

/* Whether a text is a whole number as it is usually spelled: -7, 0, 20, of any length, and not 007 or +7. */
bool mo_is_whole_text(const char *text);
/* Makes the distinct texts of a list the names of a graph's nodes, and sets their number: if all are whole numbers, by
 * value, and 0 .. n - 1 need no names; else as they first appear. False on failure. */
bool mo_graph_name_nodes(struct mo_graph *graph, const mo_words *words);

#endif
