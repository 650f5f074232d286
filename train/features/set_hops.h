/* train/features/set_hops.h - the hops of a set of graphs on the host (library internal). */
#ifndef MO_SET_HOPS_H
#define MO_SET_HOPS_H

#include "train/inside.h"

/* Fills the hops after hop 0 of [hops + 1, nodes, dim] float32; returns false on failure. */
bool mo_propagate_set(const mo_graph *graph, const mo_tensor *hops);

#endif
