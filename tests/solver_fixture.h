/* tests/solver_fixture.h - a tape and the tensors theta = (A, c) that define a system of equations. */
#ifndef SOLVER_FIXTURE_H
#define SOLVER_FIXTURE_H

#include "ops/inside.h"
#include "tests/scratch.h"

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *theta[2]; /* A, c: tensors of the test */
} fixture;

static inline int set_up(void **state) {
    static fixture f;
    f.ctx = context_of_test(mo_context_create(NULL));
    mo_register_ops(f.ctx);
    f.t = tape_of_test(mo_tape_create(f.ctx, MO_RECORD));
    *state = &f;
    return 0;
}

#endif
