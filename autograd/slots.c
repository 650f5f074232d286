/* autograd/slots.c - the gradients of a backward run, kept outside the tensors so that runs can nest. */
#include "autograd/slots.h"

enum { FIRST_CAPACITY = 64 };

static void node_range(mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx, int64_t *first, int64_t *last) {
    *last = -1;
    for (int i = 0; i < ny; i++)
        if (ys[i]->node && ys[i]->node->index > *last)
            *last = ys[i]->node->index;
    *first = nx ? INT64_MAX : 0;
    for (int i = 0; i < nx; i++) {
        int64_t index = xs[i]->node ? xs[i]->node->index : 0;
        if (index < *first)
            *first = index;
    }
    if (*first > *last) /* there is no path from xs to ys */
        *first = *last + 1;
}

bool mo_slots_open(mo_slots *s, mo_tape *t, mo_tensor *const *ys, int ny, mo_tensor *const *xs, int nx) {
    int64_t first, last;
    node_range(ys, ny, xs, nx, &first, &last);
    *s = (mo_slots){.t = t, .first = first, .last = last, .capacity = FIRST_CAPACITY};
    int64_t outputs = 0;
    if (last >= first)
        outputs = t->nodes[last]->first_slot + t->nodes[last]->n_out - t->nodes[first]->first_slot;
    s->dense = mo_host_arena_alloc(t->scratch, (size_t)outputs * sizeof *s->dense);
    s->leaves = mo_host_arena_alloc(t->scratch, FIRST_CAPACITY * sizeof *s->leaves);
    return s->dense && s->leaves;
}

static mo_leaf_slot *find_place(mo_leaf_slot *leaves, int64_t capacity, const mo_tensor *leaf) {
    uint64_t hash = (uint64_t)(uintptr_t)leaf * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(hash >> 32) & (capacity - 1);
    while (leaves[i].leaf && leaves[i].leaf != leaf)
        i = (i + 1) & (capacity - 1);
    return &leaves[i];
}

static bool grow(mo_slots *s) {
    int64_t capacity = 2 * s->capacity;
    mo_leaf_slot *leaves = mo_host_arena_alloc(s->t->scratch, (size_t)capacity * sizeof *leaves);
    if (!leaves)
        return false;
    for (int64_t i = 0; i < s->capacity; i++)
        if (s->leaves[i].leaf)
            *find_place(leaves, capacity, s->leaves[i].leaf) = s->leaves[i];
    s->leaves = leaves;
    s->capacity = capacity;
    return true;
}

mo_slot *mo_slot_of(mo_slots *s, mo_tensor *T) {
    if (T->node) {
        const mo_node *node = T->node;
        if (node->index < s->first || node->index > s->last)
            return NULL;
        int i = 0;
        while (node->out[i] != T)
            i++;
        return &s->dense[node->first_slot - s->t->nodes[s->first]->first_slot + i];
    }
    mo_leaf_slot *place = find_place(s->leaves, s->capacity, T);
    if (place->leaf)
        return &place->slot;
    if (2 * s->n_leaves >= s->capacity) {
        if (!grow(s))
            return NULL;
        place = find_place(s->leaves, s->capacity, T);
    }
    s->n_leaves++;
    place->leaf = T;
    return &place->slot;
}
