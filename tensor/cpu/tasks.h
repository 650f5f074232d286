/* tensor/cpu/tasks.h - hands out the tasks of a kernel, or of another loop of the library, in contiguous shares, one
 * per thread, so that a thread finds in its cache the rows that it wrote in the last kernel; a thread that has finished
 * its share takes tasks from other shares. */
#ifndef MO_CPU_TASKS_H
#define MO_CPU_TASKS_H

#include "tensor/cpu/work.h"

/* The tasks first .. end-1; thread: number in the team of the thread that has them; 0 is the caller of run_tasks. */
typedef struct task_range {
    int64_t first, end;
    int thread;
} task_range;

/* Does some of the tasks that `of` describes. */
typedef void task_body(const void *of, task_range some);

/* Runs tasks 0 .. n-1 on `threads` threads, each of which takes `chunk` tasks at once; chunk 0: its whole share. One
 * thread does them all in one call. */
void run_tasks(int threads, int64_t n, int64_t chunk, task_body *body, const void *of);

/* Whether the calling thread works for a call of run_tasks in another thread. */
bool works_for_another(void);

#endif
