/* train/each_graph.h - the graphs of a set, handed out to threads (library internal). */
#ifndef MO_EACH_GRAPH_H
#define MO_EACH_GRAPH_H

#include "train/train.h"

/* Works on graph g, which has nodes, on the tape of a context of its own, which is reset after. */
typedef void (*mo_graph_work)(void *state, mo_tape *t, int64_t g);

/* Does it for every graph that has nodes; false on failure, which names the first graph that failed. A single graph, or
 * those on a device, one after the other in the graph's own context. */
bool mo_each_graph(const mo_graph *graph, mo_graph_work work, void *state);

#endif
