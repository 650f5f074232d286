/* train/episodes/prefetch.h - the episodes of a run, planned and their rows fetched before they are needed (library
 * internal).
 */
#ifndef MO_PREFETCH_H
#define MO_PREFETCH_H

#include "train/episodes/pool.h"

typedef struct mo_prefetch mo_prefetch;

/* For the episodes that mo_pool_draw numbers 0 .. end - 1 under these options; borrows the pool. Returns NULL on
 * failure. */
mo_prefetch *mo_prefetch_create(mo_pool *pool, mo_family_order order, const mo_plan_options *options, uint64_t end);
void mo_prefetch_release(mo_prefetch *p);
/* Episode `number` as mo_pool_draw gives it, with the same bits; its errors are raised here. */
mo_code mo_prefetch_take(mo_prefetch *p, mo_tape *t, uint64_t number, mo_episode *e, const mo_source **source);
/* From now on, of each `stride` episodes, `count` are taken, from number `first` on. Called before the first is. */
void mo_prefetch_share(mo_prefetch *p, uint64_t stride, uint64_t first, uint64_t count);
/* Starts fetching ahead. The caller calls it when the work of episode `number`, the last one taken, has been queued; it
 * begins with the fourth episode after it; those before are on their way. Raises no error. */
void mo_prefetch_ahead(mo_prefetch *p, uint64_t number);

#endif
