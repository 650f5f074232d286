/* tools/interrupt.h - the signals that ask a command to end: SIGINT (Ctrl-C), SIGTERM (service managers, job queues,
 * containers), SIGHUP (a terminal that is gone). */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

/* From now on the first of each signal is noted, where the process does not ignore it already (nohup); the second finds
 * the default again and kills. flags: SA_RESTART, or 0 where waiting calls shall return. */
void catch_interrupts(int flags);
/* The first signal that came; 0: none. What is pointed at changes at any time. */
const volatile sig_atomic_t *interruption(void);
/* What a shell reports of a process that the signal killed: 130, 143, 129. */
int interrupted_code(void);

#endif
