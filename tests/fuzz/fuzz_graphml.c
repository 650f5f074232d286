/* tests/fuzz/fuzz_graphml.c - any bytes as GraphML, plain or gzipped. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    int fd = fuzz_file(data, size, path, sizeof path);
    fuzz_finish_graph(ctx, live, mo_load_graphml(ctx, "fuzz", path));
    close(fd);
    return 0;
}
