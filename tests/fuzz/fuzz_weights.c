/* tests/fuzz/fuzz_weights.c - reads any bytes, with right digests (fuzz_files.h), as weights: they give a model, or an
 * error of one line. */
#include "fuzz_files.h"
#include "train/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"weights.safetensors"};
    fuzz_folder folder;
    char path[160];
    int64_t live;
    fuzz_open(&folder, names, 1, data, size);
    fuzz_sign(fuzz_path(&folder, names[0], path));
    mo_context *ctx = fuzz_start(&live);
    mo_weights *w = mo_weights_read(ctx, path);
    mo_model *model = w ? mo_weights_model(w) : NULL;
    bool read = model;
    if (read && mo_model_n_parameters(model) < 1)
        abort();
    mo_model_release(model);
    mo_weights_release(w);
    fuzz_finish(ctx, live, read);
    fuzz_remove(&folder);
    return 0;
}
