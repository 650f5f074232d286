/* train/episodes/pool.h - what a pool holds, and the rows of its sources on a tape (library internal). */
#ifndef MO_POOL_H
#define MO_POOL_H

#include "train/inside.h"

struct mo_pool {
    mo_context *ctx;
    mo_context *host;           /* a CPU context for features that are not on the device; NULL until there are any */
    mo_feature_options options; /* cache: an owned copy */
    double link_share;
    double family[MO_TASKS]; /* relative frequency of each task */
    uint64_t version;        /* increases at each change that can affect what is drawn */
    mo_notice notice;
    void *state;
    int n, capacity;
    mo_source *source;
};

/* pool_features.c: prepare a new source. Links: holds out links of the graph and as many non-edges (if there are
 * enough), with features of the remaining graph. Graph: features of the full graph, shared with another source of
 * it. */
void mo_pool_prepare_links(mo_pool *pool, mo_source *s, double share);
void mo_pool_prepare_graph(mo_pool *pool, mo_source *s);
/* pool_draw.c: the source and the plan (release it) of an episode. Returns the status. */
mo_code mo_pool_plan(const mo_pool *pool, uint64_t number, mo_family_order order, const mo_plan_options *options,
    const mo_source **source, mo_plan *plan);
/* Returns whether a source's rows are rows of examples. */
bool mo_has_example_rows(const mo_source *source);
/* Zeroed host memory, valid until the tape's next reset; later episodes that are no larger allocate nothing. Returns
 * NULL on failure. */
void *mo_tape_scratch(mo_tape *t, int64_t count, size_t element);

#endif
