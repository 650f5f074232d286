/* tests/fuzz/fuzz_tables.c - any bytes as the tables of a folder: edges.csv and labels.csv, each ended by '|', then
 * features.csv; without features where nothing is left for them. */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"edges.csv", "labels.csv", "features.csv"};
    fuzz_folder folder;
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    fuzz_open(&folder, names, 3, data, size);
    fuzz_finish_graph(ctx, live, mo_load_features(ctx, "fuzz", folder.path));
    fuzz_remove(&folder);
    return 0;
}
