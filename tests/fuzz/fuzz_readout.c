/* tests/fuzz/fuzz_readout.c - reads any metadata and labels as a readout of `mochi predict --save`. The input: metadata
 * as JSON, ended by '|', in which weights and data named "right" get the right digests; a byte for the number of
 * labels; then the ids and the labels, a signed byte each. */
#include "fuzz_files.h"
#include "train/inside.h"
#include "train/saved_readout.h"

#include <jansson.h>

static mo_tensor *numbers(mo_context *ctx, const uint8_t *data, int64_t n) {
    int64_t x[256];
    for (int64_t i = 0; i < n; i++)
        x[i] = (int8_t)data[i];
    return mo_tensor_create_from(ctx, MO_I64, 1, &n, x);
}

static void put_right(json_t *metadata, const char *key, const char *digest) {
    const char *text = json_string_value(json_object_get(metadata, key));
    if (text && !strcmp(text, "right"))
        json_object_set_new(metadata, key, json_string(digest));
}

/* Returns the metadata of a file; NULL if the bytes are not JSON. */
static char *make_metadata(const uint8_t *data, size_t size, const char *weights, const char *of_data) {
    json_t *metadata = json_loadb((const char *)data, size, 0, NULL);
    put_right(metadata, "weights", weights);
    put_right(metadata, "data", of_data);
    char *text = json_is_object(metadata) ? json_dumps(metadata, JSON_COMPACT) : NULL;
    json_decref(metadata);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static mo_context *ctx;
    static mo_graph *graph;
    static char weights[33], of_data[33];
    static int64_t live;
    static mo_weights *w;
    static const char small[] = "tests/fuzz/seeds/small.safetensors";
    if (!ctx) {
        ctx = mo_context_create(&(mo_context_options){.threads = 1});
        graph = mo_graph_open(ctx, "tests/graphs/club.npz");
        w = mo_weights_read(ctx, small);
        if (!w || !graph)
            fuzz_fail("seeds", mo_context_status(ctx)->message);
        snprintf(
            weights, sizeof weights, "%016llx%016llx", (unsigned long long)w->hash[0], (unsigned long long)w->hash[1]);
        snprintf(of_data, sizeof of_data, "%016llx%016llx", (unsigned long long)graph->hash[1],
            (unsigned long long)graph->hash[0]);
        live = mo_context_counters(ctx).bytes_live;
    }
    fuzz_folder folder;
    char path[160];
    const uint8_t *bar = memchr(data, '|', size);
    size_t length = bar ? (size_t)(bar - data) : size, left = size - length;
    int64_t n = left > 2 ? (bar[1] < (left - 2) / 2 ? bar[1] : (int64_t)(left - 2) / 2) : 0;
    char *metadata = make_metadata(data, length, weights, of_data);
    fuzz_open(&folder, &(const char *){"unused"}, 0, data, 0);
    fuzz_path(&folder, "readout.safetensors", path);
    mo_arrays *arrays = mo_arrays_create(ctx);
    if (n) {
        mo_arrays_take(arrays, "id", numbers(ctx, bar + 2, n));
        mo_arrays_take(arrays, "label", numbers(ctx, bar + 2 + n, bar[2] == 0xff ? n - 1 : n));
    }
    bool written = metadata && mo_safetensors_write(arrays, metadata, path) == MO_OK;
    mo_clear_error(ctx);
    mo_few_shot_options o = {.weights = small};
    mo_saved_readout saved = {0};
    bool read = written && mo_saved_readout_read(path, graph, &o, w, &saved) == MO_OK;
    if (written)
        fuzz_check_status(ctx, read);
    for (int64_t i = 0; read && i < saved.known.n; i++)
        if (saved.known.label[i] < 0 || saved.known.label[i] >= saved.known.classes ||
            (i && saved.known.id[i] <= saved.known.id[i - 1]))
            fuzz_fail("labels", "of no class, or whose examples do not rise");
    mo_clear_error(ctx);
    mo_saved_readout_release(&saved);
    mo_arrays_release(arrays);
    free(metadata);
    if (mo_context_counters(ctx).bytes_live != live)
        abort();
    fuzz_remove(&folder);
    return 0;
}
