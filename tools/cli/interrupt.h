/* tools/cli/interrupt.h - the signals that ask a command to end: SIGINT (Ctrl-C), SIGTERM (service managers, job
 * queues, containers), SIGHUP (a closed terminal). */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include <signal.h>

/* From now on the signals first write the line, a constant, to standard error, then kill the process as by default. */
void say_interrupted(const char *line);
/* From now on catches one signal of each kind, unless the process ignores it (nohup), and records the first of them. A
 * second signal of the same kind kills the process, as by default. flags: SA_RESTART, or 0 to interrupt waiting
 * calls. */
void catch_interrupts(int flags);
/* Returns a pointer to the number of the first signal; the number is 0 before any signal, and can change at any
 * time. */
const volatile sig_atomic_t *interruption(void);
/* Returns the exit status that a shell reports for a process killed by the first signal: 130, 143, 129. */
int interrupted_code(void);

#endif
