/* tests/fuzz/fuzz_loader.c - reads any bytes, plain or gzipped, by a loader of graphs, LOAD(path): as one file or, with
 * FILES, as the files of a folder (fuzz_files.h). */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
#ifdef FILES
    static const char *const names[] = {FILES};
    fuzz_folder folder;
    fuzz_open(&folder, names, sizeof names / sizeof *names, data, size);
    fuzz_finish_graph(ctx, live, LOAD(folder.path));
    fuzz_remove(&folder);
#else
    char path[64];
    int fd = fuzz_file(data, size, path, sizeof path);
    fuzz_finish_graph(ctx, live, LOAD(path));
    close(fd);
#endif
    return 0;
}
