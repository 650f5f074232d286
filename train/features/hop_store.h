/* train/features/hop_store.h - hop stacks that are larger than the memory a run may use: kept in a file, mapped
 * (library internal).
 */
#ifndef MO_HOP_STORE_H
#define MO_HOP_STORE_H

#include "train/features/cache.h"

typedef struct mo_hop_store {
    mo_cache cache;
    const char *key;     /* everything that the values depend on */
    const char *name;    /* of the graph, for notices */
    const mo_csr *A;     /* hop k is A times hop k - 1; in a context of the CPU */
    int64_t sides, hops; /* hops: l + 1, and the diffused rows behind them */
    int64_t diffused;    /* 0 or MO_DIFFUSED (diffuse.h) */
    int64_t nodes, columns;
    double quality[2]; /* residual and orthogonality of the SVDs, kept with the file; set when hop 0 is computed */
    bool from_cache;
    /* Hop 0 of a side, float32 [nodes, columns], contiguous, on the tape or not. Fills quality. */
    mo_tensor *(*first)(mo_tape *t, struct mo_hop_store *s, int64_t side);
    void *state;
} mo_hop_store;

#define MO_HOP_ENDING ".npy" /* of the file's name; while it is written, MO_HOP_ENDING ".partial" */
enum { MO_HOP_PAGE = 4096 /* bytes before the data */ };

/* [sides, hops, nodes, columns] in the file of that key, computed if it is missing or damaged. Processes that open the
 * same stack wait for the one that computes it. Takes memory for one hop of one side, besides that of `first`. Release;
 * returns the null tensor on failure. */
mo_tensor *mo_hop_store_open(mo_hop_store *s);
/* The key that the file was made from (free() it; NULL if the file is not a hop stack), and whether it is intact;
 * check: compares the checksums of its rows too. */
char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact);

#endif
