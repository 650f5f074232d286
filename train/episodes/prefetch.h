/* train/episodes/prefetch.h - plans a run's episodes and fetches their rows ahead (library internal). */
#ifndef MO_PREFETCH_H
#define MO_PREFETCH_H

#include "train/episodes/pool.h"

typedef struct mo_prefetch mo_prefetch;

/* Prepares to fetch episodes 0 .. end - 1 of mo_pool_draw under these options; borrows the pool. Returns NULL on
 * failure. */
mo_prefetch *mo_prefetch_create(mo_pool *pool, mo_family_order order, const mo_plan_options *options, uint64_t end);
void mo_prefetch_release(mo_prefetch *p);
/* Episode `number`, bitwise as from mo_pool_draw; raises the errors of planning and fetching it. */
mo_code mo_prefetch_take(mo_prefetch *p, mo_tape *t, uint64_t number, mo_episode *e, const mo_source **source);
/* From now on takes only `count` of each `stride` episodes, from number `first` on. Call it before the first
 * episode. */
void mo_prefetch_share(mo_prefetch *p, uint64_t stride, uint64_t first, uint64_t count);
/* Fetches ahead; call it when the work of episode `number`, the last one taken, is queued. Plans the fourth episode
 * after it; the three between are planned already. Raises no error. */
void mo_prefetch_ahead(mo_prefetch *p, uint64_t number);

#endif
