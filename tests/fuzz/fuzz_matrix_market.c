/* tests/fuzz/fuzz_matrix_market.c - any bytes as features.mtx, ended by '|', and as the edges beside it. */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"features.mtx", "edges.txt"};
    fuzz_folder folder;
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    fuzz_open(&folder, names, 2, data, size);
    fuzz_finish_graph(ctx, live, mo_load_features(ctx, "fuzz", folder.path));
    fuzz_remove(&folder);
    return 0;
}
