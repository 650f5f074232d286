/* tensor/cpu/fast/contention.c - how a context works while other programs want the processors.
 *
 * OpenMP's threads spin at a barrier. If more threads want to run than there are processors, a spinning thread takes
 * the time of the thread that it waits for, and a step becomes ten times slower. So each context watches its own
 * thread: if that was preempted in a window and got too little of its processor, other programs wanted the processor.
 * Then the context works alone for a while, and for longer if the next window with all threads is no better. That
 * changes no bit: the number of threads never does. */
#include "tensor/cpu/fast/contention.h"

#include "tensor/clock.h"

#include <stdbool.h>
#include <sys/resource.h>

static const double WINDOW = 0.03, SHARE = 0.85, FIRST_PAUSE = 0.25, LONGEST_PAUSE = 4; /* seconds; share of a window */

enum { PREEMPTIONS = 2 /* in a window; one happens on an idle machine too */ };

static long count_preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void begin_window(contention *c, double now, double used, long switches) {
    c->start = now;
    c->used = used;
    c->switches = switches;
    c->until = 0;
}

int contention_threads(contention *c, int threads) {
    if (threads < 2)
        return threads;
    double now = mo_clock(CLOCK_MONOTONIC);
    if (now < c->until)
        return 1;
    if (c->until == 0 && now < c->start + WINDOW)
        return threads;
    double used = mo_clock(CLOCK_THREAD_CPUTIME_ID);
    long switches = count_preemptions();
    bool measured = c->until == 0 && c->start > 0;
    bool contended = measured && switches - c->switches >= PREEMPTIONS && used - c->used < SHARE * (now - c->start);
    begin_window(c, now, used, switches);
    if (!contended) {
        c->pause = measured ? 0 : c->pause;
        return threads;
    }
    c->pause = c->pause == 0 ? FIRST_PAUSE : c->pause < LONGEST_PAUSE ? 2 * c->pause : c->pause;
    c->until = now + c->pause;
    return 1;
}
