/* tests/fuzz/fuzz_tu.c - any bytes as the files of a TU folder: _A, _graph_indicator, _graph_labels, _node_labels,
 * _node_attributes, each but the last ended by '|'; further files are missing. */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {
        "F_A.txt", "F_graph_indicator.txt", "F_graph_labels.txt", "F_node_labels.txt", "F_node_attributes.txt"};
    fuzz_folder folder;
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    fuzz_open(&folder, names, 5, data, size);
    fuzz_finish_graph(ctx, live, mo_load_tu(ctx, "fuzz", folder.path, true));
    fuzz_remove(&folder);
    return 0;
}
