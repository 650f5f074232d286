/* tensor/cpu/tasks.c - runs the tasks of a kernel, or of another loop, on one thread or on all threads of a context.
 *
 * This is where the library meets OpenMP. libgomp ends the process where it finds no memory for a team, even for a team
 * of one, so one thread works without a team. The threads of a team are the host's too, which can have set other modes
 * in them: each rounds to nearest and keeps subnormal numbers while it works, and gets its modes back afterwards. */
#include "tensor/cpu/tasks.h"

#include <omp.h>
#include <stdatomic.h>

#if defined(__SSE2__)
#include <immintrin.h>
enum { UNUSUAL_MODES = 0xE040 }; /* bits of MXCSR: rounding mode; FTZ and DAZ */
static unsigned usual_mode(void) {
    unsigned before = _mm_getcsr();
    if (before & UNUSUAL_MODES)
        _mm_setcsr(before & ~(unsigned)UNUSUAL_MODES);
    return before;
}
static void restore_mode(unsigned before) {
    if (before & UNUSUAL_MODES)
        _mm_setcsr(before);
}
#else
static unsigned usual_mode(void) {
    return 0;
}
static void restore_mode(unsigned before) {
    (void)before;
}
#endif

enum { MOST_SHARES = 64 };

typedef struct share {
    _Alignas(64) atomic_llong next; /* the next task; in a cache line of its own */
    int64_t end;
} share;

typedef struct shares {
    int n;
    int64_t chunk;
    share of[MOST_SHARES];
} shares;

static void share_tasks(shares *s, int threads, int64_t tasks, int64_t chunk) {
    s->n = (int)min_of(threads, MOST_SHARES);
    s->chunk = chunk;
    for (int i = 0; i < s->n; i++) {
        atomic_init(&s->of[i].next, tasks * i / s->n);
        s->of[i].end = tasks * (i + 1) / s->n;
    }
}

/* Gives the calling thread its next tasks. Returns false if none remain. */
static bool take_tasks(shares *s, task_range *t) {
    t->thread = omp_get_thread_num();
    for (int i = 0; i < s->n; i++) {
        share *from = &s->of[(t->thread + i) % s->n];
        t->first = atomic_fetch_add_explicit(&from->next, s->chunk, memory_order_relaxed);
        t->end = min_of(from->end, t->first + s->chunk);
        if (t->first < from->end)
            return true;
    }
    return false;
}

static _Thread_local bool for_another;

bool works_for_another(void) {
    return for_another;
}

void run_tasks(int threads, int64_t n, int64_t chunk, task_body *body, const void *of) {
    if (n <= 0)
        return;
    chunk = chunk > 0 ? chunk : (n + threads - 1) / threads;
    if (threads == 1 || n <= chunk) {
        unsigned mode = usual_mode();
        body(of, (task_range){0, n, 0});
        restore_mode(mode);
        return;
    }
    shares s;
    share_tasks(&s, threads, n, chunk);
#pragma omp parallel num_threads(threads)
    {
        unsigned mode = usual_mode();
        bool before = for_another;
        task_range some;
        for_another = before || omp_get_thread_num() > 0;
        while (take_tasks(&s, &some))
            body(of, some);
        for_another = before;
        restore_mode(mode);
    }
}
