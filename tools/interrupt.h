/* tools/interrupt.h - the signals that ask a command to end: SIGINT (Ctrl-C), SIGTERM (service managers, job queues,
 * containers), SIGHUP (a closed terminal). */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

/* From now on the first signal of each kind is noted, unless the process ignores it already (nohup); the second has its
 * default effect and kills. flags: SA_RESTART, or 0 if waiting calls shall return. */
void catch_interrupts(int flags);
/* Points to the first signal that came; 0: none. The value changes at any time. */
const volatile sig_atomic_t *interruption(void);
/* The exit status that a shell reports for a process killed by the signal: 130, 143, 129. */
int interrupted_code(void);

#endif
