/* train/features/each_graph.h - the graphs of a set, handed out to threads (library internal). */
#ifndef MO_EACH_GRAPH_H
#define MO_EACH_GRAPH_H

#include "train/inside.h"

/* Works on graph g, which has nodes, on the tape of a context of its own; the tape is reset afterwards. */
typedef void (*mo_graph_work)(void *state, mo_tape *t, int64_t g);

/* Calls work for every graph that has nodes; returns false on failure, with the first failed graph in the error. A
 * single graph is worked on in the graph's own context, those of a set on the threads of a context of the CPU. */
bool mo_each_graph(const mo_graph *graph, const mo_context *host, mo_graph_work work, void *state);

#endif
