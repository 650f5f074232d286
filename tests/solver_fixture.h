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
    fixture *f = calloc(1, sizeof *f);
    f->ctx = mo_context_create(NULL);
    mo_register_ops(f->ctx);
    f->t = mo_tape_create(f->ctx, MO_RECORD);
    *state = f;
    return 0;
}

static inline int tear_down(void **state) {
    fixture *f = *state;
    mo_tape_release(f->t);
    mo_context_release(f->ctx);
    free(f);
    return 0;
}

#endif
