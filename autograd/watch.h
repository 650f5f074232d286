/* autograd/watch.h - hooks around the execution of an op: the profiler and anomaly mode (library internal). */
#ifndef MO_WATCH_H
#define MO_WATCH_H

#include "autograd/tape.h"

/* Returns whether the execution belongs to a backward run. */
static inline bool mo_in_backward(const mo_call *c) {
    return c->t->visiting || c->op == &mo_op_accumulate;
}

typedef struct mo_watch_start {
    double seconds;
    double inner; /* seconds of the ops that the enclosing op had called before this one */
} mo_watch_start;

/* profile.c: called before and after one execution, or one adjoint, only while profiling. done: whether the
 * adjoint has set the gradients; it is not counted otherwise. */
mo_watch_start mo_watch_begin(mo_context *ctx);
void mo_watch_end(const mo_call *c, mo_watch_start start);
void mo_watch_adjoint(const mo_vjp *v, mo_watch_start start, bool done);

/* anomaly.c: after one execution, only while t->anomaly is set: raises MO_NUMERICAL if a result is not finite. */
void mo_watch_values(const mo_call *c);

#endif
