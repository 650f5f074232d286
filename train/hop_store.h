/* train/hop_store.h - hop stacks that are larger than the memory a run may use: kept in a file, mapped (library
 * internal).
 */
#ifndef MO_HOP_STORE_H
#define MO_HOP_STORE_H

#include "train/cache.h"

typedef struct mo_hop_store {
    mo_cache cache;
    const char *key;     /* everything that hop 0 and the rest depend on */
    const char *name;    /* of the graph, for notices */
    const mo_csr *A;     /* hop k is A times hop k - 1; of the CPU */
    int64_t sides, hops; /* hops: l + 1 */
    int64_t nodes, columns;
    mo_dtype dtype;    /* MO_F32 or MO_F16; a hop is then made of the rounded one before it */
    double quality[2]; /* residual and orthogonality of the SVDs, kept with the file; of hop 0 when computed */
    bool from_cache;
    /* Hop 0 of a side, float32 [nodes, columns], contiguous, on the tape or not. Fills quality. */
    mo_tensor *(*first)(mo_tape *t, struct mo_hop_store *s, int64_t side);
    void *state;
} mo_hop_store;

/* [sides, hops, nodes, columns] in the file of that key, computed where it is missing, block by block: what an
 * interrupted run has finished is not computed again, a block whose checksum (XXH3) does not hold is. Takes memory for
 * one hop of one side, beside what `first` takes. Release; the null tensor on failure. */
mo_tensor *mo_hop_store_open(mo_hop_store *s);

#endif
