/* tests/autograd/test_steady.c - after hundreds of thousands of small steps the memory is as large as after the first
 * ones. */
#include "models/inside.h"
#include "tests/scratch.h"
#include "train/inside.h"

#include <time.h>

enum { POINTS = 16, SUPPORT = 6, WIDTH = 8, WARM = 2000, STEPS = 100000 };

typedef struct training {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *W;
    mo_optimizer *adamw;
    mo_random r;
} training;

/* One step on new numbers: a ridge readout on projected points, its gradient through the solve, AdamW. */
static void take_step(training *s) {
    mo_tape *t = s->t;
    float x[POINTS * WIDTH];
    int64_t y[POINTS];
    for (int i = 0; i < POINTS * WIDTH; i++)
        x[i] = (float)mo_random_uniform(&s->r) - 0.5f;
    for (int i = 0; i < POINTS; i++)
        y[i] = x[i * WIDTH] > 0;
    mo_tensor *Z = mo_linear_relu(t, mo_from(t, MO_F32, 2, (int64_t[]){POINTS, WIDTH}, x), s->W, NULL), *A, *b, *g;
    mo_tensor *Ys = mo_one_hot(t, mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, y), 2, MO_F32);
    mo_ridge_fit(t, mo_slice(t, Z, MO_AXIS(0), 0, SUPPORT), Ys, mo_scalar(t, MO_F32, 1), MO_RIDGE_AUTO, &A, &b);
    mo_tensor *logits = mo_add(t, mo_matmul(t, mo_slice(t, Z, MO_AXIS(0), SUPPORT, POINTS), A), b);
    mo_tensor *target = mo_from(t, MO_I64, 1, (int64_t[]){POINTS - SUPPORT}, y + SUPPORT);
    mo_tensor *loss = mo_softmax_cross_entropy(t, logits, target, 0.1);
    mo_grad(t, &loss, NULL, 1, &s->W, &g, 1, 0);
    mo_optimizer_step(s->adamw, &g, 1e-3, NULL);
    mo_tape_reset(t);
}

/* Returns the KiB of anonymous memory; -1: unknown. statm would also count pages of code when they are first loaded,
 * and lags by some pages. */
static long data_kib(void) {
    long kib = -1;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Anonymous: %ld", &kib) != 1)
            kib = -1;
    if (file)
        fclose(file);
    return kib;
}

TEST_OF(a_hundred_thousand_steps_grow_nothing, scratch *scratch) {
    training s = {.ctx = scratch->ctx, .r = mo_random_at(1, MO_PURPOSE_CHECK, 0)};
    s.t = mo_tape_create(s.ctx, MO_RECORD);
    s.W = mo_parameter(s.ctx, "W", MO_F32, 2, (int64_t[]){WIDTH, WIDTH});
    float w[WIDTH * WIDTH];
    for (int i = 0; i < WIDTH * WIDTH; i++)
        w[i] = (float)mo_random_uniform(&s.r) - 0.5f;
    mo_tensor_write(s.W, w, sizeof w);
    s.adamw = mo_adamw_create(s.ctx, &s.W, 1, &(mo_adamw_options){1e-3, 0, 0.9, 0.999, 1e-8, 0, 1});
    for (int i = 0; i < WARM; i++)
        take_step(&s);
    mo_counters before = mo_context_counters(s.ctx);
    long data = data_kib();
    clock_t start = clock();
    for (int i = 0; i < STEPS; i++)
        take_step(&s);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    mo_counters after = mo_context_counters(s.ctx);
    long grown = data_kib() - data;
    print_message("%d steps: %.1f us each, %lld allocations, %lld bytes, %ld KiB resident\n", STEPS,
        1e6 * seconds / STEPS, (long long)(after.allocations - before.allocations),
        (long long)(after.bytes_live - before.bytes_live), grown);
    assert_true(mo_ok(s.ctx));
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.bytes_live, before.bytes_live);
    assert_int_equal(after.bytes_peak, before.bytes_peak);
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer holds freed memory for a while */
    assert_int_equal(grown, 0);
#endif
    mo_tape_release(s.t);
    mo_optimizer_release(s.adamw);
    mo_tensor_release(s.W);
}
