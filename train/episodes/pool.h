/* train/episodes/pool.h - the fields of a pool, and the rows of its sources on a tape (library internal). */
#ifndef MO_POOL_H
#define MO_POOL_H

#include "train/inside.h"

struct mo_pool {
    mo_context *ctx;
    int64_t holders;            /* as of a graph */
    mo_context *host;           /* a CPU context for features that are not on the device; NULL until there are any */
    mo_feature_options options; /* cache: an owned copy */
    double link_share;
    bool near;               /* links and other pairs are two steps apart */
    double family[MO_TASKS]; /* relative frequency of each task */
    uint64_t version;        /* increases at each change that can affect the draws */
    mo_notice notice;
    void *state;
    int n;
    int64_t capacity;
    mo_source *source;
};

/* pool_draw.c: the source and the plan (release it) of an episode. Returns the status. */
mo_code mo_pool_plan(const mo_pool *pool, uint64_t number, mo_family_order order, const mo_plan_options *options,
    const mo_source **source, mo_plan *plan);
/* Returns whether a source's rows are rows of examples. */
bool mo_has_example_rows(const mo_source *source);
/* Zeroed host memory, valid until the tape's next reset; later episodes that are no larger allocate nothing. Returns
 * NULL on failure. */
void *mo_tape_scratch(mo_tape *t, int64_t count, size_t element);

/* ---- prefetch.c: plans a run's episodes and fetches their rows ahead ---- */

typedef struct mo_prefetch mo_prefetch;

/* Prepares to fetch episodes 0 .. end - 1 of mo_pool_draw under these options; borrows the pool. Returns NULL on
 * failure. */
mo_prefetch *mo_prefetch_create(mo_pool *pool, mo_family_order order, const mo_plan_options *options, uint64_t end);
void mo_prefetch_release(mo_prefetch *p);
/* Episode `number`, bitwise as from mo_pool_draw; raises the errors of planning and fetching it. Plans the episode
 * `next`, which will be taken after it. */
mo_code mo_prefetch_take(
    mo_prefetch *p, mo_tape *t, uint64_t number, uint64_t next, mo_episode *e, const mo_source **source);
/* Fetches the rows of the next episode; call it when the work of the episode taken last is queued. Raises no error. */
void mo_prefetch_ahead(mo_prefetch *p);

#endif
