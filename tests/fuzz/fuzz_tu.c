/* tests/fuzz/fuzz_tu.c - any bytes as the files of a TU folder: _A, _graph_indicator, _graph_labels, _node_labels, each
 * ended by '|'; further files are missing. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const endings[] = {"A", "graph_indicator", "graph_labels", "node_labels"};
    char folder[] = "/tmp/fuzz-tu-XXXXXX", path[64];
    if (!mkdtemp(folder))
        abort();
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    for (int k = 0; k < 4 && size; k++) {
        const uint8_t *bar = memchr(data, '|', size);
        size_t length = bar ? (size_t)(bar - data) : size;
        snprintf(path, sizeof path, "%s/F_%s.txt", folder, endings[k]);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(data, 1, length, file) != length || fclose(file) != 0)
            abort();
        size -= length + (bar ? 1 : 0);
        data += length + (bar ? 1 : 0);
    }
    fuzz_finish_graph(ctx, live, mo_load_tu(ctx, "fuzz", folder));
    for (int k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/F_%s.txt", folder, endings[k]);
        unlink(path);
    }
    rmdir(folder);
    return 0;
}
