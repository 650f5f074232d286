/* tests/trips.c - two short trips through the library, between __gcov_reset and __gcov_dump, for tests/trips.py. It
 * reads a header of any revision: what a call returns is taken as __auto_type. Usage: trips solve_spd | trips step
 * FOLDER */
#include "train/train.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void __gcov_reset(void);
void __gcov_dump(void);

static void arrive(mo_context *ctx) {
    __gcov_dump();
    fprintf(stderr, "%s", mo_context_status(ctx)->message);
    _exit(!mo_ok(ctx));
}

/* A X = B of order 3 and both gradients of the sum of X. */
static void solve_spd(mo_context *ctx) {
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    double a[] = {4, 1, 0, 1, 3, 1, 0, 1, 5}, b[] = {1, 2, 3};
    mo_tensor *in[] = {mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){3, 3}, a)),
        mo_require_grad(mo_from(t, MO_F64, 2, (int64_t[]){3, 1}, b))};
    mo_tensor *grads[2];
    __gcov_reset();
    mo_tensor *X = mo_solve_spd(t, in[0], in[1]);
    mo_grad(t, &X, NULL, 1, in, grads, 2, 0);
    arrive(ctx);
}

/* Step 3 of a run: the first two have made what is made once. */
static bool third(const mo_step_report *r, void *ctx) {
    if (r->step == 2)
        __gcov_reset();
    if (r->step == 3)
        arrive(ctx);
    return true;
}

static void step(mo_context *ctx, const char *folder) {
    mo_register_ops(ctx);
    __auto_type model = mo_model_open(ctx, "best");
    mo_trainer_options o = {.steps = 9, .episodes_per_step = 1, .out = folder};
    o.adamw.lr = 1e-3;
    o.plan = (mo_plan_options){.k_min = 4, .k_max = 4, .q_min = 4, .q_max = 4, .max_classes = 64, .seed = 1};
    __auto_type trainer = mo_trainer_create(model, mo_pool_for(ctx, model, (const char *[]){"cora:nc"}, 1), &o);
    mo_trainer_run(trainer, third, ctx);
    fprintf(stderr, "%s", mo_context_status(ctx)->message);
}

int main(int argc, char **argv) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    if (argc == 3 && !strcmp(argv[1], "step"))
        step(ctx, argv[2]);
    else
        solve_spd(ctx);
    return 1;
}
