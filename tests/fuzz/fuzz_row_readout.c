/* tests/fuzz/fuzz_row_readout.c - reads any metadata and state as a readout of `mochi fit --save`, and applies it to
 * rows. The input: metadata as JSON, ended by '|'; a byte each for the state's width d, classes, axes and dtype (even:
 * float32, odd: float64); then arrays, each a byte for its name, a byte each for its two sizes, and its numbers,
 * sixteenths of a signed byte (-128: infinity). */
#include "fuzz_files.h"
#include "train/saved_readout.h"

#include <jansson.h>
#include <math.h>

enum { MOST = 12, ASKED = 3 };

/* Returns n d numbers of the dtype. */
static mo_tensor *numbers(mo_context *ctx, const uint8_t *data, int64_t n, int64_t d, bool wide) {
    double x[MOST * MOST];
    float narrow[MOST * MOST];
    for (int64_t i = 0; i < n * d; i++) {
        x[i] = data[i] == 128 ? INFINITY : (int8_t)data[i] / 16.0;
        narrow[i] = (float)x[i];
    }
    return mo_tensor_create_from(ctx, wide ? MO_F64 : MO_F32, 2, (int64_t[]){n, d}, wide ? (void *)x : narrow);
}

static bool write_file(mo_context *ctx, const uint8_t *data, size_t size, const char *path) {
    static const char *const names[] = {"state.W", "state.sums", "state.counts", "state.centre", "state.present",
        "state.scale", "state.rows.mean", "state.rows.spread", "state.W1", "state.b1", "state.W2", "state.b2",
        "state.mean"};
    const uint8_t *bar = memchr(data, '|', size);
    size_t length = bar ? (size_t)(bar - data) : size, left = size - length;
    json_t *metadata = json_loadb((const char *)data, length, 0, NULL);
    char *text = json_is_object(metadata) ? json_dumps(metadata, JSON_COMPACT) : NULL;
    mo_arrays *arrays = mo_arrays_create(ctx);
    if (left > 5) {
        const int64_t sizes[] = {(int8_t)bar[1], (int8_t)bar[2], (int8_t)bar[3], bar[4] % 2};
        mo_arrays_take(arrays, "state", mo_tensor_create_from(ctx, MO_I64, 1, (int64_t[]){4}, sizes));
    }
    for (size_t at = 5; left > at + 3;) {
        const char *name = names[bar[at] % (sizeof names / sizeof *names)];
        int64_t n = bar[at + 1] % (MOST + 1), d = bar[at + 2] % (MOST + 1);
        at += 3;
        if (left < at + (size_t)(n * d))
            break;
        if (n && d && !mo_arrays_find(arrays, name))
            mo_arrays_take(arrays, name, numbers(ctx, bar + at, n, d, bar[4] % 2));
        at += (size_t)(n * d);
    }
    bool written = text && mo_safetensors_write(arrays, text, path) == MO_OK;
    mo_arrays_release(arrays);
    free(text);
    json_decref(metadata);
    mo_clear_error(ctx);
    return written;
}

/* Predicts some rows: each row's probabilities sum to 1, or an error of one line says why there are none. */
static void apply(mo_context *ctx, const mo_row_readout *r) {
    double x[ASKED * MOST], p[ASKED * MOST];
    int64_t d = r->state.d, n = d < 1 || d > MOST || r->classes > MOST ? 0 : ASKED;
    for (int64_t i = 0; i < n * d; i++)
        x[i] = (double)(i % 7) - 3;
    mo_tensor *rows = n ? mo_tensor_create_from(ctx, MO_F64, 2, (int64_t[]){n, d}, x) : NULL;
    bool fine = rows && mo_row_readout_probabilities(r, rows, p) == MO_OK;
    if (rows)
        fuzz_check_status(ctx, fine);
    for (int64_t i = 0; fine && i < n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < r->classes; c++)
            sum += p[i * r->classes + c];
        if (!(fabs(sum - 1) < 1e-6))
            fuzz_fail("probabilities", "whose sum is not 1");
    }
    mo_tensor_release(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    fuzz_folder folder;
    char path[160];
    fuzz_open(&folder, &(const char *){"unused"}, 0, data, 0);
    fuzz_path(&folder, "kept.safetensors", path);
    mo_row_readout r = {0};
    if (write_file(ctx, data, size, path)) {
        bool read = mo_row_readout_read(ctx, path, NULL, &r) == MO_OK;
        fuzz_check_status(ctx, read);
        if (read)
            apply(ctx, &r);
    }
    mo_row_readout_release(&r);
    mo_clear_error(ctx);
    if (mo_context_release(ctx) != MO_OK)
        fuzz_fail("tensors and tapes", "are not given back");
    fuzz_remove(&folder);
    return 0;
}
