/* autograd/slots.h - the gradients of one backward run, found by tensor (library internal). */
#ifndef MO_SLOTS_H
#define MO_SLOTS_H

#include "autograd/tape.h"

/* What is known of one tensor during the run. */
typedef struct mo_slot {
    mo_tensor *grad; /* sum of the contributions so far, NULL: none */
    bool needed;     /* lies on the way from the tensors that gradients are asked for */
    bool wanted;     /* is one of them: its gradient stays */
} mo_slot;

typedef struct mo_leaf_slot {
    mo_tensor *leaf; /* NULL: free place */
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

/* Slots for the nodes that can matter: from the oldest of xs (none: from the first node) to the newest of ys. False on
 * failure. Memory comes from the tape's scratch arena and goes with it. */
bool mo_slots_open(mo_slots *s, mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx);
/* The slot of T: made for a leaf that is new; NULL for an output of a node outside the range, or out of memory. */
mo_slot *mo_slot_of(mo_slots *s, mo_tensor *T);
/* Adds a contribution. Without a graph to create, a gradient nobody else holds is added to in place. */
void mo_contribute(mo_tape *t, mo_slot *slot, mo_tensor *bar, bool create_graph);

#endif
