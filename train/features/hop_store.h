/* train/features/hop_store.h - hop stacks that are larger than the memory a run may use: kept in a file, mapped
 * (library internal).
 */
#ifndef MO_HOP_STORE_H
#define MO_HOP_STORE_H

#include "train/features/cache.h"
#include "train/svd/halo.h"

typedef struct mo_hop_store {
    mo_cache cache;
    const char *key;     /* everything that the values depend on */
    const char *name;    /* of the graph, for notices */
    const mo_csr *A;     /* hop k is A times hop k - 1; in a context of the CPU */
    int64_t sides, hops; /* hops: l + 1, and the diffused rows behind them */
    int64_t diffused;    /* 0 or MO_DIFFUSED (diffuse.h) */
    int64_t nodes, columns;
    mo_dtype dtype;    /* MO_F32 or MO_F16; each hop is computed from the rounded one before it */
    double quality[2]; /* residual and orthogonality of the SVDs, kept with the file; set when hop 0 is computed */
    bool from_cache;
    mo_halo *halo; /* where the rows of hops are spread over ranks, while they are computed; else NULL */
    /* Hop 0 of a side, float32 [nodes, columns] or the rows of this rank, contiguous, on the tape or not. Fills
     * quality.
     */
    mo_tensor *(*first)(mo_tape *t, struct mo_hop_store *s, int64_t side);
    void *state;
} mo_hop_store;

/* [sides, hops, nodes, columns] in the file of that key, computed if it is missing, block by block: blocks that an
 * interrupted run has finished are not computed again, unless their checksum (XXH3) does not match. Takes memory for
 * one hop of one side, besides that of `first`. Release; returns the null tensor on failure. */
mo_tensor *mo_hop_store_open(mo_hop_store *s);
/* The same, called by every rank: the ranks compute the rows of a large graph together, each writing its own into the
 * one file, which needs no A; of another graph rank 0 computes all. Takes memory for two hops of the rows of one rank.
 */
mo_tensor *mo_hop_store_share(mo_hop_store *s, const mo_graph *graph, const mo_ranks *ranks);
/* Whether they do so together. */
bool mo_hop_store_is_spread(const mo_graph *graph, int64_t columns, const mo_ranks *ranks);

#endif
