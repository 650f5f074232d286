/* train/prefetch.h - the episodes of a run, planned and their rows fetched before they are needed (library internal).
 */
#ifndef MO_PREFETCH_H
#define MO_PREFETCH_H

#include "train/pool.h"

typedef struct mo_prefetch mo_prefetch;

/* Of the episodes that mo_pool_draw numbers 0 .. end - 1 under these options; the pool is borrowed. NULL on failure. */
mo_prefetch *mo_prefetch_create(mo_pool *pool, bool round_robin, const mo_plan_options *options, uint64_t end);
void mo_prefetch_release(mo_prefetch *p);
/* Episode `number`, as mo_pool_draw gives it: with the same bits, and the same errors, raised here. */
mo_code mo_prefetch_take(mo_prefetch *p, mo_tape *t, uint64_t number, mo_episode *e, const mo_source **source);
/* To be called when the work of episode `number`, the last one taken, has been queued: begins with the one after the
 * next. Raises nothing. */
void mo_prefetch_ahead(mo_prefetch *p, uint64_t number);

#endif
