/* train/graphs/node_names.h - the names of a graph's nodes in the file it was read from (library internal). */
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

/* Takes over the numbers. On failure returns NULL and frees them. */
struct mo_node_names *mo_node_names_of_ids(mo_context *ctx, int64_t *id, int64_t n);
/* Takes over the words: node i has name i. Returns NULL and releases the words on failure or if a name repeats:
 * *repeated receives its second position then, else -1. */
struct mo_node_names *mo_node_names_of_words(mo_context *ctx, mo_words *words, int64_t *repeated);
void mo_node_names_release(struct mo_node_names *names);

#endif
