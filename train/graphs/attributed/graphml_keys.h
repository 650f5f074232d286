/* train/graphs/attributed/graphml_keys.h - the keys of a GraphML file: names and types of its attributes (library
 * internal). */
#ifndef MO_GRAPHML_KEYS_H
#define MO_GRAPHML_KEYS_H

#include "train/graphs/attributed/word_table.h"

typedef enum graphml_type { GRAPHML_TEXT, GRAPHML_NUMBER, GRAPHML_BOOLEAN } graphml_type;

typedef struct graphml_key {
    char *name;  /* NULL of a key to pass over */
    char *value; /* its default; NULL: none */
    graphml_type type;
    bool of_nodes;
} graphml_key;

/* Zero-initialise; release. */
typedef struct graphml_keys {
    graphml_key *key;
    mo_word_table ids; /* of the keys, in their order */
    int64_t n, capacity;
    int64_t *with_default, defaults, default_capacity; /* numbers of the keys of nodes that have a default */
} graphml_keys;

/* Adds a key from its attributes, of which each may be NULL; false where it has no id of its own or another type, and
 * on failure.
 */
bool graphml_key_add(
    mo_context *ctx, graphml_keys *keys, const char *id, const char *name, const char *type, const char *of);
/* Gives the last key a default. */
bool graphml_key_default(mo_context *ctx, graphml_keys *keys, const char *value);
/* The key of an id; NULL: none. */
const graphml_key *graphml_key_find(const graphml_keys *keys, const char *id);
void graphml_keys_release(graphml_keys *keys);

#endif
