/* train/graphs/node_names.h - what the nodes of a graph are called in the file it was read from (library internal). */
#ifndef MO_NODE_NAMES_H
#define MO_NODE_NAMES_H

#include "train/graphs/words.h"

/* Either numbers in rising order, or texts. */
struct mo_node_names {
    int64_t n;
    int64_t *id;     /* [n]; NULL: texts */
    mo_words words;  /* name of node i */
    mo_word *sorted; /* [n] */
};

/* Takes the numbers over. NULL, and the numbers freed, on failure. */
struct mo_node_names *mo_node_names_of_ids(mo_context *ctx, int64_t *id, int64_t n);
/* Takes the words over: node i has the name i. NULL, and the words released, on failure, or where a name repeats:
 * *repeated receives its second position then, else -1. */
struct mo_node_names *mo_node_names_of_words(mo_context *ctx, mo_words *words, int64_t *repeated);
/* The node of a name, or -1. */
int64_t mo_node_names_find(const struct mo_node_names *names, const char *name);
void mo_node_names_release(struct mo_node_names *names);

#endif
