/* tensor/cpu/fast/shares.h - hands out tasks in contiguous shares, one per thread, so that a thread finds in its cache
 * the rows that it wrote in the last kernel; a thread that has finished its share takes tasks from other shares. */
#ifndef MO_CPU_SHARES_H
#define MO_CPU_SHARES_H

#include "tensor/cpu/work.h"

#include <omp.h>
#include <stdatomic.h>

enum { MOST_SHARES = 64 };

typedef struct share {
    _Alignas(64) atomic_llong next; /* the next task; in a cache line of its own */
    int64_t end;
} share;

typedef struct shares {
    int n;
    int64_t chunk; /* number of tasks that a thread takes at once */
    share of[MOST_SHARES];
} shares;

/* The tasks first .. end-1. */
typedef struct task_range {
    int64_t first, end;
} task_range;

static inline void share_tasks(shares *s, int threads, int64_t tasks, int64_t chunk) {
    s->n = (int)min_of(threads, MOST_SHARES);
    s->chunk = chunk;
    for (int i = 0; i < s->n; i++) {
        atomic_init(&s->of[i].next, tasks * i / s->n);
        s->of[i].end = tasks * (i + 1) / s->n;
    }
}

/* Gives the calling thread its next tasks. Returns false if none remain. */
static inline bool take_tasks(shares *s, task_range *t) {
    int own = omp_get_thread_num();
    for (int i = 0; i < s->n; i++) {
        share *from = &s->of[(own + i) % s->n];
        t->first = atomic_fetch_add_explicit(&from->next, s->chunk, memory_order_relaxed);
        t->end = min_of(from->end, t->first + s->chunk);
        if (t->first < from->end)
            return true;
    }
    return false;
}

#endif
