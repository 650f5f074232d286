/* tests/fuzz/fuzz_adjacency_list.c - any bytes as a set of adjacency lists, plain or gzipped. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    int fd = fuzz_file(data, size, path, sizeof path);
    fuzz_finish_graph(ctx, live, mo_load_adjacency_list(ctx, "fuzz", path));
    close(fd);
    return 0;
}
