/* tests/solver_fixture.h - a tape and the tensors theta = (A, c) that define a system of equations. */
#ifndef SOLVER_FIXTURE_H
#define SOLVER_FIXTURE_H

#include "ops/inside.h"
#include "tests/scratch.h"

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *theta[2]; /* A, c: of the fixture */
} fixture;

static inline fixture fixture_create(int threads) {
    fixture f = {.ctx = mo_context_create(&(mo_context_options){.threads = threads})};
    mo_register_ops(f.ctx);
    f.t = mo_tape_create(f.ctx, MO_RECORD);
    return f;
}

static inline void held_fixture(fixture *f) {
    for (int i = 0; i < 2; i++)
        mo_tensor_release(f->theta[i]);
    held_lone_tape(&f->t);
}

static inline int set_up(void **state) {
    static fixture f;
    f = fixture_create(0);
    *state = &f;
    return 0;
}

static inline int tear_down(void **state) {
    held_fixture(*state);
    return 0;
}

#endif
