/* tools/lessons/lab_checkpointing.c - `mochi lab checkpointing`: a chain of layers x <- tanh(x W), recorded whole or in
 * segments that keep their input alone and are computed again in backward (mo_recompute): memory against time. */
#include "tools/lessons/lab.h"

#include "tensor/hidden.h"
#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDED, RECOMPUTED, LAYERS = 64, WIDTH = 64, BATCH = 64 };

static const lab_column columns[] = {
    {"peak_bytes", "tape KiB", "%10.1f", 1024, true},
    {"ms", "ms", "%9.3f", 0, false},
    {"difference", "difference", "%10.1e", 0, false},
};

static mo_tensor *layers_of(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    const int64_t layers = *(const int64_t *)state;
    mo_tensor *x = in[0];
    (void)n;
    for (int64_t i = 0; i < layers; i++)
        x = mo_tanh(t, mo_matmul(t, x, in[1]));
    return x;
}

/* The gradient of the sum of squares at the end of the chain in W; segment 0: recorded whole. */
static bool chain_gradient(mo_context *ctx, mo_tensor *x0, mo_tensor *W, int64_t segment, double *gradient) {
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    if (!t)
        return false;
    mo_tensor *x = x0;
    for (int64_t i = 0; i < LAYERS; i += segment ? segment : LAYERS) {
        mo_tensor *in[2] = {x, W};
        int64_t layers = !segment || LAYERS - i < segment ? LAYERS - i : segment;
        x = segment ? mo_recompute(t, layers_of, in, 2, &layers, sizeof layers) : layers_of(t, in, 2, &layers);
    }
    mo_zero_grad(W);
    mo_backward(t, mo_sum(t, mo_square(t, x), MO_ALL, MO_DROP_AXES));
    bool fine = mo_ok(ctx) && mo_tensor_read(mo_grad_of(W), gradient, (size_t)mo_numel(W) * sizeof *gradient) == MO_OK;
    mo_tape_release(t);
    return fine;
}

static bool measure_segment(mo_context *ctx, mo_tensor *const data[2], int runs, lab_table_row *row,
    const double *reference, double *gradient) {
    const int64_t segment = row->series == RECORDED ? 0 : (int64_t)row->x, n = mo_numel(data[1]);
    double *times = needed(malloc((size_t)runs * sizeof *times));
    mo_context_reset_peaks(ctx);
    bool fine = chain_gradient(ctx, data[0], data[1], segment, gradient); /* the first run warms up */
    row->y[0] = (double)mo_context_counters(ctx).tape_peak;
    for (int i = 0; fine && i < runs; i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        fine = chain_gradient(ctx, data[0], data[1], segment, gradient);
        times[i] = mo_clock(CLOCK_MONOTONIC) - start;
    }
    if (fine)
        row->y[1] = 1e3 * lab_median(times, runs);
    row->y[2] = row->series == RECORDED ? 0 : lab_relative_error(gradient, reference, n);
    free(times);
    return fine;
}

static void measure_segments(mo_context *ctx, mo_tensor *const data[2], int runs, lab_table *table) {
    double *reference = needed(malloc(2 * (size_t)mo_numel(data[1]) * sizeof *reference));
    double *gradient = reference + mo_numel(data[1]);
    lab_table_row row = {.series = RECORDED, .x = 1};
    lab_table_open(table, table->title);
    bool fine = measure_segment(ctx, data, runs, &row, reference, reference) && lab_table_add(table, row);
    for (int64_t segment = 1; fine && segment <= LAYERS; segment *= 2) {
        row = (lab_table_row){.series = RECOMPUTED, .x = (double)segment};
        fine = measure_segment(ctx, data, runs, &row, reference, gradient) && lab_table_add(table, row);
    }
    free(reference);
}

void lab_checkpointing(mo_context *ctx, const lab_options *o, lab_table *table) {
    static const char *const ways[] = {"recorded", "recomputed"};
    const int64_t d = o->n ? o->n : WIDTH, shape[2][2] = {{BATCH, d}, {d, d}};
    mo_random r = mo_random_at(o->seed, MO_PURPOSE_CHECK, 400);
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    snprintf(
        table->title, sizeof table->title, "Memory against time: a chain of %d layers of width %d", LAYERS, (int)d);
    table->reading = "Segments of s layers keep 64 / s inputs and, one segment at a time, what s layers record: least "
                     "where s is near the square root of 64. The price is one more forward, for every s.";
    table->series_name = table->series_head = "chain";
    memcpy(table->series, ways, sizeof ways);
    table->x_name = "segment";
    table->x_head = "layers";
    table->x_whole = true;
    table->columns = columns;
    table->n_columns = 3;
    if (!t)
        return;
    mo_tensor *data[2] = {mo_tensor_create(ctx, MO_F64, 2, shape[0]), mo_parameter(ctx, "W", MO_F64, 2, shape[1])};
    if (mo_ok(ctx)) {
        mo_tensor_copy(data[0], lab_normal(t, &r, BATCH, d));
        mo_tensor_copy(data[1], mo_scale(t, lab_normal(t, &r, d, d), 1 / sqrt((double)d), 0));
    }
    mo_tape_release(t);
    if (mo_ok(ctx))
        measure_segments(ctx, data, o->runs, table);
    mo_tensor_release(data[0]);
    mo_tensor_release(data[1]);
}
