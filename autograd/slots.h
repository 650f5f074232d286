/* autograd/slots.h - the gradients of one backward run, found by tensor (library internal). */
#ifndef MO_SLOTS_H
#define MO_SLOTS_H

#include "autograd/tape.h"

/* The state of one tensor during the run. */
typedef struct mo_slot {
    mo_tensor *grad; /* sum of the contributions so far, NULL: none */
    bool needed;     /* the tensor depends on a tensor whose gradient is asked for */
    bool wanted;     /* the caller asked for this gradient, so the run does not free it */
} mo_slot;

typedef struct mo_leaf_slot {
    mo_tensor *leaf; /* NULL: an empty entry */
    mo_slot slot;
} mo_leaf_slot;

/* `dense` holds the slots of the outputs of nodes first..last; `leaves`, a hash table by address, holds the slots of
 * the leaves that these nodes read. */
typedef struct mo_slots {
    mo_tape *t;
    int64_t first, last; /* nodes */
    mo_slot *dense;
    mo_leaf_slot *leaves;
    int64_t n_leaves, capacity; /* capacity: a power of two */
} mo_slots;

/* Opens slots for the nodes that can matter: from the oldest node of xs (the first node if an x is a leaf or there are
 * no xs) to the newest of ys. Returns false on failure. The memory comes from the tape's scratch arena and is freed
 * with it. */
bool mo_slots_open(mo_slots *s, mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx);
/* The slot of T; a new leaf gets one. Returns NULL for an output of a node outside the range, or when out of memory. */
mo_slot *mo_slot_of(mo_slots *s, mo_tensor *T);
/* Adds bar, which it takes over, to the slot's gradient. Without create_graph the sum overwrites one of these two
 * tensors, if nothing else refers to its memory. */
void mo_contribute(mo_tape *t, mo_slot *slot, mo_tensor *bar, bool create_graph);

#endif
