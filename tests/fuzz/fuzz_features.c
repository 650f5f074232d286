/* tests/fuzz/fuzz_features.c - any bytes as the files of a folder: edges.txt and labels.npy, each ended by '|', then
 * features.npy. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"edges.txt", "labels.npy", "features.npy"};
    char folder[] = "/tmp/fuzz-features-XXXXXX", path[64];
    if (!mkdtemp(folder))
        abort();
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    for (int k = 0; k < 3 && size; k++) {
        const uint8_t *bar = k < 2 ? memchr(data, '|', size) : NULL;
        size_t length = bar ? (size_t)(bar - data) : size;
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(data, 1, length, file) != length || fclose(file) != 0)
            abort();
        size -= length + (bar ? 1 : 0);
        data += length + (bar ? 1 : 0);
    }
    fuzz_finish_graph(ctx, live, mo_load_features(ctx, "fuzz", folder));
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        unlink(path);
    }
    rmdir(folder);
    return 0;
}
