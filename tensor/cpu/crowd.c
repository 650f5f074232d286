/* tensor/cpu/crowd.c - fewer threads while other programs want the processors.
 *
 * OpenMP's threads spin at a barrier. Where more of them want to run than there are processors, a spinning one takes
 * the time that the one it waits for needs, and a step becomes ten times slower. How long they spin is the host
 * program's affair; how many take part is ours, and changes no bit. So each context watches its own thread: in a window
 * in which that was put aside and got too little of its processor, others wanted it. The context then works alone for a
 * while, and longer if the next window with all threads is no better. */
#include "tensor/cpu/crowd.h"

#include "tensor/clock.h"

#include <stdbool.h>
#include <sys/resource.h>

static const double WINDOW = 0.03, SHARE = 0.85, FIRST_PAUSE = 0.25, LONGEST_PAUSE = 4; /* seconds; share of a window */

enum { PUT_ASIDE = 2 /* times in a window: once happens on an idle machine too */ };

static long put_aside(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void begin_window(crowd *c, double now, double used, long switches) {
    c->start = now;
    c->used = used;
    c->switches = switches;
    c->until = 0;
}

int crowd_threads(crowd *c, int threads) {
    if (threads < 2)
        return threads;
    double now = mo_clock(CLOCK_MONOTONIC);
    if (now < c->until)
        return 1;
    if (c->until == 0 && now < c->start + WINDOW)
        return threads;
    double used = mo_clock(CLOCK_THREAD_CPUTIME_ID);
    long switches = put_aside();
    bool measured = c->until == 0 && c->start > 0;
    bool crowded = measured && switches - c->switches >= PUT_ASIDE && used - c->used < SHARE * (now - c->start);
    begin_window(c, now, used, switches);
    if (!crowded) {
        c->pause = measured ? 0 : c->pause;
        return threads;
    }
    c->pause = c->pause == 0 ? FIRST_PAUSE : c->pause < LONGEST_PAUSE ? 2 * c->pause : c->pause;
    c->until = now + c->pause;
    return 1;
}
