/* tests/fuzz/fuzz_features.c - any bytes as the files of a folder: edges.txt and labels.npy, each ended by '|', then
 * features.npy. */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"edges.txt", "labels.npy", "features.npy"};
    fuzz_folder folder;
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    fuzz_open(&folder, names, 3, data, size);
    fuzz_finish_graph(ctx, live, mo_load_features(ctx, "fuzz", folder.path));
    fuzz_remove(&folder);
    return 0;
}
