/* autograd/slots.h - the gradients of one backward run, found by tensor (library internal). */
#ifndef MO_SLOTS_H
#define MO_SLOTS_H

#include "autograd/tape.h"

/* The state of one tensor during the run. */
typedef struct mo_slot {
    mo_tensor *grad; /* sum of the contributions so far, NULL: none */
    bool needed;     /* lies on a path from the tensors whose gradients are asked for */
    bool wanted;     /* the caller asked for its gradient, which is kept */
} mo_slot;

typedef struct mo_leaf_slot {
    mo_tensor *leaf; /* NULL: an empty entry */
    mo_slot slot;
} mo_leaf_slot;

/* Slots of the outputs of nodes first..last (dense) and of the leaves they use (a hash table by address). */
typedef struct mo_slots {
    mo_tape *t;
    int64_t first, last; /* nodes */
    mo_slot *dense;
    mo_leaf_slot *leaves;
    int64_t n_leaves, capacity; /* a power of two */
} mo_slots;

/* Opens slots for the nodes that can matter: from the oldest node of xs (no xs: the first node) to the newest of ys.
 * Returns false on failure. The memory comes from the tape's scratch arena and is freed with it. */
bool mo_slots_open(mo_slots *s, mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx);
/* The slot of T; a new leaf gets one. Returns NULL for an output of a node outside the range, or when out of memory. */
mo_slot *mo_slot_of(mo_slots *s, mo_tensor *T);
/* Adds a contribution: in place if no graph is created and the slot alone holds the gradient. */
void mo_contribute(mo_tape *t, mo_slot *slot, mo_tensor *bar, bool create_graph);

#endif
