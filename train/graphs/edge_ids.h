/* train/graphs/edge_ids.h - the edges of an edge list as the ids that it has (library internal). */
#ifndef MO_EDGE_IDS_H
#define MO_EDGE_IDS_H

#include "tensor/inside.h"

/* Ids in file order: edge i joins id[2 i] and id[2 i + 1]. */
typedef struct mo_edge_ids {
    int64_t *id;                       /* free() */
    int64_t count, capacity, comments; /* comments: lines */
} mo_edge_ids;

/* Reads lines "u v" of ids in 0..highest; raises if the file has no edge. Returns false on failure; free ids->id in any
 * case. */
bool mo_edge_ids_read(mo_context *ctx, const char *path, int64_t highest, mo_edge_ids *ids);

#endif
